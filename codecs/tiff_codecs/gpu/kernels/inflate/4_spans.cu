// What the kernel scan works with: code lengths, and spans of bits decoded from guessed starts; see 1_streams.cu.

struct Scan {
    Tables tables;
    Codes codes;
    u32 words[WORDS];
    u32 ends[THREADS];
    u32 sums[WARPS];
    u32 counts[2][16];
    u8 lengths[LENGTHS];
    u8 precodes[128], prelengths[32];
    u32 first_end, front, bit, place, window, kind, last;
};

// Code lengths of a block with codes of its own, by the first warp; `at` is a bit of the staged words. Returns where they end.
__device__ u32 read_lengths(Scan& shared, u32 at, int lane) {
    const u32 head = peek(shared.words, at);
    const int literals = 257 + (int)(head & 31), distances = 1 + (int)(head >> 5 & 31), count = 4 + (int)(head >> 10 & 15);
    if (literals > 286 || distances > 30) return NONE;
    at += 14;
    if (lane < 19) shared.prelengths[order[lane]] = lane < count ? (u8)(peek(shared.words, at + 3 * lane) & 7) : 0;
    at += 3 * count;
    __syncwarp();
    const u32 n = lane < 19 ? shared.prelengths[lane] : 0;
    u32 begin = 0, sum = 0;
    for (int s = 0; s < 19; s++) {
        const u32 other = __shfl_sync(FULL, n, s), size = other ? 128u >> other : 0;
        sum += size;
        if (other < n || (other == n && s < lane)) begin += size;   // codes in order of length, then of symbol
    }
    if (sum != 128) return NONE;
    if (n)
        for (u32 v = begin; v < begin + (128u >> n); v++) shared.precodes[__brev(v) >> 25] = (u8)(n << 5 | lane);
    __syncwarp();
    u32 end = NONE;
    if (lane == 0) {
        const int total = literals + distances;
        int done = 0;
        u32 before = 0;
        while (done < total) {
            const u32 bits = peek(shared.words, at), entry = shared.precodes[bits & 127];
            const u32 symbol = entry & 31, rest = bits >> (entry >> 5);
            at += entry >> 5;
            if (symbol < 16) {
                if (symbol) shared.lengths[done < literals ? done : 288 + done - literals] = (u8)symbol;
                before = symbol;
                done++;
                continue;
            }
            int repeat;
            if (symbol == 16) {
                if (!done) break;
                repeat = 3 + (int)(rest & 3);
                at += 2;
                if (before)
                    for (int i = done; i < min(done + repeat, total); i++)
                        shared.lengths[i < literals ? i : 288 + i - literals] = (u8)before;
            } else {
                before = 0;
                repeat = symbol == 17 ? 3 + (int)(rest & 7) : 11 + (int)(rest & 127);
                at += symbol == 17 ? 3 : 7;
            }
            done += repeat;
        }
        if (done == total && shared.lengths[256]) end = at;
    }
    return __shfl_sync(FULL, end, 0);
}

// How many literals are tried for each word that is looked at, before what is none gets its turn
#ifndef LITERALS
#define LITERALS 3
#endif

#define LONGEST 258u   // bytes of a match

struct Span {
    u32 start, stop;     // bits of the window
    u32 middle;          // the first symbol's begin in its second half
    u32 bytes;           // output, up to the end of the block
    u32 half, whole;     // output of the first half, and of all symbols, whatever they are
    u32 end;             // where the block ends in it, NONE when it does not
    u32 bad;             // bits: whether anything before that is no symbol, in either half
};

// Decode symbols until one ends at `until` or behind.
__device__ __forceinline__ void count_on(const u32* words, const Tables& tables, u32& at, u32 until, u32& bytes, Span& span,
                                         u32 half) {
    while (at < until) {
        const u32 from = at;
        u32 bits = peek(words, at), entry = 0;
#pragma unroll
        for (int k = 0; k < LITERALS; k++) {
            if (k * LITERAL_BITS > 32 - LITERAL_BITS && at - from > 32 - LITERAL_BITS) break;   // too few bits are left
            entry = tables.literal[bits & ((1 << LITERAL_BITS) - 1)];
            if (entry & 256) break;
            at += entry >> 9;
            bits >>= entry >> 9;
            bytes++;
            if (at >= until) break;
        }
        if (!(entry & 256)) continue;
        const u32 before = at;
        const Token token = step(words, tables, at);
        if (token.kind <= MATCH) {
            bytes += token.bytes;
            // long runs are one match again and again, and there decoders fall into step late: let them get on
            if (token.bytes == LONGEST && at - before < 32) {
                const u32 mask = (1u << (at - before)) - 1, match = peek(words, before) & mask, n = at - before;
                while (at < until && (peek(words, at) & mask) == match) {
                    at += n;
                    bytes += LONGEST;
                }
            }
        } else if (span.end == NONE) {
            if (token.kind == BAD) span.bad |= half;
            else {
                span.end = at;
                span.bytes = bytes;
            }
        }
    }
}

// Decode the symbols from `start` to the end of a span; no further than where `before`, of another start, is met.
__device__ __forceinline__ Span count(const u32* words, const Tables& tables, u32 start, u32 begin, const Span& before) {
    Span span = {start, 0, 0, 0, 0, 0, NONE, 0};
    u32 at = start, bytes = 0;
    count_on(words, tables, at, begin + SPAN / 2, bytes, span, 1);
    span.middle = at;
    span.half = bytes;
    if (at == before.middle && (before.end == NONE || before.end > before.middle)) {
        span.stop = before.stop;
        span.whole = bytes + before.whole - before.half;
        if (span.end == NONE) {
            span.end = before.end;
            span.bytes = bytes + before.bytes - before.half;
            span.bad |= before.bad & 2;
        }
        return span;
    }
    count_on(words, tables, at, begin + SPAN, bytes, span, 2);
    span.stop = at;
    span.whole = bytes;
    if (span.end == NONE) span.bytes = bytes;
    return span;
}

__device__ __forceinline__ u32 sum_before(u32 value, u32* sums, u32& total) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    u32 sum = value;
#pragma unroll
    for (int by = 1; by < 32; by <<= 1) {
        const u32 left = __shfl_up_sync(FULL, sum, by);
        if (lane >= by) sum += left;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    u32 before = 0;
    total = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) before += sums[w];
        total += sums[w];
    }
    return before + sum - value;
}
