// The kernel decode: sequences of a block, by one lane, and literals; see 1_streams.cu.

__constant__ u32 literal_base[36] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48,
    64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
__constant__ u32 match_base[53] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
    28, 29, 30, 31, 32, 33, 34, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387,
    32771, 65539};
__constant__ u8 literal_more[36] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10,
    11, 12, 13, 14, 15, 16};
__constant__ u8 match_more[53] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// Of a block, in shared memory
struct Sequences {
    u32 states[STATES];   // base of the next << 4 | its bits; bits added to the value << 16; the value's base, or its code
    u32 begin;            // the byte where their bits begin
    u32 bits[3];          // of the first states
    u32 good;
};

struct Decode {
    union {
        Sequences sequences[GROUP];
        struct {
            u16 table[1 << HUFFMAN_BITS];
        } codes[GROUP];
    };
    u32 literal_base[36], match_base[53];
    Work work[GROUP];
};
#ifdef DECODE_BYTES
static_assert(sizeof(Decode) == DECODE_BYTES, "the host gives room for it");
#endif

// The table of one kind, described from byte `at` on; returns the byte behind, or NONE.
__device__ u32 fill_table(const Bytes& bytes, u32 at, u32 end, u32 mode, int kind, bool dry, Sequences& sequences, Work& work,
                          int lane) {
    u32* table = sequences.states + table_begin[kind];
    u32 bits = 0, codes = 0;
    if (mode == SINGLE) {
        const u32 code = bytes.at(at);
        if (at >= end || code > last_code[kind]) return NONE;
        at++;
        if (lane == 0) table[0] = code << 16;
    } else if (mode == DESCRIBED) {
        const Description found = read_counts(bytes, at, end, most_bits[kind], last_code[kind], work.given, lane);
        if (found.end == NONE) return NONE;
        at = found.end;
        bits = found.bits;
        codes = found.codes;
    } else {
        bits = default_bits[kind];
        codes = kind == OFFSET ? 29 : last_code[kind] + 1;
        for (u32 i = lane; i < codes; i += 32) work.given[i] = default_counts[kind][i];
        __syncwarp();
    }
    if (dry) return at;
    if (mode != SINGLE) fill_states(table, bits, codes, work, lane);
    __syncwarp();
    // 10 bits of base, 4 of bits, 5 of bits added, and the code
    for (u32 s = lane; s < 1u << bits; s += 32) {
        const u32 entry = table[s], code = entry >> 16;
        const u32 more = kind == OFFSET ? code : kind == LENGTH ? literal_more[code] : match_more[code];
        table[s] = (entry & 0x3fff) | more << 14 | code << 19;
    }
    if (lane == 0) sequences.bits[kind] = bits;
    __syncwarp();
    return at;
}

__device__ bool fill_tables(const Bytes& bytes, const Block* blocks, const Block& block, Sequences& sequences, Work& work,
                            int lane) {
    const u32 modes = bytes.at(block.modes);
    u32 own = block.modes + 1;
    for (int kind = 0; kind < 3; kind++) {
        u32 mode = modes >> (6 - 2 * kind) & 3;
        if (mode != REPEATED) {
            own = fill_table(bytes, own, block.end, mode, kind, false, sequences, work, lane);
            if (own == NONE) return false;
            continue;
        }
        const Block& other = blocks[block.tables[kind]];
        const u32 others = bytes.at(other.modes);
        u32 at = other.modes + 1;
        for (int k = 0; k <= kind; k++) {
            mode = others >> (6 - 2 * k) & 3;
            if (mode != REPEATED) at = fill_table(bytes, at, other.end, mode, k, k < kind, sequences, work, lane);
            if (at == NONE) return false;
        }
    }
    if (lane == 0) sequences.begin = own;
    return true;
}

