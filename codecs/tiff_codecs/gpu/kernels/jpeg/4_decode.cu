// ---- decode ----

#define FAST 10        // bits that a code is looked up with
#define ROOM_BITS 20   // of a place in a window

// Canonical codes: those of up to FAST bits by their bits, longer ones by their rank
struct Code {
    u16 fast[1 << FAST];   // bits << 8 | symbol; 0 where the code is longer, or none
    u32 limit[17];         // the first value behind codes of a length, left-justified to 16 bits
    int first[17];         // rank of a code of length n is its value + first[n]
    u8 symbols[256];
};

struct Room {
    u32 words[WORDS];
    Code codes[4];
    u32 ends[THREADS];
    u32 sums[WARPS];
    u32 finish;
    u8 natural[64];
};

__device__ __forceinline__ u32 swapped(u32 word) { return __byte_perm(word, 0, 0x0123); }

__device__ void make_code(Code& code, const u8* counts) {
    for (u32 i = threadIdx.x; i < 1 << FAST; i += THREADS) code.fast[i] = 0;
    if (threadIdx.x == 0) {
        u32 value = 0, rank = 0;
        for (u32 length = 1; length <= 16; length++) {
            value *= 2;
            code.first[length] = (int)rank - (int)value;
            value += counts[length - 1];
            rank += counts[length - 1];
            code.limit[length] = value << (16 - length);
        }
        code.limit[0] = rank;
    }
    __syncthreads();
    const u32 count = code.limit[0];
    for (u32 i = threadIdx.x; i < count; i += THREADS) {
        const u32 symbol = counts[16 + i];
        code.symbols[i] = (u8)symbol;
        u32 length = 1, before = counts[0];
        while (before <= i) before += counts[length++];
        if (length > FAST) continue;
        const u32 value = (u32)((int)i - code.first[length]), free = FAST - length;
        for (u32 k = 0; k < 1u << free; k++) code.fast[value << free | k] = (u16)(length << 8 | symbol);
    }
}

// A code of more than FAST bits; 0 where there is none
__device__ u32 long_code(const Code& code, u32 bits) {
    for (u32 length = FAST + 1; length <= 16; length++)
        if (bits < code.limit[length]) {
            const int rank = (int)(bits >> (16 - length)) + code.first[length];
            return rank < 0 || rank > 255 ? 0 : length << 8 | code.symbols[rank];
        }
    return 0;
}

// Where a decoder is: the bit in the window, the coefficient that comes next, and which of the blocks that codes recur after
__device__ __forceinline__ u32 packed(u32 bit, u32 next, u32 phase) { return bit | next << ROOM_BITS | phase << 26; }

struct Output {
    short* blocks;    // of the tile
    int* constants;   // coefficients 0, as differences
    u32 block, end;   // the block to write, and the one to stop at
    u32 last_bit;     // where the segment ends
    bool bad;
};

// Decodes from a state up to the bit `to`; counts blocks that end there.
template <bool WRITE>
__device__ __forceinline__ u32 run(Room& room, const Image& image, u32 state, u32 to, u32& count, Output& out) {
    u32 bit = state & ((1u << ROOM_BITS) - 1), next = state >> ROOM_BITS & 63, phase = state >> 26;
    const u32 pattern = image.pattern, period = image.period;
    count = 0;
    while (bit < to) {
        const u32 word = bit >> 5, bits = __funnelshift_l(room.words[word + 1], room.words[word], bit & 31);
        const u32 kinds = pattern >> 2 * phase & 3;
        const Code& code = room.codes[next ? 2 + (kinds >> 1) : kinds & 1];
        u32 entry = code.fast[bits >> (32 - FAST)];
        if (entry == 0) entry = long_code(code, bits >> 16);
        if (entry == 0) {
            if (WRITE) out.bad = true;
            entry = 1 << 8;   // go on somehow: it is the same from the same state
        }
        const u32 length = entry >> 8, size = entry & 15, skip = entry >> 4 & 15;
        bit += length + size;
        int value = 0;
        if (WRITE && size) {
            value = (int)(bits << length >> (32 - size));
            if (value < 1 << (size - 1)) value -= (1 << size) - 1;
        }
        if (next == 0) {
            if (WRITE) out.constants[out.block] = value;
            next = 1;
        } else if (size) {
            next += skip;
            if (WRITE) {
                if (next > 63) out.bad = true;
                else out.blocks[(size_t)out.block * (BLOCK / 2) + room.natural[next]] = (short)value;
            }
            next++;
        } else if (skip == 15) next += 16;
        else next = 64;
        if (next >= 64) {
            if (WRITE) {
                out.bad |= next > 64 || bit > out.last_bit;
                if (++out.block == out.end) {
                    room.finish = bit;
                    break;
                }
            }
            next = 0;
            count++;
            phase = phase + 1 == period ? 0 : phase + 1;
        }
    }
    return packed(bit, next, phase);
}

