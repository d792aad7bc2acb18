"""Parses, calls the verb, and turns whatever comes back into one message and the documented exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from space_smoke import errors
from space_smoke.cli import parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code of `space_smoke ARGV`. Never raises: a defect of the harness is code 70 with its traceback."""
    try:
        options = parser.build().parse_args(argv)
    except errors.UsageError as error:
        print(f"space_smoke: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    try:
        from space_smoke.cli import verbs

        return verbs.VERBS[options.verb](options)
    except errors.SpaceSmokeError as error:
        _tell(error, as_json=getattr(options, "json", False))
        return error.exit_code
    except KeyboardInterrupt:
        print("space_smoke: stopped by Ctrl-C", file=sys.stderr)  # noqa: T201
        return errors.FAILED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone; Python would complain about that at its exit
        return errors.FAILED
    except Exception:
        import traceback

        traceback.print_exc()
        print(  # noqa: T201
            "space_smoke: this is a defect of the harness, not of what was tested.\n"
            "  next: space_smoke status shows whether a fault is still up",
            file=sys.stderr,
        )
        return errors.BROKE


def _tell(error: errors.SpaceSmokeError, *, as_json: bool) -> None:
    if as_json:
        shown: dict[str, Any] = {"error": error.message, "next": error.next_step, "exit_code": error.exit_code}
        if isinstance(error, errors.SpecError):
            shown["mistakes"] = [{"place": item.place, "message": item.message} for item in error.mistakes]
        print(json.dumps(shown))  # noqa: T201
    else:
        print(f"space_smoke: {error}", file=sys.stderr)  # noqa: T201
