"""JPEG in TIFF, new and old: the same pixels as GDAL and libjpeg, whatever the streams say of their colors."""

from __future__ import annotations

import imagecodecs
import numpy as np
import pytest
import tifffile

import virtual_cog
from rawtiff import RawTiff
from readers import gdal, read_everywhere
from tiff_codecs import JpegCodec, OldJpegCodec, TiffDataError, TiffOptionError

pytestmark = pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
RNG = np.random.default_rng(11)


def smooth(*shape, dtype="u1", top=255):
    steps = RNG.integers(-9, 10, shape).cumsum(0).cumsum(1) // 4
    return (steps - steps.min()).clip(0, top).astype(dtype)


@pytest.mark.parametrize("layout", [{"tile": (32, 48)}, {"rowsperstrip": 16}], ids=["tiles", "strips"])
@pytest.mark.parametrize("subsampling", [(1, 1), (2, 1), (2, 2)])
def test_ycbcr_as_rgb_and_as_stored(tmp_path, subsampling, layout):
    path = tmp_path / "a.tif"
    options = {"photometric": "ycbcr", "compression": "jpeg", "subsampling": subsampling, "metadata": None}
    tifffile.imwrite(path, smooth(70, 90, 3), **options, **layout)
    np.testing.assert_array_equal(read_everywhere(path), gdal(path))
    stored = read_everywhere(path, ycbcr="stored")
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        stream = file.filehandle.read_segments(page.dataoffsets[:1], page.databytecounts[:1])
        first = next(iter(stream))[0]
        tables = page.tags[347].value if 347 in page.tags else None
    tile = imagecodecs.jpeg_decode(first, tables=tables, colorspace="YCBCR", outcolorspace="YCBCR")
    rows, cols = min(tile.shape[0], 70), min(tile.shape[1], 90)
    np.testing.assert_array_equal(stored[:, :rows, :cols], tile[:rows, :cols].transpose(2, 0, 1))


