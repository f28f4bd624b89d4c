"""``virtual-cog refs``: references to files, in an Icechunk repository."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from virtual_cog._cli._output import console, need, printable, progress, quiet_icechunk

if TYPE_CHECKING:
    from virtual_cog._icechunk import Reference, Repository

READERS: Final = 8
"""Files whose IFDs are read at once: most of the time goes by waiting for a server."""


def refs(
    *urls: Annotated[str, Parameter(required=True)],
    output: Annotated[Path | None, Parameter(alias="-o", metavar="DIR")] = None,
    ifd: Annotated[int, Parameter(metavar="N")] = 0,
) -> None:
    """Write references to files to a new Icechunk repository, and say how to open it.

    No pixel is copied: the repository says where in the files the tiles are. One file goes to the root
    group; several get a group each, named after the file.

    Args:
        urls: Local paths or URLs (http, https, s3, gs, az).
        output: Folder for the repository: new or empty. By default NAME.icechunk in the working directory.
        ifd: Index of the image in each file; "virtual-cog info" lists them.
    """
    need("icechunk")
    quiet_icechunk()
    from virtual_cog._icechunk import check_directory, file_stem, group_names, open_reference, write_repository

    directory = output or Path(f"{file_stem(urls[0]) if len(urls) == 1 else 'references'}.icechunk")
    check_directory(directory)
    groups = group_names(urls)

    opened: list[Reference] = []
    pool = ThreadPoolExecutor(READERS)
    try:
        with progress("read tile tables", len(urls)) as advance:
            jobs = [pool.submit(open_reference, url, group, ifd=ifd) for url, group in zip(urls, groups, strict=True)]
            for job in jobs:
                opened.append(job.result())
                advance(1)
    finally:
        pool.shutdown(cancel_futures=True)  # after one failure the others are of no use
    written = write_repository(opened, directory, message=f"virtual-cog: references to {_files(len(urls))}")
    print_repository(written)


def print_repository(written: Repository) -> None:
    """Say what was written, and how to open it."""
    out = console()
    out.print(f"wrote references to {_files(len(written.groups))} to {written.path} (snapshot {written.snapshot})")
    if len(written.groups) > 1:
        width = max(map(len, written.groups))
        for group, url in written.groups.items():
            out.print(f"  {group:{width}}  {printable(url)}")
    out.print("\nopen it, wherever virtual-cog is installed:\n")
    out.print(written.how_to_open(), end="")


def _files(count: int) -> str:
    return "one file" if count == 1 else f"{count} files, a group for each"
