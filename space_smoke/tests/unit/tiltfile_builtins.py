"""What a Tiltfile may call, with Tilt's own names, parameters and rules; each call is written down and nothing is done.

The parameters are those of Tilt's API reference: one that Tilt does not have, or a value of another type, is refused
here as there, so that a typing mistake in the Tiltfile is found without Tilt. What the Tiltfile does not use is left out,
and calling it fails. Called by tiltfile_host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import starlark
import yaml

from space_smoke.charts import render
from space_smoke.tests.unit import tiltfile_arguments

Strings = str | list[str]
Entity = dict[str, Any]
_NONE: Any = ()  # nothing given; as a default it is not checked


@dataclass(frozen=True)
class Blob:
    """Content, where a bare string would be taken for a path."""

    text: str


@dataclass(frozen=True)
class Step:
    """A step of a live update, or a port-forward, or a link: the function's name and its arguments."""

    name: str
    given: dict[str, Any]


@dataclass
class Calls:
    """What the Tiltfile asked for, in order; each record holds the arguments by name."""

    helm: list[dict[str, Any]] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    k8s_resource: list[dict[str, Any]] = field(default_factory=list)
    local_resource: list[dict[str, Any]] = field(default_factory=list)
    custom_build: list[dict[str, Any]] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    watched: list[str] = field(default_factory=list)


