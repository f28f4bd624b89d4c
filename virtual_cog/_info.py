"""What a TIFF file holds: the facts behind ``virtual-cog info``, as far as even a damaged file gives them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tiff_codecs.compression import COMPRESSION_NAMES, COMPRESSIONS
from tiff_codecs.errors import TiffFormatError, TiffSelectionError, TiffUnsupportedError
from tiff_codecs.gpu import jpeg, why_no_device
from tiff_codecs.jpeg import JpegCodec
from virtual_cog._attributes import georeference
from virtual_cog._codecs import check_readable
from virtual_cog._cog_rules import Level, check_cog
from virtual_cog._cuda import cuda_device
from virtual_cog._file_info import CrsInfo, FileInfo, IfdInfo, Role
from virtual_cog._image_codecs import image_codec
from virtual_cog._nodata import parse_nodata
from virtual_cog._registry import resolve
from virtual_cog._scene import Scene, load_image
from virtual_cog._tags import IMAGE_TAGS, METADATA_TAGS, Tag
from virtual_cog._tiles import TileTable, tile_table, tile_tags

if TYPE_CHECKING:
    import os

    from obspec_utils.registry import ObjectStoreRegistry

    from virtual_cog._directory import Directory
    from virtual_cog._ifd import Ifd
    from virtual_cog._image import Image
    from virtual_cog._segments import Range, Steps

PHOTOMETRIC_NAMES: Final = {
    0: "min-is-white",
    1: "min-is-black",
    2: "RGB",
    3: "palette",
    4: "mask",
    5: "CMYK",
    6: "YCbCr",
    8: "CIELab",
    9: "ICCLab",
    10: "ITULab",
    32803: "CFA",
    32844: "LogL",
    32845: "LogLuv",
    34892: "linear raw",
    51177: "depth map",
}
"""Names of PhotometricInterpretation (tag 262)."""

NO_TILES: Final = TileTable(np.zeros((0, 0, 0), np.uint64), np.zeros((0, 0, 0), np.uint64))


def describe(url: str | os.PathLike[str], *, registry: ObjectStoreRegistry[Any] | None = None) -> FileInfo:
    """Read what a TIFF says of itself, but none of its pixels.

    A file that is damaged behind its header is described as far as it can be read: see
    :attr:`FileInfo.damage`.

    Args:
        url: a local path, or a URL that ``registry`` (or the environment) has a store for.
        registry: stores by URL prefix; None makes one for local files, http(s), and object stores
            that the environment has credentials for.

    Raises:
        TiffNotFoundError: there is no such file.
        TiffAccessError: the store does not give the bytes.
        TiffFormatError: it is no TIFF.
        TiffOptionError: no store is known for the URL.
    """
    source = resolve(url, registry)
    return source.drive(_describe(source.open()))


def _describe(directory: Directory) -> Steps[FileInfo]:
    ifds, broken = yield from _walk(directory)
    # the values of all IFDs in one go: they lie near each other
    wanted = _within_room(directory, ifds)
    yield from directory.segments.ensure([span for spans in wanted for span in spans])
    infos: list[IfdInfo] = []
    levels: list[Level] = []
    first: Scene | None = None
    for ifd in ifds:
        if ifd.index >= len(wanted):
            infos.append(_damaged(ifd, f"the values of tags lie over each other (IFD {len(wanted)} and those behind)"))
            continue
        info, scene = yield from _describe_ifd(directory, ifd)
        infos.append(info)
        if scene is None:
            continue
        if info.index == 0:
            first = scene
        if info.index == 0 or (info.role == "overview" and info.main == 0):
            levels.append(Level(scene.image, info.offset, _first_tile(scene.tiles)))
    damage = list(dict.fromkeys(info.damage for info in infos if info.damage)) + ([broken] if broken else [])
    geo = None if first is None else georeference(first)
    transform = None if geo is None else geo.transform
    crs = None if geo is None else geo.crs
    return FileInfo(
        url=directory.url,
        size=directory.size,
        bigtiff=directory.header.bigtiff,
        byte_order=directory.header.byte_order,
        cog=check_cog(directory, levels, damaged=bool(damage)),
        crs=None if crs is None else CrsInfo(crs.name, crs.to_epsg(), crs.to_wkt()),
        transform=None if transform is None else transform.to_gdal(),
        bounds=None if transform is None or first is None else transform.bounds(first.image.width, first.image.height),
        resolution=None
        if transform is None
        else (math.hypot(transform.a, transform.d), math.hypot(transform.b, transform.e)),
        gcp_count=0 if geo is None else len(geo.gcps),
        ifds=tuple(infos),
        damage=tuple(damage),
    )


def _within_room(directory: Directory, ifds: list[Ifd]) -> list[list[Range]]:
    """Where the values of each IFD lie; of the first IFDs alone where all together are more than the file can hold."""
    found: list[list[Range]] = []
    total = 0
    for ifd in ifds:
        spans = ifd.load(IMAGE_TAGS | METADATA_TAGS | {*tile_tags(ifd)})
        total += sum(end - start for start, end in spans)
        if total > directory.room:
            break
        found.append(spans)
    return found


def _damaged(ifd: Ifd, damage: str) -> IfdInfo:
    role: Role = "image" if ifd.parent is None else "sub-ifd"
    return IfdInfo(index=ifd.index, offset=ifd.offset, role=role, parent=ifd.parent, damage=damage)


def _walk(directory: Directory) -> Steps[tuple[list[Ifd], str | None]]:
    """The IFDs up to the first that cannot be read, and what is wrong there."""
    ifds: list[Ifd] = []
    while True:
        try:
            ifds.append((yield from directory.ifd(len(ifds))))
        except TiffSelectionError:
            return ifds, None if ifds else "the file has no IFD"
        except TiffFormatError as error:
            return ifds, _sentence(error)


def _describe_ifd(directory: Directory, ifd: Ifd) -> Steps[tuple[IfdInfo, Scene | None]]:
    try:
        image, _, main = yield from load_image(directory, ifd.index)
    except TiffFormatError as error:
        return _damaged(ifd, _sentence(error)), None
    tiles, damage = NO_TILES, None
    try:
        tiles = tile_table(ifd, image, directory.size)
    except TiffFormatError as error:
        damage = _sentence(error)
    scene = Scene(image, tiles, ifd, main)
    decoder, reason = _decoder(image)
    dtype = _dtype(image)
    text = (scene.text(Tag.GDALNodata) or "") if not image.is_mask else ""
    nodata = parse_nodata(text, dtype) if dtype is not None else None
    bits = image.bits_per_sample
    row_bits = image.width * sum(bits) * (image.bands if len(bits) == 1 else 1)
    return IfdInfo(
        index=ifd.index,
        offset=ifd.offset,
        role=_role(image, ifd),
        parent=ifd.parent,
        main=main.index,
        width=image.width,
        height=image.height,
        bands=image.bands,
        depth=image.depth,
        dtype=None if dtype is None else dtype.name,
        bits_per_sample=bits,
        tiled=image.tiled,
        tile_width=image.tile_width,
        tile_height=image.tile_height,
        tile_count=math.prod(image.grid),
        missing_tiles=None if damage else int((tiles.counts == 0).sum()),
        compression=image.compression,
        compression_name=COMPRESSION_NAMES.get(image.compression),
        predictor=image.predictor,
        planar=image.planar,
        photometric=image.photometric,
        photometric_name=PHOTOMETRIC_NAMES.get(-1 if image.photometric is None else image.photometric),
        nodata=None if nodata is None else _number(nodata),
        nodata_text=text.strip("\0 ") or None,
        pixel_bytes=-(-row_bits // 8) * image.height * image.depth,
        stored_bytes=None if damage else int(tiles.counts.sum()),
        decoder=decoder,
        reason=reason,
        damage=damage,
    ), scene


def _role(image: Image, ifd: Ifd) -> Role:
    if image.is_mask:
        return "mask"
    if image.is_overview:
        return "overview"
    return "image" if ifd.parent is None else "sub-ifd"


def _dtype(image: Image) -> np.dtype[np.generic] | None:
    try:
        return image.dtype
    except TiffUnsupportedError:
        return None


def _decoder(image: Image) -> tuple[Literal["gpu", "cpu"] | None, str | None]:
    try:
        check_readable(image)
    except TiffUnsupportedError as error:
        return None, _sentence(error)
    codec = image_codec(image)
    plain = codec is None or (isinstance(codec, JpegCodec) and jpeg.is_supported(image.dtype, image.tile_bands))
    on_gpu = COMPRESSIONS[image.compression].gpu and plain and cuda_device() is not None and why_no_device() is None
    return "gpu" if on_gpu else "cpu", None


def _sentence(error: TiffFormatError | TiffUnsupportedError) -> str:
    """The message without the file's name, which stands above it."""
    context = error.context | {"url": None}
    return str(type(error)(error.problem, **context))  # type: ignore[arg-type]


def _first_tile(tiles: TileTable) -> int | None:
    present = tiles.counts.ravel() > 0
    return int(tiles.offsets.ravel()[present.argmax()]) if present.any() else None


def _number(value: np.generic[Any]) -> float:
    """A Python number; of a complex value (nodata is its real part) that part."""
    number = value.item()
    return number.real if isinstance(number, complex) else number
