"""A plain decoder of Zstandard (RFC 8878), as slow as it is short: what the kernels of `gpu/kernels/zstd` must give.

It goes the way they go: all blocks are found, then decoded each by itself into literals and sequences whose
offsets may stand for "the first, second or third repeat offset that the block began with", then put together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

MAGIC, LARGEST_BLOCK = 0xFD2FB528, 1 << 17

# of each code of a literal length, and of a match length: the least value, and how many bits are added to it
LITERAL_LENGTHS = [(n, 0) for n in range(16)] + list(zip(
    (16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536),
    (1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), strict=True))  # fmt: skip
MATCH_LENGTHS = [(n + 3, 0) for n in range(32)] + list(zip(
    (35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539),
    (1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), strict=True))  # fmt: skip

# of each kind of code: accuracy of the default, its counts, the highest accuracy, the highest code
KINDS = {
    "literal": (6, [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
                    -1, -1, -1, -1], 9, 35),
    "offset": (5, [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1], 8, 31),
    "match": (6, [1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1], 9, 52),
}  # fmt: skip


class DamagedError(ValueError):
    """The data is no Zstandard that can be decoded without a dictionary."""


def need(condition: object, what: str) -> None:
    if not condition:
        raise DamagedError(what)


@dataclass
class Block:
    """A block: its kind, how many bytes it says it has, and its own."""

    kind: int
    size: int
    data: bytes


@dataclass
class Forward:
    """Bits of bytes from the first on, each byte's lowest first."""

    data: bytes
    at: int = 0

    def peek(self, count: int) -> int:
        byte, skew = divmod(self.at, 8)
        return (int.from_bytes(self.data[byte : byte + 5], "little") >> skew) & ((1 << count) - 1)


@dataclass
class Backward:
    """Bits of bytes from behind; the highest bit that is set ends them. Below the first, zeros are read."""

    data: bytes
    left: int = field(init=False)

    def __post_init__(self) -> None:
        need(self.data and self.data[-1], "a bit stream without its end mark")
        self.left = 8 * (len(self.data) - 1) + self.data[-1].bit_length() - 1

    def read(self, count: int) -> int:
        self.left -= count
        begin = self.left
        byte, skew = divmod(max(begin, 0), 8)
        window = int.from_bytes(self.data[byte : byte + 9], "little") >> skew
        have = count if begin >= 0 else max(count + begin, 0)
        return (window & ((1 << have) - 1)) << (count - have)


def frames(data: bytes) -> list[list[Block]]:
    """The blocks of each frame, up to the first bytes that begin none."""
    found, at = [], 0
    while at + 8 <= len(data):
        magic = int.from_bytes(data[at : at + 4], "little")
        if magic & 0xFFFFFFF0 == 0x184D2A50:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            need(at <= len(data), "a skippable frame is cut short")
            continue
        if magic != MAGIC:
            break
        descriptor = data[at + 4]
        need(not descriptor & 8, "a reserved bit is set")
        single = descriptor >> 5 & 1
        content = (single, 2, 4, 8)[descriptor >> 6]
        dictionary = (0, 1, 2, 4)[descriptor & 3]
        at += 5 + (1 - single)
        need(not any(data[at : at + dictionary]), "a dictionary is needed")
        at += dictionary + content
        blocks: list[Block] = []
        last = 0
        while not last:
            need(at + 3 <= len(data), "a frame is cut short")
            header = int.from_bytes(data[at : at + 3], "little")
            last, kind, size = header & 1, header >> 1 & 3, header >> 3
            need(kind < 3 and size <= LARGEST_BLOCK, "no block")
            at += 3
            stored = 1 if kind == 1 else size
            need(at + stored <= len(data), "a frame is cut short")
            blocks.append(Block(kind, size, data[at : at + stored]))
            at += stored
        at += 4 * (descriptor >> 2 & 1)
        need(at <= len(data), "a frame is cut short")
        found.append(blocks)
    return found


def counts_of(bits: Forward, most_accuracy: int, most_code: int) -> tuple[int, list[int]]:
    """A table of counts, section 4.1.1: accuracy, and the count of each code (-1: less than one)."""
    accuracy = bits.peek(4) + 5
    bits.at += 4
    need(accuracy <= most_accuracy, "an accuracy that is too high")
    left, counts = 1 << accuracy, []
    while left > 0:
        need(len(counts) <= most_code, "too many codes")
        width = (left + 1).bit_length()
        value = bits.peek(width)
        few = (1 << width) - 1 - (left + 1)  # so many of the small values take a bit less
        low = value & ((1 << (width - 1)) - 1)
        if low < few:
            value = low
            bits.at += width - 1
        else:
            value -= few if value >= 1 << (width - 1) else 0
            bits.at += width
        counts.append(value - 1)
        left -= abs(value - 1)
        if value == 1:
            while True:
                repeat = bits.peek(2)
                bits.at += 2
                counts += [0] * repeat
                if repeat < 3:
                    break
                need(len(counts) <= most_code, "too many codes")
    need(left == 0 and len(counts) <= most_code + 1, "counts that do not fit")
    bits.at = (bits.at + 7) // 8 * 8
    need(bits.at <= 8 * len(bits.data), "counts that are cut short")
    return accuracy, counts


