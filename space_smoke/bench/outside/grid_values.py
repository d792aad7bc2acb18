"""grid-values: as helm-values, on a GridNetwork: no pods are rolled out, and the site's operator says which generation its
status is about."""

from __future__ import annotations

from space_smoke.bench import wait
from space_smoke.bench.outside import helm_values, place
from space_smoke.model import objects


class GridValues(helm_values.HelmValues):
    def watching(self, ref: objects.Ref) -> place.Watched:
        return ((ref.api_version, ref.kind, ref.namespace),)

    def _state(self, ref: objects.Ref) -> wait.State:
        thing = self._cluster.read(ref)
        wanted, seen = thing["metadata"].get("generation"), objects.dig(thing, "status", "observedGeneration")
        return wait.State(seen == wanted, f"its status is about generation {seen} of {wanted}", thing=thing)
