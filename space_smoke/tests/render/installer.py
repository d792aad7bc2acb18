"""Judges of space-cluster, which installs the services' charts on a cluster of its caller's. Used by `claims`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from space_smoke.charts import render
from space_smoke.tests.render import reading

SHARING = ("space-api", "space-admin-api", "space-cluster-controller")  # they draw from one activation bucket
SERVICES = ("space-api", "space-admin-api", "space-internal-api", "space-cluster-controller")
BUCKET = ("SPACE_REDIS_URL", "SPACE_CLUSTER_ACTIVATION_ADMISSION_")


def bucket(environment: dict[str, Any]) -> dict[str, Any]:
    """The variables that must agree among those that share the bucket."""
    return {name: value for name, value in environment.items() if name.startswith(BUCKET)}


def it_installs_the_services_and_no_store(rendered: render.Rendered) -> Iterator[str]:
    standing = {pod.owner.name for pod in reading.pods(rendered) if pod.standing}
    yield from reading.unless(standing == set(SERVICES), f"standing are {sorted(standing)}")
    secrets = [
        str(item) for item in rendered.objects if item.kind in ("Secret", "StatefulSet", "PersistentVolumeClaim")
    ]
    yield from reading.unless(not secrets, f"{secrets} belong to a store, which is the caller's")


def it_names_no_store_by_itself(rendered: render.Rendered) -> Iterator[str]:
    for name in SERVICES:
        variables = reading.environment(reading.container(rendered, "Deployment", name))
        yield from reading.unless("SPACE_REDIS_URL" not in variables, f"{name}: SPACE_REDIS_URL is rendered")
    yield from reading.unless("space-redis" not in rendered.text, "the store of a Kind bench is named")


def a_named_store_reaches_all_that_share_it(rendered: render.Rendered) -> Iterator[str]:
    seen = {name: reading.environment(reading.container(rendered, "Deployment", name)) for name in SERVICES}
    first = bucket(seen[SHARING[0]])
    yield from reading.unless(len(first) >= 3, f"space-api renders {first}")
    for name in SHARING[1:]:
        yield from reading.unless(bucket(seen[name]) == first, f"{name} renders {bucket(seen[name])}, not {first}")
    for name in set(SERVICES) - set(SHARING):
        yield from reading.unless(not bucket(seen[name]), f"{name} renders {bucket(seen[name])}")
