"""The table of what our charts claim: a judge, the charts it holds for, and the values it is judged with.

A claim that names no values is judged with every values file of the chart. Claims about values that no file holds share
a few sets of them (`SETS`), since each set costs a render of each chart with each planted fault.
Each claim has a planted fault in `broken/` that fails it and no other.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from space_smoke.charts import render
from space_smoke.tests.render import grid, installer, judges, services, stores, telemetry

CHARTS = pathlib.Path(__file__).parents[3] / "charts"
STAGES = yaml.safe_load((CHARTS / "releases.yaml").read_text())["stages"]
# The first one of each chart.
STAGED = {release["chart"]: release for stage in STAGES[::-1] for release in stage[::-1]}
INSTALLER = "space-cluster"

# Charts that no stage of a bench names: those of services that a bench does not run yet, and the installer of clusters
# that are no bench.
APART: dict[str, dict[str, str]] = {
    name: {"release": name, "namespace": "space", "values": f"bench-values/{name}.yaml"}
    for name in ("space-admin-api", "space-internal-api", "space-cluster-controller")
    if name not in STAGED
}
RELEASES = {**STAGED, **APART, **grid.RELEASES, INSTALLER: {"release": INSTALLER, "namespace": "space"}}
EVERY = tuple(RELEASES)
ALL = tuple(name for name in RELEASES if name not in (INSTALLER, grid.SITE))
SERVICES, SHARING = installer.SERVICES, installer.SHARING
COUNTING = SHARING[:2]  # they count their clients
SPAWNING = ("space-api", "space-cluster-controller")  # they make the pods of sandboxes

Judge = Callable[[render.Rendered], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Claim:
    """`values` are names of files in the chart's `ci/`, "bench", "example" or names of `SETS`; empty: all files.

    `overrides` are added to them; without `values`, to the minimal ones.
    """

    judge: Judge
    charts: tuple[str, ...] = ALL
    values: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(getattr(self.judge, "__name__", self.judge))


def values_files(chart: str) -> dict[str, pathlib.Path]:
    """Every values file of `chart` by its short name: those of `ci/`, and `bench` and `example` where there are such."""
    found = {path.name.removesuffix("-values.yaml"): path for path in sorted((CHARTS / chart / "ci").glob("*.yaml"))}
    for name, path in (("example", f"{chart}/values.example.yaml"), ("bench", RELEASES[chart].get("values", ""))):
        if path and (CHARTS / path).exists():
            found[name] = CHARTS / path
    return {**found, "minimal": found.pop("minimal")}  # last: planted faults are judged with the last one


def cases(claim: Claim, chart: str, folder: pathlib.Path | None = None) -> list[render.Case]:
    """The renders that `claim` is judged by; `folder` is a copy of the chart to judge in its stead."""
    release = RELEASES[chart]
    files = values_files(chart)
    names = claim.values or (("minimal",) if claim.overrides else tuple(files))
    place = folder or CHARTS / chart
    found = []
    for name in names:
        file, added = (files["minimal"], SETS[name](chart)) if name in SETS else (files[name], claim.overrides)
        found.append(render.Case(place, release["release"], release["namespace"], (file,), added))
    return found


def nothing(_: render.Rendered) -> list[str]:
    """The judge of nothing, for those who want a chart's cases only."""
    return []


def of(charts: str | tuple[str, ...], *found: Judge, values: tuple[str, ...] = ()) -> list[Claim]:
    return [Claim(judge, (charts,) if isinstance(charts, str) else charts, values) for judge in found]


def _changed(chart: str) -> dict[str, Any]:
    """A value for each claim that needs one unlike every file's; no two of them meet in one line of a render."""
    caps: dict[str, Any] = {"activation": {"enabled": False, "burst": 100000, "refillPerSecond": 100000}}
    if chart in COUNTING:
        caps["clientConcurrency"] = {"limit": 100000}
    return {
        "nodeSelectorExtras": {"disk": "fast"},
        "image": {"tag": "v9", "digest": f"sha256:{'a' * 64}"},
        **({"redis": {"url": ""}, "limiters": caps} if chart in SHARING else {}),
        **({"sandbox": {"nodeSelectorExtras": {"disk": "fast"}}} if chart in SPAWNING else {}),
    }


def _bare(chart: str) -> dict[str, Any]:
    """What is there by default, taken away."""
    plain: dict[str, Any] = {"tls": {"enabled": False}}
    taken = {"postgres": plain, "space-redis": {}, "telemetry": {}}.get(chart, {"database": plain})
    return {"nodeGroup": "", **taken}


SETS = {"changed": _changed, "bare": _bare}
_STANDING = ("bench", "minimal")

