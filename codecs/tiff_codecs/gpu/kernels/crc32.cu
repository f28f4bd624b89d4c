// CRC-32 of decompressed chunks (RFC 1952), in parallel inside a chunk.
//
// A CRC is the remainder of a polynomial over GF(2), modulo P: the bits of the data are its coefficients, the lowest bit of
// the first byte that of the highest power. So it is the sum (xor) of the remainders of parts, each multiplied by the power
// of x that the part stands before. The chunk is cut into units of 16 bytes; thread t of a block takes every THREADS-th of
// them, and multiplies what it has by one and the same power, x^(128 * THREADS), before it adds the next: by a table for
// each byte. Rows of THREADS units are counted from the end, and zeros stand before the first: they add nothing.
//
// A register holds the coefficient of x^0 in its highest bit, that of x^31 in its lowest.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 POLYNOMIAL = 0xedb88320;
constexpr int THREADS = 256;
constexpr u64 PART = 65536;  // units that a block takes; PART_BYTES on the host is the same

__constant__ u32 POWER[32] = {  // x^(2^k) modulo P; x^(2^32) is x again
    0x40000000, 0x20000000, 0x08000000, 0x00800000, 0x00008000, 0xedb88320, 0xb1e6b092, 0xa06a2517,
    0xed627dae, 0x88d14467, 0xd7bbfe6a, 0xec447f11, 0x8e7ea170, 0x6427800e, 0x4d47bae0, 0x09fe548f,
    0x83852d0f, 0x30362f1a, 0x7b5a9cc3, 0x31fec169, 0x9fec022a, 0x6c8dedc4, 0x15d6874d, 0x5fde7a4e,
    0xbad90e37, 0x2e4e5eef, 0x4eaba214, 0xa8a472c0, 0x429a969e, 0x148d302a, 0xc40ba6d0, 0xc4e22c3c,
};
constexpr int WORD = 5, UNIT = 7, ROW = 15;  // k of a word's 2^5 bits, of a unit's, and of THREADS units'

__device__ __forceinline__ u32 times_x(u32 a) { return (a >> 1) ^ (POLYNOMIAL & (0u - (a & 1))); }

__device__ __forceinline__ u32 times(u32 a, u32 b)
{
    u32 product = 0;
#pragma unroll 8
    for (int bit = 31; bit >= 0; bit--) {
        product ^= b & (0u - (a >> bit & 1));
        b = times_x(b);
    }
    return product;
}

extern "C" __global__ void __launch_bounds__(THREADS) crc32(
    const u64* __restrict__ data,     // address of the bytes of each chunk, a multiple of 16
    const u64* __restrict__ lengths,  // how many there are
    u32* __restrict__ sums)           // all bits set; the CRC-32 of each chunk when all blocks are done
{
    // block (i, j) takes part j of chunk i
    const u8* bytes = reinterpret_cast<const u8*>(data[blockIdx.x]);
    const u64 n = lengths[blockIdx.x];
    const i64 units = n / 16, first = blockIdx.y * PART, last = min(units, first + (i64)PART);
    if (blockIdx.y && first >= units) return;

    __shared__ u32 basis[32], row[4][256], sums_of_warps[THREADS / 32];
    const u32 t = threadIdx.x;
    if (t < 32) {
        u32 power = POWER[ROW];
        for (u32 k = 0; k < t; k++) power = times_x(power);
        basis[31 - t] = power;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        u32 product = 0;
        for (int bit = 0; bit < 8; bit++) product ^= basis[8 * k + bit] & (0u - (t >> bit & 1));
        row[k][t] = product;
    }
    __syncthreads();

    const uint4* wide = reinterpret_cast<const uint4*>(bytes);
    const i64 missing = (THREADS - (last - first) % THREADS) % THREADS;
    u32 a[4] = {0, 0, 0, 0};
#pragma unroll 4
    for (i64 unit = first + t - missing; unit < last; unit += THREADS) {
        uint4 v = make_uint4(0, 0, 0, 0);
        if (unit >= first) v = wide[unit];
        const u32 words[4] = {unit == 0 ? ~v.x : v.x, v.y, v.z, v.w};  // a CRC begins with all bits set
#pragma unroll
        for (int w = 0; w < 4; w++)
            a[w] = row[0][a[w] & 255] ^ row[1][a[w] >> 8 & 255] ^ row[2][a[w] >> 16 & 255] ^ row[3][a[w] >> 24] ^ words[w];
    }
    u32 sum = a[0];
#pragma unroll
    for (int w = 1; w < 4; w++) sum = times(sum, POWER[WORD]) ^ a[w];

    // one sum of two neighbours, then of two such pairs, ...
#pragma unroll
    for (int k = 0; k < 5; k++) {
        const u32 next = __shfl_down_sync(0xffffffffu, sum, 1 << k);
        sum = times(sum, POWER[UNIT + k]) ^ next;
    }
    if ((t & 31) == 0) sums_of_warps[t >> 5] = sum;
    __syncthreads();
    if (t) return;
    for (u32 w = 1; w < THREADS / 32; w++) sum = times(sum, POWER[UNIT + 5]) ^ sums_of_warps[w];

    // to its place before the bytes that follow, and before the 32 zeros that stand behind the data of any CRC
    u64 bits = 8 * (n - 16 * (u64)last) + 32;
    for (u32 k = 0; bits; k++, bits >>= 1)
        if (bits & 1) sum = times(sum, POWER[k & 31]);
    if (last == units) {
        u32 tail = units ? 0 : 0xffffffffu;
        for (u64 i = 16 * (u64)units; i < n; i++) {
            tail ^= bytes[i];
            for (int bit = 0; bit < 8; bit++) tail = times_x(tail);
        }
        sum ^= tail;
    }
    atomicXor(&sums[blockIdx.x], sum);
}
