"""The LZW kernels against a plain decoder and the CPU's codec: both orders of bits, odd writers, damaged streams."""

from __future__ import annotations

import imagecodecs
import numpy as np
import pytest
import tifffile

import plain_lzw
from plain_lzw import CLEAR, END, FIRST, MOST, codes_of, pack
from tiff_codecs import lzw
from tiff_codecs.errors import TiffDataError
from tiff_codecs.gpu.lzw import decode_lzw

RNG = np.random.default_rng(5)


def image(n, step=3):
    """Differences of a rough image, as predictor 2 leaves them."""
    return RNG.normal(0, step, n).round().astype("i1").tobytes()


SAMPLES = {
    "empty": b"",
    "one byte": b"x",
    "two": b"xx",
    "three": b"xyz",
    "image": image(60_000),
    "rough": image(30_000, 20),
    "random": RNG.bytes(20_000),
    "zeros": bytes(60_000),
    "run of one, then another": b"\7" * 5000 + b"\xff" * 5000,
    "periods 1 to 9": b"".join(bytes(range(k)) * 400 for k in range(1, 10)),
    "text": b"the quick brown fox jumps over the lazy dog. " * 400,
    "runs in noise": b"".join(image(int(n)) + bytes(3000) for n in RNG.integers(1, 3000, 8)),
    "wide words": RNG.integers(0, 3000, 10_000).cumsum().astype("<u2").tobytes(),
}


