"""The tile codec: all that is TIFF's own between a decompressed tile and an array, as one Zarr codec."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .array_codec import TiffArrayCodec, tile_shape
from .bytes_codec import is_on_device
from .configuration import versioned_configuration
from .errors import TiffOptionError, TiffUnsupportedError
from .layout import TileLayout
from .samples import decode_samples, encode_samples

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

__all__ = ["TileCodec"]

_VERSIONS = {"tile": 1, "volume": 2}
_REQUIRED = ("byte_order", "bits_per_sample", "sample_format", "predictor")
_OPTIONAL = ("last_strip_rows",)


@dataclass(frozen=True)
class TileCodec(TiffArrayCodec):
    """Zarr codec `tiff_codecs.tile`, array to bytes.

    Chunks have the shape (..., bands, rows, cols), where axes before the bands have size 1. With several
    bands in a chunk, the pixels in the file are interleaved.

    In the metadata of an array:

        {"name": "tiff_codecs.tile",
         "configuration": {"version": 1, "byte_order": "little", "bits_per_sample": 16,
                           "sample_format": "uint", "predictor": 2}}

    and `last_strip_rows` besides where the last strip is shorter than the others.

    Chunks of volumes have the shape (..., bands, slices, rows, cols). Their `version` is 2, and `tile_depth` says how
    many slices there are in a chunk. They lie one below the other in the tile, as so many more rows would.

    Attributes:
        layout: What the decompressed bytes of a tile mean.
        tile_depth: Slices of a tile of a volume; None where chunks have no such axis.
    """

    codec_name: ClassVar[str] = "tiff_codecs.tile"
    """The name in the metadata of an array, and of the entry point in the group `zarr.codecs`."""

    layout: TileLayout
    tile_depth: int | None = None

    def __post_init__(self) -> None:
        depth = self.tile_depth
        if depth is not None and (type(depth) is not int or depth < 1):
            raise TiffOptionError("the number of slices of a tile must be a positive whole number", found=repr(depth))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build the codec from its JSON in the metadata of an array.

        Args:
            data: Name and configuration.

        Returns:
            The codec.

        Raises:
            TiffOptionError: A key is missing or unknown, or a value has no meaning.
            TiffUnsupportedError: A later version of the package wrote it, or the layout has no meaning.
        """
        optional = (*_OPTIONAL, "tile_depth")
        configuration: dict[str, Any] = versioned_configuration(
            data, cls.codec_name, max(_VERSIONS.values()), _REQUIRED, optional
        )
        depth = configuration.pop("tile_depth", None)
        # The layout checks the values, types included.
        return cls(TileLayout(**configuration), depth)

    def to_dict(self) -> dict[str, Any]:
        """Describe the codec as JSON for the metadata of an array.

        Returns:
            Name and configuration.
        """
        layout = self.layout
        # What earlier versions of the package can read stays as they know it.
        version = _VERSIONS["tile" if self.tile_depth is None else "volume"]
        configuration: dict[str, Any] = {"version": version}
        configuration |= {key: getattr(layout, key) for key in _REQUIRED}
        if layout.last_strip_rows is not None:
            configuration["last_strip_rows"] = layout.last_strip_rows
        if self.tile_depth is not None:
            configuration["tile_depth"] = self.tile_depth
        return {"name": self.codec_name, "configuration": configuration}

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:  # noqa: ANN401
        """Check that an array can have this codec.

        Args:
            shape: Of the array.
            dtype: Zarr data type of the array.
            chunk_grid: Zarr chunk grid of the array.

        Raises:
            TiffUnsupportedError: The dtype is not the one the samples decode to, the array has fewer than
                three axes (of a volume four), or chunks are more than one element long on an axis before the bands.
        """
        layout = self.layout
        native = dtype.to_native_dtype()
        # In either byte order, which not every data type has.
        if (native.kind, native.itemsize) != (layout.dtype.kind, layout.dtype.itemsize):
            raise TiffUnsupportedError(
                "the data type of the array is not that of the samples",
                found=native,
                supported=f"{layout.dtype} for {layout.bits_per_sample}-bit {layout.sample_format}",
                way_out="drop the codecs from the encoding where the array was converted to another type",
            )
        # A grid without one chunk shape (a rectilinear one) is checked chunk by chunk.
        chunk_shape = getattr(chunk_grid, "chunk_shape", None)
        self._tile_shape(shape if chunk_shape is None else chunk_shape, is_chunk=chunk_shape is not None)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Tell the size of a chunk's bytes in the file, before compression.

        Args:
            input_byte_length: Bytes of the chunk as an array; has no effect.
            chunk_spec: The chunk.

        Returns:
            The number of bytes.
        """
        del input_byte_length
        bands, rows, cols = self._tile_shape(chunk_spec.shape)
        return self.layout.tile_bytes(rows, cols, bands)

    def _tile_shape(self, shape: tuple[int, ...], *, is_chunk: bool = True) -> tuple[int, int, int]:
        """Bands, rows and columns of a tile; the slices of a volume's are so many more rows.

        Raises:
            TiffUnsupportedError: a chunk (or, without `is_chunk`, an array) of this shape has no such tiles.
        """
        depth = self.tile_depth
        if depth is None:
            return tile_shape(shape, is_chunk=is_chunk)
        if len(shape) < 4 or (is_chunk and shape[-3] != depth):
            raise TiffUnsupportedError(
                "the chunks of the array are not tiles of the volume",
                found=f"{'chunks of ' if is_chunk else ''}shape {shape}",
                supported=f"chunks of shape (..., bands, {depth}, rows, columns)",
            )
        return tile_shape((*shape[:-3], depth * shape[-2], shape[-1]), is_chunk=is_chunk)

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        shape = chunk_spec.shape
        bands, rows, cols = self._tile_shape(shape)
        if is_on_device(chunk_data):
            from .gpu.buffers import decode_tile

            on_device = decode_tile(chunk_data.as_array_like(), self.layout, (bands, rows, cols))
            if on_device is not None:
                return chunk_spec.prototype.nd_buffer.from_ndarray_like(on_device.reshape(shape))
        samples = decode_samples(chunk_data.as_numpy_array(), self.layout, rows=rows, cols=cols, bands=bands)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(samples.reshape(shape))

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        samples = chunk_data.as_numpy_array().reshape(self._tile_shape(chunk_data.shape))
        return chunk_spec.prototype.buffer.from_bytes(encode_samples(samples, self.layout))

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)
