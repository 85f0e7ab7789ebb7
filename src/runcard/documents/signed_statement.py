"""What a signature covers: an in-toto Statement about one record, at one moment.

Its subjects are the metadata document as it was sealed, the list of checksums, and the outputs. The document fixes every
file, chain and link, so that a signature covers the whole record. The predicate names the ends of the chains and the last
amendment: later amendments are allowed, and seen as later.

A time-stamp of a signature is over its envelope, and so covers the statement; one of a record that is not signed is over the
head: the digest of the metadata document as it was sealed, which is the record's fingerprint.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from runcard.documents.times import parse_time
from runcard.encoding import COMPACT, JsonObject, Limits, decode_json, encode_json
from runcard.errors import DocumentError, EncodingError
from runcard.version import __version__

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "urn:runcard:predicate:record:1"

MOST_OUTPUTS: Final = 10_000  # subjects; the list of checksums covers the others


class StatementError(DocumentError):
    """A statement that cannot be read."""


class SignedState(NamedTuple):
    """The state of a record that is signed."""

    kind: str  # run or session
    id: str
    name: str  # of its directory
    metadata: str  # the digest of its metadata document as it was sealed
    listing_name: str
    listing: str | None  # the digest of its list of checksums
    outputs: Mapping[str, str]  # the digests of the files in that list; empty if there are very many
    output_count: int
    event_chains: Any  # as the document has them
    amendments: tuple[str, ...] = ()  # the hashes of the amendments, in their order
    fixes_listing: bool = (
        True  # False: the metadata document does not state the digest of the list, as in 1.0.0
    )
    has_document: bool = True  # False: the sealed document is not here, of which only the digest is known


class SignerFacts(NamedTuple):
    """Who signs, and when by their own clock."""

    public_key: str
    signed_at: str
    ledger: JsonObject | None  # the entry of the record in the ledger of its store: `file`, `hash`


class SignedStatement(NamedTuple):
    """A statement that was signed."""

    subjects: Mapping[str, str]  # digests by name
    predicate: JsonObject

    @property
    def public_key(self) -> str | None:
        return _text(_object(self.predicate.get("signer")).get("public_key"))

    @property
    def signed_at(self) -> str | None:
        """When it was signed, by the clock of the signer."""
        text = _text(self.predicate.get("signed_at"))
        return text if text is not None and parse_time(text) is not None else None

    @property
    def output_count(self) -> object:
        """How many files the list of checksums had; None where it is not stated."""
        return _object(self.predicate.get("outputs")).get("count")

    @property
    def amendments(self) -> int:
        """How many amendments the record had."""
        count = _object(self.predicate.get("amendments")).get("count")
        return max(count, 0) if isinstance(count, int) and not isinstance(count, bool) else 0


def record_statement(
    state: SignedState, ledger: JsonObject | None, metadata_name: str, signer: JsonObject | None = None
) -> JsonObject:
    """The statement about a record; `signer` has the fields of one that is signed."""
    subjects = {metadata_name: state.metadata}
    if state.listing is not None:
        subjects[state.listing_name] = state.listing
    subjects |= state.outputs
    predicate: JsonObject = {
        "kind": state.kind,
        "id": state.id,
        "directory": state.name,
        "outputs": {"count": state.output_count, "are_subjects": len(state.outputs) == state.output_count},
        "event_chains": state.event_chains,
        "amendments": _end(state.amendments),
        "ledger": ledger,
        **(signer or {}),
        "producer": {"name": "runcard", "version": __version__},
    }
    return in_toto_statement(subjects, PREDICATE, predicate)


def in_toto_statement(subjects: Mapping[str, str], predicate_type: str, predicate: JsonObject) -> JsonObject:
    """An in-toto statement about files."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects.items()],
        "predicateType": predicate_type,
        "predicate": predicate,
    }


def make_statement(state: SignedState, facts: SignerFacts, metadata_name: str) -> bytes:
    """The statement as bytes, to be signed."""
    signer: JsonObject = {"signer": {"public_key": facts.public_key}, "signed_at": facts.signed_at}
    return encode_json(record_statement(state, facts.ledger, metadata_name, signer), COMPACT)


