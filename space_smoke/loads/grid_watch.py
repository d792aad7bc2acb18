"""`grid-watch`: reads what sites of the grid show, again and again, so that a check sees what was so in between too.

One event `sample` each: {site, n, sent_s, seen_s, error, shown, metrics, metrics_error}. `shown` is None where the GridNetwork
could not be read, and `error` says why; else {version, generation, observed, phase, connected, epoch, count, providers:
[site/name], rows: [{tenantId, spendUsd, capUsd, spendRatio}] or None for none at all, conditions: {type: {status, reason,
message}}}. `metrics`, of those that were named, is as of `service-metrics`, and None where the site's pod did not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke import errors
from space_smoke.bench import sites
from space_smoke.loads import service_metrics, traffic
from space_smoke.model import kinds, objects

_METRICS_S = 2.0

KIND = kinds.LoadKind(
    name="grid-watch",
    summary="reads what sites of the grid show, again and again: status, and metrics where they are named",
    at_sites=True,
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["sites"],
        "oneOf": [{"required": ["for"]}, {"required": ["through"]}],
        "properties": {
            "sites": traffic.SITES,
            "period": {
                "type": "string",
                "format": "duration",
                "default": "500ms",
                "description": "from one sample of a site to the next",
            },
            "for": {"type": "string", "format": "duration", "description": "how long"},
            "through": traffic.THROUGH,
            "metrics": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": "of each site's pod, as they are called in the answer; none: the pod is not asked",
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    watched = [sites.Site(name) for name in load.argument("sites")]
    for number, site in enumerate(watched):  # one without a request has not been there
        load.ask(
            number, "healthz", "GET", "/healthz", door=site.door(load.door), pod=site.pod, timeout_s=10, site=site.name
        )
    rate_rps = len(watched) / float(load.argument("period_s", 0.5))
    for_s = load.argument("for_s")
    total = None if for_s is None else max(len(watched), round(rate_rps * float(for_s)))
    load.fan_out(
        total, 4 * len(watched), rate_rps, lambda number: _sample(load, number, watched[number % len(watched)])
    )


def _sample(load: traffic.Traffic, number: int, site: sites.Site) -> None:
    sent_s, shown, error = load.door.clock(), None, ""
    try:
        shown = read(load.door.cluster.read(site.network))
    except errors.ApiError as failure:
        error = failure.message
    seen_s = load.door.clock()
    load.tell(
        "sample",
        load=load.load.name,
        site=site.name,
        n=number,
        sent_s=round(sent_s, 6),
        seen_s=round(seen_s, 6),
        shown=shown,
        error=error,
        **_metrics(load, site),
    )


def read(network: objects.Object) -> Mapping[str, Any]:
    """What a sample keeps of a GridNetwork."""
    meta, status = network["metadata"], network.get("status") or {}
    return {
        "version": meta["resourceVersion"],
        "generation": meta.get("generation"),
        "observed": status.get("observedGeneration"),
        "phase": status.get("phase"),
        "connected": status.get("connectedSites"),
        "epoch": status.get("budgetEpoch"),
        "count": status.get("distributedProviderCount"),
        "providers": [f"{one['site']}/{one['name']}" for one in status.get("providers") or ()],
        "rows": status.get("budgetStatus"),
        "conditions": {
            one["type"]: {key: one.get(key) for key in ("status", "reason", "message")}
            for one in status.get("conditions") or ()
        },
    }


def _metrics(load: traffic.Traffic, site: sites.Site) -> Mapping[str, Any]:
    names = load.argument("metrics", ())
    if not names:
        return {"metrics": None, "metrics_error": ""}
    answer = site.door(load.door).ask("GET", "/metrics", pod=site.pod, timeout_s=_METRICS_S)
    if answer.status != 200:
        return {"metrics": None, "metrics_error": answer.error or f"answered {answer.status}"}
    return {"metrics": service_metrics.samples(answer.body.decode(errors="replace"), names), "metrics_error": ""}
