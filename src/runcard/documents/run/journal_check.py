"""Check the document of a closed run against its journal.

The document is a function of the events (see `fold`), so it is folded again from the journal and compared. Not compared
are the ledger's head, estimates, and what follows from the files on disk, which is checked against them. Fields that
follow from a withheld payload are named and not compared.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from runcard.documents.chain import Line
from runcard.documents.differences import ValueDifference, differences
from runcard.documents.run import events, fold
from runcard.documents.run.call_facts import FILLED, SERVER_TOOLS
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


def compare_with_journal(document: JsonObject, lines: Sequence[Line]) -> JournalComparison:
    """Compare a run's sealed document with its events, in the order of the journal."""
    withheld_events = {line.get("event") for line in lines if "payload" not in line}
    if events.RUN_STARTED in withheld_events:
        return JournalComparison(obstacle="the payload of the first event was withheld")
    if any("truncated" in line for line in lines if line.get("event") == events.RUN_STARTED):
        return JournalComparison(obstacle="the first event was too large and was cut")
    start: Any = fold.start_document_in(lines)
    if start is None:
        return JournalComparison(obstacle="the journal has no start event")
    if is_newer(start.get("producer") if isinstance(start, dict) else None):
        return JournalComparison(obstacle="a newer version of runcard recorded the run")
    try:
        withheld = sorted(_withheld_fields(withheld_events, start, lines))
        folded = fold.fold_events(start, lines)
        exempt = {*_NOT_FOLDED, *withheld, *_free_estimates(folded, document)}
        differing = tuple(differences(_cut_like(folded, document), document, exempt))
        if differing:
            earlier = _cut_like(_as_earlier_versions(document, start, lines), document)
            differing = min(differing, tuple(differences(earlier, document, exempt)), key=len)
    except _FOREIGN:
        return JournalComparison(is_foreign=True)
    return JournalComparison(differing, tuple(withheld))


def _withheld_fields(withheld_events: set[Any], start: JsonObject, lines: Sequence[Line]) -> set[str]:
    """Pointers to the fields that follow from withheld events. Calls decide a model only if the user gave none."""
    pointers = {pointer for name in withheld_events for pointer in _FIELDS_OF.get(str(name), ())}
    if events.MODEL_CALLED in withheld_events:
        given = fold.given_configuration(start, lines)
        pointers |= {f"/configuration/{name}" for name in FILLED if given.get(name) is None}
        pointers |= {"/checksums/config" for name in FILLED if given.get(name) is None}
    return pointers


def _as_earlier_versions(document: JsonObject, start: JsonObject, lines: Sequence[Line]) -> JsonObject:
    """The document folded as earlier versions of runcard did, as far as it lacks the fields that were added since."""
    is_counted_once = "repeated_reports" in (document.get("token_usage") or {})
    folded = fold.fold_events(start, lines, with_repeats=not is_counted_once)
    calls = (document.get("performance") or {}).get("calls")
    if calls is not None and calls != (folded.get("performance") or {}).get("calls"):
        folded = fold.fold_events(start, lines, with_repeats=not is_counted_once, with_parts=False)
    if not any(SERVER_TOOLS in part for part in model_breakdown(document)):
        folded = _without(folded, SERVER_TOOLS)
    if fold.KNOWN_COST not in document["costs"]:
        folded = _without(folded, fold.KNOWN_COST)
    return folded if "performance" in document else fold.without_call_facts(folded, start, lines)


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
