// DEFLATE (RFC 1951), parallel inside a tile.
//
// A Huffman-coded block can be decoded from many places at once, since decoders that begin at a wrong bit soon fall into
// step with the right one (Weissenberger and Schmidt, "Massively Parallel Huffman Decoding on GPUs", ICPP 2018). Four
// kernels follow one another:
//
//   find    cuts each stream into segments, and looks in each for the first header of a block with codes of its own
//   scan    walks the blocks of each segment, in windows of THREADS * SPAN bits, only to learn where symbols begin and how
//           many bytes they make
//   merge   puts the segments of each stream together: one that began at no true header is passed by
//   write   decodes the windows again, now knowing where each begins in bits and in bytes, and writes them in order
//
// Matches are written as references, resolved in shared memory by pointer jumping; what they take from before the window is
// read from the output, once the windows before it are there. Every access is bounded by the lengths given: a damaged
// stream ends in a status, never outside.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef THREADS
#define THREADS 256
#endif
#ifndef SPAN
#define SPAN 264      // bits of a window that one thread takes: no multiple of 256, so that spans lie in different banks
#endif
#ifndef WARMUP
#define WARMUP 96     // bits before its span where a thread begins, to be in step when it gets there
#endif
#ifndef ROOM
#define ROOM 20480    // bytes of output held in shared memory
#endif
#ifndef SHORT
#define SHORT 16      // bytes of a match that its thread writes by itself
#endif
#ifndef SCAN_BLOCKS
#define SCAN_BLOCKS 8     // blocks of threads that a multiprocessor shall hold
#endif
#ifndef WRITE_BLOCKS
#define WRITE_BLOCKS 1
#endif
#ifndef PATIENCE
#define PATIENCE 6    // rounds in which all spans that began wrongly are decoded again
#endif
#ifndef HOPS
#define HOPS 8        // references followed at a time
#endif
#define WARPS (THREADS / 32)
#define WORDS (THREADS * SPAN / 32 + 8)
#define NONE 0xffffffffu
#define FULL 0xffffffffu
#define STORED 0x80000000u

#define LITERAL_BITS 11
#define DISTANCE_BITS 10
#define LONG_LITERALS (143 * 16)   // 286 symbols make at most 143 prefixes of longer codes
#define LONG_DISTANCES (15 * 32)
#define LENGTHS 320          // code lengths of a block: 288 of literals and lengths, 32 of distances
#define HISTORY 256u         // entries of the output room: bytes below, then places before the room ...
#define INSIDE (256u + 32768u)   // ... and places inside it

enum Status { GOOD = 0, DAMAGED = 1, CROWDED = 2 };

struct Stream {
    u64 source, source_bytes;   // address and length of the compressed bytes
    u64 target, target_bytes;   // address of the output, and how much of it is wanted
};

// A run of up to THREADS spans of one block that make no more bytes than there is room for, if no single one does
struct Window {
    u32 bit;       // where the first of THREADS spans begins, from the stream's first byte
    u32 spans;     // the window's first << 16 | how many; STORED for a stored block
    u32 codes;     // which codes
    u32 bytes;     // output
    u32 next;      // the window behind it, NONE for the last of a segment
    u32 offset;    // bytes of the segment before it
    u32 set;       // which set of spans
    u32 begin;     // bytes of that set before the window
};

struct Segment {
    u32 first, count;    // its windows
    u32 next;            // the segment behind it, NONE at the end of the stream
    u32 status;
    u64 bytes;           // output
    u64 offset;          // of the stream before it
    u32 place, used;     // of its first window among the stream's; whether the stream passes through it
};

// A canonical code: symbols sorted, and for each length the first value behind its codes, left-justified to 15 bits
struct Code {
    u32 limit[16];
    int first[16];    // rank of a code of length n is its value + first[n]
    u16 sorted[288];
};

struct Codes {
    Code literals, distances;
};

struct Pools {
    Window* windows;
    u32* spans;          // sets of THREADS: bits past the span's begin << 24 | bytes of the set before it
    Codes* codes;
    u32 most_windows, most_sets, most_codes;
    u32* used;           // [0] windows, [1] codes, [2] sets of spans
};

#define FEW (ROOM - ROOM / 8)   // bytes of a window before its last span

__constant__ u8 order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};


// The words of a stream from an aligned address on; bits are counted from its first byte.
struct Bits {
    const u32* words;
    u32 skew, end, last;   // bits before the first byte; bits of the stream; index of its last word

    __device__ __forceinline__ Bits(const Stream& s) {
        words = reinterpret_cast<const u32*>(s.source & ~3ull);
        skew = (u32)(s.source & 3) * 8;
        end = (u32)s.source_bytes * 8;
        last = end ? (u32)((skew + (u64)end - 1) >> 5) : 0;
    }
    __device__ __forceinline__ u32 word(u32 index) const { return index <= last && end ? __ldg(words + index) : 0; }
    // 32 bits from `bit` on; zeros past the end
    __device__ __forceinline__ u32 at(u32 bit) const {
        const u64 b = (u64)bit + skew;
        const u32 i = (u32)(b >> 5);
        return bit < end ? __funnelshift_r(word(i), word(i + 1), (u32)b & 31) : 0;
    }
};

// The part of a stream from `bit` on, in shared memory; returns the bits before it there.
__device__ __forceinline__ u32 stage(u32* words, const Bits& bits, u32 bit) {
    const u64 b = (u64)bit + bits.skew;
    const u32 first = (u32)(b >> 5);
    for (u32 w = threadIdx.x; w < WORDS; w += THREADS) words[w] = bits.word(first + w);
    return (u32)b & 31;
}

__device__ __forceinline__ u32 peek(const u32* words, u32 at) {
    const u32 w = at >> 5;
    return __funnelshift_r(words[w], words[w + 1], at & 31);
}
