"""The pods of a Deployment or StatefulSet, by age."""

from __future__ import annotations

from space_smoke.bench import kube, wait
from space_smoke.model import objects


def pods(cluster: kube.Kube, thing: objects.Object) -> list[wait.Pod]:
    """All that its selector finds, the oldest first; terminating ones too."""
    found = wait.pods_of(cluster, thing)
    return sorted(found, key=lambda pod: (pod.thing["metadata"].get("creationTimestamp", ""), pod.name))
