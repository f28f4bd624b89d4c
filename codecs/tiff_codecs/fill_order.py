"""FillOrder 2: the lowest bit of every byte in the file is the first pixel's (TIFF 6.0, FillOrder)."""

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
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer as ZarrBuffer

__all__ = ["FillOrderCodec", "decode", "encode"]


def decode(data: Buffer, size: int) -> NDArray[np.uint8]:
    """Reverse the bits of every byte.

    Args:
        data: The bytes of the file, still compressed.
        size: The most bytes to return; more are cut off.

    Returns:
        New writable one-dimensional uint8 array.
    """
    source = as_byte_array(data)[: check_size(size)]
    out = np.empty(source.size, np.uint8)
    imagecodecs.bitorder_decode(source, out=out)
    return out


def encode(data: Buffer) -> bytes:
    """Reverse the bits of every byte, which undoes itself.

    Args:
        data: Any contiguous bytes.

    Returns:
        As many bytes.
    """
    source = as_byte_array(data)
    return decode(source, source.size).tobytes()


@dataclass(frozen=True)
class FillOrderCodec(TiffBytesCodec):
    """Zarr codec `tiff_codecs.fill_order`.

    It stands last in the chain and is decoded first, on compressed bytes: the chunk's size is no bound
    for it, but neither can it make anything larger.
    """

    codec_name: ClassVar[str] = "tiff_codecs.fill_order"
    decode_bytes = staticmethod(decode)
    encode_bytes = staticmethod(encode)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Tell the size of the encoded bytes.

        Args:
            input_byte_length: Bytes before encoding.
            chunk_spec: The chunk.

        Returns:
            As many bytes.
        """
        del chunk_spec
        return input_byte_length

    def _decode_sync(self, chunk_data: ZarrBuffer, chunk_spec: ArraySpec) -> ZarrBuffer:
        decoded = decode(chunk_data.as_numpy_array(), len(chunk_data))
        return chunk_spec.prototype.buffer.from_bytes(memoryview(decoded))
