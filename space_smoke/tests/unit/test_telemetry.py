"""Telemetry: what the backends are asked and how they are read, the load `telemetry-trace`, the check `telemetry-arrived`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest

from space_smoke.bench import http, telemetry
from space_smoke.loads import telemetry_trace
from space_smoke.model import history, verdict
from space_smoke.tests.unit import api_double, histories

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN
TRACE = "d8108f2532594f5281289d3d90ddc378"


def line(trace_id: str, pod: str = "sandbox-sb-0") -> str:
    """One of VictoriaLogs 1.52.2, as it was seen."""
    told = {
        "_msg": "command",
        "_stream": f'{{k8s.pod.name="{pod}",service.name="sandbox"}}',
        "_time": "2026-11-30T13:33:07.300926208Z",
        "exit_code": "0",
        "k8s.pod.name": pod,
        "service.name": "sandbox",
        "severity_text": "INFO",
        "trace_id": trace_id,
    }
    return json.dumps(told) + "\n"


def exemplar(trace_id: str, pod: str = "sandbox-sb-0") -> str:
    """Prometheus 2.42's answer, as it was seen."""
    series = {"__name__": telemetry.COUNTER, "instance": "10.244.1.7:8090", "job": "sandbox", "pod": pod}
    found = [{"labels": {"trace_id": trace_id}, "value": "1", "timestamp": 1796045587.301}]
    return json.dumps({"status": "success", "data": [{"seriesLabels": series, "exemplars": found}]})


NOTHING = {telemetry.LOGS_PORT: "", telemetry.METRICS_PORT: json.dumps({"status": "success", "data": []})}


@dataclass
class Door(api_double.Door[api_double.Api]):
    """The API, and behind other ports the backends; the one of metrics has nothing for its first `late` questions."""

    service: str = "space-api"
    port: int = 8080
    late: int = 0
    status: int = 200
    pod: str = "sandbox-sb-0"
    asked: list[tuple[str, int, str]] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> http.Answer:
        if self.service == "space-api":
            self.traces += [value for key, value in (headers or {}).items() if key == "X-Trace-Id"]
            return super().ask(method, path, headers=headers, **more)
        self.asked.append((self.service, self.port, path))
        late = self.late if self.port == telemetry.METRICS_PORT else 0
        there = self.traces and [one[1] for one in self.asked].count(self.port) > late
        held = {telemetry.LOGS_PORT: line, telemetry.METRICS_PORT: exemplar}[self.port]
        body = held(self.traces[0], self.pod) if there else NOTHING[self.port]
        return http.Answer(0.0, 0.0, 0.0, self.status, {}, body.encode())


def driven(
    api: api_double.Api | None = None, within_s: float = 5.0, **manners: Any
) -> tuple[list[history.Event], Door]:
    run = api_double.Run(api)
    door = Door(run.api, **manners)
    run._door = door
    telemetry_trace.drive(run.load("telemetry-trace", within_s=within_s))
    return run.events, door


def told(events: list[history.Event]) -> dict[str, Mapping[str, Any]]:
    return {event.data["backend"]: event.data for event in history.of_kind(events, "telemetry")}


def test_each_backend_is_asked_for_the_trace_of_the_command_until_it_has_it() -> None:
    events, door = driven(late=1)
    (command,) = [event.data for event in history.requests(events, "load")]
    assert (command["do"], command["trace_id"], command["sandbox"]) == ("command", door.traces[0], "sb-0")
    seen = told(events)
    assert set(seen) == {"logs", "metrics"}
    for one in seen.values():
        assert (one["found"], one["pod"], one["held"][0]["pod"]) == (True, "sandbox-sb-0", "sandbox-sb-0")
    assert seen["metrics"]["after_s"] >= max(1.0, seen["logs"]["after_s"]), "a backend is asked once a second"
    assert [one[:2] for one in door.asked] == [("telemetry", 9428), ("telemetry", 9090), ("telemetry", 9090)]
    assert door.api.states == {"sb-0": "deleted"}


def test_each_run_has_a_trace_of_its_own() -> None:
    traces = {driven()[1].traces[0] for _ in range(2)}
    assert len(traces) == 2
    assert all(len(bytes.fromhex(trace)) == 16 for trace in traces)


def test_a_backend_that_never_has_it_is_told_with_what_it_has_and_the_sandbox_is_removed() -> None:
    events, door = driven(within_s=0.05, pod="space-api-7c4-a")
    seen = told(events)["logs"]
    assert (seen["found"], seen["after_s"], seen["fault"]) == (False, None, "")
    assert [one["pod"] for one in seen["held"]] == ["space-api-7c4-a"]
    assert door.api.states == {"sb-0": "deleted"}


def test_a_backend_that_refuses_is_told_as_a_fault() -> None:
    events, _ = driven(within_s=0.05, status=503)
    assert {one["fault"] for one in told(events).values()} == {
        "telemetry:9428 answered 503",
        "telemetry:9090 answered 503",
    }


