"""The table of what helm must refuse: values, the charts that must refuse them, and the words of the one line that says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.tests.render import claims, grid_refusals, judges


@dataclass(frozen=True, slots=True)
class Refusal:
    """Values that helm must refuse, naming `place` and `rule`."""

    name: str
    charts: tuple[str, ...]
    overrides: Mapping[str, Any]
    place: str
    rule: str

    def heard_in(self, output: str) -> bool:
        """Whether one line of what helm said names the place and the rule."""
        return any(self.place in line and self.rule in line for line in output.splitlines())


POSTGRES = ("postgres",)
INSTALLER = (claims.INSTALLER,)


def _cap(name: str, value: Any) -> dict[str, Any]:
    return {"limiters": {"activation": {name: value}}}


REFUSALS = [
    Refusal("the tag latest", claims.ALL, {"image": {"tag": "latest"}}, "at '/image/tag'", "'not' failed"),
    Refusal(
        "neither tag nor digest", claims.ALL, {"image": {"tag": ""}}, "at '/image/tag'", "minLength: got 0, want 1"
    ),
    Refusal(
        "a tag that YAML made a number",
        claims.ALL,
        {"image": {"tag": 1.1}},
        "at '/image/tag'",
        "got number, want string",
    ),
    Refusal(
        "a digest that is none",
        claims.ALL,
        {"image": {"digest": "sha256:1"}},
        "at '/image/digest'",
        "does not match pattern",
    ),
    Refusal(
        "an unknown node group", claims.ALL, {"nodeGroup": "gpu"}, "at '/nodeGroup'", "value must be one of '', 'infra'"
    ),
    Refusal("an image taken away", claims.ALL, {"image": None}, "at ''", "missing property 'image'"),
    Refusal(
        "an extra that would replace the group",
        claims.ALL,
        {"nodeSelectorExtras": {judges.GROUP: "sandbox"}},
        "nodeSelectorExtras.space-smoke.dev/group=sandbox",
        'nodeGroup already sets this label to "infra", and extras may not replace it',
    ),
    Refusal(
        "an extra that would replace the sandboxes' group",
        claims.SPAWNING,
        {"sandbox": {"nodeSelectorExtras": {judges.GROUP: "infra"}}},
        "sandbox.nodeSelectorExtras.space-smoke.dev/group=infra",
        'sandbox.nodeGroup already sets this label to "sandbox"',
    ),
    Refusal(
        "a store that is no Redis",
        claims.SHARING,
        {"redis": {"url": "http://x"}},
        "at '/redis/url'",
        "does not match pattern",
    ),
    Refusal(
        "an unknown limiter mode",
        claims.COUNTING,
        {"limiters": {"clientConcurrency": {"mode": "on"}}},
        "at '/limiters/clientConcurrency/mode'",
        "value must be one of 'off', 'observe', 'enforce'",
    ),
    Refusal(
        "a mode that YAML made false",
        claims.COUNTING,
        {"limiters": {"clientConcurrency": {"mode": False}}},
        "at '/limiters/clientConcurrency/mode'",
        "got boolean, want string",
    ),
    Refusal(
        "no mode at all",
        claims.COUNTING,
        {"limiters": {"clientConcurrency": {"mode": None}}},
        "at '/limiters/clientConcurrency'",
        "missing property 'mode'",
    ),
    Refusal(
        "a limit of nothing",
        claims.COUNTING,
        {"limiters": {"clientConcurrency": {"limit": 0}}},
        "at '/limiters/clientConcurrency/limit'",
        "minimum: got 0, want 1",
    ),
    Refusal(
        "a client named like the common bucket",
        claims.COUNTING,
        {"limiters": {"clientConcurrency": {"knownClients": ["unspecified"]}}},
        "at '/limiters/clientConcurrency/knownClients/0'",
        "'not' failed",
    ),
    Refusal(
        "a planted fault in a deployment",
        claims.SERVICES,
        {"profile": "deployment", "mutation": "ttl-floor"},
        'mutation="ttl-floor"',
        "a planted fault is only for a bench",
    ),
    Refusal(
        "a drain longer than the grace period",
        claims.SERVICES,
        {"drainSeconds": 10},
        "drainSeconds=10",
        "must be less than terminationGracePeriodSeconds=10",
    ),
    Refusal(
        "a sandbox image without a tag",
        claims.SPAWNING,
        {"sandbox": {"image": "space/sandbox"}},
        "at '/sandbox/image'",
        "does not match pattern",
    ),
    Refusal(
        "the latest sandbox image",
        claims.SPAWNING,
        {"sandbox": {"image": "space/sandbox:latest"}},
        "at '/sandbox/image'",
        "'not' failed",
    ),
    Refusal(
        "a superuser for the application",
        POSTGRES,
        {"auth": {"app": {"user": "postgres"}}},
        "at '/auth/app/user'",
        "'not' failed",
    ),
    Refusal(
        "an application that owns the database",
        POSTGRES,
        {"auth": {"app": {"user": "space_owner"}}},
        'auth.app.user="space_owner"',
        "must differ from auth.owner.user",
    ),
    Refusal(
        "a password that a URL cannot hold",
        POSTGRES,
        {"auth": {"app": {"password": "p@ss/word"}}},
        "at '/auth/app/password'",
        "does not match pattern",
    ),
    Refusal("too few connections", POSTGRES, {"maxConnections": 2}, "at '/maxConnections'", "minimum: got 2, want 10"),
    Refusal(
        "a certificate without a Secret",
        POSTGRES,
        {"tls": {"secretName": ""}},
        "at '/tls/secretName'",
        "does not match pattern",
    ),
    Refusal(
        "an authority without a ConfigMap",
        claims.SERVICES,
        {"database": {"tls": {"caConfigMap": ""}}},
        "at '/database/tls/caConfigMap'",
        "does not match pattern",
    ),
    Refusal(
        "a store for who reads none",
        ("space-internal-api",),
        {"redis": {"url": "redis://space-redis:6379"}},
        "at ''",
        "additional properties 'redis' not allowed",
    ),
    Refusal(
        "a Lease that lasts no moment",
        ("space-cluster-controller",),
        {"lease": {"seconds": 1}},
        "at '/lease/seconds'",
        "minimum: got 1, want 2",
    ),
    Refusal(
        "a pool of nothing", claims.SERVICES, {"database": {"pool": 0}}, "at '/database/pool'", "minimum: got 0, want 1"
    ),
    *(
        Refusal(
            f"the store of a Kind bench for {chart} as {url}",
            INSTALLER,
            {chart: {"redis": {"url": url}}},
            f'{chart}.redis.url="{shown}"',
            "is the store of a Kind bench, which this chart does not install",
        )
        for chart in claims.SHARING
        for url, shown in (
            ("redis://space-redis:6379", "redis://space-redis:6379"),
            ("rediss://user:secret@space-redis/0", "rediss://***@space-redis/0"),
        )
    ),
    *(
        Refusal(
            f"another store for {chart}",
            INSTALLER,
            {"space-api": {"redis": {"url": "redis://a:6379"}}, chart: {"redis": {"url": url}}},
            f'{chart}.redis.url="{url}"',
            'must equal space-api.redis.url="redis://a:6379", since they share one activation bucket',
        )
        for chart in claims.SHARING[1:]
        for url in ("redis://b:6379", "")
    ),
    *(
        Refusal(
            f"another {cap} for {chart}",
            INSTALLER,
            {"space-api": _cap(cap, ours), chart: _cap(cap, theirs)},
            f"{chart}.limiters.activation.{cap}={shown}",
            f"must equal space-api.limiters.activation.{cap}=",
        )
        for chart in claims.SHARING[1:]
        for cap, ours, theirs, shown in (
            ("burst", 60, 61, "61"),
            ("refillPerSecond", 0.5, None, "unset"),
            ("enabled", True, False, "false"),
        )
    ),
    Refusal(
        "more connections than the server has",
        INSTALLER,
        {"database": {"maxConnections": 51}},
        "database.maxConnections=51",
        "must be at least 52 (1 of the migrations + 3 x 8 of space-api + 2 x 2 of space-admin-api + 2 x 4 of space-internal-api",
    ),
    Refusal(
        "a budget for a pool that nobody named",
        INSTALLER,
        {"database": {"maxConnections": 500}, "space-api": {"database": {"pool": None}}},
        "space-api.database.pool=unset",
        "must be set when database.maxConnections is",
    ),
    Refusal(
        "a budget that is no number",
        INSTALLER,
        {"database": {"maxConnections": "all"}},
        "at '/database/maxConnections'",
        "got string, want null or integer",
    ),
    Refusal("a budget taken away", INSTALLER, {"database": None}, "at ''", "missing property 'database'"),
    Refusal(
        "a wrong value for a chart below",
        INSTALLER,
        {"space-cluster-controller": {"redis": {"url": 7}}},
        "at '/redis/url'",
        "got number, want string",
    ),
    *(Refusal(*row) for row in grid_refusals.REFUSED),
    Refusal(
        "a Redis that the installer does not know", INSTALLER, {"space-redis": {}}, "at ''", "properties 'space-redis'"
    ),
]
