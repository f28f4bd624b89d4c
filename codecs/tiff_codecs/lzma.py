"""LZMA2 in an xz stream: TIFF compression 34925, of libtiff."""

from __future__ import annotations

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

__all__ = ["LzmaCodec", "decode", "encode"]


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of an xz stream, with whatever filters it names (libtiff's has delta).

    Args:
        data: The stream. What follows its end is passed over.
        size: The most bytes to return. A stream that holds more is cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the stream has fewer.

    Raises:
        TiffDataError: The stream is damaged.
    """
    source = as_byte_array(data)
    out = np.empty(check_size(size), np.uint8)
    try:
        return out[: len(imagecodecs.lzma_decode(source, out=memoryview(out)))]
    except imagecodecs.LzmaError as error:
        # imagecodecs looks for another stream behind the first, and refuses what is none.
        beginning = _decode_first_stream(source, size)
        if beginning is None:
            raise TiffDataError("an LZMA stream is damaged", found=str(error)) from error
        return np.frombuffer(bytearray(beginning), np.uint8)


def _decode_first_stream(source: NDArray[np.uint8], size: int) -> bytes | None:
    """Decompress one stream with liblzma's own binding, or None where that fails too."""
    try:
        import lzma  # not every Python was built with it
    except ImportError:
        return None
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    try:
        beginning = stream.decompress(source, size)
        if not stream.eof:
            # The checksum stands behind the last byte.
            stream.decompress(b"", 1)
    except lzma.LZMAError:
        return None
    return beginning


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
