"""One tile from its bytes in the file to samples in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tiff_codecs import fill_order
from tiff_codecs.samples import decode_samples, decode_samples_into

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

    from tiff_codecs.compression import Compression
    from tiff_codecs.image_codec import ImageCodec
    from tiff_codecs.layout import TileLayout

__all__ = ["TileDecoder"]


@dataclass(frozen=True, slots=True)
class TileDecoder:
    """Decodes the tiles of one image or array, which all have one form."""

    compression: Compression
    fill_order: int
    layout: TileLayout
    rows: int
    """Rows of a tile: of all but a short last strip."""
    cols: int
    bands: int
    """Bands that a tile holds, interleaved."""
    codec: ImageCodec | None = None
    """What decodes tiles that are images of a format of their own; `layout` is that of the samples that come out."""

    @property
    def row_bytes(self) -> int | None:
        """Bytes of a row in the file where rows can be read one by one; None for compressed tiles."""
        if not self.compression.is_stored or self.codec is not None:
            return None
        return self.layout.row_bytes(self.cols, self.bands)

    def decode(self, data: Buffer) -> NDArray[Any]:
        """Decode a whole tile as zarr's own pipeline does.

        Args:
            data: the tile's bytes as the file has them.

        Returns:
            Samples of shape (bands, rows, cols); maybe a view of `data`.

        Raises:
            TiffDataError: the bytes do not decode.
        """
        raw = self._decompress(data, self.rows)
        if self.codec is not None:
            shape = self.bands, self.rows, self.cols
            return self.codec.decode_chunk(raw, self.layout.dtype, shape)
        return decode_samples(raw, self.layout, rows=self.rows, cols=self.cols, bands=self.bands)

    def decode_into(self, data: Buffer, out: NDArray[Any], *, rows: int, first: tuple[int, int, int]) -> None:
        """Decode a part of a tile into `out`.

        Args:
            data: the tile's bytes as the file has them.
            out: shape (bands, rows, cols) of the part, any strides.
            rows: rows that the bytes hold.
            first: band, row and column at which the part begins in the tile.

        Raises:
            TiffDataError: the bytes do not decode, or to too few pixels.
        """
        raw = self._decompress(data, rows)
        if self.codec is not None:
            whole = {"rows": self.rows, "cols": self.cols, "bands": self.bands}
            samples = self.codec.decode_tile(raw, self.layout.dtype, **whole, short=rows)
            out[...] = samples[tuple(slice(start, start + size) for start, size in zip(first, out.shape, strict=True))]
            return
        decode_samples_into(raw, self.layout, out, rows=rows, cols=self.cols, bands=self.bands, first=first)

    def _decompress(self, data: Buffer, rows: int) -> Buffer:
        if self.fill_order != 1:
            data = fill_order.decode(data, memoryview(data).nbytes)
        if self.compression.decode is None:
            return data
        return self.compression.decode(data, self.layout.tile_bytes(rows, self.cols, self.bands))
