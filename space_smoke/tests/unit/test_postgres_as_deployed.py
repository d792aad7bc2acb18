"""The scenario local.postgres_runs_as_deployments_do, tried whole against the image's own server on this machine, as it
stands and with what its mutations spoil. Only the API server's part is a double."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from space_smoke import errors, suite
from space_smoke.bench.outside import pods, postgres_client
from space_smoke.checks import judge
from space_smoke.loads import kinds as load_kinds
from space_smoke.loads import postgres_profile
from space_smoke.model import scenario, verdict
from space_smoke.spec import load as loading
from space_smoke.tests import mutations
from space_smoke.tests.unit import api_double, local_postgres

ID = "local.postgres_runs_as_deployments_do"
THE = next(the for the in suite.choose() if the.id == ID)
# A fault needs a cluster; the checks for which one is planted are tried beside this.
SPOILED = [row for row in mutations.ROWS if row.scenario == ID and row.spoiling and row.spoiling.path != ("faults",)]
CLIENTS = ("space-api", "space-admin-api", "space-internal-api", "space-cluster-controller")


@pytest.fixture(scope="module")
def local() -> Iterator[local_postgres.Local]:
    with local_postgres.started() as made:
        yield made


@pytest.fixture
def cluster(local: local_postgres.Local, monkeypatch: pytest.MonkeyPatch) -> Iterator[local_postgres.Cluster]:
    """With a connection of each client, named as its pod."""
    monkeypatch.setattr(pods, "run", local.run)
    monkeypatch.setattr(pods, "reached", lambda _cluster, _ref, _deadline, act: act(local_postgres.POD))
    monkeypatch.setattr(pods, "running", lambda _cluster, _ref: [local_postgres.POD])
    with contextlib.ExitStack() as stack:
        for name in CLIENTS:
            stack.enter_context(connected(local, f"{name}-7c4-a"))
        yield local_postgres.Cluster(local, [deployment(name) for name in CLIENTS])


@contextlib.contextmanager
def connected(local: local_postgres.Local, application: str) -> Iterator[None]:
    """A connection of the application's role that is there when this begins."""
    conninfo = f"host=127.0.0.1 port={local.port} user=app dbname=space sslmode=require application_name={application}"
    env = {**local.env, "PGPASSWORD": local.env["POSTGRES_PASSWORD"]}
    with subprocess.Popen(
        ["psql", "-XAtq", conninfo], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as psql:
        assert psql.stdin
        assert psql.stdout
        psql.stdin.write("SELECT 1;\n")
        psql.stdin.flush()
        assert psql.stdout.readline() == "1\n"
        yield
        psql.stdin.close()


def deployment(name: str, pool: str = "4", **spec: Any) -> dict[str, Any]:
    env = [{"name": "SPACE_DATABASE_URL", "valueFrom": {}}, {"name": "SPACE_DATABASE_POOL", "value": pool}]
    template = {"spec": {"containers": [{"env": env if pool else env[:1]}]}}
    strategy = {"rollingUpdate": {"maxSurge": 1}}
    return {"metadata": {"name": name}, "spec": {"replicas": 1, "template": template, "strategy": strategy, **spec}}


def tried(the: scenario.Scenario, cluster: local_postgres.Cluster, only: str = "") -> dict[str, verdict.Verdict]:
    """Its loads driven (or one of them alone), and every check judged, by label."""
    run = api_double.Run(cluster=cluster)
    pod = {"name": "space-api-a", "ready": True, "terminating": False, "current": True}
    for phase in the.phases:
        for one in phase.loads:
            if only not in ("", one.name):
                continue
            run.emit("pods", target="deployment/space-api", load=one.name, pods=[pod])
            run.emit("load-started", load=one.name, phase=phase.name)
            flow = run.load(one.kind, one.name, **one.arguments)
            load_kinds.DRIVERS[one.kind](flow)
            run.emit("load-ended", load=one.name, phase=phase.name, requests=flow.sent)
    return {item.check: item for item in judge.judge_all(the, run.events)}


def test_a_server_as_the_image_runs_it_passes_every_check(cluster: local_postgres.Cluster) -> None:
    found = tried(THE, cluster)
    wrong = {name: item.sentence for name, item in found.items() if item.judged != verdict.Judged.PASS}
    assert set(wrong) == {"nothing-left"}, wrong  # that one asks the Leases


@pytest.mark.parametrize("row", SPOILED, ids=lambda row: f"{row.check}: {row.breaks}")
def test_each_spoiling_turns_its_check_red_and_says_why(
    row: mutations.Row, cluster: local_postgres.Cluster, tmp_path: Path
) -> None:
    mutations.write_spoiled(row, tmp_path)
    (the,) = loading.scenarios(tmp_path, suite.tables())
    found = tried(the, cluster, row.check.split()[1])[row.check]
    assert found.judged == verdict.Judged.FAIL, found.sentence
    assert "; saw " in found.sentence


def test_a_setting_of_the_database_or_of_the_role_counts(
    cluster: local_postgres.Cluster, local: local_postgres.Local
) -> None:
    def alter(change: str) -> None:
        told = local.run(None, local_postgres.POD, ["psql", "-U", "postgres", "-c", change], pods.Deadline(5, ""))
        assert told.code == 0, told.err

    alter("ALTER DATABASE space SET synchronous_commit = off")
    alter("ALTER ROLE app SET default_transaction_isolation = serializable")
    try:
        found = tried(THE, cluster, "profile")["database-settings profile"]
    finally:
        alter("ALTER DATABASE space RESET synchronous_commit")
        alter("ALTER ROLE app RESET default_transaction_isolation")
    assert found.judged == verdict.Judged.FAIL
    assert "expected synchronous_commit on, default_transaction_isolation read committed" in found.sentence
    assert "saw synchronous_commit off, default_transaction_isolation serializable" in found.sentence


def test_pools_that_do_not_fit_are_told_with_their_sum(cluster: local_postgres.Cluster) -> None:
    cluster.deployments[0] = deployment("space-api", "", replicas=2)  # it takes the declared 8
    assert tried(THE, cluster, "profile")["database-budget profile"].judged == verdict.Judged.PASS
    cluster.deployments[0] = deployment("space-api", "40", replicas=2, strategy={"rollingUpdate": {"maxSurge": "50%"}})
    found = tried(THE, cluster, "profile")["database-budget profile"]
    assert found.judged == verdict.Judged.FAIL
    assert "expected at most 57 connections; saw 147 (3 x 40 of space-api" in found.sentence
    assert "2 x 5 of space-cluster-controller" in found.sentence


def test_a_pod_with_more_connections_than_its_share_is_told(
    cluster: local_postgres.Cluster, local: local_postgres.Local
) -> None:
    cluster.deployments[1] = deployment("space-admin-api", "1")
    with connected(local, "space-admin-api-7c4-a"):
        found = tried(THE, cluster, "profile")["database-budget profile"]
    assert found.judged == verdict.Judged.FAIL
    assert "saw space-admin-api-7c4-a: 2, its share is 1" in found.sentence


def test_nothing_that_was_tried_is_left_in_the_database(
    cluster: local_postgres.Cluster, local: local_postgres.Local
) -> None:
    tried(THE, cluster, "ddl")
    ask = "SELECT count(*) FROM pg_class WHERE relname = 'smoke_made'"
    told = local.run(
        None, local_postgres.POD, ["psql", "-U", "postgres", "-d", "space", "-XAtc", ask], pods.Deadline(5, "")
    )
    assert told.out == "0\n"


WISH = postgres_client.Wish("postgres", "verify-full", "an authority")


def test_no_password_is_in_what_is_run_in_the_pod() -> None:
    words = " ".join(postgres_client.command(WISH, "10.0.0.1"))
    assert "PGPASSWORD=$POSTGRES_PASSWORD" in words
    assert not any(value in words for name, value in local_postgres.ENVIRONMENT.items() if "PASSWORD" in name)


@pytest.mark.parametrize(
    "said",
    [
        'psql: error: connection to server at "postgres" (10.0.0.1), port 5432 failed: Connection refused',
        'psql: error: connection to server at "postgres" (10.0.0.1), port 5432 failed: timeout expired',
        "psql: error: connection to server failed: FATAL:  the database system is shutting down",
    ],
)
def test_a_server_that_is_away_has_refused_nobody(said: str) -> None:
    with pytest.raises(pods.NotYet):
        postgres_client.told(pods.Ended(2, "", said), "postgres-0")


def test_a_command_that_did_not_get_to_the_server_is_no_refusal() -> None:
    with pytest.raises(errors.ApiError, match="mktemp"):
        postgres_client.told(pods.Ended(1, "", "mktemp: failed to create file"), "postgres-0")


def test_the_profile_and_what_the_chart_and_the_services_take_by_default_agree() -> None:
    profile = yaml.safe_load(postgres_profile.PROFILE.read_text())
    values = yaml.safe_load((postgres_profile.PROFILE.parent / "values.yaml").read_text())
    chart = yaml.safe_load((postgres_profile.PROFILE.parent / "Chart.yaml").read_text())
    service = (mutations.PROJECT / "services" / "common" / "database.py").read_text()
    assert str(values["maxConnections"]) == profile["settings"]["max_connections"]
    assert chart["appVersion"] == str(profile["server"])
    assert f'reader.integer("SPACE_DATABASE_POOL", {profile["clients"]["pool"]}, ' in service
    assert all(isinstance(value, str | list) for value in profile["settings"].values())
