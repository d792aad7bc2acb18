"""Claims about files, tokens and operations as functions that raise AssertionError, as in `limiting` about limiters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common import database as databases
from common import refusals, settings
from fleet import manifest, operations, records, tokens
from limiters import activation, store
from sandbox import files, refused
from space_api import authentication
from space_cluster_controller import config
from tests import limiting, local_controller, queueing, sandboxes, stores


@dataclass(frozen=True)
class World:
    """All that a claim may need. `room` is a workspace beside a folder `outside` that holds `secret`."""

    redis: stores.Redis
    queue: queueing.Queue
    room: Path


def make_room(folder: Path) -> Path:
    """A workspace with something outside that must stay unseen and unchanged."""
    (folder / "outside").mkdir()
    (folder / "outside" / "secret").write_bytes(b"secret")
    room = folder / "workspace"
    room.mkdir()
    return room


def draining_through_the_api_refuses_the_controller(world: World, active: frozenset[str]) -> None:
    one_token = activation.Settings(True, 1, 0.001)
    environment = {
        **world.queue.environment,
        "SPACE_REDIS_URL": world.redis.url,
        "SPACE_MUTATION": ",".join(active),
        "SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST": "1",
        "SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND": "0.001",
    }

    async def work() -> bool:
        async with limiting.connected(world.redis.url) as shared:
            assert (await activation.Limiter(one_token, shared).decide(store.Budget())).admitted
        controller = local_controller.controller(config.read(environment), 1)
        try:
            return (await controller.limiter.decide(store.Budget())).admitted
        finally:
            await controller.store.close()

    assert not limiting.run(work()), "the controller draws from another bucket"


def a_command_whose_worker_died_is_not_run_again(world: World, active: frozenset[str]) -> None:
    queue = world.queue
    queue.environment["SPACE_MUTATION"] = ",".join(active)
    made = queue.put(operations.COMMAND, queue.sandbox())
    assert queue.killed(made.id, 7), "killed when the sandbox had answered"
    queue.expire()
    queue.finish_all()
    assert len(queue.cluster.guests[made.sandbox].commands) == 1


def a_token_does_what_its_scopes_say_and_nothing_else(world: World, active: frozenset[str]) -> None:
    async def work(pool: databases.Database) -> tuple[tokens.Token, str]:
        return await tokens.Tokens(pool).add(queueing.TENANT, "", [tokens.READ], None)

    made, _ = world.queue.use(work)
    door = authentication.Authentication(None, active)  # type: ignore[arg-type] - only scopes are asked about
    door.require(made, tokens.READ)
    for scope in (tokens.WRITE, tokens.EXEC):
        refusal = _error(functools.partial(door.require, made, scope))
        assert isinstance(refusal, refusals.Refusal), f"a token with {tokens.READ} was let do what needs {scope}"
        assert (refusal.status, refusal.code, scope in str(refusal)) == (403, "scope_missing", True)


def no_token_can_be_read_from_the_database(world: World, active: frozenset[str]) -> None:
    async def work(pool: databases.Database) -> tuple[tokens.Token, str]:
        table = tokens.Tokens(pool, active)
        made, secret = await table.add(queueing.TENANT, "", [tokens.READ], None)
        found = await table.find(secret)
        assert found is not None
        assert found.id == made.id
        return made, secret

    made, secret = world.queue.use(work)
    (row,) = world.queue.execute("SELECT tokens::text AS text FROM tokens WHERE id = %s", (made.id,))
    assert not any(form in row["text"] for form in (secret, secret.encode().hex()))


def no_path_leads_out_of_the_workspace(world: World, active: frozenset[str]) -> None:
    kept = files.Files(world.room, active)
    (world.room / "link").symlink_to("../outside")
    for path in ("../outside/secret", f"{world.room.parent}/outside/secret", "link/secret"):
        refusal = _error(functools.partial(kept.get, path))
        assert isinstance(refusal, refused.Refused), f"{path} was read"
        assert (refusal.status, refusal.code) == (400, "path_outside")


def readers_never_see_a_torn_file(world: World, active: frozenset[str]) -> None:
    sandboxes.readers_never_see_a_torn_file(world.room, active)


def a_pause_keeps_files_and_processes(world: World, active: frozenset[str]) -> None:
    made = sandboxes.Sandbox(world.room, SPACE_PROFILE="kind", SPACE_MUTATION=",".join(active))
    try:
        left = made.run("sh", "-c", "echo kept > file; sleep 60 >/dev/null 2>&1 & echo $!")["stdout"].decode().strip()
        made.call("/freeze")
        made.call("/thaw")
        assert made.run("cat", "file")["stdout"] == b"kept\n", "its file is gone"
        state = made.run("sh", "-c", f"cut -d')' -f2 /proc/{left}/stat")["stdout"].split()
        assert state, "its process is gone"
        assert state[0] != b"Z", "its process has ended"
    finally:
        made.stop()


def a_command_gets_its_words_as_they_are(world: World, active: frozenset[str]) -> None:
    made = sandboxes.Sandbox(world.room, SPACE_PROFILE="kind", SPACE_MUTATION=",".join(active))
    try:
        assert made.run("printf", "%s|", "two words", "$HOME; *")["stdout"] == b"two words|$HOME; *|"
    finally:
        made.stop()


def a_pause_stops_every_process(world: World, active: frozenset[str]) -> None:
    made = sandboxes.Sandbox(world.room, SPACE_PROFILE="kind", SPACE_MUTATION=",".join(active))
    try:
        left = made.run("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")["stdout"].decode().strip()
        status, told = made.call("/freeze")
        state = Path(f"/proc/{left}/stat").read_text().rpartition(")")[2].split()[0]
        assert (status, told["processes"], state) == (200, 1, "T"), "a process goes on"
    finally:
        made.stop()


def sandboxes_ask_for_their_node_group(world: World, active: frozenset[str]) -> None:
    given = {"SPACE_SANDBOX_IMAGE": "image:1", "SPACE_SANDBOX_NODE_SELECTOR": '{"group": "sandbox"}'}
    made = manifest.pod("s", manifest.read(settings.Reader(given), active))
    assert made["spec"]["nodeSelector"] == {"group": "sandbox"}


def an_order_that_is_repeated_is_one_operation(world: World, active: frozenset[str]) -> None:
    order = operations.Order(operations.PAUSE, world.queue.sandbox(), {}, "key")

    async def work(pool: databases.Database) -> list[str]:
        front = operations.Operations(pool, active)
        return [(await front.put(queueing.TENANT, order, "trace")).id for _ in range(2)]

    first, again = world.queue.use(work)
    assert first == again, "it was queued twice"


def a_tenant_finds_its_own_only(world: World, active: frozenset[str]) -> None:
    made = world.queue.put(operations.PAUSE, world.queue.sandbox())

    async def work(pool: databases.Database) -> bool:
        front = operations.Operations(pool, active)
        assert await front.get(made.id, "other") is None, "another tenant's operation was found"
        try:
            await front.put("other", operations.Order(operations.DELETE, made.sandbox, {}), "trace")
        except operations.UnknownSandbox:
            return True
        return False

    assert world.queue.use(work), "another tenant's sandbox was found"


def a_revoked_token_is_none(world: World, active: frozenset[str]) -> None:
    async def work(pool: databases.Database) -> bool:
        table = tokens.Tokens(pool, active)
        made, secret = await table.add(queueing.TENANT, "", [tokens.READ], None)
        assert await table.find(secret)
        assert await table.revoke(made.id)
        return await table.find(secret) is None

    assert world.queue.use(work), "it is still good"


def a_resume_of_a_paused_sandbox_draws_an_activation(world: World, active: frozenset[str]) -> None:
    queue = world.queue
    queue.environment["SPACE_MUTATION"] = ",".join(active)
    made = queue.put(operations.RESUME, queue.sandbox(records.PAUSED))
    queue.finish_all()
    row = queue.row(made.id)
    assert row["state"] == operations.SUCCEEDED
    assert row["activation"], "nobody was asked"


def _error(act: Callable[[], object]) -> Exception | None:
    """What the act raises."""
    try:
        act()
    except Exception as error:
        return error
    return None
