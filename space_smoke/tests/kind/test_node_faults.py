"""Faults of nodes on a real bench, through the real protocol: raised, seen by an independent look, put back, cleared."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import engine, kube, register, wait
from space_smoke.bench.outside import nodes as node_places
from space_smoke.bench.outside import place, table
from space_smoke.engine import tenure
from space_smoke.faults import kinds as fault_kinds
from space_smoke.model import kinds, objects, record, scenario
from space_smoke.tests.kind import conftest

NAMESPACE = "node-faults"
DOMAIN = "public-api-mutation"
GROUP = "sandbox"
PORT = 8080

# Takes, raises and waits to be killed: argv is kubeconfig, run and the fault as JSON (kind, target, arguments).
_HOLD = """
import json, signal, sys
from pathlib import Path
from space_smoke.bench import kube, life
from space_smoke.engine import tenure
from space_smoke.model import scenario
kind, name, arguments = json.loads(sys.argv[3])
leases = tenure.Tenure(kube.Kube(Path(sys.argv[1])), "space", sys.argv[2], life.Lock(sys.argv[2]), lambda *a, **k: None)
leases.take(["public-api-mutation"])
leases.raise_fault(scenario.Fault("held", kind, scenario.Target("node", name), arguments, ()))
print("up", flush=True)
signal.pause()
"""


def fault(kind: str, **arguments: Any) -> scenario.Fault:
    return scenario.Fault(f"test-{kind}", kind, scenario.Target("node", GROUP), arguments, ())


class Run:
    """A run of the protocol, its events kept."""

    def __init__(self, cluster: kube.Kube, run: str = "node-test") -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.leases = tenure.Tenure(
            cluster, "space", run, None, lambda event, /, **data: self.events.append((event, data))
        )

    def told(self, event: str) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == event]


@pytest.fixture
def run(cluster: kube.Kube) -> Iterator[Run]:
    one = Run(cluster)
    one.leases.take([DOMAIN, "worker-cordon"])
    yield one
    assert not one.leases.give_back()


@pytest.fixture(scope="module")
def nodes(cluster: kube.Kube) -> dict[str, str]:
    """Node names by group."""
    return {
        objects.labels_of(node)["space-smoke.dev/group"]: node["metadata"]["name"]
        for node in cluster.listed("v1", "Node")
        if "space-smoke.dev/group" in objects.labels_of(node)
    }


@pytest.fixture(scope="module")
def pods(cluster: kube.Kube, nodes: dict[str, str]) -> Iterator[dict[str, str]]:
    """Addresses by name: `a` and `b` on the node that is broken, `c` on the other. Each answers on PORT."""
    gone = objects.Ref("v1", "Namespace", "", NAMESPACE)
    cluster.delete(gone)
    until(cluster, "the namespace is new", lambda: made(cluster))
    for name, group in (("a", GROUP), ("b", GROUP), ("c", "infra")):
        cluster.create(pod(name, nodeName=nodes[group]))
    until(cluster, "three pods", lambda: wait.State(len(addresses(cluster)) == 3, str(addresses(cluster))), NAMESPACE)
    yield addresses(cluster)
    cluster.delete(gone)


def made(cluster: kube.Kube) -> wait.State:
    try:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    except errors.ApiError as error:
        return wait.State(False, error.message)
    return wait.State(True, "made")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    entry = register.read(conftest.BENCH)
    assert entry is not None
    image = next(reference for reference in entry.images if "services" in reference)
    answer = (
        f"import socket\nserver = socket.create_server(('', {PORT}), backlog=256)\nwhile 1: server.accept()[0].close()"
    )
    command = ["python3", "-c", answer]
    container = {"name": "peer", "image": image, "imagePullPolicy": "Never", "command": command}
    container["readinessProbe"] = {"tcpSocket": {"port": PORT}, "periodSeconds": 1}  # type: ignore[assignment]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"peer": name}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container], **spec},
    }


def addresses(cluster: kube.Kube) -> dict[str, str]:
    """Of the pods that are Ready."""
    found = {}
    for thing in cluster.listed("v1", "Pod", NAMESPACE):
        conditions = {one["type"]: one["status"] for one in objects.dig(thing, "status", "conditions") or ()}
        if conditions.get("Ready") == "True":
            found[thing["metadata"]["name"]] = thing["status"]["podIP"]
    return found


def until(cluster: kube.Kube, saying: str, look: Any, namespace: str = "") -> None:
    watching = [("v1", "Pod", namespace)] if namespace else []
    wait.until(cluster, saying, look, watching=watching, timeout_s=90)


def reached(sender: str, *targets: str) -> list[bool]:
    """Which addresses a pod can connect to, each tried for 0.7 s, all at once: less than the second after which TCP sends
    its first packet again."""
    code = (
        "import socket, sys; from concurrent import futures\n"
        "def attempt(address):\n"
        f"    try: socket.create_connection((address, {PORT}), 0.7).close()\n"
        "    except OSError: return 0\n"
        "    return 1\n"
        "print(*futures.ThreadPoolExecutor(20).map(attempt, sys.argv[1:]))"
    )
    plane = f"{conftest.BENCH}-control-plane"
    config = "--kubeconfig=/etc/kubernetes/admin.conf"
    argv = ["exec", plane, "kubectl", config, "exec", "-n", NAMESPACE, sender, "--", "python3", "-c", code]
    return [word == "1" for word in engine.docker(*argv, *targets).stdout.split()]


def hold(fault_kind: str, node: str, **arguments: Any) -> subprocess.Popen[str]:
    """A runner in a process of its own, its fault up."""
    told = json.dumps([fault_kind, node, arguments])
    argv = [sys.executable, "-c", _HOLD, str(register.kubeconfig(conftest.BENCH)), f"held-{time.time_ns()}", told]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    return child


def kill(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGKILL)
    child.communicate()


def test_a_cordoned_node_gets_no_pod_until_the_fault_is_over(
    cluster: kube.Kube, run: Run, nodes: dict[str, str], pods: dict[str, str]
) -> None:
    run.leases.raise_fault(fault("cordon"))
    cluster.create(pod("waiting", nodeSelector={"kubernetes.io/hostname": nodes[GROUP]}))
    ref = objects.Ref("v1", "Pod", NAMESPACE, "waiting")
    until(cluster, "the scheduler's refusal", lambda: refused(cluster.read(ref)), NAMESPACE)
    other = Run(cluster, "other")
    assert {standing.view.domain for standing in other.leases.look()} >= {"worker-cordon"}
    run.leases.lower_fault(fault("cordon"))
    assert "unschedulable" not in cluster.read(run.leases.target(fault("cordon").target))["spec"]
    until(cluster, "the pod is there", lambda: wait.State("waiting" in addresses(cluster), "not yet"), NAMESPACE)
    cluster.delete(ref)


def refused(thing: dict[str, Any]) -> wait.State:
    conditions = {one["type"]: one for one in objects.dig(thing, "status", "conditions") or ()}
    scheduled = conditions.get("PodScheduled") or {}
    words = f"{scheduled.get('status')} {scheduled.get('message')}"
    return wait.State(scheduled.get("reason") == "Unschedulable" and "unschedulable" in words, words)


def test_a_node_that_somebody_cordoned_is_left_as_it_is(cluster: kube.Kube, run: Run) -> None:
    path = kube.path_of(run.leases.target(fault("cordon").target))
    merge = "application/merge-patch+json"
    cluster.send("PATCH", path, body={"spec": {"unschedulable": True}}, content=merge)
    try:
        with pytest.raises(kinds.Unfit, match="would change nothing"):
            run.leases.raise_fault(fault("cordon"))
    finally:
        cluster.send("PATCH", path, body={"spec": {"unschedulable": None}}, content=merge)


def test_packets_to_one_port_are_dropped_one_way_on_the_same_node_and_between_nodes(
    run: Run, pods: dict[str, str]
) -> None:
    drop = fault(
        "network-drop", namespace=NAMESPACE, **{"from": {"peer": "a"}, "protocol": "tcp", "port": PORT}
    )  # to anyone
    assert reached("a", pods["b"], pods["c"]) == [True, True]
    run.leases.raise_fault(drop)
    assert reached("a", pods["b"], pods["c"]) == [False, False]
    assert reached("b", pods["a"], pods["c"]) == [True, True]
    assert reached("c", pods["a"]) == [True]
    run.leases.lower_fault(drop)
    assert reached("a", pods["b"], pods["c"]) == [True, True]


def test_packets_that_come_from_another_node_are_dropped_both_ways(run: Run, pods: dict[str, str]) -> None:
    ends = {"from": {"peer": "c"}, "to": f"{pods['b']}/32", "both-ways": True}
    drop = fault("network-drop", namespace=NAMESPACE, protocol="tcp", port=PORT, **ends)
    run.leases.raise_fault(drop)
    assert reached("c", pods["b"], pods["a"]) == [False, True]
    assert reached("b", pods["c"], pods["a"]) == [False, True]
    run.leases.lower_fault(drop)
    assert reached("c", pods["b"]) == reached("b", pods["c"]) == [True]


def test_of_lost_packets_some_arrive(run: Run, pods: dict[str, str]) -> None:
    ends = {"from": {"peer": "a"}, "to": {"peer": "c"}}
    loss = fault("network-loss", namespace=NAMESPACE, probability=0.5, protocol="tcp", port=PORT, **ends)
    run.leases.raise_fault(loss)
    assert 0 < sum(reached("a", *[pods["c"]] * 20)) < 20  # wrong once in half a million
    run.leases.lower_fault(loss)
    assert all(reached("a", *[pods["c"]] * 20))


def test_rules_that_were_given_a_time_end_by_themselves(cluster: kube.Kube, run: Run, pods: dict[str, str]) -> None:
    drop = fault("network-drop", namespace=NAMESPACE, to={"peer": "b"}, protocol="tcp", port=PORT, for_s=20.0)
    item = run.leases.raise_fault(drop)
    assert run.leases.value_of(item) == {"rules": True}
    until(cluster, "the rules end", lambda: wait.State(run.leases.value_of(item) == {"rules": False}, "still there"))
    assert reached("a", pods["b"]) == [True]
    run.leases.lower_fault(drop)


def test_rules_whose_packets_never_pass_the_node_are_refused(run: Run, pods: dict[str, str]) -> None:
    elsewhere = fault("network-drop", namespace=NAMESPACE, to={"peer": "c"}, **{"from": "10.255.0.0/16"})
    with pytest.raises(kinds.Unfit, match="no packet"):
        run.leases.raise_fault(elsewhere)


def test_a_killed_runs_rules_are_removed_by_the_next_run(
    cluster: kube.Kube, nodes: dict[str, str], pods: dict[str, str]
) -> None:
    kill(hold("network-drop", nodes[GROUP], namespace=NAMESPACE, to={"peer": "b"}))
    assert reached("a", pods["b"]) == [False]
    repaired(cluster, "network-drop")
    assert reached("a", pods["b"]) == [True]


def repaired(cluster: kube.Kube, kind: str) -> dict[str, Any]:
    """The next run takes the domain and repairs one fault, whose event is returned."""
    following = Run(cluster, "following")
    following.leases.take([DOMAIN])
    assert not following.leases.give_back()
    [told] = following.told("repaired")
    assert told["kind"] == kind
    return told


def test_a_frozen_node_is_silent_and_a_killed_run_leaves_it_to_the_next(
    cluster: kube.Kube, nodes: dict[str, str]
) -> None:
    child = hold("pause-node", nodes[GROUP])
    assert engine.inspect([nodes[GROUP]])[0]["State"]["Paused"]
    port = engine.docker("exec", f"{conftest.BENCH}-control-plane", "timeout", "2", "bash", "-c",
                         f"exec 3<>/dev/tcp/{nodes[GROUP]}/10250; head -c1 <&3", check=False)  # fmt: skip
    assert port.returncode != 0
    kill(child)
    assert repaired(cluster, "pause-node")["standing"] == "running"
    assert not engine.inspect([nodes[GROUP]])[0]["State"]["Paused"]


def test_a_stopped_node_comes_back_with_its_pods(
    cluster: kube.Kube, run: Run, nodes: dict[str, str], pods: dict[str, str]
) -> None:
    stop = fault("stop-node")
    run.leases.raise_fault(stop)
    assert engine.inspect([nodes[GROUP]])[0]["State"]["Status"] == "exited"
    assert reached("c", pods["a"], pods["b"]) == [False, False]
    run.leases.lower_fault(stop)
    now = addresses(cluster)
    assert sorted(now) == ["a", "b", "c"]
    pods.update(now)
    assert reached("a", now["c"]) == reached("c", now["b"]) == [True]


def test_rules_that_went_with_their_nodes_container_are_found_gone_and_cleared(
    cluster: kube.Kube, nodes: dict[str, str], pods: dict[str, str]
) -> None:
    kill(hold("network-drop", nodes[GROUP], namespace=NAMESPACE, to={"peer": "b"}))
    since = datetime.now(UTC)
    engine.docker("restart", "-t", "1", nodes[GROUP])
    assert repaired(cluster, "network-drop")["standing"] == "no rules"
    fences = engine.docker("exec", nodes[GROUP], "cat", f"/var/lib/space-smoke/fence.{DOMAIN}").stdout
    assert int(fences) > 0  # the place's fence outlives a restart
    ref = objects.Ref("v1", "Node", "", nodes[GROUP])
    until(cluster, "its pods", lambda: node_places.returned(cluster, cluster.read(ref), since), NAMESPACE)
    pods.update(addresses(cluster))


@pytest.mark.parametrize("kind", ["network-drop", "pause-node"])
def test_a_stale_run_is_refused_by_the_place_itself(
    cluster: kube.Kube, run: Run, pods: dict[str, str], kind: str
) -> None:
    arguments = {"namespace": NAMESPACE, "to": {"peer": "b"}} if kind == "network-drop" else {}
    item: record.Record = run.leases.raise_fault(fault(kind, **arguments))
    there = table.places(cluster)[kind]
    told = (item.target, item.field, DOMAIN)
    ours = int(objects.annotations_of(cluster.read(conftest.LEASE))["space-smoke.dev/fence"])
    assert there.claim(*told, ours + 1, 10) == item.fault  # a successor's claim
    for fence in (ours, ours + 2):
        with pytest.raises(place.Refusal) as refusal:
            there.alter(*told, fence, item.fault, item.standing, 10)
        assert (refusal.value.status, refusal.value.message) == (409, str(ours + 1))
    with pytest.raises(place.Refusal) as refusal:
        there.claim(*told, ours, 10)
    assert refusal.value.status == 409
    with pytest.raises(place.Refusal) as refusal:
        there.alter(*told, ours + 1, item.standing, item.fault, 10)
    assert refusal.value.status == 412
    assert there.sense(item.target, item.field)[1] == item.fault
    run.leases.lower_fault(fault(kind, **arguments))  # raises its own fence above the one it finds
    assert there.sense(item.target, item.field)[1] == item.standing


def test_every_kind_here_is_one_that_scenarios_may_name() -> None:
    assert {"cordon", "pause-node", "stop-node", "network-drop", "network-loss"} <= set(fault_kinds.KINDS)
