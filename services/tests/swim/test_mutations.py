"""Every mutation breaks the claim that is there to notice it, and without mutations every claim holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from swim import mutations
from tests.swim import claims

CLAIMS: dict[str, Callable[[frozenset[str]], None]] = {
    mutations.ACCEPT_PLAIN: claims.who_has_no_key_neither_joins_nor_disturbs,
    mutations.FIRST_KEY_ONLY: claims.keys_are_rotated_under_way_without_a_suspicion,
    mutations.ACCEPT_ANY_SLOT: claims.nobody_can_spend_in_anothers_name,
    mutations.NO_CAP: claims.tenants_and_origins_are_bounded,
    mutations.RELAY_ONLY_OWN: claims.a_late_joiner_learns_what_a_dead_site_spent,
    mutations.EVICTION_CLEARS_SPEND: claims.eviction_lowers_no_total,
    mutations.SPEND_AS_METADATA: claims.spend_alone_reaches_all_in_the_published_time,
    mutations.SPEND_ONLY_WIPES_PROVIDERS: claims.spend_alone_keeps_providers,
    mutations.NO_PUSH_PULL: claims.a_partition_heals,
    mutations.MAX_MERGE_ACROSS_EPOCHS: claims.a_new_epoch_starts_at_zero_and_stays_there,
    mutations.ONE_PACKET_OR_NOTHING: claims.many_tenants_with_long_names_converge_within_the_packet_budget,
}


def test_every_mutation_has_a_claim() -> None:
    assert CLAIMS.keys() == mutations.TABLE.keys()


@pytest.mark.parametrize("name", mutations.TABLE)
def test_the_claim_holds_without_mutations(name: str) -> None:
    CLAIMS[name](frozenset())


@pytest.mark.parametrize("name", mutations.TABLE)
def test_the_mutation_breaks_the_claim(name: str) -> None:
    with pytest.raises(AssertionError):
        CLAIMS[name](frozenset({name}))
