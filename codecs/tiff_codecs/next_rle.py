"""NeXT's run lengths of 2-bit grey: TIFF compression 32766, of libtiff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .image_codec import ImageCodec
from .libtiff import Wrapping, decode_strip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NextRleCodec"]


@dataclass(frozen=True, kw_only=True)
class NextRleCodec(ImageCodec):
    """Zarr codec `tiff_codecs.next_rle`, array to bytes: one band of 0 to 3."""

    codec_name: ClassVar[str] = "tiff_codecs.next_rle"

    def decode_image(
        self,
        data: NDArray[np.uint8],
        dtype: np.dtype[Any],  # noqa: ARG002
        *,
        rows: int,
        cols: int,
        bands: int,
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        return decode_strip(data, Wrapping(32766, bits=2, photometric=1), rows=rows, cols=cols, bands=bands)
