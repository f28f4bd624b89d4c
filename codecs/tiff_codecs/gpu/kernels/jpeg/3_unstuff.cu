// ---- unstuff ----

#define PART 16   // bytes that a thread takes at a time

extern "C" __global__ void __launch_bounds__(THREADS) unstuff(const Tile* tiles, Image* images, u32* all_starts, u32* statuses) {
    __shared__ u32 sums[WARPS];
    __shared__ u32 stop, wrong;
    const u32 n = blockIdx.x;
    if (statuses[n] != GOOD) return;
    const Tile tile = tiles[n];
    const Image& image = images[n];
    const u8* bytes = reinterpret_cast<const u8*>(tile.source + image.scan);
    const u32 count = (u32)tile.source_bytes - image.scan, segments = image.segments;
    u8* plain = reinterpret_cast<u8*>(tile.plain);
    u32* starts = all_starts + tile.first;   // of each segment
    // parts are aligned: the first may begin before the scan
    const u32 skew = (u32)(reinterpret_cast<u64>(bytes) & (PART - 1));
    const uint4* parts = reinterpret_cast<const uint4*>(bytes - skew);
    if (threadIdx.x == 0) {
        stop = NONE;
        wrong = 0;
        starts[0] = 0;
    }
    u32 written = 0, restarts = 0;
    __syncthreads();
    for (u32 first = 0; first < count + skew; first += THREADS * PART) {
        const u32 here = first + threadIdx.x * PART;   // of this part, from the first part's first byte on
        u32 kept = 0, marks = 0;                       // masks: bytes of data, restart markers
        u8 part[PART + 1] = {};
        u32 before = 0;
        if (here < count + skew) {
            const uint4 words = parts[here / PART];
            const u32 four[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
            for (u32 i = 0; i < PART; i++) part[i] = (u8)(four[i / 4] >> 8 * (i & 3));
            const u32 next = here + PART - skew;
            part[PART] = next < count ? bytes[next] : 0xff;
            if (here > skew) before = bytes[here - skew - 1];
#pragma unroll
            for (u32 i = 0; i < PART; i++) {
                const u32 at = here + i - skew;   // very large before the scan begins
                if (at >= count) continue;
                const u32 value = part[i], after = at + 1 < count ? part[i + 1] : 0xff;
                if (value != 0xff) kept |= (u32)(before != 0xff) << i;
                else if (after == 0) kept |= 1u << i;
                else if (after >= 0xd0 && after <= 0xd7) marks |= 1u << i;
                else atomicMin(&stop, at);
                before = value;
            }
        }
        __syncthreads();
        const u32 last = stop == NONE ? NONE : stop + skew;
        if (last <= here) kept = marks = 0;
        else if (last - here < PART) {
            kept &= (1u << (last - here)) - 1;
            marks &= (1u << (last - here)) - 1;
        }
        u32 total;
        const u32 sum = sum_before(__popc(kept) | __popc(marks) << 16, sums, total);
        u32 place = written + (sum & 0xffff), restart = restarts + (sum >> 16);
#pragma unroll
        for (u32 i = 0; i < PART; i++) {
            if (kept >> i & 1) plain[place++] = part[i];
            if (marks >> i & 1) {
                if ((part[i + 1] & 7) != (restart & 7) || ++restart >= segments) wrong = 1;
                else starts[restart] = place;
            }
        }
        written += total & 0xffff;
        restarts += total >> 16;
        if (last != NONE) break;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        images[n].bytes = written;
        const bool ends = stop != NONE && stop + 1 < count && bytes[stop + 1] == 0xd9;
        if (!ends || wrong || restarts + 1 != segments) statuses[n] = UNUSUAL;
    }
}
