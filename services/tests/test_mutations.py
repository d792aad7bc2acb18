"""Every mutation breaks the claim that is there to notice it, and without mutations every claim holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from common import mutations, settings
from fleet import manifest
from tests import limiting, queueing, serving, stores

Claim = Callable[[serving.World, frozenset[str]], None]


def _of_limiters(claim: Callable[[stores.Redis, frozenset[str]], None]) -> Claim:
    """A claim that needs a Redis only."""
    return lambda world, active: claim(world.redis, active)


CLAIMS: dict[str, Claim] = {
    mutations.TTL_FLOOR: _of_limiters(limiting.a_burst_far_below_the_refill_still_binds),
    mutations.WHOLE_SECOND_CLOCK: _of_limiters(limiting.a_drain_draws_what_a_continuous_bucket_holds),
    mutations.DOUBLE_CHARGE: _of_limiters(limiting.a_full_bucket_holds_the_burst),
    mutations.LOST_RELEASE_ON_EXCEPTION: _of_limiters(limiting.a_lease_is_given_back_when_the_request_raises),
    mutations.UNKNOWN_CLIENT_OWN_BUCKET: _of_limiters(limiting.unknown_clients_share_a_bucket),
    mutations.RETRYING_REDIS_CLIENT: _of_limiters(limiting.a_failing_store_costs_no_more_than_the_budget),
    mutations.STICKY_FAIL_OPEN: _of_limiters(limiting.the_call_after_a_failure_uses_the_store_again),
    mutations.NO_RETRY_AFTER: _of_limiters(limiting.a_refusal_says_when_to_come_back),
    mutations.ACTIVATION_BEFORE_CONCURRENCY: _of_limiters(limiting.a_request_refused_for_its_client_spends_no_token),
    mutations.CONTROLLER_OWN_BUCKET_KEY: serving.draining_through_the_api_refuses_the_controller,
    mutations.OPERATION_RUN_TWICE: serving.a_command_whose_worker_died_is_not_run_again,
    mutations.TOKEN_SCOPE_IGNORED: serving.a_token_does_what_its_scopes_say_and_nothing_else,
    mutations.PLAIN_TOKEN_STORED: serving.no_token_can_be_read_from_the_database,
    mutations.PATH_TRAVERSAL_ALLOWED: serving.no_path_leads_out_of_the_workspace,
    mutations.FILES_NOT_ATOMIC: serving.readers_never_see_a_torn_file,
    mutations.PAUSE_LOSES_STATE: serving.a_pause_keeps_files_and_processes,
}


@pytest.fixture
def world(redis_server: stores.Redis, queue: queueing.Queue, tmp_path: Path) -> serving.World:
    return serving.World(redis_server, queue, serving.make_room(tmp_path))


def test_every_mutation_has_a_claim() -> None:
    assert CLAIMS.keys() == mutations.TABLE.keys()


@pytest.mark.parametrize("name", mutations.TABLE)
def test_the_claim_holds_without_mutations(name: str, world: serving.World) -> None:
    CLAIMS[name](world, limiting.NO_MUTATION)


@pytest.mark.parametrize("name", mutations.TABLE)
def test_the_mutation_breaks_the_claim(name: str, world: serving.World) -> None:
    with pytest.raises(AssertionError):
        CLAIMS[name](world, frozenset({name}))


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


def test_a_sandbox_pod_is_given_the_mutations_that_are_read_inside_and_no_other() -> None:
    active = frozenset({mutations.PAUSE_LOSES_STATE, mutations.TTL_FLOOR})
    given = {"SPACE_SANDBOX_IMAGE": "image:1"}
    read = manifest.read(settings.Reader(given), active)
    (container,) = manifest.pod("s", read)["spec"]["containers"]
    assert container["env"] == [
        {"name": "SPACE_PROFILE", "value": "kind"},
        {"name": "SPACE_MUTATION", "value": mutations.PAUSE_LOSES_STATE},
    ]
    (plain,) = manifest.pod("s", manifest.read(settings.Reader(given), frozenset()))["spec"]["containers"]
    assert "env" not in plain
