"""The loads that use the queue: what they put in, how long they watch, and what nobody may read of their tokens."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest

from space_smoke.loads import native_session, native_tokens, operations, service_metrics, tokens, traffic
from space_smoke.model import history, verdict
from space_smoke.report import files, journal, text
from space_smoke.tests.unit import api_double, histories, native_double

B64 = base64.b64encode(b"\xff\x00").decode()
OUTPUT = {"exit_code": 3, "stdout_b64": B64, "stderr_b64": ""}


def session(run: native_double.Run, *steps: dict[str, Any], **arguments: Any) -> list[dict[str, Any]]:
    """Drives the steps; the operations of the load itself, in order."""
    asked = {"within_s": 5.0, "name": "load", **arguments}
    name = asked.pop("name")
    native_session.drive(run.load("native-session", name=name, steps=list(steps), **asked))
    return [dict(event.data) for event in history.of_kind(run.events, "operation") if event.data["load"] == name]


def test_each_step_is_put_into_the_queue_and_watched_to_its_end_before_the_next() -> None:
    run = native_double.Run(native_double.Native(questions=3, results={"command": OUTPUT}))
    made = session(run, {"do": "create"}, {"do": "command", "command": ["x"], "stdin": "in"}, {"do": "delete"})
    assert [(one["step"], one["do"], one["state"]) for one in made] == [
        (0, "create", "succeeded"),
        (1, "command", "succeeded"),
        (2, "delete", "succeeded"),
    ]
    assert {one["sandbox"] for one in made} == {"sb-0"}
    assert (made[1]["exit_code"], made[1]["stdout"], made[1]["refused"]) == (3, "base64:/wA=", None)
    orders = [one["order"] for one in run.native.operations.values()]
    assert orders[1]["command"] == ["x"]
    assert base64.b64decode(orders[1]["stdin_b64"]) == b"in"
    own = [data["do"] for data in run.requests()]
    assert own == ["queue create", "queue command", "queue delete"]
    assert len(list(run.requests("load.watch"))) == 9
    assert run.native.deleted == ["sb-0"]


def test_an_operation_that_does_not_end_in_its_time_is_told_in_the_state_that_it_was_in() -> None:
    run = native_double.Run(native_double.Native(questions=1000))
    (made,) = session(run, {"do": "create"}, keep=True, within_s=0.2)
    assert made["state"] == "running"
    assert made["waited_s"] >= 0.2


def test_an_end_that_is_seen_when_the_time_is_over_is_late() -> None:
    (made,) = session(native_double.Run(), {"do": "create"}, keep=True, within_s=-1.0)
    assert (made["state"], made["body"]["state"]) == ("late", "succeeded")


def test_a_session_whose_steps_had_no_time_waits_for_its_deletion_all_the_same() -> None:
    run = native_double.Run(native_double.Native(questions=3))
    session(run, {"do": "create"}, within_s=0.001)
    assert run.native.deleted == ["sb-0"]


def test_a_refused_activation_is_told_as_it_stood_though_the_operation_succeeded() -> None:
    (made,) = session(native_double.Run(native_double.Native(refused=2)), {"do": "create"}, keep=True)
    assert made["refused"]["state"] == "queued"
    assert made["refused"]["activation"] == {"outcome": "refused", "reason": "none"}
    assert (made["state"], made["body"]["activation"]) == ("succeeded", None)


def test_an_answer_that_is_not_the_operation_ends_the_watch() -> None:
    run = native_double.Run(native_double.Native(defects=frozenset({"lost"})))
    (made,) = session(run, {"do": "create"}, keep=True)
    assert made["state"] is None
    assert [data["status"] for data in run.requests("load.watch")] == [503]


def test_a_file_goes_and_comes_in_base64_and_is_told_by_its_digest() -> None:
    got = {"path": "a", "size": 2, "content_b64": B64}
    run = native_double.Run(native_double.Native(results={"files.get": got}))
    step = {"path": "a", "base64": B64}
    made = session(run, {"do": "create"}, {"do": "put", **step}, {"do": "get", "path": "a"})
    put = next(data for data in run.requests() if data["do"] == "queue put")
    assert (
        next(one for one in run.native.operations.values() if one["kind"] == "files.put")["order"]["content_b64"] == B64
    )
    assert (made[2]["sha256"], made[2]["size"], made[2]["text"]) == (put["sha256"], 2, "base64:/wA=")
    assert "content_b64" not in made[2]["body"]["result"]


def test_an_order_that_is_repeated_under_its_key_has_the_same_operation_and_others_have_not() -> None:
    run = native_double.Run()
    once = {"do": "command", "command": ["x"], "key": "once"}
    session(run, {"do": "create"}, once, once, {"do": "command", "command": ["x"]})
    first, again, other = (data["operation"] for data in list(run.requests())[1:4])
    assert first == again
    assert other != first


def test_what_a_session_leaves_is_deleted_through_the_queue_and_its_token_revoked() -> None:
    run = native_double.Run()
    session(run, {"do": "create"})
    assert run.native.deleted == ["sb-0"]
    assert [data["do"] for data in run.requests("load.cleanup")] == ["queue delete"]
    assert [one.revoked for one in run.native.held.values()] == [True]


def test_a_kept_sandbox_is_a_later_sessions_who_acts_for_the_same_tenant() -> None:
    run = native_double.Run()
    session(run, {"do": "create"}, keep=True)
    assert run.native.deleted == []
    (made,) = session(run, {"do": "delete"}, name="later", kept_by="load")
    assert (made["state"], run.native.deleted) == ("succeeded", ["sb-0"])
    session(run, {"do": "create"}, name="stranger", keep=True)
    tenants = [one.tenant for one in run.native.held.values()]
    assert tenants[0] == tenants[1] != tenants[2]


def test_without_a_token_no_step_is_tried() -> None:
    run = native_double.Run(native_double.Native(defects=frozenset({"silent-tokens"})))
    assert session(run, {"do": "create"}) == []
    assert list(run.requests()) == []
    assert [data["status"] for data in run.requests("load.tokens")] == [503]


def test_a_token_is_revoked_though_its_load_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    run = native_double.Run()
    monkeypatch.setattr(operations, "watch", broken)
    with pytest.raises(ZeroDivisionError):
        session(run, {"do": "create"})
    assert [one.revoked for one in run.native.held.values()] == [True]


def test_no_secret_of_a_token_is_in_the_journal_or_in_any_report_though_the_service_repeats_it(tmp_path: Path) -> None:
    run = native_double.Run(native_double.Native(defects=frozenset({"echo"})))
    past = history.History(lambda: 0.0, [journal.Writer(tmp_path / journal.NAME)])
    run.emit = past.emit  # type: ignore[method-assign]
    past.emit("scenario-started", scenario="native.tried", claim="it holds", phases=["only"], checks=["answers load"])
    past.emit("load-started", load="load", kind="native-tokens", phase="only", arguments={})
    native_tokens.drive(run.load("native-tokens"))
    past.emit("load-ended", load="load", phase="only", requests=0)
    past.emit("verdict", check="answers load", judged="fail", sentence="", proof=[event.index for event in past.events])
    secrets = list(run.native.held)
    assert len(secrets) == 11
    events = journal.read(tmp_path / journal.NAME)
    console = io.StringIO()
    text.write(console, events)
    shown = [console.getvalue(), *(path.read_text() for path in files.write_all(tmp_path, events))]
    written = (tmp_path / journal.NAME).read_text()
    assert "no good token: Bearer ***" in written, "the service repeated it, so it would stand here"
    assert not [secret for secret in secrets for one in (written, *shown) if secret in one]
    assert not any(secret in repr(tokens.Token("t-0", secret)) for secret in secrets)


DEFECTS = {
    "scope": "expected create with sandboxes:read to be answered 403 scope_missing naming sandboxes:write; saw 202",
    "tenant": "another tenant (token) to be answered 404 not_found; saw 202",
    "revoked": "revoked (token) to be answered 401 unauthenticated; saw 202",
    "expired": "expired (token) to be answered 401 unauthenticated; saw 202",
    "open": "none (token) to be answered 401 unauthenticated; saw",
}


def matrix(native: native_double.Native) -> verdict.Verdict:
    """What the check says of the load."""
    run = native_double.Run(native)
    load = run.load("native-tokens", within_s=5.0)
    run.emit("load-started", load="load", kind="native-tokens", phase="only", arguments={})
    native_tokens.drive(load)
    run.emit("load-ended", load="load", phase="only", requests=load.sent)
    told = histories.Story(events=run.events)
    return histories.judged("token-scopes", told, load="load", needs=native_double.NEEDS)


@pytest.fixture(autouse=True)
def _tokens_expire_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_tokens, "EXPIRES_S", 0.05)
    monkeypatch.setattr(native_tokens, "SURELY_S", 0.02)


def test_every_call_is_tried_with_every_set_of_scopes_and_every_token_that_is_no_good() -> None:
    native = native_double.Native()
    found = matrix(native)
    assert found.judged == verdict.Judged.PASS, found.sentence
    # 7 sets of scopes and 4 holders without a good token for 8 calls, another tenant for 7, and the token to be revoked.
    assert "of 96 requests let through" in found.sentence
    assert native.deleted == ["sb-0"]
    assert len(native.operations) == len(native_tokens.CALLS) - 1, "each kind of operation is done once"
    assert all(one.revoked for one in native.held.values() if one.id != "t-1"), "but for the one that expires"


@pytest.mark.parametrize(("defect", "sentence"), DEFECTS.items())
def test_each_defect_of_the_tokens_is_told(defect: str, sentence: str) -> None:
    found = matrix(native_double.Native(defects=frozenset({defect})))
    assert found.judged == verdict.Judged.FAIL
    assert sentence in found.sentence


METRICS = r"""
# HELP space_limiter_decisions_total Decisions
# TYPE space_limiter_decisions_total counter
space_limiter_decisions_total{limiter="activation",outcome="admitted",reason="a \"b\"\n\\"} 2.0
space_limiter_decisions_created{limiter="activation"} 1.7e9
# TYPE never_counted_total counter
# TYPE space_limiter_leases gauge
space_limiter_leases 4 1395066363000
space_limiter_decisions_total{limiter="x"} odd
"""


def test_metrics_are_read_from_each_pod_and_only_those_that_were_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run = api_double.Run()
    monkeypatch.setattr(run.api, "answer", lambda *_: (200, METRICS.encode()))
    names = ["space_limiter_decisions_total", "space_limiter_leases", "never_counted_total", "not_there_total"]
    service_metrics.drive(run.load("service-metrics", names=names))
    first, second = run.requests()
    assert {first["pod_asked"], second["pod_asked"]} == {"space-api-a", "space-api-b"}
    assert first["declared"] == ["space_limiter_decisions_total", "never_counted_total", "space_limiter_leases"]
    labels = {"limiter": "activation", "outcome": "admitted", "reason": 'a "b"\n\\'}
    assert first["samples"] == [
        {"name": "space_limiter_decisions_total", "labels": labels, "value": 2.0},
        {"name": "space_limiter_leases", "labels": {}, "value": 4.0},
        {"name": "space_limiter_decisions_total", "labels": {"limiter": "x"}, "value": None},
    ]


def test_a_secret_is_hidden_wherever_it_stands_in_an_event() -> None:
    run = api_double.Run()
    load = run.load("ecw-session")
    load.secrets.add("hush")
    load.tell("note", sentence="say hush", more={"hush": ["a hush", ("hush", 1, None)]})
    assert run.events[0].data == {"sentence": "say ***", "more": {"***": ["a ***", ["***", 1, None]]}}
    assert "hush" not in repr(load)
    assert traffic.SERVICE in service_metrics.KIND.schema["properties"]
