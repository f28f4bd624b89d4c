// ---- headers ----

struct Bytes {
    const u8* at_0;
    u32 count;

    __device__ __forceinline__ Bytes(u64 address, u64 bytes) : at_0(reinterpret_cast<const u8*>(address)), count((u32)bytes) {}
    __device__ __forceinline__ u32 at(u32 i) const { return i < count ? at_0[i] : 0; }
    __device__ __forceinline__ u32 two(u32 i) const { return at(i) << 8 | at(i + 1); }
    __device__ __forceinline__ u64 address(u32 i) const { return reinterpret_cast<u64>(at_0 + i); }
};

// Quantization tables (B.2.4.1)
__device__ u32 read_quantization(const Bytes& data, u32 at, u32 end, Image& image) {
    while (at < end) {
        const u32 wide = data.at(at) >> 4, n = data.at(at) & 15, bytes = 1 + (64 << wide);
        if (wide > 1 || n > 3) return UNUSUAL;
        if (end - at < bytes) return DAMAGED;
        image.quantization[n] = data.address(at + 1);
        image.wide = (image.wide & ~(1u << n)) | wide << n;
        at += bytes;
    }
    return GOOD;
}

// Huffman codes (B.2.4.2): 16 counts, then as many symbols. Codes of ones alone do not occur.
__device__ u32 read_codes(const Bytes& data, u32 at, u32 end, Image& image) {
    while (at < end) {
        const u32 kind = data.at(at) >> 4, n = data.at(at) & 15;
        if (kind > 1 || n > 1) return UNUSUAL;
        if (end - at < 17) return DAMAGED;
        u32 count = 0, code = 0;
        for (u32 length = 1; length <= 16; length++) {
            const u32 more = data.at(at + length);
            count += more;
            code = 2 * code + more;
            if (more && code >= 1u << length) return DAMAGED;
        }
        if (count > 256 || end - at - 17 < count) return DAMAGED;
        if (kind == 0)
            for (u32 i = 0; i < count; i++)
                if (data.at(at + 17 + i) > 15) return UNUSUAL;
        image.codes[2 * kind + n] = data.address(at + 1);
        at += 17 + count;
    }
    return GOOD;
}

// The frame (B.2.2): the size, and how many samples each component has
__device__ u32 read_frame(const Bytes& data, u32 at, u32 end, u32 cols, u32 bands, const Tile& tile, Image& image) {
    if (image.bands || end - at != 6 + 3 * bands || data.at(at) != 8 || data.at(at + 5) != bands) return UNUSUAL;
    image.rows = data.two(at + 1);
    image.cols = data.two(at + 3);
    image.bands = bands;
    if (image.cols != cols || (image.rows != tile.rows && image.rows != tile.whole_rows) || image.rows == 0) return UNUSUAL;
    image.max_h = image.max_v = 1;
    image.size = 0;
    for (u32 c = 0; c < bands; c++) {
        const u32 factors = data.at(at + 7 + 3 * c), table = data.at(at + 8 + 3 * c);
        u32 h = factors >> 4, v = factors & 15;
        if (h < 1 || h > 2 || v < 1 || v > 2 || table > 3) return UNUSUAL;
        if (bands == 1) h = v = 1;   // the blocks of a single component follow one another in rows, whatever its factors
        image.h[c] = h;
        image.v[c] = v;
        image.table[c] = table;
        image.place[c] = image.size;
        image.size += h * v;
        image.max_h = max(image.max_h, h);
        image.max_v = max(image.max_v, v);
    }
    image.across = (cols + 8 * image.max_h - 1) / (8 * image.max_h);
    image.mcus = image.across * ((image.rows + 8 * image.max_v - 1) / (8 * image.max_v));
    return image.size > MOST_BLOCKS || (u64)image.mcus * image.size > tile.blocks ? UNUSUAL : GOOD;
}

