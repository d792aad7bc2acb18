"""Every kind of check, by the word that scenarios use for it. A new one adds its file, its line here and its test."""

from __future__ import annotations

from collections.abc import Mapping

from space_smoke.checks import (
    all_admitted,
    answers,
    bucket_full_again,
    concurrency_cap,
    current_pods,
    decisions_add_up,
    has_store,
    leases_gone,
    nothing_left,
    outage_bounded,
    pending,
    placed,
    readiness_follows,
    refused_on_each_pod,
    token_bucket,
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
        current_pods.KIND,
        nothing_left.KIND,
    )
}

# Judged for every scenario, whether it names them or not.
ALWAYS: tuple[str, ...] = (current_pods.KIND.name, nothing_left.KIND.name)
