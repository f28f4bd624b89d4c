// Huffman-coded literals of a block, by one warp; see 1_streams.cu.

// One of a block's streams; returns whether it ends where it should.
__device__ bool decode_stream(const u16* table, u32 longest, const Bytes& bytes, u32 begin, u32 end, u8* out, u32 number) {
    Backward bits;
    if (!bits.start(bytes, begin, end)) return false;
    const u32 shift = 32 - longest;
    auto next = [&]() {
        const u32 entry = table[(u32)(bits.bits >> 32) >> shift];
        bits.skip(entry >> 8);
        return entry & 0xff;
    };
    while (number && (u64)out & 3) {
        *out++ = (u8)next();
        bits.refill();
        number--;
    }
    for (; number >= 4; number -= 4) {
        u32 four = next();
        four |= next() << 8;
        bits.refill();
        four |= next() << 16;
        four |= next() << 24;
        bits.refill();
        *reinterpret_cast<u32*>(out) = four;
        out += 4;
    }
    while (number) {
        *out++ = (u8)next();
        bits.refill();
        number--;
    }
    return bits.left == 0;
}

// Returns whether all is right.
__device__ bool decode_literals(const Bytes& bytes, const Block* blocks, const Block& block, u16* table, Work& work,
                                u8* literals, int lane) {
    const Block& codes = blocks[block.huffman];
    u32 behind = 0;
    const u32 longest = fill_codes(table, bytes, codes.at, codes.at + codes.packed, work, behind, lane);
    if (!longest) return false;
    u32 at = block.kind == CODED ? behind : block.at;
    const u32 end = block.at + block.packed;
    u32 begin = at, stop = end, number = block.literals, each = 0;
    if (block.streams == 4) {
        if (at + 10 > end) return false;
        each = (block.literals + 3) / 4;
        begin = at + 6;
        for (int k = 0; k < 3; k++) {
            const u32 size = bytes.little(at + 2 * k, 2);
            if (lane > k) begin += size;
            if (lane == k) stop = begin + size;
        }
        if (3 * each > block.literals) return false;
        number = lane < 3 ? each : block.literals - 3 * each;
    }
    bool good = true;
    if (lane < (int)block.streams) {
        good = begin < stop && stop <= end;
        if (good) good = decode_stream(table, longest, bytes, begin, stop, literals + lane * each, number);
    }
    return __all_sync(FULL, good);
}
