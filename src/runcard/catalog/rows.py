"""The rows of a record, as `run_rows` and `session_rows` make them, and what both need.

Pure: the documents may be of any quality, and nothing is read here. What a document does not say is null. Keys and texts are
cut to a length that an index can hold.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from runcard.catalog.cost_units import cost_units
from runcard.catalog.document_values import as_count, as_list, as_object, as_text
from runcard.catalog.record_facts import Facts
from runcard.catalog.tables import INSTANCE_COLUMNS, USAGE_COLUMNS
from runcard.encoding import JsonObject

RUN, SESSION = "run", "session"

_ERROR = INSTANCE_COLUMNS.index("error")
_STARTED, _USAGE_COST = USAGE_COLUMNS.index("started"), USAGE_COLUMNS.index("cost")

Row = dict[str, Any]
RelationRow = tuple[str, str, str | None, int | None]  # type, id, digest, calls of it that were joined


@dataclass
class RecordRows:
    """The rows of one record; those of other tables than `records` without their record."""

    record: Row
    facts: Facts = field(default_factory=dict)
    instances: list[tuple[Any, ...]] = field(default_factory=list)  # in the order of INSTANCE_COLUMNS
    usage: list[tuple[Any, ...]] = field(default_factory=list)  # in the order of USAGE_COLUMNS
    calls: list[tuple[Any, ...]] = field(default_factory=list)  # in the order of CALL_COLUMNS
    files: list[tuple[bool, str, bytes]] = field(default_factory=list)  # is it an input, path, digest
    relations: list[RelationRow] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)  # by column of the search index


def fresh_input(whole: int | None, read: int | None, written: int | None, record: Row) -> int | None:
    """Input without what was cached; unknown for a part that does not say what of the record's cached tokens it has."""
    hides_cache = (read is None and record["cache_read"]) or (written is None and record["cache_write"])
    return None if whole is None or hides_cache else max(0, whole - (read or 0) - (written or 0))


def usage_times(usage: Sequence[tuple[Any, ...]]) -> Row:
    """The columns of a record that say when its usage was."""
    times = [row[_STARTED] for row in usage]
    unknown = [row[_STARTED] for row in usage if row[_USAGE_COST] is None]
    return {
        "last_usage": _last(times),
        "last_unknown_cost": _last(unknown),
        "undated_usage": times.count(None),
    }


def _last(times: list[int | None]) -> int | None:
    return max((-1 if time is None else time for time in times), default=None)


def digest_bytes(text: object) -> bytes | None:
    """The bytes of a digest in hex, with `sha256:` in front or not."""
    if not isinstance(text, str):
        return None
    digits = text.removeprefix("sha256:")
    try:
        return bytes.fromhex(digits) if len(digits) == 64 else None
    except ValueError:
        return None


def relation_rows(document: JsonObject) -> Iterator[RelationRow]:
    seen = set()
    joined = _joined_calls(document)
    for relation in as_list(document.get("relations")):
        kind, other = as_text(as_object(relation).get("type")), as_text(as_object(relation).get("id"))
        if kind and other and (kind, other) not in seen:
            seen.add((kind, other))
            calls = joined.get(other) if kind == RUN else None
            yield kind, other, as_text(as_object(relation).get("sha256")), calls


def _joined_calls(document: JsonObject) -> dict[str, int]:
    """How many calls of each run that metered a session are in the session, too."""
    joined = {}
    for entry in map(as_object, as_list(document.get("metered_runs"))):
        both, only = as_count(entry.get("calls_in_both")), as_count(entry.get("only_metered"))
        if (run := as_text(entry.get("run_id"))) and both is not None and only is not None:
            joined[run] = both + only
    return joined


def search_texts(rows: RecordRows, summary: Iterable[str | None]) -> dict[str, str]:
    """What full-text search finds a record by, besides its names, which the reader adds."""
    labels = (f"{key.partition('.')[2]} {text or ''}" for key, (_, text) in rows.facts.items())
    instance_errors = (row[_ERROR] for row in rows.instances)
    return {
        "summary": " ".join(dict.fromkeys(part for part in (*summary, rows.record.get("model")) if part)),
        "errors": " ".join(filter(None, (rows.record.get("first_error"), *instance_errors))),
        "labels": " ".join(labels),
    }


def cost_columns(total: object, known: object, *, is_at_least: bool) -> Row:
    cost = cost_units(total)
    return {"cost": cost, "known_cost": known_part(cost, known), "at_least": int(is_at_least)}


def known_part(cost: int | None, known: object) -> int | None:
    """What is known of a cost; beside an unknown one, zero says nothing."""
    units = cost_units(known)
    return units or None if cost is None else units


def known_tokens(whole: int | None, sent: int | None, output: int | None) -> int | None:
    """What is known of the tokens: all of them, or a class."""
    if whole is not None:
        return whole
    return None if sent is None and output is None else (sent or 0) + (output or 0)


def known_total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if not known or None in known else sum(known)  # type: ignore[arg-type]