// The scan (B.2.3): which codes each component has. All components must be in it, in the frame's order.
__device__ u32 read_scan(const Bytes& data, u32 frame, u32 at, u32 end, Image& image) {
    const u32 bands = image.bands;
    if (bands == 0 || end - at != 4 + 2 * bands || data.at(at) != bands) return UNUSUAL;
    if (data.at(end - 3) != 0 || data.at(end - 2) != 63 || data.at(end - 1) != 0) return UNUSUAL;
    u32 kinds = 0;
    for (u32 c = 0; c < bands; c++) {
        const u32 dc = data.at(at + 2 + 2 * c) >> 4, ac = data.at(at + 2 + 2 * c) & 15;
        if (data.at(at + 1 + 2 * c) != data.at(frame + 6 + 3 * c) || dc > 1 || ac > 1) return UNUSUAL;
        if (!image.codes[dc] || !image.codes[2 + ac] || !image.quantization[image.table[c]]) return UNUSUAL;
        for (u32 k = 0; k < image.h[c] * image.v[c]; k++) kinds |= (dc | ac << 1) << 2 * (image.place[c] + k);
    }
    image.pattern = kinds;
    image.period = image.size;
    for (u32 period = image.size - 1; period > 0; period--) {
        bool recurs = image.size % period == 0;
        for (u32 k = period; recurs && k < image.size; k++)
            recurs = (kinds >> 2 * k & 3) == (kinds >> 2 * (k - period) & 3);
        if (recurs) image.period = period;
    }
    if (image.interval == 0) image.interval = image.mcus;
    image.segments = (image.mcus + image.interval - 1) / image.interval;
    image.scan = end;
    return image.segments > MOST_SEGMENTS ? UNUSUAL : GOOD;
}

// Reads markers up to the entropy-coded bytes; or, where there is no tile, tables up to the end.
__device__ u32 read_markers(const Bytes& data, u32 cols, u32 bands, const Tile* tile, Image& image) {
    if (data.two(0) != 0xffd8) return UNUSUAL;
    image.interval = 0;
    u32 at = 2, frame = 0, status = GOOD;
    while (at + 2 <= data.count && status == GOOD) {
        const u32 marker = data.at(at + 1);
        if (data.at(at) != 0xff) return UNUSUAL;
        if (marker == 0xff) {   // a fill byte
            at++;
            continue;
        }
        if (marker == 0xd9) return tile ? UNUSUAL : GOOD;
        at += 2;
        const u32 length = data.two(at), body = at + 2;
        if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd8)) return UNUSUAL;
        if (length < 2 || length > data.count - at) return DAMAGED;
        at += length;
        if (marker == 0xdb) status = read_quantization(data, body, at, image);
        else if (marker == 0xc4) status = read_codes(data, body, at, image);
        else if (marker == 0xdd && length == 4) image.interval = data.two(body);
        else if (marker == 0xfe || (marker >= 0xe0 && marker <= 0xef)) continue;   // comments and applications' own
        else if (tile && (marker == 0xc0 || marker == 0xc1)) {
            status = read_frame(data, body, at, cols, bands, *tile, image);
            frame = body;
        } else if (tile && marker == 0xda) return read_scan(data, frame, body, at, image);
        else return UNUSUAL;
    }
    return status == GOOD && tile ? UNUSUAL : status;
}

extern "C" __global__ void __launch_bounds__(THREADS) headers(
    const Tile* tiles, u32 number, u64 tables, u32 table_bytes, u32 cols, u32 bands, Image* images, u32* statuses)
{
    const u32 n = blockIdx.x * THREADS + threadIdx.x;
    if (n >= number) return;
    const Tile tile = tiles[n];
    Image image = {};
    u32 status = table_bytes ? read_markers(Bytes(tables, table_bytes), cols, bands, nullptr, image) : GOOD;
    if (status == GOOD) status = read_markers(Bytes(tile.source, tile.source_bytes), cols, bands, &tile, image);
    images[n] = image;
    statuses[n] = status;
}
