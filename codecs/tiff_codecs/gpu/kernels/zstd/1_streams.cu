// Zstandard (RFC 8878), parallel inside a tile.
//
// The blocks of a frame name their own sizes, and what one needs of those before it is little: tables, which can be built
// anew from where they are described, and three repeat offsets, which are carried as unknowns. So all blocks of all tiles
// are decoded at once. The kernels follow one another:
//
//   frames    one warp a stream hops from block to block; first to count, then, with room for all, to list them
//   decode    Huffman-coded literals, a lane for each of a block's four streams; and sequences, a lane a block
//   places    how many bytes come before each block, and which repeat offsets it begins with
//   write     windows of the output in order: sequences are spread to one source for each byte, sources inside the window
//             are followed by pointer jumping, and bytes are fetched from literals and from the output before
//   checksum  XXH64 of the frames that have one
//
// Every access is bounded by the lengths given: a damaged stream ends in a status, never outside.

typedef unsigned char u8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef WINDOW_BITS
#define WINDOW_BITS 13    // bytes of output that are written at a time, in bits
#endif
#ifndef GROUP
#define GROUP 8           // blocks that a block of threads decodes
#endif
#define WINDOW (1u << WINDOW_BITS)
#define WRITERS (1 << (WINDOW_BITS - 5))   // threads that write a window, 32 bytes each
#define LARGEST (1u << 17)               // bytes that one block of a frame may have
#define WINDOWS (LARGEST >> WINDOW_BITS)
#define NONE 0xffffffffu
#define FULL 0xffffffffu
#define HUFFMAN_BITS 11

enum Status { GOOD = 0, DAMAGED = 1, UNUSUAL = 2 };   // 2: for a decoder that knows more, or has more room
enum Literals { RAW = 0, RUN = 1, CODED = 2, AGAIN = 3 };
enum Mode { DEFAULT = 0, SINGLE = 1, DESCRIBED = 2, REPEATED = 3 };
enum Flag { FIRST = 1, LAST = 2, SIZED = 4, CHECKED = 8 };
enum Table { LENGTH = 0, OFFSET = 1, MATCH = 2 };     // in the order of a block

// An offset is a number of bytes, or one of the three repeat offsets that the block begins with, less some number
#define UNKNOWN (1u << 29)
#define UNKNOWN_LESS ((1u << 27) - 1)

struct Stream {
    u64 source, source_bytes;   // address and length of the compressed bytes
    u64 target, target_bytes;   // address of the output, and how much of it is wanted
};

struct Counts {
    u32 blocks, literals, sequences, checks;   // literals in units of 16 bytes
};

struct Bases {
    u64 block, literals, sequence;   // of a stream's first one
    u64 rank;                        // of the stream among all, longest first
};

struct Block {
    u32 stream, flags;
    u32 kind, literals;          // of literals, and how many; a raw block is one without sequences
    u32 at, packed, streams;     // of literals: where the bytes begin, from the stream's first on, how many, in how many streams
    u32 huffman;                 // the block that describes the codes of literals
    u32 sequences, modes, end;   // how many, where the byte with the modes stands, the block's end
    u32 tables[3];               // the blocks that describe the tables of sequences
    u32 limit;                   // bytes that the block may have
    u32 check;                   // where the checksum stands
    u64 content;                 // bytes that the frame says it has, in its last block
    u64 literal_place, sequence_place;
    // of decode
    u32 bytes, tail_at, tail_literal;   // output; where the literals behind the last sequence begin in it, and among literals
    u32 repeats[3];
    u32 marks[WINDOWS];          // the sequence that each window begins in
    // of places
    u32 offset, begin;           // of the block, and of its frame, in the output
    u32 initial[3];
};
#ifdef BLOCK_BYTES
static_assert(sizeof(Block) == BLOCK_BYTES, "the host gives room for them");
#endif

// The first bits of a word, as many as the last five bits of `count` say
__device__ __forceinline__ u32 leading(u32 word, u32 count) { return __funnelshift_l(word, 0, count); }

// A sequence: where its output begins in the block (17 bits), the literals before it (17), the offset (30)
__device__ __forceinline__ u64 packed(u32 out, u32 literal, u32 offset) {
    return (u64)out | (u64)literal << 17 | (u64)offset << 34;
}

__device__ __forceinline__ u32 highest(u32 value) { return 31 - __clz(value); }   // of the bits that are set; not of 0

// The bytes of a stream; zeros outside
struct Bytes {
    const u8* data;
    u32 size;

    __device__ __forceinline__ u32 at(u32 i) const { return i < size ? __ldg(data + i) : 0; }
    __device__ __forceinline__ u32 little(u32 i, int count) const {
        u32 value = 0;
        for (int k = 0; k < count; k++) value |= at(i + k) << (8 * k);
        return value;
    }
};

// Where the bits of bytes [begin, end) are read, from the highest of the last byte down; an end mark precedes them. Bits are
// counted from an aligned address, and no other 16 bytes are read than those the stream has a byte in.
struct Backward {
    const uint4* chunks;   // of the whole stream
    int top, bottom;       // behind the next bit, and where the last begins; below there may be anything

    // Returns false where there is no end mark.
    __device__ __forceinline__ bool start(const Bytes& bytes, u32 begin, u32 end) {
        const u32 mark = end > begin ? bytes.at(end - 1) : 0;
        const u32 skew = (u32)((u64)bytes.data & 15);
        chunks = reinterpret_cast<const uint4*>((u64)bytes.data & ~15ull);
        bottom = 8 * (skew + begin);
        top = mark ? (int)(8 * (skew + end - 1) + highest(mark)) : bottom;
        return mark != 0;
    }
};

#define RING_CHUNKS 32
#define RING_WORDS (4 * RING_CHUNKS)

// The part of a stream that is read next, in shared memory
struct Ring {
    __align__(16) u32 mirror[4];   // of the last chunk, so that words one below another are so here
    u32 words[RING_WORDS];

    // A word, with the three below it before it
    __device__ __forceinline__ const u32* at(int index) const { return words + (index & (RING_WORDS - 1)); }
};

__device__ __forceinline__ void copy_chunk(u32* to, const uint4* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
#else
    *reinterpret_cast<uint4*>(to) = __ldg(from);
#endif
}

__device__ __forceinline__ void await_chunks() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncwarp();
}

// One warp: have the rings of NUMBER streams filled, each read by the lane of its number. What is copied now is there after
// the next await_chunks(). `due` is the next chunk to be copied.
template <int NUMBER>
__device__ __forceinline__ void fill_rings(Ring* rings, const Backward& bits, int& due, int lane) {
    constexpr int lanes = 32 / NUMBER;
    const int which = lane / lanes, now = (bits.top - 1) >> 7;
    const int beyond = __shfl_sync(FULL, now, which) - RING_CHUNKS;
    const uint4* from = reinterpret_cast<const uint4*>(__shfl_sync(FULL, (u64)bits.chunks, which));
    int chunk = __shfl_sync(FULL, due, which) - lane % lanes;
    __syncwarp();   // all have read what is overwritten now
    for (; __any_sync(FULL, chunk > beyond); chunk -= lanes)
        if (chunk > beyond && chunk >= 0) {
            const int slot = chunk & (RING_CHUNKS - 1);
            copy_chunk(rings[which].words + 4 * slot, from + chunk);
            if (slot == RING_CHUNKS - 1) copy_chunk(rings[which].mirror, from + chunk);
        }
    due = min(due, now - RING_CHUNKS);
}
