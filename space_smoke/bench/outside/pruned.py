"""crd-prune's probe, and why it must not be raised: what the API server says of a field, and which objects would lose it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.bench import kube, wait
from space_smoke.bench.outside import place
from space_smoke.model import kinds, objects

_NAME = "space-smoke-probe"
_SPACE = "default"  # the one namespace that every cluster has; nothing is stored there
# Kubernetes says so from 1.25 on, before it validates or admits anything; 201 and 422 come after that.
_UNKNOWN = "unknown field"
_PAST = (201, 422)


class Pruned:
    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def refuse(self, ref: objects.Ref, field: place.Field) -> None:
        """Raises Unfit where an object has the field: it would lose it for good, and no record knows it."""
        thing = self._cluster.read(ref)
        status, answer = self._cluster.send("GET", _collection(thing, field["version"]))
        if status != 200:
            raise kinds.Unfit(
                f"crd-prune: the objects of {ref} cannot be listed: {status} {answer.get('message', '')[:200]}"
            )
        way = str(field["way"]).split(".")
        having = sorted(str(one["metadata"]["name"]) for one in answer.get("items") or () if has(one, way))
        if having:
            raise kinds.Unfit(
                f"crd-prune: {', '.join(having)} would lose {field['way']} for good: take it out of there first, or prune "
                "a field that none has"
            )

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """By a dry run with strict fields: the API server names each field that it would drop."""
        thing = self._cluster.read(ref)
        path = f"{_collection(thing, field['version'], _SPACE)}?dryRun=All&fieldValidation=Strict"
        status, answer = self._cluster.send("POST", path, body=_with(thing, field))
        said = str(answer.get("message", ""))
        if status == 400 and f'{_UNKNOWN} "{_dotted(field)}"' in said:
            return wait.State("absent" in expect, f"{field['way']} is dropped", thing=thing)
        if status in _PAST and _UNKNOWN not in said:
            return wait.State("schema" in expect, f"{field['way']} is taken", thing=thing)
        return wait.State(False, f"whether {field['way']} is taken cannot be told: {status} {said[:200]}")

    def watching(self, ref: objects.Ref) -> place.Watched:
        return ((ref.api_version, ref.kind, ""),)


def has(thing: Any, way: Sequence[str]) -> bool:
    """Whether an object has a field, in any entry of the lists on the way to it."""
    if isinstance(thing, list):
        return any(has(entry, way) for entry in thing)
    if not way:
        return True
    return isinstance(thing, Mapping) and way[0] in thing and has(thing[way[0]], way[1:])


def _collection(crd: objects.Object, version: str, namespace: str = "") -> str:
    spec = crd["spec"]
    where = f"/namespaces/{namespace}" if namespace and spec["scope"] == "Namespaced" else ""
    return f"/apis/{spec['group']}/{version}{where}/{spec['names']['plural']}"


def _with(crd: objects.Object, field: place.Field) -> dict[str, Any]:
    """An object with nothing but that field: what it lacks is found only after its fields were looked at."""
    body: Any = {}
    for name, listed in reversed(_steps(field)):
        body = {name: [body] if listed else body}
    spec = crd["spec"]
    meta = {"name": _NAME, **({"namespace": _SPACE} if spec["scope"] == "Namespaced" else {})}
    return {
        "apiVersion": f"{spec['group']}/{field['version']}",
        "kind": spec["names"]["kind"],
        "metadata": meta,
        **body,
    }


def _dotted(field: place.Field) -> str:
    """As the API server writes the way to that field."""
    return ".".join(name + "[0]" * listed for name, listed in _steps(field))


def _steps(field: place.Field) -> list[tuple[str, bool]]:
    """(field, whether it is a list) for each on the way, from the keys of the schema that the last one is in."""
    steps: list[tuple[str, bool]] = []
    keys = list(field["parent"])[2:]
    while keys:
        word = keys.pop(0)
        if word == "items":
            steps[-1] = (steps[-1][0], True)
        else:
            steps.append((keys.pop(0), False))
    return [*steps, (field["name"], False)]
