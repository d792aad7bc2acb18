"""The fake API server keeps the contract that a real one keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from space_smoke.model import effect, objects
from space_smoke.tests.sim import contract
from space_smoke.tests.sim import world as worlds


class Fake:
    def __init__(self) -> None:
        self.server = worlds.bench().api

    def create(self, body: Mapping[str, Any]) -> contract.Answer:
        return _answer(self.server.create(body), 201)

    def patch(self, ref: objects.Ref, *operations: objects.Operation) -> contract.Answer:
        return _answer(self.server.patch(ref.where(), operations))

    def delete(self, ref: objects.Ref, uid: str = "", version: str = "") -> contract.Answer:
        return _answer(self.server.delete(ref.where(), uid, version))

    def get(self, ref: objects.Ref) -> contract.Answer:
        return _answer(self.server.get(ref.where()))


def _answer(reply: effect.Done | effect.No, good: int = 200) -> contract.Answer:
    return (good, reply.thing) if isinstance(reply, effect.Done) else (reply.status, {})


@pytest.mark.parametrize("case", contract.CASES, ids=lambda case: case.__name__)
def test_the_fake_api_server_keeps_the_contract(case: Callable[[contract.Server, str], None]) -> None:
    case(Fake(), "contract")


def test_versions_are_counted_over_all_objects() -> None:
    fake = Fake()
    seen = [contract.version(fake.create(contract.lease(name))[1]) for name in ("one", "two")]
    assert int(seen[1]) == int(seen[0]) + 1


def test_lists_are_by_kind_namespace_and_label() -> None:
    server = worlds.bench().api
    found = server.listed("apps/v1", "Deployment", "", "app=space-redis")
    assert [thing["metadata"]["name"] for thing in found.things] == ["space-redis"]
    assert server.listed("apps/v1", "Deployment", "elsewhere", "").things == ()


def test_an_object_that_was_read_never_changes_afterwards() -> None:
    server = worlds.bench().api
    before = server.things[worlds.REDIS.where()]
    copy = repr(before)
    server.patch(worlds.REDIS.where(), (objects.put(9, "spec", "replicas"),))
    assert repr(before) == copy
    assert server.things[worlds.REDIS.where()]["spec"]["replicas"] == 9
