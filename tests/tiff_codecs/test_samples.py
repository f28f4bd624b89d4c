from __future__ import annotations

import itertools

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import imagecodecs
import numpy as np
import pytest
import tifffile

from tiff_codecs import TiffDataError, TiffOptionError, TileLayout, decode_samples, encode_samples
from tiff_codecs.samples import decode_samples_into

INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
FLOATS = ["f2", "f4", "f8"]
LAYOUTS = [
    *[TileLayout(order, bits, kind) for order in ("little", "big") for kind in ("uint", "int")
      for bits in (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 57, 64)],
    *[TileLayout(order, bits, "uint", 2) for order in ("little", "big") for bits in (8, 16, 32, 64)],
    *[TileLayout(order, bits, "int", 2) for order in ("little", "big") for bits in (8, 16, 32, 64)],
    *[TileLayout(order, bits, "float", predictor) for order in ("little", "big")
      for bits, predictor in itertools.product((16, 32, 64), (1, 2, 3))],
    *[TileLayout(order, 24, "float", predictor) for order in ("little", "big") for predictor in (1, 3)],
    *[TileLayout(order, bits, "complex_int", predictor) for order in ("little", "big")
      for bits in (32, 64) for predictor in (1, 2)],
    *[TileLayout(order, 64, "complex_float", predictor) for order in ("little", "big") for predictor in (1, 2)],
    *[TileLayout(order, 128, "complex_float") for order in ("little", "big")],
]  # fmt: skip


def layout_id(layout):
    return f"{layout.byte_order}-{layout.bits_per_sample}{layout.sample_format}-p{layout.predictor}"


def values_of(layout, noise, shape):
    """Values that the layout holds exactly."""
    bits = layout.bits_per_sample
    if layout.sample_format == "complex_int":
        parts = noise("i2", (*shape, 2)).astype("f4") * (3 if bits == 64 else 1)
        return parts.view("c8")[..., 0]
    values = noise(layout.dtype, shape)
    if layout.is_packed:
        spare = 8 * values.dtype.itemsize - bits
        return (values << spare) >> spare
    if bits == 24:
        return (values.view("u4") & 0xFFFFFF80).view("f4")
    return values


@pytest.mark.parametrize("layout", LAYOUTS, ids=layout_id)
def test_what_was_encoded_decodes_to_the_same(layout, noise):
    for shape in [(1, 6, 11), (3, 5, 7), (1, 1, 1), (4, 1, 9), (2, 9, 1)]:
        values = values_of(layout, noise, shape)
        bands, rows, cols = shape
        raw = encode_samples(values, layout)
        assert len(raw) == layout.tile_bytes(rows, cols, bands)
        decoded = decode_samples(raw, layout, rows=rows, cols=cols, bands=bands)
        assert decoded.dtype == layout.dtype
        assert decoded.dtype.isnative
        assert decoded.shape == shape
        assert decoded.tobytes() == values.tobytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("bands", "planar", "tile"),
    [(1, "contig", (16, 16)), (3, "contig", (16, 32)), (2, "separate", (32, 16)), (5, "contig", None)],
)
@pytest.mark.parametrize(
    ("dtype", "predictor"),
    [
        *itertools.product([*INTEGERS, *FLOATS, "c8", "c16"], [1]),
        *itertools.product(INTEGERS, [2]),
        *itertools.product(FLOATS, [3]),
    ],
)
def test_reads_what_tifffile_writes(tmp_path, tiles_of, noise, order, bands, planar, tile, dtype, predictor):
    image = noise(dtype, (bands, 37, 45))
    stored = image if planar == "separate" or bands == 1 else image.transpose(1, 2, 0)
    tifffile.imwrite(
        tmp_path / "a.tif",
        stored[0] if bands == 1 else stored,
        byteorder=order,
        photometric="minisblack",
        planarconfig=None if bands == 1 else planar,
        compression=None if predictor == 1 else "zlib",
        predictor=None if predictor == 1 else predictor,
        tile=tile,
        rowsperstrip=None if tile else 10,
        metadata=None,
    )
    assert tiles_of(tmp_path / "a.tif").read().tobytes() == image.tobytes()


