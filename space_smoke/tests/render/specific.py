"""Judges that know one chart: what it promises beyond what every chart does. Used by the table in `claims`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from space_smoke.charts import render

_EXPECTED_ROLE = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "create", "delete"]},
]


def _container(rendered: render.Rendered, kind: str, name: str) -> Mapping[str, Any]:
    container: Mapping[str, Any] = rendered.one(kind, name)["spec"]["template"]["spec"]["containers"][0]
    return container


def _environment(container: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container.get("env", [])}


def api_environment(rendered: render.Rendered) -> dict[str, Any]:
    return _environment(_container(rendered, "Deployment", "space-api"))


def _unless(condition: bool, sentence: str) -> Iterator[str]:
    if not condition:
        yield sentence


# space-redis


def redis_is_ready_only_when_it_says_pong(rendered: render.Rendered) -> Iterator[str]:
    probe = _container(rendered, "Deployment", "space-redis")["readinessProbe"]
    command = " ".join(probe.get("exec", {}).get("command", []))
    yield from _unless(
        "ping" in command and "= PONG" in command, f"readiness runs {command!r}; its exit code is 0 for NOAUTH too"
    )


def redis_keeps_nothing_and_evicts_nothing(rendered: render.Rendered) -> Iterator[str]:
    arguments = _container(rendered, "Deployment", "space-redis")["args"]
    settings = dict(zip(arguments[::2], arguments[1::2], strict=True))
    wanted = {"--save": "", "--appendonly": "no", "--maxmemory-policy": "noeviction", "--port": "6379"}
    for name, value in wanted.items():
        yield from _unless(settings.get(name) == value, f"{name} is {settings.get(name)!r}, not {value!r}")
    spec = rendered.one("Deployment", "space-redis")["spec"]["template"]["spec"]
    yield from _unless("volumes" not in spec, "the store has a volume")


def there_is_one_redis_at_a_time(rendered: render.Rendered) -> Iterator[str]:
    spec = rendered.one("Deployment", "space-redis")["spec"]
    yield from _unless(spec["replicas"] == 1, f"replicas is {spec['replicas']}")
    yield from _unless(spec["strategy"] == {"type": "Recreate"}, f"strategy is {spec['strategy']}")


def redis_answers_at_its_fixed_address(rendered: render.Rendered) -> Iterator[str]:
    ports = [port["port"] for port in rendered.one("Service", "space-redis")["spec"]["ports"]]
    yield from _unless(ports == [6379], f"the Service has the ports {ports}")


# postgres


def postgres_is_ready_by_a_query_over_tcp(rendered: render.Rendered) -> Iterator[str]:
    probe = _container(rendered, "StatefulSet", "postgres")["readinessProbe"]
    command = " ".join(probe.get("exec", {}).get("command", []))
    for part in ("psql", "-h 127.0.0.1", '-U "$POSTGRES_USER"', '-d "$POSTGRES_DB"', "select 1", "= 1"):
        yield from _unless(part in command, f"readiness does not hold {part!r}: {command!r}")


def postgres_liveness_does_not_need_a_connection_slot(rendered: render.Rendered) -> Iterator[str]:
    probe = _container(rendered, "StatefulSet", "postgres")["livenessProbe"]
    yield from _unless("tcpSocket" in probe, f"liveness is {probe}: a full server would be restarted")


def postgres_is_alone_on_its_volume(rendered: render.Rendered) -> Iterator[str]:
    spec = rendered.one("StatefulSet", "postgres")["spec"]
    yield from _unless(spec["replicas"] == 1, f"replicas is {spec['replicas']}")
    claims = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])]
    yield from _unless(claims == ["data"], f"the claims are {claims}")


def postgres_data_lies_on_the_volume(rendered: render.Rendered) -> Iterator[str]:
    container = _container(rendered, "StatefulSet", "postgres")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    place = _environment(container)["PGDATA"]
    yield from _unless(
        place.startswith(mounts["data"] + "/"), f"PGDATA {place} is not below the volume's {mounts['data']}"
    )


def postgres_urls_match_their_parts(rendered: render.Rendered) -> Iterator[str]:
    environment = _environment(_container(rendered, "StatefulSet", "postgres"))
    for role, user in (("app", environment["POSTGRES_USER"]), ("owner", environment["POSTGRES_OWNER"])):
        data = rendered.one("Secret", f"postgres-{role}")["stringData"]
        wanted = f"postgresql://{user}:{data['password']}@postgres:5432/{environment['POSTGRES_DB']}"
        yield from _unless(
            data["url"] == wanted, f"postgres-{role}: the url is not {user}'s for {environment['POSTGRES_DB']}"
        )


def postgres_passwords_stand_in_secrets_only(rendered: render.Rendered) -> Iterator[str]:
    secrets = [item.body["stringData"]["password"] for item in rendered.objects if item.kind == "Secret"]
    for item in rendered.objects:
        shown = json.dumps(item.body)
        if item.kind != "Secret" and any(password in shown for password in secrets):
            yield f"{item}: holds a password in clear text"


def given_secrets_replace_ours(rendered: render.Rendered) -> Iterator[str]:
    made = [item.name for item in rendered.objects if item.kind == "Secret"]
    yield from _unless(not made, f"the Secrets {made} are made all the same")
    environment = _environment(_container(rendered, "StatefulSet", "postgres"))
    for name, secret in (("POSTGRES_PASSWORD", "given-app"), ("POSTGRES_OWNER_PASSWORD", "given-owner")):
        wanted = {"secretKeyRef": {"name": secret, "key": "password"}}
        yield from _unless(environment[name] == wanted, f"{name} is {environment[name]}, not {wanted}")


# space-api


def the_api_names_its_store(rendered: render.Rendered) -> Iterator[str]:
    value = api_environment(rendered).get("SPACE_REDIS_URL")
    yield from _unless(value == "redis://space-redis:6379", f"SPACE_REDIS_URL is {value!r}")


def an_empty_url_leaves_no_variable(rendered: render.Rendered) -> Iterator[str]:
    yield from _unless("SPACE_REDIS_URL" not in api_environment(rendered), "SPACE_REDIS_URL is rendered")
    yield from _unless("redis://" not in rendered.text, "some store is named")


def the_limiter_mode_is_pinned(rendered: render.Rendered) -> Iterator[str]:
    value = api_environment(rendered).get("SPACE_API_CLIENT_CONCURRENCY_MODE")
    yield from _unless(value == "observe", f"SPACE_API_CLIENT_CONCURRENCY_MODE is {value!r}, not observe")


def limiter_values_not_set_are_not_rendered(rendered: render.Rendered) -> Iterator[str]:
    names = [
        name for name in api_environment(rendered) if name.startswith(("SPACE_API_CLIENT", "SPACE_CLUSTER_ACTIVATION"))
    ]
    yield from _unless(names == ["SPACE_API_CLIENT_CONCURRENCY_MODE"], f"rendered are {names}")


def large_numbers_are_written_out(rendered: render.Rendered) -> Iterator[str]:
    environment = api_environment(rendered)
    for name in (
        "API_CLIENT_CONCURRENCY_LIMIT",
        "CLUSTER_ACTIVATION_ADMISSION_BURST",
        "CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND",
    ):
        value = environment.get(f"SPACE_{name}")
        yield from _unless(value == "100000", f"SPACE_{name} is {value!r}, not '100000'")


def a_false_switch_is_rendered(rendered: render.Rendered) -> Iterator[str]:
    value = api_environment(rendered).get("SPACE_CLUSTER_ACTIVATION_ADMISSION_ENABLED")
    yield from _unless(value == "false", f"SPACE_CLUSTER_ACTIVATION_ADMISSION_ENABLED is {value!r}, not 'false'")


def no_planted_fault_is_on(rendered: render.Rendered) -> Iterator[str]:
    yield from _unless("SPACE_MUTATION" not in api_environment(rendered), "SPACE_MUTATION is rendered")


def a_rollout_never_lacks_a_replica(rendered: render.Rendered) -> Iterator[str]:
    strategy = rendered.one("Deployment", "space-api")["spec"]["strategy"]
    wanted = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    yield from _unless(strategy == wanted, f"strategy is {strategy}")


def the_api_may_do_just_what_it_does(rendered: render.Rendered) -> Iterator[str]:
    rules = rendered.one("Role", "space-api")["rules"]
    yield from _unless(rules == _EXPECTED_ROLE, f"the rules are {rules}")
    wider = [str(item) for item in rendered.objects if item.kind.startswith("ClusterRole")]
    yield from _unless(not wider, f"{wider} reach beyond the namespace")


def migrations_run_first_and_end(rendered: render.Rendered) -> Iterator[str]:
    job = rendered.one("Job", "space-api-migrate")
    hook = job["metadata"].get("annotations", {}).get("helm.sh/hook")
    yield from _unless(hook == "pre-install,pre-upgrade", f"the hook is {hook}")
    yield from _unless(0 <= job["spec"]["backoffLimit"] <= 3, f"backoffLimit is {job['spec']['backoffLimit']}")
    yield from _unless(bool(job["spec"].get("activeDeadlineSeconds")), "the Job may run for ever")
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    yield from _unless(command == ["python3", "-m", "space_api.migrate"], f"the command is {command}")


def migrations_run_as_the_owner_and_the_api_does_not(rendered: render.Rendered) -> Iterator[str]:
    owner = _environment(_container(rendered, "Job", "space-api-migrate"))["SPACE_DATABASE_URL"]["secretKeyRef"]
    own = api_environment(rendered)["SPACE_DATABASE_URL"]["secretKeyRef"]
    yield from _unless(owner == {"name": "postgres-owner", "key": "url"}, f"migrations take their URL from {owner}")
    yield from _unless(own == {"name": "postgres-app", "key": "url"}, f"the API takes its URL from {own}")


def sandboxes_go_to_their_group_as_json(rendered: render.Rendered) -> Iterator[str]:
    value = api_environment(rendered)["SPACE_SANDBOX_NODE_SELECTOR"]
    yield from _unless(value == '{"space-smoke.dev/group":"sandbox"}', f"SPACE_SANDBOX_NODE_SELECTOR is {value}")


def sandboxes_get_the_api_image_when_none_is_named(rendered: render.Rendered) -> Iterator[str]:
    own = _container(rendered, "Deployment", "space-api")["image"]
    value = api_environment(rendered)["SPACE_SANDBOX_IMAGE"]
    yield from _unless(value == own, f"SPACE_SANDBOX_IMAGE is {value}, the API's is {own}")


def pods_know_their_name_and_place(rendered: render.Rendered) -> Iterator[str]:
    environment = api_environment(rendered)
    for name, path in (("SPACE_POD_NAME", "metadata.name"), ("SPACE_NAMESPACE", "metadata.namespace")):
        yield from _unless(
            environment.get(name) == {"fieldRef": {"fieldPath": path}}, f"{name} is {environment.get(name)}"
        )


def the_probes_ask_the_right_paths(rendered: render.Rendered) -> Iterator[str]:
    container = _container(rendered, "Deployment", "space-api")
    for name, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        yield from _unless(container[name].get("httpGet", {}).get("path") == path, f"{name} asks {container[name]}")


# every chart: extras


def extras_are_merged(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        template = item.body.get("spec", {}).get("template", item.body)
        selector = template.get("spec", {}).get("nodeSelector")
        if item.kind in ("Deployment", "StatefulSet", "Job", "Pod"):
            wanted = {"space-smoke.dev/group": "infra", "disk": "fast"}
            yield from _unless(selector == wanted, f"{item}: nodeSelector is {selector}")


def emptied_groups_leave_no_selector(rendered: render.Rendered) -> Iterator[str]:
    yield from _unless("nodeSelector:" not in rendered.text, "a nodeSelector is rendered")


def a_digest_is_part_of_the_image(rendered: render.Rendered) -> Iterator[str]:
    yield from _unless(f":v9@sha256:{'a' * 64}" in rendered.text, "the digest is not in any image")
