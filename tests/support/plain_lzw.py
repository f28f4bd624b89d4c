"""LZW as TIFF 6.0 section 13 describes it, and as early writers had it, one code after the other: slow and plain."""

from __future__ import annotations

CLEAR, END, FIRST = 256, 257, 258
MOST = 4863
"""Codes between two Clears: libtiff's table, and imagecodecs', has 5120 entries, though codes reach 4096 only."""


class Damaged(Exception):  # noqa: N818
    """The stream is none, before the bytes that are wanted end."""


def width(codes, lowest_first):
    """Bits of the code behind `codes` codes that came since the Clear."""
    entries = 257 + codes + (not lowest_first)
    return min(max(9, entries.bit_length()), 12)


def decode(stream, size):  # noqa: C901, PLR0912 - the steps of the format, one after the other
    """The first `size` bytes of a stream, or as many as it has."""
    if not stream or not size:
        return b""
    if len(stream) < 2:
        raise Damaged
    lowest_first = stream[0] == 0 and stream[1] & 1 == 1
    if not lowest_first and (stream[0] != 128 or stream[1] & 128):
        raise Damaged
    bits = int.from_bytes(stream, "little" if lowest_first else "big")
    at, length = 0, 8 * len(stream)
    out, table, strings, codes = bytearray(), {}, [], 0
    while len(out) < size:
        count = width(codes, lowest_first)
        if at + count > length:
            break
        code = bits >> (at if lowest_first else length - at - count) & ((1 << count) - 1)
        at += count
        if code == END:
            break
        if code == CLEAR:
            table, strings, codes = {}, [], 0
            continue
        if codes == MOST:
            raise Damaged
        if code < CLEAR:
            string = bytes([code])
        elif code in table:
            string = table[code]
        elif strings and code == FIRST + codes - 1:
            string = strings[-1] + strings[-1][:1]
        else:
            raise Damaged
        if strings:
            table[FIRST + codes - 1] = strings[-1] + string[:1]
        strings = [string]
        codes += 1
        out += string
    return bytes(out[:size])


def pack(codes, *, lowest_first=False):
    """A stream of these codes, each as wide as a reader takes it to be; bits to fill the last byte are 0."""
    bits = used = since = 0
    parts = []
    for code in codes:
        count = width(since, lowest_first)
        parts.append((code, count))
        since = 0 if code == CLEAR else since + 1
    if lowest_first:
        for code, count in reversed(parts):
            bits = bits << count | code
        used = sum(count for _, count in parts)
        return bits.to_bytes(-(-used // 8), "little")
    for code, count in parts:
        bits = bits << count | code
        used += count
    return (bits << -used % 8).to_bytes(-(-used // 8), "big")


def codes_of(data, *, most=3837, clear_before=(), end=True):
    """The codes of `data`, with a Clear after every `most`, and before the places in `clear_before`."""
    singles = {bytes([value]): value for value in range(256)}
    codes, entries, current, since = [CLEAR], dict(singles), b"", 0
    for place in range(len(data)):
        if current and (place in clear_before or since >= most):
            codes += [entries[current], CLEAR]
            entries, current, since = dict(singles), b"", 0
        longer = current + data[place : place + 1]
        if longer in entries:
            current = longer
            continue
        codes.append(entries[current])
        if FIRST + since < 4096:
            entries[longer] = FIRST + since
        since += 1
        current = data[place : place + 1]
    return codes + [entries[current] for _ in current[:1]] + [END] * end
