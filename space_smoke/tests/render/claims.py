"""The table of what our charts claim: a judge, the charts it holds for, and the values it is judged with.

A claim without overrides is judged with every values file of the chart (`ci/` and the bench's) unless it names some.
Each claim has a planted fault in `broken/variants.yaml` that fails it and no other.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from space_smoke.charts import render
from space_smoke.tests.render import judges, specific

CHARTS = pathlib.Path(__file__).parents[3] / "charts"
STAGES = yaml.safe_load((CHARTS / "releases.yaml").read_text())["stages"]
RELEASES = {release["chart"]: release for stage in STAGES for release in stage}
ALL = tuple(RELEASES)

Judge = Callable[[render.Rendered], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Claim:
    """`values` are names of files in the chart's `ci/`, or "bench"; empty: all of them."""

    judge: Judge
    charts: tuple[str, ...] = ALL
    values: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(getattr(self.judge, "__name__", self.judge))


def values_files(chart: str) -> dict[str, pathlib.Path]:
    """Every values file of `chart` by its short name: those of `ci/`, and `bench`."""
    found = {path.name.removesuffix("-values.yaml"): path for path in sorted((CHARTS / chart / "ci").glob("*.yaml"))}
    return {**found, "bench": CHARTS / RELEASES[chart]["values"]}


def cases(claim: Claim, chart: str, folder: pathlib.Path | None = None) -> list[render.Case]:
    """The renders that `claim` is judged by; `folder` is a copy of the chart to judge in its stead."""
    release = RELEASES[chart]
    files = values_files(chart)
    names = claim.values or (("bench",) if claim.overrides else tuple(files))
    place = folder or CHARTS / chart
    return [
        render.Case(place, release["release"], release["namespace"], (files[name],), claim.overrides) for name in names
    ]


def nothing(_: render.Rendered) -> list[str]:
    """The judge of nothing, for those who want a chart's cases only."""
    return []


def on_every_chart(*found: Judge) -> list[Claim]:
    return [Claim(judge) for judge in found]


def of(chart: str, *found: Judge, values: tuple[str, ...] = (), **overrides: Any) -> list[Claim]:
    return [Claim(judge, (chart,), values, overrides) for judge in found]


_STANDING = ("minimal", "bench")
_ADDED = {"nodeSelectorExtras": {"disk": "fast"}, "image": {"tag": "v9", "digest": f"sha256:{'a' * 64}"}}
_LIMITS = {
    "clientConcurrency": {"limit": 100000},
    "activation": {"enabled": False, "burst": 100000, "refillPerSecond": 100000},
}

