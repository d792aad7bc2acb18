"""`status`, `repair` and `plan` as data: what is up, what one command would put back, what a scenario would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from space_smoke import errors
from space_smoke.bench import life
from space_smoke.engine import preflight, tenure
from space_smoke.faults import kinds as fault_kinds
from space_smoke.lease import protocol
from space_smoke.model import plan, record, scenario


def status(leases: tenure.Tenure) -> dict[str, Any]:
    """Read-only. {"domains": [{domain, holder, life, reason, run, host, pid, fence, renewed_s, unreadable, faults: [{fault,
    kind, target, stage, standing, value, now, attempts, last_error, run}]}], "open_faults": n}; `now` is one of fault
    value, standing, drifted, gone."""
    domains = [_domain(leases, standing) for standing in leases.look(sweep=True)]
    return {"domains": domains, "open_faults": sum(len(domain["faults"]) for domain in domains)}


def repair(leases: tenure.Tenure, tell: Callable[..., Any]) -> int:
    """Puts back whatever dead or released holders left; returns how many faults that were. Raises as preflight does."""
    return preflight.preflight(leases, tell, free=True)


def abandon(leases: tenure.Tenure, fault_id: str) -> dict[str, Any]:
    """Gives up the record of this id, unless it can be put back after all: {"id", "domain", "abandoned"}.

    Raises UsageError for an id that is on no Lease, Refused for a live holder, RestoreIncomplete when other records of that
    domain could not be put back (the one that was named is given up then all the same)."""
    ended = leases.abandon(fault_id)
    if ended.failed:
        raise protocol.incomplete(ended.domain, ended.failed)
    return {"id": ended.fault_id, "domain": ended.domain, "abandoned": ended.abandoned}


def planned(the: scenario.Scenario, namespace: str) -> dict[str, Any]:
    """{"scenario", "claim", "domains", "acts": [{do, phase, fault|load, ...}]}; needs no cluster."""
    return {
        "scenario": the.id,
        "claim": the.claim,
        "budget_s": the.budget_s,
        "domains": sorted(tenure.domains_of(the)),
        "acts": [_act(act, namespace) for act in plan.acts(the)],
        "checks": [check.label for check in the.checks],
    }


def _act(act: plan.Act, namespace: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"do": act.do, "phase": act.phase}
    if act.fault is not None:
        shown |= {
            "fault": act.fault.name,
            "kind": act.fault.kind,
            "target": str(act.fault.target),
            "namespace": act.fault.target.namespace or namespace,
            "domain": fault_kinds.domain_of(act.fault),
            "arguments": dict(act.fault.arguments),
        }
    if act.load is not None:
        shown |= {"load": act.load.name, "kind": act.load.kind, "arguments": dict(act.load.arguments)}
    return shown


def _domain(leases: tenure.Tenure, standing: protocol.Standing) -> dict[str, Any]:
    seen = standing.view
    stamp = seen.info.get("boottime")
    here = seen.info.get("boot") == life.identity("", None)["boot"]
    return {
        "domain": seen.domain,
        "holder": seen.holder,
        "life": standing.life,
        "reason": standing.reason,
        "run": seen.info.get("run"),
        "host": seen.info.get("host"),
        "pid": seen.info.get("pid"),
        "command": seen.info.get("command"),
        "fence": seen.fence,
        "renewed_s": round(life.boottime() - stamp, 1) if here and isinstance(stamp, int | float) else None,
        "unreadable": [{"key": item.key, "reason": item.reason} for item in seen.unreadable],
        "faults": [_fault(leases, item) for item in seen.records],
    }


def _fault(leases: tenure.Tenure, item: record.Record) -> dict[str, Any]:
    kind = fault_kinds.KINDS.get(item.kind)
    describe = kind.describe if kind else str
    return {
        "fault": item.name,
        "id": item.fault_id,
        "kind": item.kind,
        "target": str(item.target),
        "namespace": item.target.namespace,
        "stage": item.stage,
        "standing": describe(item.standing),
        "value": describe(item.fault),
        "now": _now(leases, item),
        "attempts": item.attempts,
        "last_error": item.last_error,
        "run": item.run,
    }


def _now(leases: tenure.Tenure, item: record.Record) -> str:
    """Which of its values the field holds at this moment."""
    kind = fault_kinds.KINDS.get(item.kind)
    if kind is None:
        return "unknown kind"
    try:
        value = leases.value_of(item)
    except errors.ApiError as error:
        return "gone" if error.status == 404 else f"not to be read ({error.status})"
    except errors.BenchError as error:
        return f"not to be read ({error.message})"
    if value == item.fault:
        return "fault value"
    return "standing" if value == item.standing else f"drifted: {kind.describe(value)}"
