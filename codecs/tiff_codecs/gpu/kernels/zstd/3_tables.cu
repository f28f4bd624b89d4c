// Tables to decode with, each built by one warp; see 1_streams.cu.

#define MOST_CODES 64    // of a table of counts

__constant__ i16 default_counts[3][53] = {
    {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
    {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1},
    {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1},
};
__constant__ u8 default_bits[3] = {6, 5, 6}, most_bits[3] = {9, 8, 9}, last_code[3] = {35, 31, 52};
__constant__ u16 table_begin[3] = {0, 512, 768};   // of each kind, in a block's tables
#define STATES 1280

// What a warp needs to build a table
struct Work {
    u8 by_slot[512], codes[512];
    u32 counts[MOST_CODES];
    i16 given[MOST_CODES];
    u8 weights[256];
};

struct Description {
    u32 bits, codes, end;   // accuracy, how many codes, and the byte behind it; end is NONE where it is none
};

// Counts of codes (section 4.1.1) from byte `at` on; every lane does the same.
__device__ Description read_counts(const Bytes& bytes, u32 at, u32 end, u32 most, u32 last, i16* given, int lane) {
    const Description none = {0, 0, NONE};
    u64 ahead = bytes.little(at, 4);
    u32 have = 32, place = at + 4;
    const u32 accuracy = (ahead & 15) + 5;
    if (accuracy > most) return none;
    ahead >>= 4;
    have -= 4;
    int left = 1 << accuracy;
    u32 code = 0;
    while (left > 0) {
        if (have < 32) {
            ahead |= (u64)bytes.little(place, 4) << have;
            have += 32;
            place += 4;
        }
        if (code > last) return none;
        const u32 width = highest(left + 1) + 1, few = (1u << width) - 1 - (left + 1);
        const u32 whole = (u32)ahead & ((1u << width) - 1), low = whole & ((1u << (width - 1)) - 1);
        const bool is_short = low < few;
        const u32 value = is_short ? low : whole >= 1u << (width - 1) ? whole - few : whole;
        ahead >>= width - is_short;
        have -= width - is_short;
        const int count = (int)value - 1;
        if (lane == 0) given[code] = (i16)count;
        code++;
        left -= count < 0 ? 1 : count;
        if (count == 0) {
            for (;;) {
                if (have < 32) {
                    ahead |= (u64)bytes.little(place, 4) << have;
                    have += 32;
                    place += 4;
                }
                const u32 repeat = (u32)ahead & 3;
                ahead >>= 2;
                have -= 2;
                if (code + repeat > last + 1) return none;
                for (u32 k = 0; k < repeat; k++)
                    if (lane == 0) given[code + k] = 0;
                code += repeat;
                if (repeat < 3) break;
            }
        }
    }
    const u32 behind = place - have / 8;
    if (left || behind > end) return none;
    __syncwarp();
    const Description found = {accuracy, code, behind};
    return found;
}

// The states of a table from `given`: next state's base << 4 | bits, and the code << 16.
__device__ void fill_states(u32* table, u32 accuracy, u32 codes, Work& work, int lane) {
    const u32 size = 1u << accuracy, below = (1u << lane) - 1;
    // codes of less than one stand at the end, the first of them last
    u32 rare = 0, slots = 0;
    for (u32 base = 0; base < codes; base += 32) {
        const u32 code = base + lane;
        const int count = code < codes ? work.given[code] : 0;
        const u32 mask = __ballot_sync(FULL, count < 0);
        if (count < 0) work.codes[size - 1 - rare - __popc(mask & below)] = (u8)code;
        rare += __popc(mask);
        const u32 mine = count > 0 ? count : 0;
        u32 sum = mine;
#pragma unroll
        for (int by = 1; by < 32; by <<= 1) {
            const u32 left = __shfl_up_sync(FULL, sum, by);
            if (lane >= by) sum += left;
        }
        for (u32 k = 0; k < mine; k++) work.by_slot[slots + sum - mine + k] = (u8)code;
        slots += __shfl_sync(FULL, sum, 31);
        if (code < codes) work.counts[code] = count < 0 ? 1 : count;
    }
    __syncwarp();
    const u32 high = size - rare, step = (size >> 1) + (size >> 3) + 3;
    u32 slot = 0;
    for (u32 k = lane; k < size; k += 32) {   // size is a multiple of 32
        const u32 cell = k * step & (size - 1);
        const u32 mask = __ballot_sync(FULL, cell < high);
        if (cell < high) work.codes[cell] = work.by_slot[slot + __popc(mask & below)];
        slot += __popc(mask);
    }
    __syncwarp();
    for (u32 cell = lane; cell < size; cell += 32) {
        const u32 code = work.codes[cell];
        const u32 same = __match_any_sync(FULL, code);
        const u32 value = work.counts[code] + __popc(same & below), bits = accuracy - highest(value);
        table[cell] = ((value << bits) - size) << 4 | bits | code << 16;
        __syncwarp();
        if (same >> lane == 1) work.counts[code] = value + 1;   // the highest lane of each
        __syncwarp();
    }
}

// Weights of Huffman codes (section 4.2.1) from byte `at` on, to work.weights. Returns how many there are, or 0.
__device__ u32 read_weights(const Bytes& bytes, u32 at, u32 end, u32* table, Work& work, u32& behind, int lane) {
    const u32 head = bytes.at(at++);
    if (head >= 128) {
        const u32 number = head - 127;
        behind = at + (number + 1) / 2;
        if (behind > end) return 0;
        for (u32 i = lane; i < number; i += 32) work.weights[i] = bytes.at(at + i / 2) >> (i & 1 ? 0 : 4) & 15;
        __syncwarp();
        return number;
    }
    behind = at + head;
    if (behind > end) return 0;
    const Description found = read_counts(bytes, at, behind, 6, 15, work.given, lane);
    if (found.end == NONE) return 0;
    fill_states(table, found.bits, found.codes, work, lane);
    const u32 mark = behind > found.end ? bytes.at(behind - 1) : 0;
    if (!mark) return 0;
    int left = (int)(8 * (behind - 1 - found.end) + highest(mark));
    auto take = [&](u32 count) {   // 6 bits at most
        left -= (int)count;
        const u32 from = (u32)max(left, 0);
        return bytes.little(found.end + from / 8, 2) >> from % 8 & ((1u << count) - 1);
    };
    u32 even = take(found.bits), odd = take(found.bits), number = 0;
    if (left < 0) return 0;
    for (;;) {   // every lane does the same
        const u32 entry = table[even], width = entry & 15;
        if (number > 253) return 0;
        if (lane == 0) work.weights[number] = (u8)(entry >> 16);
        number++;
        if (left < (int)width) {
            if (lane == 0) work.weights[number] = (u8)(table[odd] >> 16);
            number++;
            break;
        }
        even = odd;
        odd = (entry >> 4 & 0xfff) + take(width);
    }
    __syncwarp();
    return number;
}

// Huffman codes as a table to look symbols up in by their first bits: symbol | length << 8. Returns the longest length, or 0.
__device__ u32 fill_codes(u16* table, const Bytes& bytes, u32 at, u32 end, Work& work, u32& behind, int lane) {
    u32 number = read_weights(bytes, at, end, reinterpret_cast<u32*>(table), work, behind, lane);
    if (!number) return 0;
    u32 sum = 0, high = 0;
    for (u32 i = lane; i < number; i += 32) {
        const u32 weight = work.weights[i];
        sum += (1u << weight) >> 1;
        high = max(high, weight);
    }
#pragma unroll
    for (int by = 16; by; by >>= 1) {
        sum += __shfl_xor_sync(FULL, sum, by);
        high = max(high, __shfl_xor_sync(FULL, high, by));
    }
    if (!sum || high > HUFFMAN_BITS) return 0;
    const u32 longest = highest(sum) + 1, rest = (1u << longest) - sum;
    if (longest > HUFFMAN_BITS || rest & (rest - 1)) return 0;
    if (lane == 0) work.weights[number] = (u8)(highest(rest) + 1);
    if (lane < 16) work.counts[lane] = 0;
    number++;
    __syncwarp();
    // symbols in the order of weight, then of value
    for (u32 i = lane; i < number; i += 32) atomicAdd(&work.counts[work.weights[i]], 1u);
    __syncwarp();
    u32 begin[HUFFMAN_BITS + 2], rank[HUFFMAN_BITS + 2];
    begin[1] = rank[1] = 0;
#pragma unroll
    for (int w = 1; w <= HUFFMAN_BITS; w++) {
        begin[w + 1] = begin[w] + (work.counts[w] << (w - 1));
        rank[w + 1] = rank[w] + work.counts[w];
    }
    const u32 ones = work.counts[1];
    if (ones < 2 || ones & 1) return 0;
    __syncwarp();
#pragma unroll
    for (int w = 1; w <= HUFFMAN_BITS; w++)
        if (lane == w) work.counts[w] = rank[w];
    __syncwarp();
    for (u32 base = 0; base < number; base += 32) {
        const u32 i = base + lane, weight = i < number ? work.weights[i] : 0;
        const u32 same = __match_any_sync(FULL, weight);
        if (weight) work.codes[work.counts[weight] + __popc(same & ((1u << lane) - 1))] = (u8)i;
        __syncwarp();
        if (weight && same >> lane == 1) work.counts[weight] += __popc(same);
        __syncwarp();
    }
    for (u32 e = lane; e < 1u << longest; e += 32) {
        u32 w = 1, from = 0, place = 0;
#pragma unroll
        for (int k = 2; k <= HUFFMAN_BITS; k++)
            if (e >= begin[k]) {
                w = k;
                from = begin[k];
                place = rank[k];
            }
        table[e] = (u16)(work.codes[place + ((e - from) >> (w - 1))] | (longest + 1 - w) << 8);
    }
    __syncwarp();
    return longest;
}
