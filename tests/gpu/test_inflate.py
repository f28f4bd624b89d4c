"""The inflate kernels against zlib: every level and strategy, block type and odd size, and damaged streams."""

from __future__ import annotations

import zlib
from functools import partial

import imagecodecs
import numpy as np
import pytest

import streams
from streams import RNG, SAMPLES, image, mixed
from tiff_codecs.gpu.inflate import inflate

pytestmark = pytest.mark.gpu


def raw(data, level=6, strategy=zlib.Z_DEFAULT_STRATEGY, memory=8, flush_every=0):
    stream = zlib.compressobj(level, zlib.DEFLATED, -15, memory, strategy)
    if not flush_every:
        return stream.compress(data) + stream.flush()
    parts = [stream.compress(data[i : i + flush_every]) + stream.flush(zlib.Z_FULL_FLUSH)
             for i in range(0, len(data), flush_every)]  # fmt: skip
    return b"".join(parts) + stream.flush()


run = partial(streams.run, inflate)
check = partial(streams.check, inflate)


@pytest.mark.parametrize("level", range(10))
def test_levels(level):
    check([(data, raw(data, level)) for data in SAMPLES.values()])


@pytest.mark.parametrize("strategy", [zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED])
@pytest.mark.parametrize("level", [1, 6, 9])
def test_strategies(level, strategy):
    check([(data, raw(data, level, strategy)) for data in SAMPLES.values()])


@pytest.mark.parametrize("memory", [1, 5, 9])
def test_small_and_large_blocks(memory):
    check([(data, raw(data, 6, memory=memory)) for data in SAMPLES.values()], block_bytes=40)


def test_flushes_leave_empty_stored_blocks():
    check([(data, raw(data, 6, flush_every=5000)) for data in SAMPLES.values()], block_bytes=4)


@pytest.mark.parametrize("level", range(1, 13))
def test_libdeflate(level):
    check([(data, imagecodecs.deflate_encode(data, level, raw=True)) for data in SAMPLES.values() if data])


def test_many_small_and_a_few_large():
    cases = []
    for i in range(2000):
        data = image(int(RNG.integers(0, 3000)))
        cases.append((data, raw(data, 1 + i % 9)))
    for _ in range(3):
        data = mixed(3_000_000)
        cases.insert(int(RNG.integers(len(cases))), (data, raw(data)))
    check(cases)


def test_less_is_wanted_than_the_stream_holds():
    data = mixed(300_000)
    for want in (0, 1, 1000, 16384, 16385, 299_999):
        ((got, status, size),) = run([raw(data)], [want])
        assert got == data[:want]
        assert status == 0
        assert size > want or want == 0


def test_more_is_wanted_than_the_stream_holds():
    data = image(50_000)
    ((got, status, size),) = run([raw(data)], [60_000])
    assert (status, size) == (0, 50_000)
    assert got[:50_000] == data


def test_cut_streams_end_in_a_status():
    data = mixed(200_000)
    whole = raw(data)
    cuts = [whole[:n] for n in (*range(40), *range(40, len(whole), 2003), len(whole) - 1)]
    for _, status, size in run(cuts, [len(data)] * len(cuts)):
        assert status or size < len(data)


@pytest.mark.parametrize("seed", range(8))
def test_mutated_streams_give_a_status_or_what_zlib_gives(seed):
    rng = np.random.default_rng(seed)
    originals = [image(40_000), mixed(60_000), bytes(30_000), SAMPLES["text"][:50_000]]
    streams, sizes = [], []
    for i in range(250):
        data = originals[i % 4]
        damaged = bytearray(raw(data, int(rng.integers(0, 10)), int(rng.choice([0, 0, 2, 3, 4]))))
        for _ in range(int(rng.integers(1, 6))):
            damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
        streams.append(bytes(damaged))
        sizes.append(len(data))
    for stream, size, (got, status, found) in zip(streams, sizes, run(streams, sizes), strict=True):
        if status or found < size:
            continue
        reader = zlib.decompressobj(-15)
        expected = reader.decompress(stream, size)
        assert got == expected


def test_too_many_small_blocks_have_a_status_of_their_own():
    data = SAMPLES["image"]
    ((_, status, _),) = run([raw(data, memory=1)], [len(data)], block_bytes=10**6)
    assert status == 2


def test_the_device_works_after_damage():
    run([RNG.bytes(5000) for _ in range(50)], [20_000] * 50)
    check([(SAMPLES["image"], raw(SAMPLES["image"]))])
