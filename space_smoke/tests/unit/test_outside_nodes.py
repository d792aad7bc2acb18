"""The places that are in nodes: whose packets, which rules, and the scripts' rule about fences, with a stand-in for docker."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import engine, proc, ready, wait
from space_smoke.bench.outside import cordon, ends, network, node_script, nodes, place, scripted
from space_smoke.model import objects

_NODE = objects.Ref("v1", "Node", "", "n1")


def pod(name: str, node: str, address: str, namespace: str = "space", **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name.split("-")[0]}},
        "spec": {"nodeName": node, **more},
        "status": {"podIP": address, "phase": "Running"},
    }


def node(name: str, address: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"addresses": [{"type": "InternalIP", "address": address}]}}


NODES = [node("n1", "172.18.0.2"), node("n2", "172.18.0.3")]
PODS = [
    pod("api-1", "n1", "10.0.1.1"),
    pod("api-2", "n2", "10.0.2.1"),
    pod("redis-1", "n1", "10.0.1.2"),
    pod("job-1", "n1", "10.0.1.0", restartPolicy="Never"),  # by its address it would be the first to be chosen
    pod("proxy-1", "n1", "172.18.0.2", hostNetwork=True),
    pod("api-3", "n1", "10.0.1.9", namespace="other"),
]


def completed(**field: Any) -> dict[str, Any]:
    whole: dict[str, Any] = ends.completed(
        {"container": "n1", "namespace": "space", "protocol": "any", **field}, "n1", PODS, NODES
    )
    return whole


def test_labels_become_the_addresses_of_pods_of_that_namespace() -> None:
    field = completed(**{"from": {"app": "api"}, "to": {"app": "redis"}, "protocol": "tcp", "port": 6379})
    assert ends.matches(field) == [
        "-s 10.0.1.1/32 -d 10.0.1.2/32 -p tcp -m tcp --dport 6379",
        "-s 10.0.2.1/32 -d 10.0.1.2/32 -p tcp -m tcp --dport 6379",
    ]
    assert ends.verdict(field) == "-j DROP"
    assert field["sender"] == {"container": "n1", "address": "10.0.1.1", "to": "10.0.1.2"}
    assert ends.probe(field) == ("tcp", 6379)


@pytest.mark.parametrize(
    ("field", "rules", "sender"),
    [
        ({"to": {"app": "redis"}}, ["-d 10.0.1.2/32"], ("n1", "10.0.1.1", "10.0.1.2")),
        ({"from": {"app": "redis"}}, ["-s 10.0.1.2/32"], ("n1", "10.0.1.2", "10.0.1.1")),
        (
            {"from": {"app": "redis"}, "to": "8.8.8.0/24"},
            ["-s 10.0.1.2/32 -d 8.8.8.0/24"],
            ("n1", "10.0.1.2", "8.8.8.1"),
        ),
        (
            {"from": "172.18.0.0/16", "to": {"app": "redis"}},
            ["-s 172.18.0.0/16 -d 10.0.1.2/32"],
            ("n2", "", "10.0.1.2"),
        ),
        (
            {"from": {"app": "redis"}, "to": "10.0.2.0/24", "protocol": "udp", "both_ways": True},
            ["-s 10.0.1.2/32 -d 10.0.2.0/24 -p udp", "-s 10.0.2.0/24 -d 10.0.1.2/32 -p udp"],
            ("n1", "10.0.1.2", "10.0.2.1"),
        ),
    ],
)
def test_each_end_may_be_pods_or_a_network_or_anyone(
    field: dict[str, Any], rules: list[str], sender: tuple[str, str, str]
) -> None:
    whole = completed(**field)
    assert ends.matches(whole) == rules
    assert tuple(whole["sender"].values()) == sender


def test_each_end_may_be_in_a_namespace_of_its_own() -> None:
    sites = [pod("grid-a", "n1", "10.0.1.3", "grid-a"), pod("grid-b", "n2", "10.0.2.3", "grid-b")]
    ours = {"namespace": "space", "protocol": "any", "from": {"namespace": "grid-a"}, "to": {"namespace": "grid-b"}}
    one_way = ends.completed(ours, "n1", [*PODS, *sites], NODES)
    assert ends.matches(one_way) == ["-s 10.0.1.3/32 -d 10.0.2.3/32"]
    both = ends.completed({**ours, "both_ways": True}, "n1", [*PODS, *sites], NODES)
    assert ends.matches(both) == ["-s 10.0.1.3/32 -d 10.0.2.3/32", "-s 10.0.2.3/32 -d 10.0.1.3/32"]
    assert both["sender"] == {"container": "n1", "address": "10.0.1.3", "to": "10.0.2.3"}
    with pytest.raises(place.Refusal, match="namespace grid-b has no running pod with labels app=api"):
        ends.completed({**ours, "to": {"namespace": "grid-b", "app": "api"}}, "n1", [*PODS, *sites], NODES)


def test_a_port_of_any_protocol_is_that_of_tcp_and_of_udp() -> None:
    field = completed(**{"from": {"app": "redis"}, "to": "10.0.2.0/24", "port": 7946, "both_ways": True})
    assert ends.matches(field) == [
        f"-s {a} -d {b} -p {one} -m {one} --dport 7946"
        for a, b in (("10.0.1.2/32", "10.0.2.0/24"), ("10.0.2.0/24", "10.0.1.2/32"))
        for one in ("tcp", "udp")
    ]
    assert ends.probe(field) == ("udp", 7946)


def test_what_is_the_same_both_ways_is_one_rule() -> None:
    field = completed(**{"from": {"app": "api"}, "to": {"app": "api"}, "both_ways": True})
    assert len(ends.matches(field)) == len(set(ends.matches(field))) == 4


def test_a_loss_of_one_drops_all_and_others_at_random() -> None:
    assert ends.verdict({"probability": 0.25}) == "-m statistic --mode random --probability 0.250000 -j DROP"
    assert ends.verdict({"probability": 1.0}) == "-j DROP"


def test_the_chain_is_named_by_what_its_rules_do() -> None:
    first, second = completed(to={"app": "redis"}), completed(to={"app": "redis"}, probability=0.5)
    assert first["chain"] == completed(to={"app": "redis"}, for_s=3.0)["chain"] != second["chain"]
    assert len(first["chain"]) <= 28  # the kernel's longest name of a chain


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"to": {"app": "nobody"}}, "namespace space has no running pod with labels app=nobody"),
        ({"to": {"namespace": "empty"}}, "namespace empty has no running pod$"),
        ({"from": {"app": "proxy"}}, "proxy-1 uses its node's own network"),
        ({"from": "192.0.2.0/24", "to": {"app": "redis"}}, "no packet that a pod or node"),
        ({"from": "172.18.0.2/32", "to": {"app": "redis"}}, "no packet"),  # the node's own packets are not forwarded
        ({"from": {"app": "redis"}, "to": "172.18.0.2/32"}, "no packet"),
        ({"from": "10.0.2.1/32", "to": "172.18.0.3/32"}, "no packet"),  # it stays on the other node
    ],
)
def test_packets_that_never_pass_the_node_are_refused(field: dict[str, Any], words: str) -> None:
    with pytest.raises(place.Refusal, match=words) as refusal:
        completed(**field)
    assert refusal.value.status == 422


def test_more_rules_than_a_node_should_bear_are_refused() -> None:
    many = [pod(f"api-{i}", "n1", f"10.0.3.{i}") for i in range(9)]
    field = {"namespace": "space", "protocol": "any", "from": {"app": "api"}, "to": {"app": "api"}}
    with pytest.raises(place.Refusal, match="too many"):
        ends.completed(field, "n1", many, NODES)
    ends.completed(field, "n1", many[:8], NODES)
    with pytest.raises(place.Refusal, match="too many"):  # two rules for each pair
        ends.completed({**field, "port": 80}, "n1", many[:8], NODES)


def test_only_pods_that_stay_are_counted() -> None:
    going = pod("a", "n1", "10.0.1.1")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    waiting, done = pod("b", "n1", ""), pod("c", "n1", "10.0.1.2")
    done["status"]["phase"] = "Succeeded"
    assert ends.running([going, waiting, done, PODS[0]]) == [PODS[0]]


def test_packets_are_counted_from_the_listing_of_a_chain() -> None:
    listing = """Chain SPACE-SMOKE-0 (1 references)
    pkts      bytes target     prot opt in     out     source               destination
       2       58 DROP       0    --  *      *       10.0.0.0/16        10.244.2.2           statistic mode random
     118     3422 RETURN     0    --  *      *       10.0.0.0/16        10.244.2.2
       1       58 DROP       0    --  *      *       10.0.0.0/16        10.244.2.3           statistic mode random
