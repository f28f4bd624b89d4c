// The kernel write: windows decoded to their places; see 1_streams.cu.

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
                            if (n <= SHORT && distance >= written_of + n && (source >= 0 || source + (int)n <= 0)) {
                                u16* to = shared.out + (at - low);
                                const int by = source >= 0 ? 1 : -1;
                                int from = source >= 0 ? (int)INSIDE + source : (int)HISTORY - 1 - source;
                                for (u32 done = 0; done < n; done += 4, to += 4) {
#pragma unroll
                                    for (u32 i = 0; i < 4; i++, from += by)
                                        if (done + i < n) to[i] = (u16)from;
                                }
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
            }
            if (window.bytes == 0 && t == 0) wait_for(done, sequence);
            if (__syncthreads_or(bad) && t == 0) statuses[s] = DAMAGED;
        }
        __syncthreads();   // what all have written is released by the one that says so
        if (t == 0) publish(done, sequence + 1);
    }
}
