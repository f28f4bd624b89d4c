"""The number formats of TIFF samples that NumPy has under another form, or not at all.

Complex integers, 24-bit floating point, and the two ways in which complex samples are swapped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array
from .errors import TiffDataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .layout import ByteOrder, TileLayout

__all__ = ["bytes_to_float24", "float24_to_bytes", "samples_to_words", "swapped", "words_to_samples"]

_ORDERS: dict[str, Literal["<", ">", "="]] = {"little": "<", "big": ">", "native": "="}


def swapped[DtypeT: np.generic](
    array: NDArray[DtypeT], byte_order: Literal["little", "big", "native"]
) -> NDArray[DtypeT]:
    """The same values in a byte order.

    Args:
        array: Any shape and dtype.
        byte_order: The one wanted.

    Returns:
        The array itself where it is in that order already, else a copy.
    """
    return array.astype(array.dtype.newbyteorder(_ORDERS[byte_order]), copy=False)


def words_to_samples(words: NDArray[np.unsignedinteger], layout: TileLayout) -> NDArray[Any]:
    """Reinterpret words as samples.

    libtiff swaps the parts of a complex sample one by one, but under predictor 2 it swaps, and adds, the
    whole sample as one word. Either way the first part is then the lower in a little-endian memory.

    Args:
        words: Native byte order, contiguous, of `layout.word_bytes` bytes.
        layout: What they mean.

    Returns:
        One-dimensional for complex samples, else in the words' shape; `layout.dtype`.
    """
    dtype = layout.dtype
    if layout.sample_format not in ("complex_int", "complex_float"):
        return words.view(dtype)
    kind = "i" if layout.sample_format == "complex_int" else "f"
    parts = swapped(words, "little").reshape(-1).view(f"<{kind}{layout.bits_per_sample // 16}")
    return parts.astype(f"f{dtype.itemsize // 2}", copy=False).view(dtype)


def samples_to_words(samples: NDArray[Any], layout: TileLayout) -> NDArray[np.unsignedinteger]:
    """Reinterpret samples as words, the inverse of `words_to_samples`.

    Args:
        samples: Contiguous, of dtype `layout.dtype`.
        layout: What the words shall mean.

    Returns:
        One-dimensional, native byte order, of `layout.word_bytes` bytes.

    Raises:
        TiffDataError: A complex value is none of two integers of the layout's size.
    """
    parts = _whole_parts(samples, layout) if layout.sample_format == "complex_int" else samples
    words = swapped(parts, "little").reshape(-1).view(f"<u{layout.word_bytes}")
    return swapped(words, "native")


def bytes_to_float24(data: NDArray[np.uint8], byte_order: ByteOrder) -> NDArray[np.float32]:
    """Widen 24-bit floating point numbers (1 bit of sign, 7 of exponent, 16 of mantissa).

    Args:
        data: Three bytes a number, one-dimensional.
        byte_order: Of the three bytes.

    Returns:
        The numbers, exactly.
    """
    return imagecodecs.float24_decode(data, byteorder="<" if byte_order == "little" else ">")


def float24_to_bytes(samples: NDArray[Any], byte_order: ByteOrder) -> NDArray[np.uint8]:
    """Round numbers to 24 bits, the inverse of `bytes_to_float24` for what that returns.

    Args:
        samples: Contiguous float32 array of any shape.
        byte_order: Of the three bytes.

    Returns:
        Three bytes a number, one-dimensional.

    Raises:
        TiffDataError: A number is too large for 24 bits.
    """
    order = "<" if byte_order == "little" else ">"
    data = as_byte_array(imagecodecs.float24_encode(samples.reshape(-1), byteorder=order))
    overflow = np.isinf(bytes_to_float24(data, byte_order)) & np.isfinite(samples.reshape(-1))
    if overflow.any():
        raise TiffDataError(
            "a value is too large for 24-bit floating point",
            found=samples.reshape(-1)[overflow][0],
            supported="magnitudes below 1.8e19",
        )
    return data


def _whole_parts(samples: NDArray[Any], layout: TileLayout) -> NDArray[np.signedinteger]:
    whole = np.dtype(f"i{layout.bits_per_sample // 16}")
    limits = np.iinfo(whole)
    parts = samples.reshape(-1).view(np.float32)
    # The highest int32 is not a float32, so the comparison is with the power of two above it.
    fits = (parts >= float(limits.min)) & (parts < float(limits.max) + 1.0) & (parts == np.rint(parts))
    if not fits.all():
        raise TiffDataError(
            "a part of a complex value is not a whole number within the range of the file's samples",
            found=parts[~fits][0],
            supported=f"whole numbers from {limits.min} to {limits.max}",
        )
    return parts.astype(whole)