"""
    assert (network.count(listing, "DROP"), network.count(listing, "RETURN")) == (3, 118)


@pytest.mark.parametrize(("text", "status", "message"), [("fence 7\n", 409, "7"), ("other true\n", 412, "true")])
def test_a_script_that_did_nothing_is_a_refusal(text: str, status: int, message: str) -> None:
    with pytest.raises(place.Refusal) as refusal:
        scripted.answered(text)
    assert (refusal.value.status, refusal.value.message) == (status, message)


@pytest.mark.parametrize("text", ["", "value", "value \n", "sh: docker: not found\n"])
def test_an_answer_that_is_none_is_never_taken_for_one(text: str) -> None:
    with pytest.raises(errors.BenchError):
        scripted.answered(text)
    assert scripted.answered("value paused\n") == "paused"


class Engine:
    """A docker command that keeps one container's state in a file, and the script run against it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fence = folder / "fence"
        self.state = folder / "state"
        self.state.write_text("running")
        docker = folder / "docker"
        docker.write_text(
            f"""#!/bin/sh
cd {folder}
case $1 in
  inspect) cat state ;;
  pause) echo >begun; while [ -e slow ]; do sleep 0.01; done; printf paused >state ;;
  unpause) printf running >state ;;
esac
"""
        )
        docker.chmod(0o755)

    def start(self, verb: str, fence: int, before: str = "", after: str = "", wait_s: int = 1) -> subprocess.Popen[str]:
        arguments = [verb, str(self.fence), str(fence), str(wait_s), before, after, "id", "1"]
        return subprocess.Popen(
            ["setsid", "--fork", "--wait", "sh", "-c", node_script.CONTAINER, "sh", *arguments],
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, *arguments: Any) -> str:
        out, err = self.start(*arguments).communicate(timeout=20)
        return out.strip() or f"no answer: {err.strip()}"


