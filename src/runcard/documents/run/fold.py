"""Start document + events + files → final document. A pure function.

Everything that happens in a run is an event in its journal. Whoever closes the run, its recorder or another process after
it was killed, folds the same events and gets the same document. No clock, no files, no guesses: a value that no event has
stays null. The one estimate, the end of a killed run, is in `estimated_end.py`.

The events are named in `events.py`. All others are the user's own and are ignored, as are damaged lines.

Invariant: whatever the events are, the fields of the document agree with each other.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.checksums import Listing
from runcard.documents.chain import Head, Line
from runcard.documents.exact_sums import all_known
from runcard.documents.run import events
from runcard.documents.run.call_totals import RunCalls
from runcard.documents.run.config_digest import config_digest
from runcard.documents.run.estimated_end import estimated_end
from runcard.documents.run.events import MODEL_CALLED, PAYLOADS, RUN_STARTED
from runcard.documents.run.incomplete_usage import IncompleteUsage
from runcard.documents.run.size_limit import TRUNCATED, cut_to_limit
from runcard.documents.times import parse_time
from runcard.documents.token_sources import weakest_source
from runcard.encoding import JsonObject

if TYPE_CHECKING:
    from datetime import datetime

    from runcard.documents.run.metrics import Metrics

# Fields of events that are objects: later ones are merged over earlier ones.
_MERGED = {
    events.CONFIG_SET: "configuration",
    events.ENVIRONMENT_OBSERVED: "environment",
    events.LABELS_SET: "labels",
}
NO_END = "the end of the run is not recorded, so calls that were in progress are not counted"
_TOKEN_COUNT = ("tokens", "token_source", "tokenizer")


class FileFacts(NamedTuple):
    """What closing the run found on disk."""

    output: str | None  # digest of the bytes of SHA256SUMS
    symlinks: list[JsonObject]
    chains: tuple[Head, ...]
    ledger_head: str | None


def start_document_in(lines: Iterable[Line]) -> JsonObject | None:
    """The start document in the first event, in case the file was lost."""
    return next(
        (line["payload"] for line in lines if line.get("event") == RUN_STARTED and "payload" in line), None
    )


def fold(start: JsonObject, lines: Iterable[Line], files: FileFacts) -> JsonObject:
    """The final document of a run."""
    return cut_to_size(add_file_facts(fold_events(start, lines), files))


def cut_to_size(document: JsonObject) -> JsonObject:
    """The document, cut if it is larger than readers accept; what depends on the parts that were cut is updated."""
    smaller, cuts = cut_to_limit(document)
    if cuts is None:
        return document
    files = smaller["data_sources"]["files"]
    warning = {
        "type": TRUNCATED,
        "message": f"the document was too large, so it was cut: {cuts}; the journal has everything",
        "timestamp": document["generation"]["timestamp_end"],
    }
    digests = {"config": config_digest(smaller["configuration"]), "data": data_digest(files)}
    return smaller | {
        "data_sources": smaller["data_sources"] | _input_totals(files),
        "checksums": smaller["checksums"] | digests,
        "warnings": [*smaller["warnings"], warning],
    }


def add_file_facts(document: JsonObject, files: FileFacts) -> JsonObject:
    """The folded document, completed with what closing the run found on disk."""
    return document | {
        "symlinks": files.symlinks,
        "event_chains": [head.to_dict() for head in files.chains],
        "ledger_head": files.ledger_head,
        "checksums": document["checksums"] | {"output": files.output},
    }


def fold_events(
    start: JsonObject,
    lines: Iterable[Line],
    newest_file: str | None = None,
    *,
    with_repeats: bool = False,
    with_parts: bool = True,
) -> JsonObject:
    """The document as far as the events decide it; `newest_file` is when a killed run wrote its newest file.

    Earlier versions of runcard counted repeated reports of a response as well, and no calls inside others in `performance`:
    `with_repeats` and `with_parts` fold as they did. `lines` are iterated again if responses were reported repeatedly.
    """
    folded = EventFold(with_repeats=with_repeats)
    for line in lines:
        folded.add(line)
    folded.count_once(lines)
    return folded.document(start, newest_file, with_parts=with_parts)


class EventFold:
    """Folds events as they come: `add` each, then `count_once` with all of them again, then take the `document`.

    What it keeps grows with the document, not with the events: of calls only the times and the hashes of response ids,
    8 bytes each.
    """

    def __init__(self, *, with_repeats: bool = False) -> None:
        self.start: object = None  # the start document in the first event
        self._has_start = False
        self._last_time: str | None = None
        self._last_moment: datetime | None = None
        self._last: dict[str, JsonObject] = {}  # by event
        self._merged: dict[str, JsonObject] = {name: {} for name in _MERGED}  # by event
        self._inputs: dict[str, JsonObject] = {}
        self._token_counts: dict[tuple[str, str], JsonObject] = {}
        self._calls = RunCalls(with_repeats=with_repeats)
        self._incomplete = IncompleteUsage()
        self._metrics: Metrics | None = None
        self._has_metered = False  # whether a call has reached the meter
        self.has_end = False  # whether an event tells the end, perhaps one whose payload was withheld
        self._stated_totals: JsonObject = {}
        self._relations: list[JsonObject] = []
        self._problems: dict[str, list[JsonObject]] = {events.ERROR_ADDED: [], events.WARNING_ADDED: []}
        self._redactions: dict[tuple[str, str], int] = {}

    def add(self, line: Line) -> None:
        """Add the next event. One that runcard did not write may raise a TypeError or another error of this kind."""
        self._add_time(line.get("timestamp"))
        name = line.get("event")
        if name == RUN_STARTED and not self._has_start and "payload" in line:
            self.start, self._has_start = line["payload"], True
        self.has_end = self.has_end or name == events.RUN_ENDED
        self._has_metered = self._has_metered or name == events.METERING_STARTED
        payload = _payload(line)
        if payload is not None:
            self._add_payload(str(name), payload, line)

    def count_once(self, lines: Iterable[Line]) -> None:
        """Count each response once, however often it was reported; only if some were repeated, the lines are read."""
        calls = self._calls.read_again()
        if calls is None:
            return
        self._calls = calls
        for line in lines:
            if line.get("event") == MODEL_CALLED and (payload := _payload(line)) is not None:
                calls.add(payload)

    def document(
        self, start: JsonObject, newest_file: str | None = None, *, with_parts: bool = True
    ) -> JsonObject:
        """The document as far as the events decide it; see `fold_events`."""
        sources = self._data_sources(start["data_sources"])
        incomplete = self._missing_usage()
        calls = self._calls.sections(
            self._stated_totals,
            self.given_configuration(start),
            with_parts=with_parts,
            is_incomplete=bool(incomplete),
        )
        if incomplete:
            calls.token_usage["incomplete"] = incomplete.section
        document: JsonObject = {
            "metadata_version": start["metadata_version"],
            "producer": start["producer"],
            "generation": self._generation(start["generation"], newest_file),
            "configuration": calls.configuration,
            "data_sources": sources,
            "environment": dict(start["environment"]) | self._merged[events.ENVIRONMENT_OBSERVED],
            "costs": calls.costs,
            "token_usage": calls.token_usage,
        }
        document["resources"] = self._ended.get("resources")
        if calls.performance is not None:
            document["performance"] = calls.performance
        if self._metrics is not None:
            document["metrics"] = self._metrics.section
        if witness := self._last.get(events.WITNESS_COMPARED):
            document["witness"] = dict(witness)
        document["relations"] = [*start.get("relations", []), *self._relations]
        document["trace"] = start.get("trace")
        document["errors"] = list(self._problems[events.ERROR_ADDED])
        document["warnings"] = [*self._problems[events.WARNING_ADDED], *incomplete.warnings]
        document["redactions"] = [
            {"rule": rule, "where": where, "count": count}
            for (rule, where), count in self._redactions.items()
        ]
        document |= {"symlinks": [], "event_chains": [], "ledger_head": None}
        known = set(document) | {"checksums"}
        document |= {key: value for key, value in start.items() if key not in known}
        document["checksums"] = {
            "config": config_digest(calls.configuration),
            "data": data_digest(sources["files"]),
            "output": None,
        }
        return document

    def _missing_usage(self) -> IncompleteUsage:
        """Why calls may be missing. The meter reports a call when it is over: of a killed run the last ones are not known."""
        if self.has_end or not self._has_metered:
            return self._incomplete
        return self._incomplete.with_reason(NO_END, self._last_time)

    def given_configuration(self, start: JsonObject) -> JsonObject:
        """The configuration as the user gave it, without what the calls fill in."""
        return dict(start["configuration"]) | self._merged[events.CONFIG_SET]

    def without_call_facts(self, document: JsonObject, start: JsonObject) -> JsonObject:
        """A folded document as earlier versions of runcard folded it: calls filled in no model and had no times."""
        configuration = self.given_configuration(start)
        checksums = document["checksums"] | {"config": config_digest(configuration)}
        earlier = document | {"configuration": configuration, "checksums": checksums}
        return {name: value for name, value in earlier.items() if name != "performance"}

    @property
    def _ended(self) -> JsonObject:
        return self._last.get(events.RUN_ENDED, {})

    def _add_time(self, time: object) -> None:
        moment = parse_time(time) if isinstance(time, str) else None
        if moment is not None and (self._last_moment is None or moment >= self._last_moment):
            self._last_time, self._last_moment = str(time), moment

    def _add_payload(self, name: str, payload: JsonObject, line: Line) -> None:
        match name:
            case events.MODEL_CALLED | events.COSTS_SET | events.USAGE_INCOMPLETE:
                self._add_usage(name, payload, line)
            case events.CONFIG_SET | events.ENVIRONMENT_OBSERVED | events.LABELS_SET:
                self._merged[name] |= payload[_MERGED[name]]
            case events.METRIC_LOGGED:
                self._add_metric(payload)
            case events.ERROR_ADDED | events.WARNING_ADDED:
                self._problems[name].append(_problem(payload, line))
            case events.INPUTS_ADDED:
                self._inputs |= _inputs_in(payload)
            case events.INPUTS_COUNTED:
                self._add_token_counts(payload["files"])
            case events.RELATION_ADDED:
                self._relations.append(payload)
            case events.SECRETS_MASKED:
                key = (payload["rule"], payload["where"])
                self._redactions[key] = self._redactions.get(key, 0) + payload["count"]
            case events.RUN_ENDED | events.WITNESS_COMPARED:
                self._last[name] = payload

    def _add_usage(self, name: str, payload: JsonObject, line: Line) -> None:
        match name:
            case events.MODEL_CALLED:
                self._has_metered = self._has_metered or payload.get("observer") == "meter"
                self._calls.add(payload)
            case events.COSTS_SET:
                self._stated_totals |= payload
            case events.USAGE_INCOMPLETE:
                self._incomplete.add(payload, line.get("timestamp"))

    def _add_metric(self, payload: JsonObject) -> None:
        if isinstance(payload["value"], bool):
            return  # of a journal that runcard did not write
        if self._metrics is None:
            from runcard.documents.run.metrics import Metrics  # noqa: PLC0415 - most runs have none

            self._metrics = Metrics()
        self._metrics.add(payload["name"], payload["value"])

    def _add_token_counts(self, files: list[Any]) -> None:
        for counted in files:
            if isinstance(counted, dict) and type(counted.get("tokens")) is int:
                path = counted.get("path")
                if isinstance(path, str):
                    self._token_counts[path, repr(counted.get("sha256"))] = counted

    def _generation(self, start: JsonObject, newest_file: str | None) -> JsonObject:
        generation = dict(start) | {"labels": {**start.get("labels", {}), **self._merged[events.LABELS_SET]}}
        ended = self._ended
        if not ended:
            return generation | estimated_end(start["timestamp_start"], [newest_file, self._last_time])
        return generation | {
            "status": ended["status"],
            "timestamp_end": ended["timestamp_end"],
            "duration_seconds": ended["duration_seconds"],
            "exit_code": ended.get("exit_code"),
            "estimated": [],
        }

    def _data_sources(self, start: JsonObject) -> JsonObject:
        files: dict[str, JsonObject] = {file["path"]: file for file in start["files"] or ()} | self._inputs
        for counted in self._token_counts.values():
            known = files.get(counted["path"])
            if known is not None and known.get("sha256") == counted.get(
                "sha256"
            ):  # else it was added again since
                files[counted["path"]] = known | {name: counted.get(name) for name in _TOKEN_COUNT}
        inputs = list(files.values())
        return {"files": inputs, **_input_totals(inputs)}


def call_in(line: Line) -> JsonObject | None:
    """The call that an event reports; None of another event."""
    return _payload(line) if line.get("event") == MODEL_CALLED else None


def _payload(line: Line) -> JsonObject | None:
    """The complete payload of an event of runcard; None if it was withheld, or is not one."""
    name, payload = line.get("event"), line.get("payload")
    if not isinstance(name, str) or name not in PAYLOADS or not isinstance(payload, dict):
        return None
    fields = PAYLOADS[name].items()
    return payload if all(isinstance(payload.get(key), kind) for key, kind in fields) else None


def _inputs_in(payload: JsonObject) -> dict[str, JsonObject]:
    return {
        file["path"]: dict(file) for file in payload["files"] if isinstance(file, dict) and "path" in file
    }


def _problem(payload: JsonObject, line: Line) -> JsonObject:
    return {"type": payload.get("type"), "message": payload["message"], "timestamp": line.get("timestamp")}


def data_digest(files: list[JsonObject] | None) -> str | None:
    """The digest of the inputs: that of a SHA256SUMS over the paths as they were recorded."""
    hexes = {file["path"]: file["sha256"] for file in files or () if file.get("sha256") and file.get("path")}
    return str(Listing.from_hex(hexes).digest) if hexes else None


def _input_totals(inputs: list[JsonObject]) -> JsonObject:
    sizes = all_known(file.get("bytes") for file in inputs)
    tokens = all_known(file.get("tokens") for file in inputs)
    return {
        "total_files": len(inputs),
        "total_bytes": None if sizes is None else sum(sizes),
        "total_tokens": sum(tokens) if tokens else None,
        "token_source": weakest_source(file.get("token_source") for file in inputs) if tokens else None,
    }
