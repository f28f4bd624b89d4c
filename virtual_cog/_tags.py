"""TIFF tag numbers, names and field types.

Sources: TIFF 6.0 sections 2, 8 and appendix A; BigTIFF; TIFF Technical Note 1 (SubIFDs);
GeoTIFF 1.1 (OGC 19-008); the GDAL GTiff driver for 42112 and 42113.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np


class Tag(IntEnum):
    """The tags this library gives a meaning to; every other tag is kept by its number."""

    NewSubfileType = 254
    SubfileType = 255
    ImageWidth = 256
    ImageLength = 257
    BitsPerSample = 258
    Compression = 259
    PhotometricInterpretation = 262
    FillOrder = 266
    DocumentName = 269
    ImageDescription = 270
    Make = 271
    Model = 272
    StripOffsets = 273
    Orientation = 274
    SamplesPerPixel = 277
    RowsPerStrip = 278
    StripByteCounts = 279
    MinSampleValue = 280
    MaxSampleValue = 281
    XResolution = 282
    YResolution = 283
    PlanarConfiguration = 284
    PageName = 285
    ResolutionUnit = 296
    PageNumber = 297
    T4Options = 292
    Software = 305
    DateTime = 306
    Artist = 315
    HostComputer = 316
    Predictor = 317
    ColorMap = 320
    TileWidth = 322
    TileLength = 323
    TileOffsets = 324
    TileByteCounts = 325
    SubIFDs = 330
    ExtraSamples = 338
    SampleFormat = 339
    JPEGTables = 347
    JPEGProc = 512
    JPEGInterchangeFormat = 513
    JPEGInterchangeFormatLength = 514
    JPEGRestartInterval = 515
    JPEGQTables = 519
    JPEGDCTables = 520
    JPEGACTables = 521
    YCbCrSubSampling = 530
    ReferenceBlackWhite = 532
    XMP = 700
    Copyright = 33432
    ModelPixelScale = 33550
    ModelTiepoint = 33922
    ModelTransformation = 34264
    ICCProfile = 34675
    GeoKeyDirectory = 34735
    GeoDoubleParams = 34736
    GeoAsciiParams = 34737
    ImageDepth = 32997
    TileDepth = 32998
    GDALMetadata = 42112
    GDALNodata = 42113
    RPCCoefficient = 50844
    LercParameters = 50674


def tag_name(code: int) -> str:
    """Return ``"Predictor (317)"`` for 317, and ``"tag 65000"`` for a number without a name here."""
    try:
        return f"{Tag(code).name} ({code})"
    except ValueError:
        return f"tag {code}"


ASCII: Final = 2
RATIONAL: Final = 5
SRATIONAL: Final = 10

FIELD_DTYPES: Final[dict[int, str]] = {
    1: "u1",
    2: "S1",
    3: "u2",
    4: "u4",
    5: "u4",
    6: "i1",
    7: "u1",
    8: "i2",
    9: "i4",
    10: "i4",
    11: "f4",
    12: "f8",
    13: "u4",
    16: "u8",
    17: "i8",
    18: "u8",
}
"""NumPy type of one value (of half a value for the two rational types) by TIFF field type."""

FIELD_SIZES: Final[dict[int, int]] = {
    kind: np.dtype(dtype).itemsize * (2 if kind in (RATIONAL, SRATIONAL) else 1) for kind, dtype in FIELD_DTYPES.items()
}
"""Bytes of one value by TIFF field type."""

TILE_TABLES: Final = frozenset((Tag.StripOffsets, Tag.StripByteCounts, Tag.TileOffsets, Tag.TileByteCounts))
"""Tags whose size grows with the image: read only for the IFD whose tiles are wanted."""

IMAGE_TAGS: Final = frozenset(
    (
        Tag.NewSubfileType,
        Tag.SubfileType,
        Tag.ImageWidth,
        Tag.ImageLength,
        Tag.BitsPerSample,
        Tag.Compression,
        Tag.PhotometricInterpretation,
        Tag.FillOrder,
        Tag.SamplesPerPixel,
        Tag.RowsPerStrip,
        Tag.PlanarConfiguration,
        Tag.Predictor,
        Tag.TileWidth,
        Tag.TileLength,
        Tag.ExtraSamples,
        Tag.SampleFormat,
        Tag.YCbCrSubSampling,
        Tag.JPEGTables,
        Tag.JPEGProc,
        Tag.JPEGInterchangeFormat,
        Tag.JPEGInterchangeFormatLength,
        Tag.JPEGRestartInterval,
        Tag.JPEGQTables,
        Tag.JPEGDCTables,
        Tag.JPEGACTables,
        Tag.T4Options,
        Tag.LercParameters,
        Tag.ImageDepth,
        Tag.TileDepth,
    )
)
"""Tags that decide how pixels are stored."""

METADATA_TAGS: Final = frozenset(
    (
        Tag.ImageDescription,
        Tag.DocumentName,
        Tag.PageName,
        Tag.Software,
        Tag.DateTime,
        Tag.Artist,
        Tag.HostComputer,
        Tag.Copyright,
        Tag.XResolution,
        Tag.YResolution,
        Tag.ResolutionUnit,
        Tag.MinSampleValue,
        Tag.MaxSampleValue,
        Tag.XMP,
        Tag.ColorMap,
        Tag.ModelPixelScale,
        Tag.ModelTiepoint,
        Tag.ModelTransformation,
        Tag.GeoKeyDirectory,
        Tag.GeoDoubleParams,
        Tag.GeoAsciiParams,
        Tag.GDALMetadata,
        Tag.GDALNodata,
        Tag.RPCCoefficient,
    )
)
"""Tags that describe the image; none of them may stop its pixels from being read."""

MAX_VALUES: Final = 65_535
"""Values of an image tag that count: no image has more bands."""

MAX_TEXT: Final = 64 * 1024
"""Bytes of GDAL_NODATA that count."""

MAX_TABLE: Final = 512 * 2**20
"""Bytes of a tile table: those of 67 million tiles, or twice as many."""

MAX_METADATA: Final = 16 * 2**20
"""Bytes of any other tag."""


def most_bytes(tag: int, kind: int) -> tuple[int, bool]:
    """How many bytes of a tag's value are read, and whether a longer one is cut there; else it is not read at all."""
    if tag in IMAGE_TAGS or tag == Tag.SubIFDs:
        return MAX_VALUES * FIELD_SIZES[kind], True
    if tag == Tag.GDALNodata:
        return MAX_TEXT, True
    return (MAX_TABLE if tag in TILE_TABLES else MAX_METADATA), False
