"""The signatures of a record as they are stated, unchecked: `runcard verify` checks them, and says whose they are."""

from collections.abc import Iterator
from typing import NamedTuple

from runcard.documents.signed_statement import StatementError, read_statement
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.signing.envelope import Envelope, parse_lines
from runcard.signing.public_keys import parse_key_text
from runcard.signing.ssh_signature import MAGIC, parse_ssh_signature
from runcard.signing.wire_format import WireFormatError
from runcard.store import layout
from runcard.store.record import Record


class StatedSignature(NamedTuple):
    """A signature that nobody has checked."""

    fingerprint: str | None  # of its key; None if it cannot be read
    signed_at: str | None  # by the clock of the signer

    def __str__(self) -> str:
        return f"{self.fingerprint or 'cannot be read'}{f'  {self.signed_at}' if self.signed_at else ''}"

    def to_dict(self) -> JsonObject:
        return {"fingerprint": self.fingerprint, "signed_at": self.signed_at}


def stated_signatures(record: Record) -> tuple[StatedSignature, ...]:
    """The signatures beside a closed record; none if they cannot be read, which `verify` reports."""
    try:
        data = record.read(layout.SIGNATURE) if record.has_file(layout.SIGNATURE) else None
    except (RuncardError, OSError):
        return ()
    return () if data is None else tuple(_signatures(data))


def _signatures(data: bytes) -> Iterator[StatedSignature]:
    for envelope in parse_lines(data, Limits()):
        if not isinstance(envelope, Envelope):
            yield StatedSignature(None, None)
            continue
        try:
            statement = read_statement(envelope.payload, Limits())
        except StatementError:
            yield StatedSignature(None, None)
            continue
        for signature in envelope.signatures:
            fingerprint = _fingerprint(signature.value, statement.public_key)
            yield StatedSignature(fingerprint, statement.signed_at)


def _fingerprint(value: bytes, stated: str | None) -> str | None:
    try:
        if value.startswith(MAGIC):
            return parse_ssh_signature(value).key.fingerprint
        return parse_key_text(*[*(stated or "").split(), "", ""][:2]).fingerprint
    except WireFormatError:
        return None
