"""What a sandbox counts, told in OpenMetrics text (github.com/OpenObservability/OpenMetrics, version 1.0.0).

A counter bears the trace id of what it counted last as its exemplar, so that a store of metrics can be asked for it.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_TRACE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # an exemplar may hold 128 characters, names included


class Counts:
    """The counters of one sandbox server, which its threads share. `pod` is its own name: scrapes know only addresses."""

    def __init__(self, pod: str) -> None:
        self._pod = pod
        self._lock = threading.Lock()
        self._commands = 0
        self._exemplar = ""

    def command(self, trace_id: str) -> None:
        """A command ended. A trace id that is not well formed is left out."""
        with self._lock:
            self._commands += 1
            if _TRACE_ID.fullmatch(trace_id):
                self._exemplar = f' # {{trace_id="{trace_id}"}} 1 {time.time():.3f}'

    def exposition(self, lines: Mapping[str, int]) -> bytes:
        """All of it, and what became of the log `lines` on their way to a backend, by outcome."""
        with self._lock:
            told = [f'space_sandbox_commands_total{{pod="{self._pod}"}} {self._commands}{self._exemplar}']
        told.insert(0, "# TYPE space_sandbox_commands counter")
        told.append("# TYPE space_telemetry_lines counter")
        told += [f'space_telemetry_lines_total{{outcome="{outcome}"}} {count}' for outcome, count in lines.items()]
        return "\n".join([*told, "# EOF", ""]).encode()
