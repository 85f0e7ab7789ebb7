"""Build the documents of a session from its SPEC and its stored files. Pure: no files, no clock, no prices.

They are built in the newest version, and migrated if an older one is wanted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.documents.migrations import migrate
from runcard.documents.session.error_categories import category, retryable
from runcard.documents.session.performance import instance_sections, team_sections
from runcard.documents.session.roles import known_role
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.documents.times import format_time_ms, whole_seconds
from runcard.documents.token_sources import TOKEN_SOURCES
from runcard.encoding import JsonObject

LATEST = "2.0.0"
IMPORT_FIELDS = (
    "origin_session",
    "recorded_by",
    "usage_incomplete",
    "metered_runs",
)  # of a session that was imported
UNKNOWN = "unknown"  # the model of an instance whose SPEC names none


@dataclass(frozen=True, slots=True)
class InstanceUsage:
    """The usage and the cost of an instance; None if unknown."""

    tokens: JsonObject | None = None  # by class
    tokens_used: int | None = None
    token_source: str | None = None
    cost: float | None = None
    cost_source: str | None = None
    known_cost: float | None = None  # the part of an unknown cost that is known
    price_rows: tuple[JsonObject, ...] = ()
    server_tools: dict[str, int] | None = None  # uses of tools that the vendor bills apart
    model: str | None = None  # as the usage names it, if it is of one model only
    calls: int | None = None
    models: tuple[JsonObject, ...] = ()  # the same by model and service tier, if there are several


@dataclass(frozen=True, slots=True)
class StoredSections:
    """The stored files of an instance: the sections of its document about them, and their digests."""

    workspace: JsonObject | None = None
    output: JsonObject | None = None
    checksums: JsonObject = field(default_factory=dict)
    sources: tuple[JsonObject, ...] = ()  # the session files that were imported
    sources_size: int = 0  # bytes of their copies

    @property
    def size(self) -> int | None:
        """The bytes of the stored workspace and transcripts; None if none was stored."""
        sizes = ((self.workspace or {}).get("total_size_bytes"), (self.output or {}).get("size_bytes"))
        known = [size for size in sizes if size is not None]
        known += [self.sources_size] if self.sources_size else []
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class TeamMember:
    """One agent of the team; secrets in its SPEC are masked."""

    spec: InstanceSpec
    usage: InstanceUsage
    stored: StoredSections
    environment: JsonObject


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """The facts of the collection itself: when, by whom, and what could not be stored."""

    created: datetime
    producer: JsonObject
    system_info: JsonObject
    audit: JsonObject
    omissions: Sequence[str]  # in a sentence each


def instance_document(
    member: TeamMember, children: Sequence[str], facts: CollectionFacts, version: str
) -> JsonObject:
    """The document of one instance."""
    entry = _entry(member, len(children), facts)
    error = entry.pop("error_message")
    del entry["children_count"]
    document: JsonObject = {"version": "1.0.0", "format_version": LATEST, "producer": facts.producer, **entry}
    document["children_instance_ids"] = list(children)
    if member.stored.workspace is not None:
        document["workspace"] = member.stored.workspace
    if member.stored.output is not None:
        document["output"] = member.stored.output
    if member.stored.sources:
        document["sources"] = list(member.stored.sources)
    document["error"] = error
    document["environment"] = member.environment
    document |= _sections(member, entry)
    document |= {name: member.spec.fields[name] for name in ("labels", "trace") if name in member.spec.fields}
    document["price_rows"] = list(member.usage.price_rows)
    document["checksums"] = {"output": None, "workspace": None, **member.stored.checksums}
    return migrate("instance", document, LATEST, version).data


def team_document(
    session: SessionSpec,
    members: Sequence[TeamMember],
    facts: CollectionFacts,
    seal: JsonObject,
    version: str,
) -> JsonObject:
    """The document of the team; `seal` has the fields that are known only after everything else is written."""
    children = children_of(members)
    entries = [_entry(member, len(children[member.spec.instance_id]), facts) for member in members]
    document: JsonObject = {
        "version": LATEST,
        "producer": facts.producer,
        "created_at": format_time_ms(facts.created),
        "team_session_id": session.session_id,
        "total_instances": len(members),
        "instances": entries,
        "execution_summary": execution_summary(entries),
        "system_info": facts.system_info | _known_system_info(session.fields.get("system_info")),
        "errors": errors(members, facts.omissions),
        **team_performance_and_resources(entries, [*map(_sections, members, entries)]),
        "token_source": weakest_token_source(entries),
        "price_rows": distinct_price_rows(row for member in members for row in member.usage.price_rows),
        "labels": session.fields.get("labels", {}),
        "trace": session.fields.get("trace"),
        "relations": session.fields.get("relations", []),
        **{name: session.fields[name] for name in IMPORT_FIELDS if name in session.fields},
        **team_sources(source for member in members for source in member.stored.sources),
        "audit": facts.audit,
        **seal,
    }
    if version != LATEST:
        document["system_info"] = {
            name: value for name, value in document["system_info"].items() if name != "runcard_version"
        }
    return migrate("team", document, LATEST, version).data


def team_sources(sources: Iterable[JsonObject]) -> JsonObject:
    """The field `sources` of a team document: those of its instances; no field if there are none."""
    known = list(sources)
    return {"sources": known} if known else {}


def manifest(document: JsonObject, producer: JsonObject | None, metadata_file: dict[str, str]) -> JsonObject:
    """The index of a session, built from its team document; `metadata_file` has the path of each instance's document."""
    summary = document["execution_summary"]
    index = [
        {
            **{name: entry[name] for name in ("instance_id", "name", "role", "status")},
            "tokens_used": entry.get("tokens_used"),
            "cost": entry.get("cost"),
            "metadata_file": metadata_file[entry["instance_id"]],
        }
        for entry in document["instances"]
    ]
    return {
        "version": "1.0.0",
        **({"producer": producer} if producer else {}),
        "team_session_id": document["team_session_id"],
        "timestamp": document["created_at"],
        "instances_index": index,
        "summary": {
            "total_instances": len(index),
            "completed": summary["completed_instances"],
            "failed": summary["failed_instances"],
            "total_cost": summary.get("total_cost"),
        },
    }


