"""Custom resource definitions of the charts that a bench installs, kept as the charts have them.

Helm installs what lies in a chart's `crds/` where it is missing, and never upgrades it; and releases of one chart that
are installed side by side would all try to make the same definitions. So a bench applies them itself, once for each
chart and before its first release, and Helm is told to pass over them. Called by engine.releasing.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from space_smoke.bench import cache, kube, ready, wait
from space_smoke.model import objects

API_VERSION, KIND = "apiextensions.k8s.io/v1", "CustomResourceDefinition"


def of_charts(charts: Iterable[pathlib.Path]) -> Iterator[dict[str, Any]]:
    """The definitions in these charts' `crds/`, each chart's once."""
    for chart in dict.fromkeys(charts):
        for file in sorted((chart / "crds").glob("*.yaml")):
            yield from (one for one in yaml.safe_load_all(file.read_text()) if one)


def keep(access: kube.Kube, charts: Iterable[pathlib.Path], emit: cache.Emit, *, timeout_s: float) -> list[str]:
    """Makes the cluster's definitions those of the charts, and waits until the API server serves them; returns their names.

    Raises ApiError for one that the API server refuses, WaitFailed for one that it does not serve.
    """
    names = [str(access.apply(one)["metadata"]["name"]) for one in of_charts(charts)]
    if names:
        wait.until(
            access,
            "the API server to serve the custom resources",
            lambda: established(access, names),
            watching=[(API_VERSION, KIND, "")],
            timeout_s=timeout_s,
            emit=emit,
        )
    return names


def established(access: kube.Kube, names: Iterable[str]) -> wait.State:
    found = [access.read(objects.Ref(API_VERSION, KIND, "", name)) for name in names]
    lacking = [one["metadata"]["name"] for one in found if ready.condition(one, "Established") != "True"]
    return wait.State(not lacking, f"not established: {', '.join(lacking)}" if lacking else "all are established")
