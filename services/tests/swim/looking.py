"""How tests look into simulated sites."""

from __future__ import annotations

from swim import events
from swim.envelope import Envelope
from swim.node import Node
from swim.simulator.site import Site
from swim.simulator.world import World

NONE: frozenset[str] = frozenset()


def node(world: World, name: str) -> Node:
    found = world.sites[name].node
    assert found
    return found


def state(world: World, at: str, of: str) -> str | None:
    member = node(world, at).members.get(of)
    return member.state if member else None


def states_seen(world: World) -> list[tuple[str, str, str]]:
    """(site, member, state) of every change from now on."""
    seen: list[tuple[str, str, str]] = []

    def look(_: float, site: Site, effect: events.Effect) -> None:
        if isinstance(effect, events.MemberChanged):
            seen.append((site.name, effect.name, effect.state))

    world.observers.append(look)
    return seen


def sealed(world: World, **keys: tuple[bytes, ...]) -> dict[str, Envelope]:
    """Give sites these keys, and others none; the envelope of each."""
    envelopes = {name: Envelope("net", keys.get(name, ()), world.rng.randbytes) for name in world.sites}

    def use(name: str) -> None:
        world.sites[name].make_envelope = lambda: envelopes[name]

    for name in world.sites:
        use(name)
    return envelopes
