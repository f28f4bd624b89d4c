// LZW (TIFF 6.0 section 13; also lowest bit first, as early writers had it), parallel inside a tile.
//
// The width of a code depends only on how many codes came since the last Clear, so the place of every code up to the next
// Clear is known, and writers clear when the table is full. Two kernels follow one another:
//
//   find    hops in each stream from Clear to Clear: all codes that may lie up to the next one are looked at together
//   decode  takes segments between Clears, of all streams at once, in shared memory
//
// Entry 258 + i of the table is the string of code i and the first byte of the string of code i + 1. So the codes of a
// segment are nodes of trees: the parent of code 258 + i is node i, roots are the codes of single bytes, and the string of
// a node is read from its root on. Depths and roots come by pointer jumping, places in the output from the sum of depths.
// Bytes are then written 16 at a time, each 16 by a thread that climbs from the last one: parent after parent, and from a
// root to the code before. Nothing is copied from earlier output, and each thread has the same work. In trees that are very
// deep (long runs) a second pointer leaps SKIP generations.
//
// Every access is bounded by the lengths given: a damaged stream ends in a status, never outside.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef THREADS
#define THREADS 256
#endif
#ifndef HOPS
#define HOPS 8            // generations that are followed at a time
#endif
#define WARPS (THREADS / 32)
#define FULL 0xffffffffu
#define NONE 0xffffffffu

#define CLEAR 256u
#define END 257u
#define FIRST 258u
#define MOST 4863u        // codes between Clears: as many as libtiff takes, of which the table holds the first
#define ROUNDS ((MOST + THREADS) / THREADS)

#define SKIP 32u          // generations; trees of more than twice as many have such pointers
#define ROOT 0xfffu       // the parent of a root: more than any, since codes have 12 bits

#define DONE 0x80000000u  // of a state that has reached its root
#define DEPTH 0x1fffu     // of a state: generations that it has come

enum Status { GOOD = 0, DAMAGED = 1, CROWDED = 2 };

struct Stream {
    u64 source, source_bytes;   // address and length of the compressed bytes
    u64 target, target_bytes;   // address of the output, and how much of it is wanted
};

// Codes from one Clear to the next
struct Segment {
    u32 stream;
    u32 bit;       // where the first code begins, from the stream's first byte
    u32 codes;     // how many; with LAST where the stream ends behind them, and LONG where they are too many
    u32 before;    // the segment before it, NONE for the first of a stream
};
#define LAST 0x80000000u
#define LONG 0x40000000u
#define COUNT 0x3fffffffu

// The words of a stream from an aligned address on; bits are counted from its first byte.
struct Codes {
    const u32* words;
    u32 skew, end, last;   // bits before the first byte; bits of the stream; index of its last word
    u32 late;              // 1 where codes have their lowest bit first, and grow one entry later

    __device__ __forceinline__ Codes(const Stream& s) {
        words = reinterpret_cast<const u32*>(s.source & ~3ull);
        skew = (u32)(s.source & 3) * 8;
        end = (u32)s.source_bytes * 8;
        last = (u32)((skew + (u64)end - 1) >> 5);
        late = *reinterpret_cast<const u8*>(s.source) == 0;
    }
    // Bits in front of a code, counted from the Clear on; its width
    __device__ __forceinline__ u32 offset(u32 code) const {
        const int i = (int)(code - late);
        return 9 * code + max(i - 254, 0) + max(i - 766, 0) + max(i - 1790, 0);
    }
    __device__ __forceinline__ u32 width(u32 code) const {
        const int i = (int)(code - late);
        return 9 + (i >= 254) + (i >= 766) + (i >= 1790);
    }
    // A code of the segment at `bit`; END where the stream has no bits for it
    __device__ __forceinline__ u32 at(u32 bit, u32 code) const {
        const u32 n = width(code), from = bit + offset(code);
        if (from + n > end) return END;
        const u64 b = (u64)from + skew;
        const u32 i = (u32)(b >> 5), low = __ldg(words + i), high = __ldg(words + min(i + 1, last));
        if (late) return __funnelshift_r(low, high, (u32)b & 31) & ((1u << n) - 1);
        return __funnelshift_l(__byte_perm(high, 0, 0x0123), __byte_perm(low, 0, 0x0123), (u32)b & 31) >> (32 - n);
    }
};

