// The kernel write: windows of the output, in order; see 1_streams.cu.

// What stands in the room for a byte: its place in the output that it is copied from, or ...
#define LITERAL 0x80000000u    // ... its place among the literals of the block
#define BYTE 0xc0000000u       // ... itself; all bits are set for no byte
#ifndef HOPS
#define HOPS 8                 // sources followed at a time
#endif
#ifndef EAGER
#define EAGER (2 * WINDOW)     // bytes finished since it was looked at last, for looking again
#endif
#ifndef LOADS
#define LOADS 8                // bytes fetched at a time
#endif

__device__ __forceinline__ u32 progress_of(const u32* progress) {
    u32 seen;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(progress) : "memory");
    return seen;
}

__device__ __forceinline__ void publish(u32* progress, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(progress), "r"(value) : "memory");
}

__device__ __forceinline__ u32 written(const u8* p) {
    u32 v;
    asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(v) : "l"(p));   // another multiprocessor may have written it
    return v;
}

__device__ __forceinline__ u32 any_bits(u32 value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(FULL, value);
#else
#pragma unroll
    for (int by = 16; by; by >>= 1) value |= __shfl_xor_sync(FULL, value, by);
    return value;
#endif
}

// Spread the sequences of a window to a source for each byte; `low` and `high` are places in the block.
__device__ bool spread(const Block& block, const u64* sequences, u32 run, u32 first, u32 last, u32 low, u32 high, u32* room) {
    const u32 lane = threadIdx.x & 31, below = (2u << lane) - 1;
    const u64 none = packed(0, 0, 0);
    bool bad = false;
    for (u32 base = first + (threadIdx.x & ~31u); base <= last; base += WRITERS) {
        // a sequence for each lane, then the literals behind the last, then nothing
        const u32 i = base + lane;
        const u64 record = i < block.sequences ? __ldg(sequences + i) : none;
        const bool behind = i >= block.sequences, past = i > block.sequences;
        const u32 out = past ? block.bytes : behind ? block.tail_at : (u32)record & 0x1ffff;
        const u32 literal = past ? block.literals : behind ? block.tail_literal : (u32)(record >> 17) & 0x1ffff;
        u32 next_out = __shfl_down_sync(FULL, out, 1), next_literal = __shfl_down_sync(FULL, literal, 1);
        if (lane == 31) {
            const u32 n = i + 1;
            const u64 other = n < block.sequences ? __ldg(sequences + n) : none;
            next_out = n > block.sequences ? block.bytes : n == block.sequences ? block.tail_at : (u32)other & 0x1ffff;
            next_literal = n > block.sequences    ? block.literals
                           : n == block.sequences ? block.tail_literal
                                                  : (u32)(other >> 17) & 0x1ffff;
        }
        const u32 match = out + next_literal - literal;   // where it begins
        const u32 given = (u32)(record >> 34);
        const u32 offset = behind ? 1 : known(given, block.initial[0], block.initial[1], block.initial[2]);
        const bool fits = behind || (offset && offset <= block.offset + match - block.begin);
        bad |= !fits;
        const u32 from = max(__shfl_sync(FULL, out, 0), low), to = min(__shfl_sync(FULL, next_out, 31), high);
        for (u32 at = from; at < to; at += 32) {
            const u32 begins = any_bits(out >= at && out - at < 32 ? 1u << (out - at) : 0);
            const u32 owner = __popc(__ballot_sync(FULL, out < at)) + __popc(begins & below) - 1;
            const u32 o = __shfl_sync(FULL, out, owner), m = __shfl_sync(FULL, match, owner);
            const u32 l = __shfl_sync(FULL, literal, owner), d = __shfl_sync(FULL, fits ? offset : 0, owner);
            const u32 p = at + lane;
            if (p >= to) continue;
            u32 source;
            if (p < m) {
                source = run == NONE ? LITERAL | (l + p - o) : BYTE | run;
            } else if (d) {
                const u32 k = p - m;
                source = block.offset + m - d + (k < d ? k : k % d);
            } else {
                source = BYTE;
            }
            room[p - low] = source;
        }
    }
    return bad;
}

