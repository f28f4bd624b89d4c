"""DEFLATE in a zlib stream: TIFF compressions 8 (Adobe) and 32946 (PKZIP).

See Adobe's TIFF Technical Note 2 and RFC 1950.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, decode_into
from .bytes_codec import TiffBytesCodec
from .errors import TiffDataError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["DeflateCodec", "decode", "encode"]

VERIFIED_EXCESS: Final = 1 << 16
VERIFIED_RATIO: Final = 8
"""How far a stream that holds more than the tile is followed to its checksum: some bytes for each byte of
the stream, so that a bomb takes no longer than sound data."""


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of a zlib stream.

    Args:
        data: The stream. Bytes behind its end are passed over.
        size: The most bytes to return. A stream that holds more is cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the stream has fewer.

    Raises:
        TiffDataError: The stream is damaged or does not end. The checksum is verified, except in a
            stream with far too many bytes (64 KiB and eight times its own length).
        TiffUnsupportedError: There is not so much memory.
    """
    return decode_into(imagecodecs.deflate_decode, imagecodecs.DeflateError, _decode_beginning, data, size)


def _decode_beginning(source: NDArray[np.uint8], out: NDArray[np.uint8], error: Exception) -> NDArray[np.uint8]:
    # libdeflate wants the whole stream and room for all of it, and its answer to a stream with too much
    # and to some damaged ones is the same. zlib, at half the speed, tells one from the other.
    del error
    stream = zlib.decompressobj()
    excess, most = 0, VERIFIED_EXCESS + VERIFIED_RATIO * source.size
    # What is left of the source is copied at each step: long steps keep that linear.
    step = max(VERIFIED_EXCESS, source.size)
    try:
        # For zlib 0 is no limit at all; the one byte more is dropped at the end.
        beginning = stream.decompress(source, max(out.size, 1))
        while not stream.eof and excess < most:
            piece = stream.decompress(stream.unconsumed_tail, step)
            if not piece and not stream.eof and not stream.unconsumed_tail:
                raise TiffDataError("a DEFLATE stream is cut short", found=f"no end in {source.size} bytes")
            excess += len(piece)
    except zlib.error as damage:
        raise TiffDataError("a DEFLATE stream is damaged", found=str(damage)) from damage
    out = out[: len(beginning)]
    out[:] = np.frombuffer(beginning, np.uint8, out.size)
    return out


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
