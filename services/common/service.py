"""What every service has: who it is, the end of its life, the count of its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from common import facts, identity, lifecycle, metrics


@dataclass(frozen=True, slots=True)
class Base:
    """`make_facts` makes the facts of a request from its trace id."""

    own: identity.Identity
    requests: metrics.Requests
    make_facts: Callable[[str], facts.Facts] = facts.Facts
    life: lifecycle.Lifecycle = field(default_factory=lifecycle.Lifecycle)
