// ---- sum ----

// The sum of values since the last flagged one, for each thread; `room` holds two numbers for each warp.
__device__ __forceinline__ u32 sum_since(u32 value, u32 flag, u32 carry, u32* room) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (u32 d = 1; d < 32; d *= 2) {
        const u32 other = __shfl_up_sync(FULL, value, d), stops = __shfl_up_sync(FULL, flag, d);
        if (lane < d) continue;
        if (!flag) value += other;
        flag |= stops;
    }
    if (lane == 31) {
        room[warp] = value;
        room[WARPS + warp] = flag;
    }
    __syncthreads();
    for (u32 w = 0; w < warp; w++) carry = room[w] + (room[WARPS + w] ? 0 : carry);
    return value + (flag ? 0 : carry);
}

extern "C" __global__ void __launch_bounds__(THREADS) sum(
    const Tile* tiles, const Image* images, int* all_constants, const u32* statuses)
{
    __shared__ u32 room[2 * WARPS];
    __shared__ u32 carry;
    const u32 n = blockIdx.x, c = blockIdx.y;
    if (statuses[n] != GOOD) return;
    const Image& image = images[n];
    int* constants = all_constants + tiles[n].first;
    const u32 share = image.h[c] * image.v[c], count = image.mcus * share;
    if (threadIdx.x == 0) carry = 0;
    __syncthreads();
    for (u32 first = 0; first < count; first += THREADS) {
        const u32 i = first + threadIdx.x, mcu = i / share, within = i - mcu * share;
        const u32 block = mcu * image.size + image.place[c] + within;
        const bool restarts = within == 0 && mcu % image.interval == 0;
        const u32 result = sum_since(i < count ? (u32)constants[block] : 0, restarts, carry, room);
        if (i < count) constants[block] = (int)result;
        __syncthreads();
        if (threadIdx.x == THREADS - 1) carry = result;
        __syncthreads();
    }
}
