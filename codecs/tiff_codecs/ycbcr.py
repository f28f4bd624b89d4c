"""YCbCr with fewer chroma samples than luma samples, and without JPEG (TIFF 6.0 section 21)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .errors import TiffOptionError
from .image_codec import ImageCodec, damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["YcbcrCodec"]

_FACTORS = (1, 2, 4)


@dataclass(frozen=True, kw_only=True)
class YcbcrCodec(ImageCodec):
    """Zarr codec `tiff_codecs.ycbcr`, array to bytes, in front of a bytes to bytes codec or none.

    Three bands of 8 bits: Y, Cb and Cr, not converted to RGB; each chroma sample is repeated for the pixels that
    share it.

    Attributes:
        subsampling: Columns and rows of pixels that share a chroma sample (YCbCrSubSampling, tag 530).
    """

    codec_name: ClassVar[str] = "tiff_codecs.ycbcr"
    required: ClassVar[tuple[str, ...]] = ("subsampling",)

    subsampling: tuple[int, int]

    def __post_init__(self) -> None:
        super().__post_init__()
        pair = tuple(self.subsampling)
        if len(pair) != 2 or any(type(factor) is not int or factor not in _FACTORS for factor in pair):
            raise TiffOptionError("bad chroma subsampling", found=repr(pair), supported="two of 1, 2 and 4")
        object.__setattr__(self, "subsampling", pair)

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
        across, down = self.subsampling
        blocks_down, blocks_across = -(-rows // down), -(-cols // across)
        unit = across * down + 2
        needed = blocks_down * blocks_across * unit
        if bands != 3 or data.size < needed:
            raise damaged(self.codec_name, f"{data.size} bytes of {bands} bands", f"{needed} bytes of 3 bands")
        units = data[:needed].reshape(blocks_down, blocks_across, unit)
        out = np.empty((blocks_down, down, blocks_across, across, 3), np.uint8)
        luma = units[..., :-2].reshape(blocks_down, blocks_across, down, across)
        out[..., 0] = luma.transpose(0, 2, 1, 3)
        out[..., 1:] = units[:, None, :, None, -2:]
        return out.reshape(blocks_down * down, blocks_across * across, 3)[:rows, :cols]
