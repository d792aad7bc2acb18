"""What a GridNetwork says about times, as the gossip takes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from swim.parameters import Parameters

_TIMEOUT_SHARE = 0.4  # of a probe interval: more than twice must fit into one
DEFAULT_REFRESH_S = 300.0


def seconds(duration: str) -> float:
    """Of a duration such as 5s or 500ms. Raises ValueError for anything else; admission lets nothing else in."""
    number = duration.removesuffix("ms") if duration.endswith("ms") else duration.removesuffix("s")
    if number == duration or not (number.isascii() and number.isdigit()):
        raise ValueError(f"{duration!r} must be whole seconds or milliseconds, such as 5s or 500ms")
    return int(number) / 1000 if duration.endswith("ms") else float(number)


def parameters(base: Parameters, swim: Mapping[str, Any] | None) -> Parameters:
    """`base` with what `spec.swim` gives. Raises ValueError for what the gossip cannot work with."""
    given = swim or {}
    changed: dict[str, Any] = {}
    if "gossipNodes" in given:
        changed["gossip_fanout"] = int(given["gossipNodes"])
    if "probeInterval" in given:
        interval = seconds(given["probeInterval"])
        changed |= {"probe_interval": interval, "probe_timeout": interval * _TIMEOUT_SHARE}
    if "suspicionTimeout" in given:
        changed["suspicion_timeout"] = seconds(given["suspicionTimeout"])
    return dataclasses.replace(base, **changed)


def refresh_s(spec: Mapping[str, Any]) -> float:
    """Seconds without a change until the network is reconciled all the same. Raises ValueError as `seconds`."""
    given = spec.get("metricsRefreshInterval")
    return seconds(given) if given else DEFAULT_REFRESH_S
