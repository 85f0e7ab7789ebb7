"""Checking a run."""

import os
from functools import cached_property
from typing import TYPE_CHECKING

from runcard.documents import chain
from runcard.documents.kinds import GENERATION
from runcard.documents.run.fold import data_digest
from runcard.documents.run.journal_check import JournalComparison, compare_with_journal
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.store import layout
from runcard.store.ledger import LedgerKey
from runcard.store.record import RUN, Progress, Record, id_in_lines
from runcard.store.verification.journal_scan import JournalScan
from runcard.store.verification.record_check import Findings, RecordCheck

if TYPE_CHECKING:
    from runcard.store.ledger_index import LedgerIndex
    from runcard.store.ledger_search import LedgerSearch


class RunCheck(RecordCheck):
    """The check of a run."""

    kind = GENERATION
    word = "run"
    journal = layout.JOURNAL
    sealed_by = "output"

    def __init__(
        self, record: Record, limits: Limits, index: "LedgerIndex | LedgerSearch | None" = None
    ) -> None:
        super().__init__(record, limits, index)
        self._special: set[str] = set()
        self._folded = JournalComparison()

    @property
    def _generation(self) -> JsonObject:
        return self.document.get("generation") or {}

    @cached_property
    def record_id(self) -> str:
        """By the document; where that does not tell, by the journal, whose chains begin with it."""
        run_id = self._generation.get("run_id")
        return run_id or self._id_in_journal() or ""

    def _id_in_journal(self) -> str | None:
        file = self.record.open_seekable(layout.JOURNAL)
        if file is None:
            return None
        with file:
            return id_in_lines(JournalScan(file, ""))

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
            try:
                yield from self._open_journal(name)
            except RuncardError as error:
                yield self.finding("limits", name, error.message)

    def _open_journal(self, name: str) -> Findings:
        file = self.record.open_seekable(name)
        if file is None:
            return
        with file:
            scan = JournalScan(file, self.record_id)
            scan.finish()
        yield from self.faults(name, scan.faults)
        for line in scan.withheld:  # an open run cannot be amended
            yield self.finding("chain", name, f"line {line.number}: its payload was taken out")
        if scan.is_torn:
            yield self.finding("limits", name, "the last line is truncated")

    def on_line(self, line: chain.Line) -> None:
        payload = line.get("payload")
        if isinstance(payload, dict) and payload.get("type") == layout.SPECIAL and "path" in payload:
            self._special.add(payload["path"])

    def on_journal(self, scan: JournalScan) -> None:
        """The document is folded again from the events, and compared."""
        if self.stated is not None:
            self._folded = compare_with_journal(self.stated, scan)
        scan.finish()

    def special(self) -> set[str]:
        """An event names each that was there."""
        return self._special

    def chain_faults(self, scan: JournalScan) -> Findings:
        """Where the journal was damaged before the run was closed, only SHA256SUMS covers the rest of it."""
        warnings = self.document.get("warnings") or ()
        if not any(
            isinstance(warning, dict) and warning.get("type") == layout.DAMAGED for warning in warnings
        ):
            yield from super().chain_faults(scan)
            return
        for fault in scan.faults:
            reason = f"line {fault.number}: {fault.reason}; it was so when the run was closed"
            yield self.finding("limits", layout.JOURNAL, reason)

    def against_journal(self, stated: JsonObject) -> Findings:  # noqa: ARG002 - compared while the journal was read
        folded = self._folded
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
