"""Every mutation of the operator breaks the claim that is there to notice it, and without mutations every claim holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from common import mutations as common
from grid_operator import mutations
from swim import mutations as gossip
from tests.grid_operator import keeping, sites, surviving

Claim = Callable[..., None]

CLAIMS: dict[str, Claim] = {
    mutations.PERSIST_AFTER_ACK: surviving.what_is_acknowledged_survives_a_kill,
    mutations.VALIDATOR_NEVER_CALLED: surviving.an_invalid_policy_is_said_in_a_sentence_and_shows_no_numbers,
    mutations.DEBUG_DUMP_AS_MESSAGE: surviving.an_invalid_policy_is_said_in_a_sentence_and_shows_no_numbers,
    mutations.STALE_STATUS_KEPT: keeping.rows_go_with_the_policy,
    mutations.STATUS_COUNTS_LOOKS: keeping.nothing_is_written_while_nothing_changes,
    mutations.NETWORKS_MIXED: keeping.two_networks_do_not_mix,
    mutations.PACKETS_NOT_SEALED: keeping.who_lacks_the_key_does_not_join,
    mutations.SPEND_IN_METRICS: keeping.metrics_never_tell_of_a_tenant,
}


def test_every_mutation_has_a_claim_and_no_name_means_two_things() -> None:
    assert CLAIMS.keys() == mutations.TABLE.keys()
    assert len(set(mutations.KNOWN)) == len(common.TABLE) + len(gossip.TABLE) + len(mutations.TABLE)


@pytest.mark.parametrize("claim", dict.fromkeys(CLAIMS.values()), ids=lambda claim: claim.__name__)
def test_the_claim_holds_without_mutations(grid: sites.Grid, claim: Claim) -> None:
    claim(grid)


@pytest.mark.parametrize("name", mutations.TABLE)
def test_the_mutation_breaks_the_claim(grid: sites.Grid, name: str) -> None:
    with pytest.raises(AssertionError):
        CLAIMS[name](grid, name)
