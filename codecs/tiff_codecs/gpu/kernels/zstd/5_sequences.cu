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
    u32 states[STATES];   // bits added to the value; << 8 bits of the next state; << 16 the code; << 22 the next state's base
    u32 begin;            // the byte where their bits begin
    u32 bits[3];          // of the first states
    u32 good;
};

struct Decode {
    union {
        Sequences sequences[GROUP];
        Codes codes[GROUP];
    };
    union {   // to build tables with, then to decode with
        Helpers helpers[GROUP];
        Ring rings[GROUP];
    };
    u32 literal_base[36], match_base[53];
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
    for (u32 s = lane; s < 1u << bits; s += 32) {
        const u32 entry = table[s], code = entry >> 16;
        const u32 more = kind == OFFSET ? code : kind == LENGTH ? literal_more[code] : match_more[code];
        table[s] = more | (entry & 15) << 8 | code << 16 | (entry >> 4 & 0x3ff) << 22;
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

#define TURNS 16   // sequences between fillings of the rings, of up to 89 bits each

// Blocks by the lanes of a warp, `number` sequences in mine, or none; returns whether all is right.
__device__ bool decode_sequences(Backward bits, Ring* rings, const Sequences& tables, const u32* literal_base,
                                 const u32* match_base, Block* block, u32 number, u64* to, int lane) {
    const u32* lengths = tables.states;
    const u32* offsets = tables.states + table_begin[OFFSET];
    const u32* matches = tables.states + table_begin[MATCH];
    const Ring& ring = rings[lane % GROUP];
    const u32 count = number, limit = number ? block->limit : 0, literals = number ? block->literals : 0;
    int due = (bits.top - 1) >> 7;
    fill_rings<GROUP>(rings, bits, due, lane);
    await_chunks();
    u32 length_state = 0, offset_state = 0, match_state = 0;
    if (number) {
        const u32* words = ring.at(bits.top >> 5);
        const u32 x = tables.bits[LENGTH], y = tables.bits[OFFSET], z = tables.bits[MATCH];
        u32 ahead = __funnelshift_r(words[-1], words[0], bits.top);
        length_state = leading(ahead, x);
        ahead <<= x;
        offset_state = leading(ahead, y);
        ahead <<= y;
        match_state = leading(ahead, z);
        bits.top -= (int)(x + y + z);
    }
    u32 first = UNKNOWN, second = UNKNOWN | 1u << 27, third = UNKNOWN | 2u << 27;
    u32 out = 0, literal = 0, mark = 1, done = 0, states_bits = 0;
    bool bad = false;
    // of the sequence before: its values, and the bits that are added to them
    u32 length = 0, match = 0, offset_code = 0, length_added = 0, match_added = 0, offset_added = 0;
    auto finish = [&]() {
        length += length_added;
        const bool real = offset_code > 1;
        const u32 value = (1u << offset_code) + offset_added, which = real ? 4 : value - 1 + (length == 0);
        const u32 less = first & UNKNOWN ? first + 1 : first - 1;
        const u32 offset = real ? value - 3 : which == 0 ? first : which == 1 ? second : which == 2 ? third : less;
        third = which > 1 ? second : third;
        second = which > 0 ? first : second;
        first = offset;
        *to++ = packed(out, literal, offset);
        out += length + match + match_added;
        literal += length;
        bad |= offset_code >= 29 || offset == 0 || out > limit;
        while (mark < WINDOWS && mark * WINDOW < out) block->marks[mark++] = done - 1;
    };
    while (__any_sync(FULL, done < number)) {
        await_chunks();
        fill_rings<GROUP>(rings, bits, due, lane);
        for (int turn = 0; turn < TURNS && done < number; turn++) {
            const u32 l = lengths[length_state], o = offsets[offset_state], m = matches[match_state];
            const u32* words = ring.at(bits.top >> 5);
            const u32 x = words[0], y = words[-1], z = words[-2], w = words[-3], skew = bits.top;
            if (done) finish();   // meanwhile
            done++;
            const u32 a = __funnelshift_r(y, x, skew), b = __funnelshift_r(z, y, skew), c = __funnelshift_r(w, z, skew);
            // the offset's bits, the match length's, the literal length's, then those of their next states
            const u32 two = o + m, sum = two + l;   // of the numbers of bits, in the lowest byte
            u32 ahead = sum & 32 ? __funnelshift_l(c, b, sum) : __funnelshift_l(b, a, sum);
            states_bits = sum >> 8 & 31;
            bits.top -= (int)((sum & 63) + states_bits);
            length_state = (l >> 22) + leading(ahead, l >> 8);
            ahead = __funnelshift_l(0, ahead, l >> 8);
            match_state = (m >> 22) + leading(ahead, m >> 8);
            ahead = __funnelshift_l(0, ahead, m >> 8);
            offset_state = (o >> 22) + leading(ahead, o >> 8);
            length = literal_base[l >> 16 & 63];
            match = match_base[m >> 16 & 63];
            offset_code = o & 31;
            offset_added = leading(a, o);
            match_added = leading(__funnelshift_l(b, a, o), m);
            length_added = leading(two & 32 ? __funnelshift_l(c, b, two) : __funnelshift_l(b, a, two), l);
        }
    }
    if (!count) return true;
    finish();
    bits.top += (int)states_bits;   // behind the last there are no states
    const u32 bytes = out + literals - literal;
    block->marks[0] = 0;
    while (mark < WINDOWS) block->marks[mark++] = count;
    block->tail_at = out;
    block->tail_literal = literal;
    block->bytes = bytes;
    block->repeats[0] = first;
    block->repeats[1] = second;
    block->repeats[2] = third;
    return !bad && literal <= literals && bits.top == bits.bottom && bytes <= limit;
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
        if (mine >= number || blocks[mine].kind < CODED) return;
        const Block& block = blocks[mine];
        const Stream stream = streams[block.stream];
        const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
        if (!decode_literals(bytes, blocks, block, shared.codes[warp].table, shared.helpers[warp],
                             literals + 16 * block.literal_place, lane) &&
            lane == 0)
            statuses[block.stream] = DAMAGED;
        return;
    }
    for (u32 i = threadIdx.x; i < 36; i += blockDim.x) shared.literal_base[i] = literal_base[i];
    for (u32 i = threadIdx.x; i < 53; i += blockDim.x) shared.match_base[i] = match_base[i];
    if (mine < number) {
        const Block& block = blocks[mine];
        const Stream stream = streams[block.stream];
        const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
        bool good = true;
        if (block.sequences) good = fill_tables(bytes, blocks, block, shared.sequences[warp], shared.helpers[warp].work, lane);
        if (lane == 0) shared.sequences[warp].good = good;
    }
    __syncthreads();
    if (warp) return;
    const bool have = lane < GROUP && base + lane < number;
    Block* block = blocks + base + (have ? lane : 0);
    Backward bits = {};
    u64* to = sequences;
    u32 count = 0;
    bool good = !have || shared.sequences[lane].good;
    if (have && good && block->sequences) {
        const Stream stream = streams[block->stream];
        const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
        good = bits.start(bytes, shared.sequences[lane].begin, block->end);
        count = good ? block->sequences : 0;
        to += block->sequence_place;
    }
    if (have && !count) {
        block->bytes = block->literals;
        block->tail_at = block->tail_literal = 0;
        for (u32 k = 0; k < 3; k++) block->repeats[k] = UNKNOWN | k << 27;
        for (u32 k = 0; k < WINDOWS; k++) block->marks[k] = 0;
    }
    __syncwarp();
    good &= decode_sequences(bits, shared.rings, shared.sequences[lane % GROUP], shared.literal_base, shared.match_base, block,
                             count, to, lane);
    if (have && !good) statuses[block->stream] = DAMAGED;
}
