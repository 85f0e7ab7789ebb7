"""Whether a record is what it was when it was closed. Everything is hashed, always.

Two verdicts, apart: *intact* (what is there is unchanged, or amended in the open) and *complete* (nothing is missing, no
tail was cut). Every finding names its file. What nobody can see without a signature is said in the docs.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runcard import checksums
from runcard.digests import sha256_bytes
from runcard.documents import chain, codec, schema
from runcard.documents.fold import data_digest
from runcard.documents.kinds import GENERATION
from runcard.encoding import Limits
from runcard.errors import EncodingError, ExitCode, RuncardError
from runcard.files import failure, json_name, printable
from runcard.store import layout
from runcard.store.amendments import Amendments, read_amendments
from runcard.store.journal import read_journal
from runcard.store.ledger import DELETED, LedgerEntry, entries, ledgers

Fields = dict[str, Any]

INTACT, COMPLETE = "intact", "complete"

# What a finding of each kind breaks, and what it makes of the exit code.
_EFFECTS: dict[str, tuple[str | None, ExitCode]] = {
    **dict.fromkeys(
        ("changed", "unexpected", "link", "chain", "document", "signature"), (INTACT, ExitCode.FAILED)
    ),
    **dict.fromkeys(("missing", "tail"), (COMPLETE, ExitCode.FAILED)),
    "open": (COMPLETE, ExitCode.WARNINGS),
    **dict.fromkeys(("amended", "withheld", "limits"), (None, ExitCode.OK)),
}


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One thing that is not as it was, or cannot be told."""

    kind: str
    record: str
    path: str
    message: str
    expected: str | None = None
    found: str | None = None
    breaks: str | None = None
    exit_code: ExitCode = ExitCode.OK

    def to_dict(self) -> Fields:
        said = ("kind", "record", "path", "expected", "found", "message")
        return {key: getattr(self, key) for key in said}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one record, or of a whole store."""

    findings: tuple[Discrepancy, ...]
    records: int = 1

    @property
    def intact(self) -> bool:
        return not any(found.breaks == INTACT for found in self.findings)

    @property
    def complete(self) -> bool:
        return not any(found.breaks == COMPLETE for found in self.findings)

    @property
    def exit_code(self) -> ExitCode:
        codes = {found.exit_code for found in self.findings}
        return next((code for code in (ExitCode.FAILED, ExitCode.WARNINGS) if code in codes), ExitCode.OK)


def verify_run(run: str, *, progress: Callable[[int, int], object] | None = None) -> Verdict:
    """Check a run against everything that was written down about it."""
    return Verdict(tuple(_Inspection(os.path.abspath(run)).findings(progress)))


class _Inspection:
    """One run under inspection."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.name = printable(os.path.basename(run))
        self.document: Fields = {}

    def said(self, kind: str, path: str, message: str, **facts: str | None) -> Discrepancy:
        breaks, code = _EFFECTS[kind]
        return Discrepancy(
            kind, self.name, json_name(path).text, message, breaks=breaks, exit_code=code, **facts
        )

    def findings(self, progress: Callable[[int, int], object] | None) -> Iterator[Discrepancy]:
        metadata = self._bytes(layout.METADATA)
        if metadata is None:
            yield self.said("missing", layout.METADATA, "the metadata document is gone")
            metadata = b""
        else:
            yield from self._document(metadata)
        if (self.document.get("generation") or {}).get("status") == "running":
            yield from self._open()
            return
        amendments = read_amendments(self.run)
        current = sha256_bytes(metadata).hex
        sealed = amendments.sealed(layout.METADATA, current)
        yield from self._amendments(amendments, sealed, current)
        yield from self._files(amendments, progress)
        yield from self._journal(amendments)
        yield from self._data()
        yield from self._ledger(sealed)
        if os.path.lexists(os.path.join(self.run, layout.SIGNATURE)):
            yield self.said(
                "limits", layout.SIGNATURE, "there is a signature, which this runcard cannot check"
            )

    def _bytes(self, name: str) -> bytes | None:
        """A file of the record itself, never what a link leads to."""
        path = os.path.join(self.run, name)
        if not layout.may_be_file(path):
            return None
        try:
            return _read(path)
        except OSError as error:
            raise failure(error, path, "read") from error

    def _document(self, data: bytes) -> Iterator[Discrepancy]:
        examined = codec.examine(data, kind="generation", limits=Limits())
        # What the schema finds fault with is reported once, and not looked at any further.
        _, self.document = schema.check(
            GENERATION, GENERATION.latest, examined.upgraded or examined.data or {}
        )
        for error in examined.report.errors:
            where = f"{error.path}: " if error.path else ""
            yield self.said(
                "document", layout.METADATA, f"{where}{error.message}", expected=_text(error.expected)
            )

    def _open(self) -> Iterator[Discrepancy]:
        yield self.said(
            "open", layout.METADATA, "the run is not closed: it is running, or its process is gone"
        )
        run_id = self.document["generation"].get("run_id") or ""
        for path in layout.journals(self.run):
            journal = read_journal(path)
            yield from self._faults(os.path.basename(path), chain.check(journal, run_id))

    def _amendments(self, amendments: Amendments, sealed: str, current: str) -> Iterator[Discrepancy]:
        checked = amendments.check(sealed)
        if checked is None:
            return
        yield from self._faults(layout.AMENDMENTS, checked)
        if amendments.journal is not None and amendments.journal.torn:
            yield self.said("chain", layout.AMENDMENTS, "the last line is torn")
        if sealed != current:
            original = layout.original(layout.store_of(self.run), sealed)
            if not os.path.isfile(original) or sha256_bytes(_read(original)).hex != sealed:
                yield self.said(
                    "missing", layout.METADATA, "the sealed bytes are not in the store", expected=sealed
                )
            yield self.said("amended", layout.METADATA, _why(amendments, layout.METADATA), found=current)

    def _faults(self, name: str, checked: chain.Checked) -> Iterator[Discrepancy]:
        for fault in checked.faults:
            yield self.said("chain", name, f"line {fault.number}: {fault.reason}")

    def _files(
        self, amendments: Amendments, progress: Callable[[int, int], object] | None
    ) -> Iterator[Discrepancy]:
        data = self._bytes(layout.CHECKSUMS)
        if data is None:
            yield self.said("missing", layout.CHECKSUMS, "the list of checksums is gone")
            return
        stated, found = (self.document.get("checksums") or {}).get("output"), str(sha256_bytes(data))
        if stated is not None and stated != found:
            yield self.said(
                "changed", layout.CHECKSUMS, "the list of checksums was changed", expected=stated, found=found
            )
        try:
            listing = checksums.read(data)
        except EncodingError as error:
            yield self.said("changed", layout.CHECKSUMS, f"line {error.line}: {error.message}")
            return
        comparison = checksums.compare(self.run, listing, exclude=layout.NOT_LISTED, progress=progress)
        for difference in comparison.differences:
            yield self._difference(difference, amendments)
        yield from self._links(comparison.symlinks)
        known = self._special()
        for other in comparison.others:
            if json_name(other).text not in known:
                yield self.said(
                    "unexpected", other, "neither a file nor a link: it was not there when the run was closed"
                )

    def _special(self) -> set[str]:
        """The FIFOs, sockets and devices that were there when the run was closed: an event names each."""
        lines = chain.parse(self._bytes(layout.JOURNAL) or b"").entries
        payloads = [line.line.get("payload") for line in lines]
        return {
            payload["path"]
            for payload in payloads
            if isinstance(payload, dict) and payload.get("type") == layout.SPECIAL and "path" in payload
        }

    def _difference(self, difference: checksums.Difference, amendments: Amendments) -> Discrepancy:
        match difference:
            case checksums.Changed(path, expected, found):
                accepted, taken = amendments.accepted(json_name(path).text, expected.hex)
                if taken and accepted == found.hex:
                    return self.said("amended", path, _told(taken), expected=expected.hex, found=found.hex)
                return self.said(
                    "changed", path, "the file was changed", expected=expected.hex, found=found.hex
                )
            case checksums.Missing(path, expected):
                accepted, taken = amendments.accepted(json_name(path).text, expected.hex)
                if taken and accepted is None:
                    return self.said("withheld", path, _told(taken), expected=expected.hex)
                return self.said("missing", path, "the file is gone", expected=expected.hex)
            case checksums.NotRegular(path, kind):
                return self.said(
                    "link", path, f"a file was listed, found a {kind}", expected="file", found=kind
                )
            case checksums.Unreadable(path, reason):
                return self.said("missing", path, reason)
            case checksums.Unexpected(path):
                return self.said("unexpected", path, "the file was not there when the run was closed")

    def _links(self, found: tuple[checksums.Symlink, ...]) -> Iterator[Discrepancy]:
        now = {json_name(link.path).text: json_name(link.target).text for link in found}
        links = [link or {} for link in self.document.get("symlinks") or ()]
        then = {link["path"]: link.get("target") for link in links if link.get("path") is not None}
        for path in sorted(now.keys() | then.keys()):
            if now.get(path) != then.get(path):
                yield self.said(
                    "link",
                    path,
                    _link_message(then.get(path), now.get(path)),
                    expected=then.get(path),
                    found=now.get(path),
                )

    def _journal(self, amendments: Amendments) -> Iterator[Discrepancy]:
        heads = self.document.get("event_chains")
        data = self._bytes(layout.JOURNAL)
        if heads is None or data is None:
            if heads is None:
                yield self.said(
                    "limits", layout.JOURNAL, "the document states no chains: a cut tail cannot be seen"
                )
            return
        journal = chain.parse(data)
        checked = chain.check(journal, (self.document.get("generation") or {}).get("run_id") or "")
        yield from (
            self._known_damage(checked) if self._was_damaged() else self._faults(layout.JOURNAL, checked)
        )
        if journal.torn:
            yield self.said("chain", layout.JOURNAL, "there is half a line at the end")
        yield from self._heads(heads, {head.writer: head for head in checked.heads})
        for entry in checked.withheld:
            place = f"{entry.line['writer']}:{entry.line['seq']}"
            yield self.said("withheld", layout.JOURNAL, f"event {place}: {_why(amendments, layout.JOURNAL)}")

    def _was_damaged(self) -> bool:
        """Whether the journal was damaged before the run was closed: then SHA256SUMS alone fixes what is left of it."""
        warnings = self.document.get("warnings") or ()
        return any(
            isinstance(warning, dict) and warning.get("type") == layout.DAMAGED for warning in warnings
        )

    def _known_damage(self, checked: chain.Checked) -> Iterator[Discrepancy]:
        for fault in checked.faults:
            reason = f"line {fault.number}: {fault.reason}; it was so when the run was closed"
            yield self.said("limits", layout.JOURNAL, reason)

    def _heads(self, stated: list[Fields], found: dict[str, chain.Head]) -> Iterator[Discrepancy]:
        for head in stated:
            writer, count = (head or {}).get("writer"), (head or {}).get("count")
            if writer is None or count is None:
                continue  # the document is faulty there, which was said
            now = found.pop(writer, None)
            if now is None or now.count < count:
                lost = count - (now.count if now else 0)
                yield self.said(
                    "tail", layout.JOURNAL, f"the last {lost} events of writer {writer} were cut off"
                )
            elif (now.count, now.head) != (count, head.get("head")):
                yield self.said(
                    "chain", layout.JOURNAL, f"the events of writer {writer} are not those that were closed"
                )
        for writer in found:
            yield self.said("chain", layout.JOURNAL, f"writer {writer} was not there when the run was closed")

    def _data(self) -> Iterator[Discrepancy]:
        stated = (self.document.get("checksums") or {}).get("data")
        files = (self.document.get("data_sources") or {}).get("files") or []
        if all(isinstance(file, dict) for file in files) and stated != (found := data_digest(files)):
            message = "/checksums/data: the digest is not that of the inputs listed"
            yield self.said("document", layout.METADATA, message, expected=found, found=stated)

    def _ledger(self, sealed: str) -> Iterator[Discrepancy]:
        run_id = (self.document.get("generation") or {}).get("run_id")
        books = list(ledgers(layout.store_of(self.run)))
        if not books:
            return
        known = [entry for _, journal, _ in books for entry in entries(journal)]
        mine = [entry for entry in known if entry.id == run_id]
        if not mine:
            yield self._ledger_said("the ledger of the store does not know this run", code=ExitCode.WARNINGS)
        elif sealed not in {entry.sha256 for entry in mine}:
            yield self._ledger_said(
                "the ledger knows this run with another metadata document",
                breaks=INTACT,
                expected=mine[-1].sha256,
                found=sealed,
            )
        head = self.document.get("ledger_head")
        if head is not None and head not in {entry.hash for entry in known}:
            yield self._ledger_said(
                "the ledger was cut: the entry before this run's is gone", breaks=COMPLETE, expected=head
            )

    def _ledger_said(
        self,
        message: str,
        *,
        breaks: str | None = None,
        code: ExitCode = ExitCode.FAILED,
        **facts: str | None,
    ) -> Discrepancy:
        return Discrepancy(
            "ledger", self.name, layout.METADATA, message, breaks=breaks, exit_code=code, **facts
        )


