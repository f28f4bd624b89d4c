// Huffman-coded literals of a block, by one warp; see 1_streams.cu.

// Of a warp, in shared memory
struct Codes {
    __align__(16) u16 table[1 << HUFFMAN_BITS];
};

union Helpers {
    Work work;
    Ring rings[4];
};

#define STEPS 16   // between fillings of the rings, of 4 symbols each: 88 bytes

// The four streams, or the one, each by a lane; returns whether mine ends where it should.
__device__ bool decode_streams(const u16* table, u32 longest, Backward bits, Ring* rings, u8* out, u32 number, int lane) {
    const u32 shift = 32 - longest;
    int due = (bits.top - 1) >> 7;
    fill_rings<4>(rings, bits, due, lane);
    const Ring& ring = rings[lane & 3];
    while (__any_sync(FULL, number != 0)) {
        await_chunks();
        fill_rings<4>(rings, bits, due, lane);
        for (int step = 0; step < STEPS && number; step++) {
            const u32* words = ring.at(bits.top >> 5);
            const u32 skew = bits.top, middle = words[-1];
            u64 ahead = (u64)__funnelshift_r(middle, words[0], skew) << 32 | __funnelshift_r(words[-2], middle, skew);
            const u32 wanted = min(number, 4 - ((u32)(u64)out & 3));   // up to a word's end
            u32 four = 0, used = 0;
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const u32 entry = table[(u32)(ahead >> 32) >> shift];
                ahead <<= entry >> 8;
                used += k < wanted ? entry >> 8 : 0;
                four |= (entry & 0xff) << (8 * k);
            }
            if (wanted == 4) {
                *reinterpret_cast<u32*>(out) = four;
            } else {
                for (u32 k = 0; k < wanted; k++) out[k] = (u8)(four >> (8 * k));
            }
            bits.top -= (int)used;
            out += wanted;
            number -= wanted;
        }
    }
    return bits.top == bits.bottom;
}

// Returns whether all is right.
__device__ bool decode_literals(const Bytes& bytes, const Block* blocks, const Block& block, u16* table, Helpers& helpers,
                                u8* literals, int lane) {
    const Block& codes = blocks[block.huffman];
    u32 behind = 0;
    const u32 longest = fill_codes(table, bytes, codes.at, codes.at + codes.packed, helpers.work, behind, lane);
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
    const bool mine = lane < (int)block.streams;
    Backward bits = {};
    bool good = !mine || (begin < stop && stop <= end && bits.start(bytes, begin, stop));
    if (!__all_sync(FULL, good)) return false;
    good = decode_streams(table, longest, bits, helpers.rings, literals + lane * each, mine ? number : 0, lane);
    return __all_sync(FULL, good);
}
