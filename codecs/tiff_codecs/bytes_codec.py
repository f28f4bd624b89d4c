"""What the codecs for TIFF's compressions have in common as Zarr codecs."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from zarr.abc.codec import BytesBytesCodec

from .configuration import named_configuration
from .errors import TiffOptionError, TiffUnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer

__all__ = ["TiffBytesCodec", "decoded_size", "is_on_device"]


@dataclass(frozen=True)
class TiffBytesCodec(BytesBytesCodec):
    """A bytes-to-bytes codec without a configuration, that works in host memory.

    The size of the decoded bytes is bounded by the chunk's shape and data type, so that a hostile stream
    cannot take more memory than the chunk does.
    """

    # Also for those whose size is fixed: Zarr's sharding reads chunks of fixed-size codecs as plain
    # arrays, past the codecs.
    is_fixed_size = False

    codec_name: ClassVar[str]
    """The name in the metadata of an array, and of the entry point in the group `zarr.codecs`."""

    @staticmethod
    @abstractmethod
    def decode_bytes(data: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
        """Decode at most `size` bytes; see `decode` of the codec's module."""

    @staticmethod
    @abstractmethod
    def encode_bytes(data: NDArray[np.uint8]) -> bytes:
        """Encode bytes; see `encode` of the codec's module."""

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build the codec from its JSON in the metadata of an array.

        Args:
            data: `{"name": ...}`, with or without an empty configuration.

        Returns:
            The codec.

        Raises:
            TiffOptionError: Another name, or a configuration that is not empty.
        """
        configuration = named_configuration(data, cls.codec_name)
        if configuration:
            raise TiffOptionError(
                f"the codec {cls.codec_name} has no configuration",
                found=", ".join(sorted(configuration)),
                way_out="leave the configuration empty, or upgrade if a later version wrote it",
            )
        return cls()

    def to_dict(self) -> dict[str, Any]:
        """Describe the codec as JSON for the metadata of an array.

        Returns:
            The name and an empty configuration. It is spelled out because VirtualiZarr's export to Zarr
            format 2 cannot do without.
        """
        return {"name": self.codec_name, "configuration": {}}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Refuse to tell the size of compressed bytes beforehand, as Zarr wants of a compressor.

        Args:
            input_byte_length: Bytes before compression.
            chunk_spec: The chunk.

        Raises:
            TiffUnsupportedError: Always.
        """
        del input_byte_length, chunk_spec
        raise TiffUnsupportedError(
            "the size of compressed bytes is not known before they are compressed",
            found=f"{self.codec_name} where a codec of fixed size is needed",
            way_out="use the codec for chunks, not for a shard's index",
        )

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        decoded = self.decode_bytes(chunk_data.as_numpy_array(), decoded_size(chunk_spec))
        return chunk_spec.prototype.buffer.from_bytes(memoryview(decoded))

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    def _encode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer | None:
        encoded = self.encode_bytes(chunk_data.as_numpy_array())
        return chunk_spec.prototype.buffer.from_bytes(encoded)

    async def _encode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer | None:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)


def is_on_device(buffer: Buffer) -> bool:
    """Whether the bytes of a chunk lie in GPU memory, in a CuPy array."""
    return type(buffer.as_array_like()).__module__.partition(".")[0] == "cupy"


def decoded_size(chunk_spec: ArraySpec) -> int:
    """The most bytes that a chunk can have before compression.

    Args:
        chunk_spec: Shape and data type of the chunk. Samples in the file are never wider than those of
            the array.

    Returns:
        The number of bytes of the chunk as an array.

    Raises:
        TiffUnsupportedError: The data type has no fixed size.
    """
    dtype = chunk_spec.dtype.to_native_dtype()
    if dtype.hasobject or dtype.kind == "T":
        raise TiffUnsupportedError(
            "TIFF's compressions need to know how many bytes a chunk has",
            found=f"data type {dtype}",
            supported="data types of fixed size",
            way_out="compress such an array with Zarr's own codecs",
        )
    return prod(chunk_spec.shape) * dtype.itemsize
