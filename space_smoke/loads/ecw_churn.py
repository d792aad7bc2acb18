"""`ecw-churn`: a steady stream of writes. Each lane makes a sandbox, pauses and wakes it a few times, deletes it, and goes on
with the next. Every answer is kept, so that what was acknowledged can be compared with what the database holds.

A request that was not acknowledged is not repeated: its sandbox is left as it is, in doubt, and the lane goes on with
another. What is left at the end is for `ecw-ledger` to read and then to remove.
"""

from __future__ import annotations

import concurrent.futures

from space_smoke.bench import http, wait
from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds

KIND = kinds.LoadKind(
    name="ecw-churn",
    summary="creates, pauses, wakes and deletes sandboxes at a steady rate, and repeats nothing",
    schema={
        "type": "object",
        "required": ["concurrency", "rate"],
        "additionalProperties": False,
        "oneOf": [{"required": ["for"]}, {"required": ["through"]}],
        "properties": {
            "concurrency": {"type": "integer", "minimum": 1, "maximum": 50, "description": "sandboxes at a time"},
            "rate": {"type": "string", "format": "rate", "description": "requests of all lanes together"},
            "moves": {
                "type": "integer",
                "minimum": 0,
                "maximum": 100,
                "default": 2,
                "description": "how often each sandbox is paused and woken",
            },
            "client": {"type": "string"},
            "pods": {"enum": ["each", "service"], "default": "service"},
            "for": {"type": "string", "format": "duration", "description": "how long"},
            "through": traffic.THROUGH,
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    lanes = int(load.argument("concurrency"))
    with concurrent.futures.ThreadPoolExecutor(lanes, thread_name_prefix=load.load.name) as pool:
        for lane in [pool.submit(_Lane(load, number, lanes).drive) for number in range(lanes)]:
            lane.result()


class _Lane:
    """One sandbox after another. Requests are due at an even pace; a lane that is late goes on from now."""

    def __init__(self, load: traffic.Traffic, number: int, lanes: int) -> None:
        self._load, self._number, self._lanes = load, number, lanes
        self._every_s = lanes / float(load.argument("rate_rps"))
        begun_s, for_s = load.door.clock(), load.argument("for_s")
        self._due_s = begun_s + number * self._every_s / lanes
        self._until_s = float("inf") if for_s is None else begun_s + float(for_s)
        self._count = 0

    def drive(self) -> None:
        while self._paced():
            answer = self._ask("create", "POST", "/v1/sandboxes", "")
            sandbox = ecw_create.created(answer.parsed(), answer.status)
            if sandbox:
                self._live(sandbox)

    def _live(self, sandbox: str) -> None:
        """The rest of a sandbox's life, up to the first request that is not acknowledged."""
        at = f"/v1/sandboxes/{sandbox}"
        turns = [("pause", "POST", f"{at}/pause"), ("connect", "POST", f"{at}/connect")] * self._load.argument(
            "moves", 2
        )
        for do, method, path in [*turns, ("delete", "DELETE", at)]:
            if not self._paced():
                return
            answer = self._ask(do, method, path, sandbox)
            if answer.status is None or answer.status >= 300:
                return

    def _paced(self) -> bool:
        """Waits until the next request is due; False when there is to be none."""
        clock = self._load.door.clock
        self._due_s = max(self._due_s, clock())
        going_on = wait.pace(self._due_s, clock, self._load.stop) and clock() < self._until_s
        self._due_s += self._every_s
        return going_on

    def _ask(self, do: str, method: str, path: str, sandbox: str) -> http.Answer:
        number = self._number + self._count * self._lanes
        self._count += 1
        return self._load.ask(
            number,
            do,
            method,
            path,
            body=None if do == "delete" else {},
            pod=self._load.pod(number),
            client=self._load.argument("client"),
            timeout_s=ecw_create.START_S,
            see=ecw_create.seen if do == "create" else lambda _answer: {},
            sandbox=sandbox or None,
        )
