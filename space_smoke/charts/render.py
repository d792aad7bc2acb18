"""Renders a chart with `helm template` and returns its objects, as the API server would read them.

A `Renderer` starts one helm per distinct case: cases that agree in the chart's files, the values, the names and the
versions of Helm and Kubernetes are rendered once; with a `memory` folder that holds from run to run. `render_all` uses
both cores. A refusal keeps everything that helm said. Helm's NOTES are not part of a render. Called by the chart checks and by the render tests; needs no cluster.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import yaml

from space_smoke import errors
from space_smoke.bench import cache, proc

_RENDER_S = 30.0
_helm = functools.partial(
    proc.run, env={"GOGC": "off"}
)  # collecting garbage is a sixth of a render, for some megabytes
_SOURCE = re.compile(r"^# Source: (?:[^/\n]+/)?(.+)$", re.MULTILINE)
_DOCUMENT = re.compile(r"^---[ \t]*$", re.MULTILINE)


class Finished(Protocol):
    """What a render needs to know of a finished process."""

    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...
    @property
    def returncode(self) -> int: ...


class Runner(Protocol):
    """`bench.proc.run`, or what stands for it in a test."""

    def __call__(self, argv: Sequence[str], *, timeout_s: float, check: bool, stdin: bytes | None) -> Finished: ...


@dataclass(frozen=True, slots=True)
class Case:
    """One render: `values` files in order, then `overrides`, which win. An override that is None removes the key."""

    chart: pathlib.Path
    release: str
    namespace: str = "default"
    values: tuple[pathlib.Path, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        named = [str(path) for path in self.values] + ([json.dumps(self.overrides)] if self.overrides else [])
        return f"{self.chart} with {', '.join(named) or 'its default values'}"


@dataclass(frozen=True, slots=True)
class Object:
    """One rendered object; `source` is its template's path inside the chart."""

    source: str
    body: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.body.get("kind", ""))

    @property
    def name(self) -> str:
        return str(self.body.get("metadata", {}).get("name", ""))

    def __str__(self) -> str:
        return f"{self.kind}/{self.name} ({self.source})"


@dataclass(frozen=True, slots=True)
class Rendered:
    """`text` and `warnings` are helm's stdout and stderr, unchanged."""

    case: Case
    objects: tuple[Object, ...]
    text: str
    warnings: str

    def one(self, kind: str, name: str) -> Mapping[str, Any]:
        """The body of the object with that kind and name; KeyError when there is none, or more than one."""
        found = [item.body for item in self.objects if (item.kind, item.name) == (kind, name)]
        if len(found) != 1:
            raise KeyError(f"{self.case} renders {len(found)} of {kind}/{name}, not one")
        return found[0]


