// DEFLATE (RFC 1951), parallel inside a tile.
//
// A Huffman-coded block can be decoded from many places at once, since decoders that begin at a wrong bit soon fall into
// step with the right one (Weissenberger and Schmidt, "Massively Parallel Huffman Decoding on GPUs", ICPP 2018). Four
// kernels follow one another:
//
//   find    cuts each stream into segments, and looks in each for the first header of a block with codes of its own
//   scan    walks the blocks of each segment, in windows of THREADS * SPAN bits, only to learn where symbols begin and how
//           many bytes they make
//   merge   puts the segments of each stream together: one that began at no true header is passed by
//   write   decodes the windows again, now knowing where each begins in bits and in bytes, and writes them in order
//
// Matches are written as references, resolved in shared memory by pointer jumping; what they take from before the window is
// read from the output, once the windows before it are there. Every access is bounded by the lengths given: a damaged
// stream ends in a status, never outside.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef THREADS
#define THREADS 256
#endif
#ifndef SPAN
#define SPAN 264      // bits of a window that one thread takes: no multiple of 256, so that spans lie in different banks
#endif
#ifndef WARMUP
#define WARMUP 96     // bits before its span where a thread begins, to be in step when it gets there
#endif
#ifndef ROOM
#define ROOM 20480    // bytes of output held in shared memory
#endif
#ifndef SHORT
#define SHORT 16      // bytes of a match that its thread writes by itself
#endif
#ifndef SCAN_BLOCKS
#define SCAN_BLOCKS 8     // blocks of threads that a multiprocessor shall hold
#endif
#ifndef WRITE_BLOCKS
#define WRITE_BLOCKS 1
#endif
#ifndef HOPS
#define HOPS 8        // references followed at a time
#endif
#define WARPS (THREADS / 32)
#define WORDS (THREADS * SPAN / 32 + 8)
#define NONE 0xffffffffu
#define FULL 0xffffffffu
#define STORED 0x80000000u

#define LITERAL_BITS 11
#define DISTANCE_BITS 10
#define LONG_LITERALS (143 * 16)   // 286 symbols make at most 143 prefixes of longer codes
#define LONG_DISTANCES (15 * 32)
#define LENGTHS 320          // code lengths of a block: 288 of literals and lengths, 32 of distances
#define HISTORY 256u         // entries of the output room: bytes below, then places before the room ...
#define INSIDE (256u + 32768u)   // ... and places inside it

enum Status { GOOD = 0, DAMAGED = 1, CROWDED = 2 };

struct Stream {
    u64 source, source_bytes;   // address and length of the compressed bytes
    u64 target, target_bytes;   // address of the output, and how much of it is wanted
};

// A run of up to THREADS spans of one block that make no more bytes than there is room for, if no single one does
struct Window {
    u32 bit;       // where the first of THREADS spans begins, from the stream's first byte
    u32 spans;     // the window's first << 16 | how many; STORED for a stored block
    u32 codes;     // which codes
    u32 bytes;     // output
    u32 next;      // the window behind it, NONE for the last of a segment
    u32 offset;    // bytes of the segment before it
    u32 set;       // which set of spans
    u32 begin;     // bytes of that set before the window
};

struct Segment {
    u32 first, count;    // its windows
    u32 next;            // the segment behind it, NONE at the end of the stream
    u32 status;
    u64 bytes;           // output
    u64 offset;          // of the stream before it
    u32 place, used;     // of its first window among the stream's; whether the stream passes through it
};

// A canonical code: symbols sorted, and for each length the first value behind its codes, left-justified to 15 bits
struct Code {
    u32 limit[16];
    int first[16];    // rank of a code of length n is its value + first[n]
    u16 sorted[288];
};

struct Codes {
    Code literals, distances;
};

struct Pools {
    Window* windows;
    u32* spans;          // sets of THREADS: bits past the span's begin << 24 | bytes of the set before it
    Codes* codes;
    u32 most_windows, most_sets, most_codes;
    u32* used;           // [0] windows, [1] codes, [2] sets of spans
};

#define FEW (ROOM - ROOM / 8)   // bytes of a window before its last span

__constant__ u8 order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

// ---------------------------------------------------------------------------------------------------------- bits

// The words of a stream from an aligned address on; bits are counted from its first byte.
struct Bits {
    const u32* words;
    u32 skew, end, last;   // bits before the first byte; bits of the stream; index of its last word

    __device__ __forceinline__ Bits(const Stream& s) {
        words = reinterpret_cast<const u32*>(s.source & ~3ull);
        skew = (u32)(s.source & 3) * 8;
        end = (u32)s.source_bytes * 8;
        last = end ? (u32)((skew + (u64)end - 1) >> 5) : 0;
    }
    __device__ __forceinline__ u32 word(u32 index) const { return index <= last && end ? __ldg(words + index) : 0; }
    // 32 bits from `bit` on; zeros past the end
    __device__ __forceinline__ u32 at(u32 bit) const {
        const u64 b = (u64)bit + skew;
        const u32 i = (u32)(b >> 5);
        return bit < end ? __funnelshift_r(word(i), word(i + 1), (u32)b & 31) : 0;
    }
};

