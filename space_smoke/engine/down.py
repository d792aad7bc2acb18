"""Removing benches: all of one (`down`), or what dead runs left (`reap`). Others than this cache's are never touched."""

from __future__ import annotations

import re
import shutil

from space_smoke import errors
from space_smoke.bench import cache, engine, kind, register

LOCK_S = 300.0
GUARD_S = 600.0
_OF_NODE = re.compile(r"(control-plane|worker)\d*\.")  # as kind names the nodes of a cluster


def down(name: str, emit: cache.Emit) -> bool:
    """Removes bench `name`: containers, volumes, files, and kind's network when we made it and nothing is on it.

    Returns false when there is no such bench. Raises errors.Refused for a cluster of that name that we did not make,
    errors.BenchError when something of it remains.
    """
    register.check_name(name)
    with cache.lock(f"bench-{name}", emit, timeout_s=LOCK_S):
        existed = erase(name, emit)
        cache.remove_lock(f"bench-{name}")
        return existed


def erase(name: str, emit: cache.Emit) -> bool:
    """`down` for a caller that holds the bench's lock."""
    place = register.folder(name)
    known = place.exists()
    if not known and engine.info() is None:
        return False
    if not known and engine.node_containers(name):
        raise errors.Refused(
            f"cluster {name} exists and is not a bench of this cache ({cache.folder()}), so it is left alone",
            next_step=f"kind delete cluster --name {name}, or name the right cache in SPACE_SMOKE_CACHE",
        )
    if not known:
        return False
    emit("step-started", step="remove", saying=f"removing bench {name}")
    kind.remove(name)
    for fence in (cache.folder() / "fences").glob(f"{name}-*"):
        if _OF_NODE.match(fence.name.removeprefix(f"{name}-")):  # another bench's name may begin with this one's
            fence.unlink(missing_ok=True)
    # bench.json goes last but one: killed before this line, the next `down` still knows the bench as ours.
    shutil.rmtree(place)
    if (cache.folder() / "network-made").exists() and engine.remove_network_if_unused():
        (cache.folder() / "network-made").unlink()
    return True


def reap(emit: cache.Emit, *, guard_s: float = GUARD_S) -> list[str]:
    """Removes the benches that dead runs left half made, or made for themselves alone, and that are older than the
    guard.

    Returns their names. A bench that was made to stay is never reaped, nor one whose maker may be alive.
    """
    reaped = []
    for entry in register.leftovers(guard_s):
        with cache.lock(f"bench-{entry.name}", emit, timeout_s=LOCK_S):
            again = register.read(entry.name)  # it may have been finished, or taken over, while we waited
            if again is not None and again.maker == entry.maker and again.state == entry.state:
                emit("reaped", bench=entry.name, saying=f"removing {entry.name}, left by dead pid {entry.maker.pid}")
                erase(entry.name, emit)
                cache.remove_lock(f"bench-{entry.name}")
                reaped.append(entry.name)
    return reaped
