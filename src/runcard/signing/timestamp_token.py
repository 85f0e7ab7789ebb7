"""Time-stamps of RFC 3161 as data: requests, and replies with their tokens. Nothing here is checked against keys."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from runcard.signing import der
from runcard.signing.der import DerError, Element, Parts

LARGEST_REPLY: Final = 1 << 20  # bytes; those of public authorities have 2,000 to 10,000

SHA256: Final = "2.16.840.1.101.3.4.2.1"
HASHES: Final = {SHA256: "sha256", "2.16.840.1.101.3.4.2.2": "sha384", "2.16.840.1.101.3.4.2.3": "sha512"}
_WEAK = {"1.3.14.3.2.26": "SHA-1", "1.2.840.113549.2.5": "MD5", "2.16.840.1.101.3.4.2.4": "SHA-224"}

_SIGNED_DATA = "1.2.840.113549.1.7.2"
_TOKEN_INFO = "1.2.840.113549.1.9.16.1.4"  # noqa: S105 - the name of a type
_CONTENT_TYPE, _MESSAGE_DIGEST = "1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4"
_CERTIFICATE_V1, _CERTIFICATE_V2 = "1.2.840.113549.1.9.16.2.12", "1.2.840.113549.1.9.16.2.47"
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_LEAST_ACCURATE = timedelta(days=1)
_GRANTED = {0, 1}  # granted, granted with modifications
_STATUSES = {2: "rejected", 3: "waiting", 4: "revocation is near", 5: "revoked"}
_REASONS = {
    0: "the algorithm is not supported",
    2: "the request is not permitted",
    5: "the format is wrong",
    14: "the time source is not available",
    15: "the policy is not supported",
    16: "an extension is not supported",
    17: "additional information is not available",
    25: "a failure of its system",
}


class TimestampRequest(NamedTuple):
    """What an authority is asked to stamp."""

    imprint: bytes  # the SHA-256 digest
    nonce: int | None
    policy: str | None = None

    def to_bytes(self) -> bytes:
        algorithm = der.encode(der.SEQUENCE, der.encode_object_id(SHA256), b"\x05\x00")
        return der.encode(
            der.SEQUENCE,
            der.encode_integer(1),
            der.encode(der.SEQUENCE, algorithm, der.encode(der.OCTET_STRING, self.imprint)),
            b"" if self.policy is None else der.encode_object_id(self.policy),
            b"" if self.nonce is None else der.encode_integer(self.nonce),
            der.encode(der.BOOLEAN, b"\xff"),  # with the certificates that the check needs
        )


def new_request(imprint: bytes) -> TimestampRequest:
    """A request with a nonce of its own, so that an old reply is not taken for a new one."""
    return TimestampRequest(imprint, int.from_bytes(os.urandom(8), "big"))


def parse_request(data: bytes) -> TimestampRequest:
    """A request as it was written; raises DerError for another file."""
    fields = der.read_element(data).expect(der.SEQUENCE).parts()
    fields.next(der.INTEGER)
    _, imprint = _imprint(fields.next(der.SEQUENCE))
    policy, nonce = fields.optional(der.OBJECT_ID), fields.optional(der.INTEGER)
    return TimestampRequest(imprint, nonce and nonce.integer(), policy and policy.object_id())


class SignerInfo(NamedTuple):
    """Who signed a token, and how."""

    issuer: bytes | None  # of the certificate; None where that is named by its key
    serial: int | None
    key_id: bytes | None
    digest_algorithm: str
    signature_algorithm: str
    signed_bytes: bytes  # the attributes, as they were signed
    content_digest: bytes  # of the content, by the attributes
    certificate_digest: bytes | None  # of the signer's certificate, by the attributes
    certificate_hash: str  # its algorithm
    signature: bytes


class TimestampToken(NamedTuple):
    """A time-stamp: what existed, when, and who says so."""

    policy: str
    imprint_algorithm: str
    imprint: bytes
    serial: int
    time: datetime
    accuracy: timedelta
    nonce: int | None
    content: bytes  # that is signed: all of the above
    certificates: tuple[bytes, ...]
    signer: SignerInfo

    @property
    def latest(self) -> datetime:
        """What was stamped existed at this time at the latest, in whole seconds."""
        latest = self.time + self.accuracy
        return latest if not latest.microsecond else latest.replace(microsecond=0) + timedelta(seconds=1)


class RefusedError(DerError):
    """The authority did not give a time-stamp."""


def parse_reply(data: bytes) -> TimestampToken:
    """The token in a reply; raises RefusedError if there is none, DerError if it cannot be read."""
    if len(data) > LARGEST_REPLY:
        raise DerError(f"it has more than {LARGEST_REPLY:,} bytes")
    fields = der.read_element(data).expect(der.SEQUENCE).parts()
    _check_status(fields.next(der.SEQUENCE).parts())
    kind, content = _content(fields.next(der.SEQUENCE))
    if kind != _SIGNED_DATA or content is None:
        raise DerError("the token is not signed")
    return _token(content.expect(der.SEQUENCE).parts())


def split_replies(data: bytes) -> Iterator[bytes]:
    """The replies in a file that has them one after the other; raises DerError behind the last whole one."""
    parts = Parts(data)
    if not parts.has_more:
        raise DerError("the file is empty")
    while parts.has_more:
        yield parts.next(der.SEQUENCE).raw


def weak_name(algorithm: str) -> str:
    """The name of a hash algorithm that is not accepted, for a message."""
    return _WEAK.get(algorithm, algorithm)


def _check_status(fields: Parts) -> None:
    status = fields.next().integer()
    if status in _GRANTED:
        return
    texts, failure = fields.optional(der.SEQUENCE), fields.optional(der.BIT_STRING)
    said = [part.content.decode("utf-8", "replace") for part in texts.parts()] if texts else []
    if failure is not None:
        bits = failure.content[1:5]
        numbers = (number for number in range(8 * len(bits)) if bits[number // 8] & 0x80 >> number % 8)
        said += [_REASONS[number] for number in numbers if number in _REASONS]
    reason = f": {'; '.join(said)[:300]}" if said else ""
    raise RefusedError(f"no time-stamp was given ({_STATUSES.get(status, f'status {status}')}){reason}")


def _content(info: Element) -> tuple[str, Element | None]:
    """The type of a content, and the content itself."""
    parts = info.parts()
    kind, wrapped = parts.next().object_id(), parts.optional(der.CONTEXT)
    return kind, der.read_element(wrapped.content) if wrapped else None


def _token(fields: Parts) -> TimestampToken:
    fields.next(der.INTEGER)
    fields.next(der.SET)
    kind, wrapped = _content(fields.next(der.SEQUENCE))
    if kind != _TOKEN_INFO or wrapped is None:
        raise DerError("what was signed is not a time-stamp")
    certificates = fields.optional(der.CONTEXT)
    fields.optional(der.CONTEXT | 1)
    signers = list(fields.next(der.SET).parts())
    if len(signers) != 1:
        raise DerError(f"the token has {len(signers)} signers; expected one")
    content = wrapped.expect(der.OCTET_STRING).content
    signer = _signer(signers[0].expect(der.SEQUENCE).parts())
    found = tuple(part.raw for part in certificates.parts()) if certificates else ()
    return _info(content, found, signer)


def _info(content: bytes, certificates: tuple[bytes, ...], signer: SignerInfo) -> TimestampToken:
    fields = der.read_element(content).expect(der.SEQUENCE).parts()
    if (version := fields.next().integer()) != 1:
        raise DerError(f"the time-stamp has the unknown version {version}")
    policy = fields.next().object_id()
    algorithm, imprint = _imprint(fields.next(der.SEQUENCE))
    serial, time = fields.next().integer(), fields.next().time()
    accuracy = _accuracy(fields.optional(der.SEQUENCE))
    if not _EARLIEST <= time <= _LATEST or accuracy > _LEAST_ACCURATE:
        raise DerError("the time is before 2000 or after 2200, or not accurate to a day")
    fields.optional(der.BOOLEAN)
    nonce = fields.optional(der.INTEGER)
    return TimestampToken(
        policy,
        algorithm,
        imprint,
        serial,
        time,
        accuracy,
        nonce and nonce.integer(),
        content,
        certificates,
        signer,
    )


def _imprint(element: Element) -> tuple[str, bytes]:
    fields = element.parts()
    return _algorithm(fields.next(der.SEQUENCE)), fields.next(der.OCTET_STRING).content


def _algorithm(element: Element) -> str:
    return element.parts().next().object_id()


def _accuracy(element: Element | None) -> timedelta:
    """How far the time may be off; nothing if the authority does not say."""
    if element is None:
        return timedelta()
    fields = element.parts()
    seconds, millis, micros = (fields.optional(tag) for tag in (der.INTEGER, 0x80, 0x81))
    values = [
        0 if part is None else int.from_bytes(part.content[:8], "big") for part in (seconds, millis, micros)
    ]
    try:
        return timedelta(seconds=values[0], milliseconds=values[1], microseconds=values[2])
    except OverflowError:
        raise DerError("the accuracy is not a length of time") from None


def _signer(fields: Parts) -> SignerInfo:
    fields.next(der.INTEGER)
    name = fields.next()
    issuer = serial = key_id = None
    if name.tag == der.SEQUENCE:
        parts = name.parts()
        issuer, serial = parts.next(der.SEQUENCE).raw, parts.next().integer()
    else:
        key_id = name.expect(0x80).content
    digest_algorithm = _algorithm(fields.next(der.SEQUENCE))
    attributes = fields.next(der.CONTEXT)
    algorithm = _algorithm(fields.next(der.SEQUENCE))
    signature = fields.next(der.OCTET_STRING).content
    values = _attributes(attributes)
    kind, digest = values.get(_CONTENT_TYPE), values.get(_MESSAGE_DIGEST)
    if kind is None or kind.object_id() != _TOKEN_INFO or digest is None:
        raise DerError("the signature does not cover the time-stamp")
    hash_name, certificate = _certificate_digest(values)
    return SignerInfo(
        issuer,
        serial,
        key_id,
        digest_algorithm,
        algorithm,
        der.encode(der.SET, attributes.content),
        digest.expect(der.OCTET_STRING).content,
        certificate,
        hash_name,
        signature,
    )


def _attributes(element: Element) -> dict[str, Element]:
    values: dict[str, Element] = {}
    for attribute in element.parts():
        parts = attribute.expect(der.SEQUENCE).parts()
        name = parts.next().object_id()
        if name in values:
            raise DerError("a signed attribute occurs twice")
        values[name] = der.read_element(parts.next(der.SET).content)
    return values


def _certificate_digest(values: dict[str, Element]) -> tuple[str, bytes | None]:
    """The algorithm and the digest of the signer's certificate: without them, another one of the same key would do."""
    found = values.get(_CERTIFICATE_V2) or values.get(_CERTIFICATE_V1)
    if found is None:
        return "", None
    fields = found.parts().next(der.SEQUENCE).parts().next(der.SEQUENCE).parts()
    if _CERTIFICATE_V2 not in values:
        return "sha1", fields.next(der.OCTET_STRING).content
    algorithm = fields.optional(der.SEQUENCE)
    name = SHA256 if algorithm is None else _algorithm(algorithm)
    if name not in HASHES:
        raise DerError(f"the certificate is named by a digest of {weak_name(name)}")
    return HASHES[name], fields.next(der.OCTET_STRING).content
