"""Whatever a writer may write comes back as it was: files made up by hypothesis, windows and all."""

from __future__ import annotations

import numpy as np
import pytest
import rasterio
import tifffile
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import virtual_cog
from tiff_codecs import cpu

DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16")
COMPRESSIONS = {
    "none": None, "deflate": 8, "old deflate": 32946, "lzw": 5, "zstd": 50000, "lzma": 34925, "packbits": 32773,
}  # fmt: skip

pytestmark = [
    pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning"),
    pytest.mark.filterwarnings("ignore:<tifffile:DeprecationWarning"),
]
checked = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])


def pixels_of(draw, dtype, shape):
    """Noise and runs: both what compresses and what does not, extreme values included."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    raw = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), "u1")
    if draw(st.booleans()):
        raw[..., : shape[-1] // 2, :] = draw(st.integers(0, 255))
    return np.ascontiguousarray(raw).view(dtype)[..., 0]


@st.composite
def tifffile_images(draw):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    bands = draw(st.sampled_from((1, 1, 2, 3, 4, 7)))
    height, width = draw(st.integers(1, 70)), draw(st.integers(1, 70))
    name = draw(st.sampled_from(sorted(COMPRESSIONS)))
    options = {"compression": COMPRESSIONS[name], "photometric": "minisblack", "metadata": None, "maxworkers": 1}
    if draw(st.booleans()):
        options["tile"] = (16 * draw(st.integers(1, 4)), 16 * draw(st.integers(1, 4)))
    else:
        options["rowsperstrip"] = draw(st.integers(1, height))
    if name not in ("none", "packbits"):  # those that tifffile writes; GDAL's others are in the matrix
        options["predictor"] = draw(st.sampled_from({"u": (1, 2), "i": (1, 2), "f": (1, 3), "c": (1,)}[dtype.kind]))
    planar = bands > 1 and draw(st.booleans())
    if bands > 1:
        options["planarconfig"] = "separate" if planar else "contig"
    return {
        "pixels": pixels_of(draw, dtype, (bands, height, width)),
        "planar": planar,
        "options": options,
        "file": {"bigtiff": draw(st.booleans()), "byteorder": draw(st.sampled_from("<>"))},
    }


def same(pixels, truth):
    assert pixels.dtype == truth.dtype
    assert pixels.shape == truth.shape
    assert pixels.tobytes() == truth.tobytes()  # NaNs have payloads, too


@given(image=tifffile_images(), data=st.data())
@checked
def test_tifffile_writes_and_we_read(tmp_path, image, data):
    truth = image["pixels"]
    bands, height, width = truth.shape
    written = truth[0] if bands == 1 else truth if image["planar"] else np.moveaxis(truth, 0, -1)
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path, **image["file"]) as file:
        file.write(np.ascontiguousarray(written), **image["options"])
    same(virtual_cog.read(path), truth)
    array = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]
    same(array[...], truth)
    col, row = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    size = data.draw(st.integers(1, width - col)), data.draw(st.integers(1, height - row))
    part = truth[:, row : row + size[1], col : col + size[0]]
    same(virtual_cog.read(path, window=(col, row, *size)), part)
    same(array[:, row : row + size[1], col : col + size[0]], part)
    with cpu.enable():
        array = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]
    same(array[...], truth)
    same(array[:, row : row + size[1], col : col + size[0]], part)


@st.composite
def sparse_images(draw):
    dtype = draw(st.sampled_from(("uint8", "int16", "uint32", "float32", "float64")))
    written = draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=5))
    return {
        "dtype": dtype,
        "nodata": draw(st.sampled_from((None, 0, 7, 255) if dtype[0] != "f" else (None, -9999, float("nan")))),
        "bands": draw(st.sampled_from((1, 3))),
        "interleave": draw(st.sampled_from(("pixel", "band"))),
        "compress": draw(st.sampled_from(("none", "deflate", "lzw", "zstd"))),
        "written": written,
    }


@given(image=sparse_images())
@settings(checked, max_examples=60)
def test_sparse_files_read_as_gdal_reads_them(tmp_path, image):
    path = tmp_path / "a.tif"
    options = {key: image[key] for key in ("dtype", "nodata", "interleave", "compress")}
    with rasterio.open(
        path, "w", driver="GTiff", width=90, height=60, count=image["bands"], tiled=True, blockxsize=32,
        blockysize=32, SPARSE_OK="TRUE", **options,
    ) as file:  # fmt: skip
        for row, col in image["written"]:
            if row < 2:
                window = rasterio.windows.Window(col * 32, row * 32, min(32, 90 - col * 32), min(32, 60 - row * 32))
                block = np.full((image["bands"], int(window.height), int(window.width)), 9, image["dtype"])
                file.write(block, window=window)
    with rasterio.open(path) as file:
        truth = file.read()
    np.testing.assert_array_equal(virtual_cog.read(path), truth)
    np.testing.assert_array_equal(zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...], truth)
    with cpu.enable():
        array = zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"]
    np.testing.assert_array_equal(array[...], truth)
