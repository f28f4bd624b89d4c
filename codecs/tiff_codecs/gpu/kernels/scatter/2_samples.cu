// Samples of any kind, one band of a row at a time; see 1_words.cu.

#if PREDICTOR == 3
// The bytes of one number, each of its own plane: the first plane is the highest byte. Added byte by byte.
__device__ __forceinline__ Word add(Word a, Word b) {
#if BYTES <= 4
    return (Word)__vadd4((u32)a, (u32)b);
#else
    return ((u64)__vadd4((u32)(a >> 32), (u32)(b >> 32)) << 32) | __vadd4((u32)a, (u32)b);
#endif
}
#else
__device__ __forceinline__ Word add(Word a, Word b) { return a + b; }
#endif

// float24 (1 sign, 7 exponent, 16 fraction bits) to float32
__device__ __forceinline__ u32 float24(u32 v) {
    u32 sign = (v >> 23) << 31, exponent = (v >> 16) & 0x7f, fraction = v & 0xffff;
    if (exponent == 0x7f) return sign | (fraction ? 0x7fc00000u : 0x7f800000u);
    if (exponent) return sign | ((exponent - 63 + 127) << 23) | (fraction << 7);
    if (!fraction) return sign;
    int shift = __clz(fraction) - 15;  // subnormal: 2^-62 * fraction / 2^16
    return sign | ((u32)(127 - 62 - shift) << 23) | (((fraction << shift) & 0xffff) << 7);
}

// One sample of a row before any predictor; `at` counts samples of the row.
__device__ __forceinline__ Pixel stored(const u8* row, i64 at) {
#if KIND == 0 && PARTS == 1
    return (Pixel)word<Word>(row + at * BYTES);
#elif KIND == 0
    const u8* p = row + at * (2 * BYTES);
    Pixel v;
    *reinterpret_cast<Word*>(&v) = word<Word>(p);
    *(reinterpret_cast<Word*>(&v) + 1) = word<Word>(p + BYTES);
    return v;
#elif KIND == 1
    i64 bit = at * BITS;
    const u8* p = row + (bit >> 3);
    int left = 8 - (int)(bit & 7);
    u64 v = p[0] & ((1u << left) - 1);
    while (left < BITS) {
        v = (v << 8) | *++p;
        left += 8;
    }
    v >>= left - BITS;
#if SIGNED
    v = (u64)((i64)(v << (64 - BITS)) >> (64 - BITS));
#endif
    return (Pixel)v;
#elif KIND == 2
    const u8* p = row + at * 3;
    u32 v = SWAP ? ((u32)p[0] << 16 | (u32)p[1] << 8 | p[2]) : ((u32)p[2] << 16 | (u32)p[1] << 8 | p[0]);
    return float24(v);
#else
    const u8* p = row + at * (2 * BYTES);
    Word re = word<Word>(p), im = word<Word>(p + BYTES);
    float a = BYTES == 2 ? (float)(short)re : (float)(int)re, b = BYTES == 2 ? (float)(short)im : (float)(int)im;
    return (u64)__float_as_uint(b) << 32 | __float_as_uint(a);
#endif
}

#if PREDICTOR != 1
// What the sums of predictor 2 mean as a pixel.
__device__ __forceinline__ Pixel summed(Word v) {
#if KIND == 3
    // complex integers: one word, the real part in its lower half
#if BYTES == 4
    float a = (float)(short)(v & 0xffff), b = (float)(short)((u32)v >> 16);
#else
    float a = (float)(int)(v & 0xffffffff), b = (float)(int)((u64)v >> 32);
#endif
    return (u64)__float_as_uint(b) << 32 | __float_as_uint(a);
#else
    return (Pixel)v;
#endif
}

__device__ __forceinline__ Word shuffle_up(Word v, int by) {
#if BYTES == 8
    return __shfl_up_sync(FULL, v, by);
#else
    return (Word)__shfl_up_sync(FULL, (u32)v, by);
#endif
}

__device__ __forceinline__ Word shuffle(Word v, int lane) {
#if BYTES == 8
    return __shfl_sync(FULL, v, lane);
#else
    return (Word)__shfl_sync(FULL, (u32)v, lane);
#endif
}

// One addend of the row's sums; `at` counts pixels, `cols` those of a row.
__device__ __forceinline__ Word addend(const u8* row, int at, int cols, int band, int bands) {
#if PREDICTOR == 2
    return word<Word>(row + ((i64)at * bands + band) * BYTES);
#else
    const u8* p = row + (i64)at * bands + band;
    i64 plane = (i64)cols * bands;
    Word v = 0;
#pragma unroll
    for (int i = 0; i < BYTES; i++) v |= (Word)p[i * plane] << (8 * (BYTES - 1 - i));
    return v;
#endif
}
#endif

// One band of a row, by a warp: columns [first, last) of it go to `target`.
__device__ __forceinline__ void scatter_band(const u8* row, int band, int cols, int bands, u8* target, i64 col_stride,
                                             int first, int last) {
    const int lane = threadIdx.x & 31;
#if PREDICTOR == 1
    const int begin = first - first % PER;
    for (int x = begin + lane * PER; x < last; x += 32 * PER) {
        __align__(16) Pixel pixels[PER];
#pragma unroll
        for (int i = 0; i < PER; i++)
            if (x + i < cols) pixels[i] = stored(row, (i64)(x + i) * bands + band);
        store(target, col_stride, pixels, x, first, last);
    }
#else
    Word carry = 0;
#if PREDICTOR == 3
    // the sums run through all planes of the row: a plane begins with the sum of those before it
    Word sum = 0;
    for (int x = lane; x < cols; x += 32) sum = add(sum, addend(row, x, cols, band, bands));
#pragma unroll
    for (int by = 16; by; by >>= 1) {
#if BYTES == 8
        sum = add(sum, __shfl_xor_sync(FULL, sum, by));
#else
        sum = add(sum, (Word)__shfl_xor_sync(FULL, (u32)sum, by));
#endif
    }
    Word before = sum >> 8;  // each plane gets the sum of the plane before it, the first none
    carry = before;
#pragma unroll
    for (int i = 1; i < BYTES - 1; i++) carry = add(carry, before >> (8 * i));
#endif
    for (int start = 0; start < last; start += 32 * PER) {
        const int x = start + lane * PER;
        Word sums[PER];
#pragma unroll
        for (int i = 0; i < PER; i++) sums[i] = x + i < cols ? addend(row, x + i, cols, band, bands) : (Word)0;
#pragma unroll
        for (int i = 1; i < PER; i++) sums[i] = add(sums[i], sums[i - 1]);
        Word total = sums[PER - 1];
#pragma unroll
        for (int by = 1; by < 32; by <<= 1) {
            Word left = shuffle_up(total, by);
            if (lane >= by) total = add(total, left);
        }
        Word left = shuffle_up(total, 1);
        Word base = lane ? add(carry, left) : carry;
        carry = add(carry, shuffle(total, 31));
        __align__(16) Pixel pixels[PER];
#pragma unroll
        for (int i = 0; i < PER; i++) pixels[i] = summed(add(sums[i], base));
        if (x + PER > first && x < last) store(target, col_stride, pixels, x, first, last);
    }
#endif
}
