from __future__ import annotations

import contextlib
import importlib
import lzma
import tracemalloc
import zlib

import hypothesis
import hypothesis.strategies as st
import imagecodecs
import numpy as np
import pytest
import tifffile

from tiff_codecs import TiffDataError, TiffOptionError, zstd_frames

NAMES = ["deflate", "lzw", "zstd", "lzma", "packbits"]
MODULES = {name: importlib.import_module(f"tiff_codecs.{name}") for name in [*NAMES, "fill_order"]}


def texts(size, seed=0):
    """Bytes with runs, repetitions and noise."""
    random = np.random.default_rng(seed)
    noise = random.integers(0, 256, size, np.uint8)
    smooth = random.integers(-1, 2, size).cumsum().astype(np.uint8) // 8
    return np.where(np.arange(size) // 500 % 3 == 0, noise, smooth).astype(np.uint8).tobytes()


TEXT = texts(400_000)


@pytest.fixture(params=NAMES)
def module(request):
    return MODULES[request.param]


@pytest.mark.parametrize("text", [b"", b"a", b"\0" * 70_000, TEXT], ids=["none", "one", "zeros", "text"])
@pytest.mark.parametrize("name", MODULES)
def test_what_was_encoded_decodes_to_the_same(name, text):
    codec = MODULES[name]
    for encoded in (codec.encode(text), codec.encode(np.frombuffer(text, np.uint8)), codec.encode(bytearray(text))):
        assert type(encoded) is bytes
        decoded = codec.decode(encoded, len(text))
        assert decoded.tobytes() == text
        assert decoded.dtype == np.uint8
        assert decoded.ndim == 1
        assert decoded.flags.writeable


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)])
def test_any_buffer_will_do(module, wrap):
    assert module.decode(wrap(module.encode(TEXT)), len(TEXT)).tobytes() == TEXT


def test_arrays_of_any_shape_are_bytes(module):
    array = np.arange(6000, dtype=">u2").reshape(3, 4, 500)
    assert module.decode(module.encode(array), array.nbytes).tobytes() == array.tobytes()


def test_memory_in_pieces_is_refused(module):
    for call in (lambda b: module.decode(b, 4), module.encode):
        with pytest.raises(TiffOptionError):
            call(np.zeros(8, np.uint8)[::2])


@pytest.mark.parametrize("size", [-1, 2**63])
def test_impossible_sizes_are_refused(module, size):
    with pytest.raises(TiffOptionError):
        module.decode(b"", size)


@pytest.mark.parametrize("size", [0, 1, 2, 499, 131_071, 131_072, 131_073, 399_999])
def test_streams_with_more_are_cut(module, size):
    decoded = module.decode(module.encode(TEXT), size)
    assert decoded.tobytes() == TEXT[:size]
    assert decoded.flags.writeable


def test_streams_with_less_give_less(module):
    assert module.decode(module.encode(TEXT), len(TEXT) + 77).tobytes() == TEXT


@pytest.mark.parametrize("behind", [b"\0", b"\0" * 9, b"\x80", b"garbage" * 50, b"\xff" * 3])
@pytest.mark.parametrize("less", [0, 1000])
def test_bytes_behind_the_stream_are_passed_over(module, behind, less):
    size = len(TEXT) - less
    assert module.decode(module.encode(TEXT) + behind, size).tobytes() == TEXT[:size]


@pytest.mark.parametrize("part", [0, 1, 2, 3, 5, 10, 100, 0.3, 0.5, 0.9])
def test_cut_streams_never_pass_for_whole(module, part):
    encoded = module.encode(TEXT)
    cut = encoded[: part if isinstance(part, int) else int(part * len(encoded))]
    try:
        decoded = module.decode(cut, len(TEXT))
    except TiffDataError:
        return
    assert decoded.size < len(TEXT)
    assert TEXT.startswith(decoded.tobytes())


