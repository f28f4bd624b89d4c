"""One image of a TIFF: what an IFD says of its pixels, checked and in Python's types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from tiff_codecs.errors import TiffFormatError, TiffOptionError, TiffUnsupportedError
from tiff_codecs.layout import Predictor, SampleFormat, TileLayout
from virtual_cog._tags import Tag, tag_name

if TYPE_CHECKING:
    import numpy as np

    from virtual_cog._ifd import Ifd

SAMPLE_FORMATS: Final[dict[int, SampleFormat]] = {
    1: "uint",
    2: "int",
    3: "float",
    4: "uint",  # "undefined": GDAL and libtiff read unsigned integers
    5: "complex_int",
    6: "complex_float",
}

MAX_SIDE = 2**31 - 1
MAX_BANDS = 65_535

PREDICTED: Final = frozenset((5, 8, 32946, 34925, 34926, 50000, 50013))
"""Compressions whose Predictor tag counts; libtiff ignores it for every other."""

JPEGS: Final = frozenset((6, 7, 33007, 34892))
"""Compressions whose bytes never have their bits in another order: libtiff ignores FillOrder for them."""

type YCbCr = Literal["rgb", "stored"]
"""What YCbCr in JPEG is read as: converted to RGB as GDAL does, or as it is stored."""


def check_ycbcr(ycbcr: YCbCr) -> None:
    """Refuse what is no way to read YCbCr.

    Raises:
        TiffOptionError: neither "rgb" nor "stored".
    """
    if ycbcr not in get_args(YCbCr.__value__):
        raise TiffOptionError("unknown way to read YCbCr", found=repr(ycbcr), supported='"rgb" or "stored"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """How one image of a file is stored. Sizes are in pixels.

    Tiles and strips are one thing here: a strip is a tile as wide as the image.
    """

    url: str
    ifd: int
    byte_order: str
    subfile_type: int
    width: int
    height: int
    bands: int
    """SamplesPerPixel."""
    bits_per_sample: tuple[int, ...]
    """One number, or one a band when they differ."""
    sample_format: tuple[int, ...]
    """As the tag has it (TIFF 6.0 section 19); one number, or one a band when they differ."""
    photometric: int | None
    compression: int
    predictor: int
    fill_order: int
    planar: bool
    """Each band in tiles of its own (PlanarConfiguration 2)."""
    tiled: bool
    tile_width: int
    tile_height: int
    """Rows of a tile; of a strip: RowsPerStrip, at most the image's height."""
    subsampling: tuple[int, int]
    """YCbCrSubSampling; (1, 1) for every other photometric interpretation."""
    extra_samples: tuple[int, ...]
    depth: int = 1
    """Slices of a volume (ImageDepth)."""
    tile_depth: int = 1
    """Slices that one tile of a volume holds (TileDepth)."""
    strip_is_cut: bool = False
    """The only strip is shorter than RowsPerStrip: some writers fill it up with rows that the image does not have."""
    jpeg_tables: bytes = b""
    """JPEGTables: tables that all tiles share. Of old-style JPEG, what stands before the pixels of a JPEG."""
    t4_options: int = 0
    """T4Options of CCITT Group 3."""
    lerc_compression: int = 0
    """What LERC data is compressed with besides, the second of LercParameters: 0 nothing, 1 DEFLATE, 2 ZSTD."""
    ycbcr: YCbCr = "rgb"

    @property
    def is_mask(self) -> bool:
        """A transparency mask (NewSubfileType bit 2)."""
        return bool(self.subfile_type & 4)

    @property
    def is_overview(self) -> bool:
        """A reduced-resolution version of another image of the file (NewSubfileType bit 0)."""
        return bool(self.subfile_type & 1)

    @property
    def tile_bands(self) -> int:
        """Bands that one tile holds."""
        return 1 if self.planar else self.bands

    @property
    def is_volume(self) -> bool:
        """Whether pixels have a depth: an axis between bands and rows."""
        return self.depth > 1 or self.tile_depth > 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's: (bands, height, width), of a volume (bands, depth, height, width)."""
        return (self.bands, *((self.depth,) if self.is_volume else ()), self.height, self.width)

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """Of one tile, with the axes of :attr:`shape`."""
        return (self.tile_bands, *((self.tile_depth,) if self.is_volume else ()), self.tile_height, self.tile_width)

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of tiles along each axis, that of a pixel's bands first: 1 unless planar.

        The order of tiles in the file's tables is C order.
        """
        return tuple(-(-side // tile) for side, tile in zip(self.shape, self.tile_shape, strict=True))

    @property
    def last_strip_rows(self) -> int | None:
        """Rows of the last strip where it is short (TIFF 6.0 section 3, RowsPerStrip); None where all are alike."""
        rest = self.height % self.tile_height
        return None if self.tiled or not rest else rest

    @property
    def layout(self) -> TileLayout:
        """How samples lie in a decompressed tile.

        Raises:
            TiffUnsupportedError: a combination of bits, format and predictor that is not read.
        """
        try:
            return TileLayout(
                byte_order="little" if self.byte_order == "little" else "big",
                bits_per_sample=self._same(self.bits_per_sample, Tag.BitsPerSample),
                sample_format=self._sample_format(),
                predictor=self._predictor(),
                last_strip_rows=self.last_strip_rows,
            )
        except TiffUnsupportedError as error:
            raise error.with_context(url=self.url, ifd=self.ifd) from None

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The NumPy type that pixels are read as, in native byte order (raises as :attr:`layout` does)."""
        if self.is_mixed_integers:
            return TileLayout("little", max(self.bits_per_sample), "uint").dtype
        return self.layout.dtype

    @property
    def is_mixed_integers(self) -> bool:
        """Whether pixels are unsigned integers of different depths, interleaved and without a predictor."""
        predicted = self.predictor != 1 and self.compression in PREDICTED
        formats = {SAMPLE_FORMATS.get(code) for code in self.sample_format}
        depths = self.bits_per_sample
        if self.planar or predicted or formats != {"uint"}:
            return False
        return len(depths) == self.bands > 1 and max(depths) <= 64

    def _same(self, values: tuple[int, ...], tag: Tag) -> int:
        if len(values) != 1:
            raise TiffUnsupportedError(
                "bands of different types in one image",
                tag=tag_name(tag),
                found=str(values),
                supported="one type for all bands",
                way_out="convert the bands to one type, or keep them in files of their own",
            )
        return values[0]

    def _sample_format(self) -> SampleFormat:
        code = self._same(self.sample_format, Tag.SampleFormat)
        if code not in SAMPLE_FORMATS:
            raise TiffUnsupportedError(
                "unknown sample format",
                tag=tag_name(Tag.SampleFormat),
                found=str(code),
                supported="1 (unsigned), 2 (signed), 3 (float), 4 (undefined), 5 and 6 (complex)",
            )
        return SAMPLE_FORMATS[code]

    def _predictor(self) -> Predictor:
        predictor = self.predictor if self.compression in PREDICTED else 1
        if predictor not in (1, 2, 3):
            raise TiffUnsupportedError(
                "unknown predictor",
                tag=tag_name(Tag.Predictor),
                found=str(predictor),
                supported="1 (none), 2 (horizontal) and 3 (floating point)",
                way_out="rewrite the file, e.g. `gdal_translate -of COG -co PREDICTOR=YES`",
            )
        return predictor


