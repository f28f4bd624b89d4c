"""Streams made to cost time or memory, and sound ones damaged at random: the right bytes or our error, and promptly."""

from __future__ import annotations

import contextlib
import importlib
import lzma
import multiprocessing
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import imagecodecs
import numpy as np
import pytest
import zarr

from tiff_codecs import DeflateCodec, TiffDataError, TileCodec, TileLayout, decode_samples, encode_samples

NAMES = ["deflate", "lzw", "zstd", "lzma", "packbits"]
MODULES = {name: importlib.import_module(f"tiff_codecs.{name}") for name in NAMES}
EMPTY_FRAME = b"\x28\xb5\x2f\xfd\x00\x58\x01\0\0"
ONE_BYTE_FRAME = b"\x28\xb5\x2f\xfd\x00\x58\x0b\0\0a"


def smooth(size, seed=0):
    random = np.random.default_rng(seed)
    return (random.integers(-1, 2, size).cumsum() // 4).astype(np.uint8).tobytes()


class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.start


def test_a_deflate_bomb_costs_what_its_length_is_worth():
    bomb = zlib.compress(bytes(66 << 20), 9)
    with Timer() as timer:
        for _ in range(100):
            assert MODULES["deflate"].decode(bomb, 1).tobytes() == b"\0"
    assert timer.seconds < 2  # 66 MB each would take 5 s


@pytest.mark.parametrize("rows", [2, 40])
def test_deflate_of_more_rows_than_wanted_is_verified_to_its_end(rows):
    text = smooth(100_000 * rows)
    stream = zlib.compress(text)
    assert MODULES["deflate"].decode(stream, 100_000).tobytes() == text[:100_000]
    with pytest.raises(TiffDataError):
        MODULES["deflate"].decode(stream[:-1] + bytes([stream[-1] ^ 1]), 100_000)


FLOODS = {
    "empty frames": EMPTY_FRAME * 800_000,
    "frames of a byte": ONE_BYTE_FRAME * 800_000 + b"xx",
    "skippable frames": b"\x50\x2a\x4d\x18\0\0\0\0" * 800_000 + ONE_BYTE_FRAME + b"x",
    "empty blocks": b"\x28\xb5\x2f\xfd\x00\x58" + bytes(3) * 2_700_000 + b"\x0b\0\0a",
}


@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.parametrize("size", [1, 1000, 1_800_000])
def test_floods_of_zstd_frames_and_blocks_end_promptly(name, size):
    with Timer() as timer, contextlib.suppress(TiffDataError):
        assert MODULES["zstd"].decode(FLOODS[name], size).tobytes() in (b"", b"a" * min(size, 800_000), b"a")
    assert timer.seconds < 2


def test_zstd_flushed_after_each_row_is_no_flood():
    rows = [smooth(64, seed) for seed in range(4000)]
    blocks = b"".join(((index == 3999) | 64 << 3).to_bytes(3, "little") + row for index, row in enumerate(rows))
    stream = b"\x28\xb5\x2f\xfd\x00\x58" + blocks
    for size in (64 * 4000, 64 * 3999, 200_001):
        assert MODULES["zstd"].decode(stream + b"\0", size).tobytes() == b"".join(rows)[:size]


def packed(text):
    return bytes(imagecodecs.packbits_encode(np.frombuffer(text, np.uint8)))


def unpacked(codes, size):
    """PackBits after TIFF 6.0 section 9, byte by byte."""
    out, position = bytearray(), 0
    while position + 1 < len(codes) and len(out) < size:
        code, position = codes[position], position + 1
        if code < 128:
            out += codes[position : position + code + 1]
            position += code + 1
        elif code > 128:
            out += codes[position : position + 1] * (257 - code)
            position += 1
    return bytes(out[:size])


def test_packbits_of_any_codes_is_that_of_the_standard():
    random = np.random.default_rng(0)
    for _ in range(3000):
        size = int(random.integers(0, 300))
        codes = random.choice([0, 1, 5, 127, 128, 129, 200, 255, 7], int(random.integers(0, 60))).astype(np.uint8)
        assert MODULES["packbits"].decode(codes, size).tobytes() == unpacked(codes.tobytes(), size)


def test_packbits_with_bytes_behind_takes_no_longer():
    codes = bytes([0, 7]) * (8 << 20) + b"\0\0\0"
    with Timer() as timer:
        assert MODULES["packbits"].decode(codes, 8 << 20).tobytes() == b"\7" * (8 << 20)
    assert timer.seconds < 2


ENORMOUS = """
import importlib, resource, sys
import numpy as np
from tiff_codecs import TiffUnsupportedError, TileLayout, decode_samples
name, size = sys.argv[1], 1 << 31
module = None if name == "tile" else importlib.import_module(f"tiff_codecs.{name}")
stream = module.encode(b"abc") if module else None
raw = np.zeros(size, np.uint8) if not module else None
layout = TileLayout("little", 8, "uint", 2)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), -1))
try:
    module.decode(stream, size) if module else decode_samples(raw, layout, rows=1 << 11, cols=1 << 20, bands=1)
except TiffUnsupportedError as error:
    assert error.way_out
    print(error.found)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits its own memory as Linux does")
@pytest.mark.parametrize("name", [*NAMES, "tile"])
def test_a_tile_larger_than_memory_says_how_large(name):
    done = subprocess.run([sys.executable, "-c", ENORMOUS, name], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2147483648 bytes", done.stderr


def damaged(random, stream):
    stream = bytearray(stream)
    for _ in range(random.integers(1, 5)):
        position = int(random.integers(0, len(stream) + 1))
        match random.integers(6):
            case 0:
                stream[position : position + 1] = random.bytes(1)
            case 1:
                del stream[position:]
            case 2:
                stream[position:position] = random.bytes(int(random.integers(1, 9)))
            case 3:
                stream += stream[:position]
            case 4:
                stream[position : position + 4] = random.choice([b"\xff" * 4, bytes(4), EMPTY_FRAME])
            case _:
                stream += random.choice([b"(", b"(\xb5/", bytes(3), b"\x80" * 2])
    return bytes(stream)


@pytest.mark.parametrize("name", NAMES)
def test_streams_damaged_at_random(name):
    random = np.random.default_rng(20)
    codec = MODULES[name]
    texts = [smooth(5000), random.bytes(300), bytes(70_000), b""]
    streams = [codec.encode(text) for text in texts]
    if name == "lzma":
        streams = [lzma.compress(text, check=lzma.CHECK_CRC64) for text in texts]
    refused = 0
    for _ in range(1500):
        which = int(random.integers(len(texts)))
        size = int(random.choice([len(texts[which]), len(texts[which]) // 3, len(texts[which]) + 100]))
        with Timer() as timer:
            try:
                decoded = codec.decode(damaged(random, streams[which]), size).tobytes()
            except TiffDataError:
                refused += 1
            else:
                assert len(decoded) <= size
                if name == "deflate":  # the others have no checksum, or one that may be cut off with the end
                    assert decoded == texts[which][:size]
        assert timer.seconds < 1
    assert refused or name == "packbits"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "layout",
    [
        TileLayout("big", 16, "uint", 2, last_strip_rows=5),
        TileLayout("little", 32, "float", 3),
        TileLayout("little", 12, "uint"),
        TileLayout("big", 32, "complex_int", 2),
        TileLayout("little", 24, "float"),
    ],
    ids=lambda layout: f"{layout.bits_per_sample}-bit {layout.sample_format}",
)
def test_tiles_damaged_at_random(name, layout):
    random = np.random.default_rng(21)
    bands, rows, cols = 3, 16, 21
    pixels = (random.integers(-2, 3, (bands, rows, cols)).cumsum(-1) + 50).astype(layout.dtype)
    whole = encode_samples(pixels, layout)
    short = encode_samples(pixels[:, :5], layout)
    short_pixels = np.concatenate([pixels[:, :5], np.zeros((bands, 11, cols), layout.dtype)], axis=1)
    for raw, truth in ((whole, pixels), (short, short_pixels)):
        stream = MODULES[name].encode(raw)
        for _ in range(150):
            with Timer() as timer:
                try:
                    decoded = MODULES[name].decode(damaged(random, stream), len(whole))
                    got = decode_samples(decoded, layout, rows=rows, cols=cols, bands=bands)
                except TiffDataError:
                    pass
                else:
                    assert got.shape == pixels.shape
                    assert got.dtype == layout.dtype
                    if name == "deflate":
                        assert got.tobytes() == truth.tobytes()
            assert timer.seconds < 1


@pytest.mark.parametrize("name", NAMES)
def test_many_threads_decode_at_once(name):
    texts = [smooth(200_000, seed) for seed in range(8)]
    streams = [MODULES[name].encode(text) + b"\0\0\0" for text in texts]
    with ThreadPoolExecutor(16) as pool:
        jobs = [(seed, pool.submit(MODULES[name].decode, streams[seed], 150_000)) for seed in [*range(8)] * 16]
        for seed, job in jobs:
            assert job.result().tobytes() == texts[seed][:150_000]


def read_in_child(array, expected, queue):
    try:
        queue.put(bool(np.array_equal(array[...], expected)))
    except BaseException as error:  # noqa: BLE001 - the parent shall hear of it
        queue.put(repr(error))


@pytest.mark.skipif(not hasattr(time, "clock_gettime") or sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_reads_through_zarr_after_its_parent_did():
    """The codecs decode on the threads of zarr's loop, which a child does not inherit."""
    layout = TileLayout("big", 16, "uint", 2)
    values = np.arange(3 * 64 * 64, dtype="u2").reshape(3, 64, 64)
    array = zarr.create_array(
        zarr.storage.MemoryStore(), shape=values.shape, chunks=(3, 16, 16), dtype="u2", filters=[],
        serializer=TileCodec(layout), compressors=[DeflateCodec()],
    )  # fmt: skip
    array[...] = values
    assert np.array_equal(array[...], values)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=read_in_child, args=(array, values, queue))
    child.start()
    child.join(30)
    alive = child.is_alive()
    if alive:
        child.kill()
    assert not alive
    assert queue.get() is True
    assert np.array_equal(array[...], values)
