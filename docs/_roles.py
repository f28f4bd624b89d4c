# ruff: noqa: INP001 - scripts, not a package
"""Sphinx's roles in docstrings, such as ``:class:`COGParser```, as the plain code that Markdown shows."""

from __future__ import annotations

import re
from typing import Final

import griffe

ROLE: Final = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Takes the roles away before docstrings are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(r"`\1`", obj.docstring.value)
