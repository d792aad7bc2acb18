"""Claims about simulated sites as functions that raise AssertionError, so that a mutation can be shown to break one."""

from __future__ import annotations

import dataclasses
import functools

from swim import bounds, codec, events, ledger, signing
from swim.envelope import KEY_BYTES, Envelope
from swim.members import DEAD, SUSPECT
from swim.messages import Message, Record
from swim.parameters import KIND
from swim.simulator.invariants import Watch
from swim.simulator.keyed import KeyedOrigin
from swim.simulator.world import World
from tests.swim.looking import sealed, states_seen

THREE = ("s1", "s2", "s3")
OLD, NEW = bytes(KEY_BYTES), bytes(range(KEY_BYTES))
SHORT_LIVED = dataclasses.replace(KIND, dead_ttl=3.0)


def started(active: frozenset[str], *names: str, seed: int = 1, parameters: object = KIND) -> World:
    """Sites that know each other."""
    world = World(THREE, seed, parameters, active)  # type: ignore[arg-type]
    world.start(*names)
    assert world.run(10, lambda: knows_all(world)), "the sites did not find each other"
    world.run(2)
    return world


def knows_all(world: World) -> bool:
    living = world.living()
    return all(site.node and len(site.node.members) == len(living) for site in living)


def totals(world: World, tenant: str = "t") -> list[int]:
    return [site.node.ledger.total(tenant) for site in world.living() if site.node]


def agree(world: World, cents: int, tenant: str = "t") -> bool:
    return all(total == cents for total in totals(world, tenant))


def providers(world: World, name: str) -> dict[str, bytes]:
    """origin -> payload, as this site knows them."""
    node = world.sites[name].node
    assert node
    return {state.origin: state.payload for state in node.providers}


def say(world: World, name: str, *messages: Message) -> None:
    """A packet of a stranger that has the packet key."""
    body = codec.head("stranger", ("192.0.2.9", 1)) + b"".join(map(codec.encode, messages))
    world.inject(name, Envelope("net").close(body))


def signed(tenant: str, origin: str, cents: int, epoch: int = 0, sequence: int = 1) -> Record:
    return signing.signed("net", Record(tenant, epoch, origin, cents, sequence), KeyedOrigin(origin))


def spend_alone_reaches_all_in_the_published_time(active: frozenset[str]) -> None:
    world = started(active)
    for cents, name in enumerate(THREE, start=1):
        world.spend(name, "t", cents)
    assert world.run(bounds.convergence(3, KIND), lambda: agree(world, 6)), totals(world)


def spend_alone_keeps_providers(active: frozenset[str]) -> None:
    world = started(active)
    for name in THREE:
        world.publish(name, name.encode())
    expected = {name: name.encode() for name in THREE}
    world.run(2)
    for turn in range(10):
        world.spend(THREE[turn % 3], "t", 1)
        for _ in range(5):
            world.run(0.1)
            for name in THREE:
                assert providers(world, name) == expected


def nobody_can_spend_in_anothers_name(active: frozenset[str]) -> None:
    world = started(active)
    world.spend("s2", "t", 5)
    world.run(2)
    forged = signed("t", "s2", 10**6)._replace(origin="s3")
    for record in (
        forged,
        Record("t", 0, "s2", 10**9, 2, bytes(64)),
        signed("t", "s2", 10**9)._replace(cents=10**9 - 1),
    ):
        say(world, "s1", record)
        world.run(1)
        assert totals(world) == [5, 5, 5]
    node = world.sites["s1"].node
    assert node
    assert node.counters["spend", ledger.BAD_SIGNATURE] == 3


def tenants_and_origins_are_bounded(active: frozenset[str]) -> None:
    world = started(active, "s1")
    node = world.sites["s1"].node
    assert node
    for number in range(ledger.TENANT_CAP + 1):
        say(world, "s1", signed(f"t{number}", "s1", 1))
    for number in range(ledger.ORIGIN_CAP + 1):
        say(world, "s1", signed("t0", f"site-{number}", 1))
    assert node.ledger.sizes() == (ledger.TENANT_CAP, ledger.ORIGIN_CAP)
    assert node.counters["spend", ledger.TENANTS_FULL] == 1
    assert node.counters["spend", ledger.ORIGINS_FULL] == 2
    assert node.ledger.full("new", "s1") == ledger.TENANTS_FULL
    assert node.ledger.full("t0", "new") == ledger.ORIGINS_FULL
    assert node.ledger.full("t0", "site-0") == ""
    say(world, "s1", signed("t0", "site-0", 7, sequence=2))
    assert node.ledger.total("t0") == ledger.ORIGIN_CAP + 6


