"""A worker process that kills itself, by SIGKILL, at the n-th boundary of its first operation.

A boundary lies before and after each thing it does outside of itself: every write and read in the database, every call
to the API server and to a sandbox, every decision. Processes are forked from one that has everything imported.
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import multiprocessing.process
import os
import signal
from collections.abc import Callable
from typing import Any

from common import kube
from fleet import claims, guest, pods, records
from limiters import activation
from space_cluster_controller import config
from tests import local_controller

NEVER = 0

_ACTS: tuple[tuple[Any, str], ...] = (
    (claims.Claims, "decided"),
    (claims.Claims, "sent"),
    (claims.Claims, "succeed"),
    (claims.Claims, "fail"),
    (claims.Claims, "back"),
    (records.Records, "get"),
    (records, "move"),
    (activation.Limiter, "decide"),
    (kube.Pods, "create"),
    (kube.Pods, "get"),
    (kube.Pods, "delete"),
    (pods, "_knock"),
    (guest, "_answer"),
)


class _Boundaries:
    def __init__(self, kill_at: int) -> None:
        self._left = kill_at

    def cross(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, act: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(act)
        async def acting(*arguments: Any, **named: Any) -> Any:
            self.cross()
            result = await act(*arguments, **named)
            self.cross()
            return result

        return acting

    def after_claim(self, act: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(act)
        async def acting(*arguments: Any, **named: Any) -> Any:
            claimed = await act(*arguments, **named)
            if claimed is not None:
                self.cross()
            return claimed

        return acting


def start(environment: dict[str, str], api_port: int, kill_at: int = NEVER) -> multiprocessing.process.BaseProcess:
    """A worker that leads without an election."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_work, args=(environment, api_port, kill_at), daemon=True)
    process.start()
    return process


def _work(environment: dict[str, str], api_port: int, kill_at: int) -> None:
    if kill_at:
        boundaries = _Boundaries(kill_at)
        claims.Claims.claim = boundaries.after_claim(claims.Claims.claim)  # type: ignore[method-assign]
        for owner, name in _ACTS:
            setattr(owner, name, boundaries.around(getattr(owner, name)))
    asyncio.run(_lead(environment, api_port))


async def _lead(environment: dict[str, str], api_port: int) -> None:
    made = local_controller.controller(config.read(environment), api_port)
    await made.database.open()
    await made.lead()
