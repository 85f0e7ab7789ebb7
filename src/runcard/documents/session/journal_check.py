"""Check the team document of a session against its manifest, its instance documents and its journal.

`SHA256SUMS` fixes the manifest and the instance documents, and the journal has what `collect` stored. The team document is
rebuilt from these, as far as they decide it, and compared. The last event of the journal also has the digest of every
section, which covers the rest; sessions collected by older versions have no such digests.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.chain import Line
from runcard.documents.differences import ValueDifference, differences
from runcard.documents.session import build
from runcard.documents.session.events import (
    COLLECTION_ENDED,
    COLLECTION_STARTED,
    FILE_OMITTED,
    FILES_EXCLUDED,
    INSTANCE_COLLECTED,
)
from runcard.documents.session.performance import earlier_team_sections
from runcard.encoding import JsonObject, canonical_json
from runcard.errors import EncodingError

ONLY_IN_TEAM_DOCUMENT = ("labels", "relations", "system_info", "trace")  # checked by their digests only
FROM_EVENTS = ("audit", "errors", "producer")
SEAL = ("symlinks", "event_chains", "ledger_head", "checksums")  # known only after everything else is written

# The fields of an instance document that the team document does not repeat.
_NOT_IN_ENTRY = frozenset(
    {
        *(
            "version",
            "format_version",
            "producer",
            "children_instance_ids",
            "workspace",
            "output",
            "error",
            "environment",
        ),
        *("performance", "resources", "labels", "trace", "price_rows", "checksums", "sources"),
    }
)
_FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


class SessionParts(NamedTuple):
    """The sealed parts of a session other than its team document."""

    manifest: JsonObject
    instances: Mapping[str, JsonObject]  # by id
    lines: Sequence[Line]


def section_digests(team: JsonObject) -> dict[str, str]:
    """The digest of each section of a team document, except those that are known only when it is sealed."""
    return {
        name: str(sha256_bytes(canonical_json(value))) for name, value in team.items() if name not in SEAL
    }


def changed_sections(team: JsonObject, lines: Sequence[Line]) -> tuple[str, ...] | None:
    """The sections whose digest differs from that in the journal; None if the journal has no digests."""
    known = _payload(lines, COLLECTION_ENDED).get("sections")
    if not isinstance(known, dict):
        return None
    try:
        actual = section_digests(team)
    except EncodingError:
        actual = {}
    return tuple(sorted(name for name in known.keys() | actual.keys() if known.get(name) != actual.get(name)))


def rebuild_differences(team: JsonObject, parts: SessionParts) -> tuple[ValueDifference, ...] | None:
    """Where the team document differs from the rebuilt one; None if runcard did not write the other parts."""
    try:
        expected = _rebuild(team, parts)
        return tuple(differences(expected, {name: team.get(name) for name in expected}))
    except _FOREIGN:
        return None


def _rebuild(team: JsonObject, parts: SessionParts) -> JsonObject:
    order = [entry["instance_id"] for entry in parts.manifest["instances_index"]]
    documents = [parts.instances[instance_id] for instance_id in order]
    entries = [_entry(document) for document in documents]
    created = parts.manifest["timestamp"]
    return {
        "created_at": created,
        "team_session_id": parts.manifest["team_session_id"],
        "total_instances": len(entries),
        "instances": entries,
        "execution_summary": build.execution_summary(entries),
        "token_source": build.weakest_token_source(entries),
        "price_rows": build.distinct_price_rows(
            row for document in documents for row in document["price_rows"]
        ),
        **_performance_and_resources(team, entries, documents),
        "sources": build.team_sources(
            source for document in documents for source in document.get("sources") or ()
        ).get("sources"),
        **_from_events(team, created, documents, parts.lines),
    }


def _performance_and_resources(
    team: JsonObject, entries: Sequence[JsonObject], documents: Sequence[JsonObject]
) -> JsonObject:
    """By the rules of the runcard that wrote the documents."""
    if all("format_version" in document for document in documents):
        return build.team_performance_and_resources(entries, documents)
    seconds = build.execution_summary(entries)["total_execution_time_seconds"]
    has_peak = "peak_memory_bytes" in team["performance"]
    return earlier_team_sections(entries, documents, seconds, has_peak=has_peak)


def _entry(document: JsonObject) -> JsonObject:
    """An instance as the team document lists it."""
    entry = {name: value for name, value in document.items() if name not in _NOT_IN_ENTRY}
    entry["children_count"] = len(document["children_instance_ids"])
    return entry | {"error_message": document["error"]}


def _from_events(
    team: JsonObject, created: str, documents: Sequence[JsonObject], lines: Sequence[Line]
) -> JsonObject:
    """The fields that follow from the events; none if a payload was withheld."""
    if any("payload" not in line for line in lines):
        return {}
    started = _payload(lines, COLLECTION_STARTED)
    omissions = _payloads(lines, FILE_OMITTED)
    excluded: dict[str, int] = {}
    for payload in _payloads(lines, FILES_EXCLUDED):
        excluded[payload["pattern"]] = excluded.get(payload["pattern"], 0) + payload["count"]
    audit = {
        "collected_at": started.get("collected_at", created),
        "collected_by": started["collected_by"],
        "options": started["options"],
        "redactions": _payload(lines, COLLECTION_ENDED)["redactions"],
        "omissions": omissions,
        "excluded": [{"pattern": pattern, "count": count} for pattern, count in sorted(excluded.items())],
    }
    return {
        "producer": started["producer"],
        "errors": _errors(team["errors"], documents, omissions),
        "audit": audit,
    }


def _errors(stated: list[str], documents: Sequence[JsonObject], omissions: Sequence[JsonObject]) -> list[str]:
    """The errors of the instances, then the omissions; an omission has one of two wordings, and the stated one counts."""
    errors = [sentence for document in documents for sentence in build.errors_of(document, document["error"])]
    names = {document["instance_id"]: document["name"] for document in documents}
    for index, omission in enumerate(omissions, len(errors)):
        what = "the workspace" if omission["path"] == "." else omission["path"]
        begin, reason = f"{names[omission['instance_id']]}: {what} ", omission["reason"]
        wordings = [f"{begin}was not stored: {reason}", f"{begin}{reason}"]
        is_other = index < len(stated) and stated[index] == wordings[1]
        errors.append(wordings[1] if is_other else wordings[0])
    return errors


def instance_differences(document: JsonObject, lines: Sequence[Line]) -> tuple[ValueDifference, ...]:
    """Where an instance document differs from what the journal says was stored."""
    for payload in _payloads(lines, INSTANCE_COLLECTED):
        if payload.get("instance_id") == document.get("instance_id"):
            names = ["workspace", "output", *(name for name in ("checksums", "sources") if name in document)]
            stored = {name: payload.get(name) for name in names}
            return tuple(differences(stored, {name: document.get(name) for name in names}))
    return ()


def _payloads(lines: Sequence[Line], name: str) -> list[JsonObject]:
    payloads = [line.get("payload") for line in lines if line.get("event") == name]
    return [payload for payload in payloads if isinstance(payload, dict)]


def _payload(lines: Sequence[Line], name: str) -> JsonObject:
    return next(iter(_payloads(lines, name)), {})
