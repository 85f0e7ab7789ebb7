"""Public keys as OpenSSH writes them, and checking signatures with them."""

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, NamedTuple

from runcard.extras import missing_package
from runcard.signing.wire_format import WireFormatError, WireReader, string

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
    from cryptography.hazmat.primitives.hashes import HashAlgorithm

ED25519 = "ssh-ed25519"
RSA = "ssh-rsa"
SK_ED25519 = "sk-ssh-ed25519@openssh.com"
SK_ECDSA = "sk-ecdsa-sha2-nistp256@openssh.com"
CURVES = {"nistp256": "sha256", "nistp384": "sha384", "nistp521": "sha512"}  # with the hash of each
ECDSA = {f"ecdsa-sha2-{curve}": curve for curve in CURVES}
RSA_HASHES = {"rsa-sha2-256": "sha256", "rsa-sha2-512": "sha512"}  # SHA-1 is not accepted

SMALLEST_RSA = 2048  # bits

_MOST_RSA = 16_384  # bits; more would take seconds
_LONGEST_EXPONENT = 64  # bits; common ones have 2 to 17. With one as long as the key, each signature takes a thousand times as long


class UnknownAlgorithmError(WireFormatError):
    """A key or signature of an algorithm that runcard does not know."""


class PublicKey(NamedTuple):
    """A public key: its type, and its bytes as OpenSSH encodes them."""

    type: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` shows it."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def is_hardware(self) -> bool:
        return self.type in {SK_ED25519, SK_ECDSA}

    def __str__(self) -> str:
        return f"{self.type} {base64.b64encode(self.blob).decode()}"

    def raw_ed25519(self) -> bytes:
        """The 32 bytes of an Ed25519 key; of other types none."""
        return self.blob[-32:] if self.type == ED25519 else b""


def parse_public_key(blob: bytes) -> PublicKey:
    """A key by its bytes; raises WireFormatError, for an unknown type UnknownAlgorithmError."""
    kind = WireReader(blob).text()
    if kind not in {ED25519, RSA, SK_ED25519, SK_ECDSA, *ECDSA}:
        raise UnknownAlgorithmError(f"the type {kind[:80]!r} of the key is not supported")
    key = PublicKey(kind, blob)
    _check_parts(key)
    return key


def parse_key_text(kind: str, text: str) -> PublicKey:
    """A key by the two words that a public key file has."""
    try:
        blob = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise WireFormatError("the key is not Base64") from None
    key = parse_public_key(blob)
    if key.type != kind:
        raise WireFormatError(f"the line has a key of type {kind}, its bytes one of type {key.type}")
    return key


def _check_parts(key: PublicKey) -> None:
    reader = WireReader(key.blob)
    reader.string()
    if key.type == RSA:
        exponent, modulus = reader.integer(), reader.integer()
        if not SMALLEST_RSA <= modulus.bit_length() <= _MOST_RSA:
            raise WireFormatError(
                f"an RSA key of {modulus.bit_length()} bits is not accepted: {SMALLEST_RSA} to {_MOST_RSA}"
            )
        if exponent < 3 or exponent % 2 == 0:
            raise WireFormatError("the exponent of the RSA key is wrong")
        if exponent.bit_length() > _LONGEST_EXPONENT:
            raise WireFormatError(
                f"an RSA key with an exponent of {exponent.bit_length()} bits is not accepted: {_LONGEST_EXPONENT} at most"
            )
    else:
        if key.type in ECDSA or key.type == SK_ECDSA:
            curve = reader.text()
            if curve != ECDSA.get(key.type, "nistp256"):
                raise WireFormatError("the curve of the key is not that of its type")
        point = reader.string()
        if key.type in {ED25519, SK_ED25519} and len(point) != 32:
            raise WireFormatError("an Ed25519 key has 32 bytes")
        if key.is_hardware:
            reader.string()  # the application
    reader.finish()


def verify_plain(key: PublicKey, data: bytes, signature: bytes) -> bool:
    """Whether a plain Ed25519 signature is right."""
    if key.type != ED25519:
        return False
    return _verify_ed25519(key.raw_ed25519(), data, signature)


def verify_ssh(key: PublicKey, data: bytes, algorithm: str, signature: bytes) -> bool:
    """Whether the signature inside an SSH signature is right; `data` is what OpenSSH signs."""
    if key.type == ED25519:
        _check_algorithm(key, algorithm, (ED25519,))
        return _verify_ed25519(key.raw_ed25519(), data, signature)
    if key.type == RSA:
        _check_algorithm(key, algorithm, tuple(RSA_HASHES))
        return _verify_rsa(key, data, RSA_HASHES[algorithm], signature)
    if key.type in ECDSA:
        _check_algorithm(key, algorithm, (key.type,))
        return _verify_ecdsa(key, data, CURVES[ECDSA[key.type]], signature)
    _check_algorithm(key, algorithm, (key.type,))
    raise UnknownAlgorithmError("the signature of a hardware key has no flags")


def verify_hardware(key: PublicKey, data: bytes, flags: int, counter: int, signature: bytes) -> bool:
    """Whether the signature of a hardware key is right, and somebody touched it."""
    application = _application(key)
    message = (
        hashlib.sha256(application).digest()
        + bytes([flags])
        + counter.to_bytes(4, "big")
        + hashlib.sha256(data).digest()
    )
    if not flags & 1:
        return False
    if key.type == SK_ED25519:
        reader = WireReader(key.blob)
        reader.string()
        return _verify_ed25519(reader.string(), message, signature)
    return _verify_ecdsa(key, message, "sha256", signature)


def _check_algorithm(key: PublicKey, algorithm: str, allowed: tuple[str, ...]) -> None:
    if algorithm not in allowed:
        raise UnknownAlgorithmError(
            f"a signature of algorithm {algorithm[:80]!r} with a key of type {key.type} is not supported"
        )


def _application(key: PublicKey) -> bytes:
    reader = WireReader(key.blob)
    reader.string()
    if key.type == SK_ECDSA:
        reader.string()
    reader.string()
    return reader.string()


def _verify_ed25519(public: bytes, data: bytes, signature: bytes) -> bool:
    load_cryptography()
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _verify_rsa(key: PublicKey, data: bytes, hash_name: str, signature: bytes) -> bool:
    load_cryptography()
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415

    public = _library_key(key)
    if not isinstance(public, RSAPublicKey):
        return False
    padded = signature.rjust((public.key_size + 7) // 8, b"\0")  # OpenSSH leaves leading zeros out
    try:
        public.verify(padded, data, PKCS1v15(), hash_algorithm(hash_name))
    except InvalidSignature:
        return False
    return True


def _verify_ecdsa(key: PublicKey, data: bytes, hash_name: str, signature: bytes) -> bool:
    load_cryptography()
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature  # noqa: PLC0415

    reader = WireReader(signature)
    first, second = reader.integer(), reader.integer()
    reader.finish()
    public = _library_key(key)
    if first <= 0 or second <= 0 or not isinstance(public, ec.EllipticCurvePublicKey):
        return False
    try:
        public.verify(encode_dss_signature(first, second), data, ec.ECDSA(hash_algorithm(hash_name)))
    except InvalidSignature:
        return False
    return True


def _library_key(key: PublicKey) -> "PublicKeyTypes":
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key  # noqa: PLC0415

    kind, blob = key.type, key.blob
    if kind == SK_ECDSA:  # the same point without the application
        reader = WireReader(blob)
        reader.string()
        curve, point = reader.string(), reader.string()
        kind = "ecdsa-sha2-nistp256"
        blob = string(kind.encode()) + string(curve) + string(point)
    try:
        return load_ssh_public_key(f"{kind} {base64.b64encode(blob).decode()}".encode())
    except (ValueError, UnsupportedAlgorithm):
        raise WireFormatError("the numbers of the key are wrong") from None


def hash_algorithm(name: str) -> "HashAlgorithm":
    """The hash of that name, for the functions of `cryptography`."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415

    if name == "sha256":
        return hashes.SHA256()
    return hashes.SHA384() if name == "sha384" else hashes.SHA512()


def load_cryptography() -> None:
    """Import the package, or raise the error that says how to install it."""
    try:
        import cryptography  # noqa: F401, PLC0415
    except ImportError:
        raise missing_package("signatures need", "cryptography", "sign") from None
