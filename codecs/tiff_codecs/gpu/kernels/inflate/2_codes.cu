// Codes of a block, as tables to look symbols up in; a part of the inflate kernels, see 1_streams.cu.

#define LONGER 511u

struct Tables {
    u16 literal[1 << LITERAL_BITS];    // length << 9 | symbol; LONGER: a longer code, or none
    u16 distance[1 << DISTANCE_BITS];
    u16 long_literal[LONG_LITERALS];   // by what follows the first bits
    u16 long_distance[LONG_DISTANCES];
    u32 first_literal, first_distance; // the first prefix, highest bit first, of longer codes
};

// Sort symbols by code; one warp. Returns whether the lengths make a code: a complete one, or a single bit, or none.
__device__ bool sort_symbols(const u8* lengths, int symbols, Code& code, u32* counts, int lane) {
    if (lane < 16) counts[lane] = 0;
    __syncwarp();
    for (int s = lane; s < symbols; s += 32)
        if (lengths[s]) atomicAdd(&counts[lengths[s]], 1u);
    __syncwarp();
    u32 value = 0, rank = 0, mine = 0, longest = 0;
    for (int n = 1; n <= 15; n++) {   // every lane does the same
        const u32 count = counts[n], begin = value;
        if (n == lane) mine = rank;
        value += count << (15 - n);
        if (count) longest = n;
        if (lane == 0) {
            code.limit[n] = value;
            code.first[n] = (int)rank - (int)(begin >> (15 - n));
        }
        rank += count;
    }
    __syncwarp();
    if (value > 32768 || (value < 32768 && longest > 1)) return false;
    if (lane < 16) counts[lane] = mine;
    __syncwarp();
    for (int base = 0; base < symbols; base += 32) {
        // symbols of one length stand in the order of the alphabet
        const int s = base + lane;
        const u32 n = s < symbols ? lengths[s] : 0;
        const u32 same = __match_any_sync(FULL, n);
        if (n) code.sorted[counts[n] + __popc(same & ((1u << lane) - 1))] = (u16)s;
        __syncwarp();
        if (n && (same >> lane) == 1) counts[n] += __popc(same);   // the highest lane of each length
        __syncwarp();
    }
    return true;
}

// The table for codes up to BITS bits, and behind it one for the rest of longer ones; all threads.
template <int BITS>
__device__ __forceinline__ void fill_table(u16* table, u16* longer, int most, u32& first_longer, const Code& code) {
    u32 limit[16];
#pragma unroll
    for (int n = 1; n <= 15; n++) limit[n] = code.limit[n];
    for (u32 e = threadIdx.x; e < 1 << BITS; e += THREADS) {
        const u32 value = __brev(e) >> 17;
        int n = 1;
#pragma unroll
        for (int k = 1; k <= BITS; k++) n += value >= limit[k];
        table[e] = n <= BITS ? (u16)(n << 9 | code.sorted[(int)(value >> (15 - n)) + code.first[n]]) : (u16)LONGER;
    }
    const u32 prefix = limit[BITS] >> (15 - BITS);
    const u32 entries = min((u32)most, ((1u << BITS) - prefix) << (15 - BITS));
    for (u32 e = threadIdx.x; e < entries; e += THREADS) {
        const u32 rest = e & ((1u << (15 - BITS)) - 1);
        const u32 value = (prefix + (e >> (15 - BITS))) << (15 - BITS) | __brev(rest) >> (32 - (15 - BITS));
        int n = BITS + 1;
#pragma unroll
        for (int k = BITS + 1; k < 15; k++) n += value >= limit[k];
        longer[e] = value < limit[15] ? (u16)(n << 9 | code.sorted[(int)(value >> (15 - n)) + code.first[n]]) : 0;
    }
    if (threadIdx.x == 0) first_longer = prefix;
}

__device__ void fill_tables(Tables& tables, const Codes& codes) {
    fill_table<LITERAL_BITS>(tables.literal, tables.long_literal, LONG_LITERALS, tables.first_literal, codes.literals);
    fill_table<DISTANCE_BITS>(tables.distance, tables.long_distance, LONG_DISTANCES, tables.first_distance,
                              codes.distances);
}

__device__ __forceinline__ u32 longer_literal(const Tables& tables, u32 bits) {
    const u32 i = ((__brev(bits) >> (32 - LITERAL_BITS)) - tables.first_literal) << (15 - LITERAL_BITS) |
                  (bits >> LITERAL_BITS & ((1 << (15 - LITERAL_BITS)) - 1));
    return i < LONG_LITERALS ? tables.long_literal[i] : 0;
}

__device__ __forceinline__ u32 longer_distance(const Tables& tables, u32 bits) {
    const u32 i = ((__brev(bits) >> (32 - DISTANCE_BITS)) - tables.first_distance) << (15 - DISTANCE_BITS) |
                  (bits >> DISTANCE_BITS & ((1 << (15 - DISTANCE_BITS)) - 1));
    return i < LONG_DISTANCES ? tables.long_distance[i] : 0;
}


enum Kind { LITERAL, MATCH, END, BAD };

struct Token {
    u32 bytes;    // output of a match
    u32 value;    // the literal, or the distance
    Kind kind;
};

// The symbol at `at`, which moves behind it: by a bit at least, so that no loop goes on for ever.
__device__ __forceinline__ Token step(const u32* words, const Tables& tables, u32& at) {
    Token token;
    const u32 bits = peek(words, at);
    u32 entry = tables.literal[bits & ((1 << LITERAL_BITS) - 1)];
    if (entry == LONGER) entry = longer_literal(tables, bits);
    const u32 n = entry >> 9, symbol = entry & 511;
    token.value = symbol;
    token.bytes = 1;
    token.kind = LITERAL;
    at += n;
    if (symbol >= 256 || !entry) {
        token.kind = symbol == 256 ? END : BAD;
        if (!entry) at++;
        if (symbol > 256 && symbol < 286) {
            const u32 c = symbol - 257;
            const u32 extra = c < 8 || c == 28 ? 0 : (c >> 2) - 1;
            const u32 base = c < 8 ? 3 + c : c == 28 ? 258 : 3 + ((4 + (c & 3)) << extra);
            token.bytes = base + (bits >> n & ((1u << extra) - 1));
            at += extra;
            const u32 more = peek(words, at);
            u32 found = tables.distance[more & ((1 << DISTANCE_BITS) - 1)];
            if (found == LONGER) found = longer_distance(tables, more);
            const u32 m = found >> 9, d = found & 511;
            const u32 wide = d < 4 ? 0 : (d >> 1) - 1;
            token.value = 1 + (d < 4 ? d : (2 + (d & 1)) << wide) + (more >> m & ((1u << wide) - 1));
            token.kind = found && d < 30 ? MATCH : BAD;
            at += token.kind == MATCH ? m + wide : 1;
        }
    }
    return token;
}
