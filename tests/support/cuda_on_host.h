// What lets g++ compile a CUDA kernel for the CPU: the threads of a block are fibers that change at barriers. Slow, and
// strict: a barrier that not all threads of a block or warp come to ends the process.
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define __global__
#define __device__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static   // one block runs at a time

struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct dim3 { unsigned x, y, z; };
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static dim3 threadIdx, blockIdx, gridDim;
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }

namespace host {
enum State { READY, AT_WARP, AT_BLOCK, ENDED };
struct Fiber { ucontext_t context; std::vector<char> stack; State state; unsigned value; int voted; };
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static int votes;
typedef void (*Kernel)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
static Kernel kernel;
static uint64_t arguments[8];

static void wait(State state) {
    Fiber& self = fibers[threadIdx.x];
    self.state = state;
    swapcontext(&self.context, &scheduler);
}
static void body() {
    const uint64_t* a = arguments;
    kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    fibers[threadIdx.x].state = ENDED;
}
static void run_block(unsigned threads) {
    if (fibers.size() != threads) fibers.resize(threads);
    for (Fiber& fiber : fibers) {
        if (fiber.stack.empty()) fiber.stack.resize(1 << 16);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        makecontext(&fiber.context, body, 0);
        fiber.state = READY;
    }
    for (;;) {
        bool ran = false, all_at_block = true, all_ended = true;
        for (unsigned t = 0; t < threads; t++)
            if (fibers[t].state == READY) {
                threadIdx.x = t;
                swapcontext(&scheduler, &fibers[t].context);
                ran = true;
            }
        for (unsigned w = 0; w < threads; w += 32) {
            bool all = true;
            for (unsigned t = w; t < w + 32 && t < threads; t++) all &= fibers[t].state == AT_WARP;
            if (all) {
                ran = true;
                for (unsigned t = w; t < w + 32 && t < threads; t++) fibers[t].state = READY;
            }
        }
        votes = 0;
        for (Fiber& fiber : fibers) {
            all_ended &= fiber.state == ENDED;
            all_at_block &= fiber.state == AT_BLOCK;
            votes |= fiber.voted;
        }
        if (all_ended) return;
        if (all_at_block)
            for (Fiber& fiber : fibers) fiber.state = READY;
        else if (!ran) {
            std::fprintf(stderr, "threads wait at different barriers\n");
            std::abort();
        }
    }
}
}   // namespace host

static inline void __syncthreads() { host::wait(host::AT_BLOCK); }
static inline int __syncthreads_or(int vote) {
    const unsigned t = threadIdx.x;
    host::fibers[t].voted = vote;
    host::wait(host::AT_BLOCK);
    const int result = host::votes;
    host::wait(host::AT_BLOCK);
    host::fibers[t].voted = 0;
    return result;
}
static inline unsigned __shfl_up_sync(unsigned, unsigned value, unsigned distance) {
    const unsigned t = threadIdx.x;
    host::fibers[t].value = value;
    host::wait(host::AT_WARP);
    const unsigned result = (t & 31) >= distance ? host::fibers[t - distance].value : value;
    host::wait(host::AT_WARP);
    return result;
}
static inline unsigned __ballot_sync(unsigned, int vote) {
    const unsigned t = threadIdx.x, first = t & ~31u;
    host::fibers[t].value = vote != 0;
    host::wait(host::AT_WARP);
    unsigned result = 0;
    for (unsigned i = 0; i < 32; i++) result |= host::fibers[first + i].value << i;
    host::wait(host::AT_WARP);
    return result;
}
static inline void atomicMin(unsigned* place, unsigned value) { *place = std::min(*place, value); }
static inline int __popc(unsigned word) { return __builtin_popcount(word); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}

extern "C" void launch(void* kernel, unsigned x, unsigned y, unsigned threads, const uint64_t* arguments, unsigned count) {
    host::kernel = (host::Kernel)kernel;
    for (unsigned i = 0; i < 8; i++) host::arguments[i] = i < count ? arguments[i] : 0;
    gridDim = {x, y, 1};
    for (blockIdx.y = 0; blockIdx.y < y; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < x; blockIdx.x++) host::run_block(threads);
}
