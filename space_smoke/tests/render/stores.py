"""Judges of space-redis and postgres: what each promises beyond what every chart does. Used by the table in `claims`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from space_smoke.charts import render
from space_smoke.tests.render import reading

_PASSWORDS = {"app": "POSTGRES_PASSWORD", "owner": "POSTGRES_OWNER_PASSWORD"}
AUTHORITY = "/etc/space/postgres-ca/ca.crt"  # where a client of the database has its authority's certificate

# space-redis


def redis_is_ready_only_when_it_says_pong(rendered: render.Rendered) -> Iterator[str]:
    probe = reading.container(rendered, "Deployment", "space-redis")["readinessProbe"]
    command = " ".join(probe.get("exec", {}).get("command", []))
    yield from reading.unless(
        "ping" in command and "= PONG" in command, f"readiness runs {command!r}; its exit code is 0 for NOAUTH too"
    )


def redis_keeps_nothing_and_evicts_nothing(rendered: render.Rendered) -> Iterator[str]:
    arguments = reading.container(rendered, "Deployment", "space-redis")["args"]
    settings = dict(zip(arguments[::2], arguments[1::2], strict=True))
    wanted = {"--save": "", "--appendonly": "no", "--maxmemory-policy": "noeviction", "--port": "6379"}
    for name, value in wanted.items():
        yield from reading.unless(settings.get(name) == value, f"{name} is {settings.get(name)!r}, not {value!r}")
    spec = rendered.one("Deployment", "space-redis")["spec"]["template"]["spec"]
    yield from reading.unless("volumes" not in spec, "the store has a volume")


def there_is_one_redis_at_a_time(rendered: render.Rendered) -> Iterator[str]:
    spec = rendered.one("Deployment", "space-redis")["spec"]
    yield from reading.unless(spec["replicas"] == 1, f"replicas is {spec['replicas']}")
    yield from reading.unless(spec["strategy"] == {"type": "Recreate"}, f"strategy is {spec['strategy']}")


def redis_answers_at_its_fixed_address(rendered: render.Rendered) -> Iterator[str]:
    ports = [port["port"] for port in rendered.one("Service", "space-redis")["spec"]["ports"]]
    yield from reading.unless(ports == [6379], f"the Service has the ports {ports}")


# postgres


def postgres_is_ready_by_a_query_over_tcp(rendered: render.Rendered) -> Iterator[str]:
    probe = reading.container(rendered, "StatefulSet", "postgres")["readinessProbe"]
    command = " ".join(probe.get("exec", {}).get("command", []))
    wanted = ["PGSSLMODE=require"] if _serves_tls(rendered) else []
    for part in (*wanted, "psql", "-h 127.0.0.1", '-U "$POSTGRES_USER"', '-d "$POSTGRES_DB"', "select 1", "= 1"):
        yield from reading.unless(part in command, f"readiness does not hold {part!r}: {command!r}")


def postgres_liveness_does_not_need_a_connection_slot(rendered: render.Rendered) -> Iterator[str]:
    probe = reading.container(rendered, "StatefulSet", "postgres")["livenessProbe"]
    yield from reading.unless("tcpSocket" in probe, f"liveness is {probe}: a full server would be restarted")


def postgres_is_alone_on_its_volume(rendered: render.Rendered) -> Iterator[str]:
    spec = rendered.one("StatefulSet", "postgres")["spec"]
    yield from reading.unless(spec["replicas"] == 1, f"replicas is {spec['replicas']}")
    claims = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])]
    yield from reading.unless(claims == ["data"], f"the claims are {claims}")


def postgres_data_lies_on_the_volume(rendered: render.Rendered) -> Iterator[str]:
    container = reading.container(rendered, "StatefulSet", "postgres")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    place = reading.environment(container)["PGDATA"]
    yield from reading.unless(
        place.startswith(mounts["data"] + "/"), f"PGDATA {place} is not below the volume's {mounts['data']}"
    )


def postgres_urls_match_their_parts(rendered: render.Rendered) -> Iterator[str]:
    environment = reading.environment(reading.container(rendered, "StatefulSet", "postgres"))
    for role, user in (("app", environment["POSTGRES_USER"]), ("owner", environment["POSTGRES_OWNER"])):
        data = rendered.one("Secret", environment[_PASSWORDS[role]]["secretKeyRef"]["name"])["stringData"]
        wanted = f"postgresql://{user}:{data['password']}@postgres:5432/{environment['POSTGRES_DB']}"
        wanted += f"?sslmode=verify-full&sslrootcert={AUTHORITY}" if _serves_tls(rendered) else ""
        yield from reading.unless(
            data["url"] == wanted, f"postgres-{role}: the url is not {user}'s for {environment['POSTGRES_DB']}"
        )


def one_role_is_all_there_is(rendered: render.Rendered) -> Iterator[str]:
    environment = reading.environment(reading.container(rendered, "StatefulSet", "postgres"))
    second = [name for name in environment if name.startswith("POSTGRES_OWNER")]
    yield from reading.unless(not second, f"the server is told of a second role: {second}")
    secrets = [item.name for item in rendered.objects if item.kind == "Secret"]
    yield from reading.unless(secrets == ["grid-database"], f"the Secrets are {secrets}")
    script = rendered.one("Pod", "postgres-test")["spec"]["containers"][0]["command"][-1]
    for part in ("expect owns t ", "expect creates t "):
        yield from reading.unless(part in script, f"the test does not hold {part!r}")


def postgres_passwords_stand_in_secrets_only(rendered: render.Rendered) -> Iterator[str]:
    secrets = [item.body["stringData"]["password"] for item in rendered.objects if item.kind == "Secret"]
    for item in rendered.objects:
        shown = json.dumps(item.body)
        if item.kind != "Secret" and any(password in shown for password in secrets):
            yield f"{item}: holds a password in clear text"


def given_secrets_replace_ours(rendered: render.Rendered) -> Iterator[str]:
    made = [item.name for item in rendered.objects if item.kind == "Secret"]
    yield from reading.unless(not made, f"the Secrets {made} are made all the same")
    environment = reading.environment(reading.container(rendered, "StatefulSet", "postgres"))
    for name, secret in (("POSTGRES_PASSWORD", "given-app"), ("POSTGRES_OWNER_PASSWORD", "given-owner")):
        wanted = {"secretKeyRef": {"name": secret, "key": "password"}}
        yield from reading.unless(environment[name] == wanted, f"{name} is {environment[name]}, not {wanted}")


def postgres_serves_tls_with_a_key_that_it_alone_may_read(rendered: render.Rendered) -> Iterator[str]:
    pod = rendered.one("StatefulSet", "postgres")["spec"]["template"]["spec"]
    environment = reading.environment(pod["containers"][0])
    mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    for name, file in (("POSTGRES_TLS_CERT", "tls.crt"), ("POSTGRES_TLS_KEY", "tls.key")):
        wanted = f"{mounts['tls']['mountPath']}/{file}"
        yield from reading.unless(environment.get(name) == wanted, f"{name} is {environment.get(name)}, not {wanted}")
    (secret,) = [volume["secret"] for volume in pod["volumes"] if volume["name"] == "tls"]
    mode = secret.get("defaultMode", 0o644)
    yield from reading.unless(mode == 0o640, f"the key's mode is {mode:04o}; Postgres takes one of root's up to 0640")
    security = pod["securityContext"]
    yield from reading.unless(
        security.get("fsGroup") == security.get("runAsGroup") != 0,
        f"fsGroup {security.get('fsGroup')} is not the server's group {security.get('runAsGroup')}",
    )


def the_database_test_proves_tls(rendered: render.Rendered) -> Iterator[str]:
    spec = rendered.one("Pod", "postgres-test")["spec"]
    mounts = {mount["mountPath"] for mount in spec["containers"][0].get("volumeMounts", [])}
    yield from reading.unless(
        AUTHORITY.rpartition("/")[0] in mounts, f"the test has no authority to verify by: {mounts}"
    )
    script = spec["containers"][0]["command"][-1]
    for part in ("pg_stat_ssl", "sslmode=disable"):
        yield from reading.unless(part in script, f"the test does not hold {part!r}")


def postgres_without_tls_needs_no_certificate(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        shown = json.dumps(item.body)
        for word in ("POSTGRES_TLS", "postgres-tls", "postgres-ca", "ssl_", "sslmode"):
            yield from reading.unless(word not in shown, f"{item}: holds {word}")


def _serves_tls(rendered: render.Rendered) -> bool:
    return "POSTGRES_TLS_CERT" in reading.environment(reading.container(rendered, "StatefulSet", "postgres"))