def who_has_no_key_neither_joins_nor_disturbs(active: frozenset[str]) -> None:
    world = World((*THREE, "s4"), active=active)
    sealed(world, s1=(OLD,), s2=(OLD,), s3=(NEW,))
    world.start()
    world.spend("s3", "t", 1)
    world.spend("s1", "t", 10)
    say(world, "s1", signed("t", "s4", 100))
    world.run(20)
    assert totals(world) == [10, 10, 1, 0]
    assert [len(site.node.members) for site in world.living() if site.node] == [2, 2, 1, 1]
    node = world.sites["s1"].node
    assert node
    assert node.counters["exchange", "undecryptable"] > 0
    assert node.counters["exchange", "plain"] > 0


def keys_are_rotated_under_way_without_a_suspicion(active: frozenset[str]) -> None:
    world = World(THREE, active=active)
    envelopes = sealed(world, s1=(OLD,), s2=(OLD,), s3=(OLD,))
    world.start()
    assert world.run(10, lambda: knows_all(world))
    seen = states_seen(world)
    for ring in ((OLD, NEW), (NEW, OLD), (NEW,)):
        for name in THREE:
            envelopes[name].rotate(ring)
            world.run(3)
    world.spend("s1", "t", 2)
    assert world.run(2, lambda: agree(world, 2))
    assert not [change for change in seen if change[2] in (SUSPECT, DEAD)]


def a_late_joiner_learns_what_a_dead_site_spent(active: frozenset[str]) -> None:
    world = started(active, "s1", "s2")
    world.spend("s1", "t", 70)
    world.run(5)
    world.kill("s1")
    world.run(bounds.detection(2, KIND))
    world.start("s3")
    assert world.run(bounds.convergence(2, KIND), lambda: totals(world) == [70, 70]), totals(world)


def eviction_lowers_no_total(active: frozenset[str]) -> None:
    world = started(active, parameters=SHORT_LIVED)
    watch = Watch(world)
    world.spend("s3", "t", 9)
    world.run(3)
    world.publish("s3", b"p")
    world.run(3)
    world.kill("s3")
    evicted = []
    world.observers.append(lambda _, site, effect: evicted.append(site.name) if _evicts(effect, "s3") else None)
    for _ in range(200):
        world.run(0.2)
        watch.look_at_all()
        assert totals(world) == [9, 9]
    assert sorted(evicted) == ["s1", "s2"]
    assert providers(world, "s1") == {}
    assert not watch.violations


def a_partition_heals(active: frozenset[str]) -> None:
    for both_ways in (True, False):
        world = started(active)
        watch = Watch(world)
        world.cut(["s1"], ["s2", "s3"], both_ways)
        world.run(bounds.detection(3, KIND))
        world.spend("s1", "t", 1)
        world.spend("s2", "t", 20)
        for _ in range(20):
            world.run(1)
            watch.look_at_all()
            for name, own in (("s1", 1), ("s2", 20)):
                node = world.sites[name].node
                assert node
                assert own <= node.ledger.total("t") <= 21
        world.heal()
        assert world.run(bounds.healing(3, KIND), functools.partial(agree, world, 21)), totals(world)
        assert not watch.violations


def a_new_epoch_starts_at_zero_and_stays_there(active: frozenset[str]) -> None:
    world = started(active)
    world.spend("s1", "t", 50)
    world.run(3)
    for name in ("s1", "s2"):
        world.set_epoch(name, 1)
    world.spend("s3", "t", 4)  # this site still lives in the old epoch
    world.run(5)
    assert totals(world) == [0, 0, 54]
    world.spend("s1", "t", 3)
    world.run(5)
    assert totals(world) == [3, 3, 54]
    world.set_epoch("s3", 1)
    world.run(5)
    assert totals(world) == [3, 3, 3]
    say(world, "s1", signed("t", "s3", 54, epoch=0, sequence=9))
    world.run(5)
    assert totals(world) == [3, 3, 3]


def many_tenants_with_long_names_converge_within_the_packet_budget(active: frozenset[str]) -> None:
    world = started(active)
    sizes: list[int] = []
    world.taps.append(lambda _, data: sizes.append(len(data)))
    for number in range(200):
        world.spend(THREE[number % 3], f"{number:03}-{'long' * 45}", 1)
    world.spend("s1", "\N{ROCKET}" * 253, 1)  # 1012 bytes of UTF-8, the longest there is
    nodes = [site.node for site in world.living() if site.node]
    converged = world.run(bounds.convergence(3, KIND), lambda: all(len(node.ledger.totals()) == 201 for node in nodes))
    assert converged, [len(node.ledger.totals()) for node in nodes]
    world.run(30)
    assert max(sizes) <= KIND.packet_bytes
    assert nodes[0].waiting == 0


def _evicts(effect: events.Effect, name: str) -> bool:
    return isinstance(effect, events.MemberEvicted) and effect.name == name
