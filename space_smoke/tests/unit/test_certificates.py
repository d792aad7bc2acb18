"""The bench's certificates: a client that verifies takes them for the right host only, and reuse says why not."""

from __future__ import annotations

import base64
import copy
import datetime
import json
import pathlib
import ssl
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import certificates, kube

NOW = datetime.datetime(2031, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
TODAY = datetime.datetime.now(datetime.UTC)
NAMES = certificates.service_names("postgres", "space")
Pair = tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def made() -> Pair:
    return certificates.objects(NAMES, "space", NOW)


def shake_hands(secret: dict[str, Any], config_map: dict[str, Any], host: str, folder: pathlib.Path) -> None:
    """A TLS handshake in memory between a server with `secret` and a client that verifies; raises ssl.SSLError."""
    for name, value in secret["data"].items():
        (folder / name).write_bytes(base64.b64decode(value))
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    client_side = ssl.create_default_context(cadata=config_map["data"]["ca.crt"])
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_side.wrap_bio(to_client, to_server, server_hostname=host)
    server = server_side.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client, server]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)


@pytest.mark.parametrize("host", [*NAMES, "10.1.2.3"])
def test_a_client_that_verifies_takes_the_server_by_each_of_its_names(host: str, tmp_path: pathlib.Path) -> None:
    shake_hands(*certificates.objects([*NAMES, "10.1.2.3"], "space", TODAY), host, tmp_path)


def test_another_host_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(*certificates.objects(NAMES, "space", TODAY), "postgres.other", tmp_path)


def test_the_server_of_another_authority_is_refused(tmp_path: pathlib.Path) -> None:
    secret, _ = certificates.objects(NAMES, "space", TODAY)
    _, config_map = certificates.objects(NAMES, "space", TODAY)
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        shake_hands(secret, config_map, "postgres", tmp_path)


def test_after_a_renewal_old_and_new_servers_are_believed(tmp_path: pathlib.Path) -> None:
    old_secret, old = certificates.objects(NAMES, "space", TODAY)
    secret, config_map = certificates.objects(NAMES, "space", TODAY, trusted=old["data"]["ca.crt"])
    assert secret["data"]["tls.key"] != old_secret["data"]["tls.key"]
    for server in (old_secret, secret):
        shake_hands(server, config_map, "postgres", tmp_path)
        assert certificates.why_new(server, config_map, NAMES, TODAY) == ""


def test_the_objects_are_those_that_the_charts_name(made: Pair) -> None:
    secret, config_map = made
    assert (secret["kind"], secret["metadata"]["name"]) == ("Secret", "postgres-tls")
    assert secret["data"].keys() == {"tls.crt", "tls.key"}
    assert (config_map["kind"], config_map["metadata"]["name"]) == ("ConfigMap", "postgres-ca")
    assert config_map["data"].keys() == {"ca.crt"}
    assert {secret["metadata"]["namespace"], config_map["metadata"]["namespace"]} == {"space"}


def test_no_key_stands_where_clients_read(made: Pair) -> None:
    assert "PRIVATE" not in json.dumps(made[1])
    assert b"PRIVATE" not in base64.b64decode(made[0]["data"]["tls.crt"])


@pytest.mark.parametrize("name", ["", "Postgres", "a b", "postgres.", "-a", "x" * 64, "*.space", "10.1.2.3.4/8"])
def test_a_name_that_is_none_is_refused_by_its_value(name: str) -> None:
    if name:
        with pytest.raises(errors.UsageError, match="must be an IP address or a DNS name") as refused:
            certificates.objects([name], "space", NOW)
        assert repr(name) in str(refused.value)
    else:
        with pytest.raises(errors.UsageError, match="needs a name"):
            certificates.objects([], "space", NOW)


def test_what_was_just_made_is_reused_until_thirty_days_are_left(made: Pair) -> None:
    assert certificates.why_new(*made, NAMES, NOW) == ""
    assert certificates.why_new(*made, NAMES, NOW + datetime.timedelta(days=335)) == ""
    late = certificates.why_new(*made, NAMES, NOW + datetime.timedelta(days=336))
    assert late.startswith("tls.crt is valid from 2031-05-06 06:08:09+00:00 to 2032-05-05 07:08:09+00:00")
    early = certificates.why_new(*made, NAMES, NOW - datetime.timedelta(days=1))
    assert early == late


def test_what_is_not_there_is_named(made: Pair) -> None:
    assert certificates.why_new(None, made[1], NAMES, NOW) == "Secret postgres-tls does not exist"
    assert certificates.why_new(made[0], None, NAMES, NOW) == "ConfigMap postgres-ca does not exist"


def test_a_certificate_for_other_names_is_not_reused(made: Pair) -> None:
    assert certificates.why_new(*made, [*NAMES, "db.example"], NOW) == "tls.crt is not for db.example"


def test_parts_that_do_not_belong_together_are_not_reused(made: Pair) -> None:
    other_secret, other_map = certificates.objects(NAMES, "space", NOW)
    mixed = copy.deepcopy(made[0])
    mixed["data"]["tls.key"] = other_secret["data"]["tls.key"]
    assert certificates.why_new(mixed, made[1], NAMES, NOW) == "tls.key is not the key of tls.crt"
    assert certificates.why_new(made[0], other_map, NAMES, NOW) == "tls.crt is signed by no authority of ca.crt"


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("tls.crt", None, "'tls.crt' is missing"),
        ("tls.key", None, "'tls.key' is missing"),
        ("tls.crt", base64.b64encode(b"no certificate").decode(), "holds what is no certificate"),
        ("tls.key", "%%%", "holds what is no certificate or no key"),
    ],
)
def test_a_damaged_secret_is_not_reused(made: Pair, key: str, value: str | None, says: str) -> None:
    secret = copy.deepcopy(made[0])
    if value is None:
        del secret["data"][key]
    else:
        secret["data"][key] = value
    assert says in certificates.why_new(secret, made[1], NAMES, NOW)
    assert "'ca.crt' is missing" in certificates.why_new(made[0], {"data": {}}, NAMES, NOW)


class Server(kube.Kube):
    """Holds the two objects; remembers what was written, in order."""

    def __init__(self, *there: dict[str, Any]) -> None:
        self.things = {thing["kind"]: thing for thing in there}
        self.written: list[tuple[str, str]] = []

    def send(self, method: str, path: str, *, body: Any = None, **_options: Any) -> tuple[int, dict[str, Any]]:
        kind = "Secret" if "/secrets" in path else "ConfigMap"
        if method != "GET":
            self.written.append((method, kind))
            self.things[kind] = body
        return (200, self.things[kind]) if kind in self.things else (404, {"message": "not found"})


def test_a_cluster_without_certificates_gets_both_objects_and_keeps_them() -> None:
    server = Server()
    assert "does not exist" in certificates.keep(server, "postgres", "space")
    assert server.written == [("POST", "ConfigMap"), ("POST", "Secret")]
    assert certificates.keep(server, "postgres", "space") == ""
    assert len(server.written) == 2


def test_a_renewal_tells_clients_of_the_new_authority_before_the_server_has_it_and_of_the_old_one_too() -> None:
    old_secret, old_map = certificates.objects(("elsewhere",), "space", TODAY)
    server = Server(old_secret, old_map)
    assert certificates.keep(server, "postgres", "space").startswith("tls.crt is not for postgres")
    assert server.written == [("PUT", "ConfigMap"), ("PUT", "Secret")]
    assert old_map["data"]["ca.crt"] in server.things["ConfigMap"]["data"]["ca.crt"]
    assert certificates.keep(server, "postgres", "space") == ""
