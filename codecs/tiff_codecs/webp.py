"""WebP: TIFF compression 50001, of libtiff (RFC 9649); 34927 is the number it had before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import imagecodecs

from .image_codec import ImageCodec, ImageSize, damaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["WebpCodec"]


@dataclass(frozen=True, kw_only=True)
class WebpCodec(ImageCodec):
    """Zarr codec `tiff_codecs.webp`, array to bytes.

    Four bands are RGB and alpha, which is 255 where a tile has none; with three bands an alpha is dropped, as
    in libtiff.
    """

    codec_name: ClassVar[str] = "tiff_codecs.webp"

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """See `ImageCodec.image_size`."""
        del dtype
        head = data[:30].tobytes()
        if bands not in (3, 4) or len(head) < 30 or head[:4] != b"RIFF" or head[8:12] != b"WEBP":
            raise damaged(self.codec_name, f"{head[:12]!r} for {bands} bands", "a WebP image of 3 or 4 bands")
        kind = head[12:16]
        if kind == b"VP8X":
            if head[20] & 2:
                raise damaged(self.codec_name, "an animation", "one image")
            cols, rows = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
        elif kind == b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            cols, rows = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        elif kind == b"VP8 ":
            cols, rows = (int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (26, 28))
        else:
            raise damaged(self.codec_name, repr(kind), "VP8, VP8L or VP8X")
        return ImageSize(rows, cols)

    def decode_image(
        self,
        data: NDArray[np.uint8],
        dtype: np.dtype[Any],  # noqa: ARG002
        *,
        rows: int,  # noqa: ARG002
        cols: int,  # noqa: ARG002
        bands: int,
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        return imagecodecs.webp_decode(data, hasalpha=bands == 4)
