"""What a client may put into the queue: each kind with its scope and its fields, checked before anything is stored."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from common import bodies, refusals
from fleet import operations, tokens

FILE_LIMIT = 1 << 20  # bytes of a file in either direction; results are rows of a table
KEY_LIMIT, PATH_LIMIT = 200, 4096
SCOPES = {
    operations.CREATE: tokens.WRITE,
    operations.COMMAND: tokens.EXEC,
    operations.PAUSE: tokens.WRITE,
    operations.RESUME: tokens.WRITE,
    operations.DELETE: tokens.WRITE,
    operations.FILES_PUT: tokens.WRITE,
    operations.FILES_GET: tokens.READ,
}

Body = dict[str, Any]
Request = dict[str, Any]


def kind(body: Body) -> str:
    """The kind of operation; raises Refusal."""
    value = body.get("kind")
    if value not in operations.KINDS:
        raise refusals.malformed(f"kind must be one of {', '.join(operations.KINDS)}")
    return str(value)


def order(body: Body) -> operations.Order:
    """The whole order; raises Refusal for the first field that breaks a rule."""
    chosen = kind(body)
    fields, read = _READERS[chosen]
    common = ("kind", "idempotency_key") if chosen == operations.CREATE else ("kind", "sandbox", "idempotency_key")
    bodies.known_fields(body, (*common, *fields))
    sandbox = "" if chosen == operations.CREATE else bodies.text(body, "sandbox", 64)
    key = bodies.text(body, "idempotency_key", KEY_LIMIT, "")
    return operations.Order(chosen, sandbox, read(body), key)


def _nothing(_: Body) -> Request:
    return {}


def _command(body: Body) -> Request:
    timeout_s = bodies.seconds(body, "timeout_s", bodies.DEFAULT_TIMEOUT_S, 0.001, bodies.MAX_TIMEOUT_S)
    return {
        "command": bodies.argv(body),
        "stdin_b64": bodies.base64_text(body, "stdin_b64"),
        "timeout_s": timeout_s,
    }


def _file(body: Body) -> Request:
    return {"path": bodies.text(body, "path", PATH_LIMIT)}


def _content(body: Body) -> Request:
    if "content_b64" not in body:
        raise refusals.malformed("content_b64 must be there, if empty")
    content = bodies.base64_text(body, "content_b64")
    if len(b64decode(content)) > FILE_LIMIT:
        raise refusals.Refusal(413, "too_large", f"a file in an operation has at most {FILE_LIMIT} bytes")
    return {**_file(body), "content_b64": content}


_READERS: Mapping[str, tuple[tuple[str, ...], Callable[[Body], Request]]] = {
    operations.CREATE: ((), _nothing),
    operations.COMMAND: (("command", "stdin_b64", "timeout_s"), _command),
    operations.PAUSE: ((), _nothing),
    operations.RESUME: ((), _nothing),
    operations.DELETE: ((), _nothing),
    operations.FILES_PUT: (("path", "content_b64"), _content),
    operations.FILES_GET: (("path",), _file),
}
