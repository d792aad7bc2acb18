"""Faults of a running Redis: one of its settings, a pause, its cached scripts."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from space_smoke.bench import kube, wait
from space_smoke.bench.outside import place, pods, redis
from space_smoke.model import kinds, objects

# A pause is known by silence. The long one decides where being wrong would cost most: before anything is raised.
_SILENCE_S, _LONG_SILENCE_S = 1.0, 5.0
# What each mode leaves without an answer. PUBLISH counts as a write and leaves nothing behind.
_PROBES = {"all": ("PING",), "write": ("PUBLISH", "space-smoke:probe", "")}


class _Kind:
    """What the three places share."""

    def __init__(self, cluster: kube.Kube) -> None:
        self._server = redis.Server(cluster)

    def watching(self, ref: objects.Ref) -> place.Watched:
        return [("v1", "Pod", ref.namespace)]


class Config(_Kind):
    """CONFIG SET of one setting. A value is {"value": text}, as CONFIG GET shows it."""

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        with self._server.session(ref) as to:
            return field, _setting(to, field)

    def claim(self, ref: objects.Ref, field: place.Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        return self._server.claim(ref, domain, fence, timeout_s, lambda to: _setting(to, field))

    def alter(
        self,
        ref: objects.Ref,
        field: place.Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        """Redis may show a value otherwise than it was given (64mb, KEA): that one is taken back, and refused with 422."""

        def change(to: redis.Session) -> objects.Json:
            now = _setting(to, field)
            if now != before:
                raise place.Refusal(412, str(now["value"]))
            _set(to, field["setting"], after["value"])
            now = _setting(to, field)
            if now != after:
                _set(to, field["setting"], before["value"])
                raise place.Refusal(
                    422, f"{field['setting']}: Redis shows {after['value']!r} as {now['value']!r}; say it that way"
                )
            return now

        return self._server.alter(ref, domain, fence, timeout_s, change)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """By CONFIG GET on a new connection, which shows what the server works with and not what a file says."""
        with self._server.session(ref) as to:
            now = _setting(to, field)
            return wait.State(now == expect, f"{field['setting']} is {now['value']!r}", thing=_with(to, now))


class Scripts(_Kind):
    """SCRIPT FLUSH. A value is {"done": bool}: the server's count of flushes is another one than when it was sensed, or
    the server is another one, which has no scripts of before either. The field holds run, count, and a word for the
    script that a claim loads and the flush must take away."""

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        with self._server.session(ref) as to:
            full = {"marker": secrets.token_hex(6), **_counted(to), **field}
            return full, _flushed(to, full)

    def claim(self, ref: objects.Ref, field: place.Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        def value(to: redis.Session) -> objects.Json:
            now = _flushed(to, field)
            if now == {"done": False}:
                to.call("SCRIPT", "LOAD", _marker(field))
            return now

        return self._server.claim(ref, domain, fence, timeout_s, value)

    def alter(
        self,
        ref: objects.Ref,
        field: place.Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        def change(to: redis.Session) -> objects.Json:
            if _flushed(to, field) != before:
                raise place.Refusal(412, "the scripts were flushed already")
            to.call("SCRIPT", "FLUSH")
            return _flushed(to, field)

        return self._server.alter(ref, domain, fence, timeout_s, change)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        with self._server.session(ref) as to:
            now = _flushed(to, field)
            if expect == {"done": False}:
                return wait.State(to.call("PING") == "PONG", "it answers", thing=_with(to, now))
            known = to.call(
                "SCRIPT", "EXISTS", hashlib.sha1(_marker(field).encode(), usedforsecurity=False).hexdigest()
            )
            done = now == expect and known == [0]
            words = (
                f"flush seen: {now['done']}; the script loaded before it is {'still there' if known == [1] else 'gone'}"
            )
            return wait.State(done, words, thing=_with(to, now))


class Pause(_Kind):
    """CLIENT PAUSE. A value is {"paused": bool}; the field has `for_s` and `mode`.

    While it is up, the server carries out no command that could raise a fence (in mode `all`, no command): a claim finds
    no answer until the pause is over, and then the fault is gone. Only whoever paused it can tell without asking, because
    in that time nobody can have claimed a higher fence: until the pause that it began is over, `claim` with that same
    fence answers from memory.
    """

    def __init__(self, cluster: kube.Kube, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(cluster)
        self._clock = clock
        self._ours: dict[tuple[str, ...], tuple[str, int, float]] = {}

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        return field, {"paused": self._paused(ref, field, _LONG_SILENCE_S)[0]}

    def claim(self, ref: objects.Ref, field: place.Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        paused_by = self._ours.get(ref.where())
        if paused_by is not None and paused_by[:2] == (domain, fence) and self._clock() < paused_by[2]:
            return {"paused": True}
        # The command that raises the fence is one that no pause lets through.
        return self._server.claim(ref, domain, fence, timeout_s, lambda _to: {"paused": False})

    def alter(
        self,
        ref: objects.Ref,
        field: place.Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        """CLIENT UNPAUSE gets through in mode `write` only; in mode `all` what comes before it waits for the end."""

        def change(to: redis.Session) -> objects.Json:
            if before["paused"]:
                to.call("CLIENT", "UNPAUSE")
                self._ours.pop(ref.where(), None)
                return after
            to.call(*_PROBES["write"])  # answered: it is not paused yet
            until_s = self._clock() + field["for_s"]
            to.call("CLIENT", "PAUSE", int(field["for_s"] * 1000), str(field["mode"]).upper())
            self._ours[ref.where()] = (domain, fence, until_s)
            return after

        return self._server.alter(ref, domain, fence, timeout_s, change)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        paused, pod = self._paused(ref, field, _SILENCE_S)
        now = {"paused": paused}
        words = "it does not answer" if paused else "it answers"
        return wait.State(now == expect, words, thing={**pod.target, kinds.OUTSIDE: now})

    def _paused(self, ref: objects.Ref, field: place.Field, silence_s: float) -> tuple[bool, pods.Pod]:
        """By the effect: it accepts a connection and leaves a command without an answer."""
        with self._server.silence(ref) as to:
            if field["mode"] == "write":
                to.call("PING")  # what is slow, or gone, does not answer this either
            return to.silent(silence_s, *_PROBES[field["mode"]]), to.pod


def _setting(to: redis.Session, field: place.Field) -> dict[str, str]:
    """Raises Refusal(422) for a setting that this server does not have."""
    pairs = to.call("CONFIG", "GET", field["setting"])
    if len(pairs) != 2:
        raise place.Refusal(422, f"this Redis has no setting {field['setting']!r}")
    return {"value": str(pairs[1])}


def _set(to: redis.Session, setting: str, value: str) -> None:
    try:
        to.call("CONFIG", "SET", setting, value)
    except redis.Refused as error:
        raise place.Refusal(422, f"{setting}: {error}") from error


def _info(to: redis.Session, section: str) -> Mapping[str, str]:
    lines = str(to.call("INFO", section)).splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _counted(to: redis.Session) -> dict[str, Any]:
    """{"run": the server's run id, "flushes": how often it flushed its scripts}"""
    stats = dict(line.rsplit(":", 1) for line in str(to.call("INFO", "commandstats")).splitlines() if ":" in line)
    numbers = dict(pair.split("=", 1) for pair in stats.get("cmdstat_script|flush", "calls=0").split(","))
    return {"run": _info(to, "server")["run_id"], "flushes": int(numbers["calls"])}


def _flushed(to: redis.Session, field: place.Field) -> dict[str, bool]:
    return {"done": _counted(to) != {"run": field["run"], "flushes": field["flushes"]}}


def _marker(field: place.Field) -> str:
    return f"return '{field['marker']}'"


def _with(to: redis.Session, value: objects.Json) -> objects.Object:
    return {**to.pod.target, kinds.OUTSIDE: value}
