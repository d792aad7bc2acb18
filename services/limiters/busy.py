"""How long the calling thread has been working or waiting for a processor, as opposed to waiting for someone's answer.

A wall clock cannot tell a slow store from a burst of requests that this very process has to work through, or from a
machine with too few processors. The difference of two readings can: what it leaves of the wall time was spent waiting.
"""

from __future__ import annotations

import os
import time

_SCHEDSTAT = "/proc/thread-self/schedstat"  # nanoseconds on a processor, nanoseconds waiting for one, turns


def seconds() -> float:
    """Seconds of work and of waiting for a processor; where Linux does not tell the latter, of work alone."""
    try:
        descriptor = os.open(_SCHEDSTAT, os.O_RDONLY)
    except OSError:
        return time.thread_time()
    try:
        working, waiting = os.read(descriptor, 64).split()[:2]
    finally:
        os.close(descriptor)
    return (int(working) + int(waiting)) / 1e9
