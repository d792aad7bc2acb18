"""What sessions share, whether their steps go straight to the API or through its queue: the words of a step, the order of steps,
what a put sends, and how what comes back is told."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

from space_smoke.bench import wait
from space_smoke.loads import traffic

_LONGEST = 4000  # bytes of a file that are worth keeping as text

Step = Mapping[str, Any]

# Words of a step that mean the same everywhere.
WORDS: Mapping[str, Any] = {
    "command": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "stdin": {"type": "string"},
    "for": {"type": "string", "format": "duration", "description": "of a wait: how long"},
    "path": {"type": "string", "description": "of put, get and list: in the workspace"},
    "text": {"type": "string", "description": "of a put: what the file holds, as UTF-8"},
    "base64": {"type": "string", "description": "of a put: what the file holds, as bytes"},
    "size": {
        "type": "integer",
        "minimum": 0,
        "maximum": 8388608,
        "description": "of a put: so many bytes, the same for the same seed",
    },
}


def schema(names: tuple[str, ...], **words: Any) -> dict[str, Any]:
    """A list of steps: what each may do, and the words that only this session has."""
    step = {
        "type": "object",
        "required": ["do"],
        "additionalProperties": False,
        "properties": {"do": {"enum": list(names)}, **WORDS, **words},
    }
    return {"type": "array", "minItems": 1, "maxItems": 100, "items": step}


def walk(load: traffic.Traffic) -> Iterator[tuple[int, Step]]:
    """The steps of a session with their numbers. A `wait` is no request: it passes here."""
    for number, step in enumerate(load.argument("steps")):
        if step["do"] == "wait":
            wait.pace(load.door.clock() + float(step.get("for_s", 0)), load.door.clock, load.stop)
            continue
        if load.stop.is_set() and not load.argument("through"):
            return
        yield number, step


def command(step: Step) -> dict[str, Any]:
    """What a command is asked with, by either API."""
    asked: dict[str, Any] = {"command": step.get("command", ["true"])}
    if "stdin" in step:
        asked["stdin_b64"] = base64.b64encode(step["stdin"].encode()).decode()
    return asked


def content(step: Step, seed: int) -> bytes:
    """What a put sends. Bytes of a stated size come from the seed, every value among them."""
    if "size" in step:
        return random.Random(seed).randbytes(step["size"])  # noqa: S311 - test data
    return base64.b64decode(step["base64"]) if "base64" in step else str(step.get("text", "")).encode()


def sent(data: bytes) -> dict[str, Any]:
    """The bytes of a file, by their number and SHA-256."""
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def got(data: bytes) -> dict[str, Any]:
    """The same, and the file itself where it is short."""
    return sent(data) | {"text": _shown(data) if len(data) <= _LONGEST else None}


def decoded(encoded: str) -> bytes | None:
    """The bytes of a field in base64; None where it is none."""
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        return None


def output(result: Any) -> dict[str, Any]:
    """How a command ended and what it wrote."""
    if not isinstance(result, Mapping):
        return {}
    return {"exit_code": result.get("exit_code"), **{s: _text(result.get(f"{s}_b64")) for s in ("stdout", "stderr")}}


def _text(encoded: Any) -> str | None:
    """Output as text; bytes that are not UTF-8 as base64, marked."""
    if not isinstance(encoded, str):
        return None
    raw = decoded(encoded)
    return f"not base64: {encoded[:80]}" if raw is None else _shown(raw)


def _shown(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(raw).decode()}"
