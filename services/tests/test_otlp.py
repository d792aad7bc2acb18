"""Log lines on their way to an OTLP backend: what arrives, what is dropped and counted, and that nobody waits for it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.openmetrics import parser

from common import otlp, otlp_logs, settings
from fleet import manifest
from sandbox import counts
from tests import process, receiving, sandboxes, stores

TRACE = "0af7651916cd43dd8448eb211c80319c"
RESOURCE = {"service.name": "sandbox", "service.version": "1", "k8s.pod.name": "sandbox-7"}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no backend that is lost."""
    monkeypatch.setattr(otlp, "SEND_S", 60.0)


@pytest.fixture
def backend() -> Iterator[receiving.Backend]:
    with receiving.backend() as made:
        yield made


def exporter_to(url: str) -> otlp.Exporter:
    endpoint = otlp.parsed(url)
    assert endpoint is not None
    return otlp.Exporter(endpoint, RESOURCE)


def record(message: str = "command", level: int = logging.INFO, *args: object, **facts: object) -> logging.LogRecord:
    made = logging.LogRecord("name", level, "path", 1, message, args, None)
    made.facts = facts
    return made


def logged(backend: receiving.Backend, *records: logging.LogRecord) -> list[dict[str, object]]:
    """What arrives of these records."""
    exporter = exporter_to(backend.url)
    for one in records:
        exporter.handle(one)
    exporter.drain(10)
    assert exporter.counts() == {"sent": len(records), "overflow": 0, "failed": 0}
    return backend.lines


def test_a_line_arrives_with_its_time_level_message_facts_trace_and_origin(backend: receiving.Backend) -> None:
    sent = record("ran %s", logging.WARNING, "it", trace_id=TRACE, argv0="späße ☂", exit_code=-7, ok=True, ms=0.25)
    (line,) = logged(backend, sent)
    assert line == {
        "resource": RESOURCE,
        "at_ns": int(sent.created * 1e9),
        "severity": (13, "WARNING"),
        "body": "ran it",
        "attributes": {"argv0": "späße ☂", "exit_code": -7, "ok": True, "ms": 0.25},
        "trace_id": TRACE,
    }
    assert line["attributes"]["ok"] is True, "and not 1, which equals it"  # type: ignore[index]
    assert backend.paths == ["/insert/opentelemetry/v1/logs application/x-protobuf"]


@pytest.mark.parametrize("trace_id", ["smoke-7", TRACE.upper(), TRACE + "0", ""])
def test_a_trace_id_of_another_form_stays_a_fact_by_its_name(backend: receiving.Backend, trace_id: str) -> None:
    (line,) = logged(backend, record(trace_id=trace_id))
    assert (line["trace_id"], line["attributes"]) == ("", {"trace_id": trace_id})


def test_facts_of_any_type_arrive_and_absent_ones_do_not(backend: receiving.Backend) -> None:
    facts = {"big": 1 << 70, "least": -(1 << 63), "list": [1, "a"], "thing": pytest, "none": None, "long": "x" * 9000}
    (line,) = logged(backend, record(**facts))
    attributes = line["attributes"]
    assert isinstance(attributes, dict)
    assert (attributes["big"], attributes["least"], attributes["list"]) == (str(1 << 70), -(1 << 63), '[1, "a"]')
    assert "module 'pytest'" in attributes["thing"]
    assert (len(attributes["long"]), "none" in attributes) == (8192, False)


@pytest.mark.parametrize(("level", "number"), [(10, 5), (20, 9), (30, 13), (40, 17), (50, 21)])
def test_levels_are_told_as_the_protocol_numbers_them(level: int, number: int) -> None:
    body = otlp_logs.request([otlp_logs.line(record(level=level))], RESOURCE, 1)
    assert [line["severity"][0] for line in receiving.records(body)] == [number]


def test_a_traceback_arrives_with_its_line(backend: receiving.Backend) -> None:
    try:
        raise KeyError("lost")
    except KeyError as error:
        failed = logging.LogRecord("name", logging.ERROR, "path", 1, "failed", (), (KeyError, error, None))
    (line,) = logged(backend, failed)
    attributes = line["attributes"]
    assert isinstance(attributes, dict)
    assert attributes["exception.stacktrace"].endswith("KeyError: 'lost'")


