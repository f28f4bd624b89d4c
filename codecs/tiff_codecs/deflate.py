"""DEFLATE in a zlib stream: TIFF compressions 8 (Adobe) and 32946 (PKZIP).

See Adobe's TIFF Technical Note 2 and RFC 1950.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, check_size
from .bytes_codec import TiffBytesCodec
from .errors import TiffDataError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["DeflateCodec", "decode", "encode"]

# How far past the end of the tile a stream that holds more is followed, to see whether its checksum is
# right, and in what steps.
_VERIFIED_EXCESS = 1 << 26
_STEP = 1 << 20


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of a zlib stream.

    Args:
        data: The stream. Bytes behind its end are passed over.
        size: The most bytes to return. A stream that holds more is cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the stream has fewer.

    Raises:
        TiffDataError: The stream is damaged or does not end. The checksum is verified, except in a
            stream with more than 64 MiB too many.
    """
    source = as_byte_array(data)
    out = np.empty(check_size(size), np.uint8)
    try:
        return out[: len(imagecodecs.deflate_decode(source, out=memoryview(out)))]
    except imagecodecs.DeflateError:
        # libdeflate wants the whole stream and room for all of it, and its answer to a stream with too
        # much and to some damaged ones is the same. zlib, at half the speed, tells one from the other.
        return _decode_beginning(source, size)


def _decode_beginning(source: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    stream = zlib.decompressobj()
    try:
        # For zlib 0 is no limit at all; the one byte more is dropped at the end.
        out = bytearray(stream.decompress(source, max(size, 1)))
        excess = 0
        while not stream.eof and excess < _VERIFIED_EXCESS:
            piece = stream.decompress(stream.unconsumed_tail, _STEP)
            if not piece and not stream.eof and not stream.unconsumed_tail:
                raise TiffDataError("a DEFLATE stream is cut short", found=f"no end in {source.size} bytes")
            out += piece[: max(size - len(out), 0)]
            excess += len(piece)
    except zlib.error as error:
        raise TiffDataError("a DEFLATE stream is damaged", found=str(error)) from error
    return np.frombuffer(out, np.uint8)[:size]


def encode(data: Buffer) -> bytes:
    """Compress bytes into a zlib stream at libdeflate's level 6.

    Args:
        data: Any contiguous bytes.

    Returns:
        The stream.
    """
    return bytes(imagecodecs.deflate_encode(as_byte_array(data), 6))


@dataclass(frozen=True)
class DeflateCodec(TiffBytesCodec):
    """Zarr codec `tiff_codecs.deflate`."""

    codec_name: ClassVar[str] = "tiff_codecs.deflate"
    decode_bytes = staticmethod(decode)
    encode_bytes = staticmethod(encode)