def test_a_bad_way_to_read_ycbcr(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", smooth(16, 16))
    for call in (
        lambda: virtual_cog.read(tmp_path / "a.tif", ycbcr="RGB"),
        lambda: virtual_cog.COGParser(ycbcr="ycc"),
        lambda: JpegCodec(ycbcr_to_rgb=1),
        lambda: JpegCodec(ycbcr_to_rgb=True, tables="no base64!"),
        lambda: OldJpegCodec(ycbcr_to_rgb=True, header="AAAA"),
    ):
        with pytest.raises(TiffOptionError):
            call()


@pytest.mark.parametrize(
    ("bands", "dtype", "options"),
    [
        (1, "u1", {"photometric": "minisblack"}),
        (2, "u1", {"photometric": "minisblack", "planarconfig": "contig"}),
        (3, "u1", {"photometric": "rgb"}),
        (4, "u1", {"photometric": "separated"}),
        (3, "u1", {"photometric": "rgb", "planarconfig": "separate"}),
    ],
    ids=["grey", "grey and alpha", "RGB", "CMYK", "planar"],
)
def test_components_that_are_no_ycbcr_stay_what_they_are(tmp_path, bands, dtype, options):
    """Also where the streams' markers would make libjpeg guess at a color space, and convert from it."""
    path = tmp_path / "a.tif"
    pixels = smooth(70, 90, bands, dtype=dtype)
    if options.get("planarconfig") == "separate":
        pixels = pixels.transpose(2, 0, 1).copy()
    tifffile.imwrite(path, pixels, compression="jpeg", tile=(32, 48), metadata=None, **options)
    np.testing.assert_array_equal(read_everywhere(path), gdal(f"GTIFF_RAW:{path}"))  # which leaves CMYK alone


@pytest.mark.parametrize("identifiers", [b"\1\2\3", b"RGB", b"\0\1\2"])
def test_component_identifiers_mean_nothing(tmp_path, identifiers):
    stream = bytearray(imagecodecs.jpeg_encode(smooth(32, 32, 3), colorspace="YCBCR", outcolorspace="YCBCR"))
    stream = stream.replace(stream[2 : 4 + int.from_bytes(stream[4:6])], b"", 1)  # the JFIF marker
    frame, scan = stream.index(b"\xff\xc0"), stream.index(b"\xff\xda")
    for band, identifier in enumerate(identifiers):
        stream[frame + 10 + 3 * band] = stream[scan + 5 + 2 * band] = identifier
    file = RawTiff()
    at = file.block(bytes(stream))
    file.ifd(image_tags(32, 32, 32, 7, 2, [at], [len(stream)]))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    as_they_are = imagecodecs.jpeg_decode(bytes(stream), colorspace="YCBCR", outcolorspace="YCBCR")
    np.testing.assert_array_equal(read_everywhere(tmp_path / "a.tif"), as_they_are.transpose(2, 0, 1))


@pytest.mark.parametrize("bands", [1, 3])
def test_12_bit(tmp_path, bands):
    path = tmp_path / "a.tif"
    options = {"compression": "jpeg", "bitspersample": 12, "tile": (32, 48), "metadata": None}
    photometric = "minisblack" if bands == 1 else "rgb"
    tifffile.imwrite(path, smooth(70, 90, bands, dtype="u2", top=4095), photometric=photometric, **options)
    np.testing.assert_array_equal(read_everywhere(path), gdal(path))


@pytest.mark.parametrize(("bands", "photometric"), [(1, "minisblack"), (3, "ycbcr"), (3, "rgb"), (4, "rgb")])
def test_tables_of_gdal(written, noise, bands, photometric):
    options = {"tiled": True, "blockxsize": 64, "blockysize": 32, "interleave": "pixel"}
    pixels = noise("u1", (bands, 70, 90))
    path, truth = written(pixels, compress="jpeg", photometric=photometric, **options)
    np.testing.assert_array_equal(read_everywhere(path), truth)


def test_lossless(tmp_path):
    pixels = smooth(40, 48, dtype="u2", top=60000)
    file = RawTiff()
    stream = imagecodecs.ljpeg_encode(pixels, bitspersample=16)
    at = file.block(stream)
    file.ifd(image_tags(48, 40, 40, 7, 1, [at], [len(stream)], bits=16))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    np.testing.assert_array_equal(read_everywhere(tmp_path / "a.tif")[0], pixels)


# --- old-style JPEG


def image_tags(width, height, rows, compression, photometric, offsets, counts, *, bits=8, more=()):
    bands = 1 if photometric < 2 else 3
    tags = [(256, 3, [width]), (257, 3, [height]), (258, 3, [bits] * bands), (259, 3, [compression]),
            (262, 3, [photometric]), (273, 4, offsets), (277, 3, [bands]), (278, 3, [rows]),
            (279, 4, counts)]  # fmt: skip
    return sorted([*tags, *more])


def parts(stream):
    """The segments of a JPEG by marker, and the bytes of its pixels."""
    found, at = {}, 2
    while True:
        marker, end = stream[at + 1], at + 2 + int.from_bytes(stream[at + 2 : at + 4])
        found.setdefault(marker, []).append(stream[at:end])
        at = end
        if marker == 0xDA:
            return found, stream[at:-2]


def strips_of(pixels, rows, **options):
    bands = pixels.shape[2]
    color = "YCBCR" if bands == 3 else "GRAYSCALE"
    source = "RGB" if bands == 3 else "GRAYSCALE"
    blocks = [pixels[first : first + rows] for first in range(0, len(pixels), rows)]
    return [
        imagecodecs.jpeg_encode(block, level=80, colorspace=source, outcolorspace=color, **options) for block in blocks
    ]


@pytest.mark.parametrize("bands", [1, 3])
@pytest.mark.parametrize("form", ["stream", "header", "tables"])
def test_old_style(tmp_path, form, bands):
    """The tables in a JPEG that the strips lie in, in the beginning of one, or table by table."""
    rows, height = (40, 40) if form == "stream" else (16, 40)
    streams = strips_of(smooth(height, 48, bands), rows, **({"subsampling": "422"} if bands == 3 else {}))
    found, _ = parts(streams[0])
    file = RawTiff()
    more = [(530, 3, [2, 1])] if bands == 3 else []
    if form == "tables":
        quantization = {s[4 + at] & 15: s[5 + at : 69 + at] for s in found[0xDB] for at in range(0, len(s) - 4, 65)}
        codes = {}
        for segment in found[0xC4]:
            at = 4
            while at < len(segment):
                end = at + 17 + sum(segment[at + 1 : at + 17])
                codes[segment[at]] = segment[at + 1 : end]
                at = end
        which = [0, 1, 1][:bands]
        more += [(512, 3, [1]), (519, 4, [file.block(quantization[table]) for table in which])]
        more += [(520 + kind, 4, [file.block(codes[kind << 4 | table]) for table in which]) for kind in (0, 1)]
    else:
        whole = bytearray(streams[0] if form == "stream" else streams[0][: streams[0].index(b"\xff\xda")])
        frame = whole.index(b"\xff\xc0")
        whole[frame + 5 : frame + 7] = height.to_bytes(2)
        start = file.block(bytes(whole))
        more += [(512, 3, [1]), (513, 4, [start]), (514, 4, [len(whole)])]
    pixels = [parts(stream)[1] for stream in streams]
    if form == "stream":
        offsets = [start + len(streams[0]) - 2 - len(pixels[0])]
    else:
        if form == "header":  # as the writer that made most of these did
            pixels[0] = found[0xDA][0] + pixels[0]
        offsets = [file.block(block) for block in pixels]
    photometric = 6 if bands == 3 else 1
    file.ifd(image_tags(48, height, rows, 6, photometric, offsets, [len(block) for block in pixels], more=more))
    path = tmp_path / "a.tif"
    path.write_bytes(file.bytes())
    if bands == 3:  # GDAL refuses grey
        np.testing.assert_array_equal(read_everywhere(path), gdal(path))
    stored = read_everywhere(path, ycbcr="stored")
    color = "YCBCR" if bands == 3 else "GRAYSCALE"
    truth = [imagecodecs.jpeg_decode(s, colorspace=color, outcolorspace=color).reshape(-1, 48, bands) for s in streams]
    np.testing.assert_array_equal(stored, np.concatenate(truth).transpose(2, 0, 1))


def test_old_style_whose_tables_are_missing(tmp_path):
    file = RawTiff()
    file.ifd(image_tags(16, 16, 16, 6, 6, [8], [20], more=[(513, 4, [2**31])]))
    (tmp_path / "a.tif").write_bytes(file.bytes())
    for call in (virtual_cog.read, virtual_cog.open_store):
        with pytest.raises(virtual_cog.TiffUnsupportedError, match="without the tables"):
            call(tmp_path / "a.tif")
    assert virtual_cog.describe(tmp_path / "a.tif").ifds[0].compression == 6


def test_a_jpeg_of_another_size_is_refused(tmp_path):
    stream = imagecodecs.jpeg_encode(smooth(32, 40))
    with pytest.raises(TiffDataError, match="another size"):
        JpegCodec(ycbcr_to_rgb=False).decode_chunk(stream, np.dtype("u1"), (1, 32, 48))
