"""PNG: TIFF compression 34933 (RFC 2083)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import imagecodecs

from .image_codec import ImageCodec, ImageSize, damaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PngCodec"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_BANDS = {0: 1, 2: 3, 4: 2, 6: 4}
"""Bands by color type; a palette, 3, has no business in a TIFF."""


@dataclass(frozen=True, kw_only=True)
class PngCodec(ImageCodec):
    """Zarr codec `tiff_codecs.png`, array to bytes."""

    codec_name: ClassVar[str] = "tiff_codecs.png"

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """See `ImageCodec.image_size`."""
        del bands
        head = data[:33].tobytes()
        if len(head) < 33 or not head.startswith(_SIGNATURE) or head[12:16] != b"IHDR":
            raise damaged(self.codec_name, repr(head[:16]), "a PNG")
        cols, rows, depth, color = struct.unpack_from(">IIBB", head, 16)
        if color not in _BANDS or depth > 8 * dtype.itemsize:
            raise damaged(self.codec_name, f"color type {color} of {depth} bits")
        return ImageSize(rows, cols, _BANDS[color])

    def decode_image(
        self,
        data: NDArray[np.uint8],
        dtype: np.dtype[Any],  # noqa: ARG002
        *,
        rows: int,  # noqa: ARG002
        cols: int,  # noqa: ARG002
        bands: int,  # noqa: ARG002
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        return imagecodecs.png_decode(data)
