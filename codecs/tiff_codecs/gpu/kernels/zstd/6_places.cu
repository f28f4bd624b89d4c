// The kernel places: where blocks lie in the output, and the repeat offsets they begin with; see 1_streams.cu.

// An offset for a block that begins with these repeat offsets; 0 is none.
__device__ __forceinline__ u32 known(u32 offset, u32 a, u32 b, u32 c) {
    if (!(offset & UNKNOWN)) return offset;
    const u32 which = offset >> 27 & 3, from = which == 0 ? a : which == 1 ? b : c, less = offset & UNKNOWN_LESS;
    return from > less ? from - less : 0;
}

extern "C" __global__ void __launch_bounds__(32) places(
    const Stream* streams, u32 number, const Counts* counts, const Bases* bases, Block* blocks, u32* statuses, u64* sizes)
{
    const u32 lane = threadIdx.x, upto = (2u << lane) - 1;
    for (u32 s = blockIdx.x; s < number; s += gridDim.x) {
        u32 status = statuses[s], a = 1, b = 4, c = 8, begin = 0;
        const u32 count = counts[s].blocks;
        u64 offset = 0;
        for (u32 base = 0; base < count && !status; base += 32) {
            Block& block = blocks[bases[s].block + min(base + lane, count - 1)];
            const bool have = base + lane < count;
            const u32 flags = have ? block.flags : 0, bytes = have ? block.bytes : 0;
            const u32 repeats[3] = {block.repeats[0], block.repeats[1], block.repeats[2]};
            u32 sum = bytes;
#pragma unroll
            for (int by = 1; by < 32; by <<= 1) {
                const u32 left = __shfl_up_sync(FULL, sum, by);
                if (lane >= by) sum += left;
            }
            const u32 place = (u32)offset + sum - bytes;
            const u32 first = __ballot_sync(FULL, flags & FIRST) & upto;
            const u32 other = __shfl_sync(FULL, place, first ? highest(first) : 0);
            const u32 from = first ? other : begin;
            if (have) {
                block.offset = place;
                block.begin = from;
            }
            const bool wrong = flags & LAST && flags & SIZED && block.content != place + bytes - from;
            for (u32 k = 0; k < 32; k++) {
                if (__shfl_sync(FULL, flags, k) & FIRST) {
                    a = 1;
                    b = 4;
                    c = 8;
                }
                if (lane == k && have) {
                    block.initial[0] = a;
                    block.initial[1] = b;
                    block.initial[2] = c;
                }
                const u32 x = __shfl_sync(FULL, repeats[0], k), y = __shfl_sync(FULL, repeats[1], k);
                const u32 z = __shfl_sync(FULL, repeats[2], k);
                const u32 i = known(x, a, b, c), j = known(y, a, b, c), l = known(z, a, b, c);
                a = i;
                b = j;
                c = l;
            }
            begin = __shfl_sync(FULL, from, 31);
            offset += __shfl_sync(FULL, sum, 31);
            if (__any_sync(FULL, wrong)) status = DAMAGED;
            else if (offset > streams[s].target_bytes) status = UNUSUAL;
        }
        if (lane == 0) {
            statuses[s] = status;
            sizes[s] = status ? 0 : offset;
        }
    }
}
