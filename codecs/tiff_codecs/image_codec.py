"""What the codecs for image formats inside a tile (JPEG, LERC, WebP, ...) have in common as Zarr codecs."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from .array_codec import TiffArrayCodec, tile_shape
from .byte_arrays import as_byte_array
from .configuration import versioned_configuration
from .errors import TiffDataError, TiffError, TiffOptionError, TiffUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer as ZarrBuffer
    from zarr.core.buffer import NDBuffer

__all__ = ["ImageCodec", "ImageSize", "cast_samples", "damaged"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class ImageSize:
    """What the header of a tile's bytes says of the pixels behind it.

    Attributes:
        rows: Of the image.
        cols: Of the image.
        bands: Of the image, or None where the header does not say it plainly.
    """

    rows: int
    cols: int
    bands: int | None = None


@dataclass(frozen=True, kw_only=True)
class ImageCodec(TiffArrayCodec):
    """An array to bytes codec for tiles that are images of a format of their own.

    Chunks have the shape (..., bands, rows, cols), where axes before the bands have size 1. The header of a
    tile is compared with the chunk before anything is decoded, so that a hostile stream cannot take more
    memory than the chunk does.

    Attributes:
        last_strip_rows: Rows that the last strip of the image has where it has fewer than the others, or
            None. A tile of exactly that many rows is complete.
    """

    last_strip_rows: int | None = None

    required: ClassVar[tuple[str, ...]] = ()
    """Keys of the configuration that must be there; the other fields may be left out at their default."""

    def __post_init__(self) -> None:
        rows = self.last_strip_rows
        if rows is not None and (type(rows) is not int or rows < 1):
            raise TiffOptionError("the number of rows of the last strip must be a positive whole number", found=rows)

    @abstractmethod
    def decode_image(
        self, data: NDArray[np.uint8], dtype: np.dtype[Any], *, rows: int, cols: int, bands: int
    ) -> NDArray[Any]:
        """Decode a tile.

        Args:
            data: Its bytes.
            dtype: Of the samples wanted.
            rows: Rows wanted, which are those of the header where there is one.
            cols: Columns wanted.
            bands: Bands wanted.

        Returns:
            Shape (rows, cols, bands), or (rows, cols) for one band; of `dtype` or one that fits into it.

        Raises:
            TiffDataError: The bytes do not decode. Any other exception is taken for one of these.
        """

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """Read the header of a tile.

        Args:
            data: Its bytes.
            dtype: Of the samples wanted.
            bands: Bands wanted.

        Returns:
            Its size; None for formats without a header.

        Raises:
            TiffDataError: There is no header, or it says what the tile cannot be.
        """
        del data, dtype, bands

    def decode_tile(
        self, data: Buffer, dtype: np.dtype[Any], *, rows: int, cols: int, bands: int, short: int | None = None
    ) -> NDArray[Any]:
        """Decode one tile.

        Args:
            data: The tile's bytes as the file has them, or decompressed where a bytes to bytes codec stands behind.
            dtype: Of the samples, in native byte order.
            rows: Rows of a whole tile.
            cols: Columns of a tile.
            bands: Bands of a tile.
            short: Rows that the tile may have instead, since it may be the last strip.

        Returns:
            Array of shape (bands, rows, cols) and dtype `dtype`, with `short` rows where the tile has so many.

        Raises:
            TiffDataError: The bytes do not decode, or to an image of another size or type.
            TiffUnsupportedError: The tile does not fit into memory, or is of a kind that is not read.
        """
        source = as_byte_array(data)
        try:
            size = self.image_size(source, dtype, bands)
            if size is not None:
                rows = _accepted_rows(size, rows, cols, bands, short)
                return self._decode(source, dtype, rows, cols, bands)
            try:
                return self._decode(source, dtype, rows, cols, bands)
            except TiffDataError:
                if short is None or short == rows:
                    raise
                return self._decode(source, dtype, short, cols, bands)
        except MemoryError as error:
            raise TiffUnsupportedError(
                "a tile is larger than memory", found=f"{rows} rows of {cols} columns and {bands} bands"
            ) from error

    def decode_chunk(self, data: Buffer, dtype: np.dtype[Any], shape: tuple[int, int, int]) -> NDArray[Any]:
        """Decode one tile to a whole chunk, with zeros for rows that a short last strip has not.

        Args:
            data: As for `decode_tile`.
            dtype: Likewise.
            shape: (bands, rows, cols) of the chunk.

        Raises:
            TiffError: As `decode_tile` does.
        """
        bands, rows, cols = shape
        samples = self.decode_tile(data, dtype, rows=rows, cols=cols, bands=bands, short=self.last_strip_rows)
        if samples.shape == shape:
            return samples
        chunk = np.zeros(shape, dtype)
        chunk[:, : samples.shape[1]] = samples
        return chunk

    def _decode(self, data: NDArray[np.uint8], dtype: np.dtype[Any], rows: int, cols: int, bands: int) -> NDArray[Any]:
        try:
            pixels = self.decode_image(data, dtype, rows=rows, cols=cols, bands=bands)
        except (TiffError, MemoryError):
            raise
        except Exception as error:
            raise damaged(self.codec_name, error) from error
        if pixels.shape not in ((rows, cols, bands), (rows, cols)[: 2 if bands == 1 else 0]):
            raise damaged(
                self.codec_name, f"an image of shape {pixels.shape}", f"(rows, columns, bands) of {(rows, cols, bands)}"
            )
        return cast_samples(pixels, dtype).reshape(rows, cols, bands).transpose(2, 0, 1)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build the codec from its JSON in the metadata of an array.

        Args:
            data: Name and configuration.

        Returns:
            The codec.

        Raises:
            TiffOptionError: A key is missing or unknown, or a value has no meaning.
            TiffUnsupportedError: A later version of the package wrote it.
        """
        optional = [field.name for field in fields(cls) if field.name not in cls.required]
        configuration = versioned_configuration(data, cls.codec_name, _VERSION, cls.required, optional)
        return cls(**cast("dict[str, Any]", configuration))

    def to_dict(self) -> dict[str, Any]:
        """Describe the codec as JSON for the metadata of an array.

        Returns:
            Name and configuration. Fields at their default are left out, but for the required ones.
        """
        configuration: dict[str, Any] = {"version": _VERSION}
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if field.name in self.required or value != field.default:
                configuration[field.name] = list(cast("tuple[Any]", value)) if isinstance(value, tuple) else value
        return {"name": self.codec_name, "configuration": configuration}

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:  # noqa: ANN401
        """Check that an array can have this codec.

        Args:
            shape: Of the array.
            dtype: Zarr data type of the array.
            chunk_grid: Zarr chunk grid of the array.

        Raises:
            TiffUnsupportedError: The dtype is not a number, the array has fewer than three axes, or chunks
                are more than one element long on an axis before the bands.
        """
        native = dtype.to_native_dtype()
        if native.kind not in "uifc":
            raise TiffUnsupportedError("the data type of the array is not that of samples", found=native)
        chunk_shape = getattr(chunk_grid, "chunk_shape", None)
        tile_shape(shape if chunk_shape is None else chunk_shape, is_chunk=chunk_shape is not None)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Refuse to tell the size of a compressed image beforehand.

        Args:
            input_byte_length: Bytes of the chunk.
            chunk_spec: The chunk.

        Raises:
            TiffUnsupportedError: Always.
        """
        del input_byte_length, chunk_spec
        raise TiffUnsupportedError(
            "the size of a compressed image is not known before it is compressed",
            found=f"{self.codec_name} where a codec of fixed size is needed",
            way_out="use the codec for chunks, not for a shard's index",
        )

    def _decode_sync(self, chunk_data: ZarrBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        shape = chunk_spec.shape
        dtype = chunk_spec.dtype.to_native_dtype().newbyteorder("=")
        samples = self.decode_chunk(chunk_data.as_numpy_array(), dtype, tile_shape(shape))
        return chunk_spec.prototype.nd_buffer.from_numpy_array(samples[(None,) * (len(shape) - 3)])

    async def _decode_single(self, chunk_data: ZarrBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> ZarrBuffer | None:
        del chunk_data, chunk_spec
        raise TiffUnsupportedError(
            "tiles of this kind are read, but not written",
            found=self.codec_name,
            way_out="give the array that is to be written codecs of Zarr's own",
        )

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> ZarrBuffer | None:
        return self._encode_sync(chunk_data, chunk_spec)


def cast_samples(pixels: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Decoded samples as those of the array: widened where they are narrower, never changed.

    Args:
        pixels: Of any dtype.
        dtype: The array's.

    Returns:
        The array itself where it has the dtype already.

    Raises:
        TiffDataError: The samples do not fit.
    """
    found = pixels.dtype.newbyteorder("=")
    if pixels.dtype == dtype:
        return pixels
    integers = found.kind in "ui" and dtype.kind in "ui"
    if integers and found.itemsize == dtype.itemsize:  # a format that knows no signed integers
        return pixels.astype(found, copy=False).view(dtype)
    if found.kind == "b" or (found.kind == dtype.kind and found.itemsize <= dtype.itemsize):
        return pixels.astype(dtype)
    raise TiffDataError(
        "a tile decodes to samples of another type",
        found=found,
        supported=dtype,
        way_out="the file is damaged, or its tags say the wrong type",
    )


def damaged(codec: str, found: object, supported: object = None) -> TiffDataError:
    """The error for a tile that is no image of its format.

    Args:
        codec: Name of the codec.
        found: What was found, or what the decoder says.
        supported: What would have been right.
    """
    name = codec.rpartition(".")[2].replace("_", " ").upper()
    return TiffDataError(
        f"the {name} data of a tile is damaged or not the tile's",
        found=found,
        supported=supported,
        way_out="the file is damaged or was cut: fetch it again",
    )


def _accepted_rows(size: ImageSize, rows: int, cols: int, bands: int, short: int | None) -> int:
    wanted = {rows, rows if short is None else short}
    if size.cols == cols and size.rows in wanted and size.bands in (None, bands):
        return size.rows
    raise TiffDataError(
        "a tile holds an image of another size",
        found=f"{size.rows} rows, {size.cols} columns, {'any' if size.bands is None else size.bands} bands",
        supported=f"{' or '.join(map(str, sorted(wanted)))} rows, {cols} columns, {bands} bands",
        way_out="the file is damaged, or its metadata was made from another version of it",
    )
