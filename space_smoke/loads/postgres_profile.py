"""`postgres-profile`: reads what a running Postgres is, what its clients may take of it, and what was declared of both.

One event `database`: {declared: charts/postgres/profile.yaml, version, settings, extensions, role, owned, backends, folders:
see bench.outside.postgres_facts; mounts: [{path, volume, source, claim, phase}] of the server's container; clients: [{name,
replicas, surge, pool}], the Deployments that are told a database, `pool` None where none is told}.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import yaml

from space_smoke import errors
from space_smoke.bench import cache, kube
from space_smoke.bench.outside import pods, postgres, postgres_facts
from space_smoke.loads import traffic
from space_smoke.model import kinds, objects

PROFILE = cache.PROJECT / "charts" / "postgres" / "profile.yaml"
SERVER = "postgres"
_ROLES = {"app": "POSTGRES_USER", "owner": "POSTGRES_OWNER", "superuser": ""}
_URL, _POOL = "SPACE_DATABASE_URL", "SPACE_DATABASE_POOL"

KIND = kinds.LoadKind(
    name="postgres-profile",
    summary="reads what a running Postgres is and what its clients may take of it, beside what is declared",
    schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "role": {
                "enum": list(_ROLES),
                "default": "app",
                "description": "whose rights, settings and connections are read",
            }
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    load.be_there()
    cluster, server = load.door.cluster, objects.Ref("apps/v1", "StatefulSet", load.namespace, SERVER)
    declared = yaml.safe_load(PROFILE.read_text())
    given = _environment(cluster.read(server)["spec"]["template"]["spec"])
    role = given.get(_ROLES[load.argument("role", "app")], {}).get("value", postgres.SUPERUSER)
    seen = postgres_facts.facts(cluster, server, role, given["POSTGRES_DB"]["value"], declared["settings"])
    load.emit(
        "database",
        load=load.load.name,
        declared=declared,
        mounts=list(_mounts(cluster, server)),
        clients=list(_clients(cluster, load.namespace)),
        **seen,
    )


def _environment(spec: objects.Object) -> dict[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in spec["containers"][0].get("env") or ()}


def _mounts(cluster: kube.Kube, server: objects.Ref) -> Iterator[dict[str, str]]:
    """Raises BenchError, ApiError."""
    running = pods.running(cluster, server)
    if len(running) != 1:
        raise errors.BenchError(f"{server} has {len(running)} running pods, and one is looked at")
    spec = cluster.read(objects.Ref("v1", "Pod", server.namespace, running[0].name))["spec"]
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    for mount in spec["containers"][0].get("volumeMounts") or ():
        volume = volumes[mount["name"]]
        claim = str(objects.dig(volume, "persistentVolumeClaim", "claimName") or "")
        yield {
            "path": mount["mountPath"],
            "volume": mount["name"],
            "source": next(key for key in volume if key != "name"),
            "claim": claim,
            "phase": _phase(cluster, server.namespace, claim) if claim else "",
        }


def _phase(cluster: kube.Kube, namespace: str, claim: str) -> str:
    path = f"/api/v1/namespaces/{quote(namespace)}/persistentvolumeclaims/{quote(claim)}"
    status, answer = cluster.send("GET", path)
    return str(objects.dig(answer, "status", "phase")) if status == 200 else f"status {status}"


def _clients(cluster: kube.Kube, namespace: str) -> Iterator[dict[str, Any]]:
    for deployment in cluster.listed("apps/v1", "Deployment", namespace):
        told = _environment(deployment["spec"]["template"]["spec"])
        if _URL in told:
            replicas = int(deployment["spec"].get("replicas", 1))
            pool = told.get(_POOL, {}).get("value")
            yield {
                "name": deployment["metadata"]["name"],
                "replicas": replicas,
                "surge": _surge(deployment, replicas),
                "pool": int(pool) if pool else None,
            }


def _surge(deployment: objects.Object, replicas: int) -> int:
    """How many pods a rollout adds; a share is rounded up, and 25 % where nothing is said (apps/v1 Deployment)."""
    strategy = deployment["spec"].get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return 0
    most = objects.dig(strategy, "rollingUpdate", "maxSurge")
    most = "25%" if most is None else most
    return math.ceil(replicas * int(most.rstrip("%")) / 100) if isinstance(most, str) else int(most)
