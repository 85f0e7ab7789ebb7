"""The events that closing a run adds to its journals: warnings, and the last sign of life of a run that died.

They are the same whichever process closes the run, and are added once: a closing that is repeated finds them.
"""

from datetime import UTC, datetime

from runcard.digests import sha256_bytes
from runcard.documents import chain
from runcard.documents.run.events import RUN_HEARTBEAT, WARNING_ADDED
from runcard.encoding import JsonObject, canonical_json, decode_json
from runcard.observe.clock import timestamp
from runcard.recording.journal_facts import JournalFacts
from runcard.recording.run_documents import run_id_in
from runcard.store.runs.heartbeat import read_heartbeat
from runcard.store.runs.open_journals import OpenJournals


class ClosingEvents:
    """Adds events to the journals of a run that is being closed. `facts` are those of all events, if they are known."""

    def __init__(self, start: JsonObject, journals: OpenJournals, facts: JournalFacts | None) -> None:
        self.run_id = str(run_id_in(start))
        self.writer = f"w-{sha256_bytes(f'runcard-closing-1:{self.run_id}'.encode()).hex[:8]}"
        self.journals = journals
        self.has_added = False
        self._generation: JsonObject = start["generation"]
        self._facts = facts

    @property
    def facts(self) -> JournalFacts:
        """What all events tell; of the own journal it is rarely needed."""
        if self._facts is None or self._facts.run_id != self.run_id:
            self._facts = JournalFacts(self.run_id)
            for entry in self.journals.of_each_writer():
                self._facts.add(entry)
        return self._facts

    def add_warning(self, kind: str, message: str, **more: str) -> None:
        payload = {"type": kind, "message": message, **more}
        self._add(WARNING_ADDED, payload, self._last_time(), "warning")

    def add_last_heartbeat(self, run: str) -> None:
        """Add the last sign of life of a run whose end no event tells; the future does not count."""
        heartbeat, now = read_heartbeat(run, self.run_id), timestamp(datetime.now(UTC))
        if heartbeat is None or self.facts.has_ended:
            return
        if self._last_time() < heartbeat <= now:
            self._add(RUN_HEARTBEAT, {}, heartbeat, "info")

    def _last_time(self) -> str:
        last: str = self.facts.last_time or self._generation["timestamp_start"]
        return last

    def _add(self, event: str, payload: JsonObject, timestamp: str, level: str) -> None:
        own_lines = [entry.line for entry in self.journals.of_writer(self.writer)]
        if payload in [line.get("payload") for line in own_lines]:
            return  # added by an earlier closing that was killed
        prev = own_lines[-1]["hash"] if own_lines else chain.first_link(self.run_id, self.writer)
        fields = {
            "seq": len(own_lines) + 1,
            "timestamp": timestamp,
            "level": level,
            "event": event,
            "experiment_id": self._generation["experiment_id"],
            "run_id": self.run_id,
            "elapsed": None,
            "writer": self.writer,
        }
        salt = sha256_bytes(prev.encode() + canonical_json(payload)).hex[:32]
        raw = chain.write_line(fields, payload, salt, prev).raw.rstrip(b"\n")
        entry = chain.JournalEntry(0, raw, decode_json(raw))
        facts = self.facts
        if self.journals.add(entry):
            facts.add(entry)
        self.has_added = True