def locate(
    name: str, environ: Mapping[str, str], kept: pathlib.Path, which: Callable[[str], str | None] = shutil.which
) -> pathlib.Path:
    """The program `name` (helm, helm4): from SPACE_SMOKE_<NAME>, else on PATH, else the file `kept`.

    Raises errors.HostUnfit when it is in none of them, or the variable names no file.
    """
    variable = f"SPACE_SMOKE_{name.upper()}"
    candidates = [environ[variable]] if environ.get(variable) else [which(name), str(kept)]
    for candidate in candidates:
        if candidate and pathlib.Path(candidate).is_file():
            return pathlib.Path(candidate)
    looked = f"{variable}={candidates[0]}" if environ.get(variable) else f"{variable}, PATH and {kept}"
    raise errors.HostUnfit(
        f"{name} was not found; looked at {looked}", next_step=f"scripts/bootstrap.sh, or set {variable}"
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What helm said to one case, as it is kept."""

    stdout: str
    stderr: str
    returncode: int


class Renderer:
    """Renders with one helm binary for one Kubernetes version. Safe to use from several threads."""

    def __init__(
        self,
        helm: pathlib.Path,
        *,
        kube_version: str,
        run: Runner = _helm,
        memory: pathlib.Path | None = None,
        workers: int = 2,
    ) -> None:
        self._helm = str(helm)
        self._kube_version = kube_version
        self._run = run
        self._workers = workers
        self._memory = memory
        self._done: dict[str, _Said] = {}
        self._parsed: dict[str, tuple[Object, ...]] = {}
        self.version = run(
            [self._helm, "version", "--short"], timeout_s=_RENDER_S, check=True, stdin=None
        ).stdout.strip()

    def render(self, case: Case, *, fresh: bool = False) -> Rendered:
        """Renders `case`, from memory when it was rendered before and not `fresh`.

        Raises errors.CommandFailed when helm refuses the chart or the values (`output` is all it said), and when what it
        rendered is not YAML, or holds a key twice.
        """
        return self._outcome(case, self.key(case), fresh=fresh)

    def _outcome(self, case: Case, key: str, *, fresh: bool = False) -> Rendered:
        done = None if fresh else self._recall(key)
        if done is None:
            stdin = json.dumps(case.overrides).encode() if case.overrides else None
            finished = self._run(self._argv(case), timeout_s=_RENDER_S, check=False, stdin=stdin)
            done = _Said(finished.stdout, finished.stderr, finished.returncode)
            self._keep(key, done)
        if done.returncode:
            raise self._failure(case, done.returncode, done.stderr, "helm refused")
        if fresh or key not in self._parsed:
            try:
                self._parsed[key] = parse(done.stdout)
            except yaml.YAMLError as cause:
                raise self._failure(case, 0, str(cause), "helm rendered what is no valid YAML from") from cause
        return Rendered(case, self._parsed[key], done.stdout, done.stderr)

    def render_all(self, cases: Iterable[Case]) -> list[Rendered | errors.CommandFailed]:
        """The outcome of each case, in order; a refusal is returned, not raised."""

        def outcome(key: str) -> Rendered | errors.CommandFailed:
            try:
                return self._outcome(distinct[key], key)
            except errors.CommandFailed as refused:
                return refused

        asked = list(cases)
        read = {chart: digest(chart) for chart in {case.chart for case in asked}}
        keys = [self.key(case, read[case.chart]) for case in asked]
        distinct = dict(zip(keys, asked, strict=True))
        with concurrent.futures.ThreadPoolExecutor(self._workers) as pool:
            outcomes = dict(zip(distinct, pool.map(outcome, distinct), strict=True))
        return [outcomes[key] for key in keys]

    def key(self, case: Case, chart_digest: str = "") -> str:
        """What the outcome depends on, as a digest; `chart_digest` is that of the chart, when the caller has it."""
        parts = [
            self.version,
            self._kube_version,
            case.release,
            case.namespace,
            chart_digest or digest(case.chart),
            json.dumps(case.overrides),
        ]
        parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in case.values]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _recall(self, key: str) -> _Said | None:
        if key not in self._done and self._memory is not None:
            with contextlib.suppress(OSError, ValueError, TypeError):  # not there, or of another version of this file
                self._done[key] = _Said(**json.loads((self._memory / f"{key}.json").read_text()))
        return self._done.get(key)

    def _keep(self, key: str, said: _Said) -> None:
        self._done[key] = said
        if self._memory is not None:
            cache.write_whole(self._memory / f"{key}.json", json.dumps(dataclasses.asdict(said)))

    def _argv(self, case: Case) -> list[str]:
        argv = [self._helm, "template", case.release, str(case.chart), "--namespace", case.namespace]
        argv += ["--include-crds", "--kube-version", self._kube_version]
        for path in case.values:
            argv += ["--values", str(path)]
        return [*argv, "--values", "-"] if case.overrides else argv

    def _failure(self, case: Case, returncode: int, output: str, what: str) -> errors.CommandFailed:
        argv = self._argv(case)
        pipe = f"echo {shlex.quote(json.dumps(case.overrides))} | " if case.overrides else ""
        return errors.CommandFailed(
            f"{what} {case}:\n{output.strip()}",
            argv=argv,
            returncode=returncode,
            output=output,
            next_step=pipe + shlex.join(argv),
        )


def digest(chart: pathlib.Path) -> str:
    """A digest over the paths and contents of all files of `chart`, those behind its links too, as Helm reads them.

    Raises errors.UsageError when it is no chart.
    """
    if not (chart / "Chart.yaml").is_file():
        raise errors.UsageError(f"{chart} holds no Chart.yaml, so it is no chart", next_step="name a chart's folder")
    total = hashlib.sha256()
    folders = sorted((folder, sorted(names)) for folder, _, names in os.walk(chart, followlinks=True))
    for folder, names in folders:
        for name in names:
            content = pathlib.Path(folder, name).read_bytes()
            total.update(f"{folder.removeprefix(str(chart))}/{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def parse(text: str) -> tuple[Object, ...]:
    """The objects of helm's output, in order; empty documents are left out. Raises yaml.YAMLError, also for a key given twice."""
    objects = []
    for document in _DOCUMENT.split(text):
        body = yaml.load(document, Loader=_Loader)  # noqa: S506 (a safe loader, made stricter below)
        if body is not None:
            named = _SOURCE.search(document)
            objects.append(Object(named.group(1) if named else "", body))
    return tuple(objects)


class _Loader(yaml.CSafeLoader):
    """Reads what Kubernetes reads: no dates, no base-60 numbers; and no key twice, of which most readers keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands here twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|(?:0|[1-9][0-9_]*))$")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
)
_REPLACED = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
