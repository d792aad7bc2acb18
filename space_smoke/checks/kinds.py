"""Every kind of check, by the word that scenarios use for it. A new one adds its file, its line here and its test."""

from __future__ import annotations

from collections.abc import Mapping

from space_smoke.checks import (
    all_admitted,
    answers,
    attempts,
    bucket_full_again,
    budget_rows,
    concurrency_cap,
    condition,
    counted,
    crd_current,
    current_pods,
    database_budget,
    database_encrypted,
    database_role,
    database_settings,
    database_volume,
    decisions_add_up,
    has_store,
    leases_gone,
    nothing_left,
    nothing_new,
    outage_bounded,
    pending,
    placed,
    providers_unchanged,
    readiness_follows,
    refused_on_each_pod,
    spend_apart,
    spend_converges,
    spend_monotone,
    spend_replayed,
    status_quiet,
    telemetry_arrived,
    token_bucket,
    token_scopes,
    writes_survive,
)
from space_smoke.model import kinds

KINDS: Mapping[str, kinds.CheckKind] = {
    kind.name: kind
    for kind in (
        has_store.KIND,
        token_bucket.KIND,
        concurrency_cap.KIND,
        all_admitted.KIND,
        refused_on_each_pod.KIND,
        decisions_add_up.KIND,
        answers.KIND,
        bucket_full_again.KIND,
        leases_gone.KIND,
        writes_survive.KIND,
        outage_bounded.KIND,
        readiness_follows.KIND,
        placed.KIND,
        pending.KIND,
        counted.KIND,
        token_scopes.KIND,
        attempts.KIND,
        nothing_new.KIND,
        database_encrypted.KIND,
        database_role.KIND,
        database_settings.KIND,
        database_budget.KIND,
        database_volume.KIND,
        telemetry_arrived.KIND,
        spend_apart.KIND,
        spend_converges.KIND,
        spend_monotone.KIND,
        spend_replayed.KIND,
        providers_unchanged.KIND,
        status_quiet.KIND,
        condition.KIND,
        budget_rows.KIND,
        crd_current.KIND,
        current_pods.KIND,
        nothing_left.KIND,
    )
}

# Judged for every scenario, whether it names them or not.
ALWAYS: tuple[str, ...] = (current_pods.KIND.name, nothing_left.KIND.name)
