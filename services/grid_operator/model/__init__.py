"""The resources of the group grid.praxis-proxy.io/v1alpha1, each field once, and what is generated from them."""

from __future__ import annotations

from grid_operator.model import network, provider, site
from grid_operator.model.kind import Kind

KINDS: tuple[Kind, ...] = (network.KIND, site.KIND, provider.KIND)