def _end(amendments: tuple[str, ...]) -> JsonObject:
    return {"count": len(amendments), "head": amendments[-1] if amendments else None}


def read_statement(payload: bytes, limits: Limits, predicate_type: str = PREDICATE) -> SignedStatement:
    """Read a statement of a type; raises StatementError for one that is not of runcard, or not well formed."""
    try:
        data = decode_json(payload, limits)
    except EncodingError as error:
        raise StatementError(f"what was signed is not JSON: {error.message}") from None
    if not isinstance(data, dict) or data.get("_type") != STATEMENT:
        raise StatementError("what was signed is not an in-toto statement")
    if data.get("predicateType") != predicate_type:
        raise StatementError("the statement is about something else, by its type")
    predicate, subjects = data.get("predicate"), data.get("subject")
    if not isinstance(predicate, dict) or not isinstance(subjects, list):
        raise StatementError("the statement has no predicate or no subjects")
    digests = dict(_subjects(subjects))
    if len(digests) < len(subjects):
        raise StatementError("the statement names a subject twice")
    return SignedStatement(digests, predicate)


def _subjects(subjects: Iterable[object]) -> Iterator[tuple[str, str]]:
    for subject in subjects:
        fields = _object(subject)
        name, digest = _text(fields.get("name")), _text(_object(fields.get("digest")).get("sha256"))
        if name is None or digest is None:
            raise StatementError("a subject of the statement has no name or no SHA-256 digest")
        yield name, digest


class StatementFault(NamedTuple):
    """Where a record is not as it was signed."""

    path: str
    message: str
    expected: str | None = None
    found: str | None = None
    is_tail: bool = False  # whether something at the end is missing, and nothing was changed


def compare_statement(
    statement: SignedStatement, state: SignedState, metadata_name: str
) -> Iterator[StatementFault]:
    """Where a record is not as it was signed."""
    stated = statement.subjects.get(metadata_name)
    if stated != state.metadata:
        message = "the signature is about another metadata document"
        yield StatementFault(metadata_name, message, stated, state.metadata)
        return  # nothing else can agree
    known = {state.listing_name: state.listing, **state.outputs}
    for name, digest in statement.subjects.items():
        if name != metadata_name and known.get(name) != digest:
            message = "the signature names another digest than the list of checksums"
            yield StatementFault(name, message, digest, known.get(name))
    if statement.output_count not in (None, state.output_count):
        message = "the signature names another number of files than the list of checksums"
        yield StatementFault(
            state.listing_name, message, str(statement.output_count), str(state.output_count)
        )
    fields = {"kind": state.kind, "id": state.id, "event_chains": state.event_chains}
    if not state.has_document:
        del fields["event_chains"]  # which the digest of the document fixes
    for field, value in fields.items():
        if statement.predicate.get(field) != value:
            yield StatementFault(metadata_name, f"the signature names another {field.replace('_', ' ')}")
    yield from _compare_amendments(statement, state)


def covers_files(statement: SignedStatement, state: SignedState) -> bool:
    """Whether the statement fixes the files: by the document that states the digest of their list, by that list, or by all of them.

    Earlier versions signed sessions of 1.0.0 with very many files by their number only.
    """
    if state.fixes_listing or state.listing_name in statement.subjects:
        return True
    return (
        state.output_count > 0 and state.outputs.keys() <= statement.subjects.keys() and bool(state.outputs)
    )


def _compare_amendments(statement: SignedStatement, state: SignedState) -> Iterator[StatementFault]:
    count, head = statement.amendments, _object(statement.predicate.get("amendments")).get("head")
    if count > len(state.amendments):
        lost = count - len(state.amendments)
        last = "amendment that was signed is" if lost == 1 else f"{lost:,} amendments that were signed are"
        message = f"the last {last} missing"
        yield StatementFault("amendments.jsonl", message, is_tail=True)
    elif count > 0 and state.amendments[count - 1] != head:
        yield StatementFault("amendments.jsonl", "the amendments are not those that were signed")


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
