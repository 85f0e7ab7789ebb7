"""Checking a session, complete or not.

The documents of a session repeat each other, and the instances' documents state digests of their own: what does not agree is
a finding about the document.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from typing import BinaryIO

from runcard import checksums
from runcard.digests import Digest, sha256_bytes
from runcard.documents import chain, reader
from runcard.documents.differences import ValueDifference
from runcard.documents.findings import Finding, record_finding
from runcard.documents.kinds import INSTANCE, MANIFEST, TEAM, DocumentKind
from runcard.documents.run.journal_check import is_newer
from runcard.documents.session import build, cross_document_rules, journal_check
from runcard.documents.session.events import COLLECTION_STARTED
from runcard.documents.session.live_events import SESSION_STARTED
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import EncodingError
from runcard.files import check_relative, printable
from runcard.store import layout
from runcard.store.directory_names import session_id_in
from runcard.store.journal import read_journal
from runcard.store.ledger import LedgerKey
from runcard.store.ledger_index import LedgerIndex
from runcard.store.ledger_search import LedgerSearch
from runcard.store.record import SESSION, Record
from runcard.store.sessions.directory import is_being_collected
from runcard.store.sessions.live import RUNNING, live_state
from runcard.store.sessions.live_start import read_live_start
from runcard.store.verification.journal_scan import JournalScan
from runcard.store.verification.record_check import Findings, RecordCheck
from runcard.store.verification.verdict import Verdict

_AT_WORK = {
    True: "it is being collected",
    False: "its collection was interrupted; the next one removes what it left",
    None: "it is being collected, or its collection was interrupted",
}
_MAX_FIRST_LINE = 64 << 20  # bytes
_WORKSPACE = f"{layout.WORKSPACE}/"


def _verify_open(live: str) -> Verdict:
    """The verdict on a session that is being recorded: its journals are checked so far."""
    name = printable(os.path.join(os.path.basename(os.path.dirname(live)), os.path.basename(live)))
    status, remark = live_state(live)
    start = os.path.basename(layout.live_start(live))
    message = "it is being recorded" if status == RUNNING else "it was interrupted"
    closing = "" if status == RUNNING else f"; to close it: runcard close {os.path.basename(live)}"
    findings = [
        record_finding("open", name, start, f"the session is not closed: {remark or message}{closing}")
    ]
    record_name = read_live_start(live).name
    for path in layout.live_journals(live):
        journal = read_journal(path)
        own = os.path.basename(path)
        findings += [
            record_finding("chain", name, own, f"line {fault.number}: {fault.reason}")
            for fault in chain.check(journal, record_name).faults
        ]
        if journal.torn:
            message = "the last line is truncated"
            findings.append(record_finding("limits", name, own, message))
    return Verdict(tuple(findings))


def verify_collection(place: str) -> Verdict:
    """The verdict on a session that is not complete: its journal is checked so far."""
    if layout.is_live_session(place):
        return _verify_open(place)
    name = printable(os.path.join(os.path.basename(os.path.dirname(place)), os.path.basename(place)))
    findings = [
        record_finding(
            "open", name, layout.AUDIT, f"the session is not complete: {_AT_WORK[is_being_collected(place)]}"
        )
    ]
    path = os.path.join(place, layout.AUDIT)
    if layout.may_be_file(path):
        journal = read_journal(path)
        findings += [
            record_finding("chain", name, layout.AUDIT, f"line {fault.number}: {fault.reason}")
            for fault in _faults_of_each_writer(journal)
        ]
    return Verdict(tuple(findings))


def _faults_of_each_writer(journal: chain.Journal) -> Iterator[chain.ChainFault]:
    """The faults in the chains of a journal, each from its first line on: that of an open session begins with its name."""
    yield from map(chain.unparsed, journal.damaged)
    writers: dict[str, list[chain.JournalEntry]] = {}
    for entry in journal.entries:
        writers.setdefault(entry.line["writer"], []).append(entry)
    for entries in writers.values():
        yield from chain.check(chain.Journal(entries), "", first=entries[0].line["prev"]).faults


def _faults_under_any_name(scan: JournalScan) -> list[chain.ChainFault]:
    """The faults in the chains of a journal, whatever record it belongs to."""
    checker: chain.ChainChecker | None = None
    faults = [fault for fault in scan.faults if not fault.writer]
    for number, line in enumerate(scan, 1):
        checker = checker or chain.ChainChecker("", first=line["prev"])
        faults += checker.add(chain.JournalEntry(number, b"", line))
    return faults


class SessionCheck(RecordCheck):
    """The check of a session."""

    kind = TEAM
    word = "session"
    journal = layout.AUDIT
    sealed_by = "session"

    @property
    def record_id(self) -> str:
        return self.record.name

    @property
    def ledger_key(self) -> LedgerKey:
        return LedgerKey(SESSION, self.record_id)

    def links(self, symlinks: tuple[checksums.Symlink, ...]) -> Findings:
        if self.seal.get("symlinks") is not None:
            yield from super().links(symlinks)
        else:
            message = (
                "the document lists no symbolic links: changed, removed or added ones cannot be detected"
            )
            yield self.finding("limits", layout.METADATA, message)

    def __init__(
        self, record: Record, limits: Limits, index: LedgerIndex | LedgerSearch | None = None
    ) -> None:
        super().__init__(record, limits, index)
        self._lines: list[chain.Line] = []  # of the journal
        self._is_renamed = False

    def earlier_ids(self, journal: BinaryIO) -> Iterable[str]:
        """A session that was recorded while it worked has a name of its own until it is closed.

        The document states it with the chains. One of 1.0.0 has no chains: then the first event does.
        """
        chains = self.seal.get("event_chains")
        if chains is None:
            first = chain.parse_line(journal.readline(_MAX_FIRST_LINE)) or {}
            stated = [_payload_of(first, SESSION_STARTED).get("directory")]
        else:
            stated = [head.get("record") for head in chains if head]
        own = session_id_in(self.record_id)
        return {name for name in stated if isinstance(name, str) and session_id_in(name) == own}

    def on_line(self, line: chain.Line) -> None:
        self._lines.append(line)

    def on_journal(self, scan: JournalScan) -> None:
        scan.finish()
        self._is_renamed = bool(scan.faults) and not _faults_under_any_name(scan)

    def document_names(self) -> list[str]:
        return self.record.document_names()

    def chain_faults(self, scan: JournalScan) -> Findings:
        if self._is_renamed:
            message = "it is the journal of a session with another name: the directory was renamed, or the journal replaced"
            yield self.finding("chain", self.journal, message)
        else:
            yield from super().chain_faults(scan)

    def against_journal(self, stated: JsonObject) -> Findings:
        """The team document is made again from the other documents and the events, and compared."""
        lines = self._lines
        started = next((line for line in lines if line.get("event") == COLLECTION_STARTED), None)
        if started is None:
            return  # not collected by runcard: its documents are still compared with each other
        payload = started.get("payload")
        if isinstance(payload, dict) and is_newer(payload.get("producer")):
            message = (
                "a newer version of runcard collected the session: it cannot be compared with its journal"
            )
            yield self.finding("limits", layout.METADATA, message)
            return
        yield from self._team(stated, lines)
        for instance_id, document in self._sealed_instances.items():
            name = layout.instance_file(instance_id, layout.METADATA)
            for difference in journal_check.instance_differences(document, lines):
                yield self.difference(name, difference)

    def _team(self, stated: JsonObject, lines: list[chain.Line]) -> Findings:
        differences = self._remade(stated, lines)
        for difference in differences or ():
            yield self.difference(layout.METADATA, difference, "the rest of the session")
        named = {difference.pointer.split("/")[1] for difference in differences or ()}
        sections = journal_check.changed_sections(stated, lines)
        for name in sections or ():
            if name not in named:
                message = f"/{name}: the journal has another digest of it"
                yield self.finding("document", layout.METADATA, printable(message))
        if sections is None:
            yield self.finding("limits", layout.METADATA, _not_compared(differences is not None, lines))

    def _remade(self, stated: JsonObject, lines: list[chain.Line]) -> tuple[ValueDifference, ...] | None:
        """None where a part is missing, or the session is of a version that does not repeat enough."""
        manifest = self._as_sealed(layout.MANIFEST)
        if manifest is None or stated.get("version") != build.LATEST:
            return None
        parts = journal_check.SessionParts(manifest, self._sealed_instances, lines)
        return journal_check.rebuild_differences(stated, parts)

    @cached_property
    def _sealed_instances(self) -> dict[str, JsonObject]:
        """The documents of the instances as they were sealed, as far as they are there."""
        names = {
            instance_id: layout.instance_file(instance_id, layout.METADATA)
            for instance_id in self.record.instances()
        }
        documents = {instance_id: self._as_sealed(name) for instance_id, name in names.items()}
        return {instance_id: document for instance_id, document in documents.items() if document is not None}

    def _as_sealed(self, name: str) -> JsonObject | None:
        """A document that SHA256SUMS lists, as it was sealed: where it was migrated, the store has its old bytes."""
        data = self.read(name)
        if self.listing is None or name not in self.listing or data is None:
            return None
        sealed = self.listing[name]
        if sha256_bytes(data) != sealed:
            data = self.original(sealed.hex)
        try:
            document = None if data is None else decode_json(data, self.limits)
        except EncodingError:
            return None
        return document if isinstance(document, dict) else None

    def own(self) -> Findings:
        roster = cross_document_rules.Roster(self.document)
        manifest = self._sound(layout.MANIFEST, MANIFEST)
        if isinstance(manifest, Finding):
            yield manifest
        elif manifest is not None:
            yield from self._faulty(layout.MANIFEST, cross_document_rules.manifest_rules(manifest, roster))
        digests = {} if self.listing is None else _digests(self.listing)
        folders = self.record.instances()
        if self.listing is None and self.record.has(layout.INSTANCES):
            yield from self._missing_instances(roster, set(folders))
        for folder in folders:
            yield from self._instance(folder, roster, digests)

    def _missing_instances(self, roster: cross_document_rules.Roster, folders: set[str]) -> Findings:
        """Without a list of checksums, what the documents name is all that is known to have been there."""
        for instance_id in roster.instances:
            if instance_id not in folders:
                name = layout.instance_file(instance_id, layout.METADATA)
                yield self.finding("missing", name, "the document of this instance is missing")

    def _instance(
        self, folder: str, roster: cross_document_rules.Roster, digests: Mapping[str, JsonObject]
    ) -> Findings:
        name = layout.instance_file(folder, layout.METADATA)
        document = self._sound(name, INSTANCE)
        if isinstance(document, Finding):
            yield document
            return
        if document is None:
            return
        yield from self._faulty(name, cross_document_rules.instance_rules(document, roster, folder))
        if self.listing is None:
            yield from self._transcript(folder, (document.get("output") or {}).get("file"))
            return
        expected = digests.get(folder, {"output": None, "workspace": str(checksums.Listing({}).digest)})
        for digest_name, stated in (document.get("checksums") or {}).items():
            if digest_name in expected and stated is not None and stated != expected[digest_name]:
                message = f"/checksums/{digest_name}: the digest is not that of what SHA256SUMS lists"
                yield self.finding("document", name, message, expected=expected[digest_name], found=stated)
        yield from self._sources(name, document, self.listing)

    def _sources(self, name: str, document: JsonObject, listing: checksums.Listing) -> Findings:
        """The digests of the copies of imported files."""
        for number, source in enumerate(document.get("sources") or ()):
            path, stated = (source or {}).get("path"), (source or {}).get("stored_sha256")
            if path is None or stated is None:
                continue
            expected = listing[path].hex if path in listing else None
            if stated != expected:
                message = f"/sources/{number}/stored_sha256: the digest is not that of what SHA256SUMS lists"
                yield self.finding("document", name, message, expected=expected, found=stated)

    def _transcript(self, folder: str, file: str | None) -> Findings:
        if file is None or check_relative(file):
            return
        name = layout.instance_file(folder, file)
        if not self.record.has_file(name):
            yield self.finding("missing", name, "the transcript that the document names is missing")

    def _sound(self, name: str, kind: DocumentKind) -> JsonObject | Finding | None:
        """The valid parts of a document of the session; None if it is missing, which is reported with the files."""
        data = self.read(name)
        if data is None:
            return None
        examined = reader.parse_document(data, kind=kind.name, limits=self.limits)
        if examined.data is None:
            return self.finding("document", name, examined.report.errors[0].message)
        return reader.valid_parts(examined)

    def _faulty(self, name: str, findings: Iterator[Finding]) -> Findings:
        for finding in findings:
            where = f"{finding.path}: " if finding.path else ""
            yield self.finding("document", name, f"{where}{finding.message}")


def _not_compared(is_remade: bool, lines: list[chain.Line]) -> str:  # noqa: FBT001
    """The message about sections that cannot be compared, since the journal has no digests of them."""
    names = list(journal_check.ONLY_IN_TEAM_DOCUMENT)
    if any("payload" not in line for line in lines):
        names += journal_check.FROM_EVENTS
    what = ", ".join(f"/{name}" for name in sorted(names)) if is_remade else "the team document"
    return f"the journal has no digests of the team document: {what} cannot be compared with it"


def _payload_of(line: chain.Line, event: str) -> JsonObject:
    payload = line.get("payload") if line.get("event") == event else None
    return payload if isinstance(payload, dict) else {}


def _digests(listing: checksums.Listing) -> dict[str, JsonObject]:
    """By instance, the digests that its document should state."""
    digests: dict[str, JsonObject] = {}
    for folder, entries in groupby(listing.hex_items(), lambda entry: _instance_folder(entry[0])):
        if folder is not None:
            digests[folder] = {"output": None}
            workspace = checksums.listing_digest(_workspace_files(entries, digests[folder]))
            digests[folder]["workspace"] = str(workspace)
    return digests


def _workspace_files(entries: Iterable[tuple[str, str]], digests: JsonObject) -> Iterator[tuple[str, str]]:
    """The files in the workspace of an instance; the digest of its transcript is added to `digests`."""
    for path, digits in entries:
        name = path.split("/", 2)[2]
        if name == layout.OUTPUT:
            digests["output"] = str(Digest("sha256", digits))
        elif name.startswith(_WORKSPACE):
            yield name.removeprefix(_WORKSPACE), digits


def _instance_folder(path: str) -> str | None:
    """The folder of the instance that a file belongs to."""
    parts = path.split("/", 2)
    return parts[1] if parts[0] == layout.INSTANCES and len(parts) > 2 and parts[2] else None
