"""Files and names that mean harm: an answer or one of our errors, soon, whatever they say."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import MemoryStore

import virtual_cog
from rawtiff import RawTiff, grey
from tiff_codecs.errors import (
    TiffAccessError,
    TiffError,
    TiffFormatError,
    TiffNotFoundError,
    TiffOptionError,
    TiffUnsupportedError,
    TiffWarning,
)
from virtual_cog._cli import main

SOON = 10.0
"""Seconds: most take a fraction of one, on machines that do nothing else."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.tif"


@pytest.fixture(autouse=True)
def soon():
    started = time.monotonic()
    yield
    assert time.monotonic() - started < SOON


def shared_array(tag, ifds, values, kind=4):
    """A chain of IFDs that all have one array as their tag."""
    start, step = 8 + ifds * 18, 18
    tables = [
        struct.pack("<HHHIII", 1, tag, kind, values, start, 8 + step * (i + 1) if i + 1 < ifds else 0)
        for i in range(ifds)
    ]
    return b"II*\0" + struct.pack("<I", 8) + b"".join(tables) + struct.pack("<I", 8) * values


# --- arrays that many IFDs share, and IFDs below IFDs


def test_sub_ifds_that_all_share(path):
    path.write_bytes(shared_array(330, 5_000, 100_000))
    found = virtual_cog.describe(path)
    assert len(found.ifds) == 5_000
    assert found.damage
    with pytest.raises(TiffFormatError):
        virtual_cog.read(path, ifd=5_000)


def test_tile_tables_that_all_share(path):
    """Each of 2,000 images has the same table of 100,000 tiles: 800 MB of tables in a file of 1 MB."""
    images, tiles = 2_000, 100_000
    file = RawTiff()
    table = file.block(struct.pack("<I", 8) * tiles)
    where = file.pack("I", table)
    tags = [(256, 4, [tiles]), (257, 3, [1]), (258, 3, [8]), (322, 3, [16]), (323, 3, [16])]
    for _ in range(images):
        at = file.ifd([*tags, (324, 4, where, tiles), (325, 4, where, tiles)])
    assert at < 2**21
    path.write_bytes(file.bytes())
    found = virtual_cog.describe(path)
    assert len(found.ifds) == images
    assert "lie over each other" in " ".join(found.damage)


def test_sub_ifds_nested_deep(path):
    file = RawTiff()
    below = file.ifd(grey(), chained=False)
    for level in range(2_000):
        below = file.ifd([*grey(_254=(4, [1])), (330, 4, [below])], chained=level == 1_999)
    path.write_bytes(file.bytes())
    found = virtual_cog.describe(path)
    assert "nested too deep" in found.damage[-1]
    assert virtual_cog.read(path).shape == (1, 4, 4)
    with pytest.raises(TiffFormatError, match="nested too deep"):
        virtual_cog.read(path, ifd=100)


def test_many_pages_are_listed_in_part(path, capsys):
    file = RawTiff()
    for _ in range(5_000):
        file.ifd(grey())
    path.write_bytes(file.bytes())
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) < 250
    assert "4800 IFDs more" in out
    assert main(["info", "--json", str(path)]) == 0
    assert len(json.loads(capsys.readouterr().out)["ifds"]) == 5_000


def test_many_old_jpegs_whose_tables_lie_anywhere(path):
    images = 3_000
    file = RawTiff()
    file.block(bytes(range(256)) * 8192)  # 2 MB, read at most once
    for index in range(images):
        more = {f"t{tag}": (4, [8 + 600 * index + tag]) for tag in (513, 519, 520, 521)}
        file.ifd(grey(t259=(3, [6]), **more))
    path.write_bytes(file.bytes())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = virtual_cog.describe(path)
    assert len(found.ifds) == images
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KB
    with pytest.raises(TiffError):
        virtual_cog.read(path)


# --- tags that are too long, too large, or no numbers


