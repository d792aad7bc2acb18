"""The Redis places against a Redis that is a few lines long: who may change what, in which order, and what silence means."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench.outside import place, pods, redis, redis_kinds
from space_smoke.model import kinds, objects

REF = objects.Ref("apps/v1", "Deployment", "space", "space-redis")
POD = pods.Pod("space", "space-redis-1", "uid-1", "redis", True, 0, {"kind": "Deployment"})
KEY = redis.key_of("d")
HZ = {"setting": "hz"}


class Fake:
    """A Redis: keys, settings, scripts, named connections, a pause. `before` is called with each command's words."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self.settings = {"hz": "10", "maxmemory": "100"}
        self.shows: Callable[[str], str] = str
        self.scripts: set[str] = set()
        self.flushes = 0
        self.run = "run-1"
        self.paused = ""
        self.names: dict[int, str] = {}
        self.said: list[tuple[Any, ...]] = []
        self.before: Callable[[tuple[Any, ...]], None] = lambda _words: None
        self.lost: Callable[[tuple[Any, ...]], bool] = lambda _words: False

    def silent(self, words: tuple[Any, ...]) -> bool:
        return self.paused == "ALL" or (self.paused == "WRITE" and words[0] in ("EVAL", "PUBLISH", "SET"))

    def answer(self, number: int, words: tuple[Any, ...]) -> Any:
        self.before(words)
        if number not in self.names or self.silent(words):
            raise errors.ApiError("no answer", status=0)
        self.said.append(words)
        answer = self.carried_out(words)
        if self.lost(words):
            raise errors.ApiError("the answer was lost", status=0)
        return answer

    def carried_out(self, words: tuple[Any, ...]) -> Any:
        match words:
            case ("EVAL", _, 1, key, fence):
                if key not in self.keys or int(self.keys[key]) <= fence:
                    self.keys[key] = str(fence)
                return self.keys[key]
            case ("GET", key):
                return self.keys.get(key)
            case ("CLIENT", "LIST"):
                return "\n".join(f"id={number} addr=a:1 name={name} db=0" for number, name in self.names.items())
            case ("CLIENT", "KILL", "ID", number):
                return int(self.names.pop(number, None) is not None)
            case ("CLIENT", "PAUSE", _, mode):
                self.paused = mode
            case ("CLIENT", "UNPAUSE"):
                self.paused = ""
            case ("CONFIG", "GET", name):
                return [name, self.settings[name]] if name in self.settings else []
            case ("CONFIG", "SET", name, value):
                if value == "nonsense":
                    raise redis.Refused("CONFIG SET failed")
                self.settings[name] = self.shows(value)
            case ("INFO", "commandstats"):
                return f"# Commandstats\r\ncmdstat_script|flush:calls={self.flushes},usec=1" if self.flushes else ""
            case ("INFO", "server"):
                return f"# Server\r\nrun_id:{self.run}\r\n"
            case ("SCRIPT", "LOAD", script):
                self.scripts.add(hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest())
            case ("SCRIPT", "EXISTS", sha):
                return [int(sha in self.scripts)]
            case ("SCRIPT", "FLUSH"):
                self.scripts.clear()
                self.flushes += 1
            case ("PING",):
                return "PONG"
        return "OK"


class Session:
    def __init__(self, fake: Fake, number: int) -> None:
        self._fake, self._number, self.pod = fake, number, POD

    def call(self, *words: Any) -> Any:
        return self._fake.answer(self._number, words)

    def silent(self, _silence_s: float, *words: Any) -> bool:
        return self._fake.silent(words)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()

    @contextlib.contextmanager
    def session(_self: Any, _ref: objects.Ref, _timeout_s: float = 1, name: str | None = None) -> Iterator[Session]:
        number = len(made.said) + 1000 * (len(made.names) + 1)
        made.names[number] = name or ""
        try:
            if made.paused == "ALL":
                raise errors.ApiError("it does not answer", status=0)
            yield Session(made, number)
        finally:
            made.names.pop(number, None)

    @contextlib.contextmanager
    def silence(_self: Any, _ref: objects.Ref) -> Iterator[Session]:
        made.names[1] = ""
        yield Session(made, 1)

    monkeypatch.setattr(redis.Server, "session", session)
    monkeypatch.setattr(redis.Server, "silence", silence)
    return made


def config() -> redis_kinds.Config:
    return redis_kinds.Config(None)  # type: ignore[arg-type]


