// All bands of a row at once, where its pixels are up to four whole words of 8 to 32 bits side by side; see 1_words.cu.

#if BANDS
#define PIXEL_WORDS ((BYTES * BANDS + 3) / 4)
#define RAW_WORDS (PER * BANDS * BYTES / 4)   // of a lane's pixels

// The bands of a pixel as they lie in memory, each in a part of a word of its own; what is behind the last is any value.
struct Bands {
    u32 words[PIXEL_WORDS];
};

__device__ __forceinline__ Bands add(Bands a, const Bands& b) {
#pragma unroll
    for (int w = 0; w < PIXEL_WORDS; w++)
        a.words[w] = BYTES == 1 ? __vadd4(a.words[w], b.words[w]) : BYTES == 2 ? __vadd2(a.words[w], b.words[w])
                                                                              : a.words[w] + b.words[w];
    return a;
}

// A lane's pixels, of which there are `bytes` bytes at `p`. A row may begin anywhere: all lanes take the same way.
__device__ __forceinline__ void load_raw(u32 (&raw)[RAW_WORDS], const u8* p, int bytes) {
    const bool whole = bytes >= RAW_WORDS * 4;
    const int misaligned = (int)((u64)p & 7);
    if (whole && misaligned == 0) {
#pragma unroll
        for (int w = 0; w < RAW_WORDS; w += 2) {
            const uint2 two = *reinterpret_cast<const uint2*>(p + 4 * w);
            raw[w] = two.x;
            raw[w + 1] = two.y;
        }
    } else if (whole && (misaligned & 3) == 0) {
#pragma unroll
        for (int w = 0; w < RAW_WORDS; w++) raw[w] = *reinterpret_cast<const u32*>(p + 4 * w);
    } else {
#pragma unroll
        for (int w = 0; w < RAW_WORDS; w++) {
            raw[w] = 0;
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (4 * w + k < bytes) raw[w] |= (u32)p[4 * w + k] << (8 * k);
        }
    }
#if SWAP
#pragma unroll
    for (int w = 0; w < RAW_WORDS; w++) raw[w] = __byte_perm(raw[w], 0, BYTES == 2 ? 0x2301 : 0x0123);
#endif
}

// Pixel `i` of a lane's; the index is known when this is compiled.
__device__ __forceinline__ Bands pixel(const u32 (&raw)[RAW_WORDS], int i) {
    Bands v;
#pragma unroll
    for (int w = 0; w < PIXEL_WORDS; w++) {
        const int byte = i * BANDS * BYTES + 4 * w;
        v.words[w] = __funnelshift_r(raw[byte / 4], raw[min(byte / 4 + 1, RAW_WORDS - 1)], 8 * (byte & 3));
    }
    return v;
}

// One band of a lane's pixels, as words to be stored.
__device__ __forceinline__ void gather(u32 (&packed)[PER * BYTES / 4], const Bands (&pixels)[PER], int band) {
    const int word = band * BYTES / 4, part = band & (4 / BYTES - 1);
#pragma unroll
    for (int w = 0; w < PER * BYTES / 4; w++) {
        const Bands* p = pixels + w * (4 / BYTES);
        if (BYTES == 4) packed[w] = p[0].words[word];
        else if (BYTES == 2) packed[w] = __byte_perm(p[0].words[word], p[1 % PER].words[word], part ? 0x7632 : 0x5410);
        else
            packed[w] = __byte_perm(__byte_perm(p[0].words[word], p[1 % PER].words[word], part | (4 + part) << 4),
                                    __byte_perm(p[2 % PER].words[word], p[3 % PER].words[word], part | (4 + part) << 4), 0x5410);
    }
}

// All bands of a row, by a warp: of `number` from `first_band` on, columns [first, last) go to `target`.
__device__ __forceinline__ void scatter_row(const u8* row, int cols, int first_band, int number, u8* target,
                                            i64 band_stride, i64 col_stride, int first, int last) {
    const int lane = threadIdx.x & 31;
#if PREDICTOR == 1
    const int begin = first - first % PER;
#else
    const int begin = 0;
    Bands carry = {};
#endif
    for (int start = begin; start < last; start += 32 * PER) {
        const int x = start + lane * PER;
        u32 raw[RAW_WORDS];
        load_raw(raw, row + (i64)x * (BANDS * BYTES), (cols - x) * (BANDS * BYTES));
        Bands pixels[PER];
#pragma unroll
        for (int i = 0; i < PER; i++) pixels[i] = pixel(raw, i);
#if PREDICTOR == 2
#pragma unroll
        for (int i = 1; i < PER; i++) pixels[i] = add(pixels[i], pixels[i - 1]);
        Bands total = pixels[PER - 1], left;
#pragma unroll
        for (int by = 1; by < 32; by <<= 1) {
#pragma unroll
            for (int w = 0; w < PIXEL_WORDS; w++) left.words[w] = __shfl_up_sync(FULL, total.words[w], by);
            if (lane >= by) total = add(total, left);
        }
#pragma unroll
        for (int w = 0; w < PIXEL_WORDS; w++) left.words[w] = __shfl_up_sync(FULL, total.words[w], 1);
        const Bands base = lane ? add(carry, left) : carry;
#pragma unroll
        for (int w = 0; w < PIXEL_WORDS; w++) left.words[w] = __shfl_sync(FULL, total.words[w], 31);
        carry = add(carry, left);
#pragma unroll
        for (int i = 0; i < PER; i++) pixels[i] = add(pixels[i], base);
#endif
        if (x + PER <= first || x >= last) continue;
#pragma unroll
        for (int band = 0; band < BANDS; band++) {
            if (band < first_band || band >= first_band + number) continue;
            __align__(16) u32 packed[PER * BYTES / 4];
            gather(packed, pixels, band);
            store(target + (band - first_band) * band_stride, col_stride, reinterpret_cast<const Pixel*>(packed), x,
                  first, last);
        }
    }
}
#endif
