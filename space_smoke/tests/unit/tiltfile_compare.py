"""Compares what a Tiltfile registers with what `up` installs: releases, values, order, and every object."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, images, releases, tools
from space_smoke.charts import render
from space_smoke.tests.unit import tiltfile_arguments, tiltfile_builtins, tiltfile_host

TAG = "tilt"
Stages = Sequence[Sequence[releases.Planned]]


def renderer() -> render.Renderer:
    """The Helm of the bench, found or made as `up` does, for the bench's version of Kubernetes."""
    kept = cache.folder() / "binaries" / tools.versions().pins["helm"].key / "helm"
    try:
        helm = render.locate("helm", os.environ, kept)
    except errors.HostUnfit:
        helm = tools.obtain("helm", lambda *_arguments, **_more: None)
    return render.Renderer(helm, kube_version=tools.versions().kubernetes, memory=cache.folder() / "renders")


def differences(loaded: tiltfile_host.Loaded, root: Path, stages: Stages, helm: render.Renderer) -> list[str]:
    """What differs, in sentences; empty when Tilt brings up what `up` brings up. `root` is the Tiltfile's folder."""
    return [*_releases(loaded, root, stages), *_objects(loaded, stages, helm), *_order(loaded, stages, helm)]


def _built() -> dict[str, images.Image]:
    """The images of `up` under the tag that Tilt replaces: which one it is depends on their bytes, not on who asks."""
    return {target: images.Image(f"space-smoke/{target}", TAG, "") for target in images.EVERY}


def _releases(loaded: tiltfile_host.Loaded, root: Path, stages: Stages) -> Iterator[str]:
    wanted = [planned for stage in stages for planned in stage]
    calls = loaded.calls.helm
    names = [planned.release for planned in wanted]
    if [call["release"] for call in calls] != names:
        yield f"Tilt renders {[call['release'] for call in calls]} and up installs {names}"
    for planned in wanted:
        for call in calls:
            if call["release"] == planned.release:
                yield from _release(call, root, planned)


def _release(call: dict[str, Any], root: Path, planned: releases.Planned) -> Iterator[str]:
    pairs = {
        "chart": (root / call["chart"], planned.chart),
        "namespace": (call["namespace"], planned.namespace),
        "version of Kubernetes": (call["kube_version"], tools.versions().kubernetes),
        "values": ([root / path for path in call["values"]], list(planned.values)),
        "sets": (sorted(call["set"]), sorted(f"{key}={value}" for key, value in planned.sets(_built()).items())),
    }
    for what, (tilts, ups) in pairs.items():
        if tilts != ups:
            yield f"{planned.release}: {what} is {tilts} for Tilt and {ups} for up"


def installed(planned: releases.Planned, helm: render.Renderer) -> dict[str, render.Object]:
    """The objects of a first installation by identity; tests and hooks of upgrades and removal are not among them."""
    overrides = tiltfile_arguments.nested(planned.sets(_built()))
    case = render.Case(planned.chart, planned.release, planned.namespace, planned.values, overrides)
    return {
        tiltfile_builtins.identity(_placed(item, planned.namespace)): item
        for item in helm.render(case).objects
        if not _hooks(item) or _hooks(item) & {"pre-install", "post-install"}
    }


def _made(stages: Stages, helm: render.Renderer) -> dict[str, dict[str, render.Object]]:
    """What is installed by each release; definitions that several of them have are made with the first one."""
    found: dict[str, dict[str, render.Object]] = {}
    charts: set[Path] = set()
    for planned in (one for stage in stages for one in stage):
        objects = installed(planned, helm)
        if planned.chart in charts:
            objects = {name: item for name, item in objects.items() if item.kind != "CustomResourceDefinition"}
        found[planned.release] = objects
        charts.add(planned.chart)
    return found


def _placed(item: render.Object, namespace: str) -> dict[str, Any]:
    """An object with the namespace that Helm installs it into where it names none."""
    return {**item.body, "metadata": {"namespace": namespace, **item.body["metadata"]}}


def _hooks(item: render.Object) -> set[str]:
    named = (item.body["metadata"].get("annotations") or {}).get("helm.sh/hook", "")
    return {hook.strip() for hook in named.split(",")} - {""}


def _objects(loaded: tiltfile_host.Loaded, stages: Stages, helm: render.Renderer) -> Iterator[str]:
    made = _made(stages, helm)
    ups = {
        name: _placed(item, planned.namespace)
        for stage in stages
        for planned in stage
        for name, item in made[planned.release].items()
    }
    # `up` makes the releases' namespaces by itself.
    tilts = {
        tiltfile_builtins.identity(thing): thing for thing in loaded.calls.entities if thing["kind"] != "Namespace"
    }
    for name in sorted(ups.keys() | tilts.keys()):
        if name not in tilts or name not in ups:
            yield f"{name} is only {'in Tilt' if name in tilts else 'in up'}"
        elif tilts[name] != ups[name]:
            yield f"{name}: {_first_difference(tilts[name], ups[name])}"


def _first_difference(tilts: Any, ups: Any, path: str = "") -> str:
    if isinstance(tilts, dict) and isinstance(ups, dict):
        for key in [*ups, *tilts]:
            if tilts.get(key) != ups.get(key):
                return _first_difference(tilts.get(key), ups.get(key), f"{path}.{key}")
    if isinstance(tilts, list) and isinstance(ups, list) and len(tilts) == len(ups):
        for number, (one, other) in enumerate(zip(tilts, ups, strict=True)):
            if one != other:
                return _first_difference(one, other, f"{path}[{number}]")
    return f"{path} is {tilts!r} in Tilt and {ups!r} in up"


def _elsewhere(item: render.Object) -> bool:
    """Whether a Service finds the pods of other releases: Tilt makes it with them, whenever that is."""
    return bool(item.body["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "discovery")


def _order(loaded: tiltfile_host.Loaded, stages: Stages, helm: render.Renderer) -> Iterator[str]:
    """A release waits for every earlier stage and for its own hooks, and for nothing of its own stage."""
    holders = {
        tiltfile_builtins.identity(thing): name for name, one in loaded.resources.items() for thing in one.objects
    }
    earlier: set[str] = set()
    objects = _made(stages, helm)
    for stage in stages:
        made = [
            {name: item for name, item in objects[planned.release].items() if name in holders and not _elsewhere(item)}
            for planned in stage
        ]
        own = [{holders[name] for name in items} for items in made]
        for planned, items, names in zip(stage, made, own, strict=True):
            foreign = set().union(*own) - names
            hooks = {holders[name] for name, item in items.items() if "pre-install" in _hooks(item)}
            for name in sorted(names):
                awaited = loaded.before(name)
                if not awaited >= earlier:
                    yield f"{planned.release}: {name} does not wait for {sorted(earlier - awaited)}"
                if awaited & foreign:
                    yield f"{planned.release}: {name} waits for {sorted(awaited & foreign)} of its own stage"
                if name not in hooks and not awaited >= hooks:
                    yield f"{planned.release}: {name} does not wait for its hooks {sorted(hooks - awaited)}"
        earlier |= set().union(*own)
