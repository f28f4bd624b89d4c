"""JPEG 2000: TIFF compressions 34712, 33003 to 33005 (of Aperio); ISO/IEC 15444-1."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import imagecodecs

from .image_codec import ImageCodec, ImageSize, damaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Jpeg2000Codec"]

_START = b"\xff\x4f\xff\x51"
_SEARCHED = 1 << 16
_BOX = b"\x00\x00\x00\x0cjP  "


@dataclass(frozen=True, kw_only=True)
class Jpeg2000Codec(ImageCodec):
    """Zarr codec `tiff_codecs.jpeg2000`, array to bytes.

    A codestream with or without a JP2 file around it. Components come out as the codestream's own color
    transform gives them; those of compression 33003 stay YCbCr.
    """

    codec_name: ClassVar[str] = "tiff_codecs.jpeg2000"

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """See `ImageCodec.image_size`."""
        del bands
        head = data[:_SEARCHED].tobytes()
        at = head.find(_START) if head.startswith((_START, _BOX)) else -1
        if at < 0 or len(head) < at + 44:
            raise damaged(self.codec_name, repr(head[:12]), "a JPEG 2000 codestream")
        right, bottom, left, top, tile_cols, tile_rows, _, _, components = struct.unpack_from(">8IH", head, at + 8)
        depths = head[at + 42 : at + 42 + 3 * components : 3]
        if min(tile_cols, tile_rows) < 1 or (right - left) * (bottom - top) > 4096 * tile_cols * tile_rows:
            raise damaged(self.codec_name, f"tiles of {tile_cols} x {tile_rows} pixels")
        if any((depth & 0x7F) + 1 > 8 * dtype.itemsize for depth in depths):
            raise damaged(self.codec_name, f"{max(depth & 0x7F for depth in depths) + 1} bits per sample")
        return ImageSize(bottom - top, right - left, components)

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
        return imagecodecs.jpeg2k_decode(data, planar=False, numthreads=1)
