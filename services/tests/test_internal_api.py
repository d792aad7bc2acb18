"""The internal API: it answers from the tables, and has no way to the limiter store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from common import database as databases
from fleet import tokens
from tests import process, queueing

FOLDER = Path(__file__).parents[1]


@pytest.fixture
def api(queue: queueing.Queue) -> Iterator[process.Api]:
    settings = {"SPACE_DATABASE_URL": queue.url, "SPACE_IMAGE": "image:1", "SPACE_REDIS_URL": "redis://nowhere:1"}
    with process.starter(settings) as start:
        yield start(process.INTERNAL)


def _token(queue: queueing.Queue) -> tuple[tokens.Token, str]:
    async def work(pool: databases.Database) -> tuple[tokens.Token, str]:
        return await tokens.Tokens(pool).add(queueing.TENANT, "ci", [tokens.READ], None)

    return queue.use(work)


def test_a_good_token_is_told_with_its_tenant_and_scopes(api: process.Api, queue: queueing.Queue) -> None:
    made, secret = _token(queue)
    answer = api.call("POST", "/v1/tokens/introspect", {"token": secret})
    assert answer.json() == {
        "active": True,
        "id": made.id,
        "tenant": queueing.TENANT,
        "name": "ci",
        "scopes": [tokens.READ],
        "expires_at": None,
    }


def test_any_other_token_is_told_to_be_inactive_and_nothing_else(api: process.Api, queue: queueing.Queue) -> None:
    made, secret = _token(queue)
    queue.execute("UPDATE tokens SET revoked_at = now() WHERE id = %s", (made.id,))
    for given in (secret, "space_x", "y" * 4096, "\N{SNOWMAN}"):
        assert api.call("POST", "/v1/tokens/introspect", {"token": given}).json() == {"active": False}
    for document in ({}, {"token": ""}, {"token": 5}, {"token": "a", "more": 1}):
        answer = api.call("POST", "/v1/tokens/introspect", document)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "malformed")


def test_a_sandbox_is_told_with_its_address_and_tenant(api: process.Api, queue: queueing.Queue) -> None:
    sandbox = queue.sandbox()
    told = api.call("GET", f"/v1/sandboxes/{sandbox}").json()
    assert (told["id"], told["tenant"], told["state"]) == (sandbox, queueing.TENANT, "running")
    assert told["address"] == queue.cluster.guests[sandbox].address
    for named in ("x", "00000000-0000-0000-0000-000000000000"):
        assert api.call("GET", f"/v1/sandboxes/{named}").status == 404


def test_it_tells_its_image_and_nothing_of_limiters(api: process.Api) -> None:
    assert api.call("GET", "/version").json()["image_id"] == "image:1"
    assert "limiters" not in api.call("GET", "/v1/state").json()
    assert "space_limiter" not in api.call("GET", "/metrics").data.decode()
    assert api.call("GET", "/readyz").status == 200


def _imports(module: str) -> set[str]:
    """The top-level modules that importing this one brings in."""
    code = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, env=process.environment({}), capture_output=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.decode().split())


def test_importing_it_brings_in_neither_redis_nor_the_limiters() -> None:
    assert not _imports("space_internal_api.__main__") & {"redis", "limiters"}
    assert {"redis", "limiters"} <= _imports("space_api.__main__"), "the check sees what is there"


def test_importing_the_sandbox_brings_in_nothing_that_is_slow() -> None:
    found = _imports("sandbox.__main__")
    assert not found & {"starlette", "uvicorn", "h11", "psycopg", "redis", "prometheus_client", "fleet", "limiters"}


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--config", "pyproject.toml", "--no-cache"],
        cwd=FOLDER,
        env=process.environment({}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
