"""A certificate authority of the test's own, and a server certificate for the names of the providers."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOSTS = (
    "localhost",
    "api.anthropic.com",
    "console.anthropic.com",
    "api.openai.com",
    "chatgpt.com",
    "generativelanguage.googleapis.com",
)


class TestAuthority(NamedTuple):
    """What a server and its clients need."""

    ca_file: Path  # the clients trust this
    context: ssl.SSLContext  # of the server


def make_authority(folder: Path) -> TestAuthority:
    """Create an authority and a certificate for 127.0.0.1 and the hosts of providers."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
    ca = _certificate(issuer, issuer, ca_key, ca_key, x509.BasicConstraints(ca=True, path_length=None))
    names = [x509.DNSName(host) for host in HOSTS]
    alternative = x509.SubjectAlternativeName([*names, x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    server = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    certificate = _certificate(server, issuer, key, ca_key, alternative)
    folder.mkdir(parents=True, exist_ok=True)
    ca_file, chain = folder / "ca.pem", folder / "server.pem"
    ca_file.write_bytes(_pem(ca))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(_pem(certificate) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return TestAuthority(ca_file, context)


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - dt.timedelta(days=1))
    builder = builder.not_valid_after(now + dt.timedelta(days=2))
    builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = builder.add_extension(identifier, critical=False)
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(own, critical=False).sign(signer, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
