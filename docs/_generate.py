# ruff: noqa: INP001 - scripts, not a package
"""The page of what is read, made from the code that reads it.

    python docs/_generate.py            # write docs/reference/support-matrix.md
    python docs/_generate.py --check    # say whether the page in the repository is the one that would be written

No row of a table is written by hand: compressions come from ``tiff_codecs.compression``, sample types from
asking ``TileLayout`` for each, and chains of codecs from what the parser writes for such an image.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from tiff_codecs.compression import COMPRESSION_NAMES, COMPRESSIONS
from tiff_codecs.errors import TiffUnsupportedError
from tiff_codecs.layout import Predictor, TileLayout
from virtual_cog._codecs import codec_chain
from virtual_cog._image import PREDICTED, SAMPLE_FORMATS, Image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tiff_codecs.layout import SampleFormat

PAGE: Final = Path(__file__).with_name("reference") / "support-matrix.md"

MOST_BITS: Final = 256
"""More than any sample that TIFF knows."""

PLAIN: Final = Image(
    url="file:///scene.tif",
    ifd=0,
    byte_order="little",
    subfile_type=0,
    width=512,
    height=512,
    bands=1,
    bits_per_sample=(16,),
    sample_format=(1,),
    photometric=1,
    compression=1,
    predictor=1,
    fill_order=1,
    planar=False,
    tiled=True,
    tile_width=256,
    tile_height=256,
    subsampling=(1, 1),
    depth=1,
    extra_samples=(),
)
"""The plainest of images: one band of whole words, in whole tiles, without a predictor."""

TEMPLATE: Final = """\
<!-- Made by docs/_generate.py from the code: change that, and run it again. -->

# What is read

This page is made from the library's own tables, and a test compares the two.
`virtual-cog info FILE` says the same of a file of yours.

## Compressions

The tag Compression (259). *Plain tiles* have one band (or each band in tiles of its own), samples that are whole
words of the NumPy type they are read as, no predictor, and no strip of fewer rows than RowsPerStrip. For them Zarr's
own codecs do where they safely can, and zarr-python reads the references without virtual-cog. *Every other tile* takes
the tile codec. Codecs stand in the order of `zarr.json`: what is decoded first stands last.

{read}

GPU: whether a GPU decompresses it; the others are decompressed on the CPU when they are
[read to a GPU](../how-to/read-to-the-gpu.md). Predictor: whether the tag Predictor (317) has a meaning with the
compression; elsewhere it is ignored, as libtiff does.

Where FillOrder (266) is 2, `tiff_codecs.fill_order` stands behind the chain of the last column.

YCbCr that shares chroma samples, without JPEG, takes [`tiff_codecs.ycbcr`](codecs.md#tiff_codecsycbcr) in place of the
tile codec, and interleaved bands of different depths take [`tiff_codecs.mixed_bits`](codecs.md#tiff_codecsmixed_bits).

## Images in tiles

Compressions whose tiles are images of a format of their own. [One codec](codecs.md#images-in-tiles) decodes them to
samples. The tag Predictor is ignored. GPU: whether a GPU decodes it; of JPEG that is baseline JPEG of 8 bits and up to
four bands. The others are decoded on the CPU when they are [read to a GPU](../how-to/read-to-the-gpu.md).

{images}

YCbCr in JPEG comes out as RGB, as GDAL gives it, or with `ycbcr="stored"` as the Y, Cb and Cr that are in the file:
[`virtual_cog.read`](python.md), `open_store` and `COGParser` take that option, and `virtual-cog read` takes
`--ycbcr`. All else stays as stored: CMYK, JPEG 2000 in YCbCr, and YCbCr without JPEG are not converted.

## Samples

BitsPerSample (258) and SampleFormat (339), and the NumPy type that pixels are read as.

{samples}

Predictor 1 is none, 2 is horizontal, 3 is for floating point.

## What is refused

Known compressions that are not decoded. `virtual-cog info` describes such files, and reading them raises
[`TiffUnsupportedError`](errors.md#tiff_codecs.TiffUnsupportedError), which names the compression and the way out.

{refused}

Whatever the compression, these are refused too: bands of different types in one image (but interleaved unsigned
integers of different depths are read), YCbCr without JPEG that shares chroma samples and is planar, predicted or not
of 8 bits, and volumes (ImageDepth or TileDepth above 1) whose tiles are images of a format of their own.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail when the page is out of date")
    made = page()
    if not parser.parse_args(arguments).check:
        PAGE.write_text(made, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != made:
        sys.stderr.write(f"{PAGE.name} is out of date: run python docs/_generate.py\n")
        return 1
    return 0


def page() -> str:
    """The page as it should be, in Markdown."""
    return TEMPLATE.format(
        read=_table(_read()), images=_table(_images()), samples=_table(_samples()), refused=_table(_refused())
    )


def _read() -> Iterator[tuple[str, ...]]:
    yield (
        "TIFF number",
        "Name",
        "CPU",
        "GPU",
        "Predictor",
        "Zarr codecs of plain tiles",
        "Zarr codecs of every other tile",
    )
    for number, compression in sorted(COMPRESSIONS.items()):
        if compression.image is not None:
            continue
        image = replace(PLAIN, compression=number)
        plain, other = _chain(image), _chain(replace(image, bands=3))
        counts = "yes" if number in PREDICTED else "ignored"
        gpu = "yes" if compression.gpu else "no"
        yield str(number), COMPRESSION_NAMES[number], "yes", gpu, counts, plain, other


def _images() -> Iterator[tuple[str, ...]]:
    yield "TIFF number", "Name", "CPU", "GPU", "Zarr codec"
    for number, compression in sorted(COMPRESSIONS.items()):
        if compression.image is not None:
            gpu = "yes" if compression.gpu else "no"
            yield str(number), COMPRESSION_NAMES[number], "yes", gpu, f"`{compression.image.codec_name}`"


def _chain(image: Image) -> str:
    return ", ".join(f"`{codec['name']}`" for codec in codec_chain(image))


def _samples() -> Iterator[tuple[str, ...]]:
    yield "SampleFormat", "Bits", "NumPy type", "Predictors"
    for name in dict.fromkeys(SAMPLE_FORMATS.values()):
        codes = ", ".join(str(code) for code, meaning in SAMPLE_FORMATS.items() if meaning == name)
        for (dtype, predictors), group in itertools.groupby(_types(name), key=lambda item: item[1:]):
            yield f"{codes} ({name})", _ranges([item[0] for item in group]), f"`{dtype}`", predictors


def _types(name: SampleFormat) -> list[tuple[int, str, str]]:
    """Depth, NumPy type and predictors of all samples of a format that are read."""
    found: list[tuple[int, str, str]] = []
    for bits in range(1, MOST_BITS + 1):
        layouts = [layout for predictor in get_args(Predictor.__value__) if (layout := _layout(name, bits, predictor))]
        if layouts:
            found.append((bits, layouts[0].dtype.name, ", ".join(str(layout.predictor) for layout in layouts)))
    return found


def _ranges(numbers: list[int]) -> str:
    """Numbers in words: a range where they follow each other, else one by one."""
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def _layout(name: SampleFormat, bits: int, predictor: Predictor) -> TileLayout | None:
    try:
        return TileLayout(byte_order="little", bits_per_sample=bits, sample_format=name, predictor=predictor)
    except TiffUnsupportedError:
        return None


def _refused() -> Iterator[tuple[str, ...]]:
    yield "TIFF number", "Name"
    for number, name in sorted(COMPRESSION_NAMES.items()):
        if number not in COMPRESSIONS:
            yield str(number), name


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [head, ("---",) * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
