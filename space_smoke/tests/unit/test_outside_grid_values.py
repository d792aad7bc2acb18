"""grid-values: a fault on the release of a site's GridNetwork, in effect when the operator has taken it in."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import pathlib
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.bench import kube, wait
from space_smoke.bench.outside import grid_values, helm_values
from space_smoke.faults import kinds
from space_smoke.lease import acquire
from space_smoke.model import effect, objects

NETWORK = objects.Ref("grid.praxis-proxy.io/v1alpha1", "GridNetwork", "", "grid-c")
POLICY = {"epoch": 1}


def network(observed: int, policy: dict[str, int] | None) -> dict[str, Any]:
    return {
        **NETWORK.as_json(),
        "metadata": {
            "name": "grid-c",
            "generation": 4,
            "annotations": {"meta.helm.sh/release-name": "grid-c-site", "meta.helm.sh/release-namespace": "grid-c"},
        },
        "spec": {"gridId": "bench", **({"budgetPolicy": policy} if policy else {})},
        "status": {"observedGeneration": observed},
    }


def secret(number: int, config: dict[str, Any]) -> dict[str, Any]:
    manifest = network(0, config["gridNetwork"].get("budgetPolicy"))
    raw = {
        "version": number,
        "info": {"status": "deployed" if number == 2 else "superseded"},
        "config": config,
        "manifest": yaml.safe_dump(manifest),
    }
    packed = base64.b64encode(gzip.compress(json.dumps(raw).encode()))
    return {"metadata": {"name": f"v{number}"}, "data": {"release": base64.b64encode(packed).decode()}}


class Cluster(kube.Kube):
    """The second revision has no policy any more."""

    def __init__(self, live: dict[str, Any]) -> None:
        self.live = live

    def send(self, method: str, path: str, **_: Any) -> tuple[int, dict[str, Any]]:
        if "/secrets" in path:
            assert "/namespaces/grid-c/" in path
            configs: list[dict[str, Any]] = [
                {"gridNetwork": {"budgetPolicy": POLICY}},
                {"gridNetwork": {"budgetPolicy": None}},
            ]
            return 200, {"items": [secret(number, one) for number, one in enumerate(configs, 1)]}
        return 200, copy.deepcopy(self.live)


def settled(live: dict[str, Any]) -> wait.State:
    kind = kinds.KINDS["grid-values"]
    given = {"values": {"gridNetwork": {"budgetPolicy": None}}}
    field = dict(kind.address(given, live))
    field |= {"revision": 1, "standing": {"values": {"gridNetwork.budgetPolicy": {"value": POLICY}}}}
    there = grid_values.GridValues(Cluster(live), lambda: pathlib.Path("helm"))
    assert isinstance(there, helm_values.HelmValues)
    return there.settled(NETWORK, field, kind.wanted(given, field))


def test_it_is_in_effect_once_the_operator_tells_of_the_new_generation() -> None:
    assert settled(network(4, None)).done
    late = settled(network(3, None))
    assert not late.done
    assert "its status is about generation 3 of 4" in late.words


def test_what_was_to_be_taken_away_and_is_there_is_not_in_effect() -> None:
    state = settled(network(4, POLICY))
    assert not state.done
    assert "does not show budgetPolicy.epoch" in state.words


def test_only_the_network_is_watched_since_no_pod_is_rolled_out() -> None:
    assert grid_values.GridValues(Cluster({})).watching(NETWORK) == ((NETWORK.api_version, "GridNetwork", ""),)


def swept(status: int) -> list[objects.Object]:
    steps = acquire.swept([(NETWORK.api_version, "GridNetwork"), ("v1", "Node")])
    next(steps)
    steps.send(effect.No(status, "the server could not find the requested resource"))
    with pytest.raises(StopIteration) as ended:
        steps.send(effect.Found(({"kind": "Node"},)))
    return list(ended.value.value)


def test_a_cluster_that_does_not_know_a_kind_has_no_target_of_it() -> None:
    assert swept(404) == [{"kind": "Node"}]
    with pytest.raises(errors.ApiError, match="could not be listed"):
        swept(403)
