"""What every place outside of the API server can do for the fault protocol: sense, claim, alter, and tell what is in effect.

The rule that makes a place safe (docs/fault-lease.md): it keeps a fence per domain where the change itself happens, and
`alter` compares that fence, compares the value and changes it in one step there (a Redis transaction, a Postgres
transaction, a script under flock in a node). A fence that is missing equals none: it refuses every `alter`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from space_smoke.bench import wait
from space_smoke.model import objects

Field = Mapping[str, Any]
Watched = Sequence[tuple[str, str, str]]


class Refusal(Exception):
    """The place answered and did nothing. `status`: 409 the fence there is another (`message` is its number, or empty),
    412 the value is another, 422 this target cannot carry the fault (`message` is a sentence for people).

    Any other exception of a place means that no answer came: what was asked may or may not have been done, or may yet be.
    """

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Probe(Protocol):
    """Tells whether a fault is in effect. `ref` is the Kubernetes object that the value belongs to, `field` its address as
    the fault's kind made it."""

    def settled(self, ref: objects.Ref, field: Field, expect: objects.Json) -> wait.State:
        """Whether `expect` is in effect, by the effect itself and not by the value alone. Once done, `thing` is the
        target as read with the value under kinds.OUTSIDE."""
        ...

    def watching(self, ref: objects.Ref) -> Watched:
        """What to watch while waiting for `settled`: (apiVersion, kind, namespace)."""
        ...


@runtime_checkable
class Guarded(Protocol):
    """A probe that looks, before a fault is planned, whether it would do what no record could put back."""

    def refuse(self, ref: objects.Ref, field: Field) -> None:
        """Raises Unfit. `field` is the fault's address as its kind made it."""
        ...


class Place(Probe, Protocol):
    """Where a value lies that is no field of the API server's objects."""

    def sense(self, ref: objects.Ref, field: Field) -> tuple[Field, objects.Json]:
        """The completed field and the value now; changes nothing. Raises Refusal(422)."""
        ...

    def claim(self, ref: objects.Ref, field: Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        """Sets the domain's fence there to `fence`, unless it is higher: Refusal(409); returns the value. One step."""
        ...

    def alter(
        self,
        ref: objects.Ref,
        field: Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        """Sets the value if fence and value are as told, in one step; returns it. Raises Refusal(409 or 412)."""
        ...
