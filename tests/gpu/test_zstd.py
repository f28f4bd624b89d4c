"""The Zstandard kernels against libzstd and a plain reference: levels, kinds of blocks, forms of frames, and damage."""

from __future__ import annotations

import time
from functools import partial

import imagecodecs
import numcodecs
import numpy as np
import pytest

import streams
import zstd_reference
from streams import SAMPLES, image, mixed
from tiff_codecs import TiffDataError
from tiff_codecs import zstd as on_cpu
from tiff_codecs.gpu import zstd
from tiff_codecs.zstd_frames import frames

run = partial(streams.run, zstd.decode)
check = partial(streams.check, zstd.decode)

LEVELS = (-5, -1, *range(1, 23))
SKIPPABLE = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"


def packed(data, level=9, *, checksum=False):
    """A frame: libzstd's own of nothing where imagecodecs makes none."""
    if checksum or not data:
        return bytes(numcodecs.Zstd(level, checksum=checksum).encode(data))
    return bytes(imagecodecs.zstd_encode(data, level))


def unsized(frame):
    """The frame without its content size, as a writer that streams leaves it."""
    (found,) = frames(memoryview(frame))
    return found.first_blocks(found.block_count)


def forms(data):
    """Streams of other forms that hold the data."""
    half = len(data) // 2
    yield unsized(packed(data))
    yield packed(data, 3, checksum=True)
    yield packed(data[:half]) + SKIPPABLE + packed(data[half:], 1, checksum=True) + SKIPPABLE
    yield SKIPPABLE + packed(b"") + packed(data, 19) + b"something else"
    yield unsized(packed(data[:half], 1)) + unsized(packed(data[half:], 15))


def damaged(seed, number):
    """(what it was, a stream with a few wrong bits) of each."""
    rng = np.random.default_rng(seed)
    originals = [image(10_000), mixed(30_000), bytes(30_000), SAMPLES["text"][:20_000]]
    for i in range(number):
        data = originals[i % 4]
        stream = bytearray(packed(data, int(rng.choice([-3, 1, 3, 9, 19])), checksum=i % 3 == 0))
        for _ in range(int(rng.integers(1, 5))):
            place = int(rng.integers(min(len(stream), 150) if i % 2 else len(stream)))
            stream[place] ^= 1 << int(rng.integers(8))
        yield data, bytes(stream)


def cpu_bytes(stream, size):
    """What the codec gives on the CPU; None where it refuses."""
    try:
        return on_cpu.decode(stream, size).tobytes()
    except TiffDataError:
        return None


@pytest.mark.parametrize("level", [-5, 1, 3, 9, 19])
def test_reference(level):
    for data in SAMPLES.values():
        short = data[:40_000]
        assert zstd_reference.decode(packed(short, level)) == short
        for stream in forms(short[:3000]):
            assert zstd_reference.decode(stream) == short[:3000]


def test_reference_refuses_or_gives_what_libzstd_gives():
    outcomes = set()
    for data, stream in damaged(1, 120):
        expected = cpu_bytes(stream, len(data))
        try:
            got = zstd_reference.decode(stream)
        except zstd_reference.DamagedError:
            outcomes.add("refused")
            continue
        if len(got) == len(data) and expected is not None:
            outcomes.add("the same")
            assert got == expected
    assert outcomes == {"refused", "the same"}


@pytest.mark.gpu
@pytest.mark.parametrize("level", LEVELS)
def test_levels(level):
    check([(data, packed(data, level)) for data in SAMPLES.values()])


@pytest.mark.gpu
@pytest.mark.parametrize("bits", zstd.WINDOW_BITS)
def test_forms_of_frames_with_windows_for_any_device(bits):
    streams.check(
        partial(zstd.decode, window_bits=bits), [(data, stream) for data in SAMPLES.values() for stream in forms(data)]
    )


@pytest.mark.gpu
def test_many_small_and_a_few_large():
    rng = np.random.default_rng(3)
    cases = []
    for i in range(2000):
        data = image(int(rng.integers(0, 3000)))
        cases.append((data, packed(data, 1 + i % 19)))
    for _ in range(3):
        data = mixed(3_000_000)
        cases.insert(int(rng.integers(len(cases))), (data, packed(data)))
    check(cases)


