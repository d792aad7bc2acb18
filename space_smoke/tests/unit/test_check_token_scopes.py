"""The check `token-scopes`. What it says of a whole matrix, and of each defect, is tried with the load that makes one."""

from __future__ import annotations

import itertools
from typing import Any

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

READ, WRITE = "sandboxes:read", "sandboxes:write"
NEEDS = {"create": WRITE, "operation": READ}


def tried(call: str, holder: str, status: int, code: str = "", *, says: str = "", **more: Any) -> dict[str, Any]:
    return histories.request(f"queue {call}", call=call, holder=holder, status=status, code=code, says=says, **more)


def scoped(call: str, *scopes: str, **more: Any) -> dict[str, Any]:
    """As it should be answered."""
    if NEEDS[call] in scopes:
        return tried(call, "scopes", 202, scopes=scopes, **more)
    says = f"this needs a token with scope {NEEDS[call]}"
    return tried(call, "scopes", 403, "scope_missing", says=says, scopes=scopes, **more)


def whole() -> list[dict[str, Any]]:
    """Every combination, answered as it should be."""
    sets = [(READ,), (WRITE,), (READ, WRITE)]
    made = [scoped(call, *scopes, token="t-1") for call, scopes in itertools.product(NEEDS, sets)]
    for holder, call in itertools.product(("none", "unknown", "revoked", "expired"), NEEDS):
        made.append(tried(call, holder, 401, "unauthenticated", token="t-1"))
    return [*made, tried("operation", "another tenant", 404, "not_found")]


def judge(made: list[dict[str, Any]], needs: dict[str, str] | None = None) -> verdict.Verdict:
    story = histories.Story()
    story.load("matrix", made, kind="native-tokens")
    return histories.judged("token-scopes", story, load="matrix", needs=needs or NEEDS)


def test_a_whole_matrix_that_was_answered_as_stated_passes() -> None:
    found = judge(whole())
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert "4 of 15 requests let through" in found.sentence


def test_each_combination_that_was_not_tried_is_unknown_and_named() -> None:
    for left_out in range(len(whole())):
        found = judge([one for n, one in enumerate(whole()) if n != left_out])
        assert found.judged == verdict.Judged.UNKNOWN, left_out
    assert "not tried: create with sandboxes:read" in judge(whole()[1:]).sentence


def test_a_call_whose_scope_nobody_stated_is_unknown() -> None:
    found = judge(whole(), {"operation": READ})
    assert found.judged == verdict.Judged.UNKNOWN
    assert "no scope is stated for create" in found.sentence


def test_each_answer_that_is_wrong_fails_with_what_it_should_have_been() -> None:
    for n, one in enumerate(whole()):
        for wrong in ({"status": 500}, {"status": 202 if one["status"] != 202 else 403}):
            found = judge([*whole()[:n], one | wrong, *whole()[n + 1 :]])
            assert found.judged == verdict.Judged.FAIL, (n, wrong)
            assert found.proof
    other = [scoped("create", READ) | {"says": f"this needs {READ}"}]
    assert "403 scope_missing naming sandboxes:write; saw 403 scope_missing (this needs sandboxes:read)" in (
        judge(other).sentence
    )
    assert judge([scoped("create", READ) | {"code": "forbidden"}]).judged == verdict.Judged.FAIL


def test_a_revoked_token_that_was_never_good_proves_nothing() -> None:
    found = judge([one | ({"token": "t-2"} if one["holder"] == "revoked" else {}) for one in whole()])
    assert found.judged == verdict.Judged.UNKNOWN
    assert "the revoked token was never seen to be good" in found.sentence


def test_a_request_without_an_answer_is_unknown() -> None:
    found = judge([one | {"status": None, "error": "reset"} for one in whole()[:1]])
    assert found.judged == verdict.Judged.UNKNOWN
    assert "create with sandboxes:read got no answer (reset)" in found.sentence
