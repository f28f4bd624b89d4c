"""Arrays that zarr wrote, with codecs that TIFF has not, on the CPU."""

from __future__ import annotations

import gzip
import time

import numcodecs
import numpy as np
import pytest
import zarr

from plain_arrays import CODECS, DAMAGE, FORMS, MEMBERS, flipped, pixels, store
from tiff_codecs import COMPRESSIONS, TiffDataError, TiffOptionError, cpu
from tiff_codecs import gzip as gzip_members
from tiff_codecs import lz4 as lz4_block

TEXT = pixels("u1", 100_000).tobytes()
MODULES = {
    "gzip": (gzip_members, gzip.compress),
    "lz4": (lz4_block, lambda text: bytes(numcodecs.LZ4().encode(text))),
}


def opened(source):
    return zarr.open_group(source, mode="r")["a"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("form", FORMS)
def test_arrays(tmp_path, codec, form):
    dtype, shape, chunks, endian = FORMS[form]
    values = pixels(dtype, shape)
    source = store(tmp_path, values, chunks, codec, endian=endian)
    np.testing.assert_array_equal(opened(source)[...], values)
    with cpu.enable():
        array = opened(source)
    got = array[...]
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(got, values)
    np.testing.assert_array_equal(array[..., 1:33, 5:], values[..., 1:33, 5:])


@pytest.mark.parametrize("members", MEMBERS)
def test_gzip_streams_of_other_forms(tmp_path, members):
    values = pixels("u2", (100, 90))
    with cpu.enable():
        array = opened(store(tmp_path, values, (50, 45), "gzip", edit=lambda _, data: MEMBERS[members](data)))
    np.testing.assert_array_equal(array[...], values)


@pytest.mark.parametrize(("codec", "damage"), [(codec, damage) for codec in DAMAGE for damage in DAMAGE[codec]])
def test_a_damaged_chunk_is_named(tmp_path, codec, damage):
    def edit(place, data):
        return DAMAGE[codec][damage](data) if place == (1, 0) else data

    with cpu.enable():
        array = opened(store(tmp_path, pixels("u2", (100, 90)), (50, 45), codec, edit=edit))
    with pytest.raises(TiffDataError) as caught:
        array[...]
    assert caught.value.url.endswith("chunks.bin")
    assert caught.value.tile == (1, 0)


@pytest.mark.parametrize("name", MODULES)
def test_what_was_encoded_decodes_to_the_same(name):
    module, encode = MODULES[name]
    for text in (b"a", bytes(70_000), TEXT):
        for size in (len(text), len(text) + 77):
            decoded = module.decode(encode(text), size)
            assert decoded.tobytes() == text
            assert decoded.dtype == np.uint8
            assert decoded.flags.writeable
    for size in (-1, 2**63):
        with pytest.raises(TiffOptionError):
            module.decode(encode(TEXT), size)


def test_more_than_is_wanted():
    text = TEXT[:50_000]
    for stream in (gzip.compress(text), gzip.compress(text[:20]) + gzip.compress(text[20:])):
        for size in (0, 1, 19, 21, len(text) - 1):
            assert gzip_members.decode(stream, size).tobytes() == text[:size]
            with pytest.raises(TiffDataError):
                gzip_members.decode(flipped(stream, -5), size)
    with pytest.raises(TiffDataError, match="more"):
        lz4_block.decode(MODULES["lz4"][1](TEXT), len(TEXT) - 1)


@pytest.mark.parametrize("name", MODULES)
def test_streams_damaged_at_random(name):
    module, encode = MODULES[name]
    random = np.random.default_rng(3)
    whole = encode(TEXT[:5000])
    refused = 0
    for _ in range(500):
        stream = bytearray(whole)
        place = int(random.integers(len(stream)))
        if random.integers(2):
            stream[place] ^= 1 << int(random.integers(8))
        else:
            del stream[place:]
        try:
            decoded = module.decode(bytes(stream), 5000)
        except TiffDataError:
            refused += 1
        else:
            assert decoded.size <= 5000
            if name == "gzip":
                assert decoded.tobytes() in (TEXT[:5000], b"")
    assert refused > 100


def test_a_bomb_costs_what_its_length_is_worth():
    bomb = gzip.compress(bytes(66 << 20))
    began = time.perf_counter()
    for _ in range(20):
        assert gzip_members.decode(bomb, 1).tobytes() == b"\0"
    flood = gzip.compress(b"") * 20_000
    assert gzip_members.decode(flood, 1).size == 0
    assert time.perf_counter() - began < 2
    with pytest.raises(TiffDataError):
        lz4_block.decode(b"\xff\xff\xff\xff" + MODULES["lz4"][1](TEXT)[4:], len(TEXT))


def test_they_are_no_compressions_of_tiff():
    assert not {"gzip", "lz4"} & {compression.name for compression in COMPRESSIONS.values()}
