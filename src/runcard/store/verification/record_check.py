"""The checks for every closed record: document, amendments, files, links, journal, ledger."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from runcard import checksums
from runcard.checksums import comparison
from runcard.digests import Digest, sha256_bytes
from runcard.documents import chain, reader
from runcard.documents.differences import ValueDifference
from runcard.documents.findings import COMPLETE, Finding, ledger_finding, record_finding, shorten_value
from runcard.documents.kinds import DocumentKind
from runcard.encoding import JsonObject, Limits
from runcard.errors import EncodingError, RuncardError
from runcard.files import JsonName, failure, json_name, printable
from runcard.store import layout
from runcard.store.amendments.read import MIGRATION, Amendments, FileChange, changes_record
from runcard.store.ledger import LedgerKey
from runcard.store.record import Progress, Record, TooLargeError
from runcard.store.verification.journal_scan import TORN, JournalScan
from runcard.store.verification.ledgers import LedgerFacts, verify_entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.documents.signed_statement import SignedState
    from runcard.store.ledger_index import LedgerIndex
    from runcard.store.ledger_search import LedgerSearch
    from runcard.store.verification.record_timestamps import RecordTimestamp
    from runcard.store.verification.signature_check import RecordSignature

Findings = Iterator[Finding]

_MOST_KEPT = 1 << 24  # bytes of documents that are kept while a record is checked
_MOST_DIFFERENCES = 20  # between a document and its journal: more would not be read


class RecordCheck(ABC):
    """The check of one record."""

    kind: ClassVar[DocumentKind]  # of its metadata document
    word: ClassVar[str]  # run or session
    journal: ClassVar[str]  # the name of its journal
    sealed_by: ClassVar[str]  # which of the document's checksums is that of the list

    def __init__(
        self, record: Record, limits: Limits, index: "LedgerIndex | LedgerSearch | None" = None
    ) -> None:
        self.record = record
        self._index = index  # of the ledgers of its store
        self.limits = limits
        self.name = printable(record.name)
        self.document: JsonObject = {}  # as far as its schema finds no fault with it
        self.seal: JsonObject = {}  # the document as it was sealed: what states digests, chains and links
        self.stated: JsonObject | None = (
            None  # the same word for word; None where it is not known, or of another version
        )
        self.is_seal_known = True  # False: it was migrated, and its bytes from before are not here
        self.listing: checksums.Listing | None = None
        self._listing_digest: str | None = None
        self.unread: dict[str, RuncardError] = {}  # why a file that is there was not read
        self.scan: JournalScan | None = None  # of the journal, if there is one
        self._documents: dict[str, bytes] = {}  # that were read
        self._migrations: dict[str, bool | None] = {}  # whether they are some, by the hash of their amendment
        self._lossy: set[str] = set()  # those of them that dropped fields
        self.fingerprint = ""  # the digest of the metadata document as it was sealed; empty without one
        self.signatures: Sequence[RecordSignature] = ()  # that are right
        self.signature_heads: tuple[str, ...] = ()  # the digests of the signatures so far, after each of them
        self.timestamps: Sequence[RecordTimestamp] = ()  # that are right

    @property
    @abstractmethod
    def record_id(self) -> str:
        """The id that the chains of this record begin with."""

    @property
    @abstractmethod
    def ledger_key(self) -> LedgerKey:
        """The key of this record in a ledger."""

    @abstractmethod
    def own(self) -> Findings:
        """Checks for this kind of record only."""

    def finding(self, kind: str, path: str, message: str, **facts: str | None) -> Finding:
        return record_finding(kind, self.name, path, message, **facts)

    def findings(self, problems: Iterable[Finding], progress: Progress | None) -> Findings:
        """All findings, those about the place that holds the record first."""
        for problem in problems:
            yield problem._replace(record=self.name)
        metadata = self._metadata()
        if metadata is None:
            yield self._no_document()
        else:
            yield from self._document(metadata)
        yield from self.inspect(metadata, progress)

    def inspect(self, metadata: bytes | None, progress: Progress | None) -> Findings:
        """Check everything but the document itself. If that is missing, checks that need it are skipped."""
        amendments = self._read_amendments()
        current = "" if metadata is None else sha256_bytes(metadata).hex
        sealed = amendments.sealed(layout.METADATA, current)
        self.fingerprint = sealed and str(Digest("sha256", sealed))
        if current:
            yield from self._amendments(amendments, sealed, current)
        yield from self._irregular()
        self._scan_journal()
        yield from self._files(amendments, progress)
        yield from self._journal(amendments)
        yield from self.own()
        if current:
            head, is_archived = self.seal.get("ledger_head"), self.record.is_archived
            facts = LedgerFacts(self.record.name, self.word, self.ledger_key, sealed, head, is_archived)
            yield from self._ledger(facts, amendments)
        if self.record.has_file(layout.SIGNATURE):
            yield from self._signatures(sealed, amendments)
        if self.record.has_file(layout.TIMESTAMPS):
            yield from self._timestamps(sealed)

    def _signatures(self, sealed: str, amendments: Amendments) -> Findings:
        from runcard.store.signatures import LARGEST_FILE, signature_heads  # noqa: PLC0415 - most records have none
        from runcard.store.verification.signature_check import SignatureCheck  # noqa: PLC0415

        data = self.read(layout.SIGNATURE)
        if data is None or len(data) > LARGEST_FILE:
            error = self.unread.get(layout.SIGNATURE)
            message = error.message if error else "the file of signatures is too large to be read"
            yield self.finding("signature", layout.SIGNATURE, message)
            return
        self._documents[layout.SIGNATURE] = data  # what is checked is what time-stamps are compared with
        self.signature_heads = signature_heads(data)
        changes = self._changes(amendments)
        check = SignatureCheck(self._signed_state(sealed, amendments), self.limits, changes)
        yield from check.findings(data)
        self.signatures = check.good

    def _changes(self, amendments: Amendments) -> list[bool]:
        """Of each amendment, whether it changed the record in a way that only a signature can vouch for.

        Not so the migration of a document of the record that dropped nothing: it can be repeated.
        """
        lines = amendments.journal.entries if amendments.journal else ()
        own = {layout.METADATA, *self.document_names()}
        migrations = [change for change in amendments.changes if change.path in own]
        proven = {change.line for change in migrations if self._is_migration(change)} - self._lossy
        return [changes_record(entry.line) and entry.line["hash"] not in proven for entry in lines]

    def _is_migration(self, change: FileChange) -> bool | None:
        """Whether an amendment only converted a document, which can be repeated; None if its bytes are gone."""
        if change.kind != MIGRATION or change.new is None:
            return False
        if change.line not in self._migrations:
            before, after = self.original(change.old), self._bytes(change.path, change.new)
            if before is None or after is None:
                self._migrations[change.line] = None
            else:
                migrated = reader.migration_between(before, after, self.limits)
                self._migrations[change.line] = migrated is not None
                if migrated is not None and migrated.dropped:
                    self._lossy.add(change.line)
        return self._migrations[change.line]

    def _bytes(self, path: str, digest: str) -> bytes | None:
        """The bytes of a document that had this digest at some time; None if they are not there any more."""
        now = self._metadata() if path == layout.METADATA else self.read(path)
        return now if now is not None and sha256_bytes(now).hex == digest else self.original(digest)

    def _wrong_migration(self, path: str, changes: "Sequence[FileChange]") -> Finding | None:
        """The finding about a document that was changed, not converted. What was redacted later cannot be compared any more."""
        for at, change in enumerate(changes):
            if change.kind != MIGRATION:
                continue
            is_migration = self._is_migration(change)
            if is_migration is False:
                message = "an amendment calls it a migration, but converting the document from before gives another one"
                return self.finding("changed", path, message, expected=change.old, found=change.new)
            if is_migration is None and all(later.kind == MIGRATION for later in changes[at:]):
                message = (
                    "the document from before its migration is not here: the migration cannot be checked"
                )
                return self.finding("missing", path, message, expected=change.old)
        return None

    def _timestamps(self, sealed: str) -> Findings:
        from runcard.store.verification.record_timestamps import LARGEST_FILE, TimestampCheck  # noqa: PLC0415 - as above

        try:
            if self.record.is_archived:  # its documents were read together
                data = self.record.read(layout.TIMESTAMPS) or b""
            else:
                data = self.record.read_limited(layout.TIMESTAMPS, LARGEST_FILE)
        except RuncardError as error:
            yield self.finding("timestamp", layout.TIMESTAMPS, error.message)
            return
        if len(data) > LARGEST_FILE:
            yield self.finding(
                "timestamp", layout.TIMESTAMPS, "the file of time-stamps is too large to be read"
            )
            return
        check = TimestampCheck(self.record.name, sealed, self.read(layout.SIGNATURE))
        yield from check.findings(data)
        self.timestamps = check.good

    def _signed_state(self, sealed: str, amendments: Amendments) -> "SignedState":
        """The record as a signature should name it."""
        from runcard.store.signatures import SignedRecord, signed_state  # noqa: PLC0415

        lines = amendments.journal.entries if amendments.journal else ()
        record = SignedRecord(self.word, self.record.id, self.record.name)
        amended = (entry.line for entry in lines)
        state = signed_state(record, self.seal, sealed, self.listing, amended, self._listing_digest)
        return state._replace(has_document=self.is_seal_known)

    def _ledger(self, facts: LedgerFacts, amendments: Amendments) -> Findings:
        try:
            yield from verify_entries(self.record.store, facts, amendments, self._index)
        except RuncardError as error:
            yield ledger_finding(self.name, layout.METADATA, error.message, breaks=COMPLETE)

    def read(self, name: str) -> bytes | None:
        """A document of the record, never the target of a link; None also if it cannot be read. It is read once."""
        if name in self._documents:
            return self._documents[name]
        try:
            data = self.record.read(name)
        except RuncardError as error:
            self.unread[name] = error
            return None
        if data is not None and sum(map(len, self._documents.values())) + len(data) <= _MOST_KEPT:
            self._documents[name] = data
        return data

    def _metadata(self) -> bytes | None:
        try:
            return self.record.metadata
        except RuncardError as error:
            self.unread[layout.METADATA] = error
            return None

    def _no_document(self) -> Finding:
        error = self.unread.get(layout.METADATA)
        if isinstance(error, TooLargeError):
            return self.finding("document", layout.METADATA, error.message)
        message = error.message if error else "the metadata document is missing"
        return self.finding("missing", layout.METADATA, message)

    def _read_amendments(self) -> Amendments:
        try:
            return self.record.amendments()
        except RuncardError as error:
            self.unread[layout.AMENDMENTS] = error
            return Amendments()

    def _irregular(self) -> Findings:
        """Files outside of SHA256SUMS that are unreadable or not regular files."""
        if error := self.unread.get(layout.AMENDMENTS):
            kind = "chain" if isinstance(error, TooLargeError) else "missing"
            yield self.finding(kind, layout.AMENDMENTS, error.message)
        for name in sorted(layout.NOT_LISTED):
            if self.record.has_irregular(name):
                yield self.finding("link", name, "it is not a regular file", expected="file")

    def _document(self, data: bytes) -> Findings:
        decoded = None if self.record.is_archived else self.record.raw_document
        examined = reader.parse_document(data, kind=self.kind.name, limits=self.limits, decoded=decoded)
        # What the schema finds fault with is reported once, and not looked at any further.
        if not any(error.rule == "version.newer-major" for error in examined.report.errors):
            self.document = self.seal = reader.valid_parts(examined)
            self.stated = _word_for_word(examined)
        for error in examined.report.errors:
            where = f"{error.path}: " if error.path else ""
            expected = error.expected if isinstance(error.expected, str) else None
            yield self.finding("document", layout.METADATA, f"{where}{error.message}", expected=expected)
        for warning in examined.report.warnings:
            if warning.rule == "version.newer-minor":
                yield self.finding("limits", layout.METADATA, warning.message)

    def _amendments(self, amendments: Amendments, sealed: str, current: str) -> Findings:
        checked = amendments.check(sealed)
        if checked is None or amendments.journal is None:
            return
        yield from self.faults(layout.AMENDMENTS, checked.faults)
        if amendments.journal.torn:
            yield self.finding("chain", layout.AMENDMENTS, "the last line is torn")
        for entry in checked.withheld:
            message = f"line {entry.number}: its payload was taken out, which no command does"
            yield self.finding("chain", layout.AMENDMENTS, message)
        if not (amendments.journal.entries or amendments.journal.damaged or amendments.journal.torn):
            yield self.finding("unexpected", layout.AMENDMENTS, "it holds no amendment")
        if sealed != current:
            yield from self._original(sealed)
            yield self.finding("amended", layout.METADATA, _why(amendments, layout.METADATA), found=current)
        expected, changes = amendments.accepted(layout.METADATA, sealed)
        if changes and expected != current:
            yield self._unamended_bytes(layout.METADATA, changes[-1], expected, current)
        elif self.original(sealed) and (wrong := self._wrong_migration(layout.METADATA, changes)):
            yield wrong

    def _original(self, sealed: str) -> Findings:
        """Read the sealed document, if a migration has changed it since."""
        data = self.original(sealed)
        if data is not None:
            examined = reader.parse_document(data, kind=self.kind.name, limits=self.limits)
            self.seal, self.stated = reader.valid_parts(examined), _word_for_word(examined)
        else:
            self.stated, self.is_seal_known = None, False
            message = "the document from before its migration is not here: the migration cannot be checked"
            yield self.finding("missing", layout.METADATA, message, expected=sealed)

    def original(self, sealed: str) -> bytes | None:
        """The bytes with this digest that the store kept when an amendment replaced them, or that an archive took along."""
        from runcard.store.originals import read_original  # noqa: PLC0415 - few records were migrated

        data = read_original(self.record.store or "", sealed)
        if data is None:
            data = self.read(layout.archived_original(sealed))
        return data if data is not None and sha256_bytes(data).hex == sealed else None

    def _unamended_bytes(self, path: str, change: FileChange, expected: str | None, found: str) -> Finding:
        message = (
            f"the file has the content from before the amendment: it was {printable(str(change))};"
            " if that was interrupted, the next amendment finishes it"
        )
        return self.finding("changed", path, message, expected=expected, found=found)

    def faults(self, name: str, faults: Iterable[chain.ChainFault]) -> Findings:
        for fault in faults:
            yield self.finding("chain", name, f"line {fault.number}: {fault.reason}")

    def _files(self, amendments: Amendments, progress: Progress | None) -> Findings:
        stated = (self.seal.get("checksums") or {}).get(self.sealed_by)
        try:
            file = self.record.open_seekable(layout.CHECKSUMS)
        except RuncardError as error:
            kind = "changed" if isinstance(error, TooLargeError) else "missing"
            yield self.finding(kind, layout.CHECKSUMS, error.message)
            return
        if file is None:
            yield self._no_listing(is_stated=stated is not None)
            return
        with file:
            yield from self._read_listing(file, stated)
        if self.listing is None:
            return
        compared = self.record.compare(self.listing, progress, self._files_read())
        originals = self._packed_originals(amendments)
        for difference in compared.differences:
            if not (isinstance(difference, comparison.Unexpected) and difference.path in originals):
                yield self._difference(difference, amendments)
        yield from self._unamended(
            self.listing, {difference.path for difference in compared.differences}, amendments
        )
        yield from self.links(compared.symlinks)
        special_files = self.special()
        for other in compared.others:
            if other not in layout.NOT_LISTED and json_name(other).text not in special_files:
                yield self.finding("unexpected", other, f"neither a file nor a link: {self._added_later()}")

    def _packed_originals(self, amendments: Amendments) -> set[str]:
        """The files that an archive took along, which `tar` may have unpacked: what migrations replaced, as it was."""
        paths = {digest: layout.archived_original(digest) for digest in amendments.migrated}
        return {path for digest, path in paths.items() if sha256_bytes(self.read(path) or b"").hex == digest}

    def _read_listing(self, file: BinaryIO, stated: str | None) -> Findings:
        """Read the list of checksums; without it, a finding says what is wrong."""
        hasher, problem = sha256(), None
        try:
            self.listing = checksums.read_file(file, hasher.update)
        except EncodingError as error:
            problem = self.finding("changed", layout.CHECKSUMS, f"line {error.line}: {error.message}")
        except OSError as error:
            yield self.finding("missing", layout.CHECKSUMS, failure(error, layout.CHECKSUMS, "read").message)
            return
        self._listing_digest = str(Digest("sha256", hasher.hexdigest()))
        yield from self._fixed(stated, self._listing_digest)
        if problem is not None:
            yield problem

    def _files_read(self) -> dict[str, comparison.KnownFile]:
        """The files that were read already, with their digests: they are not read again."""
        known = {name: _known_file(self.read(name)) for name in self.document_names()}
        if self.scan is not None:
            known[self.journal] = comparison.KnownFile(self.scan.digest.hex, self.scan.size)
        return {name: file for name, file in known.items() if file is not None}

    def document_names(self) -> list[str]:
        """The documents besides the metadata document."""
        return []

    def _unamended(self, listing: checksums.Listing, differing: set[str], amendments: Amendments) -> Findings:
        """Files that are as they were sealed, although an amendment has changed or removed them."""
        if not amendments.by_path:
            return
        for path in listing:
            name = json_name(path).text
            if name in amendments.by_path and path not in differing:
                sealed = listing[path].hex
                expected, changes = amendments.accepted(name, sealed)
                if changes and expected != sealed:
                    yield self._unamended_bytes(path, changes[-1], expected, sealed)

    def _added_later(self) -> str:
        return f"it was not there when the {self.word} was closed"

    def _no_listing(self, *, is_stated: bool) -> Finding:
        """A record of another program may have no list; runcard writes one together with the journal."""
        if is_stated or self.record.has(self.journal) or not self.seal:
            return self.finding("missing", layout.CHECKSUMS, "the list of checksums is missing")
        message = "there is no list of checksums: changed, removed or added files cannot be detected"
        return self.finding("limits", layout.CHECKSUMS, message)

    def _fixed(self, stated: str | None, found: str) -> Findings:
        """Whether the list of checksums is the one that the document fixes."""
        if stated is not None and stated != found:
            yield self.finding(
                "changed", layout.CHECKSUMS, "the list of checksums was changed", expected=stated, found=found
            )
        if stated is None and self.seal:
            yield self.finding(
                "limits",
                layout.CHECKSUMS,
                "the document states no digest of this list: a file can be changed together with its line",
            )

    def special(self) -> set[str]:
        """The FIFOs, sockets and devices that were there when the record was closed."""
        return set()

    def _difference(self, difference: comparison.Difference, amendments: Amendments) -> Finding:
        match difference:
            case comparison.Changed(path, expected, found):
                accepted, changes = amendments.accepted(json_name(path).text, expected.hex)
                if changes and found.hex != accepted and found.hex in {change.old for change in changes}:
                    return self._unamended_bytes(path, changes[-1], accepted, found.hex)
                if changes and accepted == found.hex:
                    return self._wrong_migration(json_name(path).text, changes) or self.finding(
                        "amended", path, printable(str(changes[-1])), expected=expected.hex, found=found.hex
                    )
                return self.finding(
                    "changed", path, "the file was changed", expected=expected.hex, found=found.hex
                )
            case comparison.Missing(path, expected):
                accepted, changes = amendments.accepted(json_name(path).text, expected.hex)
                if changes and accepted is None:
                    return self.finding("withheld", path, printable(str(changes[-1])), expected=expected.hex)
                return self.finding("missing", path, "the file is missing", expected=expected.hex)
            case comparison.NotRegular(path, kind):
                type_name = "FIFO, a socket or a device" if kind == "other" else kind
                return self.finding(
                    "link", path, f"a file was listed, found a {type_name}", expected="file", found=kind
                )
            case comparison.Unreadable(path, reason):
                return self.finding("missing", path, reason)
            case comparison.Unexpected(path):
                return self.finding("unexpected", path, f"the file {self._added_later().removeprefix('it ')}")

    def links(self, symlinks: tuple[checksums.Symlink, ...]) -> Findings:
        if not self.seal:
            if symlinks:
                message = "without the document, links cannot be checked"
                yield self.finding("limits", layout.METADATA, message)
            return
        # Names by their bytes as well: two of them can look the same once they are escaped.
        new = [link for link in symlinks if link.path not in layout.NOT_LISTED]
        now = {json_name(link.path): json_name(link.target) for link in new}
        links = [link for link in self.seal.get("symlinks") or () if link and link.get("path") is not None]
        then = {_as_name(link, "path"): _as_name(link, "target") for link in links}
        for path in sorted(now.keys() | then.keys(), key=str):
            if (was := then.get(path)) != (now_is := now.get(path)):
                facts = {"expected": was and was.text, "found": now_is and now_is.text}
                yield self.finding("link", path.text, self._link_message(**facts), **facts)

    def _link_message(self, expected: str | None, found: str | None) -> str:
        if found is None:
            return "the link is missing, or something else has its place"
        return (
            f"the link {self._added_later().removeprefix('it ')}"
            if expected is None
            else "the link has another target"
        )

    def _scan_journal(self) -> None:
        """Read the journal, which is reported later."""
        try:
            file = self.record.open_seekable(self.journal)
            if file is not None:
                with file:
                    self.scan = JournalScan(file, self.record_id, self.on_line, self.earlier_ids(file))
                    self.on_journal(self.scan)
        except OSError as error:
            self.scan, self.unread[self.journal] = None, failure(error, self.journal, "read")
        except RuncardError as error:
            self.scan, self.unread[self.journal] = None, error

    def earlier_ids(self, journal: BinaryIO) -> Iterable[str]:  # noqa: ARG002 - that of a run stays the same
        """The other ids that the record had, with which chains of its journal may begin."""
        return ()

    @abstractmethod
    def on_line(self, line: chain.Line) -> None:
        """A line of the journal, while it is read."""

    def on_journal(self, scan: JournalScan) -> None:
        """The journal is open: read it to its end."""
        scan.finish()

    def _journal(self, amendments: Amendments) -> Findings:
        heads, scan = self.seal.get("event_chains"), self.scan
        if heads is None:
            yield self.finding(
                "limits", self.journal, "the document states no chains: a cut tail cannot be detected"
            )
        if scan is None:
            yield from self._no_journal(heads)
            return
        yield from self.chain_faults(scan)
        if scan.is_torn:
            yield self.finding("chain", self.journal, TORN)
        if heads is not None:
            yield from self._heads(heads, {head.writer: head for head in scan.heads})
        for line in scan.withheld:
            place = f"{line.writer}:{line.seq}"
            changes = amendments.by_path.get(self.journal, [])
            named = [change for change in changes if place in change.events] or changes
            why = printable(named[-1].by("withheld")) if named else "no amendment says why"
            yield self.finding("withheld", self.journal, f"event {printable(place)}: {why}")
        if self.stated is not None:
            yield from self.limit_differences(self.against_journal(self.stated))

    def _no_journal(self, heads: list[JsonObject] | None) -> Findings:
        """Without its journal, edits of the document cannot be detected."""
        if isinstance(error := self.unread.get(self.journal), TooLargeError):
            yield self.finding("limits", self.journal, f"{error.message}, so its chains were not checked")
        elif heads and self.journal not in (self.listing or ()):
            yield self.finding(
                "missing", self.journal, "the journal is missing: the document names its chains"
            )
        elif heads is not None and self.journal not in (self.listing or ()):
            message = "the record has no journal: what the document says is compared with nothing"
            yield self.finding("limits", self.journal, message)

    def against_journal(self, stated: JsonObject) -> Findings:  # noqa: ARG002 - each kind has its own way
        """Where the document as it was sealed does not say what the journal says."""
        yield from ()

    def difference(self, name: str, difference: ValueDifference, source: str = "the journal") -> Finding:
        """A finding for a value that differs between a document and the journal or another source."""
        facts = {"expected": _as_text(difference.expected), "found": _as_text(difference.found)}
        return self.finding("document", name, printable(difference.describe(source)), **facts)

    def limit_differences(self, findings: Findings) -> Findings:
        """The first of many findings about one document, and how many there are beyond them."""
        yield from islice(findings, _MOST_DIFFERENCES)
        if more := sum(1 for _ in findings):
            yield self.finding("document", layout.METADATA, f"and {more:,} more differences")

    def chain_faults(self, scan: JournalScan) -> Findings:
        """Findings about the chains of the record's journal."""
        yield from self.faults(self.journal, scan.faults)

    def _heads(self, stated: list[JsonObject], heads: dict[str, chain.Head]) -> Findings:
        for head in stated:
            writer, count = (head or {}).get("writer"), (head or {}).get("count")
            if writer is None or count is None:
                continue  # reported as an error of the document
            current = heads.pop(writer, None)
            if current is None or current.count < count:
                lost = count - (current.count if current else 0)
                last, was = ("event", "was") if lost == 1 else (f"{lost:,} events", "were")
                message = f"the last {last} of writer {printable(writer)} {was} cut off"
                yield self.finding("tail", self.journal, message)
            elif (current.count, current.head) != (count, head.get("head")):
                yield self.finding(
                    "chain",
                    self.journal,
                    f"the events of writer {printable(writer)} are not those that were closed",
                )
        for writer in heads:
            message = f"writer {printable(writer)} was not there when the {self.word} was closed"
            yield self.finding("chain", self.journal, message)


def _known_file(data: bytes | None) -> comparison.KnownFile | None:
    return None if data is None else comparison.KnownFile(sha256_bytes(data).hex, len(data))


def _word_for_word(examined: reader.ParsedDocument) -> JsonObject | None:
    """A document as it stands in its bytes; None where this version of runcard does not know all that it may say."""
    is_newer = any(warning.rule == "version.newer-minor" for warning in examined.report.warnings)
    return None if is_newer or examined.upgraded is not None else examined.data


def _as_text(value: object) -> str | None:
    """A value as text for a finding; None for objects and lists, which only the message names."""
    return None if value is None or isinstance(value, dict | list) else str(shorten_value(value))


def _as_name(link: JsonObject, key: str) -> JsonName:
    """A path or a target of a link as the document has it."""
    return JsonName(link.get(key) or "", link.get(f"{key}_base64"))


def _why(amendments: Amendments, path: str) -> str:
    changes = amendments.by_path.get(path)
    return printable(str(changes[-1])) if changes else "no amendment says why"
