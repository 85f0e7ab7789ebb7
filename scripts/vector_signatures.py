"""Keys and signatures for the test vectors. The keys are public: anybody can compute them from the names here.

Never trust them for anything else.
"""

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from vector_run import AMENDMENTS, LISTING, METADATA, SIGNATURE, Fields, Files, digest, lines_of

from runcard import checksums
from runcard.documents.signed_statement import PREDICATE, STATEMENT
from runcard.signing.envelope import STATEMENT_TYPE, signed_bytes
from runcard.signing.ssh_signature import NAMESPACE, covered_bytes
from runcard.signing.wire_format import string

Sign = Callable[[bytes], bytes]
_CURVES: dict[str, tuple[ec.EllipticCurve, hashes.HashAlgorithm]] = {
    "nistp256": (ec.SECP256R1(), hashes.SHA256()),
    "nistp384": (ec.SECP384R1(), hashes.SHA384()),
    "nistp521": (ec.SECP521R1(), hashes.SHA512()),
}


class VectorKey(NamedTuple):
    """A key of these vectors."""

    type: str
    blob: bytes  # the public key, as OpenSSH encodes it
    algorithm: str  # of its signatures
    sign: Sign

    @property
    def public(self) -> str:
        return f"{self.type} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        return "SHA256:" + base64.b64encode(sha256(self.blob).digest()).decode().rstrip("=")


def _seed(name: str) -> bytes:
    return sha256(f"runcard test vectors, public key of {name}".encode()).digest()


