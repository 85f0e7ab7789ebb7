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

    def add(self, line: chain.Line) -> None:
        self.events.add(line)
        self.last_lines[line["writer"]] = line


class WrittenEvents:
    """The events that a recorder writes, folded as it does, so that closing its run need not read them."""

    def __init__(self) -> None:
        self._folded: FoldedEvents | None = FoldedEvents()
        self._begun = self._added = 0

    def add(self, line: chain.Line) -> None:
        """Add a line that is written. If a signal handler raises meanwhile, all are read when the run is closed."""
        self._begun += 1
        if self._folded is not None:
            self._folded.add(line)
            self._added += 1

    def take(self, count: int) -> FoldedEvents | None:
        """The folded events, once; None unless each of the `count` lines was added once, and none was interrupted by a signal."""
        folded, self._folded = self._folded, None
        return folded if self._begun == self._added == count else None
