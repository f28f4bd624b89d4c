// The kernel frames: where blocks begin, what they hold, and which of them describe tables; see 1_streams.cu.

// Which block up to and with the lanes `upto` describes what is asked for: one of this turn, or the one known before.
__device__ __forceinline__ u32 latest(u32 describes, u32 first, u32 upto, u32 before, u32 base) {
    first &= upto;
    const u32 mine = describes & upto & (first ? FULL << highest(first) : FULL);
    return mine ? base + highest(mine) : first ? NONE : before;
}

// The head of a compressed block [at, end): literals, then how many sequences.
__device__ bool read_head(const Bytes& bytes, u32 at, Block& block) {
    const u32 head = bytes.at(at), form = head >> 2 & 3;
    block.kind = head & 3;
    u32 width;
    if (block.kind < CODED) {
        width = form == 1 ? 2 : form == 3 ? 3 : 1;
        block.literals = bytes.little(at, width) >> (width == 1 ? 3 : 4);
        block.packed = block.kind == RAW ? block.literals : 1;
        block.streams = 1;
    } else {
        width = form < 2 ? 3 : form + 2;
        const u32 count = form < 2 ? 10 : form == 2 ? 14 : 18;
        const u64 both = ((u64)bytes.at(at + 4) << 32 | bytes.little(at, 4)) >> 4;
        block.literals = (u32)both & ((1u << count) - 1);
        block.packed = (u32)(both >> count) & ((1u << count) - 1);
        block.streams = form ? 4 : 1;
        if (block.literals < (form ? 6u : 1u)) return false;
    }
    block.at = at + width;
    if (block.literals > block.limit || at + width + block.packed >= block.end) return false;
    at += width + block.packed;
    u32 number = bytes.at(at++);
    if (number == 255) {
        number = 0x7f00 + bytes.little(at, 2);
        at += 2;
    } else if (number >= 128) {
        number = (number - 128) << 8 | bytes.at(at++);
    }
    block.sequences = number;
    block.modes = at;
    return number ? at < block.end && !(bytes.at(at) & 3) : at == block.end;
}