def children_of(members: Sequence[TeamMember]) -> dict[str, list[str]]:
    """The children of each instance, in the order of the SPEC."""
    children: dict[str, list[str]] = {member.spec.instance_id: [] for member in members}
    for member in members:
        if member.spec.parent_id is not None:
            children[member.spec.parent_id].append(member.spec.instance_id)
    return children


def errors(members: Sequence[TeamMember], omissions: Sequence[str]) -> list[str]:
    """The error of each instance and each omission, as sentences."""
    sentences = [
        sentence
        for member in members
        for sentence in errors_of(member.spec.fields, member.spec.fields.get("error_message"))
    ]
    return [*sentences, *omissions]


def errors_of(instance: JsonObject, message: str | None) -> Iterator[str]:
    """The error of one instance as a sentence. Verification compares it: the wording must not change."""
    if message:
        yield f"{instance['name']}: {message}"
    elif instance["status"] in {"error", "timeout"}:
        yield f"{instance['name']}: it ended with the status {instance['status']}, without a message"


def _entry(member: TeamMember, children: int, facts: CollectionFacts) -> JsonObject:
    """An instance as the team document lists it; unknown values are left out."""
    spec, usage = member.spec, member.usage
    spec_fields = spec.fields
    terminated = spec.terminated or facts.created
    role = spec_fields.get("role", "general")
    fields: JsonObject = {
        "instance_id": spec.instance_id,
        "name": spec_fields["name"],
        "role": known_role(role),
        "role_title": role if known_role(role) != role else None,
        "model": spec_fields.get("model") or usage.model or UNKNOWN,
        "status": spec_fields["status"],
        "created_at": format_time_ms(spec.created),
        "terminated_at": format_time_ms(terminated),
        "terminated_at_source": _end_source(spec),
        "execution_time_seconds": spec_fields.get(
            "execution_time_seconds", max(0, whole_seconds(spec.created, terminated))
        ),
        "tokens_used": usage.tokens_used,
        "token_source": usage.token_source,
        "tokens": usage.tokens,
        "server_tools": usage.server_tools,
        "calls": usage.calls,
        "models": list(usage.models) or None,
        "tool_uses": spec_fields.get("tool_uses"),
        "errors_by_category": spec_fields.get("errors_by_category"),
        "cost": usage.cost,
        "cost_source": usage.cost_source,
        "known_cost": usage.known_cost,
    }
    entry = {name: value for name, value in fields.items() if value is not None}
    entry |= {"parent_instance_id": spec.parent_id, "children_count": children}
    entry["error_message"] = spec_fields.get("error_message")
    details = error_details(spec_fields)
    return entry | ({"error_details": details} if details else {})


