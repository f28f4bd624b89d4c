"""References are followed past a store only where the store itself reads; needs no GPU."""

from __future__ import annotations

import gc
import os
import weakref
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import HTTPStore, LocalStore
from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup, ManifestStore

import virtual_cog
from tiff_codecs import cpu
from tiff_codecs.errors import TiffAccessError, TiffNotFoundError
from tiff_codecs.references.file import http_url
from tiff_codecs.references.resolve import resolve

FILES = 5
SECRET = b"what nobody may read"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for i in range(FILES):
        (folder / f"{i}.bin").write_bytes(bytes(range(8 * i, 8 * i + 8)))
    (tmp_path / "secret").write_bytes(SECRET)
    return folder


class Repository:
    """An array `x` of two chunks of 4 bytes in each file."""

    def __init__(self, folder, urls=None):
        self.icechunk = pytest.importorskip("icechunk")
        self.prefix = f"{folder.as_uri()}/"
        self.urls = urls or [f"{self.prefix}{i}.bin" for i in range(FILES)]
        self.storage = self.icechunk.local_filesystem_storage(str(folder.with_name("repo")))
        config = self.icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(
            self.icechunk.VirtualChunkContainer(self.prefix, self.icechunk.local_filesystem_store(str(folder)))
        )
        session = self.icechunk.Repository.create(self.storage, config).writable_session("main")
        zarr.create_array(
            session.store, name="x", shape=(4 * 2 * len(self.urls),), chunks=(4,), dtype="u1", compressors=None
        )
        made = datetime.now(UTC) + timedelta(seconds=1)  # Icechunk knows whole seconds
        for i, url in enumerate(self.urls):
            for part in range(2):
                session.store.set_virtual_ref(
                    f"x/c/{2 * i + part}", url, offset=4 * part, length=4, checksum=made, validate_container=False
                )
        session.commit("references")

    def open(self, *, authorized=True):
        access = {self.prefix: self.icechunk.credentials.LocalFileSystemAccess} if authorized else None
        return self.icechunk.Repository.open(self.storage, authorize_virtual_chunk_access=access)

    def store(self, *, authorized=True):
        return self.open(authorized=authorized).readonly_session("main").store


@pytest.fixture
def repository(folder):
    return Repository(folder)


@pytest.fixture
def asked(repository, monkeypatch):
    """The keys that Icechunk was asked for."""
    keys = []
    get = repository.icechunk.IcechunkStore.get

    def counted(self, key, *arguments, **options):
        keys.append(key)
        return get(self, key, *arguments, **options)

    monkeypatch.setattr(repository.icechunk.IcechunkStore, "get", counted)
    return keys


def look_up(store, chunks=range(2 * FILES)):
    return resolve(store, "x", np.array(chunks, np.int64)[:, None], [f"x/c/{chunk}" for chunk in chunks])


def content(found):
    return b"".join(
        bytes(found.files[file].read(offset, offset + length))
        for file, offset, length in zip(found.file.tolist(), found.offset.tolist(), found.length.tolist(), strict=True)
    )


def change(path):
    path.write_bytes(path.read_bytes() + b"more")
    later = path.stat().st_mtime + 3600
    os.utime(path, (later, later))


def test_authorized_files_are_found(repository, folder):
    store = repository.store()
    found = look_up(store)
    assert content(found) == bytes(range(8 * FILES)) == zarr.open_array(store, path="x", mode="r")[...].tobytes()
    assert {file.local_path for file in found.files} == {str(folder / f"{i}.bin") for i in range(FILES)}
    beyond = look_up(store, [2 * FILES + 3, 0])
    assert (beyond.file[0] < 0, content(look_up(store, [1]))) == (True, bytes(range(4, 8)))


def test_a_container_that_is_not_authorized(repository):
    look_up(repository.store())  # this session's leave is no other's, though the snapshot is the same
    for _ in range(2):
        with pytest.raises(TiffAccessError, match="authorize_virtual_chunk_access") as caught:
            look_up(repository.store(authorized=False))
        assert caught.value.url == repository.urls[0]
        assert isinstance(caught.value.__cause__, repository.icechunk.IcechunkError)


@pytest.mark.parametrize("way", ["{parent}/secret", "{prefix}../secret", "{prefix}%2e%2e/secret"])
def test_a_file_outside_of_the_containers(folder, way):
    url = way.format(parent=folder.parent.as_uri(), prefix=f"{folder.as_uri()}/")
    store = Repository(folder, [f"{folder.as_uri()}/0.bin", url]).store()
    assert content(look_up(store, [0, 1])) == bytes(range(8))
    with pytest.raises(TiffAccessError, match="virtual chunk container"):
        look_up(store, range(4))


