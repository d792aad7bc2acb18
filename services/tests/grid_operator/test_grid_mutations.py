"""Every mutation of the operator breaks the claim that is there to notice it, and without mutations every claim holds."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from common import mutations as common
from grid_operator import mutations
from swim import mutations as gossip
from tests.grid_operator import keeping, sites, surviving

Claim = Callable[..., None]

_INVALID = (
    surviving.an_invalid_policy_is_said_in_a_sentence_and_shows_no_numbers,
    surviving.an_epoch_that_has_passed_is_refused_in_a_sentence,
)
CLAIMS: dict[str, tuple[Claim, ...]] = {
    mutations.PERSIST_AFTER_ACK: (surviving.what_is_acknowledged_survives_a_kill,),
    mutations.VALIDATOR_NEVER_CALLED: _INVALID,
    mutations.DEBUG_DUMP_AS_MESSAGE: _INVALID,
    mutations.STALE_STATUS_KEPT: (keeping.rows_go_with_the_policy,),
    mutations.STATUS_COUNTS_LOOKS: (keeping.nothing_is_written_while_nothing_changes,),
    mutations.NETWORKS_MIXED: (keeping.two_networks_do_not_mix,),
    mutations.PACKETS_NOT_SEALED: (keeping.who_lacks_the_key_does_not_join,),
    mutations.SPEND_IN_METRICS: (keeping.metrics_never_tell_of_a_tenant,),
}
_BROKEN = [(name, claim) for name, claims in CLAIMS.items() for claim in claims]


def _name(value: object) -> str:
    return str(getattr(value, "__name__", value))


def test_every_mutation_has_a_claim_and_no_name_means_two_things() -> None:
    assert CLAIMS.keys() == mutations.TABLE.keys()
    assert len(set(mutations.KNOWN)) == len(common.TABLE) + len(gossip.TABLE) + len(mutations.TABLE)


@pytest.mark.parametrize("claim", dict.fromkeys(claim for _, claim in _BROKEN), ids=_name)
def test_the_claim_holds_without_mutations(grid: sites.Grid, claim: Claim) -> None:
    claim(grid)


@pytest.mark.parametrize(("name", "claim"), _BROKEN, ids=_name)
def test_the_mutation_breaks_the_claim(grid: sites.Grid, name: str, claim: Claim) -> None:
    with pytest.raises(AssertionError) as raised:
        claim(grid, name)
    assert not re.search("the API is ready|is joined|is generation", str(raised.value)), "it did not even start"
