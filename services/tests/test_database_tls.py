"""The services' own way to Postgres with `verify-full`: whom it believes, and that it never goes on without TLS.

The server here also takes plain connections, so that a client which fell back to one would get it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from common import database as databases
from tests import certificates, process, stores

NAME = "postgres.test"
APPLICATION = "tls-claim"
ANOTHER_AUTHORITY = ("another.crt", NAME, "certificate verify failed")
ANOTHER_NAME = ("trusted.crt", "elsewhere.test", f'"{NAME}" does not match host name "elsewhere.test"')
WRONG = pytest.mark.parametrize(
    ("authority", "name", "rule"), [ANOTHER_AUTHORITY, ANOTHER_NAME], ids=["authority", "host-name"]
)


@dataclass(frozen=True)
class Row:
    """One row of an answer."""

    one: int


@dataclass(frozen=True)
class Server:
    """One with a certificate for NAME; `folder` has the authority that signed it and another one."""

    pattern: str
    folder: Path

    def url(self, authority: str, name: str, role: str = "app") -> str:
        """`name` is what the certificate is held against; the address is the server's in any case."""
        plain = self.pattern.format(role=role).replace("@127.0.0.1", f"@{name}")
        return f"{plain}?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={self.folder / authority}"

    def sessions(self) -> list[bool]:
        """Of those under APPLICATION, whether each is encrypted."""
        told = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = %s"
        with psycopg.connect(self.pattern.format(role="postgres")) as connection:
            return [ssl for (ssl,) in connection.execute(told, (APPLICATION,))]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, authority = tmp_path_factory.mktemp("authorities"), certificates.Authority()
    (folder / "trusted.crt").write_bytes(authority.pem)
    (folder / "another.crt").write_bytes(certificates.Authority().pem)
    with stores.postgres(authority.server(NAME)) as pattern:
        yield Server(pattern, folder)


def test_the_right_authority_and_name_give_an_encrypted_session(server: Server) -> None:
    async def work() -> list[bool]:
        pool = databases.Database(databases.Settings(server.url("trusted.crt", NAME), 1), APPLICATION)
        await pool.open()
        try:
            assert await pool.query(Row, "SELECT 1 AS one") == [Row(1)]
            return server.sessions()
        finally:
            await pool.close()

    assert asyncio.run(work()) == [True]


@WRONG
def test_a_wrong_authority_or_name_is_refused_by_the_rule_and_no_plain_session_takes_its_place(
    server: Server, caplog: pytest.LogCaptureFixture, authority: str, name: str, rule: str
) -> None:
    async def work() -> list[bool]:
        pool = databases.Database(databases.Settings(server.url(authority, name), 1), APPLICATION)
        await pool.open()
        try:
            with pytest.raises(databases.Unavailable):
                await pool.query(Row, "SELECT 1 AS one")
            return server.sessions()
        finally:
            await pool.close()

    assert asyncio.run(work()) == []
    warnings = [one.getMessage() for one in caplog.records if one.name == "psycopg.pool"]
    assert any(rule in warning for warning in warnings), warnings


@WRONG
def test_a_migration_does_not_begin_with_a_server_that_it_cannot_verify(
    server: Server, authority: str, name: str, rule: str
) -> None:
    url = server.url(authority, name, "owner")
    done = process.run("space_api.migrate", SPACE_DATABASE_URL=url, SPACE_MIGRATE_WAIT_S="0")
    assert done.returncode == 1
    (failed,) = [line for line in map(json.loads, done.stdout.splitlines()) if line["message"] == "migration failed"]
    assert rule in failed["fault"]
