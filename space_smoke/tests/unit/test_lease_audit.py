"""The replay of an audit log finds what breaks the protocol's invariants, and nothing in a clean log."""

from __future__ import annotations

from typing import Any

from space_smoke.lease import audit

DOMAIN = "public-api-mutation"
FENCE = "/metadata/annotations/space-smoke.dev~1fence.public-api-mutation"
RECORD = "/metadata/annotations/space-smoke.dev~1record.f1"


def entry(
    purpose: str, operations: list[dict[str, Any]], *, at: int, code: int = 200, lease: bool = False, version: int = 0
) -> dict[str, Any]:
    """`at` is when it was answered, in seconds; `version` the revision it was committed at."""
    resource = "leases" if lease else "deployments"
    return {
        "requestURI": f"/apis/x?timeout=10s&fieldManager=space-smoke-{purpose}",
        "objectRef": {"resource": resource, "namespace": "space", "name": DOMAIN if lease else "space-api"},
        "responseStatus": {"code": code},
        "requestObject": operations,
        "responseObject": {"metadata": {"resourceVersion": str(version or at)}},
        "stageTimestamp": f"2026-01-01T00:00:{at:02d}Z",
    }


def stamp(fence: int, at: int) -> dict[str, Any]:
    return entry("stamp", [{"op": "add", "path": FENCE, "value": str(fence)}], at=at)


def change(purpose: str, fence: int, at: int, code: int = 200) -> dict[str, Any]:
    guard = {"op": "test", "path": FENCE, "value": str(fence)}
    return entry(purpose, [guard, {"op": "add", "path": RECORD, "value": "{}"}], at=at, code=code)


def recorded(at: int) -> dict[str, Any]:
    return entry("record", [{"op": "add", "path": RECORD, "value": "{}"}], at=at, lease=True)


def test_a_run_as_it_should_be_has_no_violation() -> None:
    clear = entry("clear", [{"op": "remove", "path": RECORD}], at=5, lease=True)
    seen = audit.replay([recorded(1), stamp(3, 2), change("inject", 3, 3), change("restore", 3, 4), clear], DOMAIN)
    assert seen.violations == []
    assert seen.committed["inject"] == 1


def test_a_write_under_an_old_fence_is_a_violation() -> None:
    seen = audit.replay([recorded(1), stamp(4, 2), change("inject", 3, 3)], DOMAIN)
    assert seen.violations == ["space-api was written for inject under fence 3 after 4"]


def test_a_refused_write_under_an_old_fence_is_what_the_fence_is_for() -> None:
    seen = audit.replay([recorded(1), stamp(4, 2), change("inject", 3, 3, code=422)], DOMAIN)
    assert seen.violations == []
    assert seen.refused["inject"] == 1


def test_a_write_without_a_test_of_the_fence_is_a_violation() -> None:
    bare = entry("restore", [{"op": "add", "path": "/spec/replicas", "value": 1}], at=3)
    assert audit.replay([stamp(4, 2), bare], DOMAIN).violations == [
        "space-api was written for restore without a test of its fence"
    ]


def test_a_fault_before_its_record_is_a_violation() -> None:
    seen = audit.replay([stamp(3, 1), change("inject", 3, 2), recorded(3)], DOMAIN)
    assert seen.violations == ["space-api got a fault whose record was not on the Lease"]


def test_a_record_removed_by_anything_but_clear_is_a_violation() -> None:
    removal = entry("release", [{"op": "remove", "path": RECORD}], at=2, lease=True)
    assert audit.replay([recorded(1), removal], DOMAIN).violations == ["record f1 was removed by a write for release"]


def test_writes_of_others_do_not_count() -> None:
    foreign = {**change("inject", 1, 3), "requestURI": "/apis/x?fieldManager=kubectl"}
    assert audit.replay([stamp(4, 2), foreign], DOMAIN).violations == []


HOLDER = "/spec/holderIdentity"
LEASE_FENCE = "/metadata/annotations/space-smoke.dev~1fence"


