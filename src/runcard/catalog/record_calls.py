"""The calls in the journals of a record, each once, as rows of usage.

They count one by one where they add up to what the document says. Where they do not, because the caller stated other totals, or
because the journal is gone, the document counts.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from runcard.catalog.call_identity import JOINED, TRANSCRIPT, CallIdentity, identity_of, number_of
from runcard.catalog.cost_units import cost_units
from runcard.catalog.document_values import as_count, as_object, as_text, as_time
from runcard.catalog.rows import Row, fresh_input, known_part, known_total
from runcard.catalog.tables import USAGE_COLUMNS
from runcard.documents.run.call_totals import distinct_calls
from runcard.documents.run.events import MODEL_CALLED
from runcard.documents.run.fold import call_in
from runcard.documents.session.events import CALLS_LISTED
from runcard.encoding import JsonObject, decode_json
from runcard.errors import RuncardError
from runcard.store import layout
from runcard.store.record import DirectoryRecord, Record

UsageRow = tuple[Any, ...]  # in the order of USAGE_COLUMNS

_CALLED, _LISTED = MODEL_CALLED.encode(), CALLS_LISTED.encode()
_FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
_PLACE = {name: place for place, name in enumerate(USAGE_COLUMNS)}


def run_calls(record: Record) -> list[JsonObject]:
    """The calls of a run as its document counts them, each with its `timestamp`; none where its journal cannot be read."""
    return _distinct(_events(record, layout.JOURNAL, _CALLED))


def open_run_calls(path: str, run_id: str | None) -> list[JsonObject]:
    """The calls so far of a run that is open."""
    from runcard.store.runs.open_journals import OpenJournals  # noqa: PLC0415 - few runs are open

    with contextlib.suppress(RuncardError, OSError):
        return _distinct(OpenJournals(path, run_id).lines)
    return []


def session_calls(record: Record) -> list[JsonObject]:
    """The calls that the journal of a session lists, each with its `instance_id`."""
    if type(record) is DirectoryRecord and not os.access(f"{record.path}/{layout.AUDIT}", os.F_OK):
        return []
    listed: list[JsonObject] = []
    events = list(_events(record, layout.AUDIT, _CALLED, _LISTED))
    for event in events:
        if event.get("event") == CALLS_LISTED:
            calls = as_object(event.get("payload")).get("calls")
            listed += [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return listed or _distinct(events)


def open_session_calls(path: str) -> list[JsonObject]:
    """The calls so far of a session that is being recorded."""
    from runcard.store.sessions.live import LiveJournals  # noqa: PLC0415 - few sessions are open

    with contextlib.suppress(RuncardError, OSError):
        return _distinct(LiveJournals(path).lines)
    return []


def _events(record: Record, name: str, *marks: bytes) -> Iterator[JsonObject]:
    """The events in a journal whose lines have one of these marks."""
    with contextlib.suppress(RuncardError, OSError):
        file = record.open(name)
        if file is None:
            return
        with file:
            for line in file:
                if any(mark in line for mark in marks):
                    with contextlib.suppress(RuncardError):
                        event = decode_json(line)
                        if isinstance(event, dict):
                            yield event


def _distinct(events: Iterable[JsonObject]) -> list[JsonObject]:
    calls = []
    for event in events:
        if (call := call_in(event)) is not None:
            own = {name: event[name] for name in ("timestamp", "instance_id") if name in event}
            calls.append(call | own)
    try:
        return distinct_calls(calls)
    except _FOREIGN:
        return []  # of a journal that runcard did not write


def usage_of_calls(
    calls: Sequence[JsonObject], record: Row, whole: Row, agent: Sequence[Any] = (None, None, None)
) -> list[UsageRow]:
    """The rows of calls that add up to the figures of `whole`; none if they do not. `agent` is an id, a role and a name."""
    try:
        rows = [_row(call, record, agent) for call in calls]
    except _FOREIGN:
        return []
    return rows if _agrees(rows, whole) else []


def _row(call: JsonObject, record: Row, agent: Sequence[Any]) -> UsageRow:
    tokens = as_object(call.get("tokens"))
    input_, output, read = (as_count(tokens.get(name)) for name in ("input", "output", "cache_read"))
    written, cost = written_tokens(tokens), cost_units(call.get("cost_usd"))
    started = as_time(call.get("timestamp"))
    instance_id, role, name = agent
    return (
        *(instance_id, as_text(call.get("model")), _provider(call), 1),
        *(
            input_,
            output,
            read,
            written,
            as_count(tokens.get("reasoning")),
            as_text(call.get("token_source")),
        ),
        *(cost, known_part(cost, call.get("known_cost_usd", call.get("cost_usd"))), record["at_least"]),
        *(record["started"] if started is None else started, role, name),
        fresh_input(input_, read, written, record),
        *(_listed_identity(call) if "response" in call else identity_of(call)),
    )


def _provider(call: JsonObject) -> str | None:
    """The provider of a call; of one that was observed at a host that is not known, that of its price."""
    provider = as_text(call.get("provider"))
    if provider is None and call.get("observer") is not None:
        return as_text(as_object(call.get("price_row")).get("provider"))
    return provider


def written_tokens(tokens: JsonObject) -> int | None:
    """The tokens that were written to a cache; unknown if a part is."""
    if "cache_write" in tokens:
        return as_count(tokens["cache_write"])
    short, long = as_count(tokens.get("cache_write_5m")), as_count(tokens.get("cache_write_1h"))
    return None if short is None or long is None else short + long


def _listed_identity(call: JsonObject) -> CallIdentity:
    response, request = (call.get(name) for name in ("response", "request"))
    return CallIdentity(
        number_of(bytes.fromhex(str(response))),
        number_of(bytes.fromhex(request)) if isinstance(request, str) else None,
        as_text(call.get("client_session")),
        JOINED if call.get("observer") == "meter" else TRANSCRIPT,
    )


def _agrees(rows: Sequence[UsageRow], whole: Row) -> bool:
    if not rows or (whole["calls"] is not None and len(rows) != whole["calls"]):
        return False
    for name in ("input", "output"):
        if known_total(row[_PLACE[name]] for row in rows) != whole[name]:
            return False
    costs = [(row[_PLACE["cost"]], row[_PLACE["known_cost"]]) for row in rows]
    known = sum((known if cost is None else cost) or 0 for cost, known in costs)
    stated = whole["known_cost"] if whole["cost"] is None else whole["cost"]
    is_known = all(cost is not None for cost, _ in costs)
    return abs(known - (stated or 0)) <= len(rows) and (is_known or whole["cost"] is None)


def by_instance(calls: Iterable[JsonObject]) -> Mapping[str, list[JsonObject]]:
    """The calls of each agent of a session."""
    found: dict[str, list[JsonObject]] = {}
    for call in calls:
        found.setdefault(str(call.get("instance_id")), []).append(call)
    return found
