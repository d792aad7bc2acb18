"""What the warm parent runs in its own test."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from space_smoke.bench import life

_warmed: list[str] = []


def warm(word: str) -> None:
    _warmed.append(word)


def main(argv: list[str]) -> int:
    match argv[0]:
        case "say":
            _tell("said", warmed=_warmed[0], colour=os.environ.get("COLOUR"), pid=os.getpid(), group=os.getpgid(0))
            sys.stderr.write("to stderr\n")
            return int(argv[1])
        case "wait":
            _tell("waiting")
            signal.pause()
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
            _tell("resumed")
        case "lock":
            _tell("locked", identity=life.identity("r1", life.Lock("r1")))
            signal.pause()
        case "raise":
            return 1 // 0
    return 0


def _tell(kind: str, **data: Any) -> None:
    sys.stdout.write(json.dumps({"event": kind, **data}) + "\n")
    sys.stdout.flush()
