"""Faults inside Redis and Postgres through the whole protocol, each seen by a look that is not our own place's."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import kube, life, register, wait
from space_smoke.bench.outside import place, postgres_kinds, redis, redis_kinds
from space_smoke.engine import tenure
from space_smoke.model import objects, record, scenario
from space_smoke.tests.kind import conftest

DOMAIN = "public-api-mutation"
POSTGRES = objects.Ref("apps/v1", "StatefulSet", "space", "postgres")
STORE = scenario.Target("deployment", "space-redis")
DATABASE = scenario.Target("statefulset", "postgres")
FULL = scenario.Fault("full", "redis-config", STORE, {"setting": "maxmemory", "value": "1"}, ())
SMALL = scenario.Fault("small", "postgres-setting", DATABASE, {"setting": "work_mem", "value": "1234"}, ())
PAUSED = {
    mode: scenario.Fault(f"paused-{mode}", "redis-pause", STORE, {"for_s": 20.0, "mode": mode}, ())
    for mode in ("all", "write")
}
FLUSHED = scenario.Fault("flushed", "redis-flush-scripts", STORE, {}, ())
RESTARTED = {
    mode: scenario.Fault(f"restarted-{mode}", "postgres-restart", DATABASE, {"mode": mode}, ())
    for mode in ("fast", "immediate")
}
Leases = Callable[[], tenure.Tenure]


@pytest.fixture
def leases(cluster: kube.Kube) -> Iterator[Leases]:
    """Makes holders; afterwards nothing is held, whoever ended early."""
    made: list[tenure.Tenure] = []

    def make() -> tenure.Tenure:
        run = f"store-{secrets.token_hex(4)}"
        made.append(tenure.Tenure(cluster, "space", run, life.Lock(run), lambda *_a, **_k: None))
        return made[-1]

    yield make
    for one in made:
        one.give_back()
    last = make()
    last.take([DOMAIN])
    last.give_back()


def in_pod(cluster: kube.Kube, ref: objects.Ref, *argv: str) -> str:
    """A command in the pod by the node's kubectl, so by another way than the places take."""
    labels = ",".join(f"{k}={v}" for k, v in cluster.read(ref)["spec"]["selector"]["matchLabels"].items())
    found = kubectl("get", "pods", "--selector", labels, "--output", "name").split()
    return kubectl("exec", found[0], "--", *argv)


