"""Checking the time-stamps of a record: each is right or wrong, and about this record or another one.

What is stamped is the head of the record: the file of its signatures, as far as it was written then, or the metadata
document of a record without signatures. A signature names the metadata document, so either proves that the record existed.

Whether the authority is trusted is not decided here: that needs a file of certificates, which is the reader's.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from runcard.documents.findings import WARNING, Finding, record_finding
from runcard.documents.signed_statement import read_statement
from runcard.encoding import Limits
from runcard.errors import DocumentError, MachineError
from runcard.files import printable
from runcard.signing.der import DerError
from runcard.signing.envelope import parse_envelope
from runcard.signing.timestamp_check import check_token
from runcard.signing.timestamp_token import parse_reply, split_replies
from runcard.store import layout
from runcard.store.signatures import signature_heads

LARGEST_FILE = 1 << 22  # bytes
_MOST_REPLIES = 100  # in one file


class RecordTimestamp(NamedTuple):
    """A time-stamp whose signature is right, and that is about the record."""

    reply: bytes
    latest: datetime  # the record existed by then
    authority: str  # as its certificate names it, whoever made that
    signatures: int  # how many signatures of the record existed by then
    anchor: str | None = None  # the anchor that it is about, which names the record; None: the record itself


class RecordHead(NamedTuple):
    """What is stamped of a record."""

    imprint: bytes
    signatures: int  # how many there are


def heads_of(sealed: str, signatures: bytes | None) -> Iterator[RecordHead]:
    """What may have been stamped of a record, newest first: its signatures so far at one time, or its document.

    Lines that do not name the document prove nothing about it, however old they are: somebody may have had other lines
    stamped, to put them beside a newer record.
    """
    lines = (signatures or b"").split(b"\n")[:-1]
    first = next((number for number, line in enumerate(lines, 1) if _names(line, sealed)), len(lines) + 1)
    heads = list(enumerate(signature_heads(signatures or b""), 1))
    for number, head in reversed(heads[first - 1 :]):
        yield RecordHead(bytes.fromhex(head), number)
    yield RecordHead(bytes.fromhex(sealed), 0)


def _names(line: bytes, sealed: str) -> bool:
    """Whether what was signed names the metadata document."""
    try:
        statement = read_statement(parse_envelope(line, Limits()).payload, Limits())
    except DocumentError:
        return False
    return statement.subjects.get(layout.METADATA) == sealed


class TimestampCheck:
    """The check of the time-stamps of one record; `good` has those that are right when the findings have been read."""

    def __init__(self, name: str, sealed: str, signatures: bytes | None) -> None:
        self._name = name
        self._heads = {head.imprint: head for head in heads_of(sealed, signatures)} if sealed else {}
        self.good: list[RecordTimestamp] = []

    def findings(self, data: bytes) -> Iterator[Finding]:
        """Findings about a file of time-stamps, with the number of the time-stamp."""
        number = 0
        try:
            for number, reply in enumerate(split_replies(data), 1):
                if number > _MOST_REPLIES:
                    yield self._finding("timestamp", f"there are more than {_MOST_REPLIES} time-stamps")
                    return
                yield from self._reply(reply, number)
        except DerError as error:  # where one ends is not known
            yield self._finding("timestamp", f"time-stamp {number + 1} cannot be read: {error.message}")
        except MachineError as error:  # the package is not installed
            unchecked = self._finding("limits", f"{error.message}; {error.hint}")
            yield unchecked._replace(severity=WARNING)

    def _reply(self, reply: bytes, number: int) -> Iterator[Finding]:
        try:
            checked = check_token(parse_reply(reply))
        except DocumentError as error:
            yield self._finding("timestamp", f"time-stamp {number}: {printable(error.message)}")
            return
        head = self._heads.get(checked.token.imprint)
        if head is None:
            found = checked.token.imprint.hex()
            message = f"time-stamp {number} is about something else than this record"
            yield self._finding("timestamp", message, found=found)
            return
        self.good.append(RecordTimestamp(reply, checked.token.latest, checked.authority, head.signatures))

    def _finding(self, kind: str, message: str, **facts: str | None) -> Finding:
        return record_finding(kind, printable(self._name), layout.TIMESTAMPS, message, **facts)
