"""kill-container: SIGKILL from inside the node, to all processes that are in one container's control groups.

From inside the container the first process could not be killed: the kernel keeps it from signals of its own pid namespace. The
fence is a file in the node, the same as that of the network rules. The container is known by its id, which no successor has.
"""

from __future__ import annotations

from space_smoke.bench import kube, wait
from space_smoke.bench.outside import node_script, nodes, place, scripted, workload
from space_smoke.model import kinds, objects

_WORDS = {"gone": {"done": True}, "runs": {"done": False}}


class Killing(scripted.Scripted):
    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        if "id" not in field:
            field = self._chosen(ref, field)
        return field, self._looked(field)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """Up: nothing of that container runs. Put back: the workload has all its pods again."""
        if expect == _WORDS["gone"]:
            value = self._looked(field)
            words = f"container {field['container']} of {field['pod']}: {self._word(value)}"
            return wait.State(value == expect, words, thing={**self._cluster.read(ref), kinds.OUTSIDE: value})
        state = wait.workload_state(self._cluster, ref)
        if state.thing is None:
            return state
        return wait.State(state.done, state.words, state.hopeless, {**state.thing, kinds.OUTSIDE: expect})

    def watching(self, ref: objects.Ref) -> place.Watched:
        return wait.watching(ref)

    def _chosen(self, ref: objects.Ref, field: place.Field) -> place.Field:
        """The field with the pod, the id of its container, and the container that its node is. Raises Refusal(422)."""
        there = [pod for pod in workload.pods(self._cluster, self._cluster.read(ref)) if not pod.terminating]
        if not there:
            raise place.Refusal(422, f"{ref} has no pod whose container could be killed")
        pod = there[0] if field["which"] == "oldest" else there[-1]
        statuses = {one["name"]: one for one in objects.dig(pod.thing, "status", "containerStatuses") or ()}
        status = statuses.get(field["container"], {})
        target = str(status.get("containerID", "")).rpartition("//")[2]
        if not target or "running" not in (status.get("state") or {}):
            raise place.Refusal(422, f"container {field['container']} of pod {pod.name} does not run")
        seen = nodes.running(self._cluster, objects.Ref("v1", "Node", "", pod.node), pod.node)  # Kind's name for both
        return {**field, "pod": pod.name, "target": target, "id": seen["Id"]}

    def _asked(
        self, verb: str, field: place.Field, domain: str, fence: int, before: str, after: str, timeout_s: float
    ) -> objects.Json:
        more = [field["target"]]
        word = scripted.in_node(node_script.KILL, field, verb, domain, fence, before, after, more, timeout_s)
        return _WORDS.get(word, {"done": word})

    def _word(self, value: objects.Json) -> str:
        return next((word for word, known in _WORDS.items() if known == value), "unknown")
