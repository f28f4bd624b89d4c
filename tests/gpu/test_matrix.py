"""Two thousand cases of the matrix whose compression the device decodes: the same pixels as on the CPU."""

from __future__ import annotations

import re

import numpy as np
import pytest

import virtual_cog

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]  # the writers' warnings

ON_DEVICE = re.compile(r"-(none|deflate|lzw|zstd|packbits)-p")
PARTS = 8
EVERY = 9


@pytest.mark.parametrize("part", range(PARTS))
def test_sample(gen, tmp_path, part):
    pytest.importorskip("rasterio")
    for folder in ("files", "ref"):
        (tmp_path / folder).mkdir()
    cases = [case for case in gen.matrix("full") if ON_DEVICE.search(case["id"])][::EVERY][part::PARTS]
    read = 0
    for case in cases:
        made, _refused = gen.make_matrix(case, str(tmp_path))
        if made is None:
            continue
        truth = np.load(made["ref"])
        pixels = virtual_cog.read(made["path"], device="gpu")
        assert pixels.dtype == truth.dtype, made["id"]
        np.testing.assert_array_equal(pixels.get(), truth, err_msg=made["id"])
        read += 1
    assert read > 200
