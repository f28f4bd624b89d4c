"""What the decompressed bytes of a TIFF tile mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np

from .errors import TiffOptionError, TiffUnsupportedError

__all__ = ["ByteOrder", "Predictor", "SampleFormat", "TileLayout"]

type ByteOrder = Literal["little", "big"]
type SampleFormat = Literal["uint", "int", "float", "complex_int", "complex_float"]
type Predictor = Literal[1, 2, 3]

_BYTE_ORDERS: tuple[str, ...] = get_args(ByteOrder.__value__)
_SAMPLE_FORMATS: tuple[str, ...] = get_args(SampleFormat.__value__)
_PREDICTORS: tuple[int, ...] = get_args(Predictor.__value__)

_BITS: dict[str, tuple[int, ...]] = {
    "uint": tuple(range(1, 65)),
    "int": tuple(range(1, 65)),
    "float": (16, 24, 32, 64),
    "complex_int": (32, 64),
    "complex_float": (64, 128),
}
_BITS_IN_WORDS = {name: ", ".join(str(bits) for bits in depths) for name, depths in _BITS.items()}
_BITS_IN_WORDS["uint"] = _BITS_IN_WORDS["int"] = "1 to 64"

_WHOLE_WORDS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class TileLayout:
    """How samples lie in a decompressed tile or strip.

    Pixels are interleaved (PlanarConfiguration 1) when the tile has more than one band. The names follow
    the tags of TIFF 6.0: BitsPerSample (258), SampleFormat (339), Predictor (317).

    Attributes:
        byte_order: Of the file. It has no effect on 8-bit samples, packed samples and predictor 3.
        bits_per_sample: Bits of one sample of one band; of a complex sample, both parts together.
        sample_format: TIFF's SampleFormat; "void" (4) is read as "uint".
        predictor: 1 none, 2 differences of whole words along a row (TIFF 6.0 section 14), 3 differences
            of the byte planes of floating point numbers (Adobe Photoshop TIFF Technical Note 3).
        last_strip_rows: Rows that the last strip of the image has where it has fewer than the others, or
            None. A decompressed tile of exactly that many rows is complete.

    Raises:
        TiffOptionError: A field has a value of the wrong type, or one that TIFF does not know.
        TiffUnsupportedError: The combination has no meaning in TIFF.
    """

    byte_order: ByteOrder
    bits_per_sample: int
    sample_format: SampleFormat
    predictor: Predictor = 1
    last_strip_rows: int | None = None

    def __post_init__(self) -> None:
        _check_choice("byte order", self.byte_order, _BYTE_ORDERS)
        _check_choice("sample format", self.sample_format, _SAMPLE_FORMATS)
        _check_choice("predictor", self.predictor, _PREDICTORS)
        _check_positive("number of bits per sample", self.bits_per_sample)
        if self.last_strip_rows is not None:
            _check_positive("number of rows of the last strip", self.last_strip_rows)
        if self.bits_per_sample not in _BITS[self.sample_format]:
            raise TiffUnsupportedError(
                f"samples of this depth are not known for the sample format {self.sample_format}",
                tag="BitsPerSample (258)",
                found=f"{self.bits_per_sample} bits",
                supported=f"{_BITS_IN_WORDS[self.sample_format]} bits",
            )
        if self.predictor == 3 and self.sample_format != "float":
            raise TiffUnsupportedError(
                "predictor 3 is for floating point",
                tag="Predictor (317)",
                found=f"{self.bits_per_sample}-bit {self.sample_format}",
                supported="predictor 3 with 16, 24, 32 or 64-bit float; 1 or 2 with the others",
                way_out="rewrite the file with another predictor; its writer left the pixels undefined",
            )
        if self.predictor == 2 and self.bits_per_sample not in _WHOLE_WORDS:
            raise TiffUnsupportedError(
                "predictor 2 is for samples of whole words",
                tag="Predictor (317)",
                found=f"{self.bits_per_sample}-bit {self.sample_format}",
                supported="predictor 2 with 8, 16, 32 or 64 bits per sample",
                way_out="rewrite the file without a predictor",
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the decoded samples, in native byte order.

        Integers get the smallest type that holds them, float24 becomes float32, and complex integers
        become complex64, as in rasterio.
        """
        if self.sample_format == "float":
            return np.dtype(f"f{4 if self.bits_per_sample == 24 else self.bits_per_sample // 8}")
        if self.sample_format == "complex_int":
            return np.dtype(np.complex64)
        if self.sample_format == "complex_float":
            return np.dtype(f"c{self.bits_per_sample // 8}")
        kind = "u" if self.sample_format == "uint" else "i"
        return np.dtype(f"{kind}{next(word for word in _WHOLE_WORDS if word >= self.bits_per_sample) // 8}")

    @property
    def is_packed(self) -> bool:
        """Whether samples are integers that share bytes, or fill 3, 5, 6 or 7 of them.

        Such samples lie highest bit first in either byte order, and every row starts on a new byte
        (TIFF 6.0, BitsPerSample and FillOrder).
        """
        return self.sample_format in ("uint", "int") and self.bits_per_sample not in _WHOLE_WORDS

    @property
    def is_whole(self) -> bool:
        """Whether samples are stored as NumPy's own numbers, in one byte order or the other."""
        return self.bits_per_sample == 8 * self.dtype.itemsize and self.sample_format != "complex_int"

    @property
    def word_bytes(self) -> int:
        """Bytes that the byte order swaps as one piece; 1 where it has no effect.

        The parts of a complex sample are words of their own, except under predictor 2, which adds (and
        libtiff swaps) whole samples.
        """
        if self.is_packed or self.predictor == 3:
            return 1
        whole = self.bits_per_sample // 8
        is_complex = self.sample_format in ("complex_int", "complex_float")
        return whole // 2 if is_complex and self.predictor != 2 else whole

    def row_bytes(self, cols: int, bands: int) -> int:
        """Bytes of one row of a decompressed tile.

        Args:
            cols: Columns of the tile.
            bands: Bands that are interleaved in it.

        Returns:
            The number of bytes, the padding to a whole byte included.
        """
        return -(-cols * bands * self.bits_per_sample // 8)

    def tile_bytes(self, rows: int, cols: int, bands: int) -> int:
        """Bytes of a whole decompressed tile.

        Args:
            rows: Rows of the tile.
            cols: Columns of the tile.
            bands: Bands that are interleaved in it.

        Returns:
            The number of bytes.
        """
        return rows * self.row_bytes(cols, bands)

    def canonical(self) -> Self:
        """Replace what has no effect by one and the same value.

        Two files whose tiles decode alike then have equal layouts, and can be concatenated although one
        is little-endian and the other big-endian.

        Returns:
            The layout with byte order "little" where the byte order has no effect, else itself.
        """
        if self.word_bytes == 1 and self.byte_order == "big":
            return replace(self, byte_order="little")
        return self


def _check_choice(what: str, value: object, choices: tuple[object, ...]) -> None:
    # bool is an int and 1.0 equals 1, and neither belongs in a file's metadata.
    if type(value) is not type(choices[0]) or value not in choices:
        raise TiffOptionError(
            f"the {what} has a value without a meaning",
            found=repr(value),
            supported=", ".join(repr(choice) for choice in choices),
        )


def _check_positive(what: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise TiffOptionError(f"the {what} must be a positive whole number", found=repr(value))
