"""Every mutation breaks the claim that is there to notice it, and without mutations every claim holds."""

from __future__ import annotations

import asyncio
import time
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from common import database as databases
from common import mutations, settings, unchecked
from fleet import manifest, records
from limiters import decision
from tests import crowding, limiting, persisting, queueing, serving, stores, tracing

Claim = Callable[[serving.World, frozenset[str]], None]


def _of_limiters(claim: Callable[[stores.Redis, frozenset[str]], None]) -> Claim:
    """A claim that needs a Redis only."""
    return lambda world, active: claim(world.redis, active)


CLAIMS: dict[str, Claim] = {
    mutations.TTL_FLOOR: _of_limiters(crowding.no_crowd_draws_more_than_a_bucket_holds),
    mutations.WHOLE_SECOND_CLOCK: _of_limiters(limiting.a_drain_draws_what_a_continuous_bucket_holds),
    mutations.DOUBLE_CHARGE: _of_limiters(limiting.a_full_bucket_holds_the_burst),
    mutations.LOST_RELEASE_ON_EXCEPTION: _of_limiters(limiting.a_lease_is_given_back_when_the_request_raises),
    mutations.COUNT_THEN_TAKE: _of_limiters(crowding.the_cap_is_exact_however_many_come_at_once),
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
    mutations.PAUSE_KEEPS_RUNNING: serving.a_pause_stops_every_process,
    mutations.COMMAND_THROUGH_SHELL: serving.a_command_gets_its_words_as_they_are,
    mutations.SCRIPT_NOT_RELOADED: _of_limiters(limiting.a_script_that_the_store_forgot_is_loaded_again),
    mutations.FAIL_CLOSED: _of_limiters(limiting.without_a_store_everybody_is_admitted),
    mutations.LEASE_MADE_AGAIN: _of_limiters(limiting.a_lease_that_the_store_lost_is_not_made_again),
    mutations.ACKNOWLEDGE_BEFORE_COMMIT: persisting.what_is_answered_is_written,
    mutations.WRITE_TWICE: persisting.a_create_without_an_answer_is_not_done_again,
    mutations.CONNECTION_NOT_CHECKED: persisting.connections_that_the_server_closed_cost_nobody_an_error,
    mutations.READY_WITHOUT_DATABASE: persisting.a_pod_without_its_database_is_not_ready,
    mutations.SANDBOX_IGNORES_NODE_SELECTOR: serving.sandboxes_ask_for_their_node_group,
    mutations.TRACE_DROPPED: tracing.a_sandbox_tells_of_a_command_under_its_trace,
    mutations.IDEMPOTENCY_IGNORED: serving.an_order_that_is_repeated_is_one_operation,
    mutations.TENANT_NOT_CHECKED: serving.a_tenant_finds_its_own_only,
    mutations.REVOKED_TOKEN_ACCEPTED: serving.a_revoked_token_is_none,
    mutations.RESUME_DRAWS_NOTHING: serving.a_resume_of_a_paused_sandbox_draws_an_activation,
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


def test_without_a_store_either_limiter_refuses_when_it_fails_closed(redis_server: stores.Redis) -> None:
    refused = limiting.refused_without_a_store(redis_server, frozenset({mutations.FAIL_CLOSED}))
    assert refused == [(503, "store_unavailable")] * 2


def test_a_script_that_is_never_reloaded_is_loaded_once(redis_server: stores.Redis) -> None:
    redis_server.client.script_flush()
    reasons = limiting.reasons_around_a_flush(redis_server, frozenset({mutations.SCRIPT_NOT_RELOADED}))
    assert reasons == [decision.NONE, decision.STORE_UNAVAILABLE, decision.STORE_UNAVAILABLE]


def test_a_write_behind_its_answer_is_sent_all_the_same(queue: queueing.Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = queue.sandbox()
    monkeypatch.setattr(records, "LATE_S", 0.1)

    async def work(pool: databases.Database) -> None:
        table = records.Records(pool, frozenset({mutations.ACKNOWLEDGE_BEFORE_COMMIT}))
        await table.move(sandbox, records.PAUSED, origins=(records.RUNNING,))
        async with asyncio.timeout(10):
            while queue.record(sandbox)["state"] != records.PAUSED:
                await asyncio.sleep(0.01)

    queue.use(work)


def test_a_closed_connection_is_handed_out_by_turns_with_good_ones_for_a_minute(
    queue: queueing.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        active = frozenset({mutations.CONNECTION_NOT_CHECKED})
        pool = databases.Database(databases.Settings(queue.url, 2), persisting.APPLICATION, active)
        await pool.open()
        table = records.Records(pool)
        await table.check()
        persisting.cut_connections(queue)
        assert 5 <= await persisting.failures(table, 8) < 8
        later = types.SimpleNamespace(monotonic=lambda: time.monotonic() + unchecked.KEEP_S)
        monkeypatch.setattr(unchecked, "time", later)
        assert await persisting.failures(table, 4) == 0
        await pool.close()

    limiting.run(work())