extern "C" __global__ void __launch_bounds__(32) frames(
    const Stream* streams, u32 number, u32 listing, Counts* counts, u32* statuses, const Bases* bases, Block* blocks,
    const u32* ranks, u32* order)
{
    const u32 lane = threadIdx.x, upto = (2u << lane) - 1;
    for (u32 s = blockIdx.x; s < number; s += gridDim.x) {
        const Stream stream = streams[s];
        const Bytes bytes = {reinterpret_cast<const u8*>(stream.source), (u32)stream.source_bytes};
        if (listing && statuses[s]) continue;
        Bases base = {};
        if (listing) base = bases[s];
        const u64 most = 64 + stream.target_bytes / 512;
        u32 at = 0, status = GOOD, done = 0, literals = 0, sequences = 0, checks = 0, seen = 0;
        u32 huffman = NONE, tables[3] = {NONE, NONE, NONE};
        u64 content = 0, least = 0;
        u32 flags = 0, limit = 0, inside = 0;
        bool more = true;
        while (more && status == GOOD) {
            // all lanes do the same, and each keeps one block
            Block mine = {};
            u32 head = 0, begin = 0, found = 0;
            while (found < 32) {
                if (!inside) {
                    const u32 magic = bytes.little(at, 4);
                    if ((magic & 0xfffffff0u) == 0x184d2a50u && bytes.size - at >= 8) {
                        const u32 skipped = bytes.little(at + 4, 4);
                        if (skipped > bytes.size - at - 8) status = DAMAGED;
                        if (status || ++seen > most) break;
                        at += 8 + skipped;
                        continue;
                    }
                    more = magic == 0xfd2fb528u;
                    if (!more) break;
                    const u32 descriptor = bytes.at(at + 4), single = descriptor >> 5 & 1;
                    const u32 window = bytes.at(at + 5);
                    const u32 dictionary = (1u << (descriptor & 3)) >> 1, size = descriptor >> 6;
                    at += 6 - single;
                    for (u32 i = 0; i < dictionary; i++)
                        if (bytes.at(at + i)) status = DAMAGED;
                    at += dictionary;
                    content = bytes.little(at, 4);
                    if (size == 0) content &= 0xff;
                    if (size == 1) content = (content & 0xffff) + 256;
                    if (size == 3) content |= (u64)bytes.little(at + 4, 4) << 32;
                    at += size ? 1u << size : single;
                    flags = FIRST | (size || single ? SIZED : 0) | (descriptor & 4 ? CHECKED : 0);
                    const u64 span = single ? content : (u64)(8 + (window & 7)) << (7 + (window >> 3));
                    limit = (u32)min(span, (u64)LARGEST);
                    if (descriptor & 8 || (!single && window >> 3 > 21)) status = DAMAGED;
                    inside = 1;
                }
                head = bytes.little(at, 3);
                const u32 kind = head >> 1 & 3, size = head >> 3, stored = kind == 1 ? 1 : size;
                if (at + 3 > bytes.size || at + 3 < at || kind == 3 || size > limit || stored > bytes.size - at - 3)
                    status = DAMAGED;
                if (status) break;
                begin = at + 3;
                at = begin + stored;
                u32 check = 0;
                if (head & 1) {
                    flags |= LAST;
                    check = at;
                    if (flags & CHECKED) at += 4;
                    if (at > bytes.size) status = DAMAGED;
                    inside = 0;
                }
                if (lane == found) {
                    mine.flags = flags;
                    mine.kind = kind;
                    mine.at = begin;
                    mine.literals = size;
                    mine.packed = stored;
                    mine.end = begin + stored;
                    mine.limit = limit;
                    mine.check = check;
                    mine.content = content;
                }
                checks += head & 1 && flags & CHECKED;
                flags &= ~(u32)FIRST;
                found++;
                if (at >= bytes.size && !inside) {
                    more = false;
                    break;
                }
            }
            seen += found;
            if (status == GOOD && seen > most) status = UNUSUAL;
            const bool have = lane < found;
            const bool coded = have && mine.kind == 2;
            bool good = true;
            if (coded) good = read_head(bytes, mine.at, mine);
            else mine.streams = 1;
            if (!__all_sync(FULL, good)) status = DAMAGED;
            // literals of a frame's raw and run blocks stand in the stream
            const u32 room = coded && mine.kind >= CODED ? (mine.literals + 15) / 16 : 0;
            const u32 first = __ballot_sync(FULL, have && mine.flags & FIRST);
            const u32 modes = coded && mine.sequences ? bytes.at(mine.modes) : 0xff;
            const u32 codes = __ballot_sync(FULL, coded && mine.kind == CODED);
            mine.huffman = latest(codes, first, upto, huffman, done);
            huffman = latest(codes, first, FULL, huffman, done);
            if (coded && mine.kind == AGAIN && mine.huffman == NONE) good = false;
#pragma unroll
            for (int k = 0; k < 3; k++) {
                const u32 own = __ballot_sync(FULL, (modes >> (6 - 2 * k) & 3) != REPEATED);
                mine.tables[k] = latest(own, first, upto, tables[k], done);
                tables[k] = latest(own, first, FULL, tables[k], done);
                if (coded && mine.sequences && mine.tables[k] == NONE) good = false;
            }
            if (!__all_sync(FULL, good)) status = DAMAGED;
            // sums before each lane
            u32 sums[2] = {room, mine.sequences};
            u64 held = have ? mine.literals + 3ull * mine.sequences : 0;
#pragma unroll
            for (int by = 1; by < 32; by <<= 1) {
                const u32 a = __shfl_up_sync(FULL, sums[0], by), b = __shfl_up_sync(FULL, sums[1], by);
                if (lane >= by) {
                    sums[0] += a;
                    sums[1] += b;
                }
                held += __shfl_xor_sync(FULL, held, by);
            }
            if (listing && have && status == GOOD) {
                mine.stream = s;
                if (mine.huffman != NONE) mine.huffman += (u32)base.block;
                for (int k = 0; k < 3; k++)
                    if (mine.tables[k] != NONE) mine.tables[k] += (u32)base.block;
                mine.literal_place = base.literals + literals + sums[0] - room;
                mine.sequence_place = base.sequence + sequences + sums[1] - mine.sequences;
                const u32 rank = done + lane;
                blocks[base.block + rank] = mine;
                const u32 before = ranks[rank], beside = ranks[rank + 1] - before;
                for (u32 w = 0; w < WINDOWS; w++)
                    order[(u64)WINDOWS * before + (u64)w * beside + base.rank] = ((u32)base.block + rank) * WINDOWS + w;
            }
            literals += __shfl_sync(FULL, sums[0], 31);
            sequences += __shfl_sync(FULL, sums[1], 31);
            done += found;
            least += held;
            if (status == GOOD && least > stream.target_bytes) status = UNUSUAL;
        }
        if (status == GOOD && seen == 0) status = DAMAGED;
        if (!listing && lane == 0) {
            const Counts count = {done, literals, sequences, checks};
            const Counts nothing = {0, 0, 0, 0};
            counts[s] = status ? nothing : count;
            statuses[s] = status;
        }
    }
}
