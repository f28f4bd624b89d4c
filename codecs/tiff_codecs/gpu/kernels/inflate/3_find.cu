// The kernel find: headers of blocks, looked for at every bit; see 1_streams.cu.

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
    u64 by_symbol = 0, counts = 0;   // the length of each symbol in 3 bits; how many have each length, in 8 bits
    for (int i = 0; i < count; i++) {
        const u64 n = packed >> (3 * i) & 7;
        by_symbol |= n << (3 * order[i]);
        counts += 1ull << (8 * n);
    }
    u32 limit[8], value = 0, rank = 0;
    int first[8];
    u64 ranks = 0;
#pragma unroll
    for (int n = 1; n < 8; n++) {
        const u32 c = (u32)(counts >> (8 * n)) & 255;
        first[n] = (int)rank - (int)(value >> (7 - n));
        ranks |= (u64)rank << (8 * n);
        rank += c;
        value += c << (7 - n);
        limit[n] = value;
    }
    u64 low = 0, high = 0;
    for (int s = 0; s < 19; s++) {
        const int n = (int)(by_symbol >> (3 * s) & 7);
        if (!n) continue;
        const u32 at = (u32)(ranks >> (8 * n)) & 255;
        ranks += 1ull << (8 * n);
        if (at < 12) low |= (u64)s << (5 * at);
        else high |= (u64)s << (5 * (at - 12));
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

#define CANDIDATES 256     // of them, what is found: more are let go

#ifndef SEARCH_WORDS
#define SEARCH_WORDS 2048   // words that are looked through before what was found is looked at closely
#endif

struct Find {
    u16 kraft[4096];       // of four code lengths of 3 bits, in 128ths
    u32 candidates[WARPS][CANDIDATES];
    u32 held[WARPS];
};

// Of a segment: the stream it belongs to, and the first and the last word (exclusive) where it looks for its begin
struct Piece {
    u32 stream, begin, end, pad;
};

// The first header that was found between two words, or NONE; one warp.
__device__ __forceinline__ u32 find_header(Find& shared, const Bits& bits, u32 begin, u32 end, int warp, int lane) {
    if (lane == 0) shared.held[warp] = 0;
    __syncwarp();
    for (u32 i = begin + lane; i < end; i += 32) {
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
            const u32 at = atomicAdd(&shared.held[warp], 1u);
            if (at < CANDIDATES) shared.candidates[warp][at] = i * 32 + k - bits.skew;
        }
    }
    __syncwarp();
    const u32 held = min(shared.held[warp], (u32)CANDIDATES);
    u32 best = NONE;
    for (u32 i = lane; i < held; i += 32)
        if (begins_codes(bits, shared.candidates[warp][i] + 3)) best = min(best, shared.candidates[warp][i]);
    __syncwarp();
#pragma unroll
    for (int by = 16; by; by >>= 1) best = min(best, __shfl_xor_sync(FULL, best, by));
    return best;
}

// A warp takes a segment, or one of its `parts` where there are few segments: most of what is found is soon dismissed, and
// then only a lane has work. `starts` are NONE before.
extern "C" __global__ void __launch_bounds__(THREADS) find(
    const Stream* streams, const Piece* pieces, u32 first, u32 number, u32 parts, u32* starts)
{
    __shared__ Find shared;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (u32 i = threadIdx.x; i < 4096; i += THREADS) {
        u32 sum = 0;
        for (int k = 0; k < 4; k++) {
            const u32 n = i >> (3 * k) & 7;
            sum += n ? 128u >> n : 0;
        }
        shared.kraft[i] = (u16)sum;
    }
    __syncthreads();
    for (u32 i = blockIdx.x * WARPS + warp; i < (number - first) * parts; i += gridDim.x * WARPS) {
        const u32 p = first + i / parts, part = i % parts;
        const Piece piece = pieces[p];
        const Bits bits(streams[piece.stream]);
        const u32 words = (piece.end - piece.begin + parts - 1) / parts, begin = piece.begin + part * words;
        const u32 end = min(min(begin + words, piece.end), bits.last + 1);
        u32 start = piece.begin ? NONE : 0;   // a stream begins with a block
        for (u32 w = begin; w < end && start == NONE; w += SEARCH_WORDS)
            start = find_header(shared, bits, w, min(w + SEARCH_WORDS, end), warp, lane);
        if (lane == 0 && start != NONE) atomicMin(starts + p, start);
    }
}