// Whether a stream begins with a Clear, in either order of bits; nothing else is LZW as TIFF has it.
__device__ __forceinline__ bool begins(const Stream& s) {
    if (s.source_bytes < 2) return false;
    const u8* p = reinterpret_cast<const u8*>(s.source);
    return (p[0] == 0 && (p[1] & 1)) || (p[0] == 128 && !(p[1] & 128));
}

extern "C" __global__ void __launch_bounds__(THREADS) find(
    const Stream* streams, u32 number, const u32* most_of, Segment* segments, u32 most, u32* used, u32* statuses)
{
    __shared__ u32 stop;
    for (u32 s = blockIdx.x; s < number; s += gridDim.x) {
        const Stream stream = streams[s];
        if (stream.source_bytes == 0 || stream.target_bytes == 0) continue;
        if (!begins(stream)) {
            if (threadIdx.x == 0) statuses[s] = DAMAGED;
            continue;
        }
        const Codes codes(stream);
        u32 bit = 9, before = NONE;
        for (u32 hop = 0;; hop++) {
            __syncthreads();
            if (threadIdx.x == 0) stop = NONE;
            __syncthreads();
            u32 mine = NONE;   // the first Clear or end << 1 | whether it is the end
#pragma unroll
            for (u32 r = 0; r < ROUNDS; r++) {
                const u32 c = r * THREADS + threadIdx.x;
                const u32 value = c <= MOST ? codes.at(bit, c) : 0;
                if (value == CLEAR || value == END) mine = min(mine, c << 1 | (value == END));
            }
            if (mine != NONE) atomicMin(&stop, mine);
            __syncthreads();
            const u32 n = stop == NONE ? MOST : stop >> 1;
            const u32 flags = stop == NONE ? LAST | LONG : stop & 1 ? LAST : 0;
            if (n || flags) {
                if (threadIdx.x == 0) {
                    const u32 place = hop < most_of[s] ? atomicAdd(used, 1u) : NONE;
                    if (place < most) segments[place] = {s, bit, n | flags, before};
                    before = place;
                }
            }
            if (hop >= most_of[s]) {
                if (threadIdx.x == 0) statuses[s] = CROWDED;
                break;
            }
            if (flags) break;
            bit += codes.offset(n) + codes.width(n);
        }
    }
}

struct Decode {
    u32 tree[MOST + 1];     // of each code: the byte it ends with | its parent << 8 | the one SKIP generations up << 20
    u32 state[MOST + 1];    // generations up to a code << 13 | how many; with DONE the code is the root. Then: the code's place
    u32 sums[WARPS];
    u32 segment, good;
    u64 start;
};

__device__ __forceinline__ void wait_for(const u64* sum, u64& value) {
    do {
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(sum) : "memory");
    } while (value == 0);
}

__device__ __forceinline__ void publish(u64* sum, u64 value) {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" :: "l"(sum), "l"(value) : "memory");
}

__device__ __forceinline__ u32 sum_before(u32 value, u32* sums, u32& total) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    u32 sum = value;
#pragma unroll
    for (int by = 1; by < 32; by <<= 1) {
        const u32 left = __shfl_up_sync(FULL, sum, by);
        if (lane >= by) sum += left;
    }
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

__device__ __forceinline__ u32 parent(u32 node) { return node >> 8 & 0xfff; }

// Depths and roots: each state leaps by those of the codes it reaches.
__device__ __forceinline__ void jump(u32* state, u32 n) {
    bool again = true;
    while (__syncthreads_or(again)) {
        again = false;
        for (u32 c = threadIdx.x; c < n; c += THREADS) {
            u32 a = state[c];
            if (a & DONE) continue;
#pragma unroll 1
            for (int hop = 0; hop < HOPS && !(a & DONE); hop++) {
                const u32 b = state[a >> 13];
                a = b + (a & DEPTH);
            }
            state[c] = a;
            again |= !(a & DONE);
        }
    }
}

// The code that byte `place` of the output belongs to
__device__ __forceinline__ u32 code_of(const u32* places, u32 n, u32 place) {
    u32 code = 0;
    for (u32 step = 1u << (31 - __clz(n)); step; step >>= 1)
        if (code + step < n && places[code + step] <= place) code += step;
    return code;
}