def altered(fence: int, before: str = "10", after: str = "20") -> Any:
    return config().alter(REF, HZ, "d", fence, {"value": before}, {"value": after}, 1)


def test_a_claim_raises_the_fence_and_reads_the_value(fake: Fake) -> None:
    assert config().claim(REF, HZ, "d", 3, 1) == {"value": "10"}
    assert fake.keys == {KEY: "3"}


@pytest.mark.parametrize("have", [None, "2", "3"])
def test_a_claim_passes_a_fence_that_is_missing_lower_or_its_own(fake: Fake, have: str | None) -> None:
    if have is not None:
        fake.keys[KEY] = have
    config().claim(REF, HZ, "d", 3, 1)
    assert fake.keys == {KEY: "3"}


def test_a_claim_below_the_fence_is_told_the_number_and_changes_nothing(fake: Fake) -> None:
    fake.keys[KEY] = "4"
    with pytest.raises(place.Refusal) as refusal:
        config().claim(REF, HZ, "d", 3, 1)
    assert (refusal.value.status, refusal.value.message) == (409, "4")
    assert fake.keys == {KEY: "4"}


@pytest.mark.parametrize(("have", "told"), [(None, ""), ("2", "2"), ("4", "4")])
def test_a_change_is_refused_under_any_fence_but_its_own(fake: Fake, have: str | None, told: str) -> None:
    if have is not None:
        fake.keys[KEY] = have
    with pytest.raises(place.Refusal) as refusal:
        altered(3)
    assert (refusal.value.status, refusal.value.message) == (409, told)
    assert fake.settings["hz"] == "10"


def test_a_change_under_its_own_fence_is_made(fake: Fake) -> None:
    fake.keys[KEY] = "3"
    assert altered(3) == {"value": "20"}
    assert fake.settings["hz"] == "20"


def test_a_value_that_somebody_else_changed_is_not_overwritten(fake: Fake) -> None:
    fake.keys[KEY] = "3"
    fake.settings["hz"] = "15"
    with pytest.raises(place.Refusal) as refusal:
        altered(3)
    assert (refusal.value.status, refusal.value.message) == (412, "15")
    assert fake.settings["hz"] == "15"


@pytest.mark.parametrize("word", [("CONFIG", "GET"), ("CONFIG", "SET")])
def test_a_claim_between_the_fences_reading_and_the_change_stops_the_change(fake: Fake, word: tuple[str, str]) -> None:
    fake.keys[KEY] = "3"

    def overtake(words: tuple[Any, ...]) -> None:
        if words[:2] == word:
            fake.before = lambda _words: None
            config().claim(REF, HZ, "d", 4, 1)

    fake.before = overtake
    with pytest.raises(errors.ApiError):
        altered(3)
    assert fake.settings["hz"] == "10"


def test_a_claim_ends_lower_connections_of_its_own_domain_only(fake: Fake) -> None:
    fake.names |= {1: f"{KEY}:2", 2: f"{KEY}:3", 3: f"{KEY}:10", 4: redis.key_of("other") + ":1", 5: "", 6: "app"}
    config().claim(REF, HZ, "d", 3, 1)
    assert sorted(fake.names) == [2, 3, 4, 5, 6]


def test_a_claim_reads_the_value_after_it_ended_the_others(fake: Fake) -> None:
    fake.names[1] = f"{KEY}:2"
    config().claim(REF, HZ, "d", 3, 1)
    kept = [words[:2] for words in fake.said]
    assert kept.index(("CLIENT", "KILL")) < kept.index(("CONFIG", "GET"))


def test_a_change_whose_answer_was_lost_is_told_as_unknown_and_found_by_the_next_claim(fake: Fake) -> None:
    fake.keys[KEY] = "3"
    fake.lost = lambda words: words[:2] == ("CONFIG", "SET")
    with pytest.raises(errors.ApiError):
        altered(3)
    assert config().claim(REF, HZ, "d", 4, 1) == {"value": "20"}


def test_a_value_that_redis_shows_otherwise_is_taken_back_and_refused(fake: Fake) -> None:
    fake.keys[KEY] = "3"
    fake.shows = lambda value: value.replace("mb", "000")
    with pytest.raises(place.Refusal, match="shows '64mb' as '64000'") as refusal:
        altered(3, after="64mb")
    assert refusal.value.status == 422
    assert fake.settings["hz"] == "10"


def test_a_value_or_a_setting_that_redis_does_not_take_is_refused(fake: Fake) -> None:
    fake.keys[KEY] = "3"
    with pytest.raises(place.Refusal, match="CONFIG SET failed") as refusal:
        altered(3, after="nonsense")
    assert refusal.value.status == 422
    with pytest.raises(place.Refusal, match="no setting 'hzz'"):
        config().sense(REF, {"setting": "hzz"})


