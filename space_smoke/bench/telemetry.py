"""Asks the backends of release telemetry, through the API server's proxy, what they hold under a trace id.

VictoriaLogs answers LogsQL with one JSON object a line (docs.victoriametrics.com/victorialogs/querying); Prometheus tells the
exemplars of a counter (prometheus.io/docs/prometheus/latest/querying/api, "Querying exemplars"). Called by loads.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from space_smoke.bench import http

SERVICE = "telemetry"
LOGS_PORT, METRICS_PORT = 9428, 9090
COUNTER = "space_sandbox_commands_total"
_ASK_S = 5.0
_MOST = 100  # lines of one trace
_AROUND_S = 3600.0  # how far the clocks of this machine and of the pods may be apart

Held = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a backend holds: {pod, ...} for each line or series. `fault` is why it could not be asked, or ""."""

    held: tuple[Held, ...] = ()
    fault: str = ""


def lines(door: http.Door, trace_id: str, _wall_s: float) -> Seen:
    """The log lines of a trace: {pod, service, message}."""
    query = urlencode({"query": f'trace_id:="{trace_id}"', "limit": _MOST})
    return _asked(door, LOGS_PORT, f"/select/logsql/query?{query}", lambda body: _lines(body, trace_id))


def exemplars(door: http.Door, trace_id: str, wall_s: float) -> Seen:
    """The series of COUNTER whose exemplar is of this trace: {pod, value}. `wall_s` is Unix time."""
    span = {"start": f"{wall_s - _AROUND_S:.3f}", "end": f"{wall_s + _AROUND_S:.3f}"}
    path = f"/api/v1/query_exemplars?{urlencode({'query': COUNTER, **span})}"
    return _asked(door, METRICS_PORT, path, lambda body: _exemplars(body, trace_id))


BACKENDS: Mapping[str, Callable[[http.Door, str, float], Seen]] = {"logs": lines, "metrics": exemplars}


def _asked(door: http.Door, port: int, path: str, read: Callable[[bytes], Iterator[Held]]) -> Seen:
    answer = dataclasses.replace(door, service=SERVICE, port=port).ask("GET", path, timeout_s=_ASK_S)
    if answer.status != 200:
        return Seen(fault=f"{SERVICE}:{port} answered {answer.status or answer.error}")
    try:
        return Seen(tuple(read(answer.body)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Seen(fault=f"{SERVICE}:{port} answered nonsense: {type(error).__name__}: {error}"[:200])


def _lines(body: bytes, trace_id: str) -> Iterator[Held]:
    for text in body.splitlines():
        line = json.loads(text)
        if line["trace_id"] == trace_id:
            yield {"pod": line.get("k8s.pod.name"), "service": line.get("service.name"), "message": line.get("_msg")}


def _exemplars(body: bytes, trace_id: str) -> Iterator[Held]:
    for series in json.loads(body)["data"]:
        for exemplar in series["exemplars"]:
            if exemplar["labels"].get("trace_id") == trace_id:
                yield {"pod": series["seriesLabels"].get("pod"), "value": exemplar["value"]}
