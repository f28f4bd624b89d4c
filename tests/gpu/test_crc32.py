"""CRC-32 on the device against zlib, and its scheme and constants without one."""

from __future__ import annotations

import re
import zlib
from importlib.resources import files

import numpy as np
import pytest

from tiff_codecs.gpu.crc32 import PART_BYTES, THREADS, crc32

ROW = 16 * THREADS
DATA = np.random.default_rng(4).integers(0, 256, 3 * PART_BYTES + 100, np.uint8).tobytes()
SOURCE = (files("tiff_codecs.gpu") / "kernels" / "crc32.cu").read_text()
POWER = [int(number, 16) for number in re.findall(r"0x[0-9a-f]{8}\b", SOURCE.split("POWER[32]")[1].split("};")[0])]
UNIT, WORD, BYTE = 7, 5, 3
"""The powers of 16 bytes' bits, of a word's and of a byte's."""


def times(a, b):
    product = 0
    for bit in range(31, -1, -1):
        product ^= b if a >> bit & 1 else 0
        b = b >> 1 ^ (0xEDB88320 if b & 1 else 0)
    return product


def reference(data, log_threads):
    """The kernel's scheme with 2**log_threads threads, one word at a time."""
    threads, units = 1 << log_threads, len(data) // 16
    words = np.frombuffer(data, "<u4", 4 * units).reshape(units, 4).copy()
    words[:1, 0] ^= np.uint32(0xFFFFFFFF)
    rows = np.concatenate([np.zeros((-units % threads, 4), "u4"), words]).reshape(-1, threads, 4).tolist()
    lanes = [[0] * 4 for _ in range(threads)]
    for row in rows:
        for lane, unit in zip(lanes, row, strict=True):
            lane[:] = [times(a, POWER[UNIT + log_threads]) ^ word for a, word in zip(lane, unit, strict=True)]
    total = 0
    for lane in lanes:
        for word in lane:
            total = times(total, POWER[WORD]) ^ word
    tail = 0 if units else 0xFFFFFFFF
    for byte in data[16 * units :]:
        total = times(total, POWER[BYTE])
        tail = times(tail ^ byte, POWER[BYTE])
    return ~(times(total, POWER[WORD]) ^ tail) & 0xFFFFFFFF


def test_reference():
    assert len(POWER) == 32
    assert [times(power, power) for power in POWER] == [*POWER[1:], POWER[0]]
    for size in (*range(70), 127, 128, 129, 500):
        for log_threads in (0, 2):
            assert reference(DATA[:size], log_threads) == zlib.crc32(DATA[:size]), size


@pytest.mark.gpu
def test_all_lengths_around_boundaries():
    import cupy

    boundaries = (0, 512, ROW, 2 * ROW, 5 * ROW, PART_BYTES, PART_BYTES + ROW, 2 * PART_BYTES, 3 * PART_BYTES)
    lengths = sorted({max(0, each + step) for each in boundaries for step in range(-40, 41)})
    begins = 16 * np.arange(len(lengths)) % 80
    source = cupy.asarray(np.frombuffer(DATA, "u1"))
    assert source.data.ptr % 16 == 0
    sizes = [min(size, len(DATA) - begin) for size, begin in zip(lengths, begins.tolist(), strict=True)]
    stream = cupy.cuda.get_current_stream()
    got = crc32((source.data.ptr + begins).astype("u8"), np.array(sizes, "u8"), stream).get()
    truth = [zlib.crc32(DATA[begin : begin + size]) for begin, size in zip(begins.tolist(), sizes, strict=True)]
    assert got.tolist() == truth


@pytest.mark.gpu
def test_zeros_and_a_single_long_chunk():
    import cupy

    stream = cupy.cuda.get_current_stream()
    zeros = cupy.zeros(50_000_003, np.uint8)
    ones = cupy.full(50_000_003, 255, np.uint8)
    sizes = np.full(2, zeros.size, "u8")
    got = crc32(np.array([zeros.data.ptr, ones.data.ptr], "u8"), sizes, stream).get()
    assert got.tolist() == [zlib.crc32(bytes(zeros.size)), zlib.crc32(b"\xff" * zeros.size)]
