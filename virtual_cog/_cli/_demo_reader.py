"""A reader that has never heard of virtual-cog: run in a process of its own, it imports nothing of it.

Asked on stdin, in JSON: ``code`` (Python that opens the repository as ``store`` and ``dataset``, as the demo
prints it), ``window`` (column, row, width, height) and ``output`` (a .npy file for the pixels).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Open the repository and read a window of ``band_data``; say what was met on the way."""
    import numpy as np
    import zarr

    started = time.perf_counter()
    names: dict[str, Any] = {}
    exec(request["code"], names)  # noqa: S102 - the demo's own code, which it shows to the user
    opened = time.perf_counter()
    array: Any = zarr.open_group(names["store"], mode="r")["band_data"]
    col, row, width, height = request["window"]
    pixels = array[:, row : row + height, col : col + width]
    read = time.perf_counter()
    np.save(request["output"], pixels)
    dataset = names["dataset"]
    return {
        "open_seconds": opened - started,
        "read_seconds": read - opened,
        "codecs": [codec["name"] for codec in array.metadata.to_dict()["codecs"]],
        "sizes": dict(dataset.sizes),
        "coordinates": list(map(str, dataset.coords)),
        "gpu": read_on_gpu(names["store"], request["window"], pixels),
        "imported_virtual_cog": any(name.partition(".")[0] == "virtual_cog" for name in sys.modules),
    }


def read_on_gpu(store: Any, window: list[int], expected: Any) -> dict[str, Any]:  # noqa: ANN401
    """Read the same window to a GPU and compare there; or say why not."""
    import zarr

    from tiff_codecs import gpu

    if reason := gpu.why_no_device():
        return {"reason": reason}
    import cupy

    col, row, width, height = window
    pixels: Any = None
    seconds = 0.0
    with gpu.enable():
        array: Any = zarr.open_group(store, mode="r")["band_data"]
        for _ in range(2):  # the first compiles kernels
            started = time.perf_counter()
            pixels = array[:, row : row + height, col : col + width]
            cupy.cuda.Device().synchronize()
            seconds = time.perf_counter() - started
    properties: Any = cupy.cuda.runtime.getDeviceProperties(pixels.device.id)
    differing = int((pixels.view("u1") != cupy.asarray(expected).view("u1")).sum())
    return {"device": properties["name"].decode(), "seconds": seconds, "differing_bytes": differing}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answer(json.load(sys.stdin))))