@pytest.mark.gpu
def test_more_than_a_hundred_megabytes():
    part = SAMPLES["mixed"] + SAMPLES["image"] + SAMPLES["zeros"]
    data = (part * (110_000_000 // len(part) + 1))[:110_000_001]
    check([(data, packed(data, 3)), (data[:1000], packed(data[:1000]))])


@pytest.mark.gpu
@pytest.mark.parametrize("data", [bytes(30_000_000), b"\1\2\3" * 10_000_000, SAMPLES["text"] * 150], ids=len)
def test_long_runs_are_not_slow(data):
    import cupy

    stream = packed(data)
    check([(data, stream)])
    began = time.perf_counter()
    check([(data, stream)])
    cupy.cuda.Device().synchronize()
    assert time.perf_counter() - began < 2


@pytest.mark.gpu
def test_another_size_is_wanted_than_the_stream_holds():
    data = mixed(300_000)
    for want in (0, 1, 1000, 131_072, 299_999):
        ((_, status, _),) = run([packed(data)], [want])
        assert status == 2
    ((got, status, size),) = run([packed(data)], [400_000])
    assert (status, size) == (0, 300_000)
    assert got[:300_000] == data


@pytest.mark.gpu
def test_what_is_no_frame_or_wants_a_dictionary_has_a_status():
    data = SAMPLES["text"]
    frame = packed(data)
    first = 6 - (frame[4] >> 5 & 1)  # where the number of a dictionary would stand
    dictionary = frame[:4] + bytes([frame[4] | 1]) + frame[5:first] + b"\7" + frame[first:]
    for stream in (b"", b"\x28", frame[:4], frame[:9], frame[:-1], b"x" + frame, dictionary):
        ((_, status, _),) = run([stream], [len(data)])
        assert status
        assert not cpu_bytes(stream, len(data))
    none = dictionary.replace(b"\7", b"\0", 1)
    check([(data, none)])


@pytest.mark.gpu
def test_a_wrong_checksum_or_content_size_has_a_status():
    data = SAMPLES["image"]
    frame = bytearray(packed(data, checksum=True))
    frame[-1] ^= 1
    sized = bytearray(packed(data))
    sized[5] ^= 1
    for stream in (bytes(frame), bytes(sized)):
        ((_, status, _),) = run([stream], [len(data)])
        assert status == 1


@pytest.mark.gpu
def test_cut_streams_end_in_a_status():
    data = mixed(200_000)
    whole = packed(data)
    cuts = [whole[:n] for n in (*range(40), *range(40, len(whole), 2003), len(whole) - 1)]
    for _, status, size in run(cuts, [len(data)] * len(cuts)):
        assert status or size < len(data)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(8))
def test_mutated_streams_give_a_status_or_what_the_cpu_gives(seed):
    cases = list(damaged(seed, 250))
    decoder = partial(zstd.decode, window_bits=zstd.WINDOW_BITS[seed % 2])
    outcomes = streams.run(decoder, [stream for _, stream in cases], [len(data) for data, _ in cases])
    for (data, stream), (got, status, size) in zip(cases, outcomes, strict=True):
        if status == 0 and size == len(data):
            assert got == cpu_bytes(stream, size)


@pytest.mark.gpu
def test_kernels_take_what_the_reference_takes():
    originals, mutated = zip(*damaged(9, 200), strict=True)
    for stream, (got, status, size) in zip(mutated, run(mutated, [len(data) for data in originals]), strict=True):
        if status == 0:
            assert zstd_reference.decode(stream) == got[:size]


@pytest.mark.gpu
def test_the_device_works_after_damage():
    noise = np.random.default_rng(2)
    run([packed(SAMPLES["image"])[:8] + noise.bytes(5000) for _ in range(50)], [20_000] * 50)
    check([(SAMPLES["image"], packed(SAMPLES["image"]))])