def test_nobody_is_asked_about_a_command_that_was_not_run() -> None:
    events, door = driven(api_double.Api(down=lambda number: number == 2))
    assert [event.data["status"] for event in history.requests(events, "load")] == [503]
    assert (door.asked, told(events)) == ([], {})


def test_without_a_sandbox_no_command_is_asked_for() -> None:
    events, door = driven(api_double.Api(down=lambda _: True))
    assert [event.data["do"] for event in history.of_kind(events, "request")] == ["create"]
    assert door.asked == []


def answered(body: str, status: int = 200) -> tuple[http.Door, list[str]]:
    asked: list[str] = []

    @dataclass
    class One:
        service: str = ""
        port: int = 0

        def ask(self, _method: str, path: str, **_more: Any) -> http.Answer:
            asked.append(path)
            return http.Answer(0.0, 0.0, 0.0, status, {}, body.encode())

    return cast(http.Door, One()), asked


def test_lines_are_asked_for_by_their_exact_trace_and_others_are_not_taken() -> None:
    door, asked = answered(line(TRACE) + line(TRACE[::-1]))
    assert telemetry.lines(door, TRACE, 0.0).held == (
        {"pod": "sandbox-sb-0", "service": "sandbox", "message": "command"},
    )
    (query,) = parse_qs(urlsplit(asked[0]).query)["query"]
    assert query == f'trace_id:="{TRACE}"'


def test_exemplars_are_asked_for_around_now_and_others_are_not_taken() -> None:
    door, asked = answered(exemplar(TRACE))
    assert telemetry.exemplars(door, TRACE, 10_000.0).held == ({"pod": "sandbox-sb-0", "value": "1"},)
    assert telemetry.exemplars(door, TRACE[::-1], 10_000.0) == telemetry.Seen()
    query = parse_qs(urlsplit(asked[0]).query)
    assert float(query["start"][0]) < 10_000 < float(query["end"][0])
    assert query["query"] == [telemetry.COUNTER]


@pytest.mark.parametrize("body", ["<html>", "[]", '{"a": 1}', "7"])
def test_nonsense_is_a_fault_and_never_nothing(body: str) -> None:
    door, _ = answered(body)
    for ask in telemetry.BACKENDS.values():
        seen = ask(door, TRACE, 0.0)
        assert (seen.held, "answered nonsense" in seen.fault) == ((), True), body


def judge(what: str = "logs", within_s: float = 10.0, status: int = 200, **changes: Any) -> verdict.Verdict:
    """The check over a backend that has the line after 1.5 s; `changes` are of what was seen, None takes the event away."""
    story = histories.Story()
    asked = histories.request("command") | {"status": status, "trace_id": TRACE, "sandbox": "sb-0"}
    story.load("trace", [asked], kind="telemetry-trace")
    seen = {
        "load": "trace",
        "backend": what,
        "trace_id": TRACE,
        "pod": "sandbox-sb-0",
        "found": True,
        "after_s": 1.5,
        "held": [{"pod": "sandbox-sb-0"}],
        "fault": "",
        **changes,
    }
    story.add("telemetry", **seen)
    return histories.judged("telemetry-arrived", story, load="trace", what=what, within_s=within_s)


@pytest.mark.parametrize(("what", "word"), [("logs", "a log line"), ("metrics", "the metric")])
def test_what_is_there_in_time_passes(what: str, word: str) -> None:
    found = judge(what)
    assert found.judged == PASS, found.sentence
    assert found.sentence == f"{word} of sandbox-sb-0 is there under trace {TRACE} after 1.5 s"


@pytest.mark.parametrize(
    ("changes", "saw"),
    [
        ({"held": [], "after_s": None}, "nothing under that trace"),
        ({"held": [{"pod": "space-api-1"}], "after_s": None}, "only what space-api-1 told"),
        ({"after_s": 10.1}, "it after 10.1 s"),
    ],
)
def test_what_is_missing_or_late_fails_and_says_what_was_seen(changes: dict[str, Any], saw: str) -> None:
    found = judge(**changes)
    assert found.judged == FAIL, found.sentence
    assert found.sentence.endswith(f"within 10 s of the command's answer; saw {saw}")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"fault": "telemetry:9428 answered 503", "held": []}, "could not be asked: telemetry:9428 answered 503"),
        ({"status": 503}, "the command was not run: it was answered 503"),
        ({"trace_id": TRACE[::-1]}, "for another trace than the command's"),
        ({"after_s": None}, "when the backend had it was not noted"),
        ({"load": "another"}, "the backend of logs was not asked"),
        ({"backend": "metrics"}, "the backend of logs was not asked"),
    ],
)
def test_what_was_not_seen_is_unknown(changes: dict[str, Any], why: str) -> None:
    found = judge(**changes)
    assert found.judged == UNKNOWN, found.sentence
    assert why in found.sentence


def test_a_load_without_a_command_is_unknown() -> None:
    story = histories.Story()
    story.load("trace", [], kind="telemetry-trace")
    found = histories.judged("telemetry-arrived", story, load="trace", what="logs", within_s=1.0)
    assert (found.judged, "load trace made no request" in found.sentence) == (UNKNOWN, True)