def verify_ledgers(store: str, present: Mapping[str | None, str]) -> Iterator[Discrepancy]:
    """What a store's ledgers miss; `present` are the runs that are there, by id, with their directory's name."""
    for path, journal, checked in ledgers(store):
        name = os.path.relpath(path, store)
        for fault in checked.faults:
            message = f"line {fault.number}: {fault.reason}"
            yield Discrepancy(
                "chain", printable(name), name, message, breaks=INTACT, exit_code=ExitCode.FAILED
            )
        if journal.torn:
            message = "the last line is torn: an entry was not finished"
            yield Discrepancy("ledger", printable(name), name, message, exit_code=ExitCode.WARNINGS)
        for entry in _latest(journal):
            if entry.id not in present:
                message = "the ledger has this run, the store does not: it was removed"
                yield Discrepancy(
                    "ledger",
                    printable(entry.path),
                    "",
                    message,
                    expected=entry.sha256,
                    breaks=COMPLETE,
                    exit_code=ExitCode.FAILED,
                )


def _latest(journal: chain.Journal) -> list[LedgerEntry]:
    latest = {entry.id: entry for entry in entries(journal) if entry.kind == "run"}
    return [entry for entry in latest.values() if entry.event != DELETED]


def _told(changes: list[Any]) -> str:
    last = changes[-1]
    return f"{'withheld' if last.new is None else 'amended'} by {printable(last.who)} because {printable(last.why)}"


def _why(amendments: Amendments, path: str) -> str:
    changes = amendments.by_path.get(path)
    return _told(changes) if changes else "no amendment says why"


def _link_message(then: str | None, now: str | None) -> str:
    if now is None:
        return "the link is gone, or something else has its place"
    return "the link was not there when the run was closed" if then is None else "the link leads elsewhere"


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def unreadable(run: str, error: RuncardError) -> Verdict:
    """The verdict on a record that cannot be looked at."""
    found = Discrepancy(
        "missing", printable(run), "", error.message, breaks=COMPLETE, exit_code=ExitCode.FAILED
    )
    return Verdict((found,))
