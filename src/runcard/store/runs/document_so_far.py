"""The document of an open run as far as its journals decide it: read-only, and only shown.

The run goes on, or its process died: its end, its checksums and its status are decided when it is closed.
"""

from runcard.documents.run.fields import RunFields
from runcard.documents.run.fold import fold_events
from runcard.documents.run.generation import Generation
from runcard.encoding import JsonObject
from runcard.store.runs.open_journals import OpenJournals


def document_so_far(run: str, start: JsonObject) -> JsonObject | None:
    """The start document with what was recorded since; None if there is no journal that can be read."""
    try:
        journals = OpenJournals(run, RunFields(start).run_id)
        if not journals.size:
            return None
        folded = fold_events(start, journals.lines)
        generation = start["generation"] | {"labels": folded["generation"]["labels"]}
        return Generation.from_dict(folded | {"generation": generation}).to_dict()
    except Exception:  # noqa: BLE001 - unreadable, or not what a writer of runcard wrote
        return None