CLAIMS: list[Claim] = [
    *of(
        EVERY,
        judges.selectors_match_pods,
        judges.ports_exist,
        judges.images_are_pinned,
        judges.images_are_pulled_only_when_missing,
        judges.nothing_is_null,
        judges.labels_are_complete,
        judges.pods_do_not_follow_the_version,
        judges.containers_are_restricted,
        judges.resources_fit_the_bench,
        judges.pods_stay_in_their_node_group,
        judges.pods_get_no_service_links,
        judges.tokens_go_only_to_named_accounts,
        judges.environment_is_sound,
        judges.standing_pods_are_probed,
        judges.objects_name_their_namespace,
        judges.objects_are_told_apart,
        judges.volumes_exist,
        judges.accounts_exist,
        judges.hooks_need_nothing_of_the_release,
    ),
    *of((*ALL, INSTALLER), judges.a_helm_test_is_there_and_cleans_up),
    *of(ALL, judges.extras_are_merged, judges.a_digest_is_part_of_the_image, values=("changed",)),
    *of(ALL, judges.emptied_groups_leave_no_selector, values=("bare",)),
    *of(
        "space-redis",
        stores.redis_is_ready_only_when_it_says_pong,
        stores.redis_keeps_nothing_and_evicts_nothing,
        stores.there_is_one_redis_at_a_time,
        stores.redis_answers_at_its_fixed_address,
    ),
    *of(
        "postgres",
        stores.postgres_liveness_does_not_need_a_connection_slot,
        stores.postgres_is_alone_on_its_volume,
        stores.postgres_data_lies_on_the_volume,
    ),
    *of(
        "postgres",
        stores.postgres_is_ready_by_a_query_over_tcp,
        stores.postgres_urls_match_their_parts,
        stores.postgres_passwords_stand_in_secrets_only,
        values=("no-tls", "everything", "bench", "minimal"),
    ),
    *of(
        "postgres",
        stores.postgres_serves_tls_with_a_key_that_it_alone_may_read,
        stores.the_database_test_proves_tls,
        values=("everything", "minimal"),
    ),
    *of("postgres", stores.one_role_is_all_there_is, values=("one-role",)),
    *of("postgres", stores.postgres_without_tls_needs_no_certificate, values=("no-tls", "bare")),
    *of("postgres", stores.given_secrets_replace_ours, values=("existing-secrets",)),
    *of(
        SERVICES,
        services.it_runs_its_own_service,
        services.a_rollout_never_lacks_a_replica,
        services.the_probes_ask_the_right_paths,
        services.pods_know_their_name,
    ),
    *of(SERVICES, services.no_planted_fault_is_on, telemetry.no_backend_is_named_by_itself, values=_STANDING),
    *of(SERVICES, telemetry.a_named_backend_reaches_the_service, values=("everything",)),
    *of((*SERVICES, grid.OPERATOR), services.the_authority_is_where_urls_name_it, values=("everything", "minimal")),
    *of((*SERVICES, grid.OPERATOR), services.without_tls_no_authority_is_needed, values=("no-tls", "bare")),
    *of(SHARING, services.its_account_may_do_just_what_it_does, services.pods_know_their_namespace),
    *of(
        SHARING,
        services.the_store_is_named,
        services.limiter_values_not_set_are_not_rendered,
        services.sandboxes_get_the_own_image_when_none_is_named,
        values=_STANDING,
    ),
    *of(SHARING, services.an_empty_url_leaves_no_variable, values=("changed",)),
    *of(SHARING, services.large_caps_are_written_out, services.a_false_switch_is_rendered, values=("changed",)),
    *of(COUNTING, services.the_limiter_mode_is_pinned, values=_STANDING),
    *of(COUNTING, services.a_large_limit_is_written_out, values=("changed",)),
    *of(SPAWNING, services.sandboxes_go_to_their_group_as_json, values=_STANDING),
    *of(SPAWNING, services.sandbox_extras_are_merged, values=("changed",)),
    *of("space-api", services.migrations_run_first_and_end),
    *of("space-api", services.migrations_run_as_the_owner_and_the_api_does_not, values=_STANDING),
    *of(
        telemetry.CHART,
        telemetry.both_backends_answer_at_their_fixed_addresses,
        telemetry.samples_keep_their_trace_ids,
        telemetry.what_is_kept_fits_its_volume,
        telemetry.a_changed_configuration_restarts_prometheus,
        telemetry.each_application_is_found_by_a_headless_service,
    ),
    *of(("space-internal-api", telemetry.CHART), services.kubernetes_is_out_of_reach),
    *of(
        "space-internal-api",
        services.no_store_can_be_named,
        services.it_tells_its_image,
    ),
    *of("space-cluster-controller", services.its_deployment_owns_what_it_makes),
    *of("space-cluster-controller", services.operation_values_not_set_are_not_rendered, values=_STANDING),
    *of(
        grid.OPERATOR,
        grid.there_is_one_process_of_a_site,
        grid.it_runs_the_operator,
        grid.it_is_told_who_it_is,
        grid.peers_are_told_an_address_that_reaches_it,
        grid.swim_listens_by_both_protocols,
        grid.nobody_else_gets_its_rights,
        grid.the_crds_come_with_it,
    ),
    *of(grid.OPERATOR, grid.its_rights_are_what_it_needs, values=("everything", *_STANDING)),
    *of(grid.OPERATOR, grid.peers_find_it_by_both_protocols, values=("bench", "everything", "node-port")),
    *of(grid.OPERATOR, grid.it_is_not_reached_from_outside_unless_asked, values=("no-tls", "minimal")),
    *of(grid.SITE, grid.the_spec_is_never_empty, values=("everything", "bench", "example", "budgets", "minimal")),
    *of(
        grid.SITE,
        grid.resources_are_whole_for_their_crds,
        grid.all_belong_to_the_network,
        values=("minimal", "budgets", "bench", "example", "everything"),
    ),
    *of(grid.SITE, grid.every_field_of_the_crds_is_rendered, values=("everything",)),
    *of(grid.SITE, grid.what_is_not_given_is_not_rendered, values=("minimal",)),
    *of(grid.SITE, grid.the_policy_is_passed_through, values=("bench", "budgets", "everything")),
    *of(INSTALLER, installer.it_installs_the_services_and_no_store),
    *of(INSTALLER, installer.it_names_no_store_by_itself, values=("minimal",)),
    *of(INSTALLER, installer.a_named_store_reaches_all_that_share_it, values=("everything", "example")),
]
