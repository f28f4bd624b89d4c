"""What the array to bytes codecs have in common: chunks of (..., bands, rows, columns), and Zarr format 3 alone."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from zarr.abc.codec import ArrayBytesCodec

from .errors import TiffUnsupportedError

__all__ = ["TiffArrayCodec", "tile_shape"]


class TiffArrayCodec(ArrayBytesCodec):
    """A codec between the bytes of a tile and a chunk of shape (..., bands, rows, columns)."""

    # False even where it is: Zarr's sharding reads chunks of fixed-size codecs as plain arrays, past the
    # codecs.
    is_fixed_size = False

    codec_name: ClassVar[str]
    """The name in the metadata of an array, and of the entry point in the group `zarr.codecs`."""

    @property
    def endian(self) -> str:
        """Not there: a converter that asks for the byte order is about to drop the rest of the codec.

        VirtualiZarr's export to Zarr format 2 (Kerchunk's usual form) keeps nothing of an array to bytes
        codec but its byte order, and the pixels would come out wrong without an error.

        Raises:
            TiffUnsupportedError: Always.
        """
        raise TiffUnsupportedError(
            "a TIFF tile cannot be described in Zarr format 2",
            found=f"the codec {self.codec_name}",
            supported="Zarr format 3",
            way_out="export with zarr_format=3, e.g. `.vz.to_kerchunk(..., zarr_format=3)`, or use Icechunk",
        )


def tile_shape(shape: tuple[int, ...], *, is_chunk: bool = True) -> tuple[int, int, int]:
    """The bands, rows and columns of a chunk (or, without `is_chunk`, of an array).

    Raises:
        TiffUnsupportedError: there are fewer than three axes, or a chunk is longer than 1 on one before them.
    """
    if len(shape) < 3 or (is_chunk and prod(shape[:-3]) != 1):
        raise TiffUnsupportedError(
            "the chunks of the array are not TIFF tiles",
            found=f"chunks of shape {shape}" if is_chunk else f"shape {shape}",
            supported="chunks of shape (..., bands, rows, columns) with size 1 on the axes before the bands",
        )
    bands, rows, cols = shape[-3:]
    return bands, rows, cols
