"""The audit log of a Kind bench's API server: what was really written, to be replayed through the protocol's invariants."""

from __future__ import annotations

import json
from typing import Any

from space_smoke.bench import engine

LOG = "/var/log/kubernetes/audit.log"


def position(bench: str) -> int:
    """How long the log is now, in bytes: where `since` is to begin."""
    return int(_in_node(bench, "stat", "-c", "%s", LOG).strip())


def since(bench: str, start: int) -> list[dict[str, Any]]:
    """The whole entries after byte `start`, oldest first. Raises CommandFailed when the node has no log."""
    text = _in_node(bench, "tail", "-c", f"+{start + 1}", LOG)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


def _in_node(bench: str, *argv: str) -> str:
    return engine.docker("exec", f"{bench}-control-plane", *argv, timeout_s=60).stdout