@pytest.fixture
def stuck(backend: receiving.Backend) -> otlp.Exporter:
    """An exporter whose first line is under way, while the backend answers nobody."""
    backend.open.clear()
    exporter = exporter_to(backend.url)
    exporter.handle(record())
    assert backend.came.wait(10)
    return exporter


def test_a_line_that_finds_the_queue_full_is_dropped_and_counted_and_nobody_waits(
    backend: receiving.Backend, stuck: otlp.Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "QUEUE", 20)
    for _ in range(25):  # would not end, were the backend waited for
        stuck.handle(record())
    assert not backend.sizes
    assert stuck.counts() == {"sent": 0, "overflow": 5, "failed": 0}
    backend.open.set()
    stuck.drain(10)
    assert stuck.counts() == {"sent": 21, "overflow": 5, "failed": 0}
    assert len(backend.lines) == 21


def test_lines_are_sent_together_in_batches_of_the_longest_length(
    backend: receiving.Backend, stuck: otlp.Exporter
) -> None:
    for _ in range(otlp.BATCH + 40):
        stuck.handle(record())
    backend.open.set()
    stuck.drain(10)
    assert backend.sizes == [1, otlp.BATCH, 40]


def test_what_a_backend_refuses_is_counted_told_once_and_not_sent_again(
    backend: receiving.Backend, caplog: pytest.LogCaptureFixture
) -> None:
    backend.status = 503
    exporter = exporter_to(backend.url)
    for number in (1, 2):
        exporter.handle(record())
        stores.wait_until("it is given up", lambda number=number: exporter.counts()["failed"] == number)
    backend.status = 200
    exporter.handle(record())
    exporter.drain(10)
    assert exporter.counts() == {"sent": 1, "overflow": 0, "failed": 2}
    assert len(backend.paths) == 3
    told = [(one.getMessage(), one.facts["fault"]) for one in caplog.records]
    assert told == [("log lines are lost", "the backend answered 503"), ("log lines arrive again", "")]


def test_without_a_backend_lines_are_dropped_and_the_end_comes_soon(backend: receiving.Backend) -> None:
    gone = f"http://127.0.0.1:{stores.free_port()}"
    exporter = exporter_to(gone)
    for _ in range(3):
        exporter.handle(record())
    exporter.drain(10)
    assert exporter.counts() == {"sent": 0, "overflow": 0, "failed": 3}


def test_draining_ends_in_its_time_and_counts_what_is_left(stuck: otlp.Exporter) -> None:
    stuck.handle(record())
    stuck.drain(0.1)  # would not end, were the backend waited for
    assert stuck.counts()["failed"] == 1, "the line that was still queued"
    stuck.handle(record())
    assert stuck.counts()["overflow"] == 1, "and none is taken any more"


def test_a_line_that_cannot_be_told_is_counted_and_its_caller_goes_on(backend: receiving.Backend) -> None:
    exporter = exporter_to(backend.url)
    exporter.handle(record("%d", logging.INFO, "no number"))
    exporter.drain(10)
    assert exporter.counts() == {"sent": 0, "overflow": 0, "failed": 1}


def test_without_an_endpoint_nothing_is_started() -> None:
    threads, handlers = threading.active_count(), list(logging.getLogger().handlers)
    reader = settings.Reader({})
    assert otlp.start(otlp.read(reader), "sandbox", "1", "pod") is None
    reader.settle()
    assert (threading.active_count(), logging.getLogger().handlers) == (threads, handlers)


def test_what_is_logged_anywhere_arrives_once_it_is_started(backend: receiving.Backend) -> None:
    exporter = otlp.start(backend.url, "sandbox", "1", "sandbox-7")
    assert exporter is not None
    try:
        logging.getLogger("any.where").warning("heard", extra={"facts": {"trace_id": TRACE}})
    finally:
        logging.getLogger().removeHandler(exporter)
        exporter.drain(10)
    assert [(line["body"], line["trace_id"], line["resource"]) for line in backend.lines] == [
        ("heard", TRACE, RESOURCE)
    ]


@pytest.mark.parametrize(
    "url",
    [
        "telemetry:9428",
        "https://telemetry",
        "http://",
        "http://host:port",
        "http://host:70000",
        "http://user@host",
        "http://host/?a=b",
        "http://host/#a",
        "http://host/a b",
        "http://höst",
    ],
)
def test_a_wrong_endpoint_is_named_with_its_rule(url: str) -> None:
    reader = settings.Reader({"SPACE_OTLP_ENDPOINT": url})
    assert otlp.read(reader) == ""
    with pytest.raises(settings.SettingsError, match=r"SPACE_OTLP_ENDPOINT=.*must be http://HOST"):
        reader.settle()