@pytest.mark.parametrize("name", ["deflate", "zstd"])
@pytest.mark.parametrize("cut", [1, 4, 20])
def test_streams_without_their_last_bytes_raise(name, cut):
    encoded = MODULES[name].encode(TEXT)
    with pytest.raises(TiffDataError) as caught:
        MODULES[name].decode(encoded[:-cut], len(TEXT))
    assert caught.value.found


@pytest.mark.parametrize("name", ["deflate", "lzma"])
def test_damage_is_found_by_the_checksum(name):
    encoded = MODULES[name].encode(TEXT)
    random = np.random.default_rng(1)
    for position in random.integers(12, len(encoded) - 40, 60):
        damaged = bytearray(encoded)
        damaged[position] ^= 1 << int(random.integers(8))
        with contextlib.suppress(TiffDataError):
            assert MODULES[name].decode(damaged, len(TEXT)).tobytes() == TEXT


def test_deflate_checksum_is_verified_also_where_the_stream_has_more():
    encoded = zlib.compress(TEXT)
    for damaged in (encoded[:-1] + bytes([encoded[-1] ^ 1]), encoded[:-4], encoded[:-1]):
        for size in (len(TEXT), len(TEXT) - 1, 1000, 1, 0):
            with pytest.raises(TiffDataError):
                MODULES["deflate"].decode(damaged, size)


def test_zstd_checksum_is_verified():
    frame = bytearray(zstd_frame(TEXT, checksum=True))
    assert MODULES["zstd"].decode(frame, len(TEXT)).tobytes() == TEXT
    frame[-1] ^= 1
    with pytest.raises(TiffDataError):
        MODULES["zstd"].decode(frame, len(TEXT))


@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_deflate_of_zlib(level):
    assert MODULES["deflate"].decode(zlib.compress(TEXT, level), len(TEXT)).tobytes() == TEXT


@pytest.mark.parametrize("check", [lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256])
def test_lzma_of_liblzma(check):
    filters = [{"id": lzma.FILTER_DELTA, "dist": 3}, {"id": lzma.FILTER_LZMA2, "preset": 9}]
    encoded = lzma.compress(TEXT, check=check, filters=filters)
    assert MODULES["lzma"].decode(encoded, len(TEXT)).tobytes() == TEXT
    assert MODULES["lzma"].decode(encoded, 1000).tobytes() == TEXT[:1000]


@pytest.mark.parametrize("compression", ["zlib", "lzw", "zstd", "lzma", "packbits"])
def test_strips_of_tifffile(tmp_path, tiles_of, noise, compression):
    image = noise("u2", (61, 83))
    tifffile.imwrite(tmp_path / "a.tif", image, compression=compression, rowsperstrip=16, byteorder=">")
    assert np.array_equal(tiles_of(tmp_path / "a.tif").read()[0], image)


@pytest.mark.parametrize("compress", ["DEFLATE", "LZW", "ZSTD", "LZMA", "PACKBITS", "NONE"])
def test_tiles_of_gdal(written, tiles_of, noise, compress):
    path, expected = written(noise("i2", (3, 70, 90)), compress=compress, tiled=True, blockxsize=64, blockysize=32)
    assert np.array_equal(tiles_of(path).read(), expected)


def test_fill_order_reverses_bits():
    assert MODULES["fill_order"].decode(bytes([0b00000001, 0b11010000, 255]), 3).tolist() == [128, 0b00001011, 255]
    assert MODULES["fill_order"].decode(b"abc", 2).size == 2


def zstd_frame(text, *, content_size=False, checksum=False):
    """A frame of raw and run-length blocks, built by hand after RFC 8878, section 3.1.1."""
    descriptor = (0x80 if content_size else 0) | (4 if checksum else 0)
    frame = b"\x28\xb5\x2f\xfd" + bytes([descriptor, 0x38])
    frame += len(text).to_bytes(4, "little") if content_size else b""
    pieces = [text[start : start + 100_000] for start in range(0, len(text), 100_000)] or [b""]
    for index, piece in enumerate(pieces):
        is_run = len(piece) > 3 and len(set(piece)) == 1
        header = (index == len(pieces) - 1) | (2 if is_run else 0) | len(piece) << 3
        frame += header.to_bytes(3, "little") + (piece[:1] if is_run else piece)
    return frame + (xxhash64(text) & 0xFFFFFFFF).to_bytes(4, "little") if checksum else frame


