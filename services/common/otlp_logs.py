"""Log lines as an OTLP request: the few messages of opentelemetry/proto/logs/v1/logs.proto and common.proto that they need.

The wire format is protobuf's (protobuf.dev/programming-guides/encoding): each field is a tag, number * 8 + wire type, and
its value. Field numbers are named beside their use.
"""

from __future__ import annotations

import json
import logging
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SEVERITIES = ((logging.CRITICAL, 21), (logging.ERROR, 17), (logging.WARNING, 13), (logging.INFO, 9))
_DEBUG = 5
_LONGEST = 8192  # characters of one value; a line is no place for more


@dataclass(frozen=True, slots=True)
class Line:
    """One log line. `at_ns` is Unix time, `level` that of `logging`; `error` is a traceback or ""."""

    at_ns: int
    level: int
    message: str
    facts: Mapping[str, object]
    error: str = ""


def line(record: logging.LogRecord) -> Line:
    """What is sent of a record. Raises what its message or its arguments raise."""
    facts = getattr(record, "facts", None)
    error = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
    told = dict(facts) if isinstance(facts, Mapping) else {}
    return Line(int(record.created * 1e9), record.levelno, record.getMessage(), told, error)


def request(lines: Sequence[Line], resource: Mapping[str, str], observed_ns: int) -> bytes:
    """An ExportLogsServiceRequest with one resource: ResourceLogs 1 {Resource 1 {attributes 1}, ScopeLogs 2 {records 2}}."""
    scope = b"".join(_message(2, _record(one, observed_ns)) for one in lines)
    return _message(1, _message(1, _attributes(1, resource.items())) + _message(2, scope))


def _record(of: Line, observed_ns: int) -> bytes:
    """LogRecord: time 1, severity number 2 and text 3, body 5, attributes 6, trace id 9, observed time 11."""
    facts = dict(of.facts)
    trace_id = facts.get("trace_id")
    traced = b""
    if isinstance(trace_id, str) and _TRACE_ID.fullmatch(trace_id):  # another one stays an attribute of the same name
        traced = _message(9, bytes.fromhex(trace_id))
        del facts["trace_id"]
    if of.error:
        facts["exception.stacktrace"] = of.error
    severity = next((number for level, number in _SEVERITIES if of.level >= level), _DEBUG)
    return b"".join(
        (
            _fixed(1, struct.pack("<Q", of.at_ns)),
            _number(2, severity),
            _text(3, logging.getLevelName(of.level)),
            _message(5, _any(of.message)),
            _attributes(6, facts.items()),
            traced,
            _fixed(11, struct.pack("<Q", observed_ns)),
        )
    )


def _attributes(field: int, pairs: Iterable[tuple[str, object]]) -> bytes:
    """Repeated KeyValue {key 1, value 2}; what is None is left out."""
    told = ((str(key), value) for key, value in pairs if value is not None)
    return b"".join(_message(field, _text(1, key) + _message(2, _any(value))) for key, value in told)


def _any(value: object) -> bytes:
    """AnyValue: string 1, bool 2, int 3, double 4; whatever is none of them is told as JSON or as its text."""
    if isinstance(value, bool):
        return _number(2, int(value))
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return _number(3, value)
    if isinstance(value, float):
        return _fixed(4, struct.pack("<d", value))
    return _text(1, value if isinstance(value, str) else json.dumps(value, default=str))


def _text(field: int, value: str) -> bytes:
    return _message(field, value[:_LONGEST].encode(errors="replace"))


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value & (1 << 64) - 1)


def _fixed(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _FIXED64) + content


def _varint(value: int) -> bytes:
    """Base 128, least significant group first, the top bit set on all groups but the last."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
