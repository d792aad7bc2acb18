"""Every mutation breaks the claim that is there to notice it, and without mutations every claim holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from common import mutations, settings
from tests import limiting, stores

Claim = Callable[[stores.Redis, frozenset[str]], None]

CLAIMS: dict[str, Claim] = {
    mutations.TTL_FLOOR: limiting.a_burst_far_below_the_refill_still_binds,
    mutations.WHOLE_SECOND_CLOCK: limiting.a_drain_draws_what_a_continuous_bucket_holds,
    mutations.DOUBLE_CHARGE: limiting.a_full_bucket_holds_the_burst,
    mutations.LOST_RELEASE_ON_EXCEPTION: limiting.a_lease_is_given_back_when_the_request_raises,
    mutations.UNKNOWN_CLIENT_OWN_BUCKET: limiting.unknown_clients_share_a_bucket,
    mutations.RETRYING_REDIS_CLIENT: limiting.a_failing_store_costs_no_more_than_the_budget,
    mutations.STICKY_FAIL_OPEN: limiting.the_call_after_a_failure_uses_the_store_again,
    mutations.NO_RETRY_AFTER: limiting.a_refusal_says_when_to_come_back,
    mutations.ACTIVATION_BEFORE_CONCURRENCY: limiting.a_request_refused_for_its_client_spends_no_token,
}


def test_every_mutation_has_a_claim() -> None:
    assert CLAIMS.keys() == mutations.TABLE.keys()


@pytest.mark.parametrize("name", mutations.TABLE)
def test_the_claim_holds_without_mutations(name: str, redis_server: stores.Redis) -> None:
    CLAIMS[name](redis_server, limiting.NO_MUTATION)


@pytest.mark.parametrize("name", mutations.TABLE)
def test_the_mutation_breaks_the_claim(name: str, redis_server: stores.Redis) -> None:
    with pytest.raises(AssertionError):
        CLAIMS[name](redis_server, frozenset({name}))


def test_a_deployment_refuses_mutations() -> None:
    reader = settings.Reader({"SPACE_MUTATION": "ttl-floor"})
    mutations.read(reader, "deployment")
    with pytest.raises(settings.SettingsError, match=r"SPACE_MUTATION='ttl-floor'.*only for SPACE_PROFILE=kind"):
        reader.settle()


def test_an_unknown_mutation_is_refused() -> None:
    reader = settings.Reader({"SPACE_MUTATION": "ttl-flour"})
    mutations.read(reader, "kind")
    with pytest.raises(settings.SettingsError, match="must be one of ttl-floor"):
        reader.settle()
