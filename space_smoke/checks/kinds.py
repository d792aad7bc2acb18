"""Every kind of check, by the word that scenarios use for it. A new one adds its file, its line here and its test."""

from __future__ import annotations

from collections.abc import Mapping

from space_smoke.checks import (
    all_admitted,
    answers,
    concurrency_cap,
    current_pods,
    decisions_add_up,
    has_store,
    nothing_left,
    refused_on_each_pod,
    token_bucket,
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
        current_pods.KIND,
        nothing_left.KIND,
    )
}

# Judged for every scenario, whether it names them or not.
ALWAYS: tuple[str, ...] = (current_pods.KIND.name, nothing_left.KIND.name)