def test_scripts_count_as_flushed_after_one_flush_and_stay_so_for_everybody(fake: Fake) -> None:
    there = redis_kinds.Scripts(None)  # type: ignore[arg-type]
    field, value = there.sense(REF, {})
    assert value == {"done": False}
    assert there.claim(REF, field, "d", 3, 1) == {"done": False}
    assert not there.settled(REF, field, {"done": True}).done
    assert there.alter(REF, field, "d", 3, {"done": False}, {"done": True}, 1) == {"done": True}
    assert there.claim(REF, field, "d", 4, 1) == {"done": True}
    state = there.settled(REF, field, {"done": True})
    assert state.done
    assert state.thing is not None
    assert state.thing[kinds.OUTSIDE] == {"done": True}
    with pytest.raises(place.Refusal) as refusal:
        there.alter(REF, field, "d", 4, {"done": False}, {"done": True}, 1)
    assert (refusal.value.status, fake.flushes) == (412, 1)


def test_a_flush_that_was_counted_and_left_a_script_there_is_not_in_effect(fake: Fake) -> None:
    there = redis_kinds.Scripts(None)  # type: ignore[arg-type]
    field, _ = there.sense(REF, {})
    there.claim(REF, field, "d", 3, 1)
    fake.flushes += 1
    assert not there.settled(REF, field, {"done": True}).done


def test_a_script_that_is_missing_without_a_flush_is_no_flush(fake: Fake) -> None:
    there = redis_kinds.Scripts(None)  # type: ignore[arg-type]
    field, _ = there.sense(REF, {})
    assert not there.settled(REF, field, {"done": True}).done


def test_a_server_that_was_restarted_has_no_scripts_of_before(fake: Fake) -> None:
    there = redis_kinds.Scripts(None)  # type: ignore[arg-type]
    field, _ = there.sense(REF, {})
    fake.run = "run-2"
    assert there.claim(REF, field, "d", 3, 1) == {"done": True}


@pytest.mark.parametrize("mode", ["all", "write"])
def test_a_pause_is_known_to_whoever_began_it_and_to_nobody_else_until_it_is_over(fake: Fake, mode: str) -> None:
    now = [100.0]
    there, other = (redis_kinds.Pause(None, lambda: now[0]) for _ in range(2))  # type: ignore[arg-type]
    field = {"for_s": 5.0, "mode": mode}
    assert there.claim(REF, field, "d", 3, 1) == {"paused": False}
    assert there.alter(REF, field, "d", 3, {"paused": False}, {"paused": True}, 1) == {"paused": True}
    assert there.settled(REF, field, {"paused": True}).done
    assert not there.settled(REF, field, {"paused": False}).done
    assert there.claim(REF, field, "d", 3, 1) == {"paused": True}
    for runner, fence in ((there, 4), (other, 3), (other, 4)):
        with pytest.raises(errors.ApiError):
            runner.claim(REF, field, "d", fence, 1)
    now[0], fake.paused = 106.0, ""
    assert there.claim(REF, field, "d", 3, 1) == {"paused": False}
    assert there.settled(REF, field, {"paused": False}).done


def test_a_pause_of_writes_is_ended_before_its_time(fake: Fake) -> None:
    there = redis_kinds.Pause(None)  # type: ignore[arg-type]
    field = {"for_s": 30.0, "mode": "write"}
    there.claim(REF, field, "d", 3, 1)
    there.alter(REF, field, "d", 3, {"paused": False}, {"paused": True}, 1)
    assert there.alter(REF, field, "d", 3, {"paused": True}, {"paused": False}, 1) == {"paused": False}
    assert there.claim(REF, field, "d", 3, 1) == {"paused": False}
    assert fake.paused == ""


def test_a_pause_under_another_fence_is_neither_begun_nor_ended(fake: Fake) -> None:
    there = redis_kinds.Pause(None)  # type: ignore[arg-type]
    field = {"for_s": 5.0, "mode": "write"}
    there.claim(REF, field, "d", 4, 1)
    for value in (False, True):
        with pytest.raises(place.Refusal):
            there.alter(REF, field, "d", 3, {"paused": value}, {"paused": not value}, 1)
    assert not [words for words in fake.said if words[:2] in (("CLIENT", "PAUSE"), ("CLIENT", "UNPAUSE"))]
