"""What an installation promises: a version, names that never change, and no heavy imports."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import rasterio
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = sorted(path for folder in ("virtual_cog", "codecs") for path in (ROOT / folder).rglob("*.py"))

# Stores in the world hold these names: a change here breaks them.
CODECS = {
    "tiff_codecs.tile": "tiff_codecs.tile:TileCodec",
    "tiff_codecs.deflate": "tiff_codecs.deflate:DeflateCodec",
    "tiff_codecs.lzw": "tiff_codecs.lzw:LzwCodec",
    "tiff_codecs.zstd": "tiff_codecs.zstd:ZstdCodec",
    "tiff_codecs.lzma": "tiff_codecs.lzma:LzmaCodec",
    "tiff_codecs.old_jpeg": "tiff_codecs.old_jpeg:OldJpegCodec",
    "tiff_codecs.packbits": "tiff_codecs.packbits:PackbitsCodec",
    "tiff_codecs.fill_order": "tiff_codecs.fill_order:FillOrderCodec",
    "tiff_codecs.ccitt": "tiff_codecs.ccitt:CcittCodec",
    "tiff_codecs.jpeg": "tiff_codecs.jpeg:JpegCodec",
    "tiff_codecs.jpeg2000": "tiff_codecs.jpeg2000:Jpeg2000Codec",
    "tiff_codecs.jpegxl": "tiff_codecs.jpegxl:JpegxlCodec",
    "tiff_codecs.jpegxr": "tiff_codecs.jpegxr:JpegxrCodec",
    "tiff_codecs.lerc": "tiff_codecs.lerc:LercCodec",
    "tiff_codecs.mixed_bits": "tiff_codecs.mixed_bits:MixedBitsCodec",
    "tiff_codecs.next_rle": "tiff_codecs.next_rle:NextRleCodec",
    "tiff_codecs.pixarlog": "tiff_codecs.pixarlog:PixarlogCodec",
    "tiff_codecs.png": "tiff_codecs.png:PngCodec",
    "tiff_codecs.sgilog": "tiff_codecs.sgilog:SgilogCodec",
    "tiff_codecs.thunderscan": "tiff_codecs.thunderscan:ThunderscanCodec",
    "tiff_codecs.webp": "tiff_codecs.webp:WebpCodec",
    "tiff_codecs.ycbcr": "tiff_codecs.ycbcr:YcbcrCodec",
}

# Modules whose distributions have other names, where they are not installed to be asked.
CUDA_MODULES = {"cupy": "cupy-cuda12x", "kvikio": "kvikio-cu12", "nvidia": "nvidia-libnvcomp-cu12"}


def run_python(code: str) -> str:
    """Run code in a fresh interpreter that knows only what is installed; return what it printed."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "tests")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_installed_version_is_the_projects():
    assert importlib.metadata.version("virtual-cog") == PROJECT["version"]


def test_version_has_an_entry_in_the_changelog():
    headings = re.findall(r"^## \[?([^\]\s]+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    released = [Version(heading) for heading in headings if heading != "Unreleased"]
    assert PROJECT["version"] in headings
    assert released == sorted(released, reverse=True)


def test_entry_points_are_the_published_names():
    points = importlib.metadata.distribution("virtual-cog").entry_points
    assert {point.name: point.value for point in points.select(group="zarr.codecs")} == CODECS
    assert {point.name: point.value for point in points.select(group="console_scripts")} == {
        "virtual-cog": "virtual_cog._cli:main"
    }


@pytest.mark.parametrize("name", CODECS)
def test_codec_names_are_allowed_by_zarr(name):
    assert re.fullmatch(r"[a-z][a-z0-9-_.]+", name)


def test_zarr_finds_codecs_in_a_process_that_imported_nothing_of_ours():
    code = f"from zarr.registry import get_codec_class as get; print([get(name) for name in {[*CODECS]}])"
    classes = [f"<class '{place.replace(':', '.')}'>" for place in CODECS.values()]
    assert run_python(code) == f"[{', '.join(classes)}]"


def test_no_top_level_codecs_package():
    assert not (ROOT / "codecs" / "__init__.py").exists()
    assert run_python("import codecs; codecs.lookup('utf-8'); print(hasattr(codecs, '__path__'))") == "False"


@pytest.mark.parametrize("package", ["virtual_cog", "tiff_codecs"])
def test_packages_are_typed(package):
    assert importlib.resources.files(package).joinpath("py.typed").is_file()


@pytest.mark.parametrize("package", ["virtual_cog", "tiff_codecs"])
def test_all_public_names_are_there_without_optional_packages(package):
    optional = {"cupy", "icechunk", "kvikio", "matplotlib", "rasterio", "rioxarray", "tifffile"}
    code = f"import sys; from {package} import *; print(sorted({optional} & sys.modules.keys()))"
    assert run_python(code) == "[]"


def test_tiff_codecs_stands_without_virtual_cog():
    assert run_python("import sys, tiff_codecs.tile; print('virtual_cog' in sys.modules)") == "False"


def test_every_import_is_a_declared_dependency():
    """Nothing rests on what another package happens to bring along."""
    optional = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    requirements = map(Requirement, [*PROJECT["dependencies"], *optional])
    declared = {requirement.name.lower() for requirement in requirements}
    distributions = importlib.metadata.packages_distributions()
    imported = {}
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            imported |= {name.partition(".")[0]: source.name for name in names}
    undeclared = []
    for module in imported.keys() - sys.stdlib_module_names - {"tiff_codecs", "virtual_cog"}:
        # several distributions share the top-level module of a namespace: which are here says nothing of what is used
        names = [*distributions.get(module, []), CUDA_MODULES.get(module, module)]
        if not declared & {name.lower().replace("_", "-") for name in names}:
            undeclared.append(f"{module} (in {imported[module]})")
    assert not undeclared


def test_readme_example_runs(tmp_path, monkeypatch):
    (example,) = re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / "README.md").read_text())
    pixels = np.arange(3 * 300 * 400, dtype=np.uint16).reshape(3, 300, 400)
    place = {"crs": "EPSG:32632", "transform": rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000)}
    profile = {"driver": "COG", "blocksize": 128, "count": 3, "height": 300, "width": 400} | place
    with rasterio.open(tmp_path / "scene.tif", "w", dtype=pixels.dtype, **profile) as scene:
        scene.write(pixels)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(example, "README.md", "exec"), names)  # noqa: S102 - our own text
    np.testing.assert_array_equal(names["pixels"], pixels)
    np.testing.assert_array_equal(names["corner"], pixels[:, :256, :256])
    np.testing.assert_array_equal(names["band"][...], pixels)
    assert dict(names["dataset"].sizes) == {"band": 3, "y": 300, "x": 400}
    assert (tmp_path / "scene.json").is_file()
