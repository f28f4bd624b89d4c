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
    const Stream* streams, const Piece* pieces, u32 first, u32 number, u32* starts)
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
    for (u32 p = first + blockIdx.x; p < number; p += gridDim.x) {
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
