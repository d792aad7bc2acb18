"""The simulation's API server and a real one answer the same table of cases alike: what is proven there holds here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from space_smoke.bench import kube
from space_smoke.model import objects
from space_smoke.tests.sim import contract

Answer = tuple[int, dict[str, Any]]


class Real:
    """A real API server, asked as the table asks the simulated one."""

    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def create(self, body: Any) -> Answer:
        path = kube.collection(body["apiVersion"], body["kind"], body["metadata"].get("namespace", ""))
        return self._cluster.send("POST", path, body=body)

    def patch(self, ref: objects.Ref, *operations: Any) -> Answer:
        content = "application/json-patch+json"
        return self._cluster.send("PATCH", kube.path_of(ref), body=list(operations), content=content)

    def delete(self, ref: objects.Ref, uid: str = "", version: str = "") -> Answer:
        guard = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
        return self._cluster.send("DELETE", kube.path_of(ref), body={"preconditions": guard} if guard else None)

    def get(self, ref: objects.Ref) -> Answer:
        return self._cluster.send("GET", kube.path_of(ref))


@pytest.fixture
def real(cluster: kube.Kube) -> Iterator[Real]:
    server = Real(cluster)
    yield server
    for number in range(len(contract.CASES)):
        for api_version, kind in (("coordination.k8s.io/v1", "Lease"), ("apps/v1", "Deployment")):
            ref = objects.Ref(api_version, kind, "space-smoke", f"contract-case-{number}")
            server.delete(ref)
            server.patch(ref, objects.put([], "metadata", "finalizers"))


@pytest.mark.parametrize("number", range(len(contract.CASES)), ids=lambda n: contract.CASES[n].__name__)
def test_a_real_api_server_answers_as_the_simulated_one(real: Real, number: int) -> None:
    contract.CASES[number](real, f"contract-case-{number}")
