"""Installing a chart as far as it goes without changing anything: Helm's own dry run against the API server, which renders
and refuses what the chart refuses, and then each rendered object as a create with dryRun=All, which the API server
validates and admits as if it were real."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import discovery, helm, kube, proc
from space_smoke.model import objects

_HELM_S = 90.0
_STRICTLY = "?dryRun=All&fieldValidation=Strict"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """`code` is Helm's exit code or the status of the API server's refusal, 0 where neither refused; `said` is the
    refusal. `rendered` are the objects that Helm would have made, hooks included."""

    code: int
    said: str
    rendered: Sequence[objects.Object] = ()


def install(
    cluster: kube.Kube,
    program: pathlib.Path,
    release: str,
    chart: pathlib.Path,
    namespace: str,
    values: pathlib.Path,
) -> Rehearsal:
    """Raises errors.CommandFailed when Helm did not end in time, ApiError when the API server gave no answer to go by."""
    where = helm.where(namespace, cluster.kubeconfig, cluster.context)
    argv = [str(program), "upgrade", "--install", release, str(chart), "--values", str(values), *where]
    ended = proc.run([*argv, "--dry-run=server", "--output", "json"], timeout_s=_HELM_S, check=False)
    if ended.returncode != 0:
        _, _, said = ended.stderr.rpartition("\nError: ")  # what comes before are warnings
        if "cluster unreachable" in said:
            raise errors.ApiError(f"helm: {said.strip()}", status=0)
        return Rehearsal(ended.returncode, said.strip())
    rendered = list(_objects(json.loads(ended.stdout)))
    return next(_refusals(cluster, rendered, namespace), Rehearsal(0, "", rendered))


def _objects(release: Mapping[str, Any]) -> Iterator[objects.Object]:
    for text in (release.get("manifest", ""), *(hook["manifest"] for hook in release.get("hooks") or ())):
        yield from (one for one in yaml.safe_load_all(text) if one)


def _refusals(cluster: kube.Kube, rendered: Sequence[objects.Object], namespace: str) -> Iterator[Rehearsal]:
    known: dict[str, dict[str, discovery.Served]] = {}
    for one in rendered:
        version, name = one["apiVersion"], f"{one['kind']} {one['metadata']['name']}"
        if version not in known:
            known[version] = {served.kind: served for served in discovery.kinds_of(cluster, version)}
        served = known[version].get(one["kind"])
        if served is None:
            yield Rehearsal(404, f"{name}: the API server has no kind {one['kind']} in {version}", rendered)
            continue
        path = served.path(one["metadata"].get("namespace", namespace))
        status, answer = cluster.send("POST", path + _STRICTLY, body=one)
        if status >= 500:
            raise errors.ApiError(f"{name} was answered {status}: {answer.get('message', '')}", status=status)
        if status >= 300:
            yield Rehearsal(status, f"{name}: {answer.get('message', '')}", rendered)
