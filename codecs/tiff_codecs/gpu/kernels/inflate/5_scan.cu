// The kernel scan: the blocks of each segment; see 1_streams.cu.

// What a block gave: the same for all threads
struct Block {
    u32 first, final, windows;   // its first and last window, and how many
    u32 end;                     // bit behind it
    u32 last;                    // whether it is the stream's last
    u32 status;
    u64 bytes;
};

// One block, by all threads, whose header stands at `bit`; `offset` is the segment's bytes before it.
__device__ Block scan_block(Scan& shared, const Bits& bits, u32 bit, u64 offset, const Pools& pools) {
    const u32 t = threadIdx.x;
    Block block = {NONE, NONE, 0, 0, 0, GOOD, 0};
    __syncthreads();
    u32 skew = stage(shared.words, bits, bit);
    for (u32 s = t; s < LENGTHS; s += THREADS) shared.lengths[s] = 0;
    __syncthreads();
    if (t < 32) {
        const u32 head = peek(shared.words, skew), kind = bit + 3 > bits.end ? 3 : head >> 1 & 3;
        u32 data = NONE, place = NONE;
        if (kind == 2) {
            data = read_lengths(shared, skew + 3, t);
            if (data != NONE) data = data - skew + bit;
        } else if (kind == 1) {
            data = bit + 3;
        } else if (kind == 0) {
            const u32 at = (bit + 3 + 7) & ~7u, sizes = bits.at(at), size = sizes & 0xffff;
            if ((u64)at + 32 <= bits.end && (sizes >> 16 ^ size) == 0xffff && (u64)at + 32 + 8 * size <= bits.end) {
                data = at + 32;
                place = size;
            }
        }
        if (t == 0) {
            shared.kind = kind;
            shared.last = head & 1;
            shared.bit = data != NONE && data > bits.end ? NONE : data;
            shared.place = place;
        }
    }
    __syncthreads();
    const u32 kind = shared.kind;
    u32 base = shared.bit, codes = NONE;
    block.last = shared.last;
    block.status = DAMAGED;
    if (base == NONE) return block;
    if (kind == 0) {
        block.bytes = shared.place;
        block.end = base + 8 * shared.place;
    } else {
        if (kind == 1)
            for (u32 s = t; s < LENGTHS; s += THREADS)
                shared.lengths[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : s < 288 ? 8 : 5;
        __syncthreads();
        bool good = true;
        if (t >> 5 == 0) good = sort_symbols(shared.lengths, 288, shared.codes.literals, shared.counts[0], t & 31);
        if (t >> 5 == 1) good = sort_symbols(shared.lengths + 288, 32, shared.codes.distances, shared.counts[1], t & 31);
        if (t == 64) {
            const u32 c = atomicAdd(&pools.used[1], 1u);
            shared.place = c < pools.most_codes ? c : NONE;
        }
        if (__syncthreads_or(!good)) return block;
        codes = shared.place;
        if (codes == NONE) {
            block.status = CROWDED;
            return block;
        }
        u32* to = reinterpret_cast<u32*>(pools.codes + codes);
        const u32* from = reinterpret_cast<const u32*>(&shared.codes);
        for (u32 i = t; i < sizeof(Codes) / 4; i += THREADS) to[i] = from[i];
        fill_tables(shared.tables, shared.codes);
    }
    if (kind == 0) {
        if (t == 0) {
            const u32 w = atomicAdd(&pools.used[0], 1u);
            shared.window = w < pools.most_windows ? w : NONE;
            if (w < pools.most_windows) {
                const Window window = {base, STORED, NONE, shared.place, NONE, (u32)offset, 0, 0};
                pools.windows[w] = window;
            }
        }
        __syncthreads();
        block.status = shared.window == NONE ? CROWDED : GOOD;
        block.first = block.final = shared.window;
        block.windows = 1;
        return block;
    }
    for (;;) {
        skew = stage(shared.words, bits, base);
        __syncthreads();
        const u32 begin = skew + t * SPAN;
        // what it gave from another start, of which there may be only two in a run
        Span other = {NONE, 0, NONE, 0, 0, 0, NONE, 0};
        u32 start = begin;
        if (t) {
            // begin a little before the span, and be in step when it is reached
            Span ignored = other;
            u32 nothing = 0;
            start = begin > skew + WARMUP ? begin - WARMUP : skew;
            count_on(shared.words, shared.tables, start, begin, nothing, ignored, 1);
        }
        Span span = count(shared.words, shared.tables, start, begin, other);
        for (int round = 0;; round++) {
            shared.ends[t] = span.stop;
            if (t == 0) shared.first_end = THREADS;
            __syncthreads();
            if (span.end != NONE) atomicMin(&shared.first_end, t);
            if (t == 0) shared.front = THREADS;
            const u32 due = t ? shared.ends[t - 1] : begin;
            __syncthreads();
            bool wrong = t <= shared.first_end && due != span.start;
            if (!__syncthreads_or(wrong)) break;
            if (round >= PATIENCE) {
                // in long runs none but the first is put right by this, and the others only hold it up
                if (wrong) atomicMin(&shared.front, t);
                __syncthreads();
                wrong = t == shared.front;
            }
            if (wrong) {
                const Span kept = span;
                if (other.start == due) span = other;
                else span = count(shared.words, shared.tables, due, begin, kept);
                other = kept;
            }
        }
        const u32 last = min(shared.first_end, (u32)THREADS - 1);
        const bool valid = t <= last, ended = shared.first_end < THREADS;
        u32 total, windows;
        const u32 before = sum_before(valid ? span.bytes : 0, shared.sums, total);
        // a window begins where the room for the one before it is spent
        shared.ends[t] = before / FEW;
        __syncthreads();
        const bool leads = valid && (t == 0 || shared.ends[t] != shared.ends[t - 1]);
        const u32 rank = sum_before(leads, shared.sums, windows);
        if (t == last) shared.bit = (span.end != NONE ? span.end : span.stop) - skew + base;
        if (t == 96) {
            const u32 w = atomicAdd(&pools.used[0], windows), set = atomicAdd(&pools.used[2], 1u);
            const bool room = (u64)w + windows <= pools.most_windows && set < pools.most_sets;
            shared.window = room ? w : NONE;
            shared.place = set;
        }
        const bool bad = __syncthreads_or(valid && span.bad != 0);
        // of each window, where it begins: in spans and in bytes
        if (leads) {
            shared.ends[rank] = t;
            shared.words[rank] = before;
        }
        __syncthreads();
        const u32 w = shared.window, set = shared.place;
        block.status = DAMAGED;
        if (bad || shared.bit > bits.end) return block;
        block.status = CROWDED;
        if (w == NONE) return block;
        pools.spans[(u64)set * THREADS + t] = (span.start - begin) << 24 | (before & 0xffffff);
        if (leads) {
            const bool final = rank + 1 == windows;
            const u32 behind = final ? last + 1 : shared.ends[rank + 1], bytes = final ? total : shared.words[rank + 1];
            const Window window = {base, t << 16 | (behind - t), codes, bytes - before, final ? NONE : w + rank + 1,
                                   (u32)(offset + block.bytes + before), set, before};
            pools.windows[w + rank] = window;
        }
        if (t == 0 && block.final != NONE) pools.windows[block.final].next = w;
        if (block.first == NONE) block.first = w;
        block.final = w + windows - 1;
        block.windows += windows;
        block.bytes += total;
        block.end = base = shared.bit;
        block.status = DAMAGED;
        if (offset + block.bytes > 0xfffffff0ull) return block;
        if (ended) break;
        __syncthreads();
    }
    block.status = GOOD;
    return block;
}

extern "C" __global__ void __launch_bounds__(THREADS, SCAN_BLOCKS) scan(
    const Stream* streams, const Piece* pieces, u32 first, u32 number, const u32* firsts, u32 stream_number,
    const u32* starts, Segment* segments, u32* ticket,
    Window* windows, u32* spans, Codes* codes, u32 most_windows, u32 most_sets, u32 most_codes, u32* used)
{
    extern __shared__ __align__(16) u8 memory[];
    Scan& shared = *reinterpret_cast<Scan*>(memory);
    __shared__ u32 taken;
    const Pools pools = {windows, spans, codes, most_windows, most_sets, most_codes, used};
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(ticket, 1u);
        __syncthreads();
        const u32 p = first + taken;
        if (p >= number) return;
        u32 bit = starts[p];
        if (bit == NONE) continue;
        const u32 s = pieces[p].stream, end = s + 1 < stream_number ? firsts[s + 1] : number;
        const Stream stream = streams[s];
        const Bits bits(stream);
        Segment segment = {NONE, 0, NONE, GOOD, 0, 0, 0, 0};
        u32 before = NONE, next = p + 1;
        for (;;) {
            const Block block = scan_block(shared, bits, bit, segment.bytes, pools);
            if (block.status != GOOD) {
                segment.status = block.status;
                break;
            }
            if (before == NONE) segment.first = block.first;
            else if (threadIdx.x == 0) windows[before].next = block.first;
            before = block.final;
            segment.count += block.windows;
            segment.bytes += block.bytes;
            bit = block.end;
            if (block.last || segment.bytes > stream.target_bytes) break;
            while (next < end && (starts[next] == NONE || starts[next] < bit)) next++;
            if (next < end && starts[next] == bit) {
                segment.next = next;
                break;
            }
        }
        if (threadIdx.x == 0) segments[p] = segment;
    }
}
