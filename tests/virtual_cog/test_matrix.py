"""A sample of the matrix: every compression, predictor, type, layout and byte order, written by GDAL and tifffile."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

import virtual_cog
from tiff_codecs import cpu

PARTS = 8
EVERY = 37
"""One case in so many: prime to the lengths of the matrix's axes, so that the sample takes all their values."""


def sample(gen, part):
    return list(gen.matrix("full"))[part * EVERY // PARTS :: EVERY][part::PARTS]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")  # the writers' own
def test_sample(gen, tmp_path, part):
    for folder in ("files", "ref"):
        (tmp_path / folder).mkdir()
    read = 0
    for case in sample(gen, part):
        made, _refused = gen.make_matrix(case, str(tmp_path))
        if made is None:
            continue
        truth = np.load(made["ref"])
        store = virtual_cog.open_store(made["path"])
        with cpu.enable():
            planned = zarr.open_group(store, mode="r")["band_data"][...]
        chunk_by_chunk = zarr.open_group(store, mode="r")["band_data"][...]
        for pixels in (virtual_cog.read(made["path"]), chunk_by_chunk, planned):
            assert pixels.dtype == truth.dtype, made["id"]
            # lossy ones have been compared with what was written; their own tests compare with other decoders
            np.testing.assert_allclose(pixels, truth, rtol=0, atol=made["tol"], err_msg=made["id"])
        read += 1
    assert read > 30


def test_the_sample_takes_every_value_of_every_axis(gen):
    cases = [c for part in range(PARTS) for c in sample(gen, part)]
    everything = list(gen.matrix("full"))
    for axis in ("writer", "comp", "pred", "dtype", "bands", "interleave", "layout", "endian", "big"):
        assert {c[axis] for c in cases} == {c[axis] for c in everything}, axis
