"""What a render holds, as the judges ask for it: pods, containers, their environment, hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.charts import render


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that an object is or makes. `standing`: it stays up, unlike those of Jobs and hooks."""

    owner: render.Object
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    standing: bool

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]


def pods(rendered: render.Rendered) -> Iterator[Pod]:
    for item in rendered.objects:
        if item.kind in ("Deployment", "StatefulSet", "Job"):
            template = item.body["spec"]["template"]
            metadata, spec = template["metadata"], template["spec"]
        elif item.kind == "Pod":
            metadata, spec = item.body["metadata"], item.body["spec"]
        else:
            continue
        standing = item.kind in ("Deployment", "StatefulSet")
        yield Pod(item, metadata.get("labels", {}), metadata.get("annotations", {}), spec, standing)


def containers(rendered: render.Rendered) -> Iterator[tuple[Pod, Mapping[str, Any], str]]:
    for pod in pods(rendered):
        for container in pod.containers:
            yield pod, container, f"{pod.owner} container {container['name']}"


def hooks(item: render.Object) -> list[str]:
    value = item.body["metadata"].get("annotations", {}).get("helm.sh/hook", "")
    return [name for name in value.split(",") if name]


def container(rendered: render.Rendered, kind: str, name: str) -> Mapping[str, Any]:
    """The first container of the pods of one workload."""
    found: Mapping[str, Any] = rendered.one(kind, name)["spec"]["template"]["spec"]["containers"][0]
    return found


def environment(of: Mapping[str, Any]) -> dict[str, Any]:
    """A container's variables by name: the value, or where it comes from."""
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in of.get("env", [])}


def finds_others(item: render.Object) -> bool:
    """Whether a Service is there to find the pods of other charts."""
    return bool(item.body["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "discovery")


def unless(condition: bool, sentence: str) -> Iterator[str]:
    """The sentence, when the condition does not hold."""
    if not condition:
        yield sentence