class Builtins:
    """`root` is the Tiltfile's folder; `present` are paths that exist whatever the disk says."""

    def __init__(self, root: Path, helm: render.Renderer, context: str, present: frozenset[str]) -> None:
        self._root, self._helm, self._context, self._present = root, helm, context, present
        self.calls = Calls()

    def table(self) -> dict[str, Callable[..., Any]]:
        """Every function by its Starlark name; `os.path.exists` is spelt os_path_exists."""
        names = [name for name in vars(Builtins) if not name.startswith("_") and name != "table"]
        return {name: tiltfile_arguments.checked(getattr(self, name)) for name in names}

    # Settings of Tilt itself

    def version_settings(self, check_updates: bool = True, constraint: str = "") -> None:
        pass

    def analytics_settings(self, enable: bool) -> None:
        pass

    def fail(self, msg: str) -> None:
        raise tiltfile_arguments.Refused(msg)

    def warn(self, msg: str) -> None:
        self.calls.warnings.append(msg)

    def k8s_context(self) -> str:
        return self._context

    def allow_k8s_contexts(self, contexts: Strings) -> None:
        self.calls.allowed += [contexts] if isinstance(contexts, str) else contexts

    # Files and encodings

    def os_path_exists(self, path: str) -> bool:
        return path in self._present or (self._root / path).exists()

    def watch_file(self, file_path: str) -> None:
        self.calls.watched.append(file_path)

    def listdir(self, directory: str, recursive: bool = False) -> list[str]:
        found = (self._root / directory).rglob("*") if recursive else (self._root / directory).iterdir()
        return sorted(str(path.absolute()) for path in found if path.is_file())

    def read_yaml(self, path: str, default: dict[str, Any] | list[Any] | None = None) -> Any:
        file = self._root / path
        if not file.exists() and default is not None:
            return default
        return _read(yaml.safe_load(file.read_text()))

    def decode_yaml_stream(self, yaml: str | Blob) -> list[Any]:
        return [_read(one) for one in _documents(yaml.text if isinstance(yaml, Blob) else yaml)]

    def encode_yaml(self, obj: dict[str, Any] | list[Any]) -> Any:
        return starlark.OpaquePythonObject(Blob(yaml.safe_dump(obj)))

    # Kubernetes

    def helm(
        self,
        pathToChartDir: str,
        name: str = "",
        namespace: str = "",
        values: Strings = _NONE,
        set: Strings = _NONE,
        kube_version: str = "",
        skip_crds: bool = False,
    ) -> Any:
        files = [values] if isinstance(values, str) else values
        sets = [set] if isinstance(set, str) else set
        self.calls.helm.append(
            {"chart": pathToChartDir, "release": name, "namespace": namespace, "values": files, "set": sets}
            | {"kube_version": kube_version}
        )
        paths = tuple(self._root / path for path in files)
        case = render.Case(self._root / pathToChartDir, name, namespace, paths, tiltfile_arguments.overrides(sets))
        # Tilt drops what stands in a folder of tests, and gives a namespace to what has none.
        kept = [dict(item.body) for item in self._helm.render(case).objects if "tests/" not in item.source]
        kept = [thing for thing in kept if not (skip_crds and thing["kind"] == "CustomResourceDefinition")]
        for thing in kept:
            thing["metadata"] = {**thing["metadata"], "namespace": thing["metadata"].get("namespace", namespace)}
        return starlark.OpaquePythonObject(Blob(yaml.safe_dump_all(kept)))

    def filter_yaml(
        self,
        yaml: Strings | Blob,
        labels: dict[str, str] | None = None,
        name: str | None = None,
        namespace: str | None = None,
        kind: str | None = None,
        api_version: str | None = None,
    ) -> Any:
        if not isinstance(yaml, Blob) or any((labels, namespace, api_version)):
            raise NotImplementedError("the host knows filter_yaml(blob, name=, kind=) only")
        chosen: list[Entity] = []
        rest: list[Entity] = []
        for thing in _documents(yaml.text):
            fits = all(
                pattern is None or re.search(pattern, value, re.IGNORECASE)
                for pattern, value in ((name, thing["metadata"]["name"]), (kind, thing["kind"]))
            )
            (chosen if fits else rest).append(thing)
        return [starlark.OpaquePythonObject(Blob(_dump(part))) for part in (chosen, rest)]

    def k8s_yaml(self, yaml: Strings | Blob, allow_duplicates: bool = False) -> None:
        if not isinstance(yaml, Blob):
            raise tiltfile_arguments.Refused(f"k8s_yaml was given the path {yaml!r} and not a Blob")
        for thing in _documents(yaml.text):
            if not allow_duplicates and identity(thing) in map(identity, self.calls.entities):
                raise tiltfile_arguments.Refused(f"{identity(thing)} is registered twice")
            self.calls.entities.append(thing)

    def k8s_resource(
        self,
        workload: str = "",
        new_name: str = "",
        port_forwards: str | int | Step | list[Step] = _NONE,
        extra_pod_selectors: dict[str, str] | list[dict[str, str]] = _NONE,
        trigger_mode: str = "auto",
        resource_deps: list[str] = _NONE,
        objects: list[str] = _NONE,
        auto_init: bool = True,
        pod_readiness: str = "",
        links: str | Step | list[Step] = _NONE,
        labels: Strings = _NONE,
        discovery_strategy: str = "",
    ) -> None:
        tiltfile_arguments.check_labels(labels)
        if not workload and not (new_name and objects):
            raise tiltfile_arguments.Refused("k8s_resource needs a workload, or new_name and objects")
        given = {"workload": workload, "name": new_name or workload, "objects": objects, "deps": resource_deps}
        shown = {"forwards": port_forwards, "links": links, "labels": labels, "mode": trigger_mode, "auto": auto_init}
        self.calls.k8s_resource.append(given | shown)

    def port_forward(
        self,
        local_port: int,
        container_port: int | None = None,
        name: str | None = None,
        link_path: str | None = None,
        host: str | None = None,
    ) -> Any:
        return starlark.OpaquePythonObject(Step("port_forward", {"local": local_port, "container": container_port}))

    def link(self, url: str, name: str | None) -> Any:
        return starlark.OpaquePythonObject(Step("link", {"url": url, "name": name}))

    # Local commands and images

    def local_resource(
        self,
        name: str,
        cmd: Strings,
        deps: Strings | None = None,
        trigger_mode: str = "auto",
        resource_deps: list[str] = _NONE,
        ignore: Strings = _NONE,
        auto_init: bool = True,
        serve_cmd: Strings = "",
        cmd_bat: Strings = "",
        serve_cmd_bat: Strings = "",
        allow_parallel: bool = False,
        links: str | Step | list[Step] = _NONE,
        labels: Strings = _NONE,
        env: dict[str, str] = _NONE,
        serve_env: dict[str, str] = _NONE,
        readiness_probe: None = None,
        dir: str = "",
        serve_dir: str = "",
    ) -> None:
        tiltfile_arguments.check_labels(labels)
        given = {"name": name, "cmd": cmd, "deps": resource_deps, "labels": labels}
        self.calls.local_resource.append(given | {"mode": trigger_mode, "auto": auto_init})

    def custom_build(
        self,
        ref: str,
        command: Strings,
        deps: list[str],
        tag: str = "",
        disable_push: bool = False,
        skips_local_docker: bool = False,
        live_update: list[Step] = _NONE,
        match_in_env_vars: bool = False,
        ignore: Strings = _NONE,
        entrypoint: Strings = _NONE,
        command_bat_val: str = "",
        outputs_image_ref_to: str = "",
        command_bat: Strings = "",
        image_deps: list[str] = _NONE,
        env: dict[str, str] = _NONE,
        dir: str = "",
    ) -> None:
        if tag and outputs_image_ref_to:
            raise tiltfile_arguments.Refused("custom_build takes tag or outputs_image_ref_to, not both")
        order = [("fall_back_on", "sync", "run").index(step.name) for step in live_update]
        if order != sorted(order):
            raise tiltfile_arguments.Refused("a live update is fall_back_on, then sync, then run")
        for step in live_update:
            for path in step.given["paths"]:
                if not any(Path(path).is_relative_to(one) for one in deps):
                    raise tiltfile_arguments.Refused(f"{step.name} of {path}, which is under none of {deps}")
                if not (self._root / path).exists():
                    raise tiltfile_arguments.Refused(f"{step.name} of {path}, which does not exist")
        given = {"ref": ref, "command": command, "deps": deps, "live": live_update, "env_vars": match_in_env_vars}
        self.calls.custom_build.append(given | {"reference_to": outputs_image_ref_to, "push": not disable_push})

    def fall_back_on(self, files: Strings) -> Any:
        return starlark.OpaquePythonObject(
            Step("fall_back_on", {"paths": [files] if isinstance(files, str) else files})
        )

    def sync(self, local_path: str, remote_path: str) -> Any:
        if not os.path.isabs(remote_path):  # noqa: PTH117 (a path of another machine)
            raise tiltfile_arguments.Refused(f"sync to {remote_path}, which is not absolute")
        return starlark.OpaquePythonObject(Step("sync", {"paths": [local_path], "to": remote_path}))


def _read(value: Any) -> Any:
    """As Tilt reads YAML, by way of JSON: keys are strings in no order, and every number is a float."""
    if isinstance(value, dict):
        return {str(key): _read(value[key]) for key in sorted(value, key=str, reverse=True)}
    if isinstance(value, list):
        return [_read(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _documents(text: str) -> list[Entity]:
    return [dict(item.body) for item in render.parse(text)]


def _dump(things: list[Entity]) -> str:
    return yaml.safe_dump_all(things)


def identity(thing: Entity) -> str:
    metadata = thing["metadata"]
    return f"{metadata['name']}:{thing['kind'].lower()}:{metadata.get('namespace', 'default')}"