def xxhash64(data):
    mask = 2**64 - 1
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                          0x27D4EB2F165667C5)  # fmt: skip

    def turn(x, r):
        return (x << r | x >> (64 - r)) & mask

    def mix(acc, word):
        return turn((acc + word * p2) & mask, 31) * p1 & mask

    lanes = [(p1 + p2) & mask, p2, 0, -p1 & mask]
    whole = len(data) // 32 * 32
    words = np.frombuffer(data[:whole], "<u8").reshape(-1, 4).tolist()
    for row in words:
        lanes = [mix(acc, word) for acc, word in zip(lanes, row, strict=True)]
    acc = sum(turn(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18), strict=True)) & mask
    for lane in lanes:
        acc = ((acc ^ mix(0, lane)) * p1 + p4) & mask
    acc = (acc + len(data)) & mask
    rest = data[whole:]
    while len(rest) >= 8:
        acc = (turn(acc ^ mix(0, int.from_bytes(rest[:8], "little")), 27) * p1 + p4) & mask
        rest = rest[8:]
    if len(rest) >= 4:
        acc = (turn(acc ^ int.from_bytes(rest[:4], "little") * p1 & mask, 23) * p2 + p3) & mask
        rest = rest[4:]
    for byte in rest:
        acc = turn(acc ^ byte * p5 & mask, 11) * p1 & mask
    for shift, factor in ((33, p2), (29, p3), (32, 1)):
        acc = (acc ^ acc >> shift) * factor & mask
    return acc


