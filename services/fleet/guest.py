"""Calls to the server inside a sandbox, with its answers turned into the services' own."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from common import refusals, wire

UNREACHABLE, TIMEOUT = "sandbox_unreachable", "sandbox_timeout"
_QUICK_S = 5.0
_TRANSFER_S = 10.0
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


async def put(address: str, path: str, data: bytes, trace_id: str) -> dict[str, Any]:
    """Write a file whole; returns its path and size. Again is harmless."""
    return _object(await _answer(address, "PUT", _files(path=path), _TRANSFER_S, trace_id, body=data))


async def get(address: str, path: str, trace_id: str) -> bytes:
    """What a file holds."""
    return (await _answer(address, "GET", _files(path=path), _TRANSFER_S, trace_id)).body


async def listing(address: str, path: str, trace_id: str) -> dict[str, Any]:
    """The entries of a folder."""
    return _object(await _answer(address, "GET", _files(list=path), _TRANSFER_S, trace_id))


def _files(**query: str) -> str:
    return f"/files?{urlencode(query)}"


async def _call(address: str, path: str, document: dict[str, Any], timeout_s: float, trace_id: str) -> dict[str, Any]:
    return _object(await _answer(address, "POST", path, timeout_s, trace_id, document=document))


def _object(answer: wire.Answer) -> dict[str, Any]:
    """The JSON object of an answer; raises Refusal."""
    try:
        body = answer.json()
    except wire.WireError:
        body = None
    if not isinstance(body, dict):
        raise refusals.Refusal(502, UNREACHABLE, "the sandbox answers nonsense")
    return body


async def _answer(
    address: str, method: str, path: str, timeout_s: float, trace_id: str, *, document: object = None, body: bytes = b""
) -> wire.Answer:
    """The answer of status 200; raises Refusal for every other outcome."""
    host, _, port = address.rpartition(":")
    headers = {"X-Trace-Id": trace_id}
    try:
        peer = wire.Peer(host, int(port))
        answer = await wire.call(peer, method, path, timeout_s=timeout_s, headers=headers, document=document, body=body)
        told = {} if answer.status == 200 else answer.json()
    except TimeoutError:
        raise refusals.Refusal(504, TIMEOUT, f"the sandbox gave no answer within {timeout_s:g} s") from None
    except (wire.WireError, ValueError) as error:
        raise refusals.Refusal(502, UNREACHABLE, f"the sandbox cannot be reached: {error}") from error
    if answer.status == 200:
        return answer
    fault = told.get("error", {}) if isinstance(told, dict) else {}
    code, message = str(fault.get("code", "sandbox_failed")), str(fault.get("message", f"HTTP {answer.status}"))
    # The sandbox judges what it is asked itself, so its 4xx are the caller's; anything else is not.
    raise refusals.Refusal(answer.status if 400 <= answer.status < 500 else 502, code, message)
