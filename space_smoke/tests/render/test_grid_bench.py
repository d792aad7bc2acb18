"""Three grid sites as a bench installs them: what each of them names is there, they find and believe each other, and are small."""

from __future__ import annotations

import datetime
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from space_smoke.bench import certificates, grid_keys, images, kind, releases
from space_smoke.charts import render
from space_smoke.tests.render import claims, reading, stores

SITES = ("a", "b", "c")
_BUILT = {name: images.Image(f"space-smoke/{name}", "v1", "") for name in images.EVERY}
_BORN = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
_RESERVED = 3  # superuser_reserved_connections, Postgres' own default
_MIB = {"Mi": 1, "Gi": 1024}

Bench = dict[str, render.Rendered]


def nested(sets: Mapping[str, str]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for path, value in sets.items():
        *folders, last = path.split(".")
        place = total
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return total


def rendered_as_installed(planned: releases.Planned, helm: render.Renderer) -> render.Rendered:
    sets = nested(planned.sets(_BUILT))
    return helm.render(render.Case(planned.chart, planned.release, planned.namespace, planned.values, sets))


@pytest.fixture(scope="module")
def planned() -> dict[str, releases.Planned]:
    found = (one for stage in releases.stages(extras=["grid"]) for one in stage)
    return {one.release: one for one in found if one.release.startswith("grid-")}


@pytest.fixture(scope="module")
def bench(planned: Mapping[str, releases.Planned], helm: render.Renderer) -> Bench:
    return {name: rendered_as_installed(one, helm) for name, one in planned.items()}


def operator(bench: Bench, site: str) -> Mapping[str, Any]:
    return reading.container(bench[f"grid-{site}"], "StatefulSet", f"grid-{site}")


def network(bench: Bench, site: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = bench[f"grid-{site}-site"].one("GridNetwork", f"grid-{site}")["spec"]
    return found


def pods(bench: Bench) -> Iterator[reading.Pod]:
    for rendered in bench.values():
        yield from (pod for pod in reading.pods(rendered) if pod.standing)


@pytest.mark.parametrize("site", SITES)
def test_a_site_knows_its_own_name_and_reconciles_its_own_network(bench: Bench, site: str) -> None:
    told = reading.environment(operator(bench, site))
    names = {name: told[name] for name in ("GRID_SWIM_SITE_NAME", "GRID_NETWORK_NAME", "GRID_SWIM_PROFILE")}
    assert names == {"GRID_SWIM_SITE_NAME": site, "GRID_NETWORK_NAME": f"grid-{site}", "GRID_SWIM_PROFILE": "kind"}
    assert network(bench, site)["gridId"] == "bench"


def test_the_seeds_of_every_site_are_the_services_of_all_by_which_they_are_found_before_they_are_ready(
    bench: Bench,
) -> None:
    found = []
    for site in SITES:
        service = bench[f"grid-{site}"].one("Service", f"grid-{site}-swim")
        assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == ("None", True)
        assert {port["protocol"] for port in service["spec"]["ports"]} == {"UDP", "TCP"}
        (number,) = {port["port"] for port in service["spec"]["ports"]}
        found.append(f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc:{number}")
    assert [network(bench, site)["seeds"] for site in SITES] == [found] * 3


def test_every_site_believes_all_sites_by_the_keys_that_the_bench_gives_them(bench: Bench) -> None:
    for site in SITES:
        sites = [one.body["spec"] for one in bench[f"grid-{site}-site"].objects if one.kind == "GridSite"]
        assert {one["siteName"]: one["publicKey"] for one in sites} == {name: grid_keys.public(name) for name in SITES}
        assert {one["gridNetworkRef"]["name"] for one in sites} == {f"grid-{site}"}


@pytest.mark.parametrize("site", SITES)
def test_the_keys_that_a_network_names_are_kept_for_its_site_and_its_operator_may_read_them(
    bench: Bench, planned: Mapping[str, releases.Planned], site: str
) -> None:
    assert planned[f"grid-{site}"].keys == site
    kept = grid_keys.secret(site, f"grid-{site}")
    for ref in network(bench, site)["tls"].values():
        assert ref["name"] == kept["metadata"]["name"]
        assert ref["key"] in kept["data"]
    (rule,) = bench[f"grid-{site}"].one("Role", f"grid-{site}")["rules"]
    assert rule["resourceNames"] == [kept["metadata"]["name"]]


@pytest.mark.parametrize("site", SITES)
def test_a_site_reaches_its_own_database_over_tls_that_it_can_verify(
    bench: Bench, planned: Mapping[str, releases.Planned], site: str
) -> None:
    server = planned[f"grid-{site}-postgres"]
    assert server.certificate == server.release
    assert planned[f"grid-{site}"].namespace == server.namespace == f"grid-{site}"
    ref = reading.environment(operator(bench, site))["SPACE_DATABASE_URL"]["secretKeyRef"]
    url = bench[server.release].one("Secret", ref["name"])["stringData"][ref["key"]]
    host = re.fullmatch(r"postgresql://grid:[^@]+@([^:]+):5432/grid\?sslmode=verify-full&sslrootcert=(.+)", url)
    assert host is not None
    assert host.groups() == (server.certificate, stores.AUTHORITY)
    assert host[1] in certificates.service_names(server.certificate, server.namespace)
    _, authority = certificates.objects([host[1]], server.namespace, _BORN)
    pod = next(pod for pod in reading.pods(bench[f"grid-{site}"]) if pod.standing)
    (mounted,) = [volume["configMap"] for volume in pod.spec["volumes"] if "configMap" in volume]
    assert (mounted["name"], mounted["items"][0]["key"]) == (authority["metadata"]["name"], *authority["data"])


@pytest.mark.parametrize("site", SITES)
def test_the_volume_made_beforehand_is_the_one_that_the_database_claims_on_its_node(
    bench: Bench, planned: Mapping[str, releases.Planned], site: str
) -> None:
    server = planned[f"grid-{site}-postgres"]
    spec = bench[server.release].one("StatefulSet", server.release)["spec"]
    (claim,) = spec["volumeClaimTemplates"]
    (volume,) = server.volumes
    assert volume.claim == f"{claim['metadata']['name']}-{server.release}-0"
    assert volume.size == claim["spec"]["resources"]["requests"]["storage"]
    assert spec["template"]["spec"]["nodeSelector"] == {kind.GROUP: volume.group}


def test_a_site_is_on_one_node_and_the_three_are_on_two(bench: Bench) -> None:
    groups = {
        site: {
            pod.spec["nodeSelector"][kind.GROUP]
            for part in ("", "-postgres")
            for pod in pods({"": bench[f"grid-{site}{part}"]})
        }
        for site in SITES
    }
    assert groups == {"a": {"infra"}, "b": {"sandbox"}, "c": {"infra"}}
    assert {group for found in groups.values() for group in found} <= set(kind.groups())


@pytest.mark.parametrize("site", SITES)
def test_a_sites_connections_fit_its_database(bench: Bench, site: str) -> None:
    server = reading.container(bench[f"grid-{site}-postgres"], "StatefulSet", f"grid-{site}-postgres")
    (limit,) = [int(one.partition("=")[2]) for one in server["args"] if one.startswith("max_connections=")]
    pool = int(reading.environment(operator(bench, site))["SPACE_DATABASE_POOL"])
    assert 2 * pool + 1 + _RESERVED <= limit  # a killed pod's are open for a while; and the helm test's


def test_the_grid_asks_for_less_memory_than_600_mib(bench: Bench) -> None:
    asked = [container["resources"]["requests"]["memory"] for pod in pods(bench) for container in pod.containers]
    assert len(asked) == 6
    assert sum(int(one[:-2]) * _MIB[one[-2:]] for one in asked) < 600


def test_the_budgets_are_those_that_scenarios_count_on(bench: Bench) -> None:
    tenants = [{"tenantId": "acme", "capUsd": 1000}, {"tenantId": "globex", "capUsd": 500}]
    assert [network(bench, site)["budgetPolicy"] for site in SITES] == [{"epoch": 1, "tenants": tenants}] * 3


def test_no_two_releases_of_the_grid_make_one_object(bench: Bench) -> None:
    made = [
        (item.kind, item.body["metadata"].get("namespace"), item.name)
        for rendered in bench.values()
        for item in rendered.objects
        if item.kind != "CustomResourceDefinition"
    ]
    assert len(made) == len(set(made))


def test_the_values_files_of_the_grid_are_all_in_use(planned: Mapping[str, releases.Planned]) -> None:
    used = {path for one in planned.values() for path in one.values}
    assert used == {pathlib.Path(path) for path in (claims.CHARTS / "bench-values").glob("grid-*.yaml")}
