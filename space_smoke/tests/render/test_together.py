"""What holds between the charts: shared definitions, releases in order, one bucket, one budget, and an installer that adds nothing."""

from __future__ import annotations

import datetime
import json
import pathlib
from typing import Any

import pytest
import yaml

from space_smoke.bench import certificates
from space_smoke.charts import render
from space_smoke.tests.render import claims, installer, reading, stores, test_claims

_RESERVED = 3  # superuser_reserved_connections, Postgres' own default
_SERVICE_POOL = 8  # SPACE_DATABASE_POOL of a service that is told none
_BORN = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
_AS_ITS_OWN = {"database": {"pool": 3}, "redis": {"url": "redis://store.example:6379"}}


def case_of(chart: str, values: str = "bench", **overrides: Any) -> render.Case:
    (case,) = claims.cases(claims.Claim(claims.nothing, values=(values,), overrides=overrides), chart)
    return case


def unlike_its_own(chart: str, installed: pathlib.Path, helm: render.Renderer) -> list[str]:
    """The objects of `chart` that `installed`, a copy of the installer, renders differently from the chart by itself.

    Only the label that names the release may differ.
    """
    values = {name: value for name, value in _AS_ITS_OWN.items() if chart in claims.SHARING or name != "redis"}
    shared = {name: {"redis": _AS_ITS_OWN["redis"]} for name in claims.SHARING}
    own = helm.render(render.Case(claims.CHARTS / chart, chart, "space", overrides=values))
    all_of_them = helm.render(
        render.Case(installed, claims.INSTALLER, "space", overrides={**shared, chart: {**values}})
    )
    place = f"charts/{chart}/"
    theirs = tuple(
        render.Object(item.source.removeprefix(place), _renamed(item.body, chart))
        for item in all_of_them.objects
        if item.source.startswith(place)
    )
    return test_claims.differences(own, render.Rendered(own.case, theirs, "", ""))


def _renamed(body: Any, release: str) -> Any:
    text = json.dumps(body)
    label = '"app.kubernetes.io/instance": '
    renamed: Any = json.loads(text.replace(f'{label}"{claims.INSTALLER}"', f'{label}"{release}"'))
    return renamed


