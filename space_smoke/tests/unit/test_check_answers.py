"""The check `answers`."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

BODY = {"id": "sb-1", "state": "running", "limits": {"cpu": 1, "tags": ["a", "b"]}, "ready": True}
EACH = [
    {"step": 0, "status": 201, "body": {"state": "running", "limits": {"tags": ["a", "b"]}, "ready": True}},
    {"step": 1, "status": 200, "exit_code": 3, "stdout": "hello\n", "stderr": ""},
]


def judge(*steps: dict[str, Any], each: list[dict[str, Any]] = EACH) -> verdict.Verdict:
    story = histories.Story()
    story.load("talk", steps, kind="ecw-session")
    return histories.judged("answers", story, load="talk", each=each)


def create(**more: Any) -> dict[str, Any]:
    return histories.request("create", step=0, **{"body": BODY, **more})


def command(**more: Any) -> dict[str, Any]:
    return histories.request("command", step=1, **{"exit_code": 3, "stdout": "hello\n", "stderr": "", **more})


def test_steps_that_answer_as_stated_pass() -> None:
    found = judge(create(), command())
    assert found.judged == verdict.Judged.PASS, found.sentence


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ((create(status=500), command()), "expected step 0 to answer status 201; saw 500"),
        ((create(), command(exit_code=0)), "expected step 1 to answer exit_code 3; saw 0"),
        ((create(), command(stdout="hello")), "expected step 1 to answer stdout 'hello\\n'; saw 'hello'"),
        ((create(body={**BODY, "state": "paused"}),), "expected step 0 to answer body.state 'running'; saw 'paused'"),
        (
            (create(body={"state": "running"}),),
            "expected step 0 to answer body.limits {'tags': ['a', 'b']}; saw nothing",
        ),
        ((create(body={**BODY, "ready": 1}),), "expected step 0 to answer body.ready True; saw 1"),
        ((create(body={**BODY, "limits": {"tags": ["a"]}}),), "body.limits.tags ['a', 'b']; saw ['a']"),
        ((create(status=None, error="reset"),), "expected step 0 to answer status 201; saw no answer (reset)"),
    ],
)
def test_a_step_that_answers_otherwise_fails_and_names_the_place(
    steps: tuple[dict[str, Any], ...], sentence: str
) -> None:
    found = judge(*steps)
    assert found.judged == verdict.Judged.FAIL
    assert sentence in found.sentence
    assert len(found.proof) == 1


def test_a_step_that_was_not_reached_is_unknown() -> None:
    found = judge(create())
    assert found.judged == verdict.Judged.UNKNOWN
    assert "did not get to step 1" in found.sentence


ERROR = {"error": {"code": "sandbox_start_failed", "message": "PodScheduled: Unschedulable 0/3 nodes"}}


def test_an_error_is_known_by_its_code_and_by_words_of_its_message() -> None:
    refused = create(status=503, code="sandbox_start_failed", body=ERROR)
    each = [{"step": 0, "status": 503, "code": "sandbox_start_failed", "says": "Unschedulable"}]
    assert judge(refused, each=each).judged == verdict.Judged.PASS
    other = judge(refused, each=[{"step": 0, "says": "Insufficient"}])
    assert "expected step 0 to answer a message with 'Insufficient'; saw 'PodScheduled" in other.sentence
    assert judge(refused, each=[{"step": 0, "code": "not_found"}]).judged == verdict.Judged.FAIL
    assert judge(create(), each=[{"step": 0, "says": "anything"}]).judged == verdict.Judged.FAIL


def put(digest: str, step: int = 0) -> dict[str, Any]:
    return histories.request("put", step=step, sha256=digest, size=3)


def test_bytes_that_come_back_are_those_of_the_put_or_of_one_of_its_writers() -> None:
    got = histories.request("get", step=1, sha256="bb", size=3, text="abc")
    each = [{"step": 1, "same_as": 0, "size": 3, "text": "abc"}]
    assert judge(put("bb"), got, each=each).judged == verdict.Judged.PASS
    assert judge(put("aa"), put("bb"), got, each=each).judged == verdict.Judged.PASS
    found = judge(put("aa"), got, each=each)
    assert found.judged == verdict.Judged.FAIL
    assert "expected step 1 to answer a file as step 0 sent it; saw 3 bytes that are not (SHA-256 bb)" in found.sentence
    assert "one of the 2 that step 0 sent" in judge(put("aa"), put("cc"), got, each=each).sentence
    assert judge(got, each=each).judged == verdict.Judged.FAIL  # nothing was put that it could be the same as


def queued(step: int = 0, operation: str = "op-1", **more: Any) -> dict[str, Any]:
    return histories.request("queue command", step=step, operation=operation, status=202, **more)


def ended(step: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "load": "talk",
        "step": step,
        "operation": "op-1",
        "state": "succeeded",
        "waited_s": 2.0,
        "refused": None,
        **more,
    }


def judge_operations(
    steps: list[dict[str, Any]], ends: list[dict[str, Any]], each: list[dict[str, Any]]
) -> verdict.Verdict:
    story = histories.Story()
    for one in ends:
        story.add("operation", **one)
    story.load("talk", steps, kind="native-session")
    return histories.judged("answers", story, load="talk", each=each)


REFUSED = {"state": "queued", "activation": {"outcome": "refused", "reason": "none"}}
WANTED = {"state": "succeeded", "exit_code": 0, "stdout": "ran", "refused": REFUSED, "body": {"result": {"a": 1}}}


def test_an_operation_is_judged_by_what_it_came_to() -> None:
    right = ended(exit_code=0, stdout="ran", refused=REFUSED | {"refusals": 2}, body={"result": {"a": 1}, "id": "op-1"})
    each = [{"step": 0, "status": 202, "ended": WANTED}]
    assert judge_operations([queued()], [right], each).judged == verdict.Judged.PASS
    elsewhere = [ended(load="other", state="failed"), right, ended(step=1, state="failed")]
    assert judge_operations([queued()], elsewhere, each).judged == verdict.Judged.PASS
    for wrong in ({"exit_code": 1}, {"stdout": ""}, {"refused": None}, {"body": {"result": None}}, {"state": "failed"}):
        found = judge_operations([queued()], [right | wrong], each)
        assert found.judged == verdict.Judged.FAIL, wrong
    never = [{"step": 0, "ended": {"state": "succeeded", "refused": None}}]
    assert judge_operations([queued()], [right], never).judged == verdict.Judged.FAIL
    assert judge_operations([queued()], [right | {"refused": None}], never).judged == verdict.Judged.PASS


def test_an_operation_that_had_not_ended_in_its_time_fails_and_tells_its_state_and_the_seconds() -> None:
    each = [{"step": 0, "status": 202, "ended": {"state": "succeeded"}}]
    found = judge_operations([queued()], [ended(state="running", waited_s=30.04)], each)
    assert found.judged == verdict.Judged.FAIL
    assert found.sentence == (
        "expected the operation of step 0 to end with state 'succeeded'; saw 'running', 30.0 s after its order"
    )


def test_an_operation_of_which_nothing_was_seen_is_unknown() -> None:
    found = judge_operations([queued()], [], [{"step": 0, "status": 202, "ended": {"state": "succeeded"}}])
    assert found.judged == verdict.Judged.UNKNOWN
    assert "did not get to the end of step 0" in found.sentence


def test_a_repeated_order_must_have_the_operation_of_the_first() -> None:
    each = [{"step": 1, "status": 202, "operation_of": 0}]
    assert judge_operations([queued(), queued(1)], [], each).judged == verdict.Judged.PASS
    found = judge_operations([queued(), queued(1, "op-2")], [], each)
    assert "expected step 1 to answer the operation of step 0 (op-1); saw op-2" in found.sentence
    nothing = [queued() | {"operation": None}, queued(1) | {"operation": None}]
    assert judge_operations(nothing, [], each).judged == verdict.Judged.FAIL
