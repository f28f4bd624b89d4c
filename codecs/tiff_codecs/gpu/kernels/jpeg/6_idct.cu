// ---- idct ----

#define PER (THREADS / 8)   // blocks of a block of threads: 8 threads for each
#define PITCH 72            // numbers of a block in shared memory: its columns then lie in different banks

// The accurate integer IDCT of libjpeg (jidctint.c; Loeffler, Ligtenberg and Moschytz 1989), of one row or column; with
// numbers of 16 bits where its vector versions have them, which tells only in damaged blocks.
__device__ __forceinline__ void transform(const int in[8], int out[8], int shift) {
    const int even = (short)(in[0] + in[4]) * 8192, odd = (short)(in[0] - in[4]) * 8192;
    const int t2 = in[2] * 4433 + in[6] * (4433 - 15137), t3 = in[2] * (4433 + 6270) + in[6] * 4433;
    const int e0 = even + t3, e3 = even - t3, e1 = odd + t2, e2 = odd - t2;

    const int s3 = (short)(in[7] + in[3]), s4 = (short)(in[5] + in[1]);
    const int z3 = s3 * (9633 - 16069) + s4 * 9633, z4 = s3 * 9633 + s4 * (9633 - 3196);
    const int o0 = in[7] * (2446 - 7373) + in[1] * -7373 + z3;
    const int o1 = in[5] * (16819 - 20995) + in[3] * -20995 + z4;
    const int o2 = in[3] * (25172 - 20995) + in[5] * -20995 + z3;
    const int o3 = in[1] * (12299 - 7373) + in[7] * -7373 + z4;

    const int half = 1 << (shift - 1);
    out[0] = (e0 + o3 + half) >> shift;
    out[7] = (e0 - o3 + half) >> shift;
    out[1] = (e1 + o2 + half) >> shift;
    out[6] = (e1 - o2 + half) >> shift;
    out[2] = (e2 + o1 + half) >> shift;
    out[5] = (e2 - o1 + half) >> shift;
    out[3] = (e3 + o0 + half) >> shift;
    out[4] = (e3 - o0 + half) >> shift;
}

extern "C" __global__ void __launch_bounds__(THREADS) idct(
    const Tile* tiles, const Image* images, short* all_blocks, const int* all_constants, const u32* statuses)
{
    __shared__ short tables[MOST_BANDS * 64];
    __shared__ __align__(16) short numbers[PER * PITCH];
    const u32 n = blockIdx.y;
    const Image& image = images[n];
    if (statuses[n] != GOOD || blockIdx.x * PER >= image.mcus * image.size) return;
    for (u32 i = threadIdx.x; i < image.bands * 64; i += THREADS) {
        const u32 table = image.table[i / 64];
        const u8* values = reinterpret_cast<const u8*>(image.quantization[table]);
        const u32 k = i & 63;
        const u32 value = image.wide >> table & 1 ? values[2 * k] << 8 | values[2 * k + 1] : values[k];
        tables[i / 64 * 64 + natural[k]] = (short)value;
    }
    const u32 own = threadIdx.x / 8, line = threadIdx.x & 7, block = blockIdx.x * PER + own;
    const bool present = block < image.mcus * image.size;
    const u32 k = block % image.size;
    u32 component = 0;
    for (u32 c = 1; c < image.bands; c++) component += k >= image.place[c];
    const u64 index = tiles[n].first + block;
    short* mine = numbers + own * PITCH;
    uint4* row = reinterpret_cast<uint4*>(mine + 8 * line);
    if (present) *row = reinterpret_cast<const uint4*>(all_blocks + index * (BLOCK / 2))[line];
    __syncthreads();
    int in[8] = {}, out[8];
    const short* table = tables + component * 64;
    if (present) {
        if (line == 0) mine[0] = (short)all_constants[index];
#pragma unroll
        for (u32 i = 0; i < 8; i++) in[i] = (short)(mine[8 * i + line] * table[8 * i + line]);
    }
    const bool varies = in[1] | in[2] | in[3] | in[4] | in[5] | in[6] | in[7];
    const u32 others = __ballot_sync(FULL, varies) >> (threadIdx.x & 24) & 255;
    if (present) {
        transform(in, out, 11);
#pragma unroll
        for (u32 i = 0; i < 8; i++) mine[8 * i + line] = (short)(others ? min(max(out[i], -32768), 32767) : 4 * in[0]);
    }
    __syncthreads();
    if (!present) return;
    const uint4 four = *row;
    const u32 pairs[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (u32 i = 0; i < 8; i++) in[i] = (short)(pairs[i / 2] >> 16 * (i & 1));
    transform(in, out, 18);
    u32 low = 0, high = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        low |= (u32)(min(max(out[i], -128), 127) + 128) << 8 * i;
        high |= (u32)(min(max(out[4 + i], -128), 127) + 128) << 8 * i;
    }
    // samples lie where the coefficients lay, which all threads of the block have read
    reinterpret_cast<uint2*>(all_blocks + index * (BLOCK / 2))[line] = make_uint2(low, high);
}