def test_long_texts_are_cut_or_left_out(path):
    file = RawTiff()
    nodata, text = b"7" + b" " * 10**6 + b"\0", b"x" * (17 * 2**20)
    file.ifd([*grey(), (270, 2, text), (42113, 2, nodata)])
    path.write_bytes(file.bytes())
    with pytest.warns(TiffWarning, match="ImageDescription"):
        store = virtual_cog.open_store(path)
    attributes = zarr.open_group(store, mode="r")["band_data"].attrs
    assert "TIFFTAG_IMAGEDESCRIPTION" not in attributes
    assert attributes["_FillValue"] == 7
    with warnings.catch_warnings(action="error"):  # what pixels do not need is not read for them
        assert virtual_cog.read(path).shape == (1, 4, 4)


def test_a_huge_sparse_image(path):
    """Coordinates of 2**31 - 1 pixels would be 34 GB; its one tile is missing."""
    side = 2**31 - 1
    file = RawTiff()
    file.ifd(
        [(256, 4, [side]), (257, 4, [side]), (258, 3, [8]), (278, 4, [side]), (273, 4, [0]), (279, 4, [0]),
         (33550, 12, [1.0, 1.0, 0.0]), (33922, 12, [0.0] * 6)]
    )  # fmt: skip
    path.write_bytes(file.bytes())
    with pytest.warns(TiffWarning, match="no coordinates"):
        group = zarr.open_group(virtual_cog.open_store(path), mode="r")
    assert set(group) == {"band_data", "band", "spatial_ref"}
    assert virtual_cog.describe(path).ifds[0].missing_tiles == 1
    assert virtual_cog.read(path, window=(side - 2, side - 2, 2, 2)).tolist() == [[[0, 0], [0, 0]]]
    with pytest.raises(TiffUnsupportedError):
        virtual_cog.read(path)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e308])
@pytest.mark.parametrize("tag", ["scale", "matrix", "gcps", "key", "metadata"])
def test_numbers_that_json_has_not(path, tag, bad):
    scale, tiepoint = (33550, 12, [1.0, 1.0, 0.0]), (33922, 12, [0.0] * 6)
    xml = f'<GDALMetadata><Item name="SCALE" sample="0" role="scale">{bad}</Item></GDALMetadata>\0'.encode()
    tags = {
        "scale": [(33550, 12, [bad, bad, 0.0]), tiepoint],
        "matrix": [(34264, 12, [bad, 0, 0, bad, 0, bad, 0, 0] + [0.0] * 7 + [1.0])],
        "gcps": [(33922, 12, [0, 0, 0, bad, 1, 0, 1, 1, 0, 2, bad, 0])],
        "key": [scale, tiepoint, (34735, 3, [1, 1, 0, 1, 2057, 34736, 1, 0]), (34736, 12, [bad])],
        "metadata": [(42112, 2, xml)],
    }[tag]
    file = RawTiff()
    file.ifd([*grey(), *tags])
    path.write_bytes(file.bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiffWarning)
        store = virtual_cog.open_store(path)
        group = zarr.open_group(store, mode="r")
        for attributes in (group.attrs, *(group[name].attrs for name in group)):
            json.dumps(dict(attributes), allow_nan=False)
        assert group["band_data"].shape == (1, 4, 4)
        json.dumps(virtual_cog.describe(path).to_dict(), allow_nan=False)


# --- names