@pytest.mark.parametrize("order", ["LITTLE", "BIG"])
@pytest.mark.parametrize("bands", [1, 3])
@pytest.mark.parametrize("interleave", ["PIXEL", "BAND"])
@pytest.mark.parametrize(
    ("dtype", "predictor"),
    [
        *itertools.product(["u1", "i2", "u4", "i8", "f4", "f8", "c8"], [1, 2]),
        *itertools.product(["f4", "f8"], [3]),
        ("c16", 1),
    ],
)
def test_reads_what_gdal_writes(written, tiles_of, noise, order, bands, interleave, dtype, predictor):
    path, expected = written(
        noise(dtype, (bands, 40, 50)),
        compress="DEFLATE",
        predictor=predictor,
        endianness=order,
        interleave=interleave,
        tiled=True,
        blockxsize=32,
        blockysize=16,
    )
    image = tiles_of(path).read()
    assert image.dtype == expected.dtype
    assert image.tobytes() == expected.tobytes()


@pytest.mark.parametrize("order", ["LITTLE", "BIG"])
@pytest.mark.parametrize("predictor", [1, 2])
def test_reads_complex_integers_of_gdal(written, tiles_of, order, predictor):
    parts = np.random.default_rng(0).integers(-(2**15), 2**15, (2, 20, 30, 2)).astype("f4")
    path, expected = written(
        parts.view("c8")[..., 0],
        dtype="complex_int16",
        compress="LZW",
        predictor=predictor,
        endianness=order,
    )
    tiles = tiles_of(path)
    assert (tiles.layout.sample_format, tiles.layout.bits_per_sample) == ("complex_int", 32)
    assert np.array_equal(tiles.read(), expected)


# 24 bits are left out in big-endian files: GDAL writes such integers lowest byte first, against TIFF 6.0
# and the order in which tifffile reads them.
@pytest.mark.parametrize(
    ("bits", "order"),
    [*itertools.product([1, 2, 3, 4, 5, 7, 9, 12, 15, 17, 31], ["LITTLE", "BIG"]), (24, "LITTLE")],
)
@pytest.mark.parametrize("bands", [1, 3])
def test_reads_odd_depths_of_gdal(written, tiles_of, bits, order, bands):
    dtype = "u1" if bits <= 8 else "u2" if bits <= 16 else "u4"
    image = np.random.default_rng(bits).integers(0, 2**bits, (bands, 19, 27)).astype(dtype)
    path, expected = written(image, nbits=bits, endianness=order, interleave="PIXEL", compress="PACKBITS")
    tiles = tiles_of(path)
    assert tiles.layout.bits_per_sample == bits
    assert np.array_equal(tiles.read(), expected)
    assert np.array_equal(expected, image)


def test_half_precision_of_gdal(written, tiles_of, noise):
    path, expected = written(noise("f2", (1, 20, 30)).astype("f4"), nbits=16, compress="ZSTD", predictor=3)
    assert np.array_equal(tiles_of(path).read(), expected)


