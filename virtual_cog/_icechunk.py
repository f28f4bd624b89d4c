"""Writing references to Icechunk: one repository for one or many files, which any Icechunk reader opens."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from tiff_codecs.errors import TiffAccessError, TiffOptionError, TiffWarning
from virtual_cog._icechunk_containers import Container, container_prefix, containers_for, location
from virtual_cog._registry import normalize_url, registry_for, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import xarray as xr
    from obspec_utils.registry import ObjectStoreRegistry

    from virtual_cog._parser import COGParser as Parser


@dataclass(frozen=True, slots=True)
class Reference:
    """One file, as a virtual dataset."""

    group: str
    """The group of the repository that it goes to; ``""`` is the root."""
    url: str
    """The file, as the dataset's chunk manifests name it."""
    dataset: xr.Dataset


@dataclass(frozen=True, slots=True)
class Repository:
    """What was written."""

    path: Path
    snapshot: str
    groups: Mapping[str, str]
    """URL of the file by group."""
    containers: tuple[Container, ...]

    def how_to_open(self) -> str:
        """The Python code that opens it."""
        access = "".join(f"        {container.prefix!r}: {container.credentials},\n" for container in self.containers)
        group = next(iter(self.groups))
        return (
            "import icechunk\n"
            "import xarray\n"
            "\n"
            "repo = icechunk.Repository.open(\n"
            f"    icechunk.local_filesystem_storage({str(self.path)!r}),\n"
            "    authorize_virtual_chunk_access=icechunk.containers_credentials({\n"
            f"{access}"
            "    }),\n"
            ")\n"
            'store = repo.readonly_session("main").store\n'
            f"dataset = xarray.open_zarr(store, {f'group={group!r}, ' if group else ''}consolidated=False)\n"
        )


def open_reference(
    url: str,
    group: str = "",
    *,
    parser: Parser | None = None,
    registry: ObjectStoreRegistry[Any] | None = None,
) -> Reference:
    """Turn an image of a file, or what else the parser makes of it, into a virtual dataset.

    Raises:
        TiffError: one of its kinds says what is wrong with the file, the store or the name.
    """
    from virtualizarr import open_virtual_dataset  # pyright: ignore[reportUnknownVariableType]

    from virtual_cog._parser import COGParser, check_manifest_url

    full = normalize_url(url)
    source = resolve(full, registry)
    check_manifest_url(source.url)
    container_prefix(source.url)  # refuse a name that cannot be written before the file is read
    with warnings.catch_warnings():
        # the locations written here are encoded, so that Icechunk finds the file whatever its name
        warnings.filterwarnings("ignore", message="the name .* has a %", category=TiffWarning)
        found = open_virtual_dataset(full, registry=registry or registry_for(full), parser=parser or COGParser())
    return Reference(group, source.url, found)


def file_stem(url: str) -> str:
    """The name of a file without folder and suffix, of characters that a Zarr group and a folder may have."""
    stem = unquote(PurePosixPath(urlsplit(normalize_url(url)).path).stem)
    return re.sub(r"[^\w.-]+", "_", stem).strip("._-") or "image"


def group_names(urls: Sequence[str]) -> list[str]:
    """A group for each file: the root for one alone, else named after the file, with a number where that is taken."""
    if len(urls) == 1:
        return [""]
    names: list[str] = []
    for stem in map(file_stem, urls):
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}-{number}"
        names.append(name)
    return names


def check_directory(directory: Path) -> None:
    """Refuse a place for the repository that is taken.

    Raises:
        TiffOptionError: it is a file, or a folder with something in it; or its parent is not there.
    """
    if directory.is_dir():
        found = "a folder that is not empty" if any(directory.iterdir()) else None
    elif directory.exists():
        found = "a file"
    else:
        found = None if directory.absolute().parent.is_dir() else "no such parent folder"
    if found:
        raise TiffOptionError(
            "the repository cannot be made here",
            url=str(directory),
            found=found,
            supported="a new or an empty folder",
            way_out="name another folder, or remove this one",
        )


def write_repository(references: Sequence[Reference], directory: Path, *, message: str) -> Repository:
    """Write references to a new Icechunk repository; all of them, or nothing at all.

    Args:
        references: what to write; their groups differ.
        directory: where the repository goes: a new or an empty folder.
        message: of the commit.

    Raises:
        TiffOptionError: the place is taken, or a file's store cannot be described to Icechunk.
        TiffAccessError: the repository cannot be written.
    """
    import icechunk

    check_directory(directory)
    containers = containers_for([reference.url for reference in references])
    config = icechunk.RepositoryConfig.default()
    for container in containers:
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(container.prefix, container.store))
    path = directory.absolute()
    try:
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        partial.mkdir()
        try:
            snapshot = _commit(icechunk, partial, config, references, message)
            if path.exists():
                path.rmdir()
            partial.rename(path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except (OSError, icechunk.IcechunkError) as error:
        raise TiffAccessError(
            "the repository cannot be written",
            url=str(directory),
            found=str(error).strip().split("\n", 1)[0],
            way_out="check the permissions of its parent folder and the space on its disk",
        ) from error
    return Repository(path, snapshot, {reference.group: reference.url for reference in references}, containers)


def _commit(ic: Any, folder: Path, config: Any, references: Sequence[Reference], message: str) -> str:  # noqa: ANN401
    import zarr

    repository = ic.Repository.create(ic.local_filesystem_storage(str(folder)), config=config)
    session = repository.writable_session("main")
    if all(reference.group for reference in references):
        zarr.create_group(session.store)  # the root, without which the groups are not found
    for reference in references:
        dataset = reference.dataset.vz.rename_paths(_renamer(reference.url))
        dataset.vz.to_icechunk(session.store, group=reference.group or None)
    return session.commit(message)


def _renamer(url: str) -> Callable[[str], str]:
    """Encode the file's own name, and leave VirtualiZarr's marks of missing and inlined chunks."""
    encoded = location(url)
    return lambda path: encoded if path == url else path
