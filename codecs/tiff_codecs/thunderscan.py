"""ThunderScan's run lengths of 4-bit grey: TIFF compression 32809, of libtiff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .image_codec import ImageCodec
from .libtiff import Wrapping, decode_strip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ThunderscanCodec"]


@dataclass(frozen=True, kw_only=True)
class ThunderscanCodec(ImageCodec):
    """Zarr codec `tiff_codecs.thunderscan`, array to bytes: one band of 0 to 15."""

    codec_name: ClassVar[str] = "tiff_codecs.thunderscan"

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
        return decode_strip(data, Wrapping(32809, bits=4, photometric=1), rows=rows, cols=cols, bands=bands)
