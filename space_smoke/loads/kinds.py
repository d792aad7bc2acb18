"""Every kind of load, by the word that scenarios use for it, with the function that drives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from space_smoke.loads import (
    account_reads,
    api_health,
    api_state,
    chart_dry_run,
    crd_read_back,
    ecw_churn,
    ecw_connect,
    ecw_create,
    ecw_crowd,
    ecw_ledger,
    ecw_remove,
    ecw_session,
    grid_spend,
    grid_watch,
    listing,
    native_session,
    native_tokens,
    object_dry_run,
    placement,
    postgres_connect,
    postgres_profile,
    service_metrics,
    telemetry_trace,
    traffic,
)
from space_smoke.model import kinds

_MODULES = (
    api_state,
    api_health,
    ecw_create,
    ecw_connect,
    ecw_crowd,
    ecw_session,
    ecw_remove,
    ecw_churn,
    ecw_ledger,
    placement,
    postgres_profile,
    postgres_connect,
    chart_dry_run,
    listing,
    native_session,
    native_tokens,
    service_metrics,
    telemetry_trace,
    grid_spend,
    grid_watch,
    crd_read_back,
    object_dry_run,
    account_reads,
)

KINDS: Mapping[str, kinds.LoadKind] = {module.KIND.name: module.KIND for module in _MODULES}
DRIVERS: Mapping[str, Callable[[traffic.Traffic], None]] = {module.KIND.name: module.drive for module in _MODULES}
