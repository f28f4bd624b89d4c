"""The JSON of a codec in the metadata of an array, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from .errors import TiffOptionError, TiffUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["named_configuration", "versioned_configuration"]


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


def versioned_configuration(
    data: object, name: str, version: int, required: Sequence[str], optional: Sequence[str]
) -> dict[str, object]:
    """Take a configuration that has a version out of a codec's JSON.

    Args:
        data: The JSON.
        name: The codec's name.
        version: The latest version that is known.
        required: Keys that must stand there.
        optional: Keys that may.

    Returns:
        The configuration without its version.

    Raises:
        TiffOptionError: The JSON has another form or name, or a key is missing or unknown.
        TiffUnsupportedError: A later version of the package wrote it.
    """
    configuration = named_configuration(data, name)
    found = configuration.pop("version", None)
    if type(found) is not int or found < 1:
        raise TiffOptionError(
            f"the configuration of {name} has no version",
            found=repr(found),
            supported=version,
        )
    if found > version:
        raise TiffUnsupportedError(
            f"the configuration of {name} was written by a later version of this package",
            found=f"version {found}",
            supported=f"version {version}",
            way_out="upgrade the package virtual-cog",
        )
    missing = [key for key in required if key not in configuration]
    unknown = sorted(set(configuration) - {*required, *optional})
    if missing or unknown:
        known = ", ".join(required) or "no key"
        raise TiffOptionError(
            f"the configuration of {name} has missing or unknown keys",
            found=f"missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}",
            supported=f"{known}; optional {', '.join(optional) or 'none'}",
        )
    return configuration
