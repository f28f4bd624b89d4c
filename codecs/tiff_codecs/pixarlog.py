"""Pixar's logarithmic 11-bit samples in DEFLATE: TIFF compression 32909, of libtiff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .image_codec import ImageCodec, damaged
from .libtiff import Wrapping, decode_strip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PixarlogCodec"]


@dataclass(frozen=True, kw_only=True)
class PixarlogCodec(ImageCodec):
    """Zarr codec `tiff_codecs.pixarlog`, array to bytes: as 8-bit or 16-bit integers, or float32 that are linear."""

    codec_name: ClassVar[str] = "tiff_codecs.pixarlog"

    def decode_image(
        self, data: NDArray[np.uint8], dtype: np.dtype[Any], *, rows: int, cols: int, bands: int
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        if dtype.str[1:] not in ("u1", "u2", "f4"):
            raise damaged(self.codec_name, f"samples of type {dtype}", "uint8, uint16, float32")
        kind = 3 if dtype.kind == "f" else 1
        wrapping = Wrapping(32909, bits=8 * dtype.itemsize, photometric=2 if bands == 3 else 1, sample_format=kind)
        return decode_strip(data, wrapping, rows=rows, cols=cols, bands=bands)
