"""Check the document of a closed run against its journal.

The document is a function of the events (see `fold`), so it is folded again from the journal and compared. Not compared
are the ledger's head, estimates, and what follows from the files on disk, which is checked against them. Fields that
follow from a withheld payload are named and not compared.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from runcard.documents.chain import Line
from runcard.documents.differences import ValueDifference, differences
from runcard.documents.run import events, fold
from runcard.documents.run.call_facts import FILLED, SERVER_TOOLS
from runcard.documents.run.call_totals import FAILED_CALLS, FURTHER_CLASSES, KNOWN_COST
from runcard.documents.run.fields import model_breakdown
from runcard.documents.run.size_limit import TRUNCATED
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject
from runcard.version import __version__

_NOT_FOLDED = ("/symlinks", "/event_chains", "/ledger_head", "/checksums/output")

# The fields that follow from each event, and cannot be checked if its payload was withheld.
_FIELDS_OF: dict[str, tuple[str, ...]] = {
    events.RUN_ENDED: (
        *(f"/generation/{name}" for name in ("status", "timestamp_end", "duration_seconds", "exit_code")),
        *("/generation/estimated", "/resources"),
    ),
    events.CONFIG_SET: ("/configuration", "/checksums/config"),
    events.INPUTS_ADDED: ("/data_sources", "/checksums/data"),
    events.INPUTS_COUNTED: ("/data_sources",),
    events.ENVIRONMENT_OBSERVED: ("/environment",),
    events.MODEL_CALLED: ("/costs", "/token_usage", "/performance"),
    events.USAGE_INCOMPLETE: ("/costs", "/token_usage", "/warnings"),
    events.METRIC_LOGGED: ("/metrics",),
    events.WITNESS_COMPARED: ("/witness",),
    events.COSTS_SET: ("/costs", "/token_usage"),
    events.LABELS_SET: ("/generation/labels",),
    events.RELATION_ADDED: ("/relations",),
    events.ERROR_ADDED: ("/errors",),
    events.WARNING_ADDED: ("/warnings",),
    events.SECRETS_MASKED: ("/redactions",),
}

# What folding raises for events that runcard did not write.
_FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


class JournalComparison(NamedTuple):
    """The result of comparing a document with its journal."""

    differences: tuple[ValueDifference, ...] = ()
    withheld: tuple[str, ...] = ()  # pointers that could not be compared
    obstacle: str | None = None  # why nothing could be compared
    is_foreign: bool = False  # whether runcard did not write the events


def compare_with_journal(document: JsonObject, lines: Iterable[Line]) -> JournalComparison:
    """Compare a run's sealed document with its events, in the order of the journal.

    The lines are read once, and again only for records of earlier versions and where responses were reported repeatedly:
    whoever passes a stream must be able to start it again.
    """
    journal = _FoldedJournal()
    for line in lines:
        journal.add(line)
    start = journal.folded.start
    if journal.obstacle is not None:
        return JournalComparison(obstacle=journal.obstacle)
    if is_newer(start.get("producer") if isinstance(start, dict) else None):
        return JournalComparison(obstacle="a newer version of runcard recorded the run")
    if journal.is_foreign or not isinstance(start, dict):
        return JournalComparison(is_foreign=True)
    try:
        return journal.compare(document, start, lines)
    except _FOREIGN:
        return JournalComparison(is_foreign=True)


class _FoldedJournal:
    """The events of a journal, folded as they come."""

    def __init__(self) -> None:
        self.folded = fold.EventFold()
        self.is_foreign = False  # whether runcard did not write the events
        self._withheld: set[str] = set()  # names of events
        self._is_start_cut = False

    def add(self, line: Line) -> None:
        name = line.get("event")
        if "payload" not in line and isinstance(name, str):
            self._withheld.add(name)
        if "truncated" in line and name == events.RUN_STARTED:
            self._is_start_cut = True
        try:
            self.folded.add(line)
        except _FOREIGN:
            self.is_foreign = True

    @property
    def obstacle(self) -> str | None:
        """Why the journal cannot be folded."""
        if events.RUN_STARTED in self._withheld:
            return "the payload of the first event was withheld"
        if self._is_start_cut:
            return "the first event was too large and was cut"
        return "the journal has no start event" if self.folded.start is None else None

    def compare(self, document: JsonObject, start: JsonObject, lines: Iterable[Line]) -> JournalComparison:
        self.folded.count_once(lines)
        withheld = sorted(self._withheld_fields(document, start))
        folded = self.folded.document(start)
        exempt = {*_NOT_FOLDED, *withheld, *_free_estimates(folded, document)}
        differing = tuple(differences(_cut_like(folded, document), document, exempt))
        if differing:
            earlier = _cut_like(self._as_earlier_versions(document, start, lines), document)
            differing = min(differing, tuple(differences(earlier, document, exempt)), key=len)
        return JournalComparison(differing, tuple(withheld))

    def _withheld_fields(self, document: JsonObject, start: JsonObject) -> set[str]:
        """Pointers to the fields that follow from withheld events. Calls decide a model only if the user gave none."""
        pointers = {pointer for name in self._withheld for pointer in _FIELDS_OF.get(name, ())}
        if events.MODEL_CALLED in self._withheld:
            given = self.folded.given_configuration(start)
            pointers |= {f"/configuration/{name}" for name in FILLED if given.get(name) is None}
            pointers |= {"/checksums/config" for name in FILLED if given.get(name) is None}
            # Whether the meter reported a call that was withheld, only the document says.
            pointers |= {"/warnings"} if not self.folded.has_end and _lacks_end(document) else set()
        return pointers

    def _as_earlier_versions(
        self, document: JsonObject, start: JsonObject, lines: Iterable[Line]
    ) -> JsonObject:
        """The document folded as earlier versions of runcard did, as far as it lacks the fields that were added since."""
        journal = self.folded
        if "repeated_reports" not in (document.get("token_usage") or {}):
            journal = fold.EventFold(with_repeats=True)
            for line in lines:
                journal.add(line)
        folded = journal.document(start)
        calls = (document.get("performance") or {}).get("calls")
        if calls is not None and calls != (folded.get("performance") or {}).get("calls"):
            folded = journal.document(start, with_parts=False)
        if not any(SERVER_TOOLS in part for part in model_breakdown(document)):
            folded = _without(folded, SERVER_TOOLS)
        if not any(name in part for part in model_breakdown(document) for name in FURTHER_CLASSES):
            for name in FURTHER_CLASSES:
                folded = _without(folded, name)
        if KNOWN_COST not in document["costs"]:
            folded = _without(folded, KNOWN_COST)
        if FAILED_CALLS not in (document.get("token_usage") or {}):
            folded = folded | {"token_usage": _without_field(folded["token_usage"], FAILED_CALLS)}
        if "metrics" not in document:
            folded = _without_field(folded, "metrics")
        return folded if "performance" in document else journal.without_call_facts(folded, start)


def _lacks_end(document: JsonObject) -> bool:
    """Whether the document says that calls of a run without an end may be missing."""
    reasons = (document.get("token_usage") or {}).get("incomplete")
    return any(
        isinstance(row, dict) and row.get("reason") == fold.NO_END
        for row in (reasons if isinstance(reasons, list) else ())
    )


def _without(folded: JsonObject, field: str) -> JsonObject:
    """A folded document without a field of its costs and their breakdowns."""
    usage = {
        name: [_without_field(part, field) for part in value] if isinstance(value, list) else value
        for name, value in folded["token_usage"].items()
    }
    return folded | {"costs": _without_field(folded["costs"], field), "token_usage": usage}


def _without_field(fields: JsonObject, field: str) -> JsonObject:
    return {name: value for name, value in fields.items() if name != field}


def _free_estimates(folded: JsonObject, document: JsonObject) -> list[str]:
    """The estimates that are not compared: the end may be later than the last event, if a file is newer, never earlier."""
    generation = folded["generation"]
    last, end = parse_time(generation["timestamp_end"]), parse_time(document["generation"]["timestamp_end"])
    return generation["estimated"] if last is None or (end is not None and end >= last) else []


def _cut_like(folded: JsonObject, document: JsonObject) -> JsonObject:
    """The folded document, cut in the same way if the document was too large."""
    if not any(warning.get("type") == TRUNCATED for warning in document["warnings"]):
        return folded
    file_facts = {name: document[name] for name in ("symlinks", "event_chains", "ledger_head")}
    cut = fold.cut_to_size(folded | file_facts)
    return cut | {"checksums": cut["checksums"] | {"output": document["checksums"]["output"]}}


def is_newer(producer: object) -> bool:
    """Whether a later version of runcard made a record: it may write what this one does not know."""
    match producer:
        case {"name": "runcard", "version": str(version)}:
            return _numbers(version) > _numbers(__version__)
    return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]{1,9}", version)[:3])
