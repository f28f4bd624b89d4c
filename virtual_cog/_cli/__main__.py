"""``python -m virtual_cog._cli``."""

from __future__ import annotations

import sys

from virtual_cog._cli import main

if __name__ == "__main__":
    sys.exit(main())