// The part of a stream from `bit` on, in shared memory; returns the bits before it there.
__device__ __forceinline__ u32 stage(u32* words, const Bits& bits, u32 bit) {
    const u64 b = (u64)bit + bits.skew;
    const u32 first = (u32)(b >> 5);
    for (u32 w = threadIdx.x; w < WORDS; w += THREADS) words[w] = bits.word(first + w);
    return (u32)b & 31;
}

__device__ __forceinline__ u32 peek(const u32* words, u32 at) {
    const u32 w = at >> 5;
    return __funnelshift_r(words[w], words[w + 1], at & 31);
}

// --------------------------------------------------------------------------------------------------------- codes

#define LONGER 511u

struct Tables {
    u16 literal[1 << LITERAL_BITS];    // length << 9 | symbol; LONGER: a longer code, or none
    u16 distance[1 << DISTANCE_BITS];
    u16 long_literal[LONG_LITERALS];   // by what follows the first bits
    u16 long_distance[LONG_DISTANCES];
    u32 first_literal, first_distance; // the first prefix, highest bit first, of longer codes
};

// Sort symbols by code; one warp. Returns whether the lengths make a code: a complete one, or a single bit, or none.
__device__ bool sort_symbols(const u8* lengths, int symbols, Code& code, u32* counts, int lane) {
    if (lane < 16) counts[lane] = 0;
    __syncwarp();
    for (int s = lane; s < symbols; s += 32)
        if (lengths[s]) atomicAdd(&counts[lengths[s]], 1u);
    __syncwarp();
    u32 value = 0, rank = 0, mine = 0, longest = 0;
    for (int n = 1; n <= 15; n++) {   // every lane does the same
        const u32 count = counts[n], begin = value;
        if (n == lane) mine = rank;
        value += count << (15 - n);
        if (count) longest = n;
        if (lane == 0) {
            code.limit[n] = value;
            code.first[n] = (int)rank - (int)(begin >> (15 - n));
        }
        rank += count;
    }
    __syncwarp();
    if (value > 32768 || (value < 32768 && longest > 1)) return false;
    if (lane < 16) counts[lane] = mine;
    __syncwarp();
    for (int base = 0; base < symbols; base += 32) {
        // symbols of one length stand in the order of the alphabet
        const int s = base + lane;
        const u32 n = s < symbols ? lengths[s] : 0;
        const u32 same = __match_any_sync(FULL, n);
        if (n) code.sorted[counts[n] + __popc(same & ((1u << lane) - 1))] = (u16)s;
        __syncwarp();
        if (n && (same >> lane) == 1) counts[n] += __popc(same);   // the highest lane of each length
        __syncwarp();
    }
    return true;
}

// The table for codes up to BITS bits, and behind it one for the rest of longer ones; all threads.
template <int BITS>
__device__ __forceinline__ void fill_table(u16* table, u16* longer, int most, u32& first_longer, const Code& code) {
    u32 limit[16];
#pragma unroll
    for (int n = 1; n <= 15; n++) limit[n] = code.limit[n];
    for (u32 e = threadIdx.x; e < 1 << BITS; e += THREADS) {
        const u32 value = __brev(e) >> 17;
        int n = 1;
#pragma unroll
        for (int k = 1; k <= BITS; k++) n += value >= limit[k];
        table[e] = n <= BITS ? (u16)(n << 9 | code.sorted[(int)(value >> (15 - n)) + code.first[n]]) : (u16)LONGER;
    }
    const u32 prefix = limit[BITS] >> (15 - BITS);
    const u32 entries = min((u32)most, ((1u << BITS) - prefix) << (15 - BITS));
    for (u32 e = threadIdx.x; e < entries; e += THREADS) {
        const u32 rest = e & ((1u << (15 - BITS)) - 1);
        const u32 value = (prefix + (e >> (15 - BITS))) << (15 - BITS) | __brev(rest) >> (32 - (15 - BITS));
        int n = BITS + 1;
#pragma unroll
        for (int k = BITS + 1; k < 15; k++) n += value >= limit[k];
        longer[e] = value < limit[15] ? (u16)(n << 9 | code.sorted[(int)(value >> (15 - n)) + code.first[n]]) : 0;
    }
    if (threadIdx.x == 0) first_longer = prefix;
}

__device__ void fill_tables(Tables& tables, const Codes& codes) {
    fill_table<LITERAL_BITS>(tables.literal, tables.long_literal, LONG_LITERALS, tables.first_literal, codes.literals);
    fill_table<DISTANCE_BITS>(tables.distance, tables.long_distance, LONG_DISTANCES, tables.first_distance,
                              codes.distances);
}

__device__ __forceinline__ u32 longer_literal(const Tables& tables, u32 bits) {
    const u32 i = ((__brev(bits) >> (32 - LITERAL_BITS)) - tables.first_literal) << (15 - LITERAL_BITS) |
                  (bits >> LITERAL_BITS & ((1 << (15 - LITERAL_BITS)) - 1));
    return i < LONG_LITERALS ? tables.long_literal[i] : 0;
}

