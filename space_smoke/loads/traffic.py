"""What every load shares: whom it asks, when a request is due, and how an answer becomes an event."""

from __future__ import annotations

import concurrent.futures
import itertools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from space_smoke.bench import http, wait
from space_smoke.model import history, scenario

# An argument of loads that may go on while later phases begin.
THROUGH = {"type": "string", "description": "a phase, this one or a later: the load goes on beside it and ends with it"}
# The argument of loads that ask the sites of the grid.
SITES = {
    "type": "array",
    "minItems": 1,
    "uniqueItems": True,
    "items": {"type": "string", "pattern": "^[a-z0-9]+$"},
    "description": "sites of the grid, by their names among the members",
}
# The argument of loads that ask another service than the public API: its Deployment, which its Service is named after.
SERVICE = "service"

_BODY = 4000  # characters of an answer's body that are worth keeping


@dataclass(slots=True)
class Traffic:
    """One load as it is driven. `pods` are the names it may address one by one; `began_wall_s` is the wall clock at the
    run's start, to place a service's own stamps on the run's clock; `past` gives the run's events so far. What is in
    `secrets` comes into no event."""

    load: scenario.Load
    door: http.Door
    emit: Callable[..., history.Event]
    pods: list[str]
    began_wall_s: float
    seed: int
    stop: threading.Event
    namespace: str = ""
    past: Callable[[], Sequence[history.Event]] = tuple
    turn: threading.Lock = field(default_factory=threading.Lock)
    sent: int = 0
    secrets: set[str] = field(default_factory=set, repr=False)

    def argument(self, name: str, default: Any = None) -> Any:
        return self.load.arguments.get(name, default)

    def client(self, number: int) -> str | None:
        """The client id of request `number`: the bare word, or word-0 … word-(n-1) in turn."""
        word, clients = self.argument("client"), self.argument("clients", 1)
        return word if word is None or clients == 1 else f"{word}-{number % clients}"

    def pod(self, number: int) -> str | None:
        """Which pod to address, in turn; None leaves it to the Service."""
        return self.pods[number % len(self.pods)] if self.argument("pods") == "each" and self.pods else None

    def ask(
        self,
        number: int,
        do: str,
        method: str,
        path: str,
        *,
        body: Any = None,
        pod: str | None = None,
        client: str | None = None,
        timeout_s: float = 30.0,
        part: str = "",
        to: str = "",
        door: http.Door | None = None,
        headers: Mapping[str, str] | None = None,
        see: Callable[[http.Answer], Mapping[str, Any]] = lambda _answer: {},
        content: bytes | None = None,
        leave: Callable[[int], bool] | None = None,
        **more: Any,
    ) -> http.Answer:
        """Sends one request and appends its event. `part` (setup, cleanup) keeps it out of the load's own requests;
        `to` names another service than the load's, `door` is one elsewhere; `see` adds what this kind of load reads from the
        answer; `content` is a body of bytes as they are, where `body` is sent as JSON; `leave` as the door has it. Headers
        are in no event."""
        given = {**({"X-Client-ID": client} if client is not None else {}), **(headers or {})}
        at = door or (replace(self.door, service=to) if to else self.door)
        sent = {"body": body, "content": content, "leave": leave}
        answer = at.ask(method, path, pod=pod, headers=given, timeout_s=timeout_s, **sent)
        name = f"{self.load.name}.{part}" if part else self.load.name
        with self.turn:
            self.sent += not part
            self.tell(
                "request",
                load=name,
                n=number,
                client=client,
                do=do,
                pod_asked=pod,
                **self.facts(answer),
                **more,
                **see(answer),
            )
        return answer

    def be_there(self) -> None:
        """Asks the API once, for a load whose work is elsewhere: one without a request has not been there."""
        self.ask(0, "healthz", "GET", "/healthz", timeout_s=10)

    def tell(self, kind: str, /, **data: Any) -> None:
        """Appends an event, without any secret."""
        self.emit(kind, **{key: self._shown(value) for key, value in data.items()})

    def _shown(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self.secrets:
                value = value.replace(secret, "***")
        elif isinstance(value, Mapping):
            return {self._shown(key): self._shown(inner) for key, inner in value.items()}
        elif isinstance(value, list | tuple):
            return [self._shown(inner) for inner in value]
        return value

    def facts(self, answer: http.Answer) -> dict[str, Any]:
        """An answer as event data: see the request event in model.history."""
        parsed = answer.parsed() if answer.status is not None and answer.status >= 400 else None
        problem = parsed.get("error") if isinstance(parsed, dict) else None
        decided = _number(answer.headers.get("x-space-decided-at"))
        return {
            "pod": answer.headers.get("x-space-pod"),
            **({"unreached": True} if answer.unreached else {}),
            "sent_s": round(answer.sent_s, 6),
            "answered_s": None if answer.answered_s is None else round(answer.answered_s, 6),
            "ended_s": round(answer.ended_s, 6),
            "status": answer.status,
            "code": problem.get("code") if isinstance(problem, dict) else None,
            "retry_after": _whole(answer.headers.get("retry-after")),
            "error": answer.error,
            "activation": decision(answer.headers.get("x-space-activation-decision")),
            "concurrency": decision(answer.headers.get("x-space-concurrency-decision")),
            "decided_s": None if decided is None else round(decided - self.began_wall_s, 6),
            "limiter_ms": _limiter_ms(answer.headers.get("server-timing")),
        }

    def fan_out(self, total: int | None, concurrency: int, rate_rps: float | None, one: Callable[[int], Any]) -> None:
        """Sends `total` requests (None: until stopped) with at most `concurrency` under way. With a rate the n-th is due at
        n/rate whatever became of the others (open loop: a slow answer does not slow the senders). Once stopped, what was
        not sent yet is not sent any more."""
        began_s = self.door.clock()

        def due(number: int) -> None:
            if not self.stop.is_set():
                one(number)

        with concurrent.futures.ThreadPoolExecutor(concurrency, thread_name_prefix=self.load.name) as pool:
            futures = []
            for number in itertools.count() if total is None else range(total):
                if rate_rps and not wait.pace(began_s + number / rate_rps, self.door.clock, self.stop):
                    break
                if self.stop.is_set():
                    break
                futures.append(pool.submit(due, number))
            for future in futures:
                future.result()

    def total(self) -> int | None:
        """How many requests: as many as are asked for, as a rate gives in its time, or None: until stopped."""
        asked, for_s = self.argument("requests"), self.argument("for_s")
        rate_rps = self.argument("rate_rps")
        if asked is None and for_s is None and rate_rps and self.argument("through"):
            return None
        return int(asked or math.ceil(float(rate_rps or 1.0) * float(for_s or 1.0)))


def capped(value: Any) -> Any:
    """A parsed body, or a note of its size when it is too long for the journal."""
    return value if len(str(value)) <= _BODY else {"too_long": len(str(value))}


def decision(header: str | None) -> Mapping[str, Any] | None:
    """`refused; reason=none; client=a; would_reject=false` as a mapping; None when the limiter did not decide."""
    if not header:
        return None
    outcome, *pairs = (part.strip() for part in header.split(";"))
    found: dict[str, Any] = {"outcome": outcome}
    for pair in pairs:
        key, _, value = pair.partition("=")
        found[key] = value == "true" if key == "would_reject" else value
    return found


def _limiter_ms(header: str | None) -> float | None:
    """The `limiter` metric of a Server-Timing header (W3C Server Timing), in milliseconds."""
    for metric in (header or "").split(","):
        name, *pairs = (part.strip() for part in metric.split(";"))
        if name == "limiter":
            return next((_number(pair.removeprefix("dur=")) for pair in pairs if pair.startswith("dur=")), None)
    return None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
