"""A running Redis as a place: sessions with it through the API server, without a password as the chart has it, and its fence.

The fence is the key space-smoke:fence:<domain>. CONFIG, CLIENT and SCRIPT are refused inside Lua (they are `noscript`), and
a store that is full refuses every command inside MULTI, so that a fault of `maxmemory` could not be put back from there.
Therefore the connection itself is fenced. One that changes something is named after domain and fence, then reads the
fence, then changes. A claim raises the fence, then kills every connection with the name of a lower one, then reads the
value. A connection that read its own fence as the current one had its name before the fence was raised, so the claim
kills it: what it had sent was carried out before the value was read, or never will be.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import redis
from redis import connection as connecting

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.bench.outside import place, pods
from space_smoke.model import objects

T = TypeVar("T")

Refused = redis.ResponseError  # an error answer: nothing was done
_CONNECTION: Any = connecting.Connection  # not annotated throughout
PORT = 6379

# allow-oom: a full store must not keep a fault from being put back.
_RAISE = """#!lua flags=allow-oom
local have = redis.call('GET', KEYS[1])
if have and tonumber(have) > tonumber(ARGV[1]) then return have end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
"""


class Session:
    """One connection: one command at a time, sent once. Raises ApiError where no answer came."""

    def __init__(self, connection: Any, deadline: pods.Deadline, pod: pods.Pod) -> None:
        self._connection = connection
        self._deadline = deadline
        self.pod = pod

    def call(self, *words: str | int) -> Any:
        """The answer; an error answer is raised as Refused."""
        try:
            self._connection.send_command(*words, check_health=False)
            return self._connection.read_response(timeout=self._deadline.left_s())
        except redis.ResponseError:
            raise
        except (redis.RedisError, OSError) as error:
            raise errors.ApiError(
                f"redis in pod {self.pod.name} did not answer {words[0]}: {type(error).__name__}: {error}", status=0
            ) from error

    def silent(self, silence_s: float, *words: str | int) -> bool:
        """Whether there is no answer for so long. The session is of no more use when there is none."""
        self._connection.send_command(*words, check_health=False)
        try:
            self._connection.read_response(timeout=silence_s)
        except redis.TimeoutError:
            return True
        except (redis.RedisError, OSError) as error:
            raise errors.ApiError(f"redis in pod {self.pod.name} went away: {error}", status=0) from error
        return False


def _forwarded(given: Any, name: str | None, timeout_s: float) -> Any:
    """A connection over a socket that exists. It says nothing of its own, because a paused server would not answer it,
    and it is never opened again, because what it did would then be unknown."""
    once = [given]

    def only_once() -> Any:
        if not once:
            raise OSError("it was closed")
        return once.pop()

    made: Any = _CONNECTION(
        protocol=2, decode_responses=True, driver_info=None, client_name=name, socket_timeout=timeout_s
    )
    made._connect = only_once
    return made


class Server:
    """The Redis of a Deployment: sessions, and the two guarded steps that all its kinds share."""

    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    @contextlib.contextmanager
    def session(self, ref: objects.Ref, timeout_s: float = pods.REACH_S, name: str | None = None) -> Iterator[Session]:
        """A connection to a server that answers. `name` is what CLIENT LIST calls it."""
        deadline = pods.Deadline(timeout_s, f"redis of {ref}")

        def greet(pod: pods.Pod) -> tuple[Any, pods.Pod]:
            opened = self._open(pod, deadline, name)
            try:
                opened.connect()
                opened.send_command("PING", check_health=False)
                opened.read_response(timeout=deadline.left_s())
            except redis.TimeoutError as error:
                opened.disconnect()
                raise errors.ApiError(f"redis in pod {pod.name} does not answer", status=0) from error
            except (redis.RedisError, OSError) as error:
                opened.disconnect()
                raise pods.NotYet(f"redis in pod {pod.name}: {error}") from error
            return opened, pod

        connection, pod = pods.reached(self._cluster, ref, deadline, greet)
        try:
            yield Session(connection, deadline, pod)
        except redis.ResponseError as error:
            raise errors.ApiError(f"redis in pod {pod.name}: {error}", status=0) from error
        finally:
            connection.disconnect()

    @contextlib.contextmanager
    def silence(self, ref: objects.Ref, timeout_s: float = pods.REACH_S) -> Iterator[Session]:
        """A connection that was accepted, by a server that may not answer."""
        deadline = pods.Deadline(timeout_s, f"redis of {ref}")
        connection, pod = pods.reached(self._cluster, ref, deadline, lambda pod: (self._open(pod, deadline, None), pod))
        try:
            connection.connect()
            yield Session(connection, deadline, pod)
        except (redis.RedisError, OSError) as error:
            raise errors.ApiError(f"redis in pod {pod.name}: {type(error).__name__}: {error}", status=0) from error
        finally:
            connection.disconnect()

    def _open(self, pod: pods.Pod, deadline: pods.Deadline, name: str | None) -> Any:
        try:
            given = pods.dial(self._cluster, pod, PORT, deadline)
        except errors.ApiError as error:
            raise pods.NotYet(error.message) from error
        return _forwarded(given, name, deadline.left_s())

    def claim(self, ref: objects.Ref, domain: str, fence: int, timeout_s: float, value: Callable[[Session], T]) -> T:
        """Raises the fence, ends whoever has a lower one, and returns what `value` reads. Raises Refusal(409)."""
        with self.session(ref, timeout_s) as to:
            have = int(to.call("EVAL", _RAISE, 1, key_of(domain), fence))
            if have > fence:
                raise place.Refusal(409, str(have))
            for number in _lower(to.call("CLIENT", "LIST"), domain, fence):
                to.call("CLIENT", "KILL", "ID", number)
            return value(to)

    def alter(
        self,
        ref: objects.Ref,
        domain: str,
        fence: int,
        timeout_s: float,
        change: Callable[[Session], T],
    ) -> T:
        """Runs `change` on a connection that is killed when somebody claims a higher fence. Raises Refusal(409)."""
        with self.session(ref, timeout_s, name=f"{key_of(domain)}:{fence}") as to:
            have = to.call("GET", key_of(domain))
            if have != str(fence):
                raise place.Refusal(409, have or "")
            return change(to)


def key_of(domain: str) -> str:
    return f"space-smoke:fence:{domain}"


def _lower(listed: str, domain: str, fence: int) -> Iterator[int]:
    """Ids of the connections in the answer of CLIENT LIST that are named after a lower fence of this domain."""
    for line in listed.splitlines():
        entry = dict(pair.split("=", 1) for pair in line.split(" ") if "=" in pair)
        before, _, number = entry.get("name", "").rpartition(":")
        if before == key_of(domain) and number.isdecimal() and int(number) < fence:
            yield int(entry["id"])