__device__ __forceinline__ u32 longer_distance(const Tables& tables, u32 bits) {
    const u32 i = ((__brev(bits) >> (32 - DISTANCE_BITS)) - tables.first_distance) << (15 - DISTANCE_BITS) |
                  (bits >> DISTANCE_BITS & ((1 << (15 - DISTANCE_BITS)) - 1));
    return i < LONG_DISTANCES ? tables.long_distance[i] : 0;
}

// ------------------------------------------------------------------------------------------------------- symbols

enum Kind { LITERAL, MATCH, END, BAD };

struct Token {
    u32 bytes;    // output of a match
    u32 value;    // the literal, or the distance
    Kind kind;
};

// The symbol at `at`, which moves behind it: by a bit at least, so that no loop goes on for ever.
__device__ __forceinline__ Token step(const u32* words, const Tables& tables, u32& at) {
    Token token;
    const u32 bits = peek(words, at);
    u32 entry = tables.literal[bits & ((1 << LITERAL_BITS) - 1)];
    if (entry == LONGER) entry = longer_literal(tables, bits);
    const u32 n = entry >> 9, symbol = entry & 511;
    token.value = symbol;
    token.bytes = 1;
    token.kind = LITERAL;
    at += n;
    if (symbol >= 256 || !entry) {
        token.kind = symbol == 256 ? END : BAD;
        if (!entry) at++;
        if (symbol > 256 && symbol < 286) {
            const u32 c = symbol - 257;
            const u32 extra = c < 8 || c == 28 ? 0 : (c >> 2) - 1;
            const u32 base = c < 8 ? 3 + c : c == 28 ? 258 : 3 + ((4 + (c & 3)) << extra);
            token.bytes = base + (bits >> n & ((1u << extra) - 1));
            at += extra;
            const u32 more = peek(words, at);
            u32 found = tables.distance[more & ((1 << DISTANCE_BITS) - 1)];
            if (found == LONGER) found = longer_distance(tables, more);
            const u32 m = found >> 9, d = found & 511;
            const u32 wide = d < 4 ? 0 : (d >> 1) - 1;
            token.value = 1 + (d < 4 ? d : (2 + (d & 1)) << wide) + (more >> m & ((1u << wide) - 1));
            token.kind = found && d < 30 ? MATCH : BAD;
            at += token.kind == MATCH ? m + wide : 1;
        }
    }
    return token;
}

// ---------------------------------------------------------------------------------------------------------- find

// Whether `bit` (behind the type of the block) begins complete codes; one thread, from global memory.
__device__ bool begins_codes(const Bits& bits, u32 bit) {
    const u32 head = bits.at(bit);
    const int literals = 257 + (int)(head & 31), distances = 1 + (int)(head >> 5 & 31), count = 4 + (int)(head >> 10 & 15);
    if (literals > 286 || distances > 30) return false;
    bit += 14;
    u64 packed = (u64)bits.at(bit) | (u64)bits.at(bit + 32) << 32;
    packed &= (1ull << (3 * count)) - 1;
    bit += 3 * count;
    // the code of code lengths: symbols by code, 5 bits each, 12 in a word
    u64 by_symbol = 0;
    for (int i = 0; i < count; i++) by_symbol |= (packed >> (3 * i) & 7) << (3 * order[i]);
    u32 limit[8], value = 0, rank = 0;
    int first[8];
    u64 low = 0, high = 0;
    for (int n = 1; n < 8; n++) {
        first[n] = (int)rank - (int)(value >> (7 - n));
        for (int s = 0; s < 19; s++)
            if ((by_symbol >> (3 * s) & 7) == (u64)n) {
                if (rank < 12) low |= (u64)s << (5 * rank);
                else high |= (u64)s << (5 * (rank - 12));
                rank++;
                value += 128u >> n;
            }
        limit[n] = value;
    }
    if (value != 128) return false;
    const int total = literals + distances;
    int done = 0;
    u32 before = 0, sum = 0, distance_sum = 0, distance_codes = 0;
    bool ends = false;
    while (done < total) {
        const u32 ahead = bits.at(bit), code = __brev(ahead) >> 25;
        int n = 1;
#pragma unroll
        for (int k = 1; k < 7; k++) n += code >= limit[k];
        const u32 place = (u32)((int)(code >> (7 - n)) + first[n]);
        const u32 symbol = (u32)((place < 12 ? low >> (5 * place) : high >> (5 * (place - 12))) & 31);
        const u32 rest = ahead >> n;
        bit += n;
        int repeat = 1;
        u32 length = symbol;
        if (symbol == 16) {
            if (!done) return false;
            length = before;
            repeat = 3 + (int)(rest & 3);
            bit += 2;
        } else if (symbol == 17) {
            length = 0;
            repeat = 3 + (int)(rest & 7);
            bit += 3;
        } else if (symbol == 18) {
            length = 0;
            repeat = 11 + (int)(rest & 127);
            bit += 7;
        }
        if (done + repeat > total) return false;
        before = length;
        if (length) {
            const int in_literals = max(0, min(repeat, literals - done));
            ends |= done <= 256 && done + repeat > 256;
            sum += (u32)in_literals << (15 - length);
            distance_sum += (u32)(repeat - in_literals) << (15 - length);
            distance_codes += repeat - in_literals;
            if (sum > 32768 || distance_sum > 32768) return false;
        }
        done += repeat;
    }
    return ends && sum == 32768 && (distance_sum == 32768 || distance_codes < 2) && bit <= bits.end;
}