def test_a_name_that_leads_out_is_left_to_icechunk(folder):
    store = Repository(folder, [f"{folder.as_uri()}/..%2Fsecret"]).store()
    (file,) = look_up(store, [0]).files
    assert (file.local_path, file.store) == (None, None)


def test_a_file_that_changed(repository, folder):
    change(folder / "3.bin")
    store = repository.store()
    assert content(look_up(store, range(6))) == bytes(range(24))
    with pytest.raises(TiffAccessError, match="write them anew") as caught:
        look_up(store)
    assert caught.value.url == repository.urls[3]
    change(folder / "0.bin")  # read before, and changed since
    with pytest.raises(TiffAccessError, match="write them anew"):
        look_up(store, [0])
    (folder / "1.bin").unlink()
    with pytest.raises(TiffNotFoundError, match=r"1\.bin"):
        look_up(store, [2])


def test_each_file_is_checked_once(repository, asked):
    store = repository.store()
    look_up(store, [3, 2, 6])
    assert sorted(asked) == ["x/c/3", "x/c/6"]
    look_up(store)
    assert len(asked) == FILES
    look_up(store)
    assert len(asked) == FILES
    look_up(repository.store())
    assert len(asked) == 2 * FILES


def test_a_writable_session_is_checked_at_each_read(repository, asked):
    store = repository.open().writable_session("main").store
    for count in (1, 2):
        look_up(store)
        assert len(asked) == count * FILES


def test_no_session_is_kept_alive(repository):
    store = repository.store()
    look_up(store)
    session = weakref.ref(store)
    del store
    gc.collect()
    assert session() is None


def manifest_store(urls, registry):
    """An array `x` of one chunk of 4 bytes in each file."""
    array = zarr.create_array({}, shape=(4 * len(urls),), chunks=(4,), dtype="u1", compressors=None)
    entries = {str(i): {"path": url, "offset": 0, "length": 4} for i, url in enumerate(urls)}
    arrays = {"x": ManifestArray(metadata=array.metadata, chunkmanifest=ChunkManifest(entries))}
    return ManifestStore(ManifestGroup(arrays=arrays), registry=registry)


def test_manifests_are_followed_within_the_registrys_stores(folder):
    def look_up_one(url, registry):
        return resolve(manifest_store([url], ObjectStoreRegistry(registry)), "x", np.zeros((1, 1), np.int64), ["x/c/0"])

    inside = {folder.as_uri(): LocalStore(prefix=folder)}
    found = look_up_one(f"{folder.as_uri()}/1.bin", inside)
    assert (content(found), found.files[0].local_path) == (bytes(range(8, 12)), str(folder / "1.bin"))
    with pytest.raises(ValueError, match="secret"):
        look_up_one(f"{folder.parent.as_uri()}/secret", inside)
    found = look_up_one(f"{folder.as_uri()}/../secret", inside)
    assert found.files[0].local_path is None
    with pytest.raises(ValueError, match=r"\.\."):
        content(found)
    # a store that is registered above its own folder
    (folder.parent / "data secret").write_bytes(SECRET)
    found = look_up_one(f"{folder.parent.as_uri()}/data secret", {"file://": LocalStore(prefix=folder)})
    assert found.files[0].local_path == f"{folder}/ secret"
    with pytest.raises(FileNotFoundError):
        content(found)


def test_the_pipeline_on_the_cpu_stays_in_the_registrys_stores(cases, tmp_path):
    path = cases["B15_edge_tiles_multiband.tif"].path
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.tif").write_bytes(path.read_bytes())
    (tmp_path / "a.tif").write_bytes(path.read_bytes())
    registry = ObjectStoreRegistry({inside.as_uri(): LocalStore(prefix=inside)})
    array = virtual_cog.open_store(inside / "a.tif", registry=registry)._group["band_data"]
    with cpu.enable():
        for name in ("a.tif", "../a.tif"):
            arrays = {"band_data": array.rename_paths(f"{inside.as_uri()}/{name}")}
            pixels = zarr.open_array(ManifestStore(ManifestGroup(arrays=arrays), registry=registry), path="band_data")
            if name == "a.tif":
                np.testing.assert_array_equal(pixels[...], virtual_cog.read(path))
            else:
                with pytest.raises(TiffAccessError, match=r"\.\."):
                    pixels[...]


def test_http_stays_below_the_stores_url():
    store = HTTPStore.from_url("https://example.com/open")
    assert http_url(store, "a.tif") == "https://example.com/open/a.tif"
    assert http_url(store, "../closed/a.tif") is None