@pytest.fixture
def docker(tmp_path: Path) -> Engine:
    return Engine(tmp_path)


def test_a_change_needs_the_very_fence_that_was_claimed_there(docker: Engine) -> None:
    assert docker.ask("alter", 3, "running", "paused") == "fence 0"  # none there equals none given
    assert docker.ask("claim", 3) == "value running"
    assert docker.ask("alter", 4, "running", "paused") == "fence 3"
    assert docker.ask("claim", 5) == "value running"
    assert docker.ask("alter", 3, "running", "paused") == "fence 5"
    assert docker.ask("claim", 4) == "fence 5"
    assert docker.state.read_text() == "running"
    assert docker.ask("alter", 5, "running", "paused") == "value paused"
    assert docker.ask("alter", 5, "running", "paused") == "other paused"
    assert docker.ask("claim", 5) == "value paused"
    assert docker.ask("alter", 5, "paused", "running") == "value running"


def test_a_claim_waits_for_a_change_whose_runner_was_killed(docker: Engine) -> None:
    (docker.folder / "slow").touch()
    docker.ask("claim", 1)
    killed = docker.start("alter", 1, "running", "paused")
    deadline = time.monotonic() + 10
    while not (docker.folder / "begun").exists():
        assert time.monotonic() < deadline
        os.sched_yield()
    with killed:
        killed.send_signal(signal.SIGKILL)
    assert docker.ask("claim", 2).startswith("no answer")  # what was begun is not yet done: nothing is known
    (docker.folder / "slow").unlink()
    assert docker.ask("claim", 2, "", "", 10) == "value paused"


class Cluster:
    """Answers what the probes ask of the API server."""

    def __init__(self, *, healthz: int | None = 200, **things: Any) -> None:
        self.healthz = healthz
        self.things = things

    def send(self, method: str, path: str, *, timeout_s: float) -> tuple[int, dict[str, Any]]:
        if self.healthz is None:
            raise errors.ApiError("no answer", status=0)
        return self.healthz, {"message": "told"}

    def read(self, ref: objects.Ref) -> Any:
        return self.things[ref.kind]

    def listed(self, api_version: str, kind: str) -> Any:
        return self.things["pods"]