def _end_source(spec: InstanceSpec) -> str:
    if "terminated_at_source" in spec.fields:
        return str(spec.fields["terminated_at_source"])
    is_observed = spec.terminated is not None and spec.fields["status"] != "running"
    return "observed" if is_observed else "collected"


def error_details(spec_fields: JsonObject) -> JsonObject | None:
    """The error with its category: as the SPEC gives it, or derived from the message."""
    if "error_details" in spec_fields:
        details: JsonObject = spec_fields["error_details"]
        return details
    kind = category(spec_fields.get("error_message"), spec_fields["status"])
    if kind is None:
        return None
    details = {"category": kind}
    if spec_fields.get("error_message"):
        details["message"] = spec_fields["error_message"]
    may_retry = retryable(kind)
    return details if may_retry is None else details | {"retryable": may_retry}


def execution_summary(entries: Sequence[JsonObject]) -> JsonObject:
    """The totals of the team. A total is left out if a part of it is unknown."""
    completed = sum(1 for entry in entries if entry["status"] == "completed")
    start = min(entries, key=_created)["created_at"]
    end = max(entries, key=_terminated)["terminated_at"]
    known_tokens = [entry["tokens_used"] for entry in entries if "tokens_used" in entry]
    costs = [entry["cost"] for entry in entries if "cost" in entry]
    partly = [entry["known_cost"] for entry in entries if "cost" not in entry and "known_cost" in entry]
    tokens = sum(known_tokens) if len(known_tokens) == len(entries) else None
    fields: JsonObject = {
        "total_instances": len(entries),
        "completed_instances": completed,
        "failed_instances": len(entries) - completed,
        "total_tokens": tokens,
        "total_cost": _exact_total(costs) if len(costs) == len(entries) else None,
        "execution_start": start,
        "execution_end": end,
        "total_execution_time_seconds": whole_seconds(
            datetime.fromisoformat(start), datetime.fromisoformat(end)
        ),
        "average_tokens_per_instance": None if tokens is None else _average(tokens, len(entries)),
        "all_completed": completed == len(entries),
        "status_counts": dict(Counter(entry["status"] for entry in entries)),
        "known_cost": _exact_total([*costs, *partly]),
        "known_tokens": sum(known_tokens),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _created(entry: JsonObject) -> datetime:
    return datetime.fromisoformat(entry["created_at"])


def _terminated(entry: JsonObject) -> datetime:
    return datetime.fromisoformat(entry["terminated_at"])


def _exact_total(amounts: Sequence[float]) -> float | int:
    return plain_number(exact_sum(amounts))


def _average(total: int, count: int) -> float | int:
    return total // count if total % count == 0 else round(total / count, 2)


def _sections(member: TeamMember, entry: JsonObject) -> JsonObject:
    """Performance and resources of one instance."""
    return instance_sections(
        member.spec.fields, entry["execution_time_seconds"], member.stored.size, member.usage.tokens
    )


def team_performance_and_resources(
    entries: Sequence[JsonObject], instances: Sequence[JsonObject]
) -> JsonObject:
    """Performance and resources of the team, from the documents of its instances."""
    return team_sections(entries, instances, execution_summary(entries)["total_execution_time_seconds"])


def weakest_token_source(entries: Sequence[JsonObject]) -> str | None:
    """The source of a total: the least reliable of its parts; None if a part is unknown."""
    return max((entry.get("token_source") for entry in entries), key=TOKEN_SOURCES.index)


def distinct_price_rows(rows: Iterable[JsonObject | None]) -> list[JsonObject]:
    """The price rows that were used, without duplicates."""
    distinct: list[JsonObject] = []
    for row in rows:
        if row is not None and row not in distinct:
            distinct.append(row)
    return distinct


def _known_system_info(spec_fields: JsonObject | None) -> JsonObject:
    return {name: value for name, value in (spec_fields or {}).items() if value is not None}
