"""Judges of the four charts of the services' image: what each promises beyond what every chart does. Used by `claims`.

Each chart's Deployment has the name of its release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from space_smoke.charts import render
from space_smoke.tests.render import reading, stores

_COMMANDS = {
    "space-api": ["space_api", "--surface", "public"],
    "space-admin-api": ["space_api", "--surface", "admin"],
    "space-internal-api": ["space_internal_api"],
    "space-cluster-controller": ["space_cluster_controller"],
}
_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "create", "delete"]}
_ACTIVATION = "SPACE_CLUSTER_ACTIVATION_ADMISSION_"
_CLIENTS = "SPACE_API_CLIENT_CONCURRENCY_"


def container(rendered: render.Rendered) -> Mapping[str, Any]:
    return reading.container(rendered, "Deployment", rendered.case.release)


def environment(rendered: render.Rendered) -> dict[str, Any]:
    return reading.environment(container(rendered))


# all four


def it_runs_its_own_service(rendered: render.Rendered) -> Iterator[str]:
    command = container(rendered)["command"]
    wanted = ["python3", "-m", *_COMMANDS[rendered.case.release]]
    yield from reading.unless(command == wanted, f"the command is {command}, not {wanted}")


def a_rollout_never_lacks_a_replica(rendered: render.Rendered) -> Iterator[str]:
    strategy = rendered.one("Deployment", rendered.case.release)["spec"].get("strategy")
    wanted = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    yield from reading.unless(strategy == wanted, f"strategy is {strategy}")


def the_probes_ask_the_right_paths(rendered: render.Rendered) -> Iterator[str]:
    for name, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        probe = container(rendered)[name]
        yield from reading.unless(probe.get("httpGet", {}).get("path") == path, f"{name} asks {probe}")


def pods_know_their_name(rendered: render.Rendered) -> Iterator[str]:
    yield from _from_field(rendered, "SPACE_POD_NAME", "metadata.name")


def no_planted_fault_is_on(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless("SPACE_MUTATION" not in environment(rendered), "SPACE_MUTATION is rendered")


def the_authority_is_where_urls_name_it(rendered: render.Rendered) -> Iterator[str]:
    for pod in reading.pods(rendered):
        if any(entry["name"] == "SPACE_DATABASE_URL" for entry in pod.containers[0].get("env", [])):
            files = set()
            for mount in pod.containers[0]["volumeMounts"]:
                given = [v.get("configMap", {}) for v in pod.spec["volumes"] if v["name"] == mount["name"]]
                paths = [item["path"] for config_map in given for item in config_map.get("items", [])]
                files |= {f"{mount['mountPath']}/{path}" for path in paths if "subPath" not in mount}
            yield from reading.unless(stores.AUTHORITY in files, f"{pod.owner}: has {files}, not {stores.AUTHORITY}")


def without_tls_no_authority_is_needed(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless("configMap:" not in rendered.text, "a ConfigMap is mounted")


# those that talk to Kubernetes, and the one that does not


def pods_know_their_namespace(rendered: render.Rendered) -> Iterator[str]:
    yield from _from_field(rendered, "SPACE_NAMESPACE", "metadata.namespace")


def its_account_may_do_just_what_it_does(rendered: render.Rendered) -> Iterator[str]:
    name = rendered.case.release
    wanted = {"space-api": [_PODS], "space-admin-api": [{**_PODS, "verbs": ["get"]}]}.get(name)
    if wanted is None:
        told = environment(rendered)
        leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
        own = {"resourceNames": [told["SPACE_CONTROLLER_LEASE_NAME"]], "verbs": ["get", "update", "patch"]}
        owner = {"resourceNames": [told["SPACE_CONTROLLER_DEPLOYMENT"]], "verbs": ["get"]}
        wanted = [_PODS, {**leases, "verbs": ["create"]}, {**leases, **own}]
        wanted += [{"apiGroups": ["apps"], "resources": ["deployments"], **owner}]
    rules = rendered.one("Role", name)["rules"]
    yield from reading.unless(rules == wanted, f"the rules are {rules}")
    wider = [str(item) for item in rendered.objects if item.kind.startswith("ClusterRole")]
    yield from reading.unless(not wider, f"{wider} reach beyond the namespace")


def its_deployment_owns_what_it_makes(rendered: render.Rendered) -> Iterator[str]:
    owner = environment(rendered).get("SPACE_CONTROLLER_DEPLOYMENT")
    yield from reading.unless(owner == rendered.case.release, f"SPACE_CONTROLLER_DEPLOYMENT is {owner!r}")


def kubernetes_is_out_of_reach(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        yield from reading.unless(item.kind not in ("ServiceAccount", "Role", "RoleBinding"), f"{item} is rendered")
    for pod in reading.pods(rendered):
        yield from reading.unless("serviceAccountName" not in pod.spec, f"{pod.owner}: has an account")


def it_tells_its_image(rendered: render.Rendered) -> Iterator[str]:
    told, image = environment(rendered).get("SPACE_IMAGE"), container(rendered)["image"]
    yield from reading.unless(told == image, f"SPACE_IMAGE is {told!r}, the image is {image}")


# the limiters


def the_store_is_named(rendered: render.Rendered) -> Iterator[str]:
    value = environment(rendered).get("SPACE_REDIS_URL")
    yield from reading.unless(value == "redis://space-redis:6379", f"SPACE_REDIS_URL is {value!r}")


def an_empty_url_leaves_no_variable(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless("SPACE_REDIS_URL" not in environment(rendered), "SPACE_REDIS_URL is rendered")
    yield from reading.unless("redis://" not in rendered.text, "some store is named")


def no_store_can_be_named(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        yield from reading.unless("redis" not in json.dumps(item.body).lower(), f"{item}: a Redis is spoken of")
    names = [name for name in environment(rendered) if name.startswith((_ACTIVATION, _CLIENTS))]
    yield from reading.unless(not names, f"a limiter is set: {names}")


def the_limiter_mode_is_pinned(rendered: render.Rendered) -> Iterator[str]:
    value = environment(rendered).get(f"{_CLIENTS}MODE")
    yield from reading.unless(value == "observe", f"{_CLIENTS}MODE is {value!r}, not observe")


def limiter_values_not_set_are_not_rendered(rendered: render.Rendered) -> Iterator[str]:
    names = [name for name in environment(rendered) if name.startswith((_CLIENTS, _ACTIVATION))]
    names = [name for name in names if name != f"{_CLIENTS}MODE"]
    yield from reading.unless(not names, f"rendered are {names}")


def large_caps_are_written_out(rendered: render.Rendered) -> Iterator[str]:
    for name in ("BURST", "REFILL_PER_SECOND"):
        value = environment(rendered).get(f"{_ACTIVATION}{name}")
        yield from reading.unless(value == "100000", f"{_ACTIVATION}{name} is {value!r}, not '100000'")


def a_large_limit_is_written_out(rendered: render.Rendered) -> Iterator[str]:
    value = environment(rendered).get(f"{_CLIENTS}LIMIT")
    yield from reading.unless(value == "100000", f"{_CLIENTS}LIMIT is {value!r}, not '100000'")


def a_false_switch_is_rendered(rendered: render.Rendered) -> Iterator[str]:
    value = environment(rendered).get(f"{_ACTIVATION}ENABLED")
    yield from reading.unless(value == "false", f"{_ACTIVATION}ENABLED is {value!r}, not 'false'")


# migrations and sandboxes


def migrations_run_first_and_end(rendered: render.Rendered) -> Iterator[str]:
    job = rendered.one("Job", "space-api-migrate")
    hook = job["metadata"].get("annotations", {}).get("helm.sh/hook")
    yield from reading.unless(hook == "pre-install,pre-upgrade", f"the hook is {hook}")
    yield from reading.unless(0 <= job["spec"]["backoffLimit"] <= 3, f"backoffLimit is {job['spec']['backoffLimit']}")
    yield from reading.unless(bool(job["spec"].get("activeDeadlineSeconds")), "the Job may run for ever")
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    yield from reading.unless(command == ["python3", "-m", "space_api.migrate"], f"the command is {command}")


def migrations_run_as_the_owner_and_the_api_does_not(rendered: render.Rendered) -> Iterator[str]:
    migrating = reading.environment(reading.container(rendered, "Job", "space-api-migrate"))
    owner = migrating["SPACE_DATABASE_URL"]["secretKeyRef"]
    own = environment(rendered)["SPACE_DATABASE_URL"]["secretKeyRef"]
    yield from reading.unless(
        owner == {"name": "postgres-owner", "key": "url"}, f"migrations take their URL from {owner}"
    )
    yield from reading.unless(own == {"name": "postgres-app", "key": "url"}, f"the API takes its URL from {own}")


def sandboxes_go_to_their_group_as_json(rendered: render.Rendered) -> Iterator[str]:
    value = environment(rendered)["SPACE_SANDBOX_NODE_SELECTOR"]
    wanted = '{"space-smoke.dev/group":"sandbox"}'
    yield from reading.unless(value == wanted, f"SPACE_SANDBOX_NODE_SELECTOR is {value}")


def sandbox_extras_are_merged(rendered: render.Rendered) -> Iterator[str]:
    value = environment(rendered)["SPACE_SANDBOX_NODE_SELECTOR"]
    wanted = '{"disk":"fast","space-smoke.dev/group":"sandbox"}'
    yield from reading.unless(value == wanted, f"SPACE_SANDBOX_NODE_SELECTOR is {value}")


def sandboxes_get_the_own_image_when_none_is_named(rendered: render.Rendered) -> Iterator[str]:
    own, value = container(rendered)["image"], environment(rendered).get("SPACE_SANDBOX_IMAGE")
    yield from reading.unless(value == own, f"SPACE_SANDBOX_IMAGE is {value}, the service's is {own}")


def operation_values_not_set_are_not_rendered(rendered: render.Rendered) -> Iterator[str]:
    names = {name for name in environment(rendered) if name.startswith("SPACE_CONTROLLER_")}
    wanted = {"SPACE_CONTROLLER_LEASE_NAME", "SPACE_CONTROLLER_DEPLOYMENT"}
    yield from reading.unless(names == wanted, f"rendered are {sorted(names)}")


def _from_field(rendered: render.Rendered, name: str, path: str) -> Iterator[str]:
    value = environment(rendered).get(name)
    yield from reading.unless(value == {"fieldRef": {"fieldPath": path}}, f"{name} is {value}")
