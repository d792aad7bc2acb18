"""Every kind of fault, by the word that scenarios use for it. A new one adds its file, its line here and its test."""

from __future__ import annotations

from collections.abc import Mapping

from space_smoke.faults import scale, set_env
from space_smoke.model import kinds

KINDS: Mapping[str, kinds.FaultKind] = {kind.name: kind for kind in (set_env.KIND, scale.KIND)}

# Target words of scenarios: what they name in the API.
TARGETS: Mapping[str, tuple[str, str]] = {"deployment": ("apps/v1", "Deployment")}

DOMAINS: tuple[str, ...] = tuple(sorted({kind.domain for kind in KINDS.values()}))
