// The kernel merge: segments put together; see 1_streams.cu.

// Follow each stream from segment to segment; list its windows in order, and say where each lies in the stream.
extern "C" __global__ void __launch_bounds__(64) merge(
    u32 number, u32 stream_number, const u32* firsts, const u32* starts, Segment* segments, Window* windows,
    u32* listed, u32* list, u32* places, u32* counts, u32* statuses, u64* sizes, u32* most)
{
    __shared__ u32 place;
    for (u32 s = blockIdx.x; s < stream_number; s += gridDim.x) {
        const u32 begin = firsts[s], end = s + 1 < stream_number ? firsts[s + 1] : number;
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 status = GOOD, count = 0;
            u64 bytes = 0;
            for (u32 p = begin; p != NONE;) {
                Segment& segment = segments[p];
                if (segment.status) {
                    status = segment.status;
                    break;
                }
                segment.offset = bytes;
                segment.place = count;
                segment.used = 1;
                bytes += segment.bytes;
                count += segment.count;
                p = segment.next;
            }
            if (bytes > 0xfffffff0ull) status = DAMAGED;
            if (status) count = 0;
            place = atomicAdd(listed, count);
            places[s] = place;
            counts[s] = count;
            statuses[s] = status;
            sizes[s] = bytes;
            atomicMax(most, count);
        }
        __syncthreads();
        if (counts[s] == 0) continue;
        for (u32 p = begin + threadIdx.x; p < end; p += blockDim.x) {
            if (starts[p] == NONE || !segments[p].used) continue;
            const Segment segment = segments[p];
            u32 i = place + segment.place;
            for (u32 w = segment.first; w != NONE && i < place + segment.place + segment.count; w = windows[w].next) {
                windows[w].offset += (u32)segment.offset;
                list[i++] = w;
            }
        }
    }
}
