"""Throw packets at a node that must neither raise nor grow nor count a cent: random, changed, forged and replayed ones.

python -m swim.simulator.fuzz --packets 1000000
"""

from __future__ import annotations

import argparse
import sys
import time

from swim import events
from swim.envelope import Envelope
from swim.simulator.forging import Forger
from swim.simulator.world import World

KEY = bytes(range(32))


def fuzz(packets: int, seed: int, keys: tuple[bytes, ...] = ()) -> World:
    """A world in which the first of two sites took so many hostile packets, a tenth of them as frames of streams.

    Raises whatever the node raises; there is nothing that it should.
    """
    world = World(["s1", "s2"], seed)
    for site in world.sites.values():
        site.make_envelope = lambda: Envelope("net", keys)
    world.start()
    forger = Forger(world, Envelope("net", keys))
    world.spend("s1", "t", 1)
    for number in range(packets):
        if number % 10 == 9:
            world.tell("s1", events.StreamData(-(10**9), forger.packet()))
        else:
            world.inject("s1", forger.packet())
        if number % 100 == 99:
            world.run(0.05)
    return world


def main() -> int:
    """Print what the node counted."""
    parser = argparse.ArgumentParser(prog="python -m swim.simulator.fuzz", description=__doc__)
    parser.add_argument("--packets", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name, keys in (("plain", ()), ("sealed", (KEY,))):
        began = time.process_time()
        node = fuzz(given.packets, given.seed, keys).sites["s1"].node
        assert node
        spent = time.process_time() - began
        counted = ", ".join(f"{what} {which} {times}" for (what, which), times in sorted(node.counters.items()))
        print(  # noqa: T201 - a command's answer
            f"{name}: {given.packets} packets in {spent:.1f} s of one core, {len(list(node.members.others()))} members,"
            f" totals {node.ledger.totals()}, waiting {node.waiting}; {counted}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
