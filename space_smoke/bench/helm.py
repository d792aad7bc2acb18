"""Helm: rendering charts and installing releases, the way a deployment would.

A run killed inside `helm upgrade` leaves the release `pending-*`, and Helm refuses everything after that. Nobody can be
at work there while we hold the bench's lock, so such a release is rolled back to its last deployed revision, or
uninstalled when there is none, and that is said. Called by engine.up, engine.run and charts.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.bench import cache, proc

_ASK_S = 60.0
_RENDER_S = 60.0


@dataclass(frozen=True, slots=True)
class Release:
    """One release as Helm sees it. `status` is Helm's word: deployed, failed, pending-install, ..."""

    name: str
    namespace: str
    revision: int
    status: str


def template(
    helm: pathlib.Path,
    release: str,
    chart: pathlib.Path,
    namespace: str,
    values_files: Sequence[pathlib.Path] = (),
    sets: Mapping[str, str] | None = None,
    extra: Sequence[str] = (),
) -> str:
    """The rendered manifests, without a cluster. Raises errors.CommandFailed with Helm's message."""
    argv = [str(helm), "template", release, str(chart), "--namespace", namespace, *_values(values_files, sets), *extra]
    return proc.run(argv, timeout_s=_RENDER_S).stdout


def releases(helm: pathlib.Path, kubeconfig: pathlib.Path) -> dict[str, Release]:
    """All releases of the cluster by name, pending and failed ones included."""
    argv = [str(helm), "list", "--all", "--all-namespaces", "--output", "json", "--kubeconfig", str(kubeconfig)]
    listed: list[dict[str, Any]] = json.loads(proc.run(argv, timeout_s=_ASK_S).stdout or "[]")
    found = [Release(one["name"], one["namespace"], int(one["revision"]), one["status"]) for one in listed]
    return {release.name: release for release in found}


def upgrade_install(
    helm: pathlib.Path,
    release: str,
    chart: pathlib.Path,
    namespace: str,
    *,
    kubeconfig: pathlib.Path,
    emit: cache.Emit,
    values_files: Sequence[pathlib.Path] = (),
    sets: Mapping[str, str] | None = None,
    wait: bool = False,
    timeout_s: float = 180.0,
    previous: Release | None = None,
) -> int:
    """Installs or upgrades `release` and returns its revision. `previous` is what `releases` said of it, if anything.

    With `wait`, Helm itself waits for the resources and for hooks. Raises errors.CommandFailed.
    """
    common = ["--namespace", namespace, "--kubeconfig", str(kubeconfig)]
    if previous is not None and previous.status.startswith("pending-"):
        recover(helm, previous, common, emit)
    argv = [str(helm), "upgrade", "--install", release, str(chart), "--create-namespace", "--output", "json"]
    argv += ["--skip-crds"]  # they are the bench's own business: see crds
    argv += [*common, "--timeout", f"{timeout_s:g}s", *_values(values_files, sets), *(["--wait"] if wait else [])]
    return int(json.loads(proc.run(argv, timeout_s=timeout_s + 30).stdout)["version"])


def recover(helm: pathlib.Path, stuck: Release, common: Sequence[str], emit: cache.Emit) -> None:
    """Frees a release that a killed run left pending."""
    argv = [str(helm), "history", stuck.name, "--output", "json", *common]
    history: list[dict[str, Any]] = json.loads(proc.run(argv, timeout_s=_ASK_S).stdout)
    deployed = [int(one["revision"]) for one in history if one["status"] in ("deployed", "superseded")]
    act = ["rollback", stuck.name, str(max(deployed))] if deployed else ["uninstall", stuck.name]
    emit(
        "release-recovered",
        release=stuck.name,
        was=stuck.status,
        saying=f"{stuck.name} was {stuck.status}: helm {act[0]}",
    )
    proc.run([str(helm), *act, *common], timeout_s=_ASK_S)


def upgrade(
    helm: pathlib.Path,
    release: str,
    chart: pathlib.Path,
    values: pathlib.Path,
    common: Sequence[str],
    *,
    timeout_s: float,
) -> None:
    """Upgrades an installed release to exactly these values; no hooks, no wait. `common` says where: see `where`.

    Raises errors.CommandFailed.
    """
    argv = [str(helm), "upgrade", release, str(chart), "--reset-values", "--values", str(values), "--no-hooks", *common]
    proc.run(_bounded(argv, timeout_s), timeout_s=timeout_s)


def rollback(helm: pathlib.Path, release: str, revision: int, common: Sequence[str], *, timeout_s: float) -> None:
    """Makes a revision what is installed; frees a release that is pending. No hooks, no wait. Raises errors.CommandFailed."""
    argv = [str(helm), "rollback", release, str(revision), "--no-hooks", *common]
    proc.run(_bounded(argv, timeout_s), timeout_s=timeout_s)


def where(namespace: str, kubeconfig: pathlib.Path | None, context: str | None = None) -> list[str]:
    """The flags that name a cluster and a namespace."""
    flags = ["--namespace", namespace]
    flags += ["--kubeconfig", str(kubeconfig)] if kubeconfig else []
    return flags + (["--kube-context", context] if context else [])


def _bounded(argv: Sequence[str], timeout_s: float) -> list[str]:
    """Ended at its time also when we are stopped and cannot do it. The signal at our death does not pass to a child's
    child, so that one gets its own."""
    return ["timeout", "--signal=KILL", f"{timeout_s:.3f}", *proc.mortal(), *argv]


def _values(files: Sequence[pathlib.Path], sets: Mapping[str, str] | None) -> list[str]:
    flags = [flag for file in files for flag in ("--values", str(file))]
    # Strings only: a tag made of digits must not become a number.
    return flags + [flag for key, value in (sets or {}).items() for flag in ("--set-string", f"{key}={value}")]
