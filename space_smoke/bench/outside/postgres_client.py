"""Connections to a running Postgres as its clients make them: over TCP, with a password, with or without verification.

Made by psql in the server's own pod, whose environment has the passwords: none leaves it. The pod's address is given beside
the host's name, so that what is tried is the server and its certificate, and no name has to resolve. Whatever a statement
does is rolled back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.bench.outside import pods
from space_smoke.model import objects

ROLES = ("app", "owner")  # in the words of the chart's values
PROTOCOL = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
_TIMEOUT_S = 30.0
_SCRIPT = """set -eu
ca=$(mktemp)
trap 'rm -f "$ca"' EXIT
printf %s "$1" >"$ca"
user=$POSTGRES_USER PGPASSWORD=$POSTGRES_PASSWORD
if [ "$2" = owner ]; then user=$POSTGRES_OWNER PGPASSWORD=$POSTGRES_OWNER_PASSWORD; fi
export PGPASSWORD LC_ALL=C PGOPTIONS='-c statement_timeout=10000 -c lock_timeout=2000'
psql -XAtq -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -c BEGIN -c "$5" -c ROLLBACK \
  "host=$3 hostaddr=$6 port=$7 user=$user dbname=$POSTGRES_DB sslmode=$4 sslrootcert=$ca connect_timeout=10"
"""
_REFUSED = re.compile(r"^(?:psql:.*?)?(?:ERROR|FATAL): +(\w{5}): (.*)$", re.MULTILINE)
_NOT_CONNECTED = re.compile(r"^psql: error: connection to server at .*? failed: (.*)", re.DOTALL | re.MULTILINE)
# A server that is away has refused nobody.
_AWAY = re.compile(r"Connection refused|the database system is|timeout expired|No route to host|closed the connection")


@dataclass(frozen=True, slots=True)
class Wish:
    """`host` is the name that the certificate is held against, `authority` the PEM text that it must be signed by, and
    `sslmode` is libpq's word. `role` is one of ROLES."""

    host: str
    sslmode: str
    authority: str
    role: str = "app"
    statement: str = PROTOCOL
    port: int = 5432


@dataclass(frozen=True, slots=True)
class Told:
    """`said` is the statement's output, or why it was refused; `state` the SQLSTATE of a statement that was refused.
    libpq tells none for a connection."""

    accepted: bool
    state: str
    said: str


def attempt(cluster: kube.Kube, ref: objects.Ref, wish: Wish) -> Told:
    """Raises ApiError where neither the server nor the client said no: it is away, or psql could not be run."""
    deadline = pods.Deadline(_TIMEOUT_S, f"postgres of {ref}")

    def act(pod: pods.Pod) -> Told:
        address = str(cluster.read(objects.Ref("v1", "Pod", pod.namespace, pod.name))["status"]["podIP"])
        return told(pods.run(cluster, pod, command(wish, address), deadline), pod.name)

    return pods.reached(cluster, ref, deadline, act)


def command(wish: Wish, address: str) -> list[str]:
    """What is run in the pod. Nothing in it is secret."""
    given = [wish.authority, wish.role, wish.host, wish.sslmode, wish.statement, address, str(wish.port)]
    return ["sh", "-c", _SCRIPT, "psql", *given]


def told(ended: pods.Ended, pod: str) -> Told:
    """What an end of psql means. Raises NotYet, ApiError."""
    if ended.code == 0:
        return Told(True, "", ended.out.strip()[:300])
    if _AWAY.search(ended.err):
        raise pods.NotYet(ended.err.strip().splitlines()[-1][:300])
    if refused := _REFUSED.search(ended.err):
        return Told(False, refused.group(1), refused.group(2)[:300])
    if refused := _NOT_CONNECTED.search(ended.err):
        return Told(False, "", " ".join(refused.group(1).split())[:300])
    said = (ended.err.strip() or f"psql ended with {ended.code}").splitlines()[-1]
    raise errors.ApiError(f"postgres in pod {pod}: {said[:300]}", status=0)
