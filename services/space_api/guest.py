"""Calls to the server inside a sandbox, with its answers turned into the API's own."""

from __future__ import annotations

from typing import Any

from space_api import refusals, wire

_QUICK_S = 5.0
_ANSWER_S = 5.0  # what a command's answer may take beyond the command itself


async def command(address: str, document: dict[str, Any], timeout_s: float, trace_id: str) -> dict[str, Any]:
    """Run a command; returns the sandbox's result. Raises Refusal, also when the sandbox does not answer."""
    return await _call(address, "/command", document, timeout_s + _ANSWER_S, trace_id)


async def freeze(address: str, trace_id: str) -> None:
    """Stop every process of the sandbox; again is harmless."""
    await _call(address, "/freeze", {}, _QUICK_S, trace_id)


async def thaw(address: str, trace_id: str) -> None:
    """Let the processes go on; again is harmless."""
    await _call(address, "/thaw", {}, _QUICK_S, trace_id)


async def _call(address: str, path: str, document: dict[str, Any], timeout_s: float, trace_id: str) -> dict[str, Any]:
    host, _, port = address.rpartition(":")
    try:
        answer = await wire.call(
            wire.Peer(host, int(port)),
            "POST",
            path,
            timeout_s=timeout_s,
            headers={"X-Trace-Id": trace_id},
            document=document,
        )
        body = answer.json()
    except TimeoutError:
        raise refusals.Refusal(504, "sandbox_timeout", f"the sandbox gave no answer within {timeout_s:g} s") from None
    except (wire.WireError, ValueError) as error:
        raise refusals.Refusal(502, "sandbox_unreachable", f"the sandbox cannot be reached: {error}") from error
    if answer.status == 200 and isinstance(body, dict):
        return body
    told = body.get("error", {}) if isinstance(body, dict) else {}
    code, message = str(told.get("code", "sandbox_failed")), str(told.get("message", f"HTTP {answer.status}"))
    # The sandbox judges the command itself, so its 4xx are the caller's; anything else is not.
    raise refusals.Refusal(answer.status if 400 <= answer.status < 500 else 502, code, message)