def cases():
    """Streams by name, each with how many bytes it holds."""
    found = {}
    for name, data in SAMPLES.items():
        clears = RNG.integers(0, len(data) + 1, 5).tolist()
        for lowest in (False, True):
            order = "lowest first" if lowest else "highest first"
            for way, options in {
                "ordinary": {},
                "no end": {"end": False},
                "full table kept": {"most": MOST - 1},
                "table of 4093": {"most": 3835},
                "short segments": {"most": 300},
                "clears anywhere": {"clear_before": clears},
            }.items():
                found[f"{name}, {order}, {way}"] = pack(codes_of(data, **options), lowest_first=lowest), len(data)
        found[f"{name}, imagecodecs"] = bytes(imagecodecs.lzw_encode(data)), len(data)
    for lowest in (False, True):

        def add(name, codes, size, lowest=lowest):
            found[f"{name}, lowest first {lowest}"] = pack(codes, lowest_first=lowest), size

        some = [CLEAR, 65, FIRST, FIRST + 1, 66, FIRST + 2]
        add("several clears", [CLEAR] * 5 + some[1:] + [CLEAR] * 3 + some + [END], 22)
        add("clear, then end", [*some, CLEAR, END], 11)
        add("what follows the end", [*some, END, *some], 11)
        add("most codes", [CLEAR, *range(256)] + [7] * (MOST - 256) + [END], MOST)
        add("a code too many", [CLEAR] + [7] * (MOST + 1) + [END], MOST + 1)
        add("a code beyond the table", [*some, FIRST + 5, 67, END], 14)
        add("the code after a clear is of the table", [*some, CLEAR, FIRST, 65, END], 13)
        add("longest of all", [CLEAR, 0, *range(FIRST, 4096), CLEAR, 9, END], 3839 * 3840 // 2 + 1)
    found["no clear"] = pack([65, 66, END]), 2
    found["one byte"] = b"\x80", 1
    found["other bytes"] = b"\x12\x34\x56", 2
    return found


CASES = cases()


def expected(stream, size):
    """What the CPU's codec gives, None where it refuses."""
    try:
        return lzw.decode(stream, size).tobytes()
    except TiffDataError:
        return None


def wishes():
    """Streams with how many bytes are wanted: what they hold, fewer, and more."""
    for name, (stream, size) in CASES.items():
        for wanted in {size, size - 1, size // 2, min(size, 1), size + 1, size + 5000}:
            if wanted >= 0:
                yield name, stream, wanted


def mutated(seed, number=300):
    """Damaged streams, each with how many bytes are wanted."""
    rng = np.random.default_rng(seed)
    whole = [(s, size) for s, size in CASES.values() if 10 < len(s) < 30_000 and size < 70_000]
    for _ in range(number):
        stream, size = whole[int(rng.integers(len(whole)))]
        damaged = bytearray(stream)
        for _ in range(int(rng.integers(1, 6))):
            kind, place = int(rng.integers(3)), int(rng.integers(len(damaged)))
            if kind == 0:
                damaged[place] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                damaged[place : place + int(rng.integers(1, 30))] = rng.bytes(int(rng.integers(30)))
            else:
                del damaged[max(place, 3) :]
        yield bytes(damaged), int(rng.integers(1, size + 100))


def run(streams, sizes):
    """Decode all in one batch; returns (bytes, status, size) of each. Streams lie at odd addresses."""
    import cupy

    room = [len(s) + 8 + i % 7 for i, s in enumerate(streams)]
    begins = np.cumsum([0, *room])
    host = np.full(int(begins[-1]) + 64, 0xA5, "u1")
    for begin, stream in zip(begins, streams, strict=False):
        host[begin : begin + len(stream)] = np.frombuffer(stream, "u1")
    source = cupy.asarray(host)
    places = np.cumsum([0, *(size + 40 + i % 19 for i, size in enumerate(sizes))])
    target = cupy.full(int(places[-1]) + 64, 0x5A, "u1")
    outcome = decode_lzw(
        (source.data.ptr + begins[:-1]).astype("u8"),
        np.array([len(s) for s in streams], "u8"),
        (target.data.ptr + places[:-1]).astype("u8"),
        np.array(sizes, "u8"),
        cupy.cuda.get_current_stream(),
    )
    out, statuses, found = target.get(), outcome.statuses.get(), outcome.sizes.get()
    for i, size in enumerate(sizes):  # nothing outside
        assert (out[places[i] + size : places[i + 1]] == 0x5A).all()
    return [
        (out[places[i] : places[i] + size].tobytes(), int(statuses[i]), int(found[i])) for i, size in enumerate(sizes)
    ]


def check(streams, sizes, names=None):
    """All is as on the CPU: the same streams are refused, and of the others the same bytes come."""
    for i, (got, status, found) in enumerate(run(streams, sizes)):
        truth = expected(streams[i], sizes[i])
        name = names[i] if names else streams[i].hex()[:80]
        if truth is None or sizes[i] == 0:
            assert status or sizes[i] == 0, name
            continue
        assert (status, found) == (0, len(truth)), name
        assert got[:found] == truth, name


def test_the_plain_decoder_and_the_codec_of_the_cpu_agree():
    for name, (stream, wanted) in CASES.items():
        if wanted > 30_000:
            continue
        try:
            plain = plain_lzw.decode(stream, wanted)
        except plain_lzw.Damaged:
            plain = None
        # the CPU's takes a code of the table behind a Clear for a byte of some kind
        assert plain == expected(stream, wanted) or "after a clear" in name, name


@pytest.mark.gpu
def test_streams_of_many_kinds():
    names, streams, sizes = zip(*(wish for wish in wishes() if "after a clear" not in wish[0]), strict=True)
    check(streams, sizes, names)


@pytest.mark.gpu
def test_a_code_of_the_table_right_after_a_clear_is_damage():
    for name, (stream, size) in CASES.items():
        if "after a clear" in name:
            ((_, status, _),) = run([stream], [size])
            assert status == 1


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(4))
def test_mutated_streams(seed):
    streams, sizes = zip(*mutated(seed), strict=True)
    check(streams, sizes)


@pytest.mark.gpu
def test_too_many_clears_have_a_status_of_their_own():
    whole, size = CASES["image, imagecodecs"]
    stream = pack([CLEAR] * 5000 + [7, END])
    (_, status, _), (got, good, _) = run([stream, whole], [1, size])
    assert (status, good) == (2, 0)
    assert got == SAMPLES["image"]


@pytest.mark.gpu
def test_large_streams_among_many_small_ones():
    small = [image(int(RNG.integers(1, 3000))) for _ in range(2000)]
    large = [image(3_000_000), bytes(3_000_000), RNG.bytes(1_000_000), image(500_000, 1) + bytes(2_000_000)]
    texts = [*small, *large]
    RNG.shuffle(order := np.arange(len(texts)))
    texts = [texts[i] for i in order]
    for text, (got, status, found) in zip(
        texts, run([bytes(imagecodecs.lzw_encode(text)) for text in texts], [len(text) for text in texts]), strict=True
    ):
        assert (status, found) == (0, len(text))
        assert got == text


@pytest.mark.gpu
@pytest.mark.parametrize("writer", ["tifffile", "GDAL"])
def test_files(tmp_path, writer):
    path = tmp_path / "a.tif"
    pixels = np.cumsum(RNG.normal(0, 3, (3, 700, 900)), axis=2).astype("u1")
    if writer == "tifffile":
        tifffile.imwrite(path, pixels, tile=(256, 256), compression="lzw", predictor=2, planarconfig="separate",
                         photometric="rgb")  # fmt: skip
    else:
        rasterio = pytest.importorskip("rasterio")
        options = {"driver": "GTiff", "width": 900, "height": 700, "count": 3, "dtype": "uint8", "tiled": True}
        with rasterio.open(path, "w", compress="lzw", predictor=2, blockxsize=256, blockysize=256, **options) as file:
            file.write(pixels)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        file.filehandle.seek(0)
        data = file.filehandle.read()
        streams = [
            data[offset : offset + count] for offset, count in zip(page.dataoffsets, page.databytecounts, strict=True)
        ]
    check(streams, [int(np.prod(page.chunks))] * len(streams))


@pytest.mark.gpu
def test_the_device_works_after_damage():
    run([b"\x80" + RNG.bytes(5000) for _ in range(50)], [20_000] * 50)
    whole, size = CASES["image, imagecodecs"]
    check([whole], [size])
