"""Every kernel compiles for every architecture that is supported, and fits its shared memory; needs no GPU."""

from __future__ import annotations

import ctypes
import importlib.util
from importlib.resources import files
from pathlib import Path

import pytest

from tiff_codecs.gpu import inflate, jpeg, lzw, scatter, zstd
from tiff_codecs.gpu.scatter import compile_options, is_supported
from tiff_codecs.layout import TileLayout

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
SHARED_BYTES = {75: 64, 80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}
"""KiB of shared memory that one block of threads may have (CUDA programming guide, compute capabilities)."""

KERNELS = files("tiff_codecs.gpu") / "kernels"


@pytest.fixture(scope="session")
def nvrtc():
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else [Path(place) for place in spec.submodule_search_locations]
    found = sorted(lib for folder in folders for lib in folder.glob("**/libnvrtc.so.1*") if "builtins" not in lib.name)
    assert found, "NVRTC is not installed: it is in the dependency group tests"
    return ctypes.CDLL(str(found[0]))


def compiled(nvrtc, name, options, architecture):
    folders = {"inflate": inflate, "jpeg": jpeg, "scatter": scatter, "zstd": zstd}
    source = (folders[name].source() if name in folders else (KERNELS / name).read_text()).encode()
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, name.encode(), 0, None, None) == 0
    flags = [f"--gpu-architecture=sm_{architecture}".encode(), *(option.encode() for option in options)]
    status = nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == 0, log.value.decode()
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    assert size.value > 0
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


LAYOUTS = {
    "u1 predictor 2": TileLayout("little", 8, "uint", 2),
    "u2 predictor 2 swapped": TileLayout("big", 16, "uint", 2),
    "u8 predictor 2": TileLayout("little", 64, "uint", 2),
    "f2 predictor 3": TileLayout("little", 16, "float", 3),
    "f4 predictor 3": TileLayout("little", 32, "float", 3),
    "f8 predictor 3": TileLayout("little", 64, "float", 3),
    "c16": TileLayout("big", 128, "complex_float"),
    "c8 predictor 2": TileLayout("big", 64, "complex_float", 2),
    "complex int16": TileLayout("little", 32, "complex_int"),
    "complex int32 predictor 2": TileLayout("little", 64, "complex_int", 2),
    "12 bits": TileLayout("little", 12, "uint"),
    "24 bits signed": TileLayout("little", 24, "int"),
    "float24": TileLayout("big", 24, "float"),
}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_scatter(nvrtc, architecture, layout):
    assert is_supported(layout)
    for options in {compile_options(layout, bands) for bands in (3, 5)}:  # all bands at once, and one by one
        compiled(nvrtc, "scatter", options, architecture)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", ["adler32.cu", "crc32.cu", "packbits.cu"])
def test_small_kernels(nvrtc, architecture, name):
    compiled(nvrtc, name, ("--std=c++17",), architecture)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_inflate(nvrtc, architecture):
    compiled(nvrtc, "inflate", inflate.compile_options(), architecture)
    for kernel in ("scan", "write"):
        assert inflate.shared_bytes(kernel) <= SHARED_BYTES[architecture] * 1024


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_lzw(nvrtc, architecture):
    compiled(nvrtc, "lzw.cu", lzw.compile_options(), architecture)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_jpeg(nvrtc, architecture):
    compiled(nvrtc, "jpeg", jpeg.compile_options(), architecture)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_zstd(nvrtc, architecture):
    bits = zstd.WINDOW_BITS[SHARED_BYTES[architecture] * 1024 >= zstd.MUCH_SHARED]
    compiled(nvrtc, "zstd", zstd.compile_options(bits), architecture)
    for kernel in ("decode", "write"):
        assert zstd.shared_bytes(kernel, bits) + 512 <= SHARED_BYTES[architecture] * 1024


def test_every_kernel_is_compiled_here():
    names = {"adler32.cu", "crc32.cu", "inflate", "jpeg", "lzw.cu", "packbits.cu", "scatter", "zstd"}
    assert {entry.name for entry in KERNELS.iterdir()} == names
