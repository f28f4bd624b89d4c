"""Compressed tiles in device memory to decompressed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tiff_codecs.gpu import jpeg, nvcomp, zstd
from tiff_codecs.gpu.decompressed import Decompressed, room_for
from tiff_codecs.gpu.inflate import can_inflate
from tiff_codecs.gpu.lzw import can_decode_lzw, decode_lzw
from tiff_codecs.gpu.packbits import packbits
from tiff_codecs.gpu.zlib_streams import decode_deflate, decode_gzip
from tiff_codecs.jpeg import JpegCodec

if TYPE_CHECKING:
    from collections.abc import Callable

    import cupy
    from numpy.typing import NDArray

    from tiff_codecs.gpu.fetch import Fetched
    from tiff_codecs.gpu.plan import ReadPlan

__all__ = ["decompress", "device_decoder"]

LZ4_HEADER: Final = 4
"""Bytes in front of an LZ4 block, which say how many bytes it holds."""


def device_decoder(plan: ReadPlan) -> Callable[[ReadPlan, Fetched, cupy.cuda.Stream], Decompressed] | None:
    """The function that decompresses the tiles of `plan` on the device, None where there is none."""
    if plan.codec is not None:
        return _jpeg if isinstance(plan.codec, JpegCodec) and _can_jpeg(plan) else None
    lengths = plan.length.astype(np.uint64), plan.decoded_bytes.astype(np.uint64)
    return _DEVICE.get(plan.compression.name) if _fits(plan.compression.name, *lengths) else None


def _fits(name: str, source_bytes: NDArray[np.uint64], target_bytes: NDArray[np.uint64]) -> bool:
    """Whether a compression's decoder is there and takes streams of these lengths."""
    match name:
        case "deflate" | "gzip":
            return nvcomp.is_available() or can_inflate(source_bytes, target_bytes)
        case "lz4":
            return nvcomp.is_available() and bool((target_bytes <= nvcomp.MOST_LZ4).all())
        case "lzw":
            return can_decode_lzw(source_bytes, target_bytes)
        case "zstd":
            return zstd.can_decode(source_bytes, target_bytes)
        case _:
            return True


def decompress(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    """Decompress all tiles on the device, queued on `stream`.

    Args:
        plan: the tiles; there must be a `device_decoder` for it.
        fetched: their bytes.
        stream: where the work is queued, and the current one.
    """
    decoder = device_decoder(plan)
    assert decoder is not None  # noqa: S101 - the caller asks first
    if plan.fill_order != 1:
        fetched.wait()
        _reverse_bits(fetched.buffer)
    return decoder(plan, fetched, stream)


def _reverse_bits(data: cupy.ndarray) -> None:
    """Turn the bits of each byte round, on the current stream."""
    import cupy

    kernel = cupy.ElementwiseKernel("uint8 before", "uint8 after", "after = __brev(before) >> 24", "reverse_bits")
    kernel(data, data)


def _stored(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:  # noqa: ARG001
    fetched.wait()
    return Decompressed((fetched.buffer,), fetched.address, None)


def _zstd(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = room_for(plan)
    fetched.wait()
    outcome = zstd.decode(fetched.address, plan.length.astype(np.uint64), address, lengths, stream)
    good = (outcome.statuses == 0) & (outcome.sizes == cupy.asarray(lengths))
    return Decompressed((fetched.buffer, buffer, outcome), address, good.astype(np.int32))


def _lz4(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = room_for(plan)
    compressed = np.maximum(plan.length - LZ4_HEADER, 0).astype(np.uint64)
    fetched.wait()
    outcome = nvcomp.decompress("lz4", fetched.address + np.uint64(LZ4_HEADER), compressed, address, lengths, stream)
    wanted = cupy.asarray(lengths)
    says = fetched.words(fetched.address, 1)[:, 0]
    good = (outcome.statuses == 0) & (outcome.sizes == wanted) & (says == wanted)
    return Decompressed((fetched.buffer, buffer, outcome), address, good.astype(np.int32))


def _lzw(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = room_for(plan)
    fetched.wait()
    outcome = decode_lzw(fetched.address, plan.length.astype(np.uint64), address, lengths, stream)
    good = (outcome.statuses == 0) & (outcome.sizes == cupy.asarray(lengths))
    return Decompressed((fetched.buffer, buffer, outcome), address, good.astype(np.int32))


def _can_jpeg(plan: ReadPlan) -> bool:
    rows = np.maximum(plan.stored_rows, plan.tile_rows or 0)
    fits = jpeg.can_decode(plan.length, rows, plan.tile_cols, plan.tile_bands)
    return fits and jpeg.is_supported(plan.layout.dtype, plan.tile_bands)


def _jpeg(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    assert isinstance(plan.codec, JpegCodec)  # noqa: S101 - see `device_decoder`
    buffer, address, _ = room_for(plan)
    fetched.wait()
    outcome = jpeg.decode(
        fetched.address,
        plan.length,
        address,
        plan.stored_rows,
        stream,
        whole_rows=plan.tile_rows,
        cols=plan.tile_cols,
        bands=plan.tile_bands,
        tables=plan.codec.table_bytes,
        ycbcr_to_rgb=plan.codec.ycbcr_to_rgb,
    )
    return Decompressed((fetched.buffer, buffer, outcome), address, (outcome.statuses == 0).astype(np.int32))


def _packbits(plan: ReadPlan, fetched: Fetched, stream: cupy.cuda.Stream) -> Decompressed:
    import cupy

    buffer, address, lengths = room_for(plan)
    fetched.wait()
    outcome = packbits(fetched.address, plan.length.astype(np.uint64), address, lengths, stream)
    good = (outcome.sizes == cupy.asarray(lengths)).astype(np.int32)
    return Decompressed((fetched.buffer, buffer, outcome), address, good)


_DEVICE: Final[dict[str, Callable[[ReadPlan, Fetched, cupy.cuda.Stream], Decompressed]]] = {
    "none": _stored,
    "deflate": decode_deflate,
    "gzip": decode_gzip,
    "lz4": _lz4,
    "lzw": _lzw,
    "zstd": _zstd,
    "packbits": _packbits,
}
"""What decodes each compression on the device; those to come plug in here."""