def image_from_ifd(ifd: Ifd, url: str) -> Image:
    """Interpret an IFD whose image tags are loaded.

    Raises:
        TiffFormatError: a tag that every image needs is missing, or says something impossible.
    """

    def bad(tag: Tag, found: object, supported: str) -> TiffFormatError:
        return TiffFormatError(
            "the IFD does not describe an image",
            url=url,
            ifd=ifd.index,
            tag=tag_name(tag),
            found=str(found),
            supported=supported,
            way_out="the file is damaged, or this IFD is no image",
        )

    def side(tag: Tag, default: int = 0) -> int:
        value = ifd.integer(tag, default)
        if not 0 < value <= MAX_SIDE:
            raise bad(tag, value if tag in ifd else "no such tag", f"1 to {MAX_SIDE}")
        return value

    def choice(tag: Tag, default: int, allowed: tuple[int, ...]) -> int:
        value = ifd.integer(tag, default)
        if value not in allowed:
            raise bad(tag, value, " or ".join(map(str, allowed)))
        return value

    width, height = side(Tag.ImageWidth), side(Tag.ImageLength)
    bits = _numbers(ifd, Tag.BitsPerSample) or (1,)
    bands = ifd.integer(Tag.SamplesPerPixel, max(1, len(bits)))
    if not 0 < bands <= MAX_BANDS:
        raise bad(Tag.SamplesPerPixel, bands, f"1 to {MAX_BANDS}")
    if not all(0 < b <= 1024 for b in bits):
        raise bad(Tag.BitsPerSample, bits, "a positive number")
    tiled = Tag.TileWidth in ifd or Tag.TileOffsets in ifd
    if tiled:
        tile_width, tile_height = side(Tag.TileWidth), side(Tag.TileLength)
        strip_is_cut = False
    else:
        rows = ifd.integer(Tag.RowsPerStrip, height)
        tile_width, tile_height = width, min(rows, height) if rows > 0 else height
        strip_is_cut = height < rows < MAX_SIDE  # the largest number says that there is one strip, and no more
    photometric = ifd.integer(Tag.PhotometricInterpretation, -1)
    subsampling = (1, 1)
    if photometric == 6:
        pair = _numbers(ifd, Tag.YCbCrSubSampling)
        subsampling = (pair[0], pair[1]) if len(pair) == 2 else (2, 2)
    planar = choice(Tag.PlanarConfiguration, 1, (1, 2)) == 2 and bands > 1
    compression = ifd.integer(Tag.Compression, 1)
    return Image(
        url=url,
        ifd=ifd.index,
        byte_order=ifd.byte_order,
        subfile_type=_subfile_type(ifd),
        width=width,
        height=height,
        bands=bands,
        bits_per_sample=_distinct(bits, bands),
        sample_format=_distinct(_numbers(ifd, Tag.SampleFormat) or (1,), bands),
        photometric=None if photometric < 0 else photometric,
        compression=compression,
        predictor=ifd.integer(Tag.Predictor, 1),
        fill_order=1 if compression in JPEGS else choice(Tag.FillOrder, 1, (1, 2)),
        planar=planar,
        tiled=tiled,
        tile_width=tile_width,
        tile_height=tile_height,
        subsampling=subsampling,
        extra_samples=_numbers(ifd, Tag.ExtraSamples),
        depth=max(1, ifd.integer(Tag.ImageDepth, 1)),
        tile_depth=max(1, ifd.integer(Tag.TileDepth, 1)) if tiled else 1,
        strip_is_cut=strip_is_cut,
        jpeg_tables=_bytes(ifd, Tag.JPEGTables),
        t4_options=ifd.integer(Tag.T4Options, 0),
        lerc_compression=(*_numbers(ifd, Tag.LercParameters), 0, 0)[1],
    )


def _numbers(ifd: Ifd, tag: Tag) -> tuple[int, ...]:
    return ifd.integers(tag, MAX_BANDS)


def _bytes(ifd: Ifd, tag: Tag) -> bytes:
    values = ifd.values(tag)
    return b"" if values is None or values.dtype.itemsize != 1 else values.tobytes()


def _distinct(values: tuple[int, ...], bands: int) -> tuple[int, ...]:
    """One number when all bands share it: some writers give one for all, some give too many."""
    values = values[:bands]
    return values[:1] if len(set(values)) == 1 else values


def _subfile_type(ifd: Ifd) -> int:
    """NewSubfileType, or the same from the older SubfileType (TIFF 6.0 section 8: 2 is a reduced image)."""
    if Tag.NewSubfileType in ifd:
        return ifd.integer(Tag.NewSubfileType, 0)
    return 1 if ifd.integer(Tag.SubfileType, 0) == 2 else 0
