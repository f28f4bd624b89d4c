// Decompressed tiles to pixels in place: byte order, predictor, bit unpacking and bands, each pixel written once.
//
// One warp takes one row of one tile: along it lie both the predictor's sums and the pixels of the result. Of common
// pixels it takes all bands at once (3_bands.cu), of others one (2_samples.cu). The NumPy reference is
// tiff_codecs.samples.decode_samples.
//
// Compiled for one layout, given by macros:
//   KIND       0 whole words, 1 packed integers, 2 float24, 3 complex integers
//   BYTES      bytes of one stored word, which the predictor adds (KIND 0); of one part (KIND 3)
//   PARTS      words of one pixel: 2 for complex numbers, whose parts are swapped one by one, else 1
//   BITS       bits of one sample (KIND 1)
//   SIGNED     whether packed integers are signed (KIND 1)
//   PREDICTOR  1, 2 or 3
//   SWAP       whether words are in the other byte order
//   OUT        bytes of one pixel of the result
//   PER        pixels that a lane takes at once
//   BANDS      how many bands lie together in a pixel of whole words; 0 where they are taken one by one

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define FULL 0xffffffffu

// Where a tile's rows come from and where their pixels go. Counts are of pixels, strides of bytes.
struct Tile {
    u64 source;        // address of the decompressed bytes
    i64 target;        // byte offset in the result of the first wanted pixel
    int first_row;     // rows, columns and bands of the tile that are wanted
    int rows;
    int first_col;
    int cols;
    int first_band;
    int bands;
};

#if BYTES == 1
typedef u8 Word;
#elif BYTES == 2
typedef u16 Word;
#elif BYTES == 4
typedef u32 Word;
#else
typedef u64 Word;
#endif

#if OUT == 1
typedef u8 Pixel;
#elif OUT == 2
typedef u16 Pixel;
#elif OUT == 4
typedef u32 Pixel;
#elif OUT == 8
typedef u64 Pixel;
#else
struct __align__(8) Pixel { u64 x, y; };
#endif

__device__ __forceinline__ u8 swapped(u8 v) { return v; }
__device__ __forceinline__ u16 swapped(u16 v) { return (u16)__byte_perm(v, 0, 0x0001); }
__device__ __forceinline__ u32 swapped(u32 v) { return __byte_perm(v, 0, 0x0123); }
__device__ __forceinline__ u64 swapped(u64 v) {
    return ((u64)swapped((u32)v) << 32) | swapped((u32)(v >> 32));
}

// A word at any address: tiles begin where their decompressor put them, and packed rows end anywhere.
template <typename T>
__device__ __forceinline__ T load(const u8* p) {
    if (((u64)p & (sizeof(T) - 1)) == 0) return *reinterpret_cast<const T*>(p);
    T v = 0;
#pragma unroll
    for (int i = 0; i < (int)sizeof(T); i++) v |= (T)p[i] << (8 * i);
    return v;
}

template <typename T>
__device__ __forceinline__ T word(const u8* p) {
    T v = load<T>(p);
#if SWAP
    v = swapped(v);
#endif
    return v;
}

// Write the pixels of one lane as the widest words that the address allows.
template <typename T>
__device__ __forceinline__ void store_as(u8* p, const Pixel* pixels) {
#pragma unroll
    for (int i = 0; i < (int)(PER * OUT / sizeof(T)); i++)
        reinterpret_cast<T*>(p)[i] = reinterpret_cast<const T*>(pixels)[i];
}

// Write those of a lane's pixels that are wanted: columns [first, last) of the tile; `at` is the first one's.
__device__ __forceinline__ void store(u8* target, i64 col_stride, const Pixel* pixels, int at, int first, int last) {
    u8* p = target + (i64)(at - first) * col_stride;
    if (at >= first && at + PER <= last && col_stride == OUT) {
        const int misaligned = (int)((u64)p & 7);
        if (PER * OUT >= 8 && misaligned == 0) return store_as<u64>(p, pixels);
        if (PER * OUT >= 4 && (misaligned & 3) == 0) return store_as<u32>(p, pixels);
        if (OUT >= 2 && (misaligned & 1) == 0) return store_as<u16>(p, pixels);
    }
#pragma unroll
    for (int i = 0; i < PER; i++) {
        if (at + i < first || at + i >= last) continue;
#pragma unroll
        for (int b = 0; b < OUT; b++)
            p[i * col_stride + b] = reinterpret_cast<const u8*>(pixels + i)[b];
    }
}
