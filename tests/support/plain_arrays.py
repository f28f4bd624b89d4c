"""Arrays that zarr writes, no TIFF in sight: their chunks put into one file, and referred to as VirtualiZarr does."""

from __future__ import annotations

import gzip

import numpy as np
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup, ManifestStore
from zarr.codecs import BytesCodec, GzipCodec, ZstdCodec
from zarr.codecs import numcodecs as others

CODECS = {
    "gzip": GzipCodec(level=6),
    "numcodecs.gzip": others.GZip(level=1),
    "numcodecs.lz4": others.LZ4(),
    "numcodecs.zlib": others.Zlib(level=6),
    "numcodecs.zstd": others.Zstd(level=3),
    "zstd": ZstdCodec(level=3),
}

FORMS = {
    "bytes": ("u1", (300, 301), (64, 48), "little"),
    "words": ("i2", (257, 129), (100, 129), "little"),
    "planes of floats": ("f4", (3, 100, 90), (1, 33, 90), "little"),
    "swapped": ("u4", (3, 100, 90), (1, 40, 17), "big"),
    "four axes": ("i8", (2, 2, 40, 50), (1, 1, 16, 50), "little"),
    "complex": ("c8", (65, 70), (64, 32), "big"),
    "doubles": ("f8", (65, 70), (1, 70), "little"),
    "odd lengths": ("u1", (40, 41), (3, 5), "little"),
}
"""Data type, shape, shape of the chunks and byte order."""


def pixels(dtype, shape, seed=0):
    """Numbers with some order along the rows."""
    random = np.random.default_rng(seed)
    steps = random.integers(-3, 4, shape).cumsum(axis=-1)
    return (steps + (0.5j * steps[..., ::-1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


def store(folder, values, chunks, codec, *, endian="little", edit=None):
    """Let zarr write an array, and refer to its chunks.

    Args:
        folder: where the file goes.
        values: what the array holds.
        chunks: shape of its chunks.
        codec: a key of `CODECS`.
        endian: byte order of the chunks.
        edit: `(place in the grid, bytes)` to the bytes that the file shall have of a chunk.

    Returns:
        VirtualiZarr's store with the array `a`.
    """
    with zarr.config.set({"buffer": "zarr.buffer.cpu.Buffer", "ndbuffer": "zarr.buffer.cpu.NDBuffer"}):
        written = zarr.create_array(
            folder / "written", shape=values.shape, chunks=chunks, dtype=values.dtype, filters=[], fill_value=0,
            serializer=BytesCodec(endian=endian), compressors=[CODECS[codec]], config={"write_empty_chunks": True},
        )  # fmt: skip
        written[...] = values
    content, entries = bytearray(b"\x1f\x8b\x08"), {}
    for place in np.ndindex(*written.cdata_shape):
        data = folder.joinpath("written", "c", *map(str, place)).read_bytes()
        data = edit(place, data) if edit else data
        path = (folder / "chunks.bin").as_uri()
        entries[".".join(map(str, place))] = {"path": path, "offset": len(content), "length": len(data)}
        content += data + b"\xff" * (len(data) % 3)
    (folder / "chunks.bin").write_bytes(content)
    array = ManifestArray(metadata=written.metadata, chunkmanifest=ChunkManifest(entries=entries))
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    return ManifestStore(ManifestGroup(arrays={"a": array}), registry=registry)


def again(data):
    """What a gzip member holds, and nothing else."""
    return gzip.decompress(data)


def with_header(data, flags, fields):
    """The same member with further fields in its header."""
    return data[:3] + bytes([flags]) + data[4:10] + fields + data[10:]


MEMBERS = {
    "two members": lambda data: gzip.compress(again(data)[:1001]) + gzip.compress(again(data)[1001:]),
    "an empty one behind": lambda data: data + gzip.compress(b""),
    "an empty one before": lambda data: gzip.compress(b"") + data,
    "zeros behind": lambda data: data + bytes(7),
    "a name": lambda data: with_header(data, 8, b"chunk.bin\0"),
    "further fields": lambda data: with_header(data, 4, b"\3\0abc"),
    "stored": lambda data: gzip.compress(again(data), 0),
}
"""Other gzip streams that hold the same."""


def flipped(data, place):
    """The bytes with one wrong bit."""
    wrong = bytearray(data)
    wrong[place] ^= 16
    return bytes(wrong)


DAMAGE = {
    "gzip": {
        "magic": lambda data: flipped(data, 0),
        "length": lambda data: flipped(data, -1),
        "checksum": lambda data: flipped(data, -5),
        "stream": lambda data: data[: len(data) // 2] + b"\xa5" * 20 + data[len(data) // 2 + 20 :],
        "cut": lambda data: data[:-9],
        "nearly all cut": lambda data: data[:11],
        "less": lambda data: gzip.compress(again(data)[:-1]),
    },
    "numcodecs.lz4": {
        "more": lambda data: (int.from_bytes(data[:4], "little") + 1).to_bytes(4, "little") + data[4:],
        "less": lambda data: (int.from_bytes(data[:4], "little") - 1).to_bytes(4, "little") + data[4:],
        "cut": lambda data: data[: len(data) // 2],
        "nearly all cut": lambda data: data[:3],
    },
}
"""What may be wrong with a chunk, by codec."""
