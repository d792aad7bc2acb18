"""How often, how long and how much: the settings of one node, and three profiles.

Durations are seconds. The LAN and WAN profiles follow memberlist's defaults; KIND is for a few sites on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

LEAST_PACKET_BYTES = 508  # every IPv4 host takes a datagram of this payload
MOST_PACKET_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Parameters:
    """Raises ValueError that names every wrong value at once."""

    probe_interval: float = 0.5
    probe_timeout: float = 0.2  # for a direct answer; after it, others are asked
    indirect_probes: int = 2
    gossip_interval: float = 0.1
    gossip_fanout: int = 3
    retransmit_multiplier: int = 4
    suspicion_timeout: float = 2.0  # the least, for up to ten members
    suspicion_maximum: int = 6  # the most is so many times the least
    suspicion_confirmations: int = 3
    push_pull_interval: float = 2.0
    join_interval: float = 2.0  # between tries of seeds that are not alive members
    reconnect_interval: float = 10.0  # between exchanges with a dead member
    dead_ttl: float = 300.0  # a dead or left member is forgotten after this
    health_maximum: int = 8
    stream_timeout: float = 5.0
    packet_bytes: int = 1200  # of one datagram, encryption included

    def __post_init__(self) -> None:
        wrong = [
            f"{field.name}={value} must be a positive number"
            for field in fields(self)
            if not 0 < (value := getattr(self, field.name)) < 1e9 and field.name not in _MAY_BE_ZERO
        ]
        wrong += [f"{name}={value} must not be negative" for name in _MAY_BE_ZERO if (value := getattr(self, name)) < 0]
        if self.probe_interval <= 2 * self.probe_timeout:
            wrong.append(f"probe_interval={self.probe_interval} must be more than twice probe_timeout")
        if not LEAST_PACKET_BYTES <= self.packet_bytes <= MOST_PACKET_BYTES:
            wrong.append(f"packet_bytes={self.packet_bytes} must be {LEAST_PACKET_BYTES} to {MOST_PACKET_BYTES}")
        if wrong:
            raise ValueError("; ".join(wrong))


_MAY_BE_ZERO = ("indirect_probes", "suspicion_confirmations", "health_maximum")

KIND = Parameters(dead_ttl=30.0)
LAN = Parameters(
    probe_interval=1.0,
    probe_timeout=0.4,
    indirect_probes=3,
    gossip_interval=0.2,
    suspicion_timeout=4.0,
    push_pull_interval=30.0,
    join_interval=10.0,
    reconnect_interval=30.0,
)
WAN = Parameters(
    probe_interval=5.0,
    probe_timeout=2.0,
    indirect_probes=3,
    gossip_interval=0.5,
    gossip_fanout=4,
    suspicion_timeout=30.0,
    push_pull_interval=60.0,
    join_interval=30.0,
    reconnect_interval=60.0,
    stream_timeout=10.0,
)
