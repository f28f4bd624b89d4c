"""The commands `info`, `read` and `refs`: what they print, write and return."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from urllib.parse import quote

import numpy as np
import pytest
import rasterio
import tifffile
import zarr

import virtual_cog
from httpserver import serve
from pyramids import write_cog
from rawtiff import jbig
from tiff_codecs.errors import TiffOptionError
from virtual_cog import _icechunk_containers, _info
from virtual_cog._cli import main, read
from virtual_cog._cli._output import byte_text, plural, printable, rate_text, time_text
from virtual_cog._icechunk import group_names

HEAVY = {"xarray", "icechunk", "matplotlib", "rasterio", "virtualizarr"}


@pytest.fixture(scope="module")
def pixels():
    return np.random.default_rng(3).integers(0, 60000, (2, 300, 270), "u2")


@pytest.fixture(scope="module")
def cog(tmp_path_factory, pixels):
    return write_cog(tmp_path_factory.mktemp("cog") / "scene.tif", pixels, predictor=2)


@pytest.fixture
def run(capsys):
    """Run a command in this process; returns its exit code, stdout and the lines of stderr."""

    def run(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return code, out, err.splitlines()

    return run


def python(*argv, **options):
    return subprocess.run(
        [sys.executable, *map(str, argv)], capture_output=True, text=True, check=False, timeout=60, **options
    )


# --- all commands


def test_version_and_help(run):
    code, out, err = run("--version")
    assert (code, err) == (0, [])
    assert re.match(r"\d+\.\d+\.\d+", out)
    code, out, err = run("--help")
    assert (code, err) == (0, [])
    for word in ("info", "read", "refs", "demo", "--version", "--debug"):
        assert word in out
    for command in ("info", "read", "refs", "demo"):
        assert f"virtual-cog {command}" in run(command, "--help")[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["inffo"], "Unknown command"),
        (["info"], "requires an argument"),
        (["refs"], "requires an argument"),
        (["info", "a.tif", "b.tif"], "b.tif"),
        (["info", "a.tif", "--jsn"], "--jsn"),
        (["read", "a.tif", "--ifd", "one"], "--ifd"),
        (["read", "a.tif", "--window", "1,2,3"], "COL,ROW,WIDTH,HEIGHT"),
        (["read", "a.tif", "-o", "a.png"], "not a .npy file"),
    ],
)
def test_wrong_arguments_take_one_line_and_exit_code_2(run, argv, words):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    (line,) = err
    assert line.startswith("error: ")
    assert words in line
    assert "--help" in line


def test_errors_take_one_line_and_exit_code_1(run, tmp_path):
    code, out, err = run("info", tmp_path / "none.tif")
    assert (code, out) == (1, "")
    (line,) = err
    assert line.startswith("error: there is no such file")
    assert "way out" in line


@pytest.mark.parametrize("argv", [["--debug", "info", "none.tif"], ["info", "none.tif", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(run, argv):
    code, _, err = run(*argv)
    assert code == 1
    assert err[0].startswith("Traceback")
    assert err[-1].startswith("error: there is no such file")


def test_debug_behind_two_dashes_is_a_file(run):
    code, _, err = run("info", "--", "--debug")
    assert (code, len(err)) == (1, 1)
    assert "--debug" in err[0]


def test_a_bug_is_called_one(run, monkeypatch):
    monkeypatch.setattr(_info, "describe", lambda url: {}[url])
    code, out, err = run("info", "a.tif")
    assert (code, out) == (1, "")
    (line,) = err
    assert line == (
        "error: this is a bug in virtual-cog: KeyError: 'a.tif'; "
        "way out: run it again with --debug and report what it prints"
    )


@pytest.mark.parametrize(("raised", "code", "lines"), [(KeyboardInterrupt, 130, 0), (MemoryError, 1, 1)])
def test_interruption_is_quiet_and_memory_is_no_bug(run, monkeypatch, raised, code, lines):
    def describe(url):
        raise raised

    monkeypatch.setattr(_info, "describe", describe)
    found, out, err = run("info", "a.tif")
    assert (found, out, len(err)) == (code, "", lines)
    assert not any("bug" in line for line in err)


def test_each_warning_is_printed_once_on_one_line(run, tmp_path):
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        for _ in range(3):
            file.write(np.zeros((8, 8), "u1"), extratags=[(42113, "s", 0, "-9999", False)], metadata=None)
    code, out, err = run("info", path)
    assert (code, len(err)) == (0, 1)
    assert err[0].startswith("warning: GDAL_NODATA '-9999'")
    assert len(json.loads(run("info", path, "--json")[1])["ifds"]) == 3
    assert "warning:" not in out


def test_light_commands_import_nothing_heavy(cog):
    code = (
        "import sys; from virtual_cog._cli import main\n"
        f"main(['--help']); main(['info', {str(cog)!r}]); main(['read', {str(cog)!r}])\n"
        f"print(sorted({HEAVY} & sys.modules.keys()))"
    )
    done = python("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["virtual_cog", "virtual_cog._cli"])
def test_runs_as_a_module(module, cog):
    done = python("-m", module, "info", cog, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["crs"]["epsg"] == 32631
    assert python("-m", module, "nonsense").returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals of POSIX")
@pytest.mark.parametrize("argv", [["info", "COG"], ["info", "COG", "--json"], ["--help"]])
def test_a_closed_pipe_is_no_error(argv, cog):
    reader, writer = os.pipe()
    os.close(reader)
    words = [str(cog) if word == "COG" else word for word in argv]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "virtual_cog", *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode in {1, 141}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_interrupting_a_read_leaves_nothing(tmp_path, cog):
    code = (
        "import signal, sys, time, virtual_cog._read as r; from virtual_cog._cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
        "def slow(*a, **k):\n print('reading', flush=True)\n for _ in range(600): time.sleep(0.05)\n"
        f"r.read = slow; sys.exit(main(['read', {str(cog)!r}, '-o', 'a.npy']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdout.readline() == b"reading\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")
    assert list(tmp_path.iterdir()) == []


# --- info


def test_info_of_all_real_files(run, corpus):
    for name, file in corpus.items():
        code, out, err = run("info", file.path)
        assert code == 0, name
        assert all(line.startswith("warning: ") for line in err), name
        assert str(file.path) in out
        assert out.count("not read") <= len(file.entry["ifds"])


def test_info_says_what_a_user_asks(run, cog):
    code, out, err = run("info", cog)
    assert (code, err) == (0, [])
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in out.split("\n\n", 1)[0].splitlines())
    assert facts["file"] == cog.as_uri()
    assert facts["format"] == "classic TIFF, little-endian"
    assert facts["COG"] == "yes"
    assert facts["CRS"] == "WGS 84 / UTM zone 31N (EPSG:32631)"
    assert facts["transform"].startswith("500000, 10, 0, 4600000, 0, -10")
    assert facts["bounds"] == "500000, 4597000, 502700, 4600000"
    assert facts["resolution"] == "10 x 10"
    assert re.search(r"0 +image +270x300x2 +uint16 +9 tiles 128x128 +DEFLATE, predictor 2 +min-is-black, chunky", out)
    assert re.search(r"\(1:\d\.\d\) +CPU", out)
    assert "overview of 0" in out


def test_info_in_a_narrow_terminal_is_cut_nowhere(run, monkeypatch, cog):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run("info", cog)
    assert "\u2026" not in out
    assert "IFD 0  image, 270x300x2 uint16, min-is-black, chunky" in out


def test_info_as_json_prints_nothing_else(run, cog):
    code, out, err = run("info", cog, "--json")
    assert (code, err) == (0, [])
    assert json.loads(out) == _info.describe(cog).to_dict()
    assert out == out.encode("ascii", "strict").decode()


def test_info_of_a_damaged_file_shows_it_and_fails(run, corpus, tmp_path):
    path = tmp_path / "cut.tif"
    path.write_bytes(corpus["rasterio__goes.tif"].path.read_bytes()[:3000])
    code, out, err = run("info", path)
    assert code == 1
    assert "no: the file is damaged" in out
    assert len(re.findall(r" damaged$", out, re.MULTILINE)) == 4 + 1
    assert "542x542x3" in out
    assert len(err) == 4
    assert all(line.startswith(f"error: file://{path}: ") for line in err)
    code, out, _ = run("info", path, "--json")
    assert code == 1
    assert len(json.loads(out)["damage"]) == 4


def test_info_says_why_an_image_is_not_read(run, tmp_path):
    code, out, _ = run("info", jbig(tmp_path / "a.tif"))
    assert code == 0
    assert "not read" in out
    assert re.search(r"^IFD 0 cannot be read: .*ISO JBIG.*way out", out, re.MULTILINE)


def test_texts_from_a_file_do_not_steer_the_terminal(run, tmp_path):
    path = tmp_path / "a[bold]b.tif"
    tags = [(42113, "s", 0, "[red]7\x1b[31m", False)]
    tifffile.imwrite(path, np.zeros((8, 8), "u1"), extratags=tags, metadata=None)
    code, out, err = run("info", path)
    assert (code, len(err)) == (0, 1)
    assert "\x1b" not in out + err[0]
    assert "a[bold]b.tif" in out
    assert "[red]7\\x1b[31m" in out


def test_info_of_a_url(run, cog):
    with serve(cog.parent) as server:
        code, out, err = run("info", f"{server.url}/scene.tif")
        missing = run("info", f"{server.url}/none.tif")
    assert (code, err) == (0, [])
    assert f"{server.url}/scene.tif" in out
    assert missing[0] == 1
    assert "there is no such file" in missing[2][0]


# --- read


def test_read_writes_what_rasterio_reads(run, tmp_path, cog, pixels):
    output = tmp_path / "a.npy"
    code, out, err = run("read", cog, "-o", output)
    assert (code, err) == (0, [])
    np.testing.assert_array_equal(np.load(output), pixels, strict=True)
    assert re.match(r"\(2, 300, 270\) uint16: 324 kB in \d+\.\d{3} s, [\d.]+ MB/s\nwrote ", out)
    assert output.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_read_a_window_and_an_overview(run, tmp_path, cog, pixels):
    assert run("read", cog, "--window", "120,130,40,50", "-o", tmp_path / "a.npy")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), pixels[:, 130:180, 120:160])
    assert run("read", cog, "--ifd", "1", "--output", tmp_path / "b.npy")[0] == 0
    assert run("read", cog, "--overview-level", "0", "--output", tmp_path / "c.npy")[0] == 0
    with rasterio.open(cog, overview_level=0) as file:
        for name in "bc":
            np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), file.read())
    code, _, (line,) = run("read", cog, "--overview-level", "9")
    assert (code, "overview" in line) == (1, True)


@pytest.mark.parametrize("window", [None, (5, 40, 200, 250)])
@pytest.mark.parametrize("size", [1, 100_000, 200_000])
def test_large_images_are_read_in_blocks(run, tmp_path, cog, pixels, monkeypatch, size, window):
    monkeypatch.setattr(read, "BLOCK_BYTES", size)
    argv = [] if window is None else ["--window", ",".join(map(str, window))]
    assert run("read", cog, "-o", tmp_path / "a.npy", *argv)[0] == 0
    col, row, width, height = window or (0, 0, 270, 300)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), pixels[:, row : row + height, col : col + width])


def test_read_ycbcr_as_it_is_stored(run, tmp_path, cases):
    path, out = cases["B35_jpeg_ycbcr_tables.tif"].path, tmp_path / "a.npy"
    for ycbcr in ("rgb", "stored"):
        assert run("read", path, "--ycbcr", ycbcr, "-o", out, "--overwrite")[0] == 0
        np.testing.assert_array_equal(np.load(out), virtual_cog.read(path, ycbcr=ycbcr))
    assert run("read", path, "--ycbcr", "raw")[0] == 2


def test_read_replaces_a_file_only_when_told(run, tmp_path, cog, pixels):
    output = tmp_path / "a.npy"
    output.write_text("precious")
    code, out, err = run("read", cog, "-o", output)
    assert (code, out) == (1, "")
    assert "--overwrite" in err[0]
    assert output.read_text() == "precious"
    code, out, _ = run("read", cog, "-o", output, "--overwrite")
    assert (code, out.splitlines()[-1]) == (0, f"replaced {output}")
    np.testing.assert_array_equal(np.load(output), pixels)


def test_read_that_fails_leaves_nothing_and_keeps_the_old(run, tmp_path, corpus):
    output = tmp_path / "a.npy"
    output.write_text("precious")
    for file, words in [("libtiff-net__CCITT_2.TIF", "no decoder"), ("rio-tiler__cog_rgb.tif", "no decoder")]:
        if _info.describe(corpus[file].path).ifds[0].decoder:
            continue
        code, _, err = run("read", corpus[file].path, "-o", output, "--overwrite")
        assert (code, len(err)) == (1, 1)
        assert words in err[0]
    assert list(tmp_path.iterdir()) == [output]
    assert output.read_text() == "precious"


def test_read_without_output_only_measures(run, tmp_path, monkeypatch, cog):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("read", cog)
    assert (code, err) == (0, [])
    assert "-o FILE.npy" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--ifd", "9"], "no such IFD"),
        (["--window", "0,0,9999,1"], "not inside the image"),
        (["--window", "-1,0,5,5"], "not inside the image"),
        (["--device", "abacus"], "abacus"),
        (["-o", "no/such/folder/a.npy"], "no such folder"),
    ],
)
def test_read_refuses(run, cog, argv, words):
    code, out, err = run("read", cog, *argv)
    assert (code, out, len(err)) == (1, "", 1)
    assert words in err[0]


def test_progress_is_shown_on_terminals_only(run, monkeypatch, cog):
    assert run("read", cog)[2] == []
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["read", str(cog)]) == 0
    assert "read" in screen.getvalue()


# --- refs


def reopened(out):
    """Run the code that `refs` prints; returns what it opened."""
    names = {}
    exec(out[out.index("import icechunk") :], names)  # noqa: S102
    return names


@pytest.fixture
def plain_warnings():
    """Icechunk and Zarr warn of things that are as they are."""
    with warnings.catch_warnings(action="ignore"):
        yield


def test_one_file_goes_to_the_root(run, tmp_path, cog, pixels, plain_warnings):
    code, out, err = run("refs", cog, "-o", tmp_path / "repo")
    assert (code, err) == (0, [])
    names = reopened(out)
    np.testing.assert_array_equal(zarr.open_group(names["store"], mode="r")["band_data"][...], pixels)
    assert names["dataset"].sizes == {"band": 2, "y": 300, "x": 270}
    assert names["dataset"]["x"].values[0] == 500005
    assert os.listdir(tmp_path) == ["repo"]  # noqa: PTH208


def test_several_files_get_a_group_each(run, tmp_path, cog, pixels, plain_warnings):
    other = write_cog(tmp_path / "scene.tif", pixels[:1, :100] + 1)
    code, out, err = run("refs", cog, other, "-o", tmp_path / "repo")
    assert (code, err) == (0, [])
    assert re.search(rf"scene +file://{cog}\n +scene-2 +file://{other}\n", out)
    root = zarr.open_group(reopened(out)["store"], mode="r")
    assert sorted(root.group_keys()) == ["scene", "scene-2"]
    np.testing.assert_array_equal(root["scene/band_data"][...], pixels)
    np.testing.assert_array_equal(root["scene-2/band_data"][...], pixels[:1, :100] + 1)


def test_refs_to_overviews_masks_and_stacks(run, tmp_path, pixels, plain_warnings):
    mask = np.tri(300, 270, dtype=bool)
    masked = write_cog(tmp_path / "masked.tif", pixels, mask=mask)
    out = run("refs", masked, "-o", tmp_path / "a", "--overview-level", "0", "--mask")[1]
    root = zarr.open_group(reopened(out)["store"], mode="r")
    with rasterio.open(masked, overview_level=0) as file:
        np.testing.assert_array_equal(root["band_data"][...], file.read())
        np.testing.assert_array_equal(root["mask"][...] == 1, file.read_masks() == 255)
    stack = tmp_path / "stack.tif"
    tifffile.imwrite(stack, pixels, photometric="minisblack")
    out = run("refs", stack, "-o", tmp_path / "b", "--layout", "stack")[1]
    np.testing.assert_array_equal(zarr.open_group(reopened(out)["store"], mode="r")["band_data"][:, 0], pixels)
    code, _, (line,) = run("refs", stack, "-o", tmp_path / "c", "--layout", "stack", "--overview-level", "0")
    assert (code, "overview_level" in line) == (1, True)


def test_group_names():
    assert group_names(["a/b c.tif"]) == [""]
    names = group_names(
        ["a/b c.tif", "d/b%20c.tif", "s3://x/b c.tif", "http://h/b%20c.tif", "é.tif", "-_.tif", "%.tif"]
    )
    assert names == ["b_c", "b_20c", "b_c-2", "b_c-3", "é", "image", "image-2"]


@pytest.mark.parametrize("folder", ["plain", "with space", "d\u00e9j\u00e0", "50%", "a%20b"])
@pytest.mark.parametrize("name", ["a b", "a%20b", "50%", "\u65e5\u672c", "%C3%A9", "a+b&c=d;e,f", "[x]'(1)"])
def test_names_with_any_characters(tmp_path, folder, name, plain_warnings):
    """Beside each file lies the one that a reader finds who decodes its name once too often, or not."""
    from virtual_cog._icechunk import open_reference, write_repository

    (tmp_path / folder).mkdir()
    wanted = np.full((1, 16, 16), 7, "u1")
    for decoy in ("a b", "é", "50", "50%25", quote(name)):
        tifffile.imwrite(tmp_path / folder / f"{decoy}.tif", np.zeros((16, 16), "u1"), metadata=None)
    path = tmp_path / folder / f"{name}.tif"
    tifffile.imwrite(path, wanted[0], metadata=None)
    written = write_repository([open_reference(str(path))], tmp_path / "repo", message="test")
    store = reopened(written.how_to_open())["store"]
    np.testing.assert_array_equal(zarr.open_group(store, mode="r")["band_data"][...], wanted)


def test_names_that_references_cannot_carry_are_refused(run, tmp_path, cog):
    for name in ("a#b.tif", "a?b.tif"):
        (tmp_path / name).write_bytes(cog.read_bytes())
        code, _, err = run("refs", tmp_path / name, "-o", tmp_path / "repo")
        assert (code, len(err)) == (1, 1)
        assert "rename the file or make a link" in err[0]
    assert not (tmp_path / "repo").exists()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///a.tif", "no folder"),
        ("file:///d\u00e9j\u00e0/vu/a.tif", "make a link"),
        ("http://me:secret@host/a.tif", "password"),
        ("ftp://host/a.tif", "no store"),
    ],
)
def test_places_that_icechunk_cannot_refer_to(url, words):
    with pytest.raises(TiffOptionError, match=words) as caught:
        _icechunk_containers.container_prefix(url)
    assert "secret" not in str(caught.value)


def test_containers_are_as_narrow_as_they_can_be():
    def prefixes(*urls):
        return [container.prefix for container in _icechunk_containers.containers_for(urls)]

    assert prefixes("file:///a/b/1.tif", "file:///a/b/2.tif") == ["file:///a/b/"]
    assert prefixes("file:///a/b/1.tif", "file:///a/c d/e/2.tif") == ["file:///a/"]
    assert prefixes("file:///a/1.tif", "file:///b/2.tif") == ["file:///a/", "file:///b/"]
    assert prefixes("https://h:8/x/1.tif", "s3://b/1.tif", "gs://c/1.tif") == ["gs://c/", "https://h:8/", "s3://b/"]


def test_azure_needs_an_account(monkeypatch):
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(TiffOptionError, match="AZURE_STORAGE_ACCOUNT_NAME"):
        _icechunk_containers.containers_for(["az://c/a.tif"])
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "me")
    (container,) = _icechunk_containers.containers_for(["az://c/a.tif"])
    assert (container.prefix, container.credentials) == ("az://c/", "icechunk.azure_from_env_credentials()")


def test_refs_over_http(run, tmp_path, pixels, plain_warnings):
    (tmp_path / "served").mkdir()
    write_cog(tmp_path / "served" / "a %20 é.tif", pixels)
    with serve(tmp_path / "served") as server:
        code, out, err = run("refs", f"{server.url}/{quote('a %20 é.tif')}", "-o", tmp_path / "repo")
        assert (code, err) == (0, [])
        assert "HttpAccess" in out
        found = zarr.open_group(reopened(out)["store"], mode="r")["band_data"][...]
    np.testing.assert_array_equal(found, pixels)


def test_refs_in_a_bucket(run, tmp_path, pixels, monkeypatch, plain_warnings):
    """The loopback server answers as a bucket would that needs no signature."""
    (tmp_path / "served" / "bucket" / "k").mkdir(parents=True)
    file = write_cog(tmp_path / "served" / "bucket" / "k" / "a %20 é.tif", pixels)
    file.with_name(f"{file.name}?x-id=GetObject").hardlink_to(file)  # what Icechunk's S3 client asks for
    with serve(tmp_path / "served") as server:
        for name, value in {
            "AWS_ENDPOINT_URL": server.url, "AWS_ALLOW_HTTP": "true", "AWS_SKIP_SIGNATURE": "true",
            "AWS_REGION": "eu-central-1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        code, out, err = run("refs", "s3://bucket/k/a %20 é.tif", "-o", tmp_path / "repo")
        assert (code, err) == (0, [])
        assert "'s3://bucket/': icechunk.s3_anonymous_credentials()" in out
        for name in ("AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP", "AWS_SKIP_SIGNATURE", "AWS_REGION"):
            monkeypatch.delenv(name)  # the reader needs none: the repository holds them
        found = zarr.open_group(reopened(out)["store"], mode="r")["band_data"][...]
    np.testing.assert_array_equal(found, pixels)


def test_refs_are_named_after_the_file(run, tmp_path, monkeypatch, cog, pixels):
    monkeypatch.chdir(tmp_path)
    assert run("refs", cog)[0] == 0
    write_cog(tmp_path / "b.tif", pixels)
    assert run("refs", cog, "b.tif")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"scene.icechunk", "references.icechunk", "b.tif"}


def test_refs_take_empty_folders_only(run, tmp_path, cog):
    (tmp_path / "empty").mkdir()
    assert run("refs", cog, "-o", tmp_path / "empty")[0] == 0
    before = sorted((tmp_path / "empty").rglob("*"))
    (tmp_path / "file").write_text("precious")
    for place, words in [("empty", "not empty"), ("file", "a file"), ("no/such", "no such parent")]:
        code, out, err = run("refs", cog, "-o", tmp_path / place)
        assert (code, out, len(err)) == (1, "", 1)
        assert words in err[0]
    assert sorted((tmp_path / "empty").rglob("*")) == before
    assert (tmp_path / "file").read_text() == "precious"


def test_refs_that_fail_leave_nothing(run, tmp_path, cog):
    code, _, err = run("refs", cog, tmp_path / "none.tif", "-o", tmp_path / "repo")
    assert (code, len(err)) == (1, 1)
    assert "none.tif" in err[0]
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named_with_its_extra(run, monkeypatch, cog):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "icechunk" else find(name))
    for command in (["refs", cog], ["demo"]):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        (line,) = err
        assert line.startswith(
            "error: this command needs icechunk: found not installed; way out: install the extra demo"
        )


# --- words


def test_words():
    assert [rate_text(n, 2) for n in (5, 3_000_000, 44_000_000)] == ["less than 0.1 MB/s", "1.5 MB/s", "22 MB/s"]
    assert [byte_text(n) for n in (0, 999, 1000, 12_345, 999_950, 5 * 10**12)] == [
        "0 bytes", "999 bytes", "1.0 kB", "12.3 kB", "1.0 MB", "5.0 TB",
    ]  # fmt: skip
    assert [time_text(s) for s in (0.0123, 1.25)] == ["12 ms", "1.2 s"]
    assert [plural(n, "tile") for n in (0, 1, 2)] == ["0 tiles", "1 tile", "2 tiles"]
    assert printable("a\x1b[0m\né\ud800") == "a\\x1b[0m\\né\\ud800"