// The first `wanted` bytes of a segment, 16 at aligned addresses a thread
__device__ __forceinline__ void write(const Decode& shared, u32 n, u32 wanted, u8* target) {
    const u32 lead = (u32)(u64)target & 15;
    for (u32 begin = 16 * threadIdx.x; begin < lead + wanted; begin += 16 * THREADS) {
        const u32 low = begin < lead ? lead : begin, high = min(begin + 16, lead + wanted);
        const u32 place = high - 1 - lead;
        u32 code = code_of(shared.state, n, place), node = code;
        u32 up = shared.state[code + 1] - 1 - place;
        for (; up >= 2 * SKIP; up -= SKIP) node = shared.tree[node] >> 20;
        for (; up; up--) node = parent(shared.tree[node]);
        u32 words[4];
#pragma unroll
        for (int k = 15; k >= 0; k--) {
            const u32 entry = shared.tree[node];
            words[k / 4] = k % 4 == 3 ? entry << 24 : words[k / 4] | (entry & 255) << (8 * (k % 4));
            if (begin + k >= high || begin + k < low) continue;
            node = parent(entry);
            if (node == ROOT) node = code = code ? code - 1 : 0;
        }
        u8* to = target + begin - lead;
        if (high - low == 16) {
            *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
        } else {
#pragma unroll
            for (int k = 0; k < 16; k++)
                if (begin + k >= low && begin + k < high) to[k] = (u8)(words[k / 4] >> (8 * (k % 4)));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) decode(
    const Stream* streams, const Segment* segments, u32 most, const u32* used, u32* ticket, u64* sums,
    u32* statuses, u64* sizes)
{
    __shared__ Decode shared;
    const u32 t = threadIdx.x, number = min(*used, most);
    for (;;) {
        // each waits for the segment before it in its stream, whose ticket was drawn before
        __syncthreads();
        if (t == 0) shared.segment = atomicAdd(ticket, 1u);
        __syncthreads();
        if (shared.segment >= number) return;
        const Segment segment = segments[shared.segment];
        const Stream stream = streams[segment.stream];
        const Codes codes(stream);
        u32 n = min(segment.codes & COUNT, MOST);
        if (t == 0) shared.good = n;
        __syncthreads();
#pragma unroll 4
        for (u32 c = t; c < n; c += THREADS) {
            const u32 value = codes.at(segment.bit, c), up = value - FIRST;
            const bool root = value < CLEAR;
            if (!root && up >= c) atomicMin(&shared.good, c);   // more than the table holds
            shared.tree[c] = root ? ROOT << 8 | value : up << 8;
            shared.state[c] = root || up >= c ? DONE | c << 13 | 1 : up << 13 | 1;
        }
        __syncthreads();
        const bool whole = shared.good == n && !(segment.codes & LONG);
        n = shared.good;
        jump(shared.state, n);
        const u32 each = (n + THREADS - 1) / THREADS | 1;   // odd, so that threads look at different banks
        const u32 first = min(t * each, n), behind = min(first + each, n);
        u32 sum = 0, deepest = 0;
        for (u32 c = first; c < behind; c++) {
            const u32 depth = shared.state[c] & DEPTH;
            sum += depth;
            deepest = max(deepest, depth);
        }
        for (u32 c = t; c < n; c += THREADS) {
            const u32 up = parent(shared.tree[c]);
            if (up != ROOT) shared.tree[c] |= shared.tree[(shared.state[up + 1] & ~DONE) >> 13] & 255;
        }
        u32 total;
        u32 place = sum_before(sum, shared.sums, total);   // which waits for all threads
        if (t == 0) {
            u64 before = 1;
            if (segment.before != NONE) wait_for(sums + segment.before, before);
            publish(sums + shared.segment, before + total);
            shared.start = before - 1;
            const u64 end = before - 1 + total;
            if (!whole && end < stream.target_bytes) statuses[segment.stream] = DAMAGED;
            if (segment.codes & LAST) sizes[segment.stream] = min(end, stream.target_bytes);
        }
        for (u32 c = first; c < behind; c++) {
            const u32 depth = shared.state[c] & DEPTH;
            shared.state[c] = place;
            place += depth;
        }
        if (behind == n && first < behind) shared.state[n] = total;
        if (__syncthreads_or(deepest > 2 * SKIP)) {
            for (u32 c = t; c < n; c += THREADS) {
                if (shared.state[c + 1] - shared.state[c] <= SKIP) continue;
                u32 node = c;
                for (u32 i = 0; i < SKIP; i++) node = parent(shared.tree[node]);
                shared.tree[c] |= node << 20;
            }
            __syncthreads();
        }
        const u64 start = shared.start;
        if (start < stream.target_bytes && total)
            write(shared, n, (u32)min((u64)total, stream.target_bytes - start),
                  reinterpret_cast<u8*>(stream.target) + start);
    }
}
