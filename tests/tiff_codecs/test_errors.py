from __future__ import annotations

import builtins
import copy
import pickle

import pytest

import tiff_codecs
from tiff_codecs import errors

CLASSES = [getattr(errors, name) for name in errors.__all__ if name != "TiffWarning"]

FULL = {
    "url": "file:///a b.tif",
    "ifd": 0,
    "tag": "Predictor (317)",
    "tile": (0, 2, 1),
    "found": "32-bit uint",
    "supported": "float",
    "way_out": "rewrite the file",
}


@pytest.mark.parametrize("cls", CLASSES)
def test_message_says_what_where_and_what_to_do_in_one_line(cls):
    error = cls("predictor 3 is for\nfloating point", **FULL)
    assert str(error) == (
        "predictor 3 is for floating point (file:///a b.tif, IFD 0, tag Predictor (317), tile (0, 2, 1)): "
        "found 32-bit uint; supported: float; way out: rewrite the file"
    )


@pytest.mark.parametrize("cls", CLASSES)
def test_unknown_parts_are_left_out(cls):
    assert str(cls("bad")) == "bad"
    assert str(cls("bad", found=0)) == "bad: found 0"
    assert str(cls("bad", ifd=0)) == "bad (IFD 0)"


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("duplicate", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])  # noqa: S301
def test_errors_survive_a_process_boundary(cls, duplicate):
    error = cls("bad", **FULL)
    twin = duplicate(error)
    assert type(twin) is cls
    assert str(twin) == str(error)
    assert twin.context == FULL


@pytest.mark.parametrize("cls", CLASSES)
def test_context_fills_only_what_is_not_known(cls):
    cause = KeyError("x")
    with pytest.raises(cls) as caught:
        raise cls("bad", ifd=3) from cause
    raised = caught.value
    raised.add_note("a note")
    error = raised.with_context(url="u", ifd=0, tile=None)
    assert (error.url, error.ifd, error.tile) == ("u", 3, None)
    assert raised.url is None
    assert type(error) is cls
    assert error.__cause__ is cause
    assert error.__traceback__ is raised.__traceback__
    assert error.__notes__ == ["a note"]


def test_context_knows_its_fields():
    with pytest.raises(TypeError, match="no field 'colour'"):
        errors.TiffError("bad").with_context(colour="red")


@pytest.mark.parametrize(
    ("cls", "caught_as"),
    [
        (errors.TiffFormatError, "ValueError"),
        (errors.TiffUnsupportedError, "NotImplementedError"),
        (errors.TiffDataError, "ValueError"),
        (errors.TiffAccessError, "OSError"),
        (errors.TiffNotFoundError, "FileNotFoundError"),
        (errors.TiffSelectionError, "IndexError"),
        (errors.TiffOptionError, "ValueError"),
    ],
)
def test_errors_are_also_the_builtin_ones(cls, caught_as):
    assert issubclass(cls, errors.TiffError)
    assert issubclass(cls, getattr(builtins, caught_as))


def test_everything_public_is_exported():
    assert set(errors.__all__) <= set(tiff_codecs.__all__)
    assert all(hasattr(tiff_codecs, name) for name in tiff_codecs.__all__)