def taken(holder: str, fence: int, at: int) -> dict[str, Any]:
    operations = [
        {"op": "add", "path": HOLDER, "value": holder},
        {"op": "add", "path": LEASE_FENCE, "value": str(fence)},
    ]
    return entry("acquire", operations, at=at, lease=True)


def renewed(holder: str, at: int, purpose: str = "renew", fence: int = 0) -> dict[str, Any]:
    operations = [{"op": "test", "path": HOLDER, "value": holder}]
    operations += [{"op": "add", "path": LEASE_FENCE, "value": str(fence)}] if fence else []
    return entry(purpose, operations, at=at, lease=True)


def test_writes_are_judged_in_the_order_of_their_commits_not_of_their_answers() -> None:
    late_answer = {**change("inject", 3, 9), "responseObject": {"metadata": {"resourceVersion": "2"}}}
    seen = audit.replay([recorded(1), stamp(4, 5), late_answer], DOMAIN)
    assert seen.violations == []


def test_chunks_of_a_log_are_judged_as_one() -> None:
    replay = audit.Replay(DOMAIN)
    assert replay.add([recorded(1), stamp(4, 2)]) == []
    assert replay.add([change("restore", 3, 3)]) == ["space-api was written for restore under fence 3 after 4"]
    assert replay.stale_writes == 1


def test_a_fault_after_its_record_was_cleared_is_a_violation() -> None:
    clear = entry("clear", [{"op": "remove", "path": RECORD}], at=2, lease=True)
    seen = audit.replay([recorded(1), clear, stamp(3, 3), change("inject", 3, 4)], DOMAIN)
    assert seen.violations == ["space-api got a fault whose record was not on the Lease"]


def test_a_renewal_by_a_holder_that_was_replaced_is_a_violation() -> None:
    seen = audit.replay([taken("a", 1, 1), taken("b", 2, 2), renewed("a", 3)], DOMAIN)
    assert seen.violations == ["the Lease was written for renew as a, and b held it"]


def test_a_renewal_after_the_release_is_a_violation() -> None:
    seen = audit.replay([taken("a", 1, 1), renewed("a", 2, "release"), renewed("a", 3)], DOMAIN)
    assert seen.violations == ["the Lease was written for renew as a, and nobody held it"]


def test_a_fence_that_does_not_grow_is_a_violation() -> None:
    seen = audit.replay([taken("a", 2, 1), taken("b", 2, 2), renewed("b", 3, fence=1)], DOMAIN)
    assert seen.violations == [
        "the Lease was taken with fence 2 after 2",
        "the fence of the Lease went from 2 to 1",
    ]


def test_a_log_that_begins_under_a_holder_is_not_held_against_it() -> None:
    assert audit.replay([renewed("a", 1), renewed("a", 2, "release")], DOMAIN).violations == []


def test_writes_for_another_domain_do_not_count() -> None:
    other = [{"op": "test", "path": "/metadata/annotations/space-smoke.dev~1fence.nodes", "value": "1"}]
    seen = audit.replay([stamp(4, 1), entry("restore", other, at=2)], DOMAIN)
    assert seen.violations == []
    assert "restore" not in seen.committed


def test_the_event_that_tells_of_an_abandonment_is_no_write_to_a_target() -> None:
    told = entry("create", [], at=1)
    told["objectRef"] = {"resource": "events", "namespace": "space-smoke", "name": "abandoned-f1-3"}
    assert audit.replay([told], DOMAIN).violations == []


def test_a_replica_set_may_lose_copies_of_records_and_is_not_written_otherwise() -> None:
    taken = entry(
        "forget", [{"op": "test", "path": "/metadata/uid", "value": "u"}, {"op": "remove", "path": RECORD}], at=1
    )
    other = entry("forget", [{"op": "remove", "path": FENCE}], at=2)
    for one in (taken, other):
        one["objectRef"] = {"resource": "replicasets", "namespace": "space", "name": "space-api-1"}
    assert audit.replay([taken], DOMAIN).violations == []
    assert audit.replay([other], DOMAIN).violations == [f"ReplicaSet space-api-1 was written for forget: {FENCE}"]