def links(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """What lies in the installer's charts/, by name, with where it leads."""
    return {path.name: path.resolve() for path in (folder / "charts").iterdir()}


def test_a_file_of_definitions_is_the_same_in_every_chart_that_has_it() -> None:
    texts: dict[str, set[str]] = {}
    for path in claims.CHARTS.glob("*/templates/_*.tpl"):
        texts.setdefault(path.name, set()).add(path.read_text())
    assert {name for name, found in texts.items() if len(found) > 1} == set()
    assert all((claims.CHARTS / chart / "templates" / "_space.tpl").is_file() for chart in claims.ALL)


def test_a_definition_stands_in_one_file_only() -> None:
    """Below an umbrella all files of all charts are one space of names, of which the last one read wins."""
    found: dict[str, set[str]] = {}
    for path in claims.CHARTS.glob("*/templates/**/*"):
        if path.is_file():
            for line in path.read_text().splitlines():
                if "{{- define " in line:
                    found.setdefault(line.split('"')[1], set()).add(path.name)
    assert {name for name, files in found.items() if len(files) > 1} == set()
    assert "space.fullname" in found


def test_every_chart_has_notes_and_a_values_file_for_least_and_most() -> None:
    for chart in claims.EVERY:
        assert (claims.CHARTS / chart / "templates" / "NOTES.txt").stat().st_size > 0
        assert {"minimal", "everything"} <= claims.values_files(chart).keys()


def test_the_releases_come_in_the_order_of_their_needs_and_the_table_knows_every_chart() -> None:
    stages = [[release["release"] for release in stage] for stage in claims.STAGES]
    services = ["space-api", "space-admin-api", "space-internal-api", "space-cluster-controller"]
    sites = ["grid-a", "grid-b", "grid-c"]
    assert stages == [
        ["space-redis", "postgres", "telemetry", *(f"{site}-postgres" for site in sites)],
        [*services, *sites],
        [f"{site}-site" for site in sites],
    ]
    assert {path.parent.name for path in claims.CHARTS.glob("*/Chart.yaml")} == set(claims.EVERY)


@pytest.mark.parametrize("values", ["bench", "minimal"])
def test_api_and_controller_are_told_the_same_store_and_the_same_caps(values: str, helm: render.Renderer) -> None:
    told = [
        installer.bucket(
            reading.environment(reading.container(helm.render(case_of(chart, values)), "Deployment", chart))
        )
        for chart in claims.SHARING
    ]
    assert told == [{"SPACE_REDIS_URL": "redis://space-redis:6379"}] * 3


@pytest.mark.parametrize("chart", claims.SERVICES)
def test_the_installer_renders_a_chart_as_the_chart_does_itself(chart: str, helm: render.Renderer) -> None:
    assert unlike_its_own(chart, claims.CHARTS / claims.INSTALLER, helm) == []


def test_the_installer_takes_the_charts_beside_it_and_keeps_no_archives() -> None:
    folder = claims.CHARTS / claims.INSTALLER
    named = yaml.safe_load((folder / "Chart.yaml").read_text())["dependencies"]
    versions = {
        chart: yaml.safe_load((claims.CHARTS / chart / "Chart.yaml").read_text())["version"]
        for chart in claims.SERVICES
    }
    assert {one["name"]: one["version"] for one in named} == versions
    assert {one["repository"] for one in named} == {f"file://../{chart}" for chart in claims.SERVICES}
    assert links(folder) == {chart: claims.CHARTS / chart for chart in claims.SERVICES}


def test_a_budget_that_just_fits_is_taken(helm: render.Renderer) -> None:
    rendered = helm.render(case_of(claims.INSTALLER, "minimal", database={"maxConnections": 52}))
    assert len(rendered.objects) > 10


@pytest.mark.parametrize("values", ["bench", "minimal"])
def test_the_pools_of_all_charts_fit_the_database_chart(values: str, helm: render.Renderer) -> None:
    server = reading.container(helm.render(case_of("postgres", values)), "StatefulSet", "postgres")
    (limit,) = [int(one.partition("=")[2]) for one in server["args"] if one.startswith("max_connections=")]
    needed = 1 + _RESERVED  # the migrations' one
    for chart in claims.SERVICES:
        deployment = helm.render(case_of(chart, values)).one("Deployment", chart)["spec"]
        variables = reading.environment(deployment["template"]["spec"]["containers"][0])
        each = int(variables.get("SPACE_DATABASE_POOL", _SERVICE_POOL)) + (chart == "space-cluster-controller")
        needed += (deployment["replicas"] + deployment["strategy"]["rollingUpdate"]["maxSurge"]) * each
    assert needed <= limit


@pytest.mark.parametrize("values", ["bench", "minimal"])
@pytest.mark.parametrize("chart", claims.SERVICES)
def test_what_a_service_mounts_and_reads_is_made_before_it(chart: str, values: str, helm: render.Renderer) -> None:
    """Secrets by the database's chart, the authority by whoever made the certificate that the server is given."""
    made = {
        item.name: item.body["stringData"]
        for item in helm.render(case_of("postgres", values)).objects
        if item.kind == "Secret"
    }
    _, authority = certificates.objects(["postgres"], "space", _BORN)
    for pod in reading.pods(helm.render(case_of(chart, values))):
        for entry in pod.containers[0].get("env", []):
            secret = entry.get("valueFrom", {}).get("secretKeyRef")
            assert secret is None or secret["key"] in made[secret["name"]]
            if secret:
                verified = stores.AUTHORITY in made[secret["name"]][secret["key"]]
                assert verified == any("configMap" in volume for volume in pod.spec["volumes"])
        for volume in pod.spec.get("volumes", []):
            if "configMap" in volume:
                assert volume["configMap"]["name"] == authority["metadata"]["name"]
                assert {item["key"] for item in volume["configMap"]["items"]} <= authority["data"].keys()


def test_the_servers_certificate_is_the_one_that_the_bench_makes(helm: render.Renderer) -> None:
    secret, _ = certificates.objects(["postgres"], "space", _BORN)
    pod = helm.render(case_of("postgres", "minimal")).one("StatefulSet", "postgres")["spec"]["template"]["spec"]
    variables = reading.environment(pod["containers"][0])
    (volume,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
    assert volume["secretName"] == secret["metadata"]["name"]
    files = {pathlib.PurePath(variables[name]).name for name in ("POSTGRES_TLS_CERT", "POSTGRES_TLS_KEY")}
    assert files == secret["data"].keys()
