"""The authority and the server certificate of a bench's Postgres, made in memory as the two objects that charts expect.

    Secret postgres-tls      tls.crt, tls.key   mounted by the server
    ConfigMap postgres-ca    ca.crt             mounted by its clients, who verify the server by it (sslmode=verify-full)

Charts never make certificates, since each of their renders would be another. The server's key leaves this process only
inside the Secret. The authority's key signs once and is forgotten, so a renewal is by a new authority; clients go on
trusting the old one for as long as they are handed it in `trusted`. Called by the bring-up before it installs a database.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.model import objects as model

SECRET, CONFIG_MAP = "postgres-tls", "postgres-ca"
_VALID = datetime.timedelta(days=365)
_LEFT = datetime.timedelta(days=30)  # with less than this left a certificate is not reused
_SKEW = datetime.timedelta(hours=1)  # nodes may be behind the host that signs
_DNS_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_LABELS = {"app.kubernetes.io/part-of": "space", "app.kubernetes.io/managed-by": "space-smoke"}

Object = dict[str, Any]


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The names by which the pods of a cluster reach a Service, shortest first; the short one is for its own namespace."""
    return (service, *(f"{service}.{namespace}{rest}" for rest in ("", ".svc", ".svc.cluster.local")))


def objects(
    names: Sequence[str], namespace: str, now: datetime.datetime, *, trusted: str = ""
) -> tuple[Object, Object]:
    """A new Secret and ConfigMap for a server reached by `names`, valid for a year from `now` (with its time zone).

    `trusted` is the ca.crt in force until now: its authorities stay in the new one, so that a server with its old
    certificate is still believed. Raises errors.UsageError for a name that is neither a DNS name nor an IP address.
    """
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in _required(names)])
    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    subject = _named("space-smoke authority")
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    authority = (
        _started(subject, subject, authority_key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _started(_named("space-smoke server"), subject, server_key, now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    files = {
        "tls.crt": _pem(server),
        "tls.key": server_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    }
    secret = _object("Secret", SECRET, namespace)
    secret |= {"type": "kubernetes.io/tls", "data": {name: base64.b64encode(f).decode() for name, f in files.items()}}
    config_map = _object("ConfigMap", CONFIG_MAP, namespace)
    config_map["data"] = {"ca.crt": _pem(authority).decode() + trusted}
    return secret, config_map


def why_new(
    secret: Mapping[str, Any] | None, config_map: Mapping[str, Any] | None, names: Sequence[str], now: datetime.datetime
) -> str:
    """Why the two objects, as the API server tells them (None: not there), cannot be reused; empty when they can.

    They can when the key is the certificate's, an authority of ca.crt signed it, both are valid now and for 30 days
    more, and it is for each of `names`.
    """
    if secret is None or config_map is None:
        return f"{f'Secret {SECRET}' if secret is None else f'ConfigMap {CONFIG_MAP}'} does not exist"
    try:
        data = secret.get("data", {})
        server = x509.load_pem_x509_certificate(base64.b64decode(data["tls.crt"]))
        key = serialization.load_pem_private_key(base64.b64decode(data["tls.key"]), password=None)
        authorities = x509.load_pem_x509_certificates(config_map.get("data", {})["ca.crt"].encode())
    except KeyError as missing:
        return f"{missing} is missing in Secret {SECRET} or ConfigMap {CONFIG_MAP}"
    except (ValueError, TypeError) as cause:
        return f"Secret {SECRET} or ConfigMap {CONFIG_MAP} holds what is no certificate or no key: {cause}"
    if key.public_key() != server.public_key():
        return "tls.key is not the key of tls.crt"
    signed = [authority for authority in authorities if _signed(server, authority)]
    if not signed:
        return "tls.crt is signed by no authority of ca.crt"
    for name, found in (("tls.crt", server), ("ca.crt", signed[0])):
        if found.not_valid_before_utc > now or found.not_valid_after_utc < now + _LEFT:
            return (
                f"{name} is valid from {found.not_valid_before_utc} to {found.not_valid_after_utc}: must be for 30 days"
            )
    lacking = sorted(set(names) - _names(server))
    return f"tls.crt is not for {', '.join(lacking)}" if lacking else ""


def keep(access: kube.Kube, service: str, namespace: str) -> str:
    """Sees to it that both objects are in the cluster and good for a Service's names. Returns why they were made anew, or "".

    The authorities go in first: until the server has its new certificate, clients must believe the old one and the new.
    Raises ApiError.
    """
    names, now = service_names(service, namespace), datetime.datetime.now(datetime.UTC)
    old_secret = _found(access, "Secret", SECRET, namespace)
    old_map = _found(access, "ConfigMap", CONFIG_MAP, namespace)
    why = why_new(old_secret, old_map, names, now)
    if why:
        trusted = str(((old_map or {}).get("data") or {}).get("ca.crt", ""))
        secret, config_map = objects(names, namespace, now, trusted=trusted)
        for made, there in ((config_map, old_map), (secret, old_secret)):
            if there is None:
                access.create(made)
            else:
                _replace(access, made)
    return why


def _found(access: kube.Kube, kind: str, name: str, namespace: str) -> Mapping[str, Any] | None:
    try:
        return access.read(model.Ref("v1", kind, namespace, name))
    except errors.ApiError as error:
        if error.status != 404:
            raise
        return None


def _replace(access: kube.Kube, made: Object) -> None:
    ref = model.Ref("v1", made["kind"], made["metadata"]["namespace"], made["metadata"]["name"])
    status, answer = access.send("PUT", kube.path_of(ref), body=made)
    if status >= 300:
        raise errors.ApiError(f"{ref} could not be replaced: {answer.get('message', '')}", status=status)


def _required(names: Sequence[str]) -> Sequence[str]:
    if not names:
        raise errors.UsageError("a server certificate needs a name, and none was given", next_step="name the host")
    return names


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        if _DNS_NAME.fullmatch(name):
            return x509.DNSName(name)
    raise errors.UsageError(
        f"host name {name!r}: must be an IP address or a DNS name in small letters", next_step="correct the name"
    )


def _names(certificate: x509.Certificate) -> set[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))}


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, exceptions.InvalidSignature):
        return False
    return True


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, name)])


def _started(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature, False, False, False, False, key_cert_sign, crl_sign, encipher_only=False, decipher_only=False
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _object(kind: str, name: str, namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": dict(_LABELS)},
    }