def states_of(accuracy: int, counts: list[int]) -> list[tuple[int, int, int]]:
    """A decoding table: for each state its code, the bits to be read, and the base of the next state."""
    size = 1 << accuracy
    codes: list[int] = [0] * size
    high = size
    for code, count in enumerate(counts):
        if count == -1:
            high -= 1
            codes[high] = code
    place, step = 0, (size >> 1) + (size >> 3) + 3
    for code, count in enumerate(counts):
        for _ in range(max(count, 0)):
            codes[place] = code
            place = (place + step) & (size - 1)
            while place >= high:
                place = (place + step) & (size - 1)
    following = [abs(count) for count in counts]
    table = []
    for code in codes:
        width = accuracy - (following[code].bit_length() - 1)
        table.append((code, width, (following[code] << width) - size))
        following[code] += 1
    return table


def weights_of(data: bytes) -> tuple[list[int], int]:
    """Weights of Huffman codes, section 4.2.1, and how many bytes describe them."""
    need(data, "no weights")
    header = data[0]
    if header >= 128:
        number = header - 127
        size = 1 + (number + 1) // 2
        need(size <= len(data), "weights that are cut short")
        return [data[1 + i // 2] >> (0 if i & 1 else 4) & 15 for i in range(number)], size
    need(1 + header <= len(data), "weights that are cut short")
    bits = Forward(data[1 : 1 + header])
    table = states_of(*(described := counts_of(bits, 6, 255)))
    accuracy = described[0]
    stream = Backward(bits.data[bits.at // 8 :])
    states = [stream.read(accuracy), stream.read(accuracy)]
    weights: list[int] = []
    need(stream.left >= 0, "too few weights")
    while True:
        code, width, base = table[states[len(weights) & 1]]
        which = len(weights) & 1
        weights.append(code)
        need(len(weights) <= 254, "too many weights")
        if stream.left < width:
            weights.append(table[states[1 - which]][0])
            break
        states[which] = base + stream.read(width)
    return weights, 1 + header


def huffman_of(data: bytes) -> tuple[tuple[int, list[tuple[int, int]]], int]:
    """A Huffman table (longest code, and (symbol, length) for each of its bits), and how many bytes describe it."""
    weights, size = weights_of(data)
    need(max(weights) <= 11, "a weight that is too high")
    total = sum(1 << weight >> 1 for weight in weights)
    need(total, "no weights")
    longest = total.bit_length()
    need(longest <= 11, "codes that are too long")
    rest = (1 << longest) - total
    need(rest & (rest - 1) == 0, "weights that make no code")
    weights.append(rest.bit_length())
    ones = weights.count(1)
    need(ones >= 2 and ones % 2 == 0, "weights that make no code")
    table: list[tuple[int, int]] = []
    for weight in range(1, longest + 1):
        for symbol, other in enumerate(weights):
            if other == weight:
                table += [(symbol, longest + 1 - weight)] * (1 << weight >> 1)
    return (longest, table), size


def huffman_decode(table: tuple[int, list[tuple[int, int]]], data: bytes, number: int) -> bytes:
    longest, codes = table
    bits, out = Backward(data), bytearray()
    for _ in range(number):
        symbol, width = codes[bits.read(longest)]
        bits.left += longest - width
        out.append(symbol)
    need(bits.left == 0, "a stream of literals that does not end where it should")
    return bytes(out)


@dataclass
class Tables:
    """What a block leaves for the next."""

    huffman: tuple[int, list[tuple[int, int]]] | None = None
    codes: dict[str, tuple[int, list[tuple[int, int, int]]]] = field(default_factory=dict)


def literals_of(data: bytes, tables: Tables) -> tuple[bytes, int]:
    """The literals of a block, and how many bytes they take in it."""
    need(data, "an empty block")
    kind, form = data[0] & 3, data[0] >> 2 & 3
    head = int.from_bytes(data[:5], "little")
    if kind < 2:
        width, bits = ((1, 5), (2, 12), (1, 5), (3, 20))[form]
        number = head >> (8 * width - bits) & ((1 << bits) - 1)
        size = width + (number if kind == 0 else 1)
        need(number <= LARGEST_BLOCK and size <= len(data), "literals that are cut short")
        return (data[width:size] if kind == 0 else data[width:size] * number), size
    width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    number, packed = head >> 4 & ((1 << bits) - 1), head >> (4 + bits) & ((1 << bits) - 1)
    size = width + packed
    need(number <= LARGEST_BLOCK and size <= len(data), "literals that are cut short")
    body = data[width:size]
    if kind == 2:
        tables.huffman, described = huffman_of(body)
        body = body[described:]
    need(tables.huffman, "no codes to be used again")
    if form == 0:
        need(number, "no literals")
        return huffman_decode(tables.huffman, body, number), size
    need(number >= 6 and len(body) >= 10, "four streams that are too short")
    ends = np.cumsum([6, *(int.from_bytes(body[i : i + 2], "little") for i in (0, 2, 4))]).tolist()
    need(ends[3] < len(body), "four streams that are cut short")
    each = (number + 3) // 4
    need(3 * each <= number, "four streams that are too short")
    parts = [body[a:b] for a, b in zip(ends, [*ends[1:], len(body)], strict=True)]
    sizes = [each, each, each, number - 3 * each]
    return b"".join(huffman_decode(tables.huffman, p, n) for p, n in zip(parts, sizes, strict=True)), size


def sequences_of(data: bytes, tables: Tables) -> list[tuple[int, int, int]]:
    """(literal length, match length, offset value) of each sequence of a block."""
    need(data, "no sequences")
    number, at = data[0], 1
    if number >= 128:
        long = number == 255
        need(len(data) >= (3 if long else 2), "sequences that are cut short")
        number = 0x7F00 + int.from_bytes(data[1:3], "little") if long else ((number - 128) << 8) + data[1]
        at = 3 if long else 2
    if not number:
        need(at == len(data), "something behind the block")
        return []
    need(at < len(data), "sequences that are cut short")
    modes = data[at]
    need(not modes & 3, "a reserved bit is set")
    at += 1
    for shift, kind in ((6, "literal"), (4, "offset"), (2, "match")):
        accuracy, default, most, last = KINDS[kind]
        mode = modes >> shift & 3
        if mode == 0:
            tables.codes[kind] = accuracy, states_of(accuracy, default)
        elif mode == 1:
            need(at < len(data) and data[at] <= last, "no code to be repeated")
            tables.codes[kind] = 0, [(data[at], 0, 0)]
            at += 1
        elif mode == 2:
            bits = Forward(data[at:])
            accuracy, counts = counts_of(bits, most, last)
            tables.codes[kind] = accuracy, states_of(accuracy, counts)
            at += bits.at // 8
        need(kind in tables.codes, "no codes to be used again")
    stream = Backward(data[at:])
    use = {kind: tables.codes[kind][1] for kind in KINDS}
    state = {kind: stream.read(tables.codes[kind][0]) for kind in KINDS}
    found = []
    for i in range(number):
        entry = {kind: use[kind][state[kind]] for kind in KINDS}
        offset_code = entry["offset"][0]
        offset = (1 << offset_code) + stream.read(offset_code)
        base, width = MATCH_LENGTHS[entry["match"][0]]
        match = base + stream.read(width)
        base, width = LITERAL_LENGTHS[entry["literal"][0]]
        literal = base + stream.read(width)
        found.append((literal, match, offset))
        if i + 1 < number:
            for kind in ("literal", "match", "offset"):
                _, width, base = entry[kind]
                state[kind] = base + stream.read(width)
        need(stream.left >= 0, "sequences that are cut short")
    need(stream.left == 0, "sequences that do not end where they should")
    return found


def decode(data: bytes) -> bytes:
    """Decompress all frames at the beginning of the data.

    Raises:
        DamagedError: a frame is damaged, cut short, or needs a dictionary. Checksums are passed over.
    """
    out = bytearray()
    for blocks in frames(data):
        begin, tables, repeats = len(out), Tables(), [1, 4, 8]
        for block in blocks:
            start = len(out)
            if block.kind == 0:
                out += block.data
            elif block.kind == 1:
                out += block.data * block.size
            else:
                literals, size = literals_of(block.data, tables)
                at = 0
                for literal, match, value in sequences_of(block.data[size:], tables):
                    need(at + literal <= len(literals), "too few literals")
                    out += literals[at : at + literal]
                    at += literal
                    if value > 3:
                        offset, which = value - 3, 3
                    else:
                        which = value - 1 + (not literal)
                        offset = repeats[which] if which < 3 else repeats[0] - 1
                    repeats = [offset, *repeats[:which], *repeats[which + 1 :]][:3]
                    need(0 < offset <= len(out) - begin, "an offset before the beginning")
                    for _ in range(match):
                        out.append(out[-offset])
                out += literals[at:]
            need(len(out) - start <= LARGEST_BLOCK, "a block that is too large")
    return bytes(out)