#define CANDIDATES 1024
#ifndef SEARCH_WORDS
#define SEARCH_WORDS 2048   // words looked through before what was found is looked at closely
#endif

struct Find {
    u16 kraft[4096];           // of four code lengths of 3 bits, in 128ths
    u32 candidates[CANDIDATES];
    u32 held, best;
};

// Of a segment: the stream it belongs to, and the first and the last word (exclusive) where it looks for its begin
struct Piece {
    u32 stream, begin, end, pad;
};

extern "C" __global__ void __launch_bounds__(THREADS) find(
    const Stream* streams, const Piece* pieces, u32 number, u32* starts)
{
    __shared__ Find shared;
    for (u32 i = threadIdx.x; i < 4096; i += THREADS) {
        u32 sum = 0;
        for (int k = 0; k < 4; k++) {
            const u32 n = i >> (3 * k) & 7;
            sum += n ? 128u >> n : 0;
        }
        shared.kraft[i] = (u16)sum;
    }
    for (u32 p = blockIdx.x; p < number; p += gridDim.x) {
        const Piece piece = pieces[p];
        if (piece.begin == 0) {   // a stream begins with a block
            if (threadIdx.x == 0) starts[p] = 0;
            continue;
        }
        const Stream s = streams[piece.stream];
        const Bits bits(s);
        u32 best = NONE;
        for (u32 w = piece.begin; w < piece.end && best == NONE; w += SEARCH_WORDS) {
            __syncthreads();
            if (threadIdx.x == 0) {
                shared.held = 0;
                shared.best = NONE;
            }
            __syncthreads();
            for (u32 i = w + threadIdx.x; i < min(w + SEARCH_WORDS, min(piece.end, bits.last + 1)); i += THREADS) {
                const u32 w0 = bits.word(i), w1 = bits.word(i + 1), w2 = bits.word(i + 2), w3 = bits.word(i + 3);
                // 32 places at once: not the last block, of type 2, at most 286 literals and lengths, 30 distances
                u32 looks = ~w0 & ~__funnelshift_r(w0, w1, 1) & __funnelshift_r(w0, w1, 2);
                looks &= ~(__funnelshift_r(w0, w1, 4) & __funnelshift_r(w0, w1, 5) & __funnelshift_r(w0, w1, 6) &
                           __funnelshift_r(w0, w1, 7));
                looks &= ~(__funnelshift_r(w0, w1, 9) & __funnelshift_r(w0, w1, 10) & __funnelshift_r(w0, w1, 11) &
                           __funnelshift_r(w0, w1, 12));
                while (looks) {
                    const int k = __ffs(looks) - 1, from = k + 13;   // where the number of code lengths stands: 13 to 44
                    looks &= looks - 1;
                    const u32 a = from < 32 ? w0 : w1, b = from < 32 ? w1 : w2, c = from < 32 ? w2 : w3;
                    const u32 low = __funnelshift_r(a, b, from & 31), high = __funnelshift_r(b, c, from & 31);
                    u64 lens = ((u64)high << 32 | low) >> 4;
                    lens &= (1ull << (3 * (4 + (low & 15)))) - 1;
                    u32 sum = shared.kraft[lens & 4095] + shared.kraft[lens >> 12 & 4095];
                    if (sum > 128) continue;
                    sum += shared.kraft[lens >> 24 & 4095] + shared.kraft[lens >> 36 & 4095] + shared.kraft[lens >> 48 & 4095];
                    if (sum != 128) continue;
                    const u32 at = atomicAdd(&shared.held, 1u);
                    if (at < CANDIDATES) shared.candidates[at] = i * 32 + k - bits.skew;
                }
            }
            __syncthreads();
            const u32 held = min(shared.held, (u32)CANDIDATES);
            for (u32 i = threadIdx.x; i < held; i += THREADS)
                if (begins_codes(bits, shared.candidates[i] + 3)) atomicMin(&shared.best, shared.candidates[i]);
            __syncthreads();
            best = shared.best;
        }
        if (threadIdx.x == 0) starts[p] = best;
        __syncthreads();
    }
}

// ---------------------------------------------------------------------------------------------------------- scan