CLAIMS: list[Claim] = [
    *on_every_chart(
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
        judges.a_helm_test_is_there_and_cleans_up,
    ),
    Claim(specific.extras_are_merged, overrides=_ADDED),
    Claim(specific.a_digest_is_part_of_the_image, overrides=_ADDED),
    Claim(specific.emptied_groups_leave_no_selector, overrides={"nodeGroup": ""}),
    *of(
        "space-redis",
        specific.redis_is_ready_only_when_it_says_pong,
        specific.redis_keeps_nothing_and_evicts_nothing,
        specific.there_is_one_redis_at_a_time,
        specific.redis_answers_at_its_fixed_address,
    ),
    *of(
        "postgres",
        specific.postgres_is_ready_by_a_query_over_tcp,
        specific.postgres_liveness_does_not_need_a_connection_slot,
        specific.postgres_is_alone_on_its_volume,
        specific.postgres_data_lies_on_the_volume,
    ),
    *of(
        "postgres",
        specific.postgres_urls_match_their_parts,
        specific.postgres_passwords_stand_in_secrets_only,
        values=("minimal", "everything", "bench"),
    ),
    *of("postgres", specific.given_secrets_replace_ours, values=("existing-secrets",)),
    *of(
        "space-api",
        specific.a_rollout_never_lacks_a_replica,
        specific.the_api_may_do_just_what_it_does,
        specific.migrations_run_first_and_end,
        specific.pods_know_their_name_and_place,
        specific.the_probes_ask_the_right_paths,
    ),
    *of(
        "space-api",
        specific.the_api_names_its_store,
        specific.the_limiter_mode_is_pinned,
        specific.limiter_values_not_set_are_not_rendered,
        specific.no_planted_fault_is_on,
        specific.migrations_run_as_the_owner_and_the_api_does_not,
        specific.sandboxes_go_to_their_group_as_json,
        specific.sandboxes_get_the_api_image_when_none_is_named,
        values=_STANDING,
    ),
    *of("space-api", specific.an_empty_url_leaves_no_variable, redis={"url": ""}),
    *of("space-api", specific.large_numbers_are_written_out, specific.a_false_switch_is_rendered, limiters=_LIMITS),
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Values that helm must refuse, naming `place` and `rule`."""

    name: str
    charts: tuple[str, ...]
    overrides: Mapping[str, Any]
    place: str
    rule: str

    def heard_in(self, output: str) -> bool:
        """Whether one line of what helm said names the place and the rule."""
        return any(self.place in line and self.rule in line for line in output.splitlines())


API = ("space-api",)
POSTGRES = ("postgres",)

REFUSALS = [
    Refusal("the tag latest", ALL, {"image": {"tag": "latest"}}, "at '/image/tag'", "'not' failed"),
    Refusal("neither tag nor digest", ALL, {"image": {"tag": ""}}, "at '/image/tag'", "minLength: got 0, want 1"),
    Refusal(
        "a tag that YAML made a number", ALL, {"image": {"tag": 1.1}}, "at '/image/tag'", "got number, want string"
    ),
    Refusal(
        "a digest that is none", ALL, {"image": {"digest": "sha256:1"}}, "at '/image/digest'", "does not match pattern"
    ),
    Refusal("an unknown node group", ALL, {"nodeGroup": "gpu"}, "at '/nodeGroup'", "value must be one of '', 'infra'"),
    Refusal("an image taken away", ALL, {"image": None}, "at ''", "missing property 'image'"),
    Refusal(
        "an extra that would replace the group",
        ALL,
        {"nodeSelectorExtras": {judges.GROUP: "sandbox"}},
        "nodeSelectorExtras.space-smoke.dev/group=sandbox",
        'nodeGroup already sets this label to "infra", and extras may not replace it',
    ),
    Refusal(
        "an extra that would replace the sandboxes' group",
        API,
        {"sandbox": {"nodeSelectorExtras": {judges.GROUP: "infra"}}},
        "sandbox.nodeSelectorExtras.space-smoke.dev/group=infra",
        'sandbox.nodeGroup already sets this label to "sandbox"',
    ),
    Refusal(
        "a store that is no Redis", API, {"redis": {"url": "http://x"}}, "at '/redis/url'", "does not match pattern"
    ),
    Refusal(
        "an unknown limiter mode",
        API,
        {"limiters": {"clientConcurrency": {"mode": "on"}}},
        "at '/limiters/clientConcurrency/mode'",
        "value must be one of 'off', 'observe', 'enforce'",
    ),
    Refusal(
        "a mode that YAML made false",
        API,
        {"limiters": {"clientConcurrency": {"mode": False}}},
        "at '/limiters/clientConcurrency/mode'",
        "got boolean, want string",
    ),
    Refusal(
        "no mode at all",
        API,
        {"limiters": {"clientConcurrency": {"mode": None}}},
        "at '/limiters/clientConcurrency'",
        "missing property 'mode'",
    ),
    Refusal(
        "a limit of nothing",
        API,
        {"limiters": {"clientConcurrency": {"limit": 0}}},
        "at '/limiters/clientConcurrency/limit'",
        "minimum: got 0, want 1",
    ),
    Refusal(
        "a client named like the common bucket",
        API,
        {"limiters": {"clientConcurrency": {"knownClients": ["unspecified"]}}},
        "at '/limiters/clientConcurrency/knownClients/0'",
        "'not' failed",
    ),
    Refusal(
        "a planted fault in a deployment",
        API,
        {"profile": "deployment", "mutation": "ttl-floor"},
        'mutation="ttl-floor"',
        "a planted fault is only for a bench",
    ),
    Refusal(
        "a drain longer than the grace period",
        API,
        {"drainSeconds": 10},
        "drainSeconds=10",
        "must be less than terminationGracePeriodSeconds=10",
    ),
    Refusal(
        "a sandbox image without a tag",
        API,
        {"sandbox": {"image": "space/sandbox"}},
        "at '/sandbox/image'",
        "does not match pattern",
    ),
    Refusal(
        "the latest sandbox image",
        API,
        {"sandbox": {"image": "space/sandbox:latest"}},
        "at '/sandbox/image'",
        "'not' failed",
    ),
    Refusal(
        "a superuser for the application",
        POSTGRES,
        {"auth": {"app": {"user": "postgres"}}},
        "at '/auth/app/user'",
        "'not' failed",
    ),
    Refusal(
        "an application that owns the database",
        POSTGRES,
        {"auth": {"app": {"user": "space_owner"}}},
        'auth.app.user="space_owner"',
        "must differ from auth.owner.user",
    ),
    Refusal(
        "a password that a URL cannot hold",
        POSTGRES,
        {"auth": {"app": {"password": "p@ss/word"}}},
        "at '/auth/app/password'",
        "does not match pattern",
    ),
    Refusal("too few connections", POSTGRES, {"maxConnections": 2}, "at '/maxConnections'", "minimum: got 2, want 10"),
]
