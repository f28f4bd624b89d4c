// Adler-32 of decompressed tiles (RFC 1950), compared with the four bytes at the end of each zlib stream.
//
// One block takes one tile. With n bytes d[0..n-1] the two sums are
//     a = 1 + sum of d[i],   b = n + sum of (n - i) d[i],   both modulo 65521,
// so that threads add up parts of their own and nothing has to be done in order.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(512) adler32(
    const u64* __restrict__ data,      // address of the decompressed bytes of each tile
    const u64* __restrict__ lengths,   // how many there are
    const u64* __restrict__ trailers,  // address of the checksum, highest byte first
    int* __restrict__ equal)           // 1 where they agree, else 0
{
    const u8* p = reinterpret_cast<const u8*>(data[blockIdx.x]);
    const u64 n = lengths[blockIdx.x];
    // at most 2^31 bytes a tile: a thread's sums stay under 2^62
    u64 a = 0, b = 0;
    const u64 head = min(n, (u64)((16 - ((u64)p & 15)) & 15)), wide = (n - head) / 16;
    for (u64 i = threadIdx.x; i < head; i += blockDim.x) {
        a += p[i];
        b += (n - i) * p[i];
    }
    for (u64 i = threadIdx.x; i < wide; i += blockDim.x) {
        const uint4 v = *reinterpret_cast<const uint4*>(p + head + 16 * i);
        const u32 words[4] = {v.x, v.y, v.z, v.w};
        u32 sum = 0, weighted = 0;  // of d and of (place within the 16) * d
#pragma unroll
        for (int w = 0; w < 4; w++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const u32 d = (words[w] >> (8 * k)) & 255;
                sum += d;
                weighted += (4 * w + k) * d;
            }
        a += sum;
        b += (n - head - 16 * i) * sum - weighted;
    }
    for (u64 i = head + 16 * wide + threadIdx.x; i < n; i += blockDim.x) {
        a += p[i];
        b += (n - i) * p[i];
    }
    a %= 65521;
    b %= 65521;
#pragma unroll
    for (int by = 16; by; by >>= 1) {
        a += __shfl_xor_sync(0xffffffffu, a, by);
        b += __shfl_xor_sync(0xffffffffu, b, by);
    }
    __shared__ u64 sums[2][16];
    if ((threadIdx.x & 31) == 0) {
        sums[0][threadIdx.x >> 5] = a;
        sums[1][threadIdx.x >> 5] = b;
    }
    __syncthreads();
    if (threadIdx.x) return;
    a = 1;
    b = n % 65521;
    for (u32 w = 0; w < blockDim.x >> 5; w++) {
        a += sums[0][w];
        b += sums[1][w];
    }
    const u8* t = reinterpret_cast<const u8*>(trailers[blockIdx.x]);
    const u32 stored = (u32)t[0] << 24 | (u32)t[1] << 16 | (u32)t[2] << 8 | t[3];
    equal[blockIdx.x] = stored == ((u32)(b % 65521) << 16 | (u32)(a % 65521));
}
