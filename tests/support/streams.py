"""Bytes of many kinds to be compressed, and what puts compressed ones on the device and decodes them there."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(11)


def image(n, step=3):
    """Differences of a rough image, as predictor 2 leaves them."""
    return RNG.normal(0, step, n).round().astype("i1").tobytes()


def mixed(n):
    parts, have = [], 0
    while have < n:
        kind = RNG.integers(5)
        size = int(RNG.integers(1, 30000))
        part = (bytes(size), image(size), RNG.bytes(size), b"abcab" * (size // 5 + 1), image(size, 30))[kind]
        parts.append(part[:size])
        have += size
    return b"".join(parts)[:n]


SAMPLES = {
    "empty": b"",
    "one byte": b"x",
    "three": b"xyz",
    "image": image(300_000),
    "rough": image(300_000, 20),
    "random": RNG.bytes(200_000),
    "zeros": bytes(1_000_000),
    "run of one": b"\7" * 70_000,
    "distance 1 to 9": b"".join(bytes(range(k)) * 400 for k in range(1, 10)),
    "distance 32768": (far := RNG.bytes(32768)) + far + far[:100],
    "text": b"the quick brown fox jumps over the lazy dog. " * 4000,
    "mixed": mixed(500_000),
    "skewed": RNG.geometric(0.35, 400_000).clip(0, 255).astype("u1").tobytes(),
    "wide words": RNG.integers(0, 3000, 100_000).cumsum().astype("<u2").tobytes(),
}


def run(decoder, streams, sizes, **options):
    """Decode all in one batch; returns (bytes, status, size) of each. Streams lie at odd addresses."""
    import cupy

    n = len(streams)
    room = [len(s) + 64 + i % 7 for i, s in enumerate(streams)]
    begins = np.cumsum([0, *room])[:-1]
    host = np.full(sum(room) + 64, 0xA5, "u1")
    for begin, stream in zip(begins, streams, strict=True):
        host[begin : begin + len(stream)] = np.frombuffer(stream, "u1")
    source = cupy.asarray(host)
    places = np.cumsum([0, *(size + 40 + i % 5 for i, size in enumerate(sizes))])
    target = cupy.full(int(places[-1]) + 64, 0x5A, "u1")
    outcome = decoder(
        (source.data.ptr + begins).astype("u8"),
        np.array([len(s) for s in streams], "u8"),
        (target.data.ptr + places[:-1]).astype("u8"),
        np.array(sizes, "u8"),
        cupy.cuda.get_current_stream(),
        **options,
    )
    out, statuses, found = target.get(), outcome.statuses.get(), outcome.sizes.get()
    for i in range(n):  # nothing outside
        assert (out[places[i] + sizes[i] : places[i + 1]] == 0x5A).all()
    return [(out[places[i] : places[i] + sizes[i]].tobytes(), int(statuses[i]), int(found[i])) for i in range(n)]


def check(decoder, cases, **options):
    """Decode (what is expected, stream) of each case, and compare."""
    sizes = [len(data) for data, _ in cases]
    for (data, _), (got, status, size) in zip(
        cases, run(decoder, [stream for _, stream in cases], sizes, **options), strict=True
    ):
        assert status == 0
        assert size == len(data)
        assert got == data
