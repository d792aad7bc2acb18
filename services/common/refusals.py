"""Every way in which the API says no: one exception, turned into one JSON shape with a machine code."""

from __future__ import annotations

import math

from starlette.responses import JSONResponse

from common import mutations


class Refusal(Exception):
    """An answer other than success: HTTP status, machine code, a sentence for people, and when to come back."""

    def __init__(self, status: int, code: str, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after_ms = status, code, retry_after_ms


def malformed(message: str) -> Refusal:
    return Refusal(400, "malformed", message)


def unavailable(code: str, message: str) -> Refusal:
    """Something the API needs does not answer now; the same request may succeed in a second."""
    return Refusal(503, code, message, retry_after_ms=1000)


def response(refusal: Refusal, trace_id: str, active: frozenset[str]) -> JSONResponse:
    """The refusal as an HTTP response; Retry-After is in whole seconds, at least one."""
    headers = {}
    if refusal.retry_after_ms is not None and mutations.NO_RETRY_AFTER not in active:
        headers["Retry-After"] = str(max(1, math.ceil(refusal.retry_after_ms / 1000)))
    body = {"error": {"code": refusal.code, "message": str(refusal), "trace_id": trace_id}}
    return JSONResponse(body, refusal.status, headers)
