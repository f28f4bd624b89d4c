"""Interleaved integers whose bands have different depths, e.g. 5, 6 and 5 bits (TIFF 6.0, BitsPerSample)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .errors import TiffOptionError
from .image_codec import ImageCodec, damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MixedBitsCodec"]


@dataclass(frozen=True, kw_only=True)
class MixedBitsCodec(ImageCodec):
    """Zarr codec `tiff_codecs.mixed_bits`, array to bytes, in front of a bytes to bytes codec or none.

    Unsigned integers, packed highest bit first, each row starting on a new byte. Values stay as stored.

    Attributes:
        bits_per_sample: Bits of each band.
    """

    codec_name: ClassVar[str] = "tiff_codecs.mixed_bits"
    required: ClassVar[tuple[str, ...]] = ("bits_per_sample",)

    bits_per_sample: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        bits = tuple(self.bits_per_sample)
        if not bits or any(type(depth) is not int or not 1 <= depth <= 64 for depth in bits):
            raise TiffOptionError("bad bits per sample", found=repr(bits), supported="1 to 64 for each band")
        object.__setattr__(self, "bits_per_sample", bits)

    def decode_image(
        self, data: NDArray[np.uint8], dtype: np.dtype[Any], *, rows: int, cols: int, bands: int
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        bits = self.bits_per_sample
        row_bytes = -(-cols * sum(bits) // 8)
        if len(bits) != bands or data.size < rows * row_bytes:
            raise damaged(self.codec_name, f"{data.size} bytes", f"{rows * row_bytes} for {len(bits)} bands")
        out = np.zeros((rows, cols, bands), dtype)
        for row in range(rows):  # a row at a time: single bits take eight times the room
            packed = data[row * row_bytes : (row + 1) * row_bytes]
            single = np.unpackbits(packed, count=cols * sum(bits)).reshape(cols, sum(bits))
            first = 0
            for band, depth in enumerate(bits):
                for place in range(first, first + depth):
                    out[row, :, band] = out[row, :, band] << dtype.type(1) | single[:, place]
                first += depth
        return out
