// ---- pixels ----

// The samples of one component, as they lie in blocks
struct Plane {
    const u8* blocks;
    u32 across, size, place, h, v;
    u32 cols, rows;     // samples that belong to the image

    // Address of a sample; the others of its row of the block follow it
    __device__ __forceinline__ const u8* at(u32 x, u32 y) const {
        const u32 bx = x / 8, by = y / 8;
        const u32 mcu = (v == 2 ? by / 2 : by) * across + (h == 2 ? bx / 2 : bx);
        const u32 k = place + (v == 2 ? by & 1 : 0) * h + (h == 2 ? bx & 1 : 0);
        return blocks + ((size_t)mcu * size + k) * BLOCK + (y & 7) * 8 + (x & 7);
    }
    __device__ __forceinline__ u32 four(u32 x, u32 y) const { return *reinterpret_cast<const u32*>(at(x, y)); }
};

__device__ __forceinline__ u32 byte_of(u32 word, u32 i) { return word >> 8 * i & 255; }

// Four samples of row y from column x on, a multiple of 4, as libjpeg upsamples them (jdsample.c)
__device__ __forceinline__ void upsampled(const Plane& p, bool twice_h, bool twice_v, u32 x, u32 y, u32 out[4]) {
    if (twice_h && p.cols <= 2) {   // too narrow to be smoothed
        for (u32 i = 0; i < 4; i++) out[i] = *p.at(min((x + i) / 2, p.cols - 1), twice_v ? y / 2 : y);
        return;
    }
    const u32 near = twice_v ? y / 2 : y;
    const u32 far = !twice_v ? near : y & 1 ? min(near + 1, p.rows - 1) : near - (near > 0);
    if (!twice_h) {
        const u32 a = p.four(x, near), b = twice_v ? p.four(x, far) : a;
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            out[i] = twice_v ? (3 * byte_of(a, i) + byte_of(b, i) + 1 + (y & 1)) >> 2 : byte_of(a, i);
        return;
    }
    u32 s[4];   // columns x / 2 - 1 to x / 2 + 2, those outside the image as the nearest in it
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const u32 column = x / 2 + i, c = min(column - (column > 0), p.cols - 1);
        s[i] = *p.at(c, near);
        if (twice_v) s[i] = 3 * s[i] + *p.at(c, far);
    }
    const u32 shift = twice_v ? 4 : 2, left = twice_v ? 8 : 1, right = twice_v ? 7 : 2;
    out[0] = (3 * s[1] + s[0] + left) >> shift;
    out[1] = (3 * s[1] + s[2] + right) >> shift;
    out[2] = (3 * s[2] + s[1] + left) >> shift;
    out[3] = (3 * s[2] + s[3] + right) >> shift;
}

// YCbCr to RGB (jdcolor.c)
__device__ __forceinline__ void convert(u32& a, u32& b, u32& c) {
    const int y = (int)a, cb = (int)b - 128, cr = (int)c - 128;
    const int red = y + ((91881 * cr + 32768) >> 16), blue = y + ((116130 * cb + 32768) >> 16);
    const int green = y + ((-22554 * cb - 46802 * cr + 32768) >> 16);
    a = (u32)min(max(red, 0), 255);
    b = (u32)min(max(green, 0), 255);
    c = (u32)min(max(blue, 0), 255);
}

template <u32 BANDS>
__device__ __forceinline__ void write(const Image& image, const u8* blocks, u8* target, u32 x, u32 y, bool rgb) {
    u32 samples[BANDS][4];
#pragma unroll
    for (u32 c = 0; c < BANDS; c++) {
        const u32 h = image.h[c], v = image.v[c];
        const Plane plane = {blocks, image.across, image.size, image.place[c], h, v,
                             (image.cols * h + image.max_h - 1) / image.max_h, (image.rows * v + image.max_v - 1) / image.max_v};
        upsampled(plane, h < image.max_h, v < image.max_v, x, y, samples[c]);
    }
    if (BANDS == 3 && rgb) {
#pragma unroll
        for (u32 i = 0; i < 4; i++) convert(samples[0][i], samples[BANDS > 1 ? 1 : 0][i], samples[BANDS > 2 ? 2 : 0][i]);
    }
    u8* out = target + ((size_t)y * image.cols + x) * BANDS;
    if (image.cols % 4 == 0) {
#pragma unroll
        for (u32 w = 0; w < BANDS; w++) {
            u32 word = 0;
#pragma unroll
            for (u32 i = 0; i < 4; i++) word |= samples[(4 * w + i) % BANDS][(4 * w + i) / BANDS] << 8 * i;
            reinterpret_cast<u32*>(out)[w] = word;
        }
        return;
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        if (x + i >= image.cols) break;
#pragma unroll
        for (u32 c = 0; c < BANDS; c++) out[i * BANDS + c] = (u8)samples[c][i];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) pixels(
    const Tile* tiles, const Image* images, const short* all_blocks, u32 rgb, const u32* statuses)
{
    const u32 n = blockIdx.y;
    if (statuses[n] != GOOD) return;
    const Tile& tile = tiles[n];
    const Image& image = images[n];
    const u32 across = (image.cols + 3) / 4, i = blockIdx.x * THREADS + threadIdx.x, y = i / across, x = 4 * (i - y * across);
    if (y >= tile.rows) return;
    const u8* blocks = reinterpret_cast<const u8*>(all_blocks + tile.first * (BLOCK / 2));
    u8* target = reinterpret_cast<u8*>(tile.target);
    switch (image.bands) {
        case 1: write<1>(image, blocks, target, x, y, false); break;
        case 2: write<2>(image, blocks, target, x, y, false); break;
        case 3: write<3>(image, blocks, target, x, y, rgb != 0); break;
        default: write<4>(image, blocks, target, x, y, false);
    }
}
