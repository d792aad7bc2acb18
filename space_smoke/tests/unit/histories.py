"""Hand-written histories for the tests of checks and reports: what a run would have appended, in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from space_smoke.checks import kinds
from space_smoke.model import history, scenario, verdict

PODS = ("space-api-7c4-a", "space-api-7c4-b")


def decision(outcome: str, reason: str = "none", **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason, **more}


@dataclass
class Story:
    """Grows a list of events; `at_s` moves only forward. Every method gives the events it added."""

    at_s: float = 0.0
    events: list[history.Event] = field(default_factory=list)

    def add(self, event: str, at_s: float | None = None, /, **data: Any) -> history.Event:
        history.KINDS[event]
        self.at_s = max(self.at_s, self.at_s if at_s is None else at_s)
        self.events.append(history.Event(len(self.events), self.at_s, event, data))
        return self.events[-1]

    def pods(self, load: str | None, names: Sequence[str] = PODS, **changes: Any) -> history.Event:
        """Current pods, ready and not terminating; `changes` apply to the last of them."""
        listed: list[dict[str, Any]] = [
            {"name": name, "node": f"dev-worker{i}", "ready": True, "terminating": False, "current": True}
            for i, name in enumerate(names)
        ]
        if listed:
            listed[-1].update(changes)
        return self.add("pods", target="deployment/space-api", load=load, pods=listed)

    def load(
        self, name: str, requests: Iterable[Mapping[str, Any]], *, kind: str = "ecw-create", phase: str = "only"
    ) -> list[history.Event]:
        """A load that began, made these requests and ended. The pods are listed first, unless they are already."""
        if not any(e.kind == "pods" and e.data["load"] == name for e in self.events):
            self.pods(name)
        self.add("load-started", load=name, kind=kind, phase=phase, arguments={})
        begun_s = self.at_s
        made = [
            self.add("request", request.get("ended_s") or begun_s, **{"load": name, "n": n, **request})
            for n, request in enumerate(requests)
        ]
        self.add("load-ended", load=name, phase=phase, requests=len(made))
        return made


def request(do: str = "create", *, at_s: float = 1.0, took_s: float = 0.02, **more: Any) -> dict[str, Any]:
    """An answered request that was decided in the middle of its time; any field may be given otherwise."""
    return {
        "client": "smoke-a",
        "do": do,
        "pod_asked": None,
        "pod": PODS[0],
        "sent_s": at_s,
        "answered_s": at_s + took_s,
        "ended_s": at_s + took_s,
        "status": 201 if do == "create" else 200,
        "code": None,
        "retry_after": None,
        "error": None,
        "activation": None,
        "concurrency": None,
        "decided_s": at_s + took_s / 2,
        "limiter_ms": 1.0,
        "sandbox": None,
        **more,
    }


def unanswered(do: str = "create", *, at_s: float = 1.0) -> dict[str, Any]:
    nothing = dict.fromkeys(("pod", "answered_s", "status", "decided_s", "limiter_ms"))
    return request(do, at_s=at_s, error="connection refused") | nothing


def drawn(at_s: float, admitted: bool, *, limiter_ms: float = 1.0, **more: Any) -> dict[str, Any]:
    """A create on which the activation bucket decided at `at_s`, stamped after `limiter_ms`."""
    stamp = at_s + limiter_ms / 1000
    made = request(at_s=at_s - 0.005) | {
        "answered_s": stamp + 0.005,
        "ended_s": stamp + 0.005,
        "activation": decision("admitted" if admitted else "refused"),
        "concurrency": decision("accepted", client="smoke-a", would_reject=False),
        "decided_s": stamp,
        "limiter_ms": limiter_ms,
    }
    refusal = {} if admitted else {"status": 429, "code": "cluster_activation_limited", "retry_after": 1}
    return made | refusal | more


def held(at_s: float, hold_s: float, *, client: str = "smoke-b", **more: Any) -> dict[str, Any]:
    """A connect that was accepted and held its place."""
    accepted = decision("accepted", client=client, would_reject=False)
    return request("connect", at_s=at_s) | {"client": client, "concurrency": accepted, "ended_s": at_s + hold_s} | more


def turned_away(at_s: float, *, client: str = "smoke-b", **more: Any) -> dict[str, Any]:
    """A connect that the cap refused."""
    refused = decision("refused", client=client, would_reject=False)
    refusal = {"status": 429, "code": "client_concurrency_limited", "retry_after": 1}
    return request("connect", at_s=at_s) | {"client": client, "concurrency": refused} | refusal | more


def one_load(load: str = "drain", kind: str = "ecw-create") -> scenario.Scenario:
    """The smallest scenario: one phase with one load."""
    return of_phases(scenario.Phase("only", (scenario.Load(load, kind, {}),)))


def of_phases(
    *phases: scenario.Phase, faults: Sequence[scenario.Fault] = (), checks: Sequence[scenario.Check] = ()
) -> scenario.Scenario:
    return scenario.Scenario(
        area="local",
        name="tried",
        claim="it holds",
        labels=(),
        budget_s=60.0,
        bench=scenario.BenchNeeds(),
        faults=tuple(faults),
        phases=phases,
        checks=tuple(checks),
    )


def judged(kind: str, story: Story, the: scenario.Scenario | None = None, /, **arguments: Any) -> verdict.Verdict:
    """What a check of this kind says of a story."""
    check = scenario.Check(kind, arguments, kind)
    return kinds.KINDS[kind].judge(check, story.events, the or one_load())
