"""`grid-spend`: tells sites of the grid that tenants spent, each time under a request id of its own; or tells again what an
earlier load told, under the same ids, which must add nothing.

Sites take turns, and after each round tenants do; the amounts are the seed's. Each request's event bears what was sent:
`site`, `tenant`, `cents`, `request_id`; and of an answer `replayed` and `epoch`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from space_smoke import errors
from space_smoke.bench import http, sites
from space_smoke.loads import traffic
from space_smoke.model import history, kinds, objects

KIND = kinds.LoadKind(
    name="grid-spend",
    summary="tells sites of the grid what tenants spent, once for each request id",
    at_sites=True,
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["sites"],
        "oneOf": [
            {"required": ["of"]},
            {"required": ["requests"]},
            {"required": ["rate", "for"]},
            {"required": ["rate", "through"]},
        ],
        "properties": {
            "sites": traffic.SITES,
            "tenants": {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": "string", "minLength": 1, "maxLength": 253},
                "description": "who spends; all that the first site's policy names, where it is left out",
            },
            "most_cents": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1_000_000,
                "default": 500,
                "description": "of one request, which has 1 to so many",
            },
            "requests": {"type": "integer", "minimum": 1, "maximum": 10_000},
            "concurrency": {"type": "integer", "minimum": 1, "maximum": 50, "default": 4},
            "rate": {"type": "string", "format": "rate", "description": "of all sites together"},
            "for": {"type": "string", "format": "duration", "description": "how long"},
            "through": traffic.THROUGH,
            "of": {"type": "string", "description": "repeats each request of that load, to the same site, by its id"},
        },
    },
)

Order = Mapping[str, Any]  # site, tenant, cents, request_id


def drive(load: traffic.Traffic) -> None:
    again = repeated(load) if load.argument("of") else None
    order = again.__getitem__ if again is not None else _fresh(load)
    total = load.total() if again is None else len(again)

    def one(number: int) -> None:
        what = order(number)
        site = sites.Site(what["site"])
        body = {"requestId": what["request_id"], "tenantId": what["tenant"], "cents": what["cents"]}
        load.ask(
            number,
            "spend",
            "POST",
            "/v1/spend",
            body=body,
            door=site.door(load.door),
            pod=site.pod,
            timeout_s=10,
            see=_told,
            **what,
        )

    load.fan_out(total, load.argument("concurrency", 4), load.argument("rate_rps"), one)


def repeated(load: traffic.Traffic) -> list[Order]:
    """What the load of `of` told the named sites, once for each id, whether it was acknowledged or not."""
    told: dict[str, Order] = {}
    for event in history.requests(load.past(), load.argument("of")):
        if event.data.get("do") == "spend" and event.data["site"] in load.argument("sites"):
            found = {key: event.data[key] for key in ("site", "tenant", "cents", "request_id")}
            told.setdefault(found["request_id"], found)
    return list(told.values())


def _fresh(load: traffic.Traffic) -> Callable[[int], Order]:
    """An id names the moment at which its load began: sites remember ids for days, and a seed may come again."""
    began_ms = int((load.began_wall_s + load.door.clock()) * 1000)
    named, most = load.argument("sites"), load.argument("most_cents", 500)
    tenants = load.argument("tenants") or _declared(load, sites.Site(named[0]))

    def order(number: int) -> Order:
        chance = random.Random(f"{load.seed}-{load.load.name}-{number}")  # noqa: S311 (no secret)
        return {
            "site": named[number % len(named)],
            "tenant": tenants[number // len(named) % len(tenants)],
            "cents": chance.randint(1, most),
            "request_id": f"{load.load.name}-{began_ms}-{number}",
        }

    return order


def _declared(load: traffic.Traffic, site: sites.Site) -> list[str]:
    """Raises BenchError for a site without a policy, ApiError."""
    policy = objects.dig(load.door.cluster.read(site.network), "spec", "budgetPolicy", "tenants") or ()
    if not policy:
        raise errors.BenchError(
            f"{site.network} names no tenant", next_step=f"name some: tenants, in load {load.load.name}"
        )
    return [tenant["tenantId"] for tenant in policy]


def _told(answer: http.Answer) -> Mapping[str, Any]:
    said = answer.parsed() if answer.status == 200 else None
    if not isinstance(said, Mapping):
        return {}
    return {"replayed": said.get("replayed"), "epoch": said.get("epoch")}
