"""kill-container's place: which container, its script against real processes, and what counts as done."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from space_smoke.bench import engine, kube, proc
from space_smoke.bench.outside import killing, node_script, place
from space_smoke.faults import kill_container
from space_smoke.model import kinds, objects

SITE = objects.Ref("apps/v1", "StatefulSet", "grid-a", "grid-a")
ID = "4f2c" * 16


class Node:
    """The node's side: the script with stand-ins for the look into control groups, over processes that really run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processes = folder, list[subprocess.Popen[bytes]]()
        grep = folder / "grep"
        grep.write_text(
            f"""#!/bin/sh
[ "$3" = {ID} ] || exit 1
for pid in $(cat {folder}/members); do
  if kill -0 "$pid" 2>/dev/null && ! /bin/grep -q '^State:.Z' /proc/$pid/status; then echo /proc/$pid/cgroup; fi
done
"""
        )
        grep.chmod(0o755)

    def member(self, script: str = "trap '' TERM INT; while :; do sleep 100; done") -> subprocess.Popen[bytes]:
        self.processes.append(subprocess.Popen(["sh", "-c", script], start_new_session=True))
        (self.folder / "members").write_text("\n".join(str(one.pid) for one in self.processes))
        return self.processes[-1]

    def ask(self, verb: str, fence: int = 0, before: str = "", after: str = "") -> str:
        fixed = [verb, str(self.folder / "fences" / "fence.d"), str(fence), "5", before, after, ID]
        path = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["sh", "-c", node_script.KILL, "sh", *fixed], capture_output=True, text=True, env=path, check=False
        )
        return done.stdout.strip() or f"no answer: {done.stderr.strip()}"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    for process in made.processes:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()


def test_all_of_a_container_is_killed_though_it_ignores_every_other_signal(node: Node) -> None:
    first, second = node.member(), node.member()
    assert node.ask("claim", 3) == "value runs"
    assert node.ask("alter", 3, "runs", "gone") == "value gone"
    assert [first.wait(10), second.wait(10)] == [-signal.SIGKILL] * 2
    assert node.ask("look") == "value gone"


def test_nothing_is_killed_without_the_very_fence_that_was_claimed_there(node: Node) -> None:
    only = node.member()
    assert node.ask("alter", 3, "runs", "gone") == "fence 0"
    assert node.ask("claim", 3) == "value runs"
    assert node.ask("claim", 5) == "value runs"
    assert node.ask("alter", 3, "runs", "gone") == "fence 5"
    assert node.ask("claim", 4) == "fence 5"
    assert node.ask("alter", 5, "gone", "runs") == "other runs"
    assert only.poll() is None


def test_what_is_dead_is_never_brought_back_nor_killed_twice(node: Node) -> None:
    node.member("exit 0").wait()
    assert node.ask("claim", 1) == "value gone"
    assert node.ask("alter", 1, "runs", "gone") == "other gone"
    assert node.ask("alter", 1, "gone", "runs").startswith("no answer: no way")


def pod(name: str, created: str, **meta: Any) -> dict[str, Any]:
    status = {
        "containerStatuses": [
            {"name": "side", "containerID": "containerd://beef", "state": {"running": {}}},
            {"name": "operator", "containerID": f"containerd://{name}-{ID}", "state": {"running": {}}},
        ]
    }
    meta = {"name": name, "uid": f"uid-{name}", "creationTimestamp": f"2026-01-01T00:00:{created}Z", **meta}
    return {"metadata": meta, "spec": {"nodeName": "n1"}, "status": status}


class Cluster:
    def __init__(self, *pods: dict[str, Any]) -> None:
        self.pods = list(pods)

    def read(self, ref: objects.Ref) -> dict[str, Any]:
        if ref.kind == "Node":
            return {"status": {"nodeInfo": {"machineID": "m1"}}}
        meta = {"namespace": ref.namespace, "name": ref.name, "generation": 1}
        return {"kind": ref.kind, "metadata": meta, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}}

    def listed(self, _api: str, kind: str, namespace: str, _selector: str = "") -> list[dict[str, Any]]:
        assert (kind, namespace) == ("Pod", "grid-a")
        return self.pods


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The engine: node n1 is container box; scripts there answer that the container is gone."""
    asked: list[list[str]] = []

    def said(*argv: str, **_more: Any) -> proc.Done:
        asked.append(list(argv))
        return proc.Done("m1\n" if "cat" in argv else "value gone\n", "", 0, 0.0)

    monkeypatch.setattr(engine, "docker", said)
    monkeypatch.setattr(engine, "inspect", lambda names: [{"Id": "box", "State": {"Status": "running"}} for _ in names])
    return asked


FIELD = {"which": "oldest", "container": "operator"}


def there(*pods: dict[str, Any]) -> killing.Killing:
    return killing.Killing(cast(kube.Kube, Cluster(*pods)))


def test_the_very_container_of_the_chosen_pod_is_told_by_its_id(docker: list[list[str]]) -> None:
    pods = [pod("new", "30"), pod("old", "10"), pod("leaving", "05", deletionTimestamp="now")]
    field, value = there(*pods).sense(SITE, FIELD)
    assert field == {**FIELD, "pod": "old", "target": f"old-{ID}", "id": "box"}
    assert value == {"done": True}
    assert there(*pods).sense(SITE, {**FIELD, "which": "newest"})[0]["pod"] == "new"
    assert there().sense(SITE, field)[0] == field  # it was chosen once: its successor is another


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ([], "has no pod"),
        ([pod("leaving", "05", deletionTimestamp="now")], "has no pod"),
        ([{**pod("old", "10"), "status": {}}], "container operator of pod old does not run"),
    ],
)
def test_where_no_such_container_runs_it_is_refused(docker: list[list[str]], pods: Any, words: str) -> None:
    with pytest.raises(place.Refusal, match=words) as refusal:
        there(*pods).sense(SITE, FIELD)
    assert refusal.value.status == 422


def test_it_is_up_once_nothing_of_that_container_runs(docker: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    field = {**FIELD, "pod": "old", "target": ID, "id": "box"}
    assert there().settled(SITE, field, {"done": True}).done
    monkeypatch.setattr(engine, "docker", lambda *_a, **_k: proc.Done("value runs\n", "", 0, 0.0))
    assert not there().settled(SITE, field, {"done": True}).done


def test_putting_back_waits_for_the_workload_and_asks_nothing_of_the_node(docker: list[list[str]]) -> None:
    field = {**FIELD, "pod": "old", "target": ID, "id": "box"}
    assert not there(pod("old", "10")).settled(SITE, field, {"done": False}).done
    assert docker == []


def target(*names: str) -> dict[str, Any]:
    containers = [{"name": name} for name in names]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "grid-a"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def test_a_container_is_named_where_there_are_several() -> None:
    assert kill_container.address({}, target("operator")) == FIELD
    assert kill_container.address({"container": "side", "which": "newest"}, target("operator", "side")) == {
        "which": "newest",
        "container": "side",
    }
    with pytest.raises(kinds.Unfit, match="say which one"):
        kill_container.address({}, target("operator", "side"))
    with pytest.raises(kinds.Unfit, match="has no container 'other'"):
        kill_container.address({"container": "other"}, target("operator"))
