"""The sentences that console, text and HTML share, so that the same event reads the same everywhere. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from space_smoke import errors

NEXT_STATUS = "space_smoke status"
NEXT_REPAIR = "space_smoke repair"

EXIT = {
    errors.PASSED: "all passed",
    errors.FAILED: "a scenario failed or is unknown",
    errors.REFUSED: "refused: a live holder has a fault up, or a Lease is held by someone not provably dead",
    errors.INCOMPLETE: "a restore is incomplete, its record is kept",
    errors.LOST: "the Lease was lost to a successor",
    errors.UNFIT: "the bench or host was not fit to judge",
    errors.USAGE: "wrong usage, or a bad scenario file",
    errors.BROKE: "the harness itself broke",
}
_BENCH_FLAGS = ("--name", "--backend", "--context", "--kubeconfig", "--namespace")


def clean(text: object) -> str:
    """Text that cannot move a terminal's cursor or break XML: control characters and lone surrogates become `?`."""
    return "".join(c if _harmless(c) else "?" for c in str(text))


def _harmless(c: str) -> bool:
    return c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f" and not "\ud800" <= c <= "\udfff" and c < "\ufffe")


def one_line(text: object) -> str:
    return " ".join(clean(text).split())


def seconds(value: object) -> str:
    """`0.12 s`, `34.1 s`, `3 m 20 s`, or "" when there is no number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return ""
    if value >= 120:
        return f"{int(value) // 60} m {int(value) % 60} s"
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def milliseconds(value_s: float | None) -> str:
    return "-" if value_s is None else f"{value_s * 1000:.0f} ms"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def command(started: Mapping[str, Any]) -> str:
    """The command that was typed."""
    said = one_line(started.get("command") or "")
    return said if said.startswith("space_smoke") else f"space_smoke {said}".strip()


def again(started: Mapping[str, Any], scenario: str, seed: object) -> str:
    """The exact command that runs one scenario again on the same bench with the same seed."""
    words = ["space_smoke", "run", scenario]
    argv = started.get("argv")
    given = [str(word) for word in argv] if isinstance(argv, list | tuple) else []
    for at, word in enumerate(given):
        flag, equals, value = word.partition("=")
        if flag in _BENCH_FLAGS:
            words += [flag, value] if equals else given[at : at + 2]
    if seed is not None:
        words += ["--seed", str(seed)]
    return " ".join(shlex.quote(one_line(word)) for word in words)


def identity(started: Mapping[str, Any]) -> str:
    """Version, bench, seed and run: what stands beside the command on the first line."""
    bench = one_line(started.get("bench") or "none")
    backend = f" ({one_line(started['backend'])})" if started.get("backend") else ""
    words = [f"version {one_line(started.get('version') or '?')}", f"bench {bench}{backend}"]
    words += [f"{key} {one_line(started[key])}" for key in ("seed", "run") if started.get(key) is not None]
    return ", ".join(words)


def repaired(data: Mapping[str, Any]) -> str:
    """The line for a fault that another run left and this one put back."""
    what = " ".join(one_line(data.get(key)) for key in ("domain", "kind", "target", "fault") if data.get(key))
    why = [f"{key} {one_line(data[key])}" for key in ("run", "holder") if data.get(key)]
    why += [f"age {seconds(data['age_s'])}"] if seconds(data.get("age_s")) else []
    why += [f"proof: {one_line(data['proof'])}"] if data.get("proof") else []
    return f"REPAIRED: {what} -> {value(data.get('standing'))} ({', '.join(why)})"


def refused(data: Mapping[str, Any]) -> str:
    sentence = one_line(data.get("sentence") or "a live holder has a fault up")
    facts = [f"{key} {one_line(data[key])}" for key in ("domain", "holder", "fault") if data.get(key)]
    facts += [f"age {seconds(data['age_s'])}"] if seconds(data.get("age_s")) else []
    return f"REFUSED: {sentence}" + (f" ({', '.join(facts)})" if facts else "")


def value(thing: Any) -> str:
    """A standing or fault value for people: maps as `key=value`."""
    if isinstance(thing, Mapping):
        inner = ", ".join(f"{one_line(key)}={value(item)}" for key, item in thing.items())
        return short(inner or "nothing", 120)
    return short(one_line("absent" if thing is None else thing), 120)


def short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def faults(named: object) -> list[str]:
    """The names of open faults, however the event lists them."""
    listed = named if isinstance(named, list | tuple) else ()
    return [
        one_line(item.get("fault") or item.get("name") or item) if isinstance(item, Mapping) else one_line(item)
        for item in listed
    ]


def open_faults(number: int | None, named: Sequence[str]) -> str:
    """The last line of every run."""
    if number is None:
        return f"open faults: not known, the Leases were not read at the end. next: {NEXT_STATUS}"
    if not number:
        return "0 open faults"
    return f"{count(number, 'open fault')}: {', '.join(named) or 'unnamed'}. next: {NEXT_REPAIR}"


def tally(counts: Mapping[str, int]) -> str:
    """`201 x4, 429 x16`."""
    return ", ".join(f"{name} x{number}" for name, number in counts.items())


def decisions(data: Mapping[str, Any]) -> str:
    """`activation admitted, concurrency refused (store_unavailable)`, or ""."""
    found = []
    for limiter in ("activation", "concurrency"):
        made = data.get(limiter)
        if isinstance(made, Mapping):
            reason = made.get("reason")
            found.append(f"{limiter} {made.get('outcome')}" + (f" ({reason})" if reason not in (None, "none") else ""))
    return ", ".join(map(one_line, found))


def event(index: int, at_s: float, kind: str, data: Mapping[str, Any]) -> str:
    """One event in one line, for lists of proof."""
    return f"#{index} {at_s:.3f} s {kind} {_told(kind, data)}".rstrip()


def _told(kind: str, data: Mapping[str, Any]) -> str:
    if kind == "request":
        return _request(data)
    if kind == "pods":
        listed = data.get("pods")
        pods = [pod for pod in listed if isinstance(pod, Mapping)] if isinstance(listed, list | tuple) else []
        return f"{one_line(data.get('target'))}: " + "; ".join(_pod(pod) for pod in pods)
    if kind == "open-faults":
        return f"{data.get('count')} {', '.join(faults(data.get('faults')))}".rstrip()
    return short(_pairs(data), 160)


def _request(data: Mapping[str, Any]) -> str:
    answer = f"status {data['status']}" if data.get("status") is not None else f"no answer ({data.get('error')})"
    words = [f"{data.get('load')} n={data.get('n')} {data.get('do')}"]
    words += [f"client {data['client']}"] if data.get("client") else []
    words += ["->", answer]
    words += [str(data["code"])] if data.get("code") else []
    words += [decisions(data)] if decisions(data) else []
    words += [f"by {data['pod']}"] if data.get("pod") else []
    return one_line(" ".join(words))


def _pod(pod: Mapping[str, Any]) -> str:
    state = "terminating" if pod.get("terminating") else ("ready" if pod.get("ready") else "not ready")
    return one_line(f"{pod.get('name')} on {pod.get('node')}, {state}{'' if pod.get('current', True) else ', old'}")


def _pairs(data: Mapping[str, Any]) -> str:
    return " ".join(f"{one_line(key)}={value(item)}" for key, item in data.items() if item not in (None, "", [], {}))


def names(items: Iterable[object]) -> str:
    return ", ".join(one_line(item) for item in items)
