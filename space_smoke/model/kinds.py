"""What a kind of fault, load or check declares. One file per kind, one table per package, the same word everywhere.

Argument schemas are JSON Schema objects, closed (`additionalProperties: false`). Two formats carry units: a property of
format `duration` is written `3s`, `250ms` or `2m` and arrives as float seconds under its name + "_s"; one of format
`rate` is written `10/s` or `90/m` and arrives as float per second under its name + "_rps". All other values arrive as
they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.model import history, objects, scenario, verdict

Schema = Mapping[str, Any]
# Beside a target's own fields: the value that a fault's kind has outside of the API server, where the protocol puts it.
OUTSIDE = "space-smoke.dev/outside"


# Under which Leases faults may be up. Whatever touches a site of the grid is kept apart from all that touches the rest of a
# bench: see FaultKind.under.
PUBLIC_API, WORKERS, GRID = "public-api-mutation", "worker-cordon", "grid-mutation"
GRID_API = "grid.praxis-proxy.io/v1alpha1"  # the group and version of the grid's resources
_SITE = "grid-"  # how the namespace of a grid's site begins (charts/releases.yaml)


class Unfit(Exception):
    """A target cannot carry this fault: the message names the target, the value and the rule."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A fault that is one field of one Kubernetes object, or one value outside of the API server that belongs to one. All
    functions are pure.

    `domain` names the Lease under which it may be up, where no site of the grid is touched (see `under`); `reaches` gives the
    namespaces that arguments, or a recorded field, name beside the target's own. `targets` are the target words it takes. `address` turns arguments
    into the field's address inside the target as read (list entries by merge key, never by index), or raises Unfit.
    `read` gives the field's value now, `wanted` the fault value; both in an encoding in which absent, null and a value
    are three different things. `write` gives the operations that set the field to a value, guarded by tests of the field
    as it was read.

    `outside`: the value lies elsewhere (in Redis, in Postgres, in a node), is read and changed by a place of bench/outside,
    and arrives in `read` under OUTSIDE; the target carries the record and the fence. Not `reversible`: putting back
    means to wait (`waits_for` says for what), nothing is written. `takes_s`: how long one change may be under way, where a
    program must be started for it; 0 for the bound that all requests have.
    """

    name: str
    summary: str
    domain: str
    targets: tuple[str, ...]
    schema: Schema
    address: Callable[[scenario.Arguments, objects.Object], Mapping[str, Any]]
    read: Callable[[objects.Object, Mapping[str, Any]], objects.Json]
    wanted: Callable[[scenario.Arguments, Mapping[str, Any]], objects.Json]
    write: Callable[[objects.Object, Mapping[str, Any], objects.Json], list[objects.Operation]]
    describe: Callable[[objects.Json], str]
    outside: bool = False
    reversible: bool = True
    waits_for: str = ""
    takes_s: float = 0.0
    reaches: Callable[[Mapping[str, Any]], Iterable[str]] = lambda _said: ()

    def under(self, namespace: str, said: Mapping[str, Any]) -> str:
        """The domain of one fault: `grid-mutation` where the target's namespace, or one that `said` (the arguments, or the
        field of a record) reaches, is that of a site; else the kind's own."""
        touched = (namespace, *self.reaches(said))
        return GRID if any(one.startswith(_SITE) for one in touched) else self.domain


def read_outside(target: objects.Object, _field: Mapping[str, Any]) -> objects.Json:
    """The value of a kind that lies outside of the API server."""
    return target.get(OUTSIDE)


def write_nothing(_target: objects.Object, _field: Mapping[str, Any], _value: objects.Json) -> list[objects.Operation]:
    """The target itself has no field to change: its place outside does it."""
    return []


def beyond(**said: Any) -> FaultKind:
    """A kind whose value lies outside of the API server. `said` is everything else that a FaultKind says of itself."""
    return FaultKind(**said, read=read_outside, write=write_nothing, outside=True)


def once(*, done: str, before: str, **said: Any) -> FaultKind:
    """A kind outside that cannot be taken back: its value is {"done": bool}, told as `done` or `before`."""
    value = {"done": True}
    return beyond(
        **said,
        wanted=lambda _arguments, _field: value,
        describe=lambda seen: done if seen == value else before,
        reversible=False,
    )


@dataclass(frozen=True, slots=True)
class LoadKind:
    """Traffic. How it is driven lives in `space_smoke.loads`; this is what a scenario may say of it. `at_sites`: it asks the
    sites of the grid that its argument `sites` names, and not the public API."""

    name: str
    summary: str
    schema: Schema
    at_sites: bool = False


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A pure judge: (arguments, the run's events, the scenario) -> Verdict. It may not raise for any history: what cannot
    be judged is `unknown`. `looks_at` names the argument that holds a load's name, or ""."""

    name: str
    summary: str
    schema: Schema
    judge: Callable[[scenario.Check, Sequence[history.Event], scenario.Scenario], verdict.Verdict]
    looks_at: str = ""
