"""The command line ``virtual-cog``: one module for each command, and what they share."""

from __future__ import annotations

from virtual_cog._cli._app import main

__all__ = ["main"]
