"""What drills do inside a Kind bench's control plane."""

from __future__ import annotations

from space_smoke import errors
from space_smoke.bench import engine

_KILL_S = 60.0
# By the process's own name: the node images of kind have crictl, the one that is built here has not.
_KILL = """
for folder in /proc/[0-9]*; do
  read -r name < "$folder/comm" 2>/dev/null || continue
  [ "$name" = kube-apiserver ] && kill -KILL "${folder#/proc/}" && echo "${folder#/proc/}"
done
true
"""


def kill_api_server(bench: str) -> None:
    """SIGKILL to the API server; the kubelet starts another one. Raises BenchError when there is none."""
    node = f"{bench}-control-plane"
    if not engine.docker("exec", node, "sh", "-c", _KILL, timeout_s=_KILL_S).stdout.split():
        raise errors.BenchError(f"no API server runs in {node}")