@pytest.mark.parametrize("content_size", [False, True])
@pytest.mark.parametrize("behind", [b"", b"\0\0\0", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18\xff\0\0\0"])
def test_zstd_frames_of_any_number_and_form(content_size, behind):
    first = zstd_frame(TEXT[:250_000], content_size=content_size)
    skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc"
    second = MODULES["zstd"].encode(TEXT[250_000:])
    data = first + skippable + second + behind
    for size in (0, 1, 100_000, 249_999, 250_000, 250_001, 399_999, 400_000, 500_000):
        assert MODULES["zstd"].decode(data, size).tobytes() == TEXT[:size]


def test_zstd_frame_of_empty_and_run_length_blocks():
    text = b"\0" * 200_000 + b"abc"
    assert MODULES["zstd"].decode(zstd_frame(b""), 10).size == 0
    for size in (5, 150_000, 200_003):
        assert MODULES["zstd"].decode(zstd_frame(text) + b"x", size).tobytes() == text[:size]


def test_zstd_frames_are_found_by_their_blocks():
    frame = MODULES["zstd"].encode(TEXT)
    found = list(zstd_frames.frames(memoryview(frame + b"\x50\x2a\x4d\x18\0\0\0\0" + frame + b"junk")))
    assert [(part.start, part.stop) for part in found] == [
        (0, len(frame)),
        (len(frame), len(frame) + 8),
        (len(frame) + 8, 2 * len(frame) + 8),
    ]
    assert [bool(part.block_count) for part in found] == [True, False, True]
    lengths = [0]
    for count in range(1, found[2].block_count + 1):
        beginning = imagecodecs.zstd_decode(found[2].first_blocks(count), out=len(TEXT))
        assert TEXT.startswith(beginning)
        assert lengths[-1] < len(beginning) <= lengths[-1] + zstd_frames.LARGEST_BLOCK
        lengths.append(len(beginning))
    assert lengths[-1] == len(TEXT)


def lzw_lowest_bit_first(text):
    """LZW as early writers had it: lowest bit first, codes one entry later a bit longer."""
    bits, used = 0, 0

    def put(code, width):
        nonlocal bits, used
        bits |= code << used
        used += width

    put(256, 9)
    entries = {bytes([value]): value for value in range(256)}
    following, width, current = 258, 9, b""
    for position in range(len(text)):
        longer = current + text[position : position + 1]
        if longer in entries:
            current = longer
            continue
        put(entries[current], width)
        entries[longer] = following
        following += 1
        width += following > 1 << width
        if following >= 4094:
            put(256, width)
            entries = {bytes([value]): value for value in range(256)}
            following, width = 258, 9
        current = text[position : position + 1]
    put(entries[current], width)
    put(257, width + (following + 1 > 1 << width))
    return bits.to_bytes(-(-used // 8), "little")


@pytest.mark.parametrize("length", [1, 10, 600, 1200, 30_000])
def test_lzw_of_early_writers(length):
    encoded = lzw_lowest_bit_first(TEXT[:length])
    assert MODULES["lzw"].decode(encoded, length).tobytes() == TEXT[:length]


def test_packbits_of_the_standard():
    packed = bytes.fromhex("fe aa 02 80 00 2a fd aa 03 80 00 2a 22 f7 aa")
    text = bytes.fromhex("aa aa aa 80 00 2a aa aa aa aa 80 00 2a 22 aa aa aa aa aa aa aa aa aa aa")
    decode = MODULES["packbits"].decode
    for size in range(len(text) + 2):
        assert decode(packed, size).tobytes() == text[:size]
    assert decode(b"\x80" + packed[:2] + b"\x80\x80" + packed[2:] + b"\x80", 24).tobytes() == text
    assert decode(packed[:-1], 24).tobytes() == text[:14]
    assert decode(packed[:4], 24).tobytes() == text[:4]


BOMBS = {
    "deflate": lambda: zlib.compress(bytes(60_000_000), 9),
    "zstd": lambda: imagecodecs.zstd_encode(bytes(60_000_000)),
    "lzma": lambda: lzma.compress(bytes(60_000_000), preset=0),
    "lzw": lambda: imagecodecs.lzw_encode(bytes(20_000_000)),
    "packbits": lambda: b"\x81\0" * 500_000,
}


@pytest.mark.parametrize("name", NAMES)
def test_bombs_take_no_more_memory_than_the_tile(name):
    bomb = bytes(BOMBS[name]())
    MODULES[name].decode(bomb, 10_000)
    tracemalloc.start()
    try:
        assert MODULES[name].decode(bomb, 10_000).tobytes() == bytes(10_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000 + len(bomb)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=300)
def test_damaged_streams_give_bytes_or_our_error(data):
    codec = MODULES[data.draw(st.sampled_from(NAMES))]
    text = texts(data.draw(st.integers(0, 3000)), data.draw(st.integers(0, 3)))
    stream = bytearray(codec.encode(text))
    for _ in range(data.draw(st.integers(1, 4))):
        if not stream:
            break
        position = data.draw(st.integers(0, len(stream) - 1))
        change = data.draw(st.sampled_from(["flip", "set", "cut", "insert"]))
        if change == "flip":
            stream[position] ^= 1 << data.draw(st.integers(0, 7))
        elif change == "set":
            stream[position] = data.draw(st.sampled_from([0, 1, 127, 128, 254, 255]))
        elif change == "cut":
            del stream[position:]
        else:
            stream[position:position] = data.draw(st.binary(max_size=20))
    size = data.draw(st.sampled_from([len(text), len(text) // 2, len(text) + 10, 0]))
    with contextlib.suppress(TiffDataError):
        assert codec.decode(stream, size).size <= size


@hypothesis.given(st.sampled_from(NAMES), st.binary(max_size=300), st.integers(0, 1000))
@hypothesis.settings(max_examples=300)
def test_bytes_of_no_stream_give_bytes_or_our_error(name, data, size):
    with contextlib.suppress(TiffDataError):
        assert MODULES[name].decode(data, size).size <= size


@hypothesis.given(st.sampled_from(list(MODULES)), st.binary(max_size=5000), st.data())
@hypothesis.settings(max_examples=300)
def test_any_beginning_of_any_bytes_comes_back(name, text, data):
    encoded = MODULES[name].encode(text)
    size = data.draw(st.integers(0, len(text)))
    assert MODULES[name].decode(encoded, size).tobytes() == text[:size]