struct Scan {
    Tables tables;
    Codes codes;
    u32 words[WORDS];
    u32 ends[THREADS];
    u32 sums[WARPS];
    u32 counts[2][16];
    u8 lengths[LENGTHS];
    u8 precodes[128], prelengths[32];
    u32 first_end, bit, place, window, kind, last;
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
        const Token token = step(words, tables, at);
        if (token.kind <= MATCH) bytes += token.bytes;
        else if (span.end == NONE) {
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

// What a block gave: the same for all threads
struct Block {
    u32 first, final, windows;   // its first and last window, and how many
    u32 end;                     // bit behind it
    u32 last;                    // whether it is the stream's last
    u32 status;
    u64 bytes;
};

// One block, by all threads, whose header stands at `bit`; `offset` is the segment's bytes before it.
__device__ Block scan_block(Scan& shared, const Bits& bits, u32 bit, u64 offset, const Pools& pools) {
    const u32 t = threadIdx.x;
    Block block = {NONE, NONE, 0, 0, 0, GOOD, 0};
    __syncthreads();
    u32 skew = stage(shared.words, bits, bit);
    for (u32 s = t; s < LENGTHS; s += THREADS) shared.lengths[s] = 0;
    __syncthreads();
    if (t < 32) {
        const u32 head = peek(shared.words, skew), kind = bit + 3 > bits.end ? 3 : head >> 1 & 3;
        u32 data = NONE, place = NONE;
        if (kind == 2) {
            data = read_lengths(shared, skew + 3, t);
            if (data != NONE) data = data - skew + bit;
        } else if (kind == 1) {
            data = bit + 3;
        } else if (kind == 0) {
            const u32 at = (bit + 3 + 7) & ~7u, sizes = bits.at(at), size = sizes & 0xffff;
            if ((u64)at + 32 <= bits.end && (sizes >> 16 ^ size) == 0xffff && (u64)at + 32 + 8 * size <= bits.end) {
                data = at + 32;
                place = size;
            }
        }
        if (t == 0) {
            shared.kind = kind;
            shared.last = head & 1;
            shared.bit = data != NONE && data > bits.end ? NONE : data;
            shared.place = place;
        }
    }
    __syncthreads();
    const u32 kind = shared.kind;
    u32 base = shared.bit, codes = NONE;
    block.last = shared.last;
    block.status = DAMAGED;
    if (base == NONE) return block;
    if (kind == 0) {
        block.bytes = shared.place;
        block.end = base + 8 * shared.place;
    } else {
        if (kind == 1)
            for (u32 s = t; s < LENGTHS; s += THREADS)
                shared.lengths[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : s < 288 ? 8 : 5;
        __syncthreads();
        bool good = true;
        if (t >> 5 == 0) good = sort_symbols(shared.lengths, 288, shared.codes.literals, shared.counts[0], t & 31);
        if (t >> 5 == 1) good = sort_symbols(shared.lengths + 288, 32, shared.codes.distances, shared.counts[1], t & 31);
        if (t == 64) {
            const u32 c = atomicAdd(&pools.used[1], 1u);
            shared.place = c < pools.most_codes ? c : NONE;
        }
        if (__syncthreads_or(!good)) return block;
        codes = shared.place;
        if (codes == NONE) {
            block.status = CROWDED;
            return block;
        }
        u32* to = reinterpret_cast<u32*>(pools.codes + codes);
        const u32* from = reinterpret_cast<const u32*>(&shared.codes);
        for (u32 i = t; i < sizeof(Codes) / 4; i += THREADS) to[i] = from[i];
        fill_tables(shared.tables, shared.codes);
    }
    if (kind == 0) {
        if (t == 0) {
            const u32 w = atomicAdd(&pools.used[0], 1u);
            shared.window = w < pools.most_windows ? w : NONE;
            if (w < pools.most_windows) {
                const Window window = {base, STORED, NONE, shared.place, NONE, (u32)offset, 0, 0};
                pools.windows[w] = window;
            }
        }
        __syncthreads();
        block.status = shared.window == NONE ? CROWDED : GOOD;
        block.first = block.final = shared.window;
        block.windows = 1;
        return block;
    }
    for (;;) {
        skew = stage(shared.words, bits, base);
        __syncthreads();
        const u32 begin = skew + t * SPAN;
        // what it gave from another start, of which there may be only two in a run
        Span other = {NONE, 0, NONE, 0, 0, 0, NONE, 0};
        u32 start = begin;
        if (t) {
            // begin a little before the span, and be in step when it is reached
            Span ignored = other;
            u32 nothing = 0;
            start = begin > skew + WARMUP ? begin - WARMUP : skew;
            count_on(shared.words, shared.tables, start, begin, nothing, ignored, 1);
        }
        Span span = count(shared.words, shared.tables, start, begin, other);
        for (;;) {
            shared.ends[t] = span.stop;
            if (t == 0) shared.first_end = THREADS;
            __syncthreads();
            if (span.end != NONE) atomicMin(&shared.first_end, t);
            const u32 due = t ? shared.ends[t - 1] : begin;
            __syncthreads();
            const bool wrong = t <= shared.first_end && due != span.start;
            if (!__syncthreads_or(wrong)) break;
            if (wrong) {
                const Span kept = span;
                if (other.start == due) span = other;
                else span = count(shared.words, shared.tables, due, begin, kept);
                other = kept;
            }
        }
        const u32 last = min(shared.first_end, (u32)THREADS - 1);
        const bool valid = t <= last, ended = shared.first_end < THREADS;
        u32 total, windows;
        const u32 before = sum_before(valid ? span.bytes : 0, shared.sums, total);
        // a window begins where the room for the one before it is spent
        shared.ends[t] = before / FEW;
        __syncthreads();
        const bool leads = valid && (t == 0 || shared.ends[t] != shared.ends[t - 1]);
        const u32 rank = sum_before(leads, shared.sums, windows);
        if (t == last) shared.bit = (span.end != NONE ? span.end : span.stop) - skew + base;
        if (t == 96) {
            const u32 w = atomicAdd(&pools.used[0], windows), set = atomicAdd(&pools.used[2], 1u);
            const bool room = (u64)w + windows <= pools.most_windows && set < pools.most_sets;
            shared.window = room ? w : NONE;
            shared.place = set;
        }
        const bool bad = __syncthreads_or(valid && span.bad != 0);
        // of each window, where it begins: in spans and in bytes
        if (leads) {
            shared.ends[rank] = t;
            shared.words[rank] = before;
        }
        __syncthreads();
        const u32 w = shared.window, set = shared.place;
        block.status = DAMAGED;
        if (bad || shared.bit > bits.end) return block;
        block.status = CROWDED;
        if (w == NONE) return block;
        pools.spans[(u64)set * THREADS + t] = (span.start - begin) << 24 | (before & 0xffffff);
        if (leads) {
            const bool final = rank + 1 == windows;
            const u32 behind = final ? last + 1 : shared.ends[rank + 1], bytes = final ? total : shared.words[rank + 1];
            const Window window = {base, t << 16 | (behind - t), codes, bytes - before, final ? NONE : w + rank + 1,
                                   (u32)(offset + block.bytes + before), set, before};
            pools.windows[w + rank] = window;
        }
        if (t == 0 && block.final != NONE) pools.windows[block.final].next = w;
        if (block.first == NONE) block.first = w;
        block.final = w + windows - 1;
        block.windows += windows;
        block.bytes += total;
        block.end = base = shared.bit;
        block.status = DAMAGED;
        if (offset + block.bytes > 0xfffffff0ull) return block;
        if (ended) break;
        __syncthreads();
    }
    block.status = GOOD;
    return block;
}

extern "C" __global__ void __launch_bounds__(THREADS, SCAN_BLOCKS) scan(
    const Stream* streams, const Piece* pieces, u32 number, const u32* firsts, u32 stream_number, const u32* starts,
    Segment* segments, u32* ticket,
    Window* windows, u32* spans, Codes* codes, u32 most_windows, u32 most_sets, u32 most_codes, u32* used)
{
    extern __shared__ __align__(16) u8 memory[];
    Scan& shared = *reinterpret_cast<Scan*>(memory);
    __shared__ u32 taken;
    const Pools pools = {windows, spans, codes, most_windows, most_sets, most_codes, used};
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(ticket, 1u);
        __syncthreads();
        const u32 p = taken;
        if (p >= number) return;
        u32 bit = starts[p];
        if (bit == NONE) continue;
        const u32 s = pieces[p].stream, end = s + 1 < stream_number ? firsts[s + 1] : number;
        const Stream stream = streams[s];
        const Bits bits(stream);
        Segment segment = {NONE, 0, NONE, GOOD, 0, 0, 0, 0};
        u32 before = NONE, next = p + 1;
        for (;;) {
            const Block block = scan_block(shared, bits, bit, segment.bytes, pools);
            if (block.status != GOOD) {
                segment.status = block.status;
                break;
            }
            if (before == NONE) segment.first = block.first;
            else if (threadIdx.x == 0) windows[before].next = block.first;
            before = block.final;
            segment.count += block.windows;
            segment.bytes += block.bytes;
            bit = block.end;
            if (block.last || segment.bytes > stream.target_bytes) break;
            while (next < end && (starts[next] == NONE || starts[next] < bit)) next++;
            if (next < end && starts[next] == bit) {
                segment.next = next;
                break;
            }
        }
        if (threadIdx.x == 0) segments[p] = segment;
    }
}

// --------------------------------------------------------------------------------------------------------- merge

// Follow each stream from segment to segment; list its windows in order, and say where each lies in the stream.
extern "C" __global__ void __launch_bounds__(64) merge(
    u32 number, u32 stream_number, const u32* firsts, const u32* starts, Segment* segments, Window* windows,
    u32* listed, u32* list, u32* places, u32* counts, u32* statuses, u64* sizes, u32* most)
{
    __shared__ u32 place;
    for (u32 s = blockIdx.x; s < stream_number; s += gridDim.x) {
        const u32 begin = firsts[s], end = s + 1 < stream_number ? firsts[s + 1] : number;
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 status = GOOD, count = 0;
            u64 bytes = 0;
            for (u32 p = begin; p != NONE;) {
                Segment& segment = segments[p];
                if (segment.status) {
                    status = segment.status;
                    break;
                }
                segment.offset = bytes;
                segment.place = count;
                segment.used = 1;
                bytes += segment.bytes;
                count += segment.count;
                p = segment.next;
            }
            if (bytes > 0xfffffff0ull) status = DAMAGED;
            if (status) count = 0;
            place = atomicAdd(listed, count);
            places[s] = place;
            counts[s] = count;
            statuses[s] = status;
            sizes[s] = bytes;
            atomicMax(most, count);
        }
        __syncthreads();
        if (counts[s] == 0) continue;
        for (u32 p = begin + threadIdx.x; p < end; p += blockDim.x) {
            if (starts[p] == NONE || !segments[p].used) continue;
            const Segment segment = segments[p];
            u32 i = place + segment.place;
            for (u32 w = segment.first; w != NONE && i < place + segment.place + segment.count; w = windows[w].next) {
                windows[w].offset += (u32)segment.offset;
                list[i++] = w;
            }
        }
    }
}

// --------------------------------------------------------------------------------------------------------- write

struct Write {
    Tables tables;
    u32 words[WORDS];
    union {
        Codes codes;                    // until the tables are filled
        __align__(16) u16 out[ROOM + 8];
    };
    u32 ticket;
};

__device__ __forceinline__ void wait_for(const u32* progress, u32 value) {
    u32 seen;
    for (;;) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(progress) : "memory");
        if (seen >= value) return;
        __nanosleep(20);
    }
}

