"""`grid-values`: what a site of the grid is told is changed, by an upgrade of the release that its GridNetwork is of. Arguments
and values are those of `helm-values`; a null takes away what the chart's own values have there. It is in effect once the
site's operator has taken the new generation in."""

from __future__ import annotations

import dataclasses

from space_smoke.faults import helm_values
from space_smoke.model import kinds

KIND = dataclasses.replace(
    helm_values.KIND,
    name="grid-values",
    summary="a grid site's release is upgraded to other values",
    domain=kinds.GRID,
    targets=("gridnetwork",),
)