// One lane; returns whether all is right.
__device__ bool decode_sequences(const Bytes& bytes, Block& block, const Sequences& sequences, const u32* literal_base,
                                 const u32* match_base, u64* to) {
    Backward bits;
    if (!bits.start(bytes, sequences.begin, block.end)) return false;
    const u32* lengths = sequences.states;
    const u32* offsets = sequences.states + table_begin[OFFSET];
    const u32* matches = sequences.states + table_begin[MATCH];
    u32 length_state = bits.take(sequences.bits[LENGTH]);
    u32 offset_state = bits.take(sequences.bits[OFFSET]);
    u32 match_state = bits.take(sequences.bits[MATCH]);
    u32 first = UNKNOWN, second = UNKNOWN | 1u << 27, third = UNKNOWN | 2u << 27;
    u32 out = 0, literal = 0, mark = 1;
    bool good = true;
    block.marks[0] = 0;
    for (u32 i = 0; i < block.sequences; i++) {
        const u32 l = lengths[length_state], o = offsets[offset_state], m = matches[match_state];
        const u32 offset_more = o >> 14 & 31, match_more = m >> 14 & 31, length_more = l >> 14 & 31;
        bits.refill();
        u32 value = (1u << offset_more) + bits.take(offset_more);
        bits.refill();
        const u32 match = match_base[m >> 19] + bits.take(match_more);
        const u32 length = literal_base[l >> 19] + bits.take(length_more);
        bits.refill();
        // the last sequence has no states behind it: these bits are then none of its own
        if (i + 1 < block.sequences) {
            length_state = (l >> 4 & 0x3ff) + bits.take(l & 15);
            match_state = (m >> 4 & 0x3ff) + bits.take(m & 15);
            offset_state = (o >> 4 & 0x3ff) + bits.take(o & 15);
        }
        const bool real = offset_more > 1;
        const u32 which = real ? 4 : value - 1 + (length == 0);
        const u32 less = first & UNKNOWN ? first + 1 : first - 1;
        const u32 offset = real ? value - 3 : which == 0 ? first : which == 1 ? second : which == 2 ? third : less;
        third = which > 1 ? second : third;
        second = which > 0 ? first : second;
        first = offset;
        good &= offset_more < 29 && offset != 0;
        const u32 behind = out + length + match;
        to[i] = packed(out, literal, offset);
        if (behind > block.limit || literal + length > block.literals) return false;
        while (mark < WINDOWS && mark * WINDOW < behind) block.marks[mark++] = i;
        out = behind;
        literal += length;
    }
    block.tail_at = out;
    block.tail_literal = literal;
    block.bytes = out + block.literals - literal;
    block.repeats[0] = first;
    block.repeats[1] = second;
    block.repeats[2] = third;
    while (mark < WINDOWS) block.marks[mark++] = block.sequences;
    return good && bits.left == 0 && block.bytes <= block.limit;
}

extern "C" __global__ void __launch_bounds__(32 * GROUP) decode(
    const Stream* streams, Block* blocks, u32 number, u8* literals, u64* sequences, u32* statuses)
{
    extern __shared__ __align__(16) u8 memory[];
    Decode& shared = *reinterpret_cast<Decode*>(memory);
    const u32 groups = (number + GROUP - 1) / GROUP, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const bool first = blockIdx.x < groups;   // sequences take longer: they begin first
    const u32 base = (first ? blockIdx.x : blockIdx.x - groups) * GROUP, mine = base + warp;
    if (!first) {
        if (mine >= number) return;
        const Block block = blocks[mine];
        if (block.kind < CODED) return;
        const Stream stream = streams[block.stream];
        const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
        if (!decode_literals(bytes, blocks, block, shared.codes[warp].table, shared.work[warp],
                             literals + 16 * block.literal_place, lane) &&
            lane == 0)
            statuses[block.stream] = DAMAGED;
        return;
    }
    for (u32 i = threadIdx.x; i < 36; i += blockDim.x) shared.literal_base[i] = literal_base[i];
    for (u32 i = threadIdx.x; i < 53; i += blockDim.x) shared.match_base[i] = match_base[i];
    if (mine < number) {
        const Block block = blocks[mine];
        const Stream stream = streams[block.stream];
        const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
        bool good = true;
        if (block.sequences) good = fill_tables(bytes, blocks, block, shared.sequences[warp], shared.work[warp], lane);
        if (lane == 0) shared.sequences[warp].good = good;
    }
    __syncthreads();
    if (threadIdx.x >= GROUP || base + threadIdx.x >= number) return;
    Block block = blocks[base + threadIdx.x];
    const Stream stream = streams[block.stream];
    const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
    bool good = shared.sequences[threadIdx.x].good;
    if (block.sequences && good) {
        good = decode_sequences(bytes, blocks[base + threadIdx.x], shared.sequences[threadIdx.x], shared.literal_base,
                                shared.match_base, sequences + block.sequence_place);
    } else {
        Block& to = blocks[base + threadIdx.x];
        to.bytes = block.literals;
        to.tail_at = to.tail_literal = 0;
        for (u32 k = 0; k < 3; k++) to.repeats[k] = UNKNOWN | k << 27;
        for (u32 k = 0; k < WINDOWS; k++) to.marks[k] = 0;
    }
    if (!good) statuses[block.stream] = DAMAGED;
}