@pytest.mark.parametrize("bits", [3, 12, 24, 40])
def test_signs_are_extended(bits):
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    layout = TileLayout("big", bits, "int")
    values = np.array([[[lowest, -1, 0, 1, highest]]], layout.dtype)
    packed = "".join(f"{value % 2**bits:0{bits}b}" for value in (lowest, -1, 0, 1, highest))
    packed += "0" * (-len(packed) % 8)
    raw = int(packed, 2).to_bytes(len(packed) // 8, "big")
    assert decode_samples(raw, layout, rows=1, cols=5, bands=1).tolist() == values.tolist()
    assert encode_samples(values, layout) == raw


@pytest.mark.parametrize("order", ["little", "big"])
def test_float24_has_the_byte_order_of_the_file(order):
    raw = bytes.fromhex("3f8000")  # 1 bit of sign, 7 of exponent (bias 63), 16 of mantissa: 1.5
    layout = TileLayout(order, 24, "float")
    decoded = decode_samples(raw[::-1] if order == "little" else raw, layout, rows=1, cols=1, bands=1)
    assert decoded.tolist() == [[[1.5]]]


@pytest.mark.parametrize("shape", [(1, 300, 512), (3, 300, 512), (2, 3, 70_000)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_predictor_3_in_pieces_is_that_of_imagecodecs(dtype, shape, noise):
    values = noise(dtype, shape)
    bands, rows, cols = shape
    pixels = np.ascontiguousarray(values.transpose(1, 2, 0))
    raw = imagecodecs.floatpred_encode(pixels, axis=-2).tobytes()
    layout = TileLayout("little", 8 * values.itemsize, "float", 3)
    assert encode_samples(values, layout) == raw
    assert decode_samples(raw, layout, rows=rows, cols=cols, bands=bands).tobytes() == values.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS, ids=layout_id)
def test_input_is_left_as_it_was_and_need_not_be_aligned(layout, noise):
    values = values_of(layout, noise, (2, 6, 7))
    raw = encode_samples(values, layout)
    memory = bytearray(b"x" + raw)
    view = np.frombuffer(memory, np.uint8)[1:]
    decoded = decode_samples(view, layout, rows=6, cols=7, bands=2)
    assert decoded.tobytes() == values.tobytes()
    assert memory == b"x" + raw
    assert encode_samples(values, layout) == raw


@pytest.mark.parametrize("layout", LAYOUTS, ids=layout_id)
def test_parts_are_decoded_to_their_places(layout, noise):
    values = values_of(layout, noise, (3, 9, 11))
    memory = np.frombuffer(b"x" + encode_samples(values, layout) + b"more", np.uint8)[1:]
    for part in (np.s_[:, :, :], np.s_[:, 2:7, :6], np.s_[:, 8:, 10:], np.s_[1:2, :4, :], np.s_[1:, 3:5, 2:9]):
        for order in ("C", "F"):
            room = np.zeros((5, 14, 15), layout.dtype, order=order)
            wanted = values[part]
            inside = tuple(slice(1, 1 + side) for side in wanted.shape)
            first = tuple(each.start or 0 for each in part)
            decode_samples_into(memory, layout, room[inside], rows=9, cols=11, bands=3, first=first)
            assert room[inside].tobytes() == wanted.tobytes()
            room[inside] = 0
            assert not room.any()
    with pytest.raises(TiffDataError) as caught:
        decode_samples_into(memory[:-5], layout, np.empty((3, 9, 11), layout.dtype), rows=9, cols=11, bands=3)
    assert caught.value.found == f"{memory.size - 5} bytes"


@pytest.mark.parametrize("layout", LAYOUTS, ids=layout_id)
def test_arrays_to_encode_may_be_in_any_memory_order(layout, noise):
    values = values_of(layout, noise, (3, 6, 8))
    raw = encode_samples(values, layout)
    assert encode_samples(np.asfortranarray(values), layout) == raw
    assert encode_samples(values.astype(values.dtype.newbyteorder(">")), layout) == raw
    assert encode_samples(values[:, ::-1][:, ::-1], layout) == raw


@pytest.mark.parametrize("layout", LAYOUTS, ids=layout_id)
def test_only_whole_tiles_are_decoded(layout, noise):
    values = values_of(layout, noise, (2, 6, 7))
    raw = encode_samples(values, layout)
    longer = decode_samples(raw + b"more", layout, rows=6, cols=7, bands=2)
    assert longer.tobytes() == values.tobytes()
    for wrong in (b"", raw[:-1], raw[: len(raw) // 2]):
        with pytest.raises(TiffDataError) as caught:
            decode_samples(wrong, layout, rows=6, cols=7, bands=2)
        assert caught.value.found == f"{len(wrong)} bytes"


@pytest.mark.parametrize("predictor", [1, 2])
@pytest.mark.parametrize("bands", [1, 3])
def test_last_strip_may_be_short_by_exactly_the_rows_it_says(predictor, bands, noise):
    values = noise("u2", (bands, 4, 7))
    layout = TileLayout("big", 16, "uint", predictor, last_strip_rows=4)
    strip = encode_samples(values, layout)
    padded = decode_samples(strip, layout, rows=10, cols=7, bands=bands)
    assert padded.shape == (bands, 10, 7)
    assert np.array_equal(padded[:, :4], values)
    assert not padded[:, 4:].any()
    assert np.array_equal(decode_samples(strip, layout, rows=4, cols=7, bands=bands), values)
    row = 2 * 7 * bands
    for size in (0, row, 4 * row - 1, 4 * row + 1, 5 * row, 10 * row - 1):
        with pytest.raises(TiffDataError, match="4 rows of the last strip"):
            decode_samples(bytes(size), layout, rows=10, cols=7, bands=bands)
    assert not decode_samples(bytes(10 * row), layout, rows=10, cols=7, bands=bands).any()


@pytest.mark.parametrize(
    ("layout", "values"),
    [
        (TileLayout("little", 1, "uint"), np.array([2], "u1")),
        (TileLayout("little", 12, "uint"), np.array([4096], "u2")),
        (TileLayout("little", 12, "int"), np.array([2048], "i2")),
        (TileLayout("little", 12, "int"), np.array([-2049], "i2")),
        (TileLayout("little", 40, "uint"), np.array([2**40], "u8")),
        (TileLayout("little", 24, "float"), np.array([3e38], "f4")),
        (TileLayout("little", 32, "complex_int"), np.array([32768 + 0j], "c8")),
        (TileLayout("little", 32, "complex_int"), np.array([0.5 + 0j], "c8")),
        (TileLayout("little", 32, "complex_int"), np.array([complex(0, np.nan)], "c8")),
        (TileLayout("little", 64, "complex_int"), np.array([2.0**31 + 0j], "c8")),
    ],
)
def test_values_that_do_not_fit_are_not_cut(layout, values):
    with pytest.raises(TiffDataError):
        encode_samples(values.reshape(1, 1, -1), layout)


def test_arrays_of_another_form_are_refused(noise):
    layout = TileLayout("little", 16, "uint")
    for array in (noise("u1", (1, 2, 2)), noise("u2", (2, 2)), noise("i2", (1, 2, 2)), np.empty((1, 0, 2), "u2")):
        with pytest.raises(TiffOptionError):
            encode_samples(array, layout)


@pytest.mark.parametrize("size", [{"rows": 0}, {"cols": -1}, {"bands": 0}])
def test_tiles_without_pixels_are_refused(size):
    with pytest.raises(TiffOptionError):
        decode_samples(b"", TileLayout("little", 8, "uint"), **{"rows": 1, "cols": 1, "bands": 1} | size)


def test_memory_in_pieces_is_refused():
    with pytest.raises(TiffOptionError):
        decode_samples(np.zeros((4, 4), "u1")[:, ::2], TileLayout("little", 8, "uint"), rows=1, cols=1, bands=1)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=200)
def test_any_values_come_back(data):
    layout = data.draw(st.sampled_from(LAYOUTS))
    bits = layout.bits_per_sample
    shape = data.draw(arrays.array_shapes(min_dims=3, max_dims=3, max_side=12))
    if layout.is_packed:
        lowest = 0 if layout.sample_format == "uint" else -(2 ** (bits - 1))
        elements = st.integers(lowest, lowest + 2**bits - 1)
    elif layout.sample_format == "complex_int":
        part = st.integers(-(2**15), 2**15 - 1)
        elements = st.builds(complex, part, part)
    elif bits == 24:
        elements = st.integers(-(2**16), 2**16).map(float)
    else:
        elements = None
    values = data.draw(arrays.arrays(layout.dtype, shape, elements=elements))
    bands, rows, cols = shape
    decoded = decode_samples(encode_samples(values, layout), layout, rows=rows, cols=cols, bands=bands)
    # Complex integers have no negative zero; everything else comes back bit for bit.
    same = np.array_equal if layout.sample_format == "complex_int" else lambda a, b: a.tobytes() == b.tobytes()
    assert same(decoded, values)
