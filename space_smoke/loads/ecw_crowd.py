"""`ecw-crowd`: connects that come all at once, so that the per-client cap is tried at its limit, so many rounds.

Whoever is let in stays until all of the round have their answers, however long these take, and then hangs up. Each round
is another client, so that none finds leases of the round before.
"""

from __future__ import annotations

import threading

from space_smoke.loads import ecw_connect, ecw_create, traffic
from space_smoke.model import kinds

KIND = kinds.LoadKind(
    name="ecw-crowd",
    summary="connects all at once, each staying until all are answered, round after round",
    schema={
        "type": "object",
        "required": ["requests", "hold", "client"],
        "additionalProperties": False,
        "properties": {
            "requests": {"type": "integer", "minimum": 2, "maximum": 200, "description": "of one round, all at once"},
            "rounds": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
            "hold": {"type": "string", "format": "duration", "description": "nobody stays longer than this"},
            "client": {"type": "string", "description": "round n sends X-Client-ID client-n, from 0 on"},
            "pods": {"enum": ["each", "service"], "default": "service"},
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    sandbox = ecw_create.make(load, 0, part="setup")
    for turn in range(load.argument("rounds", 1)):
        if not load.stop.is_set():
            _round(load, sandbox or ecw_connect.MISSING, turn)
    if sandbox:
        ecw_create.remove(load, [sandbox])


def _round(load: traffic.Traffic, sandbox: str, turn: int) -> None:
    count, client = int(load.argument("requests")), f"{load.argument('client')}-{turn}"
    here = _Here(count, float(load.argument("hold_s")))

    def one(number: int) -> None:
        try:
            ecw_connect.connect(load, turn * count + number, sandbox, client, lambda status: here.stay(number, status))
        finally:
            here.answered(number)

    load.fan_out(count, count, None, one)


class _Here:
    """Requests that wait for each other, nobody longer than `at_most_s`."""

    def __init__(self, count: int, at_most_s: float) -> None:
        self._missing, self._at_most_s = set(range(count)), at_most_s
        self._turn, self._all_answered = threading.Lock(), threading.Event()

    def answered(self, number: int) -> None:
        """Said again, or where no answer came, it does no harm."""
        with self._turn:
            self._missing.discard(number)
            if not self._missing:
                self._all_answered.set()

    def stay(self, number: int, status: int) -> bool:
        """Whether to hang up now, after having stayed; who was not let in is not kept, and reads why."""
        self.answered(number)
        if status == 200:
            self._all_answered.wait(self._at_most_s)
        return status == 200
