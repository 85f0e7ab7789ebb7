"""Checking a run."""

import os
from functools import cached_property

from runcard.documents import chain
from runcard.documents.kinds import GENERATION
from runcard.documents.run.fold import data_digest
from runcard.documents.run.journal_check import compare_with_journal
from runcard.encoding import JsonObject
from runcard.store import layout
from runcard.store.ledger import LedgerKey
from runcard.store.record import RUN, Progress, id_in_journal
from runcard.store.verification.record_check import Findings, RecordCheck


class RunCheck(RecordCheck):
    """The check of a run."""

    kind = GENERATION
    word = "run"
    journal = layout.JOURNAL
    sealed_by = "output"

    @property
    def _generation(self) -> JsonObject:
        return self.document.get("generation") or {}

    @cached_property
    def record_id(self) -> str:
        """By the document; where that does not tell, by the journal, whose chains begin with it."""
        run_id = self._generation.get("run_id")
        return run_id or id_in_journal(self.read(layout.JOURNAL)) or ""

    @property
    def ledger_key(self) -> LedgerKey:
        return LedgerKey(RUN, self.record_id)

    def inspect(self, metadata: bytes | None, progress: Progress | None) -> Findings:
        if self._generation.get("status") == "running":
            yield from self._open()
        else:
            yield from super().inspect(metadata, progress)

    def _open(self) -> Findings:
        yield self.finding(
            "open", layout.METADATA, "the run is not closed: it is running, or its process is gone"
        )
        for path in () if self.record.is_archived else layout.journals(self.record.path):
            name = os.path.basename(path)
            data = self.read(name)
            if data is not None:
                yield from self._open_journal(name, chain.parse(data))
            elif name in self.unread:
                yield self.finding("limits", name, self.unread[name].message)

    def _open_journal(self, name: str, journal: chain.Journal) -> Findings:
        checked = chain.check(journal, self.record_id)
        yield from self.faults(name, checked)
        for entry in checked.withheld:  # an open run cannot be amended
            yield self.finding("chain", name, f"line {entry.number}: its payload was taken out")
        if journal.torn:
            yield self.finding("limits", name, "there is half a line at the end: its event is not known")

    def special(self) -> set[str]:
        """An event names each that was there."""
        payloads = [entry.line.get("payload") for entry in self.events.entries]
        return {
            payload["path"]
            for payload in payloads
            if isinstance(payload, dict) and payload.get("type") == layout.SPECIAL and "path" in payload
        }

    def chain_faults(self, journal: chain.Journal, checked: chain.ChainCheck) -> Findings:
        """Where the journal was damaged before the run was closed, only SHA256SUMS covers the rest of it."""
        warnings = self.document.get("warnings") or ()
        if not any(
            isinstance(warning, dict) and warning.get("type") == layout.DAMAGED for warning in warnings
        ):
            yield from super().chain_faults(journal, checked)
            return
        for fault in checked.faults:
            reason = f"line {fault.number}: {fault.reason}; it was so when the run was closed"
            yield self.finding("limits", layout.JOURNAL, reason)

    def against_journal(self, stated: JsonObject) -> Findings:
        """The document is folded again from the events, and compared."""
        folded = compare_with_journal(stated, [entry.line for entry in self.events.entries])
        if folded.obstacle is not None:
            message = f"{folded.obstacle}: the document cannot be compared with the journal"
            yield self.finding("limits", layout.METADATA, message)
        if folded.is_foreign:
            message = "the events cannot be folded into a document: runcard did not write this journal"
            yield self.finding("document", layout.JOURNAL, message)
        if folded.withheld:
            message = "a withheld event decides these, which cannot be compared with the journal: "
            yield self.finding("limits", layout.METADATA, message + ", ".join(folded.withheld))
        for difference in folded.differences:
            yield self.difference(layout.METADATA, difference)

    def own(self) -> Findings:
        stated = (self.document.get("checksums") or {}).get("data")
        files = (self.document.get("data_sources") or {}).get("files") or []
        if all(isinstance(file, dict) for file in files) and stated != (actual := data_digest(files)):
            message = "/checksums/data: the digest is not that of the inputs listed"
            yield self.finding("document", layout.METADATA, message, expected=actual, found=stated)
