// The kernel; see 1_words.cu.

extern "C" __global__ void __launch_bounds__(256, 4) scatter(
    const Tile* __restrict__ tiles, u8* __restrict__ out, int cols, int bands, i64 row_bytes,
    i64 band_stride, i64 row_stride, i64 col_stride)
{
    // grid.y walks the tiles, grid.x the rows of one, or the (row, band) pairs: neighbouring warps share a row's bytes
    const Tile tile = tiles[blockIdx.y];
    const int together = BANDS ? 1 : tile.bands;
    const i64 parts = (i64)tile.rows * together;
    for (i64 part = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); part < parts;
         part += (i64)gridDim.x * (blockDim.x >> 5)) {
        const int y = (int)(part / together), wanted = (int)(part % together);
        const u8* row = reinterpret_cast<const u8*>(tile.source) + (i64)(tile.first_row + y) * row_bytes;
        u8* target = out + tile.target + wanted * band_stride + y * row_stride;
        const int first = tile.first_col, last = tile.first_col + tile.cols;
#if BANDS
        scatter_row(row, cols, tile.first_band, tile.bands, target, band_stride, col_stride, first, last);
#else
        scatter_band(row, tile.first_band + wanted, cols, bands, target, col_stride, first, last);
#endif
    }
}
