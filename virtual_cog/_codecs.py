"""From an image to the Zarr codecs that decode its tiles."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tiff_codecs.compression import COMPRESSION_NAMES, COMPRESSIONS, Compression
from tiff_codecs.errors import TiffUnsupportedError
from tiff_codecs.layout import TileLayout
from tiff_codecs.tile import TileCodec
from virtual_cog._image_codecs import image_codec, is_subsampled
from virtual_cog._tags import Tag, tag_name

if TYPE_CHECKING:
    import numpy as np

    from tiff_codecs.layout import SampleFormat
    from virtual_cog._image import Image

type Chain = list[dict[str, Any]]
"""Codecs as ``zarr.json`` has them: the array to bytes codec first, what is decoded first last."""

ZARR_DEFLATE: dict[str, Any] = {"name": "numcodecs.zlib", "configuration": {"level": 1}}
"""The compression that Zarr reads by itself. The level says nothing of the file: it is fixed, since scenes whose codecs
differ could not be concatenated. Zarr's `zstd` would be another, but libtiff's frames do not say how long they are, and
numcodecs then looks for another frame behind the first: it refuses bytes that a byte count has too many, and never
returns where they begin like a frame."""


def compression_of(image: Image) -> Compression:
    """Return the decoder of ``image``'s compression.

    Raises:
        TiffUnsupportedError: there is none.
    """
    compression = COMPRESSIONS.get(image.compression)
    if compression is None:
        raise TiffUnsupportedError(
            "no decoder for this compression",
            url=image.url,
            ifd=image.ifd,
            tag=tag_name(Tag.Compression),
            found=f"{image.compression} ({COMPRESSION_NAMES.get(image.compression, 'unknown')})",
            supported=", ".join(sorted({c.name for c in COMPRESSIONS.values()})),
            way_out="rewrite the file with DEFLATE or ZSTD, e.g. `gdal_translate -of COG -co COMPRESS=ZSTD`",
        )
    return compression


def check_readable(image: Image) -> TileLayout:
    """Return the layout of ``image``'s decoded tiles, or say why its pixels are not read.

    Raises:
        TiffUnsupportedError: names the tag, and what to do.
    """
    compression_of(image)
    if is_subsampled(image) and not _can_upsample(image):
        raise TiffUnsupportedError(
            "subsampled YCbCr without JPEG",
            url=image.url,
            ifd=image.ifd,
            tag=tag_name(Tag.YCbCrSubSampling),
            found=f"{image.subsampling} of {image.tile_bands} bands of {image.bits_per_sample} bits",
            supported="1, 2 or 4 columns and rows, three interleaved bands of 8 bits, no predictor",
            way_out="rewrite the file as RGB, e.g. `gdal_translate -co PHOTOMETRIC=RGB`",
        )
    codec = image_codec(image)
    if image.is_volume and codec is not None:
        raise TiffUnsupportedError(
            "a volume in tiles that are images",
            url=image.url,
            ifd=image.ifd,
            tag=tag_name(Tag.ImageDepth),
            found=f"depth {image.depth}, and tiles of the kind {codec.codec_name}",
            supported="volumes without compression, or with one of bytes (DEFLATE, LZW, ZSTD, LZMA, PackBits)",
            way_out="write the slices as pages of their own",
        )
    return image.layout if codec is None else plain_layout(image.dtype)


def _can_upsample(image: Image) -> bool:
    depths = image.bands == image.tile_bands == 3 and image.bits_per_sample == (8,) and image.sample_format == (1,)
    return depths and {*image.subsampling} <= {1, 2, 4} and image.layout.predictor == 1


def plain_layout(dtype: np.dtype[Any]) -> TileLayout:
    """The layout of samples that lie as NumPy has them."""
    formats: dict[str, SampleFormat] = {"u": "uint", "i": "int", "f": "float", "c": "complex_float"}
    return TileLayout(sys.byteorder, 8 * dtype.itemsize, formats[dtype.kind])


def codec_chain(image: Image) -> Chain:
    """The codecs of ``image``'s chunks.

    Where Zarr's own codecs express the tile, and are safe, they are used, so that any Zarr reader opens it. For
    the rest the tile codec does all that is TIFF's own, behind a decompressor. Tiles with bands
    side by side (pixel interleaved) take the tile codec too: Zarr could say it with ``transpose``,
    but a transposed array cannot be stacked along a new axis (the order names each axis).

    Raises:
        TiffUnsupportedError: the pixels are not read; says why and what to do.
    """
    layout = check_readable(image)
    compression = compression_of(image)
    coded = image_codec(image)
    plain = coded is None and (
        image.tile_bands == 1
        and image.last_strip_rows is None
        and image.fill_order == 1
        and layout.predictor == 1
        and layout.is_whole
    )
    serializer: dict[str, Any] = {"name": "bytes"}
    if layout.dtype.itemsize > 1:
        serializer["configuration"] = {"endian": layout.byte_order}
    if plain and compression.is_stored:
        return [serializer]
    if plain and compression.name == "deflate" and not image.strip_is_cut:
        return [serializer, ZARR_DEFLATE]
    depth = image.tile_depth if image.is_volume else None
    chain: Chain = [(TileCodec(layout.canonical(), depth) if coded is None else coded).to_dict()]
    if compression.codec is not None:
        chain.append({"name": f"tiff_codecs.{compression.name}"})
    if image.fill_order != 1:
        chain.append({"name": "tiff_codecs.fill_order"})
    return chain
