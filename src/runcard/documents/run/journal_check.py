"""Whether the document of a closed run says what its journal says.

The document is a function of the events (see `fold`), so it can be made again from the journal and compared. Left out are
the ledger's head, which no event knows, estimates, and what the files on disk decide, which is checked against them.
A payload that was withheld takes with it what only it could say: those parts are named, and not compared.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from runcard.documents.chain import Line
from runcard.documents.differences import ValueDifference, differences
from runcard.documents.run import events, fold
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import JsonObject
from runcard.version import __version__

_NOT_FOLDED = ("/symlinks", "/event_chains", "/ledger_head", "/checksums/output")

# What is decided by each event, and so cannot be told when its payload was withheld.
_DECIDES: dict[str, tuple[str, ...]] = {
    events.RUN_ENDED: (
        *(f"/generation/{name}" for name in ("status", "timestamp_end", "duration_seconds", "exit_code")),
        *("/generation/estimated", "/resources"),
    ),
    events.CONFIG_SET: ("/configuration", "/checksums/config"),
    events.INPUTS_ADDED: ("/data_sources", "/checksums/data"),
    events.INPUTS_COUNTED: ("/data_sources",),
    events.ENVIRONMENT_OBSERVED: ("/environment",),
    events.MODEL_CALLED: ("/costs", "/token_usage"),
    events.COSTS_SET: ("/costs", "/token_usage"),
    events.LABELS_SET: ("/generation/labels",),
    events.RELATION_ADDED: ("/relations",),
    events.ERROR_ADDED: ("/errors",),
    events.WARNING_ADDED: ("/warnings",),
    events.SECRETS_MASKED: ("/redactions",),
}

# What folding raises for events that no runcard writes.
_FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


class JournalComparison(NamedTuple):
    """What came of the comparison."""

    differences: tuple[ValueDifference, ...] = ()
    withheld: tuple[str, ...] = ()  # pointers that could not be compared
    trouble: str | None = None  # why nothing could be compared
    is_foreign: bool = False  # whether the events are none that runcard writes


def compare_with_journal(document: JsonObject, lines: Sequence[Line]) -> JournalComparison:
    """Compare a run's sealed document with its events, in the order in which the journal has them."""
    silent = {line.get("event") for line in lines if "payload" not in line}
    if events.RUN_STARTED in silent:
        return JournalComparison(trouble="the payload of its first event was withheld")
    if any("truncated" in line for line in lines if line.get("event") == events.RUN_STARTED):
        return JournalComparison(trouble="its first event was too large, and was cut")
    start: Any = fold.start_document_in(lines)
    if start is None:
        return JournalComparison(trouble="the journal does not tell how the run began")
    if is_newer(start.get("producer") if isinstance(start, dict) else None):
        return JournalComparison(trouble="a newer version of runcard recorded the run")
    withheld = sorted({pointer for name in silent for pointer in _DECIDES.get(str(name), ())})
    try:
        folded = _cut_alike(fold.fold_events(start, lines), document)
        exempt = {*_NOT_FOLDED, *withheld, *folded["generation"]["estimated"]}
        found = tuple(differences(folded, document, exempt))
    except _FOREIGN:
        return JournalComparison(is_foreign=True)
    return JournalComparison(found, tuple(withheld))


def _cut_alike(folded: JsonObject, document: JsonObject) -> JsonObject:
    """What the journal tells, cut as the closing cut a document that was too large."""
    if not any(warning.get("type") == TRUNCATED for warning in document["warnings"]):
        return folded
    found = {name: document[name] for name in ("symlinks", "event_chains", "ledger_head")}
    cut = fold.cut_to_size(folded | found)
    return cut | {"checksums": cut["checksums"] | {"output": document["checksums"]["output"]}}


def is_newer(producer: object) -> bool:
    """Whether a later version of runcard made a record: it may write what this one does not know of."""
    match producer:
        case {"name": "runcard", "version": str(version)}:
            return _numbers(version) > _numbers(__version__)
    return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]{1,9}", version)[:3])
