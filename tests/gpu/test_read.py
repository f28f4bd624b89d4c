"""Reading to the device: equal to the CPU, whatever the file."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

import virtual_cog
from tiff_codecs import gpu
from tiff_codecs.errors import TiffError
from virtual_cog._read_gpu import read_scene_gpu
from virtual_cog._registry import resolve
from virtual_cog._scene import load_scene

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::tiff_codecs.errors.TiffWarning"),
    pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning"),
]


def read_gpu(path, **options):
    source = resolve(path)
    scene = source.drive(load_scene(source.open(), options.pop("ifd", 0)))
    return read_scene_gpu(source, scene, **options)


def same(device, host):
    import cupy

    assert isinstance(device, cupy.ndarray)
    assert device.dtype == host.dtype
    assert device.shape == host.shape
    assert device.get().tobytes() == host.tobytes()


def check(path):
    try:
        host = virtual_cog.read(path)
    except TiffError as error:
        for read in (read_gpu, through_zarr):
            with pytest.raises(type(error)):
                read(path)
        return
    same(read_gpu(path), host)
    same(through_zarr(path), host)
    height, width = host.shape[-2:]
    window = (width // 3, height // 3, max(1, width // 2), max(1, height // 2))
    part = host[:, window[1] : window[1] + window[3], window[0] : window[0] + window[2]]
    same(read_gpu(path, window=window), np.ascontiguousarray(part))


def through_zarr(path):
    with gpu.enable():
        return zarr.open_group(virtual_cog.open_store(path), mode="r")["band_data"][...]


def test_corpus(corpus_file):
    check(corpus_file.path)


def test_cases(case):
    check(case.path)
