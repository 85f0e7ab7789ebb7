"""Replies of an authority as an attacker makes them: with any certificate, time and digest algorithm.

`openssl ts` refuses to sign with a certificate for another purpose, so those tests need another maker.
"""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from runcard.signing.der import (
    CONTEXT,
    OCTET_STRING,
    SEQUENCE,
    SET,
    TIME,
    encode,
    encode_integer,
    encode_object_id,
    read_element,
)

_DIGESTS = {
    "sha256": ("2.16.840.1.101.3.4.2.1", hashes.SHA256()),
    "sha1": ("1.3.14.3.2.26", hashes.SHA1()),  # noqa: S303 - the attack
    "md5": ("1.2.840.113549.2.5", hashes.MD5()),  # noqa: S303
}
_INFO, _SIGNED = "1.2.840.113549.1.9.16.1.4", "1.2.840.113549.1.7.2"


def _attribute(name: str, value: bytes) -> bytes:
    return encode(SEQUENCE, encode_object_id(name), encode(SET, value))


def make_reply(
    query: bytes,
    certificate: Path,
    key: Path,
    when: datetime | None = None,
    *,
    digest: str = "sha256",
    others: "list[Path] | tuple[Path, ...]" = (),
) -> bytes:
    """A reply to a request."""
    fields = list(read_element(query).parts())
    name, algorithm = _DIGESTS[digest]
    hash_id = encode(SEQUENCE, encode_object_id(name), b"\x05\x00")
    moment = (when or datetime.now(UTC)).strftime("%Y%m%d%H%M%SZ").encode()
    nonce = next(field.raw for field in fields[2:] if field.tag == 2)
    policy, serial = encode_object_id("1.2.3.4.1"), encode_integer(7)
    info = encode(SEQUENCE, encode_integer(1), policy, fields[1].raw, serial, encode(TIME, moment), nonce)
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    own = loaded.public_bytes(serialization.Encoding.DER)
    named = encode(
        SEQUENCE, encode(SEQUENCE, encode(SEQUENCE, encode(OCTET_STRING, hashlib.sha256(own).digest())))
    )
    attributes = sorted(
        [
            _attribute("1.2.840.113549.1.9.3", encode_object_id(_INFO)),
            _attribute("1.2.840.113549.1.9.4", encode(OCTET_STRING, hashlib.new(digest, info).digest())),
            _attribute("1.2.840.113549.1.9.16.2.47", named),
        ]
    )
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    data = encode(SET, *attributes)
    if isinstance(private, rsa.RSAPrivateKey):
        signature, kind = private.sign(data, padding.PKCS1v15(), algorithm), "1.2.840.113549.1.1.1"
    else:
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        signature, kind = private.sign(data, ec.ECDSA(algorithm)), "1.2.840.10045.4.3.2"
    sid = encode(SEQUENCE, loaded.issuer.public_bytes(), encode_integer(loaded.serial_number))
    signer = encode(
        SEQUENCE,
        encode_integer(1),
        sid,
        hash_id,
        encode(CONTEXT, *attributes),
        encode(SEQUENCE, encode_object_id(kind)),
        encode(OCTET_STRING, signature),
    )
    more = [x509.load_pem_x509_certificate(path.read_bytes()) for path in others]
    certificates = (own, *(each.public_bytes(serialization.Encoding.DER) for each in more))
    content = encode(SEQUENCE, encode_object_id(_INFO), encode(CONTEXT, encode(OCTET_STRING, info)))
    signed = encode(
        SEQUENCE,
        encode_integer(3),
        encode(SET, hash_id),
        content,
        encode(CONTEXT, *certificates),
        encode(SET, signer),
    )
    token = encode(SEQUENCE, encode_object_id(_SIGNED), encode(CONTEXT, signed))
    return encode(SEQUENCE, encode(SEQUENCE, encode_integer(0)), token)
