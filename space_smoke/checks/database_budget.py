"""database-budget: the pools of all clients fit under max_connections, and no client holds more than its share.

    sum over Deployments of (replicas + surge) x (pool + beside the pool) + migrations
        <= max_connections - superuser_reserved_connections

`surge` are the pods that a rollout adds. The share is what the sum assumes of one pod, which the server's own list of
connections shows to be true or not: each names its pod as its application.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from space_smoke.checks import database, say
from space_smoke.model import scenario, verdict


@database.judging
def judge(check: scenario.Check, seen: database.Seen) -> verdict.Verdict:
    clients, settings = database.rows(seen, "clients"), database.part(seen, "settings")
    try:
        shares = {str(client["name"]): _share(seen, client) for client in clients}
        terms = [(str(c["name"]), int(c["replicas"]) + int(c["surge"]), shares[str(c["name"])]) for c in clients]
        room = int(settings["max_connections"]) - int(settings["superuser_reserved_connections"])
        migrations = int(database.part(seen, "declared", "clients")["migrations"])
    except (KeyError, TypeError, ValueError) as error:
        return say.unknown(check, f"the budget cannot be added up: {type(error).__name__}: {error}", [seen.index])
    if not terms:
        return say.unknown(check, "no Deployment is told a database", [seen.index])
    needed = migrations + sum(pods * share for _, pods, share in terms)
    words = " + ".join([*(f"{pods} x {share} of {name}" for name, pods, share in terms), f"{migrations} of migrations"])
    if needed > room:
        return say.failed(check, f"at most {room} connections", f"{needed} ({words})", [seen.index])
    if over := list(_over(seen, shares)):
        return say.failed(check, "no pod to hold more connections than its share", say.some(over), [seen.index])
    return say.passed(check, f"{needed} of {room} connections ({words})", [seen.index])


def _share(seen: database.Seen, client: Mapping[str, Any]) -> int:
    declared = database.part(seen, "declared", "clients")
    pool = declared["pool"] if client["pool"] is None else client["pool"]
    return int(pool) + int(declared["beside_pool"].get(client["name"], 0))


def _over(seen: database.Seen, shares: Mapping[str, int]) -> Iterator[str]:
    held = Counter(str(one.get("application")) for one in database.rows(seen, "backends"))
    for pod, count in sorted(held.items()):
        owner = max((name for name in shares if pod.startswith(f"{name}-")), key=len, default="")
        if owner and count > shares[owner]:
            yield f"{pod}: {count}, its share is {shares[owner]}"


KIND = database.kind(
    "database-budget",
    "the pools of all clients fit into the server's connections, and no pod takes more than its share",
    judge,
)
