"""From the chunks of an array to byte ranges of files: manifests of VirtualiZarr and of Icechunk, read in bulk."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tiff_codecs.references import icechunk
from tiff_codecs.references.file import StoreFile, local_path
from tiff_codecs.references.ranges import MISSING, OTHERWISE, References

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["can_resolve", "chunk_coordinates", "is_manifest_store", "resolve"]

INLINED: Final = "__inlined__"


def can_resolve(store: Any) -> bool:  # noqa: ANN401 - any Zarr store
    """Whether byte ranges can be had from `store`: VirtualiZarr's ManifestStore, or Icechunk's."""
    return is_manifest_store(store) or icechunk.is_store(store)


def resolve(store: Any, array_path: str, coordinates: NDArray[np.int64], keys: Sequence[str]) -> References:  # noqa: ANN401
    """Look chunks up, of files that the store may read.

    VirtualiZarr's registry says which those are: a file is read through the store that it has for it, or past that
    store in the same place. Icechunk is asked, see `tiff_codecs.references.icechunk.resolve`.

    Args:
        store: one that `can_resolve` accepts.
        array_path: path of the array in the store.
        coordinates: positions in the chunk grid, shape (chunks, axes).
        keys: what zarr asks the store for, one for each chunk.

    Raises:
        TiffAccessError: Icechunk does not give a file.
        ValueError: the registry has no store for a file.
    """
    if is_manifest_store(store):
        return _from_manifest(store, array_path, coordinates)
    return icechunk.resolve(store, array_path, coordinates, keys)


def chunk_coordinates(metadata: Any, paths: list[str], axes: int) -> tuple[str, NDArray[np.int64]]:  # noqa: ANN401
    """The array's path and the chunks' positions, of shape (chunks, axes), from the keys that zarr asks a store for."""
    encoding = metadata.chunk_key_encoding
    parts = axes + 1 if encoding.separator == "/" else 1
    head = paths[0].rsplit("/", parts)
    array_path = head[0] if len(head) > parts else ""
    skip = len(array_path) + 1 if array_path else 0
    skip += 2 if type(encoding).__name__.startswith("Default") else 0  # "c" and a separator
    text = encoding.separator.join(path[skip:] for path in paths)
    numbers = np.array(text.split(encoding.separator), dtype=np.int64)
    return array_path, numbers.reshape(len(paths), axes)


def is_manifest_store(store: Any) -> bool:  # noqa: ANN401
    """Whether `store` is VirtualiZarr's ManifestStore; does not import it."""
    module = sys.modules.get("virtualizarr.manifests.store")
    return module is not None and isinstance(store, module.ManifestStore)


def _from_manifest(store: Any, array_path: str, coordinates: NDArray[np.int64]) -> References:  # noqa: ANN401
    node = store._group  # noqa: SLF001 - VirtualiZarr has no public way to a manifest's columns
    for name in filter(None, array_path.split("/")):
        node = node[name]
    manifest = node.manifest
    index = tuple(coordinates.T)
    offset = manifest._offsets[index].astype(np.int64)  # noqa: SLF001
    length = manifest._lengths[index].astype(np.int64)  # noqa: SLF001
    paths = manifest._paths  # noqa: SLF001
    # one path for all chunks is the rule, and then takes no memory; to compare a hundred thousand texts takes time
    if not any(paths.strides):
        names, file = [str(paths.flat[0])], np.zeros(len(offset), np.int32)
    else:
        known: dict[str, int] = {}
        # by flat positions: NumPy 2.1 cannot read the texts that it took by several indices
        texts = paths.reshape(-1)[np.ravel_multi_index(index, paths.shape)].tolist()
        file = np.array([known.setdefault(path, len(known)) for path in texts], np.int32)
        names = list(known)
    special = np.array([{"": MISSING, INLINED: OTHERWISE}.get(name, 0) for name in names], np.int32)
    file = np.where(special[file] < 0, special[file], file)
    registry = store._registry  # noqa: SLF001
    files = tuple(_store_file(registry, name) for name in names)
    return References(files, file, offset, length)


def _store_file(registry: Any, url: str) -> StoreFile:  # noqa: ANN401
    if url in ("", INLINED):
        return StoreFile(url, None, None, "")
    store, path = registry.resolve(url)
    return StoreFile(url, local_path(store, path), store, path)
