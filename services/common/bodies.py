"""Request bodies: bounded, JSON, and checked field by field before anything is decided or done."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import math
from collections.abc import Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request

from common import refusals, texts

LIMIT = 2 << 20  # bytes
MAX_HOLD_S = 60.0
DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 60.0, 600.0


async def raw(request: Request, limit: int = LIMIT) -> bytes:
    """The body as it is, at most `limit` bytes; raises Refusal."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > limit:
                raise refusals.Refusal(413, "too_large", f"a body has at most {limit} bytes")
    except ClientDisconnect:
        raise refusals.malformed("the body ended early") from None
    return bytes(body)


async def document(request: Request, *fields: str) -> dict[str, Any]:
    """The body as a JSON object that holds no fields but `fields`; an empty body counts as {}. Raises Refusal."""
    parsed = await anything(request)
    known_fields(parsed, fields)
    return parsed


def queried(request: Request, *fields: str) -> dict[str, Any]:
    """Numbers of the query string, which holds no fields but `fields`; what is no number stays text. Raises Refusal."""
    given: dict[str, Any] = dict(request.query_params)
    known_fields(given, fields)
    for field, value in given.items():
        with contextlib.suppress(ValueError):
            given[field] = float(value)
    return given


async def anything(request: Request) -> dict[str, Any]:
    """The body as a JSON object; raises Refusal."""
    body = await raw(request)
    try:
        parsed = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise refusals.malformed("the body must be JSON") from None
    if not isinstance(parsed, dict):
        raise refusals.malformed("the body must be a JSON object")
    return parsed


def known_fields(body: dict[str, Any], fields: Sequence[str]) -> None:
    """Raise Refusal when the body has another field than these."""
    if unknown := sorted(body.keys() - set(fields)):
        known = ", ".join(fields) or "none"
        raise refusals.malformed(f"unknown field {unknown[0][:40]!a}; known fields: {known}")


def text(body: dict[str, Any], field: str, limit: int, default: str | None = None) -> str:
    """A string of 1 to `limit` characters without NUL, `default` when it is missing; raises Refusal."""
    value = body.get(field, default)
    if default is not None and value == default:
        return default
    if not isinstance(value, str) or not texts.is_text(value) or not 1 <= len(value) <= limit:
        raise refusals.malformed(f"{field} must be a string of 1 to {limit} characters without NUL")
    return value


def seconds(body: dict[str, Any], field: str, default: float, low: float, high: float) -> float:
    """A number of seconds from `low` to `high`; raises Refusal."""
    value = body.get(field, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise refusals.malformed(f"{field} must be a number")
    if not low <= value <= high:
        raise refusals.malformed(f"{field} must be from {low:g} to {high:g}")
    return float(value)


def argv(body: dict[str, Any]) -> list[str]:
    """The command as its argument list; raises Refusal."""
    value = body.get("command")
    if not isinstance(value, list) or not value or not all(texts.is_text(item) for item in value):
        raise refusals.malformed("command must be a list of strings that can be arguments, at least one")
    if not value[0]:
        raise refusals.malformed("command must name a program first")
    return value


def base64_text(body: dict[str, Any], field: str) -> str:
    """A base64 field, still encoded; "" when missing. Raises Refusal."""
    value = body.get(field, "")
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise refusals.malformed(f"{field} must be base64") from None
    return str(value)