def test_the_path_of_the_protocol_is_added_to_any_base() -> None:
    for base in ("http://host", "http://host/", "http://host:80/"):
        assert otlp.parsed(base) == otlp.Endpoint("host", 80, "/v1/logs")


def test_a_sandbox_counts_commands_and_names_the_trace_of_the_last_one() -> None:
    counted = counts.Counts("sandbox-7")
    for trace_id in ("", TRACE, 'x"} 9', "smoke-2", "a" * 65):
        counted.command(trace_id)
    text = counted.exposition({"sent": 3, "failed": 1}).decode()
    samples = {
        (sample.name, *sample.labels.values()): sample
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples[("space_sandbox_commands_total", "sandbox-7")].value == 5
    exemplar = samples[("space_sandbox_commands_total", "sandbox-7")].exemplar
    assert exemplar is not None
    assert exemplar.labels == {"trace_id": "smoke-2"}
    assert abs(float(exemplar.timestamp) - time.time()) < 60
    assert samples[("space_telemetry_lines_total", "sent")].value == 3


def test_a_sandbox_that_ran_nothing_names_no_trace() -> None:
    (family,) = parser.text_string_to_metric_families(
        counts.Counts("sandbox-7").exposition({}).decode().replace("# TYPE space_telemetry_lines counter\n", "")
    )
    (sample,) = family.samples
    assert (sample.value, sample.exemplar) == (0, None)


def test_a_sandbox_sends_its_lines_and_tells_of_commands_by_their_trace(
    backend: receiving.Backend, tmp_path: Path
) -> None:
    made = sandboxes.Sandbox(tmp_path, SPACE_OTLP_ENDPOINT=backend.url, SPACE_POD_NAME="sandbox-7")
    headers = {"X-Trace-Id": TRACE}
    made.http.request("POST", "/command", body=json.dumps({"command": ["true"]}), headers=headers)
    answer = made.http.request("GET", "/metrics")
    stores.wait_until("its line arrives", lambda: bool(backend.lines))
    made.stop()
    (line,) = backend.lines
    assert (line["body"], line["trace_id"], line["attributes"]["exit_code"]) == ("command", TRACE, 0)
    assert (line["resource"]["service.name"], line["resource"]["k8s.pod.name"]) == ("sandbox", "sandbox-7")
    assert answer.headers["Content-Type"] == counts.CONTENT_TYPE
    assert f'space_sandbox_commands_total{{pod="sandbox-7"}} 1 # {{trace_id="{TRACE}"}}' in answer.data.decode()


def test_what_a_sandbox_logged_last_is_sent_before_it_ends(backend: receiving.Backend, tmp_path: Path) -> None:
    made = sandboxes.Sandbox(tmp_path, SPACE_OTLP_ENDPOINT=backend.url)
    made.run("true")
    assert made.stop() == 0
    assert [line["body"] for line in backend.lines] == ["command"]


def test_a_service_sends_its_lines_and_counts_them_and_has_sent_all_when_it_ends(
    backend: receiving.Backend, start_api: process.Start
) -> None:
    api = start_api(SPACE_OTLP_ENDPOINT=backend.url)
    api.call("GET", "/v1/sandboxes", headers={"X-Trace-Id": TRACE})
    stores.wait_until("it is sent", lambda: api.metric("space_telemetry_lines_total", outcome="sent") > 0)
    api.call("GET", "/v1/sandboxes", headers={"X-Trace-Id": TRACE[::-1]})
    assert api.stop() == 0
    traces = [line["trace_id"] for line in backend.lines if line["body"] == "request"]
    assert (traces.count(TRACE), traces.count(TRACE[::-1])) == (1, 1)
    assert {line["resource"]["service.name"] for line in backend.lines} == {"space-api-test"}


def test_a_sandbox_pod_is_told_the_endpoint_of_who_makes_it_and_no_other() -> None:
    given = settings.Reader({"SPACE_SANDBOX_IMAGE": "image:1"})
    for endpoint, told in (("http://lines", [{"name": "SPACE_OTLP_ENDPOINT", "value": "http://lines"}]), ("", None)):
        pod = manifest.pod("s", manifest.read(given, frozenset(), endpoint))
        assert pod["spec"]["containers"][0].get("env") == told
