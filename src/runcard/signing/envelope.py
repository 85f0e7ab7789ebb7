"""DSSE envelopes: a payload with the signatures over it, as JSON.

Several envelopes are stored as lines of one file: a record can be signed again, and by others. A time-stamp is over the
bytes of such a line, without the line feed at its end: they never change, and hold the payload and the signatures.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from runcard.encoding import COMPACT, Limits, decode_json, encode_json
from runcard.errors import DocumentError, EncodingError

if TYPE_CHECKING:
    from runcard.encoding import JsonObject
    from runcard.signing.private_keys import Signer

STATEMENT_TYPE: Final = "application/vnd.in-toto+json"

CUT: Final = "the last line is cut off; the next signature takes its place"
_LONGEST_SIGNATURE = 1 << 16  # bytes; an RSA key of 16,384 bits needs 2,048 and the key
_MOST_SIGNATURES = 100  # in one envelope


class EnvelopeError(DocumentError):
    """An envelope that cannot be read."""


class EnvelopeSignature(NamedTuple):
    """One signature of an envelope."""

    key_id: str | None  # what the envelope says; only the key that verifies counts
    value: bytes


class Envelope(NamedTuple):
    """A payload and its signatures."""

    payload_type: str
    payload: bytes
    signatures: tuple[EnvelopeSignature, ...]

    @property
    def signed_bytes(self) -> bytes:
        return signed_bytes(self.payload_type, self.payload)

    def to_line(self) -> bytes:
        """The envelope as one line of JSON, with its end."""
        signatures = [
            {"keyid": signature.key_id or "", "sig": base64.b64encode(signature.value).decode()}
            for signature in self.signatures
        ]
        data = {
            "payloadType": self.payload_type,
            "payload": base64.b64encode(self.payload).decode(),
            "signatures": signatures,
        }
        return encode_json(data, COMPACT)


def sign_statement(payload: bytes, signer: "Signer") -> Envelope:
    """An in-toto statement in an envelope with one signature."""
    value = signer.sign(signed_bytes(STATEMENT_TYPE, payload))
    return Envelope(STATEMENT_TYPE, payload, (EnvelopeSignature(signer.public_key.fingerprint, value),))


def signed_bytes(payload_type: str, payload: bytes) -> bytes:
    """The bytes that a signature covers (the pre-authentication encoding of DSSE)."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def parse_lines(data: bytes, limits: Limits) -> Iterator["Envelope | EnvelopeError"]:
    """The envelopes in a file, one for each line; an error in place of one that cannot be read."""
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        yield EnvelopeError("the file of signatures is empty")
    for number, line in enumerate(lines, 1):
        try:
            yield parse_envelope(line, limits)
        except EnvelopeError as error:
            is_cut = number == len(lines) and not data.endswith(b"\n")
            yield EnvelopeError(f"{CUT} ({error.message})") if is_cut else error


def is_envelope(data: bytes) -> bool:
    """Whether these bytes are a whole envelope."""
    try:
        parse_envelope(data, Limits())
    except EnvelopeError:
        return False
    return True


def parse_envelope(data: bytes, limits: Limits) -> Envelope:
    """Read an envelope; raises EnvelopeError for one that is not well formed."""
    try:
        value = decode_json(data, limits)
    except EncodingError as error:
        raise EnvelopeError(f"the envelope is not JSON: {error.message}") from None
    if not isinstance(value, dict):
        raise EnvelopeError("the envelope is not an object")
    payload_type, signatures = value.get("payloadType"), value.get("signatures")
    if not isinstance(payload_type, str):
        raise EnvelopeError("the envelope has no payloadType")
    if not isinstance(signatures, list) or not signatures:
        raise EnvelopeError("the envelope has no signatures")
    if len(signatures) > _MOST_SIGNATURES:
        raise EnvelopeError(f"the envelope has {len(signatures):,} signatures: more than {_MOST_SIGNATURES}")
    payload = _decoded(value.get("payload"), "payload")
    return Envelope(payload_type, payload, tuple(_signature(each) for each in signatures))


def _signature(value: object) -> EnvelopeSignature:
    if not isinstance(value, dict):
        raise EnvelopeError("a signature in the envelope is not an object")
    fields: JsonObject = value
    text, key_id = fields.get("sig"), fields.get("keyid")
    if isinstance(text, str) and len(text) > _LONGEST_SIGNATURE * 4 // 3:
        raise EnvelopeError(f"a signature in the envelope has more than {_LONGEST_SIGNATURE:,} bytes")
    return EnvelopeSignature(key_id if isinstance(key_id, str) and key_id else None, _decoded(text, "sig"))


def _decoded(text: object, name: str) -> bytes:
    """The bytes of a field; both alphabets of Base64 are allowed."""
    if not isinstance(text, str):
        raise EnvelopeError(f"the envelope has no {name}")
    try:
        return base64.b64decode(text.translate({ord("-"): "+", ord("_"): "/"}), validate=True)
    except (binascii.Error, ValueError):
        raise EnvelopeError(f"the {name} of the envelope is not Base64") from None