def kubectl(*argv: str) -> str:
    """The node's own, in the namespace of the servers."""
    command = ["docker", "exec", f"{conftest.BENCH}-control-plane", "kubectl", "--namespace", "space", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def asked(cluster: kube.Kube, *argv: str, patience_s: int = 5) -> str:
    """redis-cli's answer, "" when none came in time."""
    return in_pod(cluster, conftest.REDIS, "sh", "-c", f'timeout {patience_s} redis-cli "$@" || true', "sh", *argv)


def queried(cluster: kube.Kube, sql: str) -> str:
    """As the application, in its database, by the port that it uses."""
    login = 'PGPASSWORD="$POSTGRES_PASSWORD" psql -XAtq -h 127.0.0.1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c "$1"'
    return in_pod(cluster, POSTGRES, "sh", "-c", login, "sh", sql)


def open_records(cluster: kube.Kube) -> list[str]:
    things = [cluster.read(ref) for ref in (conftest.LEASE, conftest.REDIS, POSTGRES)]
    return [key for thing in things for key in objects.annotations_of(thing) if key.startswith(record.PREFIX)]


def raised(leases: tenure.Tenure, fault: scenario.Fault) -> None:
    leases.take([DOMAIN])
    leases.raise_fault(fault)


def test_a_full_redis_refuses_writes_and_is_put_back_although_it_is_full(leases: Leases, cluster: kube.Kube) -> None:
    holder = leases()
    raised(holder, FULL)
    assert asked(cluster, "set", "seen", "1").startswith("OOM")
    holder.lower_fault(FULL)
    assert asked(cluster, "set", "seen", "1", "px", "1") == "OK"
    assert asked(cluster, "config", "get", "maxmemory").split() == ["maxmemory", "67108864"]
    assert not open_records(cluster)


@pytest.mark.parametrize("mode", PAUSED)
def test_a_paused_redis_leaves_commands_without_an_answer_until_it_is_over(
    leases: Leases, cluster: kube.Kube, mode: str
) -> None:
    holder = leases()
    raised(holder, PAUSED[mode])
    seen = [asked(cluster, *words, patience_s=1) for words in (("ping",), ("set", "seen", "1", "px", "1"))]
    assert seen == (["", ""] if mode == "all" else ["PONG", ""])
    holder.lower_fault(PAUSED[mode])
    assert asked(cluster, "set", "seen", "1", "px", "1") == "OK"
    assert not open_records(cluster)


def test_flushed_scripts_are_gone(leases: Leases, cluster: kube.Kube) -> None:
    sha = asked(cluster, "script", "load", "return 'seen'")
    assert asked(cluster, "script", "exists", sha) == "1"
    holder = leases()
    raised(holder, FLUSHED)
    assert asked(cluster, "script", "exists", sha) == "0"
    holder.lower_fault(FLUSHED)
    assert not open_records(cluster)


@pytest.mark.parametrize("mode", RESTARTED)
def test_a_restarted_postgres_is_another_server_and_takes_connections_again(
    leases: Leases, cluster: kube.Kube, mode: str
) -> None:
    replaced(cluster, POSTGRES)  # a new pod's first restart is not held back
    before = queried(cluster, "SELECT pg_postmaster_start_time()")
    holder = leases()
    raised(holder, RESTARTED[mode])
    holder.lower_fault(RESTARTED[mode])
    assert queried(cluster, "SELECT pg_postmaster_start_time()") != before
    pod = cluster.read(objects.Ref("v1", "Pod", "space", "postgres-0"))
    assert {c["type"]: c["status"] for c in pod["status"]["conditions"]}["Ready"] == "True"
    assert f"received {mode} shutdown request" in kubectl("logs", "postgres-0", "--previous")
    assert not open_records(cluster)


def test_a_setting_is_seen_by_new_sessions_of_the_application_and_taken_back(
    leases: Leases, cluster: kube.Kube
) -> None:
    before = queried(cluster, "SHOW work_mem")
    holder = leases()
    raised(holder, SMALL)
    assert queried(cluster, "SHOW work_mem") == "1234kB"
    holder.lower_fault(SMALL)
    assert queried(cluster, "SHOW work_mem") == before
    assert queried(cluster, "SELECT count(*) FROM pg_db_role_setting") == "0"
    assert not open_records(cluster)


@pytest.mark.parametrize("fault", [FULL, SMALL, PAUSED["all"], FLUSHED], ids=lambda fault: fault.name)
def test_a_runner_killed_with_its_fault_up_is_put_right_by_the_next(
    leases: Leases, cluster: kube.Kube, fault: scenario.Fault
) -> None:
    killed_with(cluster, fault)
    assert open_records(cluster)
    leases().take([DOMAIN])
    assert not open_records(cluster)
    assert asked(cluster, "set", "seen", "1", "px", "1") == "OK"
    assert queried(cluster, "SHOW work_mem") == "4MB"


@pytest.mark.parametrize("fault", [FULL, SMALL], ids=lambda fault: fault.name)
def test_a_fault_whose_server_was_restarted_is_put_right_all_the_same(
    leases: Leases, cluster: kube.Kube, fault: scenario.Fault
) -> None:
    """Redis has forgotten the fault and the fence; Postgres keeps both."""
    killed_with(cluster, fault)
    if fault is FULL:
        replaced(cluster, conftest.REDIS)
        assert asked(cluster, "exists", redis.key_of(DOMAIN)) == "0"
    else:
        replaced(cluster, POSTGRES)
        assert queried(cluster, "SHOW work_mem") == "1234kB"
    leases().take([DOMAIN])
    assert not open_records(cluster)
    assert asked(cluster, "config", "get", "maxmemory").split() == ["maxmemory", "67108864"]
    assert queried(cluster, "SHOW work_mem") == "4MB"


STALE: dict[str, tuple[type[Any], objects.Ref, dict[str, Any], Any, Any]] = {
    "redis-config": (redis_kinds.Config, conftest.REDIS, {"setting": "hz"}, {"value": "10"}, {"value": "11"}),
    "redis-pause": (
        redis_kinds.Pause,
        conftest.REDIS,
        {"for_s": 5.0, "mode": "all"},
        {"paused": False},
        {"paused": True},
    ),
    "redis-flush-scripts": (redis_kinds.Scripts, conftest.REDIS, {}, {"done": False}, {"done": True}),
    "postgres-restart": (postgres_kinds.Restart, POSTGRES, {"mode": "fast"}, {"done": False}, {"done": True}),
    "postgres-setting": (
        postgres_kinds.Setting,
        POSTGRES,
        {
            "setting": "work_mem",
            "database": "space",
            "role": "",
            "session": {"database": "space", "role": "app"},
        },
        {"absent": True},
        {"value": "64kB"},
    ),
}


@pytest.mark.parametrize("name", STALE)
def test_the_store_itself_refuses_a_fence_that_was_overtaken_or_never_claimed(cluster: kube.Kube, name: str) -> None:
    make, ref, field, before, after = STALE[name]
    there = make(cluster)
    full, value = there.sense(ref, field)
    assert value == before
    domain = f"stale-{name}-{os.getpid()}"
    with pytest.raises(place.Refusal) as unclaimed:
        there.alter(ref, full, domain, 1, before, after, 20)
    assert (unclaimed.value.status, unclaimed.value.message) == (409, "")
    there.claim(ref, full, domain, 1, 20)
    assert make(cluster).claim(ref, full, domain, 2, 20) == before
    with pytest.raises(place.Refusal) as stale:
        there.alter(ref, full, domain, 1, before, after, 20)
    assert (stale.value.status, stale.value.message) == (409, "2")
    with pytest.raises(place.Refusal) as lower:
        there.claim(ref, full, domain, 1, 20)
    assert (lower.value.status, lower.value.message) == (409, "2")
    assert there.sense(ref, full)[1] == before


def test_a_claim_ends_the_connection_of_whoever_is_between_its_fence_and_its_change(cluster: kube.Kube) -> None:
    """The stale runner has read its fence as the current one, and only then is it overtaken."""
    server = redis.Server(cluster)
    domain = f"between-{os.getpid()}"
    server.claim(conftest.REDIS, domain, 1, 20, lambda _to: None)

    def overtaken(to: redis.Session) -> None:
        server.claim(conftest.REDIS, domain, 2, 20, lambda _to: None)
        to.call("CONFIG", "SET", "hz", "11")

    with pytest.raises(errors.ApiError):
        server.alter(conftest.REDIS, domain, 1, 40, overtaken)
    assert asked(cluster, "config", "get", "hz").split() == ["hz", "10"]


def killed_with(cluster: kube.Kube, fault: scenario.Fault) -> None:
    """A runner in a process of its own raises the fault and is killed with it up."""
    runner = subprocess.Popen([sys.executable, "-m", __name__, fault.name], stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    told = runner.stdout.readline()
    runner.kill()
    runner.communicate()
    assert told == "up\n", f"the runner of {fault.name} ended before its fault was up"


def hold(name: str) -> None:
    """What such a runner does."""
    fault = next(one for one in (FULL, SMALL, PAUSED["all"], FLUSHED) if one.name == name)
    run = f"held-{os.getpid()}"
    opened = kube.Kube(register.kubeconfig(conftest.BENCH))
    raised(tenure.Tenure(opened, "space", run, life.Lock(run), lambda *_a, **_k: None), fault)
    print("up", flush=True)  # noqa: T201
    signal.pause()


def replaced(cluster: kube.Kube, ref: objects.Ref) -> None:
    """Deletes the one pod of a workload and waits for the next."""
    thing = cluster.read(ref)
    labels = ",".join(f"{k}={v}" for k, v in thing["spec"]["selector"]["matchLabels"].items())
    before = {pod["metadata"]["uid"]: pod for pod in cluster.listed("v1", "Pod", ref.namespace, labels)}
    for pod in before.values():
        cluster.delete(objects.ref_of(pod))

    def look() -> wait.State:
        pods = cluster.listed("v1", "Pod", ref.namespace, labels)
        conditions = [
            {c["type"]: c["status"] for c in objects.dig(pod, "status", "conditions") or ()}.get("Ready")
            for pod in pods
            if pod["metadata"]["uid"] not in before
        ]
        done = conditions == ["True"] and len(pods) == 1
        return wait.State(done, f"{len(pods)} pods, ready: {conditions}")

    wait.until(cluster, f"the next pod of {ref}", look, watching=[("v1", "Pod", ref.namespace)], timeout_s=120)


if __name__ == "__main__":
    hold(sys.argv[1])
