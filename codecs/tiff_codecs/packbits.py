"""PackBits: TIFF compression 32773, see TIFF 6.0 section 9."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, check_size
from .bytes_codec import TiffBytesCodec

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["PackbitsCodec", "decode", "encode"]

_NOTHING = 128


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Unpack the beginning of a row of runs.

    Args:
        data: The runs. What follows once there are enough bytes is passed over.
        size: The most bytes to return. Data that hold more are cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the data have fewer.
        PackBits has no checksum: no damage is noticed but by the length.
    """
    source = as_byte_array(data)
    out = np.empty(check_size(size), np.uint8)
    try:
        return out[: len(imagecodecs.packbits_decode(source, out=memoryview(out)))]
    except imagecodecs.PackbitsError:
        # imagecodecs refuses data with a byte too many, as writers leave behind who pad to even lengths,
        # and a last run that is cut.
        return _decode_beginning(source.tobytes(), size)


def _decode_beginning(codes: bytes, size: int) -> NDArray[np.uint8]:
    out = bytearray()
    position = 0
    while position + 1 < len(codes) and len(out) < size:
        code = codes[position]
        position += 1
        if code < _NOTHING:
            out += codes[position : position + code + 1]
            position += code + 1
        elif code > _NOTHING:
            out += codes[position : position + 1] * (257 - code)
            position += 1
    return np.frombuffer(out, np.uint8)[:size]


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