extern "C" __global__ void __launch_bounds__(THREADS) decode(
    const Tile* tiles, const Image* images, const u32* all_starts, short* all_blocks, int* all_constants, u32* statuses)
{
    __shared__ Room room;
    __shared__ Image image;
    const u32 n = blockIdx.x, t = threadIdx.x;
    if (statuses[n] != GOOD) return;
    const Tile tile = tiles[n];
    const u32* words = reinterpret_cast<const u32*>(tile.plain);
    const u32* starts = all_starts + tile.first;
    if (t == 0) image = images[n];
    for (u32 i = t; i < 64; i += THREADS) room.natural[i] = natural[i];
    __syncthreads();
    for (u32 i = 0; i < 4; i++)
        if (image.codes[i]) make_code(room.codes[i], reinterpret_cast<const u8*>(image.codes[i]));
    __syncthreads();

    const u32 last_word = (image.bytes + 3) / 4;   // behind the last
    const u32 all = image.mcus * image.size, each = image.interval * image.size;
    Output out = {all_blocks + tile.first * (BLOCK / 2), all_constants + tile.first, 0, 0, 0, false};
    bool good = true;   // the same for all threads
    for (u32 segment = 0; segment < image.segments && good; segment++) {
        const u32 end = 8 * (segment + 1 < image.segments ? starts[segment + 1] : image.bytes);
        u32 done = segment * each;
        u32 bit = 8 * starts[segment], next = 0, phase = 0;
        out.end = min(done + each, all);
        while (done < out.end) {
            if (bit >= end) {
                good = false;
                break;
            }
            for (u32 i = t; i < WORDS; i += THREADS) {
                const u32 word = bit / 32 + i;
                room.words[i] = word < last_word ? swapped(words[word]) : 0;
            }
            if (t == 0) room.finish = NONE;
            const u32 skew = bit & 31, left = end - (bit - skew);   // the segment's end, in the window
            const u32 from = skew + t * SPAN, to = min(from + SPAN, left);
            const u32 active = min((left - skew + SPAN - 1) / SPAN, (u32)THREADS);
            u32 state = t ? packed(from, 0, 0) : packed(skew, next, phase), count = 0;
            __syncthreads();
            u32 mine = t < active ? run<false>(room, image, state, to, count, out) : 0;
            // each goes on from where the one before it ended, until nothing changes
            for (bool changed = true;;) {
                if (changed) room.ends[t] = mine;
                __syncthreads();
                const u32 begin = t && t < active ? room.ends[t - 1] : state;
                changed = begin != state;
                if (!__syncthreads_or(changed)) break;
                if (changed) {
                    state = begin;
                    mine = run<false>(room, image, state, to, count, out);
                }
            }
            u32 total;
            out.block = done + sum_before(count, room.sums, total);
            out.last_bit = left;
            if (t < active && out.block < out.end) run<true>(room, image, state, to, count, out);
            const u32 last = room.ends[active - 1];
            bit = bit - skew + (last & ((1u << ROOM_BITS) - 1));
            next = last >> ROOM_BITS & 63;
            phase = last >> 26;
            done += total;
            __syncthreads();
            // no more than the bits that fill the last byte may be left over
            if (done >= out.end && (room.finish > left || left - room.finish >= 8)) good = false;
            __syncthreads();
        }
    }
    if (out.bad || !good) statuses[n] = DAMAGED;
}
