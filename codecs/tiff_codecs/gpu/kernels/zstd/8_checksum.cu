// The kernel checksum: XXH64 of what each frame holds, for those that say it; see 1_streams.cu.

#define PRIME_1 0x9E3779B185EBCA87ull
#define PRIME_2 0xC2B2AE3D27D4EB4Full
#define PRIME_3 0x165667B19E3779F9ull
#define PRIME_4 0x85EBCA77C2B2AE63ull
#define PRIME_5 0x27D4EB2F165667C5ull

__device__ __forceinline__ u64 rotated(u64 value, int by) { return value << by | value >> (64 - by); }

__device__ __forceinline__ u64 round_of(u64 sum, u64 input) { return rotated(sum + input * PRIME_2, 31) * PRIME_1; }

__device__ __forceinline__ u64 word_at(const u8* data, int bytes) {
    u64 value = 0;
    for (int k = 0; k < bytes; k++) value |= (u64)data[k] << (8 * k);
    return value;
}

// One warp a block of a frame; four lanes sum, each its own words.
extern "C" __global__ void __launch_bounds__(32) checksum(const Stream* streams, const Block* blocks, u32 number, u32* statuses)
{
    const u32 lane = threadIdx.x;
    for (u32 i = blockIdx.x; i < number; i += gridDim.x) {
        const Block& block = blocks[i];
        if (!(block.flags & LAST && block.flags & CHECKED) || statuses[block.stream]) continue;
        const Stream stream = streams[block.stream];
        const u8* data = reinterpret_cast<const u8*>(stream.target) + block.begin;
        const u32 size = block.offset + block.bytes - block.begin, rounds = size / 32;
        const bool aligned = ((u64)data & 7) == 0;
        u64 sum = lane == 0 ? PRIME_1 + PRIME_2 : lane == 1 ? PRIME_2 : lane == 2 ? 0 : 0 - PRIME_1;
        if (lane < 4) {
            const u8* from = data + 8 * lane;
            u32 r = 0;
            for (; r + 8 <= rounds; r += 8) {   // words first, as they take long to come
                u64 words[8];
#pragma unroll
                for (int k = 0; k < 8; k++)
                    words[k] = aligned ? *reinterpret_cast<const u64*>(from + 32 * (r + k)) : word_at(from + 32 * (r + k), 8);
#pragma unroll
                for (int k = 0; k < 8; k++) sum = round_of(sum, words[k]);
            }
            for (; r < rounds; r++) sum = round_of(sum, word_at(from + 32 * r, 8));
        }
        u64 sums[4];
        for (int k = 0; k < 4; k++) sums[k] = __shfl_sync(FULL, sum, k);
        if (lane) continue;
        u64 hash = PRIME_5;
        if (rounds) {
            hash = rotated(sums[0], 1) + rotated(sums[1], 7) + rotated(sums[2], 12) + rotated(sums[3], 18);
            for (int k = 0; k < 4; k++) hash = (hash ^ round_of(0, sums[k])) * PRIME_1 + PRIME_4;
        }
        hash += size;
        u32 at = 32 * rounds;
        for (; at + 8 <= size; at += 8) hash = rotated(hash ^ round_of(0, word_at(data + at, 8)), 27) * PRIME_1 + PRIME_4;
        for (; at + 4 <= size; at += 4) hash = rotated(hash ^ word_at(data + at, 4) * PRIME_1, 23) * PRIME_2 + PRIME_3;
        for (; at < size; at++) hash = rotated(hash ^ data[at] * PRIME_5, 11) * PRIME_1;
        hash = (hash ^ hash >> 33) * PRIME_2;
        hash = (hash ^ hash >> 29) * PRIME_3;
        hash ^= hash >> 32;
        const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
        if ((u32)hash != bytes.little(block.check, 4)) statuses[block.stream] = DAMAGED;
    }
}