BAD_NAMES = [
    "http://[::1", "http:///x.tif", "https://", "http://host:99999999/x.tif", "http://host:0/x.tif",
    "~no-such-user/x.tif", "http://host/\ud800.tif", "a\0b.tif", "", b"a.tif", None, 7,
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_names_that_are_none(name):
    for call in (virtual_cog.read, virtual_cog.describe, virtual_cog.open_store):
        with pytest.raises(TiffOptionError):
            call(name)


def test_options_that_are_none(path):
    file = RawTiff()
    file.ifd(grey())
    path.write_bytes(file.bytes())
    for call in (
        lambda: virtual_cog.read(path, threads="x"),
        lambda: virtual_cog.read(path, threads=0),
        lambda: virtual_cog.read(path, ifd="x"),
        lambda: virtual_cog.read(path, registry={}),
        lambda: virtual_cog.COGParser(prefetch="x"),
        lambda: virtual_cog.COGParser(ifd=1.5),
    ):
        with pytest.raises(TiffOptionError):
            call()
    with pytest.raises(TiffError, match=r"found -1"):
        virtual_cog.read(path, ifd=-1)


def test_a_name_that_is_no_utf8(tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.tif")
    Path(name).write_bytes(b"II*\0")
    with pytest.raises(TiffAccessError, match="not UTF-8") as caught:
        virtual_cog.read(name)
    assert not isinstance(caught.value, TiffNotFoundError)
    str(caught.value).encode()


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
def test_what_is_no_file(tmp_path, kind):
    path = tmp_path / "x"
    server = None
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
    else:
        path = "/dev/zero"
    with pytest.raises(TiffAccessError, match=f"a {kind}"):
        virtual_cog.describe(path)
    if server:
        server.close()


def test_secrets_stay_out_of_messages():
    error = TiffFormatError(
        "damaged",
        url="https://me:hunter2@host/a.tif",
        found="GET https://b/c?x=1&sig=s3cr3t&X-Amz-Signature=abc failed",
    )
    assert "hunter2" not in str(error)
    assert "s3cr3t" not in str(error)
    assert "abc" not in str(error)
    assert "host/a.tif" in str(error)
    assert "x=1" in str(error)


# --- processes


def test_a_forked_process_is_refused_rather_than_left_waiting(path):
    file = RawTiff()
    file.ifd(grey())
    path.write_bytes(file.bytes())
    code = (
        "import os, sys, virtual_cog\n"
        "virtual_cog.read(sys.argv[1])\n"
        "if os.fork() == 0:\n"
        "    try: virtual_cog.read(sys.argv[1])\n"
        "    except virtual_cog.TiffAccessError as error: print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, path], capture_output=True, text=True, timeout=SOON, check=True
    )
    assert "forked" in done.stdout
    assert "spawn" in done.stdout


def test_ctrl_c_ends_a_read_that_does_not_return(tmp_path):
    """A server that never answers: obstore waits in code that sees no signal."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/a.tif"
        code = (
            "import signal, sys; from virtual_cog._cli import main\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "sys.exit(main(['read', sys.argv[1], '-o', 'a.npy']))"
        )
        with subprocess.Popen([sys.executable, "-c", code, url], stderr=subprocess.PIPE, cwd=tmp_path) as process:
            connection, _ = server.accept()
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=SOON)
            connection.close()
    assert (process.returncode, err) == (130, b"")
    assert list(tmp_path.iterdir()) == []


# --- chance


@pytest.mark.parametrize("seed", range(4))
def test_damaged_heads(seed):
    """IFDs with shared arrays, nested, with bytes changed: described and opened, or refused by an error of ours."""
    random = np.random.default_rng(seed)
    file = RawTiff(byte_order="<>"[seed % 2], bigtiff=seed > 1)
    shared = file.block(bytes(64))
    word = file.pack("Q" if file.bigtiff else "I", shared)
    below = file.ifd([*grey(_254=(4, [1])), (330, 4, word, 16)], chained=False)
    for _ in range(3):
        xml = b'<GDALMetadata><Item name="A">b</Item></GDALMetadata>\0'
        file.ifd([*grey(), (330, 4, [below]), (33550, 12, [1.0, 1.0, 0.0]), (34735, 3, word, 16), (42112, 2, xml)])
    content = file.bytes()
    store = MemoryStore()
    registry = ObjectStoreRegistry({"memory:///": store})
    for _ in range(150):
        damaged = bytearray(content)
        for at in random.integers(4, len(content), random.integers(1, 8)):
            damaged[at] = random.choice([0, 1, 255, random.integers(256)])
        store.put("a.tif", bytes(damaged))
        for call in (virtual_cog.describe, virtual_cog.open_store):
            with warnings.catch_warnings(action="ignore"), contextlib.suppress(TiffError):
                call("memory:///a.tif", registry=registry)
