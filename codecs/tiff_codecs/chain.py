"""The codecs of a Zarr array, understood as those of TIFF tiles."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tiff_codecs.compression import BY_NAME, Compression
from tiff_codecs.image_codec import ImageCodec
from tiff_codecs.layout import SampleFormat, TileLayout
from tiff_codecs.tile import TileCodec

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Chain", "parse_chain"]

DECOMPRESSORS: Final[dict[str, str]] = {
    "gzip": "gzip",
    "numcodecs.gzip": "gzip",
    "numcodecs.lz4": "lz4",
    "numcodecs.zlib": "deflate",
    "numcodecs.zstd": "zstd",
    "zstd": "zstd",
    **{compression.codec.codec_name: name for name, compression in BY_NAME.items() if compression.codec},
}
"""Compressions by the name of the Zarr codec."""

_FORMATS: Final[dict[str, SampleFormat]] = {"u": "uint", "i": "int", "f": "float", "c": "complex_float"}


@dataclass(frozen=True, slots=True)
class Chain:
    """How the chunks of an array are stored."""

    compression: Compression
    fill_order: int
    layout: TileLayout
    bands: int
    rows: int
    """Rows of a chunk; those of all its slices, which lie one below the other, in an array of volumes."""
    cols: int
    grid_rows: int
    """Number of chunks along the rows' axis: the last of them may be a short strip."""
    codec: ImageCodec | None = None
    """What decodes chunks that are images of a format of their own; `layout` is that of the samples that come out."""
    is_volume: bool = False
    """Whether chunks have an axis of slices between the bands and the rows."""

    @property
    def tile_shape(self) -> tuple[int, int, int]:
        """(bands, rows, columns) of a decoded tile."""
        return self.bands, self.rows, self.cols


def parse_chain(metadata: Any) -> Chain | str | None:  # noqa: ANN401 - zarr's ArrayV3Metadata
    """Read the codecs of an array.

    Returns:
        The chain; or why its chunks are no TIFF tiles that the GPU reads; or None for an array too plain to be
        meant (coordinates and the like: uncompressed, of fewer than two dimensions).
    """
    codecs = [codec.to_dict() for codec in metadata.codecs]
    names: list[str] = [codec["name"] for codec in codecs]
    shape: tuple[int, ...] = metadata.chunks
    if len(shape) < 2:
        return None if names == ["bytes"] else f"an array of {len(shape)} dimensions"
    serializer, *compressors = metadata.codecs
    codec: ImageCodec | None = None
    depth: int | None = None
    if isinstance(serializer, TileCodec):
        layout, depth = serializer.layout, serializer.tile_depth
        bands = shape[-3 if depth is None else -4]
    elif isinstance(serializer, ImageCodec):
        codec, bands = serializer, shape[-3]
        native: np.dtype[Any] = metadata.data_type.to_native_dtype()
        plain = TileLayout(sys.byteorder, 8 * native.itemsize, _FORMATS[native.kind])
        layout = replace(plain, last_strip_rows=codec.last_strip_rows)
    elif names[0] == "bytes":
        dtype: np.dtype[Any] = metadata.data_type.to_native_dtype()
        if dtype.kind not in _FORMATS or any(side != 1 for side in shape[:-3]):
            return f"chunks of {dtype} and shape {shape} in plain bytes"
        depth = shape[-3] if len(shape) > 2 and shape[-3] > 1 else None
        endian = codecs[0].get("configuration", {}).get("endian") or sys.byteorder
        layout = TileLayout(endian, 8 * dtype.itemsize, _FORMATS[dtype.kind]).canonical()
        bands = 1
    else:
        return f"the codec {names[0]}"
    fill_order = 1
    if names[1:] and names[-1] == "tiff_codecs.fill_order":
        fill_order, compressors, names = 2, compressors[:-1], names[:-1]
    if len(compressors) > 1 or any(name not in DECOMPRESSORS for name in names[1:]):
        return f"the codecs {', '.join(names[1:])}"
    name = DECOMPRESSORS[names[1]] if compressors else "none"
    if codec is not None and not compressors:
        name = codec.codec_name.removeprefix("tiff_codecs.")
    compression = BY_NAME.get(name, BY_NAME["none"])
    grid_rows = -(-metadata.shape[-2] // shape[-2])
    if layout.last_strip_rows == shape[-2]:
        layout = replace(layout, last_strip_rows=None)
    rows = shape[-2] * (depth or 1)
    return Chain(compression, fill_order, layout, bands, rows, shape[-1], grid_rows, codec, depth is not None)
