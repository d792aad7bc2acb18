"""How the sandbox says no: HTTP status, machine code, a sentence."""

from __future__ import annotations


class Refused(Exception):
    """The request cannot be served."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def malformed(message: str) -> Refused:
    return Refused(400, "malformed", message)


def outside(path: str) -> Refused:
    return Refused(400, "path_outside", f"{path[:200]!r} leads out of the workspace; paths are relative to it")
