// JPEG (ISO/IEC 10918-1), parallel inside a tile: sequential, with Huffman codes and 8 bits, in one scan. The pixels are
// those of libjpeg-turbo to the last bit (its accurate integer IDCT, and smooth upsampling of chroma).
//
// A decoder that begins at a wrong bit soon falls into step with the right one (Weissenberger and Schmidt, "Accelerating
// JPEG Decompression on GPUs", HiPC 2021). Six kernels follow one another:
//
//   headers   reads the markers of each tile, up to its entropy-coded bytes
//   unstuff   takes the zeros behind 0xff out of these, and finds restart markers and the end
//   decode    decodes each tile in windows of THREADS * SPAN bits: from anywhere, until all threads are in step, then again
//             to write coefficients
//   sum       adds up the differences that coefficients 0 are stored as
//   idct      makes samples of each block of coefficients, in its place
//   pixels    upsamples, converts colours, and interleaves the bands
//
// Blocks lie in the order in which the stream has them, BLOCK bytes each. Every access is bounded: a tile that is damaged,
// or of a kind that is not read here, ends in a status.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef THREADS
#define THREADS 256   // of a block of threads of every kernel
#endif
#ifndef SPAN
#define SPAN 1056     // bits of a window that one thread takes: an odd number of words, so that spans lie in different banks
#endif
#define WARPS (THREADS / 32)
#define WORDS (THREADS * SPAN / 32 + 4)
#define FULL 0xffffffffu
#define NONE 0xffffffffu
#define BLOCK 128     // bytes of a block: 64 coefficients, later 64 samples
#define MOST_BANDS 4
#define MOST_BLOCKS 10    // blocks of an MCU (B.2.3)
#define MOST_SEGMENTS (1 << 14)   // between restarts: they are decoded one after another

enum Status { GOOD = 0, DAMAGED = 1, UNUSUAL = 2 };

struct Tile {
    u64 source, source_bytes;   // address and length of the JPEG
    u64 target;                 // address of the interleaved samples, a multiple of 4
    u64 plain;                  // address of room for source_bytes + 16 bytes without stuffing, a multiple of 16
    u64 first;                  // its first block in the room for all tiles
    u32 blocks;                 // room for so many
    u32 rows, whole_rows;       // rows that are wanted, and that the image may have instead
    u32 unused;
};

struct Image {
    u32 rows, cols, bands;
    u32 scan, bytes;         // where the entropy-coded bytes begin in the source; how many there are without stuffing
    u32 interval, segments;  // MCUs between restarts, and runs of so many
    u32 across, mcus;        // MCUs of a row, and of the image
    u32 size;                // blocks of an MCU
    u32 period, pattern;     // codes recur after so many blocks; 2 bits for each of them: DC code | AC code << 1
    u32 wide;                // bit n: quantization table n has 16 bits
    u32 max_h, max_v;
    u32 h[MOST_BANDS], v[MOST_BANDS];   // blocks of a component in an MCU, 1 or 2 each way
    u32 place[MOST_BANDS];              // the first of them among the MCU's
    u32 table[MOST_BANDS];              // number of its quantization table
    u64 codes[4];            // addresses of the lists of code lengths: DC 0, DC 1, AC 0, AC 1
    u64 quantization[4];     // addresses of the tables, in zigzag order
};

static_assert(sizeof(Tile) == TILE_BYTES && sizeof(Image) == IMAGE_BYTES, "as the host has them");

__constant__ u8 natural[64] = {
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// The sum of the values of all threads before this one; `total` that of all. Every thread of the block calls it.
__device__ __forceinline__ u32 sum_before(u32 value, u32* room, u32& total) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 sum = value;
    for (u32 d = 1; d < 32; d *= 2) {
        const u32 other = __shfl_up_sync(FULL, sum, d);
        if (lane >= d) sum += other;
    }
    if (lane == 31) room[warp] = sum;
    __syncthreads();
    u32 before = 0;
    total = 0;
    for (u32 w = 0; w < WARPS; w++) {
        if (w < warp) before += room[w];
        total += room[w];
    }
    __syncthreads();
    return before + sum - value;
}
