"""Whether the team document of a session says what the rest of the session says.

The documents of the instances and the manifest are fixed by `SHA256SUMS`, and the collection told its journal what it kept.
From these the team document is made again, as far as they decide it, and compared. The last event of the journal has the
digest of every section as well, which covers what nothing else repeats; sessions collected before that have none.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.chain import Line
from runcard.documents.differences import ValueDifference, differences
from runcard.documents.session import build
from runcard.encoding import JsonObject, canonical_json
from runcard.errors import EncodingError

COLLECTION_STARTED = "collection.started"  # collected_by, producer, options
FILES_EXCLUDED = "files.excluded"  # pattern, count
FILE_OMITTED = "file.omitted"  # instance_id, path, reason: as in `audit`
INSTANCE_COLLECTED = "instance.collected"  # workspace, output, checksums: as in the document of the instance
COLLECTION_ENDED = "collection.ended"  # redactions; sections: the digest of each section of the team document

REPEATED_NOWHERE = ("labels", "relations", "system_info", "trace")  # but for their digests
TOLD_BY_EVENTS = ("audit", "errors", "producer")
SEAL = ("symlinks", "event_chains", "ledger_head", "checksums")  # known only when everything else is written

# What the team document has of an instance, beside what only one of the two has.
_NOT_IN_ENTRY = frozenset(
    {
        *("version", "producer", "children_instance_ids", "workspace", "output", "error", "environment"),
        *("performance", "resources", "labels", "trace", "price_rows", "checksums"),
    }
)
_FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


class Parts(NamedTuple):
    """What a session has beside its team document, as it was sealed."""

    manifest: JsonObject
    instances: Mapping[str, JsonObject]  # by id
    lines: Sequence[Line]


def section_digests(team: JsonObject) -> dict[str, str]:
    """The digest of each section of a team document, but for what is known only when it is sealed."""
    return {
        name: str(sha256_bytes(canonical_json(value))) for name, value in team.items() if name not in SEAL
    }


def changed_sections(team: JsonObject, lines: Sequence[Line]) -> tuple[str, ...] | None:
    """The sections that are not those that the journal has the digests of; None where it has none."""
    known = _payload(lines, COLLECTION_ENDED).get("sections")
    if not isinstance(known, dict):
        return None
    try:
        found = section_digests(team)
    except EncodingError:
        found = {}
    return tuple(sorted(name for name in known.keys() | found.keys() if known.get(name) != found.get(name)))


def remade(team: JsonObject, parts: Parts) -> tuple[ValueDifference, ...] | None:
    """Where the team document is not what the other parts make of it; None where they are no parts of runcard's."""
    try:
        expected = _remade(team, parts)
        return tuple(differences(expected, {name: team.get(name) for name in expected}))
    except _FOREIGN:
        return None


def _remade(team: JsonObject, parts: Parts) -> JsonObject:
    order = [entry["instance_id"] for entry in parts.manifest["instances_index"]]
    documents = [parts.instances[own] for own in order]
    entries = [_entry(document) for document in documents]
    created = parts.manifest["timestamp"]
    return {
        "created_at": created,
        "team_session_id": parts.manifest["team_session_id"],
        "total_instances": len(entries),
        "instances": entries,
        "execution_summary": build.execution_summary(entries),
        "token_source": build.weakest(entries),
        "price_rows": build.distinct(row for document in documents for row in document["price_rows"]),
        **build.team_measured(entries, documents),
        **_told_by_journal(team, created, documents, parts.lines),
    }


def _entry(document: JsonObject) -> JsonObject:
    """An instance as the team document lists it."""
    entry = {name: value for name, value in document.items() if name not in _NOT_IN_ENTRY}
    entry["children_count"] = len(document["children_instance_ids"])
    return entry | {"error_message": document["error"]}


def _told_by_journal(
    team: JsonObject, created: str, documents: Sequence[JsonObject], lines: Sequence[Line]
) -> JsonObject:
    """What the events decide; nothing of it when a payload was withheld."""
    if any("payload" not in line for line in lines):
        return {}
    started = _payload(lines, COLLECTION_STARTED)
    omissions = _payloads(lines, FILE_OMITTED)
    excluded: dict[str, int] = {}
    for payload in _payloads(lines, FILES_EXCLUDED):
        excluded[payload["pattern"]] = excluded.get(payload["pattern"], 0) + payload["count"]
    audit = {
        "collected_at": created,
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
    """The errors of the instances, then the omissions; the journal does not say which of two wordings one has."""
    errors = [sentence for document in documents for sentence in build.errors_of(document, document["error"])]
    names = {document["instance_id"]: document["name"] for document in documents}
    for place, omission in enumerate(omissions, len(errors)):
        what = "the workspace" if omission["path"] == "." else omission["path"]
        begin, reason = f"{names[omission['instance_id']]}: {what} ", omission["reason"]
        wordings = [f"{begin}was not stored: {reason}", f"{begin}{reason}"]
        is_other = place < len(stated) and stated[place] == wordings[1]
        errors.append(wordings[1] if is_other else wordings[0])
    return errors


def instance_differences(document: JsonObject, lines: Sequence[Line]) -> tuple[ValueDifference, ...]:
    """Where the document of an instance does not say what the journal says was kept of it."""
    for payload in _payloads(lines, INSTANCE_COLLECTED):
        if payload.get("instance_id") == document.get("instance_id"):
            names = ["workspace", "output", *(["checksums"] if "checksums" in document else [])]
            kept = {name: payload.get(name) for name in names}
            return tuple(differences(kept, {name: document.get(name) for name in names}))
    return ()


def _payloads(lines: Sequence[Line], name: str) -> list[JsonObject]:
    found = [line.get("payload") for line in lines if line.get("event") == name]
    return [payload for payload in found if isinstance(payload, dict)]


def _payload(lines: Sequence[Line], name: str) -> JsonObject:
    return next(iter(_payloads(lines, name)), {})
