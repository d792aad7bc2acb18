"""What simulated sites say: within the budget, little when nothing happens, and providers apart from spend."""

from __future__ import annotations

import dataclasses
import functools

from swim import bounds, events, signing
from swim.envelope import KEY_BYTES
from swim.messages import ProviderState
from swim.parameters import KIND
from swim.simulator.keyed import KeyedOrigin
from swim.simulator.world import World
from tests.swim import claims
from tests.swim.claims import THREE, providers, started
from tests.swim.looking import NONE, node, sealed

OLD = bytes(KEY_BYTES)


def every_total(world: World) -> list[dict[str, int]]:
    return [site.node.ledger.totals() for site in world.living() if site.node]


def test_a_record_that_fits_no_packet_is_counted_and_travels_by_push_pull() -> None:
    small = dataclasses.replace(KIND, packet_bytes=508)
    world = started(NONE, parameters=small)
    world.spend("s1", "t" * 253, 1)
    world.spend("s1", "\N{ROCKET}" * 120, 1)
    assert node(world, "s1").counters["oversize", "spend"] == 1
    assert world.run(bounds.convergence(3, KIND), lambda: all(len(known) == 2 for known in every_total(world)))


def test_quiet_sites_say_little_and_want_nothing() -> None:
    world = started(NONE)
    for name in THREE:
        world.publish(name, b"p")
        world.spend(name, "t", 1)
    world.run(10)
    wanted: list[events.Effect] = []
    world.observers.append(lambda _, site, effect: wanted.append(effect))
    before, known = world.packets, [outcomes(world, name) for name in THREE]
    world.run(60)
    assert wanted == []
    assert [outcomes(world, name) for name in THREE] == known
    assert (world.packets - before) / 60 <= 3 * 2 / KIND.probe_interval


def outcomes(world: World, name: str) -> list[int]:
    """How often this site was told of spend and of providers, whatever it knew already."""
    counters = node(world, name).counters
    return [sum(times for (what, _), times in counters.items() if what == lane) for lane in ("spend", "providers")]


def note_size(sizes: list[int], of: str, sender: str, data: bytes) -> None:
    if sender == of:
        sizes.append(len(data))


def test_full_packets_stay_within_the_budget_plain_and_sealed() -> None:
    for ring in ((), (OLD,)):
        world = World(THREE)
        sealed(world, s1=ring, s2=ring, s3=ring)
        world.start()
        world.run(5)
        sizes: list[int] = []
        world.taps.append(functools.partial(note_size, sizes, "s1"))
        for number in range(300):
            world.spend("s1", f"t{number}", 1)
        world.run(1)
        assert KIND.packet_bytes - 120 < max(sizes) <= KIND.packet_bytes
        assert len(sizes) < 40  # a packet for each peer in each interval, and probes


def test_providers_of_one_that_is_no_member_are_refused() -> None:
    world = started(NONE)
    stranger = signing.signed("net", ProviderState("s9", 1, b"p"), KeyedOrigin("s9"))
    claims.say(world, "s1", stranger)
    assert providers(world, "s1") == {}
    assert node(world, "s1").counters["providers", "not_a_member"] == 1


def test_forged_and_earlier_provider_states_change_nothing() -> None:
    world = started(NONE)
    world.publish("s2", b"old")
    old = node(world, "s2").providers.get("s2")
    assert old
    world.publish("s2", b"new")
    world.run(3)
    claims.say(world, "s1", old, old._replace(revision=9), ProviderState("s3", 1, b"forged", bytes(64)))
    assert providers(world, "s1") == {"s2": b"new"}
    assert node(world, "s1").counters["providers", "bad_signature"] == 2


def test_providers_are_known_everywhere_and_go_with_their_site() -> None:
    world = started(NONE, parameters=claims.SHORT_LIVED)
    world.publish("s1", b"old")
    world.run(3)
    world.publish("s1", b"new")
    world.publish("s2", bytes(60_000))  # by push/pull
    assert world.run(10, lambda: all(providers(world, name).keys() == {"s1", "s2"} for name in THREE))
    assert providers(world, "s3")["s1"] == b"new"
    world.kill("s1")
    world.run(bounds.detection(3, KIND) + 10)
    assert [list(providers(world, name)) for name in ("s2", "s3")] == [["s2"], ["s2"]]
    world.start("s1")
    world.publish("s1", b"back")
    assert world.run(10, lambda: providers(world, "s3").get("s1") == b"back")