__device__ __forceinline__ void publish(u32* progress, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(progress), "r"(value) : "memory");
}

__device__ __forceinline__ u32 written(const u8* p) {
    u32 v;
    asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(v) : "l"(p));   // another multiprocessor may have written it
    return v;
}

// Entries of the room as bytes, eight at a time, loads first: what lies before the room takes long to come.
// `to` and `begin` are the address and the place in the stream of the room's begin.
__device__ __forceinline__ u64 resolved(const uint4 eight, const u8* to, u64 begin) {
    const u32 pairs[4] = {eight.x, eight.y, eight.z, eight.w};
    u32 bytes[8];
    bool far = false;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        bytes[k] = pairs[k / 2] >> (16 * (k % 2)) & 0xffff;
        far |= bytes[k] >= HISTORY;
    }
    if (far) {
        u32 loaded[8];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const u32 back = bytes[k] - HISTORY + 1;   // 1 for the byte before the room
            loaded[k] = written(bytes[k] >= HISTORY && back <= begin ? to - back : to);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) bytes[k] = bytes[k] < HISTORY ? bytes[k] : loaded[k];
    }
    u64 word = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) word |= (u64)(bytes[k] & 0xff) << (8 * k);
    return word;
}

// The first `n` bytes of the room to the output
__device__ __forceinline__ void flush(const u16* out, u32 n, u8* to, u64 begin) {
    const bool aligned = ((u64)to & 3) == 0;
    for (u32 i = 8 * threadIdx.x; i < n; i += 8 * THREADS) {
        const u64 word = resolved(*reinterpret_cast<const uint4*>(out + i), to, begin);
        if (aligned && i + 8 <= n) {
            reinterpret_cast<u32*>(to + i)[0] = (u32)word;
            reinterpret_cast<u32*>(to + i)[1] = (u32)(word >> 32);
        } else {
            for (u32 k = 0; k < 8 && i + k < n; k++) to[i + k] = (u8)(word >> (8 * k));
        }
    }
}

