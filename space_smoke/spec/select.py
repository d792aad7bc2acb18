"""Which scenarios a run takes: by name, by label, by shard. Nothing is ever left out or chosen by accident: an unknown name
or label, a wrong shard and an empty choice are errors."""

from __future__ import annotations

import json
import math
import pathlib
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.model import scenario
from space_smoke.spec import messages

_UNMEASURED_S = 1.0  # each scenario's weight where no duration is known at all


@dataclass(frozen=True, slots=True)
class Shard:
    """The slice `index` (from 1) of `count` slices."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def choose(
    scenarios: Sequence[scenario.Scenario],
    *,
    names: Sequence[str] = (),
    labels: Sequence[str] = (),
    shard: Shard | None = None,
    durations: Mapping[str, float] | None = None,
) -> tuple[scenario.Scenario, ...]:
    """The chosen scenarios by id. No names: all of them. `labels` are expressions: `a,b` has both labels, several
    expressions are alternatives. A shard is cut from what names and labels leave. Raises UsageError."""
    chosen = sorted(_named(scenarios, names), key=lambda one: one.id)
    if labels:
        wanted = [_labels(scenarios, expression) for expression in labels]
        chosen = [one for one in chosen if any(group <= set(one.labels) for group in wanted)]
    if not chosen:
        what = f"--label {' --label '.join(labels)}" if labels else "this folder"
        raise errors.UsageError(f"{what} chooses no scenario", next_step="see what there is: space_smoke list")
    if shard is None:
        return tuple(chosen)
    kept = shards(chosen, shard.count, durations or {})[shard.index - 1]
    if not kept:
        raise errors.UsageError(
            f"shard {shard} is empty: there are {len(chosen)} scenarios for {shard.count} shards",
            next_step=f"use at most {len(chosen)} shards",
        )
    return kept


def parse_shard(written: str) -> Shard:
    """`2/4` -> Shard. Raises UsageError for another form, for no shards at all and for an index outside 1..n."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", written)
    if match is None:
        raise errors.UsageError(
            f"--shard {written!r} is not written i/n", next_step="write --shard 2/4 for the second of four"
        )
    shard = Shard(int(match[1]), int(match[2]))
    if shard.count < 1:
        raise errors.UsageError(f"--shard {written}: there must be at least one shard", next_step="write --shard 1/1")
    if not 1 <= shard.index <= shard.count:
        raise errors.UsageError(
            f"--shard {written}: there is no shard {shard.index}", next_step=f"use an index from 1 to {shard.count}"
        )
    return shard


def shards(
    scenarios: Iterable[scenario.Scenario], count: int, durations: Mapping[str, float]
) -> tuple[tuple[scenario.Scenario, ...], ...]:
    """`count` slices that hold each scenario exactly once, each by id. The longest goes first, always to the slice that is
    shortest so far (Graham's longest-processing-time rule: at most 4/3 of the best split). What has no recorded duration
    counts as the median of those that have one. The same input gives the same slices on every machine."""
    whole = list(scenarios)
    known = [durations[one.id] for one in whole if one.id in durations]
    median = statistics.median(known) if known else _UNMEASURED_S
    weight = {one.id: durations.get(one.id, median) for one in whole}
    slices: list[list[scenario.Scenario]] = [[] for _ in range(count)]
    totals = [0.0] * count
    for one in sorted(whole, key=lambda one: (-weight[one.id], one.id)):
        shortest = min(range(count), key=lambda index: (totals[index], len(slices[index]), index))
        slices[shortest].append(one)
        totals[shortest] += weight[one.id]
    return tuple(tuple(sorted(part, key=lambda one: one.id)) for part in slices)


def durations(path: pathlib.Path) -> dict[str, float]:
    """Recorded seconds by scenario id, from {id: {"p75_s": seconds, ...}}. No file: nothing is recorded yet.

    Raises UsageError for a file that is something else: shards cut from half of it would overlap with other machines'.
    """
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error
    if not isinstance(recorded, dict):
        raise _unusable(path, "it is not a map of scenario ids")
    for name, entry in recorded.items():
        seconds = entry.get("p75_s") if isinstance(entry, dict) else None
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < math.inf:
            raise _unusable(path, f"{name} has no p75_s in seconds")
    return {name: float(entry["p75_s"]) for name, entry in recorded.items()}


def as_json(scenarios: Iterable[scenario.Scenario]) -> dict[str, Any]:
    """What `list --json` prints."""
    return {
        "scenarios": [
            {"id": one.id, "area": one.area, "claim": one.claim, "labels": list(one.labels), "budget_s": one.budget_s}
            for one in scenarios
        ]
    }


def _named(scenarios: Sequence[scenario.Scenario], names: Sequence[str]) -> list[scenario.Scenario]:
    by_id = {one.id: one for one in scenarios}
    unknown = [f"there is no scenario {name}{messages.nearest(name, by_id)}" for name in names if name not in by_id]
    if unknown:
        raise errors.UsageError("\n".join(unknown), next_step="see what there is: space_smoke list")
    return [by_id[name] for name in dict.fromkeys(names)] if names else list(scenarios)


def _labels(scenarios: Sequence[scenario.Scenario], expression: str) -> set[str]:
    known = {label for one in scenarios for label in one.labels}
    words = expression.split(",")
    for word in words:
        if word not in known:
            raise errors.UsageError(
                f"--label {expression!r}: no scenario has the label {word!r}{messages.nearest(word, known)}",
                next_step="write --label a,b for both labels, and --label a --label b for either",
            )
    return set(words)


def _unusable(path: pathlib.Path, why: str) -> errors.UsageError:
    return errors.UsageError(
        f"{path} cannot be used to cut shards: {why}", next_step="restore the file from version control, or delete it"
    )
