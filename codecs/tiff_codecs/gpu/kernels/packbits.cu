// PackBits (TIFF 6.0 section 9): runs and literals of up to 128 bytes behind a count.
//
// One warp takes one tile: the counts are read one after the other, the bytes of each are written by all lanes.
// Every access is bounded by the stream's and the tile's length: a damaged stream ends short, never outside.

typedef unsigned char u8;
typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(128) packbits(
    const u64* __restrict__ sources, const u64* __restrict__ source_bytes,
    const u64* __restrict__ targets, const u64* __restrict__ target_bytes,
    u64* __restrict__ written, int tiles)
{
    const int tile = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (tile >= tiles) return;
    const u8* in = reinterpret_cast<const u8*>(sources[tile]);
    u8* out = reinterpret_cast<u8*>(targets[tile]);
    const u64 in_end = source_bytes[tile], out_end = target_bytes[tile];
    u64 at = 0, to = 0;
    while (at < in_end && to < out_end) {
        const int code = (signed char)in[at++];
        if (code >= 0) {
            u64 n = min((u64)(code + 1), min(in_end - at, out_end - to));
            for (u64 i = lane; i < n; i += 32) out[to + i] = in[at + i];
            at += n;
            to += n;
        } else if (code != -128) {
            if (at == in_end) break;
            const u8 value = in[at++];
            u64 n = min((u64)(1 - code), out_end - to);
            for (u64 i = lane; i < n; i += 32) out[to + i] = value;
            to += n;
        }
    }
    if (!lane) written[tile] = to;
}
