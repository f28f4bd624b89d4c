"""PackBits: TIFF compression 32773, see TIFF 6.0 section 9."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, decode_into
from .bytes_codec import TiffBytesCodec

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["PackbitsCodec", "decode", "encode"]

_LONGEST_RUN = 128
_NOTHING = np.full(_LONGEST_RUN, 128, np.uint8)
"""Codes that stand for no bytes. Behind a run that is cut, they take the place of what is missing of it."""


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Unpack the beginning of a row of runs.

    Args:
        data: The runs. What follows once there are enough bytes is passed over.
        size: The most bytes to return. Data that hold more are cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the data have fewer.
        PackBits has no checksum: no damage is noticed but by the length.

    Raises:
        TiffUnsupportedError: There is not so much memory.
    """
    return decode_into(imagecodecs.packbits_decode, imagecodecs.PackbitsError, _decode_beginning, data, size)


def _decode_beginning(source: NDArray[np.uint8], out: NDArray[np.uint8], error: Exception) -> NDArray[np.uint8]:
    # imagecodecs refuses data with bytes too many, as writers leave behind who pad, and a last run that is
    # cut, but tells neither how much it had decoded.
    del error
    room = np.empty(out.size + 2 * _LONGEST_RUN, np.uint8)

    def unpack(codes: NDArray[np.uint8], nothing: int = _LONGEST_RUN) -> int | None:
        try:
            padded = np.concatenate([codes, _NOTHING[:nothing]])
            return len(imagecodecs.packbits_decode(padded, out=memoryview(room)))
        except imagecodecs.PackbitsError:
            return None

    if unpack(source) is None:
        # Of the longest beginning with room for it, at most the last run is made up.
        failing = bisect_left(range(source.size), x=True, key=lambda end: unpack(source[:end]) is None)
        unpack(source[: failing - 1])
        filled = out.size
    elif (length := unpack(source[:-1], 0)) is not None:
        filled = length  # the last byte says how long a run is, and nothing follows
    else:
        missing = bisect_left(range(_LONGEST_RUN), x=True, key=lambda count: unpack(source, count) is not None)
        filled = (unpack(source, missing) or 0) - missing
    out = out[:filled]
    out[:] = room[: out.size]
    return out


def encode(data: Buffer) -> bytes:
    """Pack bytes into runs.

    Args:
        data: Any contiguous bytes.

    Returns:
        The runs. They may cross the ends of rows, which every reader known takes, though TIFF 6.0 wants
        rows packed one by one.
    """
    source = as_byte_array(data)
    # imagecodecs takes no empty array here.
    return bytes(imagecodecs.packbits_encode(source)) if source.size else b""


@dataclass(frozen=True)
class PackbitsCodec(TiffBytesCodec):
    """Zarr codec `tiff_codecs.packbits`."""

    codec_name: ClassVar[str] = "tiff_codecs.packbits"
    decode_bytes = staticmethod(decode)
    encode_bytes = staticmethod(encode)
