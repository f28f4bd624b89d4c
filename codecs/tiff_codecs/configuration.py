"""The JSON of a codec in the metadata of an array, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from .errors import TiffOptionError

__all__ = ["named_configuration"]


def named_configuration(data: object, name: str) -> dict[str, object]:
    """Take the configuration out of a codec's JSON.

    Args:
        data: The name alone, or an object with `name` and perhaps `configuration`.
        name: The name that must stand there.

    Returns:
        The configuration, empty where there is none.

    Raises:
        TiffOptionError: The JSON has another form or another name.
    """
    if isinstance(data, str):
        data = {"name": data}
    if not isinstance(data, Mapping):
        raise TiffOptionError("the metadata of a codec must be a JSON object", found=repr(data))
    fields = cast("Mapping[str, object]", data)
    if fields.get("name") != name:
        raise TiffOptionError(
            "the metadata of a codec has another codec's name", found=repr(fields.get("name")), supported=name
        )
    unknown = sorted(set(fields) - {"name", "configuration", "must_understand"})
    configuration = fields.get("configuration", {})
    if unknown or not isinstance(configuration, Mapping):
        raise TiffOptionError(
            f"the metadata of the codec {name} is not as expected",
            found=", ".join(unknown) or repr(configuration),
            supported="name, and configuration as an object",
        )
    return dict(cast("Mapping[str, object]", configuration))
