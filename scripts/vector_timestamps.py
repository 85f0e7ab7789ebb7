"""An authority and its time-stamps for the test vectors. Its keys are public, as all keys of the vectors are.

The replies are written element by element, because no authority gives wrong ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import new as new_hash

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from vector_run import METADATA, SIGNATURE, Files, digest
from vector_signatures import ec_private, rsa_private

from runcard.signing import der

TIMESTAMPS = "metadata.json.tsr"

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_ALGORITHMS = {
    "sha256": ("2.16.840.1.101.3.4.2.1", hashes.SHA256()),
    "sha1": ("1.3.14.3.2.26", hashes.SHA1()),  # noqa: S303 - a wrong one
}
_INFO, _SIGNED_DATA = "1.2.840.113549.1.9.16.1.4", "1.2.840.113549.1.7.2"
_STAMPING = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])


def _day(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@dataclass(frozen=True)
class Authority:
    """A certificate with its key."""

    name: str
    key: PrivateKey
    certificate: x509.Certificate

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)


def authority(
    name: str,
    issuer: Authority | None = None,
    *,
    key: PrivateKey | None = None,
    valid: tuple[datetime, datetime] = (_day(2018), _day(2040)),
    purpose: x509.ExtendedKeyUsage | None = _STAMPING,
    is_critical: bool = True,
) -> Authority:
    """A certificate: of a root without `issuer`, else of an authority that it is for."""
    private = key or ec_private(name)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(private.public_key())
        .serial_number(int(digest(name.encode())[:16], 16))
        .not_valid_before(valid[0])
        .not_valid_after(valid[1])
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer is not None and purpose is not None:
        builder = builder.add_extension(purpose, critical=is_critical)
    signer = private if issuer is None else issuer.key
    is_ec = isinstance(signer, ec.EllipticCurvePrivateKey)
    certificate = builder.sign(signer, hashes.SHA256(), ecdsa_deterministic=True if is_ec else None)
    return Authority(name, private, certificate)


ROOT = authority("Example Root")
TSA = authority("Example TSA", ROOT)
STRANGER = authority("Example TSA", authority("Another Root"), key=ec_private("stranger"))
LATE = authority("Late TSA", ROOT, valid=(_day(2030), _day(2040)))
ENDED = authority("Ended TSA", ROOT, valid=(_day(2018), _day(2019)))
FOR_SERVERS = authority("Server", ROOT, purpose=x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]))
FOR_BOTH = authority(
    "Server and TSA", ROOT, purpose=x509.ExtendedKeyUsage([*_STAMPING, ExtendedKeyUsageOID.SERVER_AUTH])
)
FOR_ANYTHING = authority("Anything", ROOT, purpose=None)
NOT_CRITICAL = authority("Not critical TSA", ROOT, is_critical=False)
SHORT_KEY = authority("Short TSA", ROOT, key=rsa_private("short", 1024))

AUTHORITIES = ROOT.certificate.public_bytes(Encoding.PEM).decode()


@dataclass(frozen=True)
class Stamp:
    """A reply of an authority, right unless something is changed."""

    imprint: bytes
    by: Authority = TSA
    time: datetime = field(default_factory=lambda: _day(2026, 1, 5))
    imprint_algorithm: str = "sha256"
    algorithm: str = "sha256"  # of the signature
    named: Authority | None = None  # the certificate that the signed attributes name, if it is another one
    certificates: Sequence[Authority] | None = None  # that it comes with
    signers: int = 1
    info_after: bytes | None = None  # what takes the place of the content after it was signed

    def info(self) -> bytes:
        """The content that is signed."""
        imprint = der.encode(
            der.SEQUENCE, _algorithm(self.imprint_algorithm), der.encode(der.OCTET_STRING, self.imprint)
        )
        time = der.encode(der.TIME, self.time.strftime("%Y%m%d%H%M%SZ").encode())
        policy, serial = der.encode_object_id("1.2.3.4.1"), der.encode_integer(7)
        return der.encode(der.SEQUENCE, der.encode_integer(1), policy, imprint, serial, time)

    def to_bytes(self) -> bytes:
        content = self.info_after or self.info()
        certificates = (self.by,) if self.certificates is None else self.certificates
        signed = der.encode(
            der.SEQUENCE,
            der.encode_integer(3),
            der.encode(der.SET, _algorithm(self.algorithm)),
            der.encode(
                der.SEQUENCE,
                der.encode_object_id(_INFO),
                der.encode(der.CONTEXT, der.encode(der.OCTET_STRING, content)),
            ),
            der.encode(der.CONTEXT, *(each.der for each in certificates)) if certificates else b"",
            der.encode(der.SET, *[self._signer()] * self.signers),
        )
        token = der.encode(der.SEQUENCE, der.encode_object_id(_SIGNED_DATA), der.encode(der.CONTEXT, signed))
        return der.encode(der.SEQUENCE, der.encode(der.SEQUENCE, der.encode_integer(0)), token)

    def _signer(self) -> bytes:
        certificate = self.by.certificate
        attributes = self._attributes()
        return der.encode(
            der.SEQUENCE,
            der.encode_integer(1),
            der.encode(
                der.SEQUENCE,
                certificate.issuer.public_bytes(),
                der.encode_integer(certificate.serial_number),
            ),
            _algorithm(self.algorithm),
            der.encode(der.CONTEXT, *attributes),
            *self._signature(der.encode(der.SET, *attributes)),
        )

    def _attributes(self) -> list[bytes]:
        content = der.encode(der.OCTET_STRING, new_hash(self.algorithm, self.info()).digest())
        own = der.encode(der.OCTET_STRING, new_hash("sha256", (self.named or self.by).der).digest())
        certificate = der.encode(der.SEQUENCE, der.encode(der.SEQUENCE, der.encode(der.SEQUENCE, own)))
        return sorted(
            (
                _attribute("1.2.840.113549.1.9.3", der.encode_object_id(_INFO)),
                _attribute("1.2.840.113549.1.9.4", content),
                _attribute("1.2.840.113549.1.9.16.2.47", certificate),
            )
        )

    def _signature(self, data: bytes) -> tuple[bytes, bytes]:
        """The algorithm, and the signature."""
        algorithm = _ALGORITHMS[self.algorithm][1]
        if isinstance(self.by.key, rsa.RSAPrivateKey):
            kind, value = "1.2.840.113549.1.1.1", self.by.key.sign(data, padding.PKCS1v15(), algorithm)
        else:
            kind = {"sha256": "1.2.840.10045.4.3.2", "sha1": "1.2.840.10045.4.1"}[self.algorithm]
            value = self.by.key.sign(data, ec.ECDSA(algorithm, deterministic_signing=True))
        return der.encode(der.SEQUENCE, der.encode_object_id(kind)), der.encode(der.OCTET_STRING, value)


def _algorithm(name: str) -> bytes:
    return der.encode(der.SEQUENCE, der.encode_object_id(_ALGORITHMS[name][0]), b"\x05\x00")


def _attribute(name: str, value: bytes) -> bytes:
    return der.encode(der.SEQUENCE, der.encode_object_id(name), der.encode(der.SET, value))


def refusal() -> bytes:
    """The reply of an authority that gives no time-stamp."""
    return der.encode(der.SEQUENCE, der.encode(der.SEQUENCE, der.encode_integer(2)))


def head(files: Files) -> bytes:
    """What is stamped of a run: its signatures, or its document."""
    return bytes.fromhex(digest(files.get(SIGNATURE, files[METADATA])))


def stamped(files: Files, stamp: Stamp | None = None, **changes: object) -> Files:
    """The run with one more time-stamp."""
    made = replace(stamp or Stamp(head(files)), **changes)  # type: ignore[arg-type]
    return {**files, TIMESTAMPS: files.get(TIMESTAMPS, b"") + made.to_bytes()}
