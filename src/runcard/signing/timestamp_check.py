"""Checking time-stamps: the signature of the authority, its certificate, and whether a file of certificates trusts it.

A certificate must have been valid when it stamped; that it expired since does not matter. Whether it was revoked is not
checked: lists of revoked certificates are not looked up.
"""

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from runcard.errors import DocumentError
from runcard.signing.public_keys import load_cryptography
from runcard.signing.timestamp_token import HASHES, SHA256, TimestampToken, weak_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.x509 import Certificate, ExtensionType
    from cryptography.x509.verification import Policy

_SIGNATURE_HASHES = {  # signature algorithms that name their hash
    "1.2.840.113549.1.1.11": "sha256",
    "1.2.840.113549.1.1.12": "sha384",
    "1.2.840.113549.1.1.13": "sha512",
    "1.2.840.10045.4.3.2": "sha256",
    "1.2.840.10045.4.3.3": "sha384",
    "1.2.840.10045.4.3.4": "sha512",
}
_PLAIN = {"1.2.840.113549.1.1.1", "1.2.840.10045.2.1"}  # RSA and ECDSA with the hash of the digest algorithm
_PSS, _ED25519 = "1.2.840.113549.1.1.10", "1.3.101.112"
_SMALLEST_RSA = 2048  # bits
_MOST_CERTIFICATES = 20  # in a token


class TimestampError(DocumentError):
    """A time-stamp that proves nothing."""


class CheckedTimestamp(NamedTuple):
    """A token whose signature is right, by the certificate in it."""

    token: TimestampToken
    authority: str  # the name in the certificate; only a file of certificates says whether it is true
    certificate: "Certificate"
    others: "tuple[Certificate, ...]"


def check_token(token: TimestampToken, known: "Sequence[Certificate]" = ()) -> CheckedTimestamp:
    """Check the signature of a token and the certificate that it is by; raises TimestampError with what is wrong.

    `known` are certificates of the reader, for a token that comes without.
    """
    load_cryptography()
    with _reading_certificates():
        return _check_token(token, known)


def _check_token(token: TimestampToken, known: "Sequence[Certificate]") -> CheckedTimestamp:
    if token.imprint_algorithm != SHA256 or len(token.imprint) != hashlib.sha256().digest_size:
        raise TimestampError(f"it is for a digest of {weak_name(token.imprint_algorithm)}; expected SHA-256")
    certificates = _certificates(token)
    certificate = _signer_of(token, (*certificates, *known))
    _check_certificate_digest(token, certificate)
    _check_signature(token, certificate)
    _check_purpose(certificate)
    if not certificate.not_valid_before_utc <= token.time <= certificate.not_valid_after_utc:
        raise TimestampError("the certificate of the authority was not valid when it stamped")
    others = tuple(other for other in certificates if other != certificate)
    return CheckedTimestamp(token, _name_of(certificate), certificate, others)


@contextmanager
def _reading_certificates() -> Iterator[None]:
    """Parts of a certificate are read when they are first used: what is wrong with it may be found anywhere."""
    from cryptography import exceptions, x509  # noqa: PLC0415

    try:
        yield
    except (
        ValueError,
        exceptions.UnsupportedAlgorithm,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    ):
        raise TimestampError("a certificate in it cannot be read") from None


def trusted_root(checked: CheckedTimestamp, trusted: "Sequence[Certificate]") -> str:
    """The name of the trusted certificate that the authority's leads to; raises TimestampError if there is none."""
    from cryptography.x509 import verification  # noqa: PLC0415 - long to load

    if checked.certificate in trusted:
        return checked.authority
    if not trusted:
        raise TimestampError("no certificate is trusted")
    builder = verification.PolicyBuilder().store(verification.Store(list(trusted))).time(checked.token.time)
    ends = verification.ExtensionPolicy.permit_all().require_present(
        _purpose_type(), verification.Criticality.CRITICAL, _check_only_purpose
    )
    issuers = verification.ExtensionPolicy.permit_all()
    issuers = issuers.require_present(_constraints_type(), verification.Criticality.AGNOSTIC, None)
    issuers = issuers.may_be_present(_usage_type(), verification.Criticality.AGNOSTIC, _check_issuer_usage)
    issuers = issuers.may_be_present(
        _purpose_type(), verification.Criticality.AGNOSTIC, _check_issuer_purpose
    )
    verifier = builder.extension_policies(ca_policy=issuers, ee_policy=ends).build_client_verifier()
    try:
        with _reading_certificates():
            chain = verifier.verify(checked.certificate, list(checked.others)).chain
    except verification.VerificationError as error:
        reason = str(error).removeprefix("validation failed: ")[:200]
        raise TimestampError(f"its certificate does not lead to a trusted one ({reason})") from None
    return _name_of(chain[-1])


def load_certificates(data: bytes) -> "tuple[Certificate, ...]":
    """The certificates in a file, as PEM or one as DER; raises TimestampError if there is none."""
    load_cryptography()
    from cryptography import x509  # noqa: PLC0415

    with _reading_certificates():
        if b"-----BEGIN" in data:
            return tuple(x509.load_pem_x509_certificates(data))
        return (x509.load_der_x509_certificate(data),)


