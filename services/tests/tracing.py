"""A claim about traces, as those of `serving`: a function that raises AssertionError."""

from __future__ import annotations

import json

from tests import receiving, sandboxes, serving

_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def a_sandbox_tells_of_a_command_under_its_trace(world: serving.World, active: frozenset[str]) -> None:
    settings = {"SPACE_PROFILE": "kind", "SPACE_MUTATION": ",".join(active)}
    with receiving.backend() as backend:
        made = sandboxes.Sandbox(world.room, SPACE_OTLP_ENDPOINT=backend.url, **settings)
        try:
            body = json.dumps({"command": ["true"]})
            made.http.request("POST", "/command", body=body, headers={"X-Trace-Id": _TRACE})
            counted = made.http.request("GET", "/metrics").data.decode()
        finally:
            made.stop()
        assert [line["trace_id"] for line in backend.lines] == [_TRACE], "its line bears no trace"
    assert f'trace_id="{_TRACE}"' in counted, "its count bears no trace"
