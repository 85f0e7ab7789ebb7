"""What closing a run learns from its events, one at a time: they may be too many for memory."""

from runcard.documents import chain
from runcard.documents.run import fold
from runcard.documents.run.events import RUN_ENDED


class JournalFacts:
    """What all events of a run tell, whatever their order: to be added in the order of each writer."""

    def __init__(self, run_id: str | None) -> None:
        self.run_id = run_id
        self.last_time: str | None = None
        self.has_ended = False
        self.first_faults: dict[str, chain.ChainFault] = {}  # by writer
        self._chains = chain.ChainChecker(str(run_id))

    def add(self, entry: chain.JournalEntry) -> None:
        moment = entry.line.get("timestamp")
        if isinstance(moment, str) and (self.last_time is None or moment > self.last_time):
            self.last_time = moment
        self.has_ended = self.has_ended or entry.line.get("event") == RUN_ENDED
        for fault in self._chains.add(entry):
            self.first_faults.setdefault(fault.writer, fault)


class FoldedEvents:
    """Events that are folded as they come, and the last line of each writer."""

    def __init__(self) -> None:
        self.events = fold.EventFold()
        self.last_lines: dict[str, chain.Line] = {}

    def add(self, entry: chain.JournalEntry) -> None:
        self.events.add(entry.line)
        self.last_lines[entry.line["writer"]] = entry.line
