"""Writes files with overviews and masks, opens them as pyramids, and compares every level with GDAL."""

from __future__ import annotations

import numpy as np
import rasterio
import xarray as xr
from rasterio.enums import MaskFlags, Resampling
from rioxarray.rioxarray import affine_to_coords

import virtual_cog
from rawtiff import RawTiff, grey

UTM = rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6)
REDUCED, MASK, REDUCED_MASK = ((4, [flags]) for flags in (1, 4, 5))
"""NewSubfileType of an overview, a mask, and a mask of an overview."""


def write(path, pixels, *, mask=None, overviews=(), **options):
    """A GTiff with overviews behind the pixels (as gdaladdo does it), or with `driver="COG"` as that has it."""
    bands, height, width = pixels.shape
    defaults = {"driver": "GTiff", "crs": "EPSG:32631", "transform": UTM, "compress": "deflate"}
    if options.get("driver") != "COG":
        defaults |= {"tiled": True, "blockxsize": 64, "blockysize": 64}
    else:
        defaults |= {"blocksize": 128}
    shape = {"width": width, "height": height, "count": bands, "dtype": pixels.dtype}
    scales = options.pop("scales", None)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(path, "w", **(defaults | shape | options)) as file:
            file.write(pixels)
            if mask is not None:
                file.write_mask(mask)
            if scales is not None:
                file.scales = scales
                file.offsets = [1.5] * bands
                file.set_band_description(1, "first")
        if overviews:
            with rasterio.open(path, "r+") as file:
                file.build_overviews(overviews, Resampling.nearest)
    return path


def write_cog(path, pixels, **options):
    """A COG as GDAL's driver makes it."""
    return write(path, pixels, driver="COG", **options)


def pyramid(path, ifd=0, **options) -> xr.DataTree:
    store = virtual_cog.open_store(path, ifd=ifd, layout="pyramid")
    return xr.open_datatree(
        store, engine="zarr", consolidated=False, mask_and_scale=False, decode_coords="all", **options
    )


def gdal_levels(path) -> list[dict]:
    """What to pass to rasterio.open for each level, from fine to coarse: a file may have them in another order."""
    with rasterio.open(path) as file:
        factors = file.overviews(1)
    return [{}, *({"overview_level": int(i)} for i in np.argsort(factors))]


def check_levels(path) -> int:
    """Compare all of every level with GDAL; returns how many there are."""
    tree = pyramid(path)
    levels = gdal_levels(path)
    assert list(tree.children) == [str(n) for n in range(len(levels))]
    for number, options in enumerate(levels):
        ds = tree[str(number)].to_dataset()
        with rasterio.open(path, **options) as file:
            expected = file.read()
            assert ds["band_data"].dtype == expected.dtype
            np.testing.assert_array_equal(ds["band_data"], expected)
            if number:
                np.testing.assert_array_equal(virtual_cog.read(path, overview_level=number - 1), expected)
            if file.crs is not None:
                assert ds.rio.crs == file.crs
            transform = file.transform
            assert ds.rio.transform() == transform
            gcps = [[p.col, p.row, p.x, p.y, p.z] for p in file.gcps[0]]
            np.testing.assert_allclose(ds.attrs.get("gcps", []), gcps, rtol=1e-12)
            masked = MaskFlags.per_dataset in file.mask_flag_enums[0] and MaskFlags.alpha not in file.mask_flag_enums[0]
            assert ("mask" in ds) == masked
            if masked:
                assert ds["mask"].dims == ("band", "y", "x")
                assert set(np.unique(ds["mask"])) <= {0, 1}
                np.testing.assert_array_equal(ds["mask"] * np.uint8(255), file.read_masks())
                np.testing.assert_array_equal(ds["mask"][0] * np.uint8(255), file.dataset_mask())
        if "x" in ds.coords:
            expected = affine_to_coords(transform, ds.sizes["x"], ds.sizes["y"])
            np.testing.assert_array_equal(ds["x"], expected["x"])
            np.testing.assert_array_equal(ds["y"], expected["y"])
    return len(levels)


def raw_page(file: RawTiff, number: int, width: int, height: int, *, chained=True, **tags) -> int:
    """An IFD of one strip, its pixels all `number`."""
    offset = file.block(bytes([number]) * (width * height))
    return file.ifd(grey(width, height, offset=offset, count=width * height, **tags), chained=chained)


def first_pixels(path, ifd=0) -> list[int]:
    """The first pixel of each level: which IFD it is from."""
    tree = pyramid(path, ifd)
    return [int(tree[name]["band_data"][0, 0, 0]) for name in tree.children]
