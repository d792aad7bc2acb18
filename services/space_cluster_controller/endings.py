"""Judges how an attempt at an operation ended: done, failed for good, or to be tried again later."""

from __future__ import annotations

import math
from dataclasses import dataclass

from common import kube, refusals
from fleet import claims, operations, pods, records
from space_cluster_controller import steps

RETURNS = 5  # times an operation is tried again for what may pass
LIMITED = "activation_limited"


@dataclass(frozen=True, slots=True)
class Failed:
    """For good."""

    code: str
    message: str
    move: records.Move | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """Back into the queue for `delay_s`; `refused` by the limiter, or for what may pass."""

    code: str
    delay_s: float
    refused: bool = False


Ending = steps.Done | Failed | Later


def of(error: Exception, work: steps.Work) -> Ending:
    """The ending that an error stands for."""
    if isinstance(error, steps.NotAdmitted):
        # As in an HTTP answer, Retry-After is in whole seconds, at least one.
        return Later(LIMITED, max(1.0, math.ceil(error.retry_after_ms / 1000)), refused=True)
    lost = records.Move(records.FAILED, (records.STARTING,)) if work.operation.kind == operations.CREATE else None
    code, message, passes = _told(error)
    if work.sent and passes:
        return Failed(steps.UNKNOWN, f"the command was sent and may have run: {message}")
    if passes and work.operation.returns < RETURNS:
        return Later(code, float(2**work.operation.returns))
    return Failed(code, message, lost)


def _told(error: Exception) -> tuple[str, str, bool]:
    """Machine code, sentence, and whether another try may go better."""
    if isinstance(error, refusals.Refusal):
        return error.code, str(error), error.status >= 500
    if isinstance(error, pods.StartFailed):
        return "sandbox_start_failed", str(error), False
    if isinstance(error, kube.KubeError):
        passes = error.status in (0, 404, 409, 429) or error.status >= 500
        return "cluster_unavailable" if passes else "cluster_refused", str(error), passes
    if isinstance(error, claims.SandboxChanged):
        return "sandbox_changed", "the sandbox changed meanwhile", False
    return "internal", "the controller failed; its log has the reason under this operation's trace id", False
