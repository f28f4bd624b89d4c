"""LZW: TIFF compression 5, see TIFF 6.0 section 13.

Streams of early writers, with the lowest bit first and codes that grow one entry later, are told by
their first two bytes, as in libtiff, and decoded too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import imagecodecs

from .byte_arrays import as_byte_array, decode_into
from .bytes_codec import TiffBytesCodec
from .errors import TiffDataError

if TYPE_CHECKING:
    from collections.abc import Buffer

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LzwCodec", "decode", "encode"]


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Decompress the beginning of an LZW stream.

    Args:
        data: The stream. What follows its end is passed over.
        size: The most bytes to return. A stream that holds more is cut there.

    Returns:
        New writable one-dimensional uint8 array of `size` bytes, or fewer where the stream has fewer.

    Raises:
        TiffDataError: The stream is damaged. LZW has no checksum: most damage goes unnoticed.
        TiffUnsupportedError: There is not so much memory.
    """
    return decode_into(imagecodecs.lzw_decode, imagecodecs.LzwError, _refuse, data, size)


def _refuse(source: NDArray[np.uint8], out: NDArray[np.uint8], error: Exception) -> NDArray[np.uint8]:
    del source, out
    raise TiffDataError("an LZW stream is damaged", found=str(error)) from error


def encode(data: Buffer) -> bytes:
    """Compress bytes into an LZW stream as TIFF 6.0 describes it.

    Args:
        data: Any contiguous bytes.

    Returns:
        The stream, with its code of end.
    """
    return bytes(imagecodecs.lzw_encode(as_byte_array(data)))


@dataclass(frozen=True)
class LzwCodec(TiffBytesCodec):
    """Zarr codec `tiff_codecs.lzw`."""

    codec_name: ClassVar[str] = "tiff_codecs.lzw"
    decode_bytes = staticmethod(decode)
    encode_bytes = staticmethod(encode)