// Places inside the room become what stands there, until none is left.
__device__ __forceinline__ void jump(u16* out, u32 held) {
    const u32 pairs = (held + 1) / 2;
    for (int round = 0; round < 16; round++) {   // each follows HOPS times as many as the one before
        bool again = false;
        for (u32 i = threadIdx.x; i < pairs; i += THREADS) {
            const u32 two = reinterpret_cast<const u32*>(out)[i];
            u32 a = two & 0xffff, b = two >> 16;
            if (max(a, b) < INSIDE) continue;
            for (int hop = 0; hop < HOPS && a >= INSIDE; hop++) a = out[min(a - INSIDE, ROOM - 1u)];
            for (int hop = 0; hop < HOPS && b >= INSIDE; hop++) b = out[min(b - INSIDE, ROOM - 1u)];
            reinterpret_cast<u32*>(out)[i] = a | b << 16;
            again |= max(a, b) >= INSIDE;
        }
        if (!__syncthreads_or(again)) return;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WRITE_BLOCKS) write(
    const Stream* streams, u32 number, const Window* windows, const u32* spans, const Codes* codes,
    const u32* list, const u32* places, const u32* counts, const u32* most, u32* ticket, u32* progress, u32* statuses)
{
    extern __shared__ __align__(16) u8 memory[];
    Write& shared = *reinterpret_cast<Write*>(memory);
    const u32 t = threadIdx.x, lane = t & 31;
    const u64 tickets = (u64)number * *most;
    for (;;) {
        // the first window of every stream, then the second of every one ...: each waits for those before it
        __syncthreads();
        if (t == 0) shared.ticket = atomicAdd(ticket, 1u);
        __syncthreads();
        if (shared.ticket >= tickets) return;
        const u32 s = shared.ticket % number, sequence = shared.ticket / number;
        if (sequence >= counts[s]) continue;
        const Stream stream = streams[s];
        const u32 w = list[places[s] + sequence];
        const Window window = windows[w];
        const u64 room = stream.target_bytes > window.offset ? stream.target_bytes - window.offset : 0;
        u8* target = reinterpret_cast<u8*>(stream.target) + window.offset;
        u32* done = progress + s;
        if (window.spans & STORED) {
            const u8* from = reinterpret_cast<const u8*>(stream.source) + window.bit / 8;
            const u32 n = (u32)min((u64)window.bytes, room);
            for (u32 i = t; i < n; i += THREADS) target[i] = from[i];
            if (t == 0) wait_for(done, sequence);
        } else {
            const Bits bits(stream);
            const u32* from = reinterpret_cast<const u32*>(codes + window.codes);
            for (u32 i = t; i < sizeof(Codes) / 4; i += THREADS) reinterpret_cast<u32*>(&shared.codes)[i] = from[i];
            const u32 skew = stage(shared.words, bits, window.bit);
            __syncthreads();
            fill_tables(shared.tables, shared.codes);
            const u32 first = window.spans >> 16, number_of = window.spans & 0xffff;
            const bool mine = t < number_of;
            const u32* mark = spans + (u64)window.set * THREADS + first + t;
            const u32 packed = mine ? mark[0] : 0;
            // bytes of the window before what comes next, and behind the last
            u32 at = mine ? (packed & 0xffffff) - window.begin : window.bytes;
            const u32 stop = t + 1 < number_of ? (mark[1] & 0xffffff) - window.begin : window.bytes;
            u32 bit = mine ? skew + (first + t) * SPAN + (packed >> 24) : 0;
            u32 left = 0, distance = 0, written_of = 0;   // of a match that is not yet written whole
            bool bad = false;
            for (u32 low = 0; low < window.bytes; low += ROOM) {
                const u32 high = min(low + ROOM, window.bytes);
                __syncthreads();   // the tables are there, or the room before is written
                const u32 limit = min(stop, high);
                for (;;) {
                    const bool active = at < limit;
                    if (!__any_sync(FULL, active)) break;
                    u32 place = 0, match = 0;
                    if (active) {
                        if (!left) {
                            const u32 from = bit;
                            u32 ahead = peek(shared.words, bit), entry = 0;
#pragma unroll
                            for (int k = 0; k < LITERALS; k++) {
                                if (k * LITERAL_BITS > 32 - LITERAL_BITS && bit - from > 32 - LITERAL_BITS) break;
                                entry = shared.tables.literal[ahead & ((1 << LITERAL_BITS) - 1)];
                                if (entry & 256) break;
                                bit += entry >> 9;
                                ahead >>= entry >> 9;
                                shared.out[at++ - low] = (u16)(entry & 255);
                                if (at >= limit) break;
                            }
                            if (entry & 256) {
                                const Token token = step(shared.words, shared.tables, bit);
                                if (token.kind == LITERAL) {
                                    shared.out[at++ - low] = (u16)token.value;
                                } else if (token.kind == MATCH) {
                                    left = token.bytes;
                                    distance = token.value;
                                    written_of = 0;
                                    bad |= (u64)window.offset + at < distance;
                                } else {   // cannot be: the scan has been here
                                    bad = true;
                                    at = stop;
                                }
                            }
                        }
                        if (left) {
                            const u32 n = min(left, limit - at);
                            const int source = (int)(at - low) - (int)distance;   // in the room
                            if (n <= SHORT && distance >= written_of + n) {
#pragma unroll
                                for (int i = 0; i < SHORT; i++)
                                    if (i < n)
                                        shared.out[at - low + i] =
                                            (u16)(source + i >= 0 ? INSIDE + source + i : HISTORY - 1 - (source + i));
                            } else {
                                place = (at - low) << 9 | n;
                                match = distance << 9 | written_of;
                            }
                            at += n;
                            written_of += n;
                            left -= n;
                        }
                    }
                    // a long match is written by the whole warp
                    for (u32 matches = __ballot_sync(FULL, place & 511); matches; matches &= matches - 1) {
                        const int from_lane = __ffs(matches) - 1;
                        const u32 p = __shfl_sync(FULL, place, from_lane), m = __shfl_sync(FULL, match, from_lane);
                        const u32 n = p & 511, d = m >> 9;
                        const int origin = (int)(p >> 9) - (int)(m & 511) - (int)d;   // of the match's source, in the room
                        for (u32 i = lane; i < n; i += 32) {
                            u32 k = (m & 511) + i;
                            if (k >= d) k %= d;
                            const int source = origin + (int)k;
                            shared.out[(p >> 9) + i] = (u16)(source >= 0 ? INSIDE + source : HISTORY - 1 - source);
                        }
                    }
                }
                if (t == 0 && (high - low & 1)) shared.out[high - low] = 0;   // entries are looked at in pairs
                __syncthreads();
                jump(shared.out, high - low);
                if (low == 0) {
                    if (t == 0) wait_for(done, sequence);
                    __syncthreads();
                }
                if (low < room)
                    flush(shared.out, (u32)min((u64)(high - low), room - low), target + low, (u64)window.offset + low);
                __threadfence();
            }
            if (window.bytes == 0 && t == 0) wait_for(done, sequence);
            if (__syncthreads_or(bad) && t == 0) statuses[s] = DAMAGED;
        }
        __threadfence();
        __syncthreads();
        if (t == 0) publish(done, sequence + 1);
    }
}