def _mpint(number: int) -> bytes:
    return string(number.to_bytes(number.bit_length() // 8 + 1, "big"))


def ed25519(name: str) -> VectorKey:
    key = Ed25519PrivateKey.from_private_bytes(_seed(name))
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return VectorKey("ssh-ed25519", string(b"ssh-ed25519") + string(raw), "ssh-ed25519", key.sign)


def ec_private(name: str, curve: str = "nistp256") -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(_seed(name), "big") >> 8, _CURVES[curve][0])


def _ecdsa(name: str, curve: str) -> tuple[bytes, Sign]:
    """The point of the key, and what signs with it."""
    algorithm, key = _CURVES[curve][1], ec_private(name, curve)
    form = serialization.PublicFormat.UncompressedPoint
    point = key.public_key().public_bytes(serialization.Encoding.X962, form)

    def sign(data: bytes) -> bytes:
        made = key.sign(data, ec.ECDSA(algorithm, deterministic_signing=True))
        return b"".join(map(_mpint, decode_dss_signature(made)))

    return point, sign


def ecdsa(name: str, curve: str) -> VectorKey:
    point, sign = _ecdsa(name, curve)
    kind = f"ecdsa-sha2-{curve}"
    return VectorKey(kind, string(kind.encode()) + string(curve.encode()) + string(point), kind, sign)


def _prime(seed: bytes, bits: int) -> int:
    """The first number from a place that the seed decides that is surely prime enough (base 2, 3, … of Fermat)."""
    text = b"".join(sha256(seed + bytes([part])).digest() for part in range(bits // 256))
    number = int.from_bytes(text, "big") | (3 << (bits - 2)) | 1
    while number % 65537 == 1 or any(pow(base, number - 1, number) != 1 for base in (2, 3, 5, 7)):
        number += 2
    return number


def rsa_private(name: str, bits: int) -> rsa.RSAPrivateKey:
    first, second = (_prime(_seed(f"{name} {part}"), bits // 2) for part in "pq")
    private = pow(65537, -1, (first - 1) * (second - 1))
    numbers = rsa.RSAPrivateNumbers(
        first,
        second,
        private,
        private % (first - 1),
        private % (second - 1),
        pow(second, -1, first),
        rsa.RSAPublicNumbers(65537, first * second),
    )
    return numbers.private_key()


def rsa_key(name: str, bits: int = 2048) -> VectorKey:
    key = rsa_private(name, bits)
    blob = string(b"ssh-rsa") + _mpint(65537) + _mpint(key.public_key().public_numbers().n)
    return VectorKey(
        "ssh-rsa", blob, "rsa-sha2-512", lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA512())
    )


def on_hardware(key: VectorKey, application: str = "ssh:") -> VectorKey:
    """A key as a security key has it; `sign` makes the signature that such a device would."""
    kind = f"sk-{key.type}@openssh.com"
    rest = key.blob[len(string(key.type.encode())) :]
    blob = string(kind.encode()) + rest + string(application.encode())
    head = sha256(application.encode()).digest() + b"\x01" + (7).to_bytes(4, "big")  # touched, the 7th use

    def sign(data: bytes) -> bytes:
        return key.sign(head + sha256(data).digest())

    return VectorKey(kind, blob, kind, sign)


ALICE, BOB, MALLORY, FRANK, ERIN = map(ed25519, ("alice", "bob", "mallory", "frank", "erin"))
CAROL, CAROL_384, CAROL_521 = (ecdsa("carol", curve) for curve in _CURVES)
DAVE = rsa_key("dave")
SHORT_RSA = rsa_key("short", 1024)
GRACE, HEIDI = on_hardware(ed25519("grace")), on_hardware(ecdsa("heidi", "nistp256"))

SIGNERS = "".join(
    f"{names} {key.public}\n"
    for names, key in (
        ('alice@example.org,author namespaces="runcard"', ALICE),
        ('bob@example.org,reviewer namespaces="runcard"', BOB),
        ("carol@example.org", CAROL),
        ("dave@example.org", DAVE),
        ('erin@example.org valid-before="20200101Z"', ERIN),
        ('frank@example.org namespaces="git"', FRANK),
    )
)


def statement(files: Files, key: VectorKey) -> Fields:
    """The statement about a run as it is."""
    document = json.loads(files[METADATA])
    listed = checksums.read(files[LISTING])
    subjects = {METADATA: digest(files[METADATA]), LISTING: digest(files[LISTING])}
    subjects |= {path: listed[path].hex for path in listed}
    chained = lines_of(files[AMENDMENTS]) if AMENDMENTS in files else []
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": value}} for name, value in subjects.items()],
        "predicateType": PREDICATE,
        "predicate": {
            "kind": "run",
            "id": document["generation"]["run_id"],
            "directory": "2026-01-02_030405",
            "outputs": {"count": len(listed), "are_subjects": True},
            "event_chains": document["event_chains"],
            "amendments": {"count": len(chained), "head": chained[-1]["hash"] if chained else None},
            "ledger": None,
            "signer": {"public_key": key.public},
            "signed_at": "2026-01-04T00:00:00Z",
            "producer": {"name": "runcard", "version": "0.1.0"},
        },
    }


def plain(key: VectorKey, data: bytes) -> bytes:
    return key.sign(data)


def ssh(
    key: VectorKey, data: bytes, namespace: str = NAMESPACE, hash_name: str = "sha512", version: int = 1
) -> bytes:
    """An SSH signature, as `ssh-keygen -Y sign` makes it."""
    known = hash_name if hash_name in {"sha256", "sha512"} else "sha512"
    inner = string(key.algorithm.encode()) + string(key.sign(covered_bytes(data, namespace, known)))
    if key.type.startswith("sk-"):
        inner += b"\x01" + (7).to_bytes(4, "big")
    parts = (key.blob, namespace.encode(), b"", hash_name.encode(), inner)
    return b"SSHSIG" + version.to_bytes(4, "big") + b"".join(map(string, parts))


Maker = Callable[[VectorKey, bytes], bytes]


class Signing(NamedTuple):
    """How to sign a run."""

    key: VectorKey = ALICE
    make: Maker = plain
    payload_type: str = STATEMENT_TYPE


BY_ALICE = Signing()


def envelope(payload: bytes, how: Signing) -> Fields:
    value = how.make(how.key, signed_bytes(how.payload_type, payload))
    return {
        "payloadType": how.payload_type,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": how.key.fingerprint, "sig": base64.b64encode(value).decode()}],
    }


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def line(data: object) -> bytes:
    return compact(data) + b"\n"


def signed(files: Files, how: Signing = BY_ALICE, edit: Callable[[Fields], Any] | None = None) -> Files:
    """The run with one more signature. `edit` changes the statement before it is signed."""
    data = statement(files, how.key)
    if edit is not None:
        edit(data)
    return {**files, SIGNATURE: files.get(SIGNATURE, b"") + line(envelope(compact(data), how))}


def with_envelope(files: Files, edit: Callable[[Fields], Any]) -> Files:
    """The same, with the (first) envelope changed after signing; a list that `edit` returns takes its place."""
    data: Fields = json.loads(files[SIGNATURE].split(b"\n")[0])
    replaced = edit(data)
    return {**files, SIGNATURE: line(replaced if isinstance(replaced, list) else data)}


def with_payload(files: Files, edit: Callable[[Fields], Any]) -> Files:
    """The statement changed after signing."""

    def change(data: Fields) -> None:
        stated = json.loads(base64.b64decode(data["payload"]))
        edit(stated)
        data["payload"] = base64.b64encode(compact(stated)).decode()

    return with_envelope(files, change)


def with_value(files: Files, edit: Callable[[bytes], bytes]) -> Files:
    """The bytes of the (first) signature changed."""

    def change(data: Fields) -> None:
        (first, *_) = data["signatures"]
        first["sig"] = base64.b64encode(edit(base64.b64decode(first["sig"]))).decode()

    return with_envelope(files, change)