@pytest.mark.parametrize(
    ("healthz", "words"), [(200, "answers"), (None, "silent"), (503, "silent"), (403, "403 told"), (500, "500 told")]
)
def test_only_a_kubelet_that_cannot_be_reached_is_silent(healthz: int | None, words: str) -> None:
    assert nodes.kubelet(Cluster(healthz=healthz), "n1") == words  # type: ignore[arg-type]


def back(*, ready: str = "True", heartbeat_s: float = 0, started_s: float = 60, pods: Any = ()) -> wait.State:
    """Whether a node counts as back; times in seconds before now."""
    it = {"metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}
    now = datetime.now(UTC)
    renewed = (now - timedelta(seconds=heartbeat_s)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    cluster = Cluster(Lease={"spec": {"renewTime": renewed}}, pods=list(pods))
    return nodes.returned(cluster, it, now - timedelta(seconds=started_s))  # type: ignore[arg-type]


def reported(*, ready: str = "True", begun_s: float = 10, on: str = "n1", **meta: Any) -> dict[str, Any]:
    begun = (datetime.now(UTC) - timedelta(seconds=begun_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    status["containerStatuses"] = [{"state": {"running": {"startedAt": begun}}}]
    return {"metadata": {"name": "p", **meta}, "spec": {"nodeName": on}, "status": status}


def test_a_node_is_back_when_it_reports_and_its_pods_are_ready_by_fresh_news() -> None:
    assert back(pods=[reported(), reported(on="n2", ready="False")]).done
    assert "not Ready" in back(ready="Unknown").words
    assert "not reported" in back(heartbeat_s=30).words
    assert "not reported" in back(heartbeat_s=10, started_s=5).words  # from before it was started
    assert "not Ready" in back(pods=[reported(ready="False")]).words
    assert "not Ready" in back(pods=[reported(), reported(ready="False", namespace="grid-a")]).words
    assert "as it was before" in back(pods=[reported(begun_s=100)]).words
    assert "being removed" in back(pods=[reported(deletionTimestamp="now")]).words


@pytest.mark.parametrize(
    ("said", "leads"),
    [
        ("10.0.2.1 via 172.18.0.3 dev eth0 src 172.18.0.2 uid 0 \\    cache", True),
        ("10.0.2.1 via 172.18.0.1 dev eth0 src 172.18.0.2 uid 0 \\    cache", False),  # the default gateway
        ("10.0.2.1 dev tunnel0 src 172.18.0.2 uid 0 \\    cache", True),
        ("", False),  # RTNETLINK answers: No route to host
    ],
)
def test_a_route_leads_to_the_other_node_and_not_out_of_the_cluster(said: str, leads: bool) -> None:
    assert nodes.leads(said, "172.18.0.3") is leads


def test_a_node_is_not_back_before_routes_lead_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [{**it, "spec": {"podCIDR": f"10.0.{i}.0/24"}} for i, it in enumerate(NODES)]
    known = {("n1", "10.0.1.1"): "via 172.18.0.3 dev eth0", ("n2", "10.0.0.1"): "via 172.18.0.2 dev eth0"}

    def docker(_exec: str, sender: str, *argv: str, check: bool) -> proc.Done:
        return proc.Done(known.get((sender, argv[-1]), ""), "", 0, 0.0)

    monkeypatch.setattr(engine, "docker", docker)
    assert nodes.routed("n1", others).done
    for pair in list(known):
        route = known.pop(pair)
        assert f"{pair[0]} has no route" in nodes.routed("n1", others).words
        known[pair] = route


def test_times_of_docker_and_of_kubernetes_are_read_alike() -> None:
    read = ready.moment("2026-01-02T03:04:05.123456789Z")
    assert read == ready.moment("2026-01-02T03:04:05.123456Z") == datetime(2026, 1, 2, 3, 4, 5, 123456, UTC)
    assert ready.moment("2026-01-02T03:04:05Z") == datetime(2026, 1, 2, 3, 4, 5, 0, UTC)


def test_a_cordon_is_in_effect_by_its_taint_and_not_by_its_field() -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    for spec, expect, done in (
        ({"unschedulable": True}, {"unschedulable": True}, False),
        ({"unschedulable": True, "taints": [taint]}, {"unschedulable": True}, True),
        ({"taints": [taint]}, {"absent": True}, False),
        ({}, {"absent": True}, True),
    ):
        probe = cordon.Cordon(Cluster(Node={"spec": spec}))  # type: ignore[arg-type]
        assert probe.settled(_NODE, {}, expect).done is done, spec