def _certificates(token: TimestampToken) -> "tuple[Certificate, ...]":
    from cryptography import x509  # noqa: PLC0415

    if len(token.certificates) > _MOST_CERTIFICATES:
        raise TimestampError(f"it has {len(token.certificates):,} certificates")
    return tuple(x509.load_der_x509_certificate(data) for data in token.certificates)


def _signer_of(token: TimestampToken, certificates: "Sequence[Certificate]") -> "Certificate":
    for certificate in certificates:
        if _is_named(token, certificate):
            return certificate
    raise TimestampError("it does not hold the certificate of the authority")


def _is_named(token: TimestampToken, certificate: "Certificate") -> bool:
    from cryptography import x509  # noqa: PLC0415

    signer = token.signer
    if signer.issuer is not None:
        return (
            certificate.serial_number == signer.serial and certificate.issuer.public_bytes() == signer.issuer
        )
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return False
    return found.value.digest == signer.key_id


def _check_certificate_digest(token: TimestampToken, certificate: "Certificate") -> None:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    signer = token.signer
    if signer.certificate_digest is None:
        raise TimestampError("the signature does not name the certificate of the authority")
    data = certificate.public_bytes(Encoding.DER)
    # SHA-1 only names a certificate here; its own signature is checked apart.
    digest = hashlib.new(signer.certificate_hash, data, usedforsecurity=False).digest()
    if not hmac.compare_digest(digest, signer.certificate_digest):
        raise TimestampError("the signature names another certificate")


def _check_signature(token: TimestampToken, certificate: "Certificate") -> None:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    signer = token.signer
    name = HASHES.get(signer.digest_algorithm)
    if name is None:
        raise TimestampError(f"it is signed with {weak_name(signer.digest_algorithm)}")
    if hashlib.new(name, token.content).digest() != signer.content_digest:
        raise TimestampError("it was changed after it was signed")
    try:
        _verify(token, certificate, _SIGNATURE_HASHES.get(signer.signature_algorithm, name))
    except InvalidSignature:
        raise TimestampError("the signature of the authority is wrong") from None


def _verify(token: TimestampToken, certificate: "Certificate", name: str) -> None:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa  # noqa: PLC0415

    algorithm, data, signature = (
        token.signer.signature_algorithm,
        token.signer.signed_bytes,
        token.signer.signature,
    )
    if algorithm not in {*_SIGNATURE_HASHES, *_PLAIN, _PSS, _ED25519}:
        raise TimestampError(f"it is signed with the unknown or weak algorithm {algorithm}")
    chosen = {"sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()}[name]
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _SMALLEST_RSA:
            raise TimestampError(f"the key of the authority has {key.key_size:,} bits only")
        pss = padding.PSS(padding.MGF1(chosen), padding.PSS.AUTO)
        key.verify(signature, data, pss if algorithm == _PSS else padding.PKCS1v15(), chosen)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(signature, data, ec.ECDSA(chosen))
    elif isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, data)
    else:
        raise TimestampError("the key of the authority is of an unknown type")


def _check_purpose(certificate: "Certificate") -> None:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    try:
        purpose = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except x509.ExtensionNotFound:
        raise TimestampError("the certificate of the authority is not for time-stamps") from None
    if list(purpose.value) != [ExtendedKeyUsageOID.TIME_STAMPING]:
        raise TimestampError("the certificate of the authority is not for time-stamps, or not only for these")
    if not purpose.critical:
        raise TimestampError("the certificate of the authority does not insist on its purpose (not critical)")


def _check_only_purpose(_: "Policy", certificate: "Certificate", extension: "ExtensionType") -> None:  # noqa: ARG001
    _check_purpose(certificate)


def _check_issuer_usage(_: "Policy", __: "Certificate", usage: "ExtensionType | None") -> None:
    from cryptography import x509  # noqa: PLC0415

    if isinstance(usage, x509.KeyUsage) and not usage.key_cert_sign:
        raise ValueError("an issuer may not sign certificates")


def _check_issuer_purpose(_: "Policy", __: "Certificate", purpose: "ExtensionType | None") -> None:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    allowed = {ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    if isinstance(purpose, x509.ExtendedKeyUsage) and allowed.isdisjoint(purpose):
        raise ValueError("an issuer is not for time-stamps")


def _purpose_type() -> type:
    from cryptography import x509  # noqa: PLC0415

    return x509.ExtendedKeyUsage


def _usage_type() -> type:
    from cryptography import x509  # noqa: PLC0415

    return x509.KeyUsage


def _constraints_type() -> type:
    from cryptography import x509  # noqa: PLC0415

    return x509.BasicConstraints


def _name_of(certificate: "Certificate") -> str:
    """The common name in a certificate, or all of its name."""
    from cryptography import x509  # noqa: PLC0415

    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else certificate.subject.rfc4514_string()
