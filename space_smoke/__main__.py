"""`python -m space_smoke` and the `space_smoke` command."""

from __future__ import annotations

import sys

from space_smoke.cli.command import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