// Sources inside the window become what stands there, until none is left.
__device__ __forceinline__ void jump(u32* room, u32 held, u32 begin) {
    for (int round = 0; round < 16; round++) {   // each follows HOPS times as many as the one before
        bool again = false;
        for (u32 i = threadIdx.x; i < held; i += WRITERS) {
            u32 source = room[i];
            if (source - begin >= held) continue;
            for (int hop = 0; hop < HOPS && source - begin < held; hop++) source = room[source - begin];
            room[i] = source;
            again |= source - begin < held;
        }
        if (!__syncthreads_or(again)) return;
    }
}

extern "C" __global__ void __launch_bounds__(WRITERS, 1024 / WRITERS) write(
    const Stream* streams, const Block* blocks, u32 number, const u32* order, const u8* literals, const u64* sequences,
    const u64* sizes, u32* ticket, u32* progress, u32* statuses)
{
    extern __shared__ __align__(16) u8 memory[];
    u32* room = reinterpret_cast<u32*>(memory);   // WINDOW entries
    __shared__ Block block;
    __shared__ u32 taken, seen;
    const u32 t = threadIdx.x;
    for (;;) {
        // the first window of every stream, then the second of every one ...: each waits for those before it
        __syncthreads();
        if (t == 0) taken = atomicAdd(ticket, 1u);
        __syncthreads();
        if (taken >= number) return;
        const u32 item = order[taken], window = item % WINDOWS;
        const u32* from = reinterpret_cast<const u32*>(blocks + item / WINDOWS);
        for (u32 i = t; i < sizeof(Block) / 4; i += WRITERS) reinterpret_cast<u32*>(&block)[i] = from[i];
        __syncthreads();
        const u32 low = window * WINDOW;
        if (low >= block.bytes || !sizes[block.stream]) continue;   // nothing is written of a stream found bad before
        const Stream stream = streams[block.stream];
        const u8* source = reinterpret_cast<const u8*>(stream.source) + block.at;
        const u8* from_literals = block.kind < CODED ? source : literals + 16 * block.literal_place;
        const u32 high = min(low + WINDOW, block.bytes), held = high - low, begin = block.offset + low;
        const u32 last = high < block.bytes ? block.marks[(window + 1) % WINDOWS] : block.sequences;
        const bool bad = spread(block, sequences + block.sequence_place, block.kind == RUN ? __ldg(source) : NONE,
                                block.marks[window], last, low, high, room);
        if (__syncthreads_or(bad) && t == 0) statuses[block.stream] = DAMAGED;
        jump(room, held, begin);
        // bytes are fetched as the windows before are finished, so that few are left to be when the last of them is
        u8* target = reinterpret_cast<u8*>(stream.target);
        u32 pending = FULL;   // my bytes, by their number
        u32 before = 0;
        for (;;) {
            if (t == 0) {
                u32 now = progress_of(progress + block.stream);
                while (before && now < begin && now - before < EAGER) {
                    __nanosleep(20);
                    now = progress_of(progress + block.stream);
                }
                seen = before = now;
            }
            __syncthreads();
            const u32 there = seen;
#pragma unroll
            for (u32 from = 0; from < 32; from += LOADS) {
                if (!(pending >> from & ((1u << LOADS) - 1))) continue;
                u32 entries[LOADS], bytes[LOADS];
#pragma unroll
                for (u32 k = 0; k < LOADS; k++) {
                    const u32 j = t + (from + k) * WRITERS;
                    entries[k] = j < held && pending >> (from + k) & 1 ? room[j] : NONE;
                    bytes[k] = entries[k];
                    if (entries[k] >> 30 == 2) bytes[k] = __ldg(from_literals + (entries[k] & 0x1ffff));
                    else if (entries[k] < there) bytes[k] = written(target + entries[k]);
                }
#pragma unroll
                for (u32 k = 0; k < LOADS; k++) {
                    const bool found = entries[k] >> 31 || entries[k] < there;
                    if (found && entries[k] != NONE) target[begin + t + (from + k) * WRITERS] = (u8)bytes[k];
                    if (found) pending &= ~(1u << (from + k));
                }
            }
            if (there >= begin) break;
            __syncthreads();   // all know what was seen
        }
        __threadfence();
        __syncthreads();
        if (t == 0) publish(progress + block.stream, begin + held);
    }
}
