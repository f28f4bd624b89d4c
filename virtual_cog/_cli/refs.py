"""``virtual-cog refs``: references to files, in an Icechunk repository."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

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
    overview_level: Annotated[int | None, Parameter(metavar="N")] = None,
    layout: Annotated[Literal["image", "stack"], Parameter(show_choices=False, metavar="image|stack")] = "image",
    mask: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    ycbcr: Annotated[Literal["rgb", "stored"], Parameter(show_choices=False, metavar="rgb|stored")] = "rgb",
) -> None:
    """Write references to files to a new Icechunk repository, and say how to open it.

    No pixel is copied: the repository says where in the files the tiles are. One file goes to the root
    group; several get a group each, named after the file.

    Args:
        urls: Local paths or URLs (http, https, s3, gs, az).
        output: Folder for the repository: new or empty. By default NAME.icechunk in the working directory.
        ifd: Index of the image in each file; "virtual-cog info" lists them.
        overview_level: Take an overview in the image's place; 0 is the finest.
        layout: One image, or all pages from it on as one array.
        mask: Put the image's transparency mask beside it.
        ycbcr: What YCbCr in JPEG comes out as.
    """
    need("icechunk")
    quiet_icechunk()
    from virtual_cog import COGParser
    from virtual_cog._icechunk import check_directory, file_stem, group_names, open_reference, write_repository

    directory = output or Path(f"{file_stem(urls[0]) if len(urls) == 1 else 'references'}.icechunk")
    check_directory(directory)
    groups = group_names(urls)
    parser = COGParser(ifd=ifd, overview_level=overview_level, layout=layout, mask=mask, ycbcr=ycbcr)

    opened: list[Reference] = []
    pool = ThreadPoolExecutor(READERS)
    try:
        with progress("read tile tables", len(urls)) as advance:
            named = zip(urls, groups, strict=True)
            jobs = [pool.submit(open_reference, url, group, parser=parser) for url, group in named]
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
