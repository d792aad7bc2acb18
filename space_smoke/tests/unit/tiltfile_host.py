"""Runs a Tiltfile under a Starlark engine, and makes resources of its calls by Tilt's rules. Needs neither Tilt nor a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import starlark

from space_smoke.charts import render
from space_smoke.tests.unit import tiltfile_arguments as arguments
from space_smoke.tests.unit import tiltfile_builtins as builtins

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod")
_PRELUDE = """
os = struct(path = struct(exists = os_path_exists))
TRIGGER_MODE_AUTO = "auto"
TRIGGER_MODE_MANUAL = "manual"
"""


@dataclass(frozen=True)
class Resource:
    """What Tilt shows as one thing: its objects, and the names of the resources it waits for."""

    name: str
    objects: tuple[builtins.Entity, ...]
    deps: tuple[str, ...]
    given: dict[str, Any]


@dataclass(frozen=True)
class Loaded:
    """A Tiltfile that Tilt would have taken."""

    calls: builtins.Calls
    resources: dict[str, Resource]

    def before(self, name: str) -> set[str]:
        """All resources that come before `name`, over any number of steps."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = set(self.resources[waiting.pop()].deps) - found
            found |= new
            waiting += new
        return found


def load(
    tiltfile: str,
    root: Path,
    helm: render.Renderer,
    *,
    context: str = "kind-space-smoke",
    present: frozenset[str] = frozenset({".venv/bin/python"}),
) -> Loaded:
    """Runs the text of a Tiltfile that stands in `root`. Raises starlark.StarlarkError, or Refused by Tilt's rules."""
    made = builtins.Builtins(root, helm, context, present)
    module = starlark.Module()
    for name, function in made.table().items():
        module.add_callable(name, function)
    # Tilt's dialect: statements at the top level are allowed, f-strings are not.
    dialect = starlark.Dialect.standard()
    dialect.enable_top_level_stmt = True
    dialect.enable_f_strings = False
    known = starlark.Globals.extended_by([starlark.LibraryExtension.StructType])
    starlark.eval(module, starlark.parse("prelude", _PRELUDE, dialect), known)
    starlark.eval(module, starlark.parse("Tiltfile", tiltfile, dialect), known)
    return Loaded(made.calls, _assembled(made.calls))


def _assembled(calls: builtins.Calls) -> dict[str, Resource]:
    """Workloads first, each with the Services that select its pods; then what k8s_resource names; then local ones."""
    left = list(calls.entities)
    holding: dict[str, list[builtins.Entity]] = {}
    for thing in calls.entities:
        if thing["kind"] in _WORKLOADS:
            if thing["metadata"]["name"] in holding:
                raise arguments.Refused(f"two workloads are called {thing['metadata']['name']}")
            holding[thing["metadata"]["name"]] = [thing]
            left.remove(thing)
    for workload in [things[0] for things in holding.values()]:
        for service in [thing for thing in left if _selects(thing, workload)]:
            holding[workload["metadata"]["name"]].append(service)
            left.remove(service)
    given = {one["name"]: one for one in calls.k8s_resource}
    if len(given) != len(calls.k8s_resource):
        raise arguments.Refused("k8s_resource was called twice for one resource")
    for one in calls.k8s_resource:
        if one["workload"] and one["workload"] not in holding:
            raise arguments.Refused(f"k8s_resource of an unknown workload {one['workload']}")
        holding.setdefault(one["name"], []).extend(_taken(left, calls.entities, one["objects"]))
    if left:
        raise arguments.Refused(f"in no resource: {[builtins.identity(thing) for thing in left]}")
    found = {
        name: Resource(name, tuple(things), tuple(given[name]["deps"]), given[name]) for name, things in holding.items()
    }
    for one in calls.local_resource:
        if one["name"] in found:
            raise arguments.Refused(f"two resources are called {one['name']}")
        found[one["name"]] = Resource(one["name"], (), tuple(one["deps"]), one)
    _no_loose_ends(found)
    return found


def _taken(left: list[builtins.Entity], everything: list[builtins.Entity], named: list[str]) -> list[builtins.Entity]:
    """The objects that selectors name; each must name one, which no resource has yet."""
    chosen = []
    for selector in named:
        fits = [one for one in everything if f"{builtins.identity(one)}:".startswith(f"{selector}:")]
        if len(fits) != 1 or fits[0] not in left:
            raise arguments.Refused(f"{selector!r} names {len(fits)} objects, or one that is in a resource already")
        left.remove(fits[0])
        chosen.append(fits[0])
    return chosen


def _selects(thing: builtins.Entity, workload: builtins.Entity) -> bool:
    spec = workload["spec"]
    template = spec["jobTemplate"]["spec"]["template"] if workload["kind"] == "CronJob" else spec.get("template", {})
    labels = template.get("metadata", {}).get("labels", {})
    selector = thing.get("spec", {}).get("selector") or {}
    same = thing["metadata"].get("namespace") == workload["metadata"].get("namespace")
    return bool(thing["kind"] == "Service" and same and selector and selector.items() <= labels.items())


def _no_loose_ends(found: dict[str, Resource]) -> None:
    """Every dependency exists, and none is its own."""
    done: set[str] = set()
    for resource in found.values():
        for name in resource.deps:
            if name not in found:
                raise arguments.Refused(f"{resource.name} waits for {name}, which does not exist")
    while len(done) < len(found):
        ready = {name for name, one in found.items() if name not in done and done >= set(one.deps)}
        if not ready:
            raise arguments.Refused(f"{sorted(set(found) - done)} wait for one another")
        done |= ready
