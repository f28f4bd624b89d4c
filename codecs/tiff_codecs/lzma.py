"""LZMA2 in an xz stream: TIFF compression 34925, of libtiff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import imagecodecs
import numpy as np

from .byte_arrays import as_byte_array, decode_into
from .bytes_codec import TiffBytesCodec
from .errors import TiffDataError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

__all__ = ["LzmaCodec", "decode", "encode"]


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of an xz stream, with whatever filters it names (libtiff's has delta).

    Args:
        data: The stream. What follows its end is passed over.
        size: The most bytes to return. A stream that holds more is cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the stream has fewer.

    Raises:
        TiffDataError: The stream is damaged. Its checksum is verified where it
            is there, and all bytes are wanted.
        TiffUnsupportedError: There is not so much memory.
    """
    return decode_into(imagecodecs.lzma_decode, imagecodecs.LzmaError, _decode_first_stream, data, size)


def _decode_first_stream(source: NDArray[np.uint8], out: NDArray[np.uint8], error: Exception) -> NDArray[np.uint8]:
    """Decompress one stream: imagecodecs looks for another one behind it, and refuses what is none."""
    try:
        import lzma  # not every Python was built with it

        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    except ImportError:
        raise _damaged(error) from error
    try:
        beginning = stream.decompress(source, out.size)
        if not stream.eof:
            # The checksum stands behind the last byte.
            stream.decompress(b"", 1)
    except lzma.LZMAError as damage:
        raise _damaged(damage) from damage
    out = out[: len(beginning)]
    out[:] = np.frombuffer(beginning, np.uint8)
    return out


def _damaged(error: Exception) -> TiffDataError:
    return TiffDataError("an LZMA stream is damaged", found=str(error))


def encode(data: Buffer) -> bytes:
    """Compress bytes into an xz stream.

    Args:
        data: Any contiguous bytes.

    Returns:
        The stream.
    """
    return bytes(imagecodecs.lzma_encode(as_byte_array(data)))


@dataclass(frozen=True)
class LzmaCodec(TiffBytesCodec):
    """Zarr codec `tiff_codecs.lzma`."""

    codec_name: ClassVar[str] = "tiff_codecs.lzma"
    decode_bytes = staticmethod(decode)
    encode_bytes = staticmethod(encode)
