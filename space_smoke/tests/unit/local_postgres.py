"""A Postgres as a bench's pod runs it, on this machine: the image's own entrypoint with the certificate that a bench makes."""

from __future__ import annotations

import base64
import contextlib
import datetime
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, certificates
from space_smoke.bench.outside import pods
from space_smoke.model import objects

_ENTRYPOINT = cache.KIND / "images" / "postgres-entrypoint.sh"
_PROGRAMS = "/usr/lib/postgresql/15/bin"
_READY_S = 90.0  # two seconds on an idle machine
POD = pods.Pod("space", "postgres-0", "uid-1", "postgres", True, 0, {"kind": "StatefulSet"})
ENVIRONMENT = {
    "POSTGRES_DB": "space",
    "POSTGRES_USER": "app",
    "POSTGRES_PASSWORD": "app-password",
    "POSTGRES_OWNER": "space_owner",
    "POSTGRES_OWNER_PASSWORD": "owner-password",
}


@dataclass(frozen=True)
class Local:
    port: int
    authority: str
    env: Mapping[str, str]

    def run(self, _cluster: Any, _pod: pods.Pod, argv: Sequence[str], _deadline: pods.Deadline) -> pods.Ended:
        """As pods.run. A client's command ends with the port, which is another one here."""
        words = [*argv[:-1], str(self.port)] if argv[0] == "sh" else list(argv)
        ended = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=30, check=False)
        return pods.Ended(ended.returncode, ended.stdout, ended.stderr)


@dataclass
class Cluster:
    """What the loads read of the API server. `deployments` are the clients."""

    local: Local
    deployments: list[dict[str, Any]]

    def read(self, ref: objects.Ref) -> dict[str, Any]:
        env = [{"name": name, "value": value} for name, value in ENVIRONMENT.items() if "PASSWORD" not in name]
        mounts = [
            {"name": "data", "mountPath": self.local.env["MOUNT"]},
            {"name": "run", "mountPath": "/var/run/postgresql"},
        ]
        volumes = [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-postgres-0"}},
            {"name": "run", "emptyDir": {}},
        ]
        spec = {"containers": [{"name": "postgres", "env": env, "volumeMounts": mounts}], "volumes": volumes}
        match ref.kind:
            case "ConfigMap":
                return {"data": {"ca.crt": self.local.authority}}
            case "Pod":
                return {"spec": spec, "status": {"podIP": "127.0.0.1"}}
            case "StatefulSet":
                return {"spec": {"template": {"spec": spec}}}
        raise errors.ApiError(f"there is no {ref}", status=404)

    def listed(self, _version: str, kind: str, namespace: str) -> list[dict[str, Any]]:
        assert (kind, namespace) == ("Deployment", "space")
        return self.deployments

    def send(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        assert (method, path) == ("GET", "/api/v1/namespaces/space/persistentvolumeclaims/data-postgres-0")
        return 200, {"status": {"phase": "Bound"}}


@contextlib.contextmanager
def started() -> Iterator[Local]:
    """A server that answers, with a table as the migrations make it; gone afterwards."""
    user = "postgres" if os.getuid() == 0 else None  # Postgres refuses to run as root
    # Not below pytest's own folder, which other users may not enter.
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as name:
        secret, config_map = certificates.objects(
            certificates.service_names("postgres", "space"), "space", datetime.datetime.now(datetime.UTC)
        )
        for file, text in secret["data"].items():
            path = Path(name, file)
            path.touch(mode=0o600)
            path.write_bytes(base64.b64decode(text))
        if user:
            for place in (Path(name), *Path(name).iterdir()):
                shutil.chown(place, user)
        port = _free_port()
        tls = {"POSTGRES_TLS_CERT": f"{name}/tls.crt", "POSTGRES_TLS_KEY": f"{name}/tls.key"}
        place_of = {"PGPORT": str(port), "PGDATA": f"{name}/pgdata", "MOUNT": name}
        env = {"PATH": f"{_PROGRAMS}:/usr/bin:/bin", **ENVIRONMENT, **tls, **place_of}
        settings = ["-c", "max_connections=60", "-c", "shared_buffers=32MB"]
        process = subprocess.Popen(
            ["bash", str(_ENTRYPOINT), *settings],
            env=env,
            cwd="/",
            user=user,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        local = Local(port, config_map["data"]["ca.crt"], env)
        try:
            _ready(local, process)
            yield local
        finally:
            os.killpg(process.pid, signal.SIGQUIT)  # at once: nothing of it is kept
            process.wait(timeout=20)


def _ready(local: Local, process: subprocess.Popen[bytes]) -> None:
    """Over TCP: while the cluster is made, it answers on its socket alone."""
    psql = ["psql", "-XAtq", f"host=127.0.0.1 port={local.port} user=space_owner dbname=space sslmode=require"]
    env = {**local.env, "PGPASSWORD": ENVIRONMENT["POSTGRES_OWNER_PASSWORD"]}
    deadline = time.monotonic() + _READY_S
    while subprocess.run([*psql, "-c", "CREATE TABLE sandboxes (id uuid)"], env=env, capture_output=True).returncode:
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < deadline, f"the server does not answer within {_READY_S:g} s"
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
