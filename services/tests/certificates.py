"""An authority that lives for one test, and the server certificates that it signs."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Server:
    """A certificate and its key, both PEM."""

    chain: bytes
    key: bytes


class Authority:
    """Valid from yesterday to tomorrow; `pem` is what a client trusts. All bear one name, and are told apart by key, as those
    that follow one another on a bench."""

    def __init__(self) -> None:
        self._name = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "authority of a test")])
        self._key = ec.generate_private_key(ec.SECP256R1())
        signed = self._signed(self._name, self._key, x509.BasicConstraints(ca=True, path_length=0))
        self.pem = signed.public_bytes(serialization.Encoding.PEM)

    def server(self, name: str) -> Server:
        """For the DNS name `name` and no other."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Server(self._signed(subject, key, names).public_bytes(serialization.Encoding.PEM), private)

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        started = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
        )
        # Without them OpenSSL takes an authority for another of its name, and says no more than that a signature is wrong.
        mine = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        extended = started.add_extension(mine, critical=False).add_extension(signer, critical=False)
        return extended.add_extension(extension, critical=True).sign(self._key, hashes.SHA256())
