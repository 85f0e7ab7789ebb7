"""The documents of a session, made of its SPEC and of what was kept of it. Pure: no files, no clock, no prices.

They are made in the newest version; an older one is what migrating leaves of them, so that there is one way only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from runcard.documents.exact_sums import all_known, exact_sum, plain_number
from runcard.documents.migrations import migrate
from runcard.documents.session.error_categories import category, retryable
from runcard.documents.session.roles import known_role
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.documents.times import format_time_ms, whole_seconds
from runcard.documents.token_sources import TOKEN_SOURCES
from runcard.encoding import JsonObject

LATEST = "2.0.0"
UNKNOWN = "unknown"  # the model of an instance whose model nobody knows
TOKEN_CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")


@dataclass(frozen=True, slots=True)
class InstanceUsage:
    """What an instance used and cost; None is what nobody knows."""

    tokens: JsonObject | None = None  # by class
    tokens_used: int | None = None
    token_source: str | None = None
    cost: float | None = None
    cost_source: str | None = None
    price_row: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class StoredSections:
    """What was stored of an instance: the sections of its document, and their digests."""

    workspace: JsonObject | None = None
    output: JsonObject | None = None
    checksums: JsonObject = field(default_factory=dict)

    @property
    def size(self) -> int:
        return int(
            (self.workspace or {}).get("total_size_bytes", 0) + (self.output or {}).get("size_bytes", 0)
        )


@dataclass(frozen=True, slots=True)
class TeamMember:
    """One agent of the team, with all that is known of it; its SPEC is without secrets by now."""

    spec: InstanceSpec
    account: InstanceUsage
    kept: StoredSections
    environment: JsonObject


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """What the collection itself knows: when, by whom, and what it could not keep."""

    created: datetime
    producer: JsonObject
    system_info: JsonObject
    audit: JsonObject
    omissions: Sequence[str]  # in a sentence each


def instance_document(
    member: TeamMember, children: Sequence[str], collected: CollectionFacts, version: str
) -> JsonObject:
    """The document of one instance."""
    entry = _entry(member, len(children), collected)
    error = entry.pop("error_message")
    del entry["children_count"]
    document: JsonObject = {"version": LATEST, "producer": collected.producer, **entry}
    document["children_instance_ids"] = list(children)
    if member.kept.workspace is not None:
        document["workspace"] = member.kept.workspace
    if member.kept.output is not None:
        document["output"] = member.kept.output
    document["error"] = error
    document["environment"] = member.environment
    document |= _measured(member, entry["execution_time_seconds"])
    document |= {name: member.spec.given[name] for name in ("labels", "trace") if name in member.spec.given}
    document["price_rows"] = [member.account.price_row] if member.account.price_row else []
    document["checksums"] = {"output": None, "workspace": None, **member.kept.checksums}
    return migrate("instance", document, LATEST, version).data


def team_document(
    session: SessionSpec,
    members: Sequence[TeamMember],
    collected: CollectionFacts,
    seal: JsonObject,
    version: str,
) -> JsonObject:
    """The document of the team; `seal` is what is known only when everything else is written."""
    children = children_of(members)
    entries = [_entry(member, len(children[member.spec.instance_id]), collected) for member in members]
    document: JsonObject = {
        "version": LATEST,
        "producer": collected.producer,
        "created_at": format_time_ms(collected.created),
        "team_session_id": session.session_id,
        "total_instances": len(members),
        "instances": entries,
        "execution_summary": execution_summary(entries),
        "system_info": collected.system_info | _observed_system(session.given.get("system_info")),
        "errors": errors(members, collected.omissions),
        **team_measured(entries, [_measured(member, 0) for member in members]),
        "token_source": weakest(entries),
        "price_rows": distinct(member.account.price_row for member in members),
        "labels": session.given.get("labels", {}),
        "trace": session.given.get("trace"),
        "relations": session.given.get("relations", []),
        "audit": collected.audit,
        **seal,
    }
    if version != LATEST:
        document["system_info"] = {
            name: value for name, value in document["system_info"].items() if name != "runcard_version"
        }
    return migrate("team", document, LATEST, version).data


def manifest(document: JsonObject, producer: JsonObject | None, metadata_file: dict[str, str]) -> JsonObject:
    """The index of a session, made of its team document; `metadata_file` has each instance's document by its id."""
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
    """Whom each instance started, in the order of the SPEC."""
    children: dict[str, list[str]] = {member.spec.instance_id: [] for member in members}
    for member in members:
        if member.spec.parent_id is not None:
            children[member.spec.parent_id].append(member.spec.instance_id)
    return children


def errors(members: Sequence[TeamMember], omissions: Sequence[str]) -> list[str]:
    """Each instance's error and each omission in a sentence."""
    said = [
        sentence
        for member in members
        for sentence in errors_of(member.spec.given, member.spec.given.get("error_message"))
    ]
    return [*said, *omissions]


def errors_of(instance: JsonObject, message: str | None) -> Iterator[str]:
    """The error of one instance in a sentence, if it had one."""
    if message:
        yield f"{instance['name']}: {message}"
    elif instance["status"] in {"error", "timeout"}:
        yield f"{instance['name']}: it ended with the status {instance['status']}, without a message"


def _entry(member: TeamMember, children: int, collected: CollectionFacts) -> JsonObject:
    """An instance as the team document lists it; what is not known is left out."""
    spec, account = member.spec, member.account
    given = spec.given
    terminated = spec.terminated or collected.created
    role = given.get("role", "general")
    said: JsonObject = {
        "instance_id": spec.instance_id,
        "name": given["name"],
        "role": known_role(role),
        "role_title": role if known_role(role) != role else None,
        "model": given.get("model", UNKNOWN),
        "status": given["status"],
        "created_at": format_time_ms(spec.created),
        "terminated_at": format_time_ms(terminated),
        "terminated_at_source": _end_source(spec),
        "execution_time_seconds": given.get(
            "execution_time_seconds", max(0, whole_seconds(spec.created, terminated))
        ),
        "tokens_used": account.tokens_used,
        "token_source": account.token_source,
        "tokens": account.tokens,
        "cost": account.cost,
        "cost_source": account.cost_source,
    }
    entry = {name: value for name, value in said.items() if value is not None}
    entry |= {"parent_instance_id": spec.parent_id, "children_count": children}
    entry["error_message"] = given.get("error_message")
    details = error_details(given)
    return entry | ({"error_details": details} if details else {})


def _end_source(spec: InstanceSpec) -> str:
    is_seen = spec.terminated is not None and spec.given["status"] != "running"
    return "observed" if is_seen else "collected"


def error_details(given: JsonObject) -> JsonObject | None:
    """What went wrong, by category; as somebody gave it, or as the message tells."""
    if "error_details" in given:
        details: JsonObject = given["error_details"]
        return details
    kind = category(given.get("error_message"), given["status"])
    if kind is None:
        return None
    details = {"category": kind}
    if given.get("error_message"):
        details["message"] = given["error_message"]
    may_try = retryable(kind)
    return details if may_try is None else details | {"retryable": may_try}


def execution_summary(entries: Sequence[JsonObject]) -> JsonObject:
    """The team in numbers. A total is left out when a part of it is not known."""
    completed = sum(1 for entry in entries if entry["status"] == "completed")
    start = min(entries, key=_created)["created_at"]
    end = max(entries, key=_terminated)["terminated_at"]
    known_tokens = [entry["tokens_used"] for entry in entries if "tokens_used" in entry]
    known_cost = [entry["cost"] for entry in entries if "cost" in entry]
    tokens = sum(known_tokens) if len(known_tokens) == len(entries) else None
    said: JsonObject = {
        "total_instances": len(entries),
        "completed_instances": completed,
        "failed_instances": len(entries) - completed,
        "total_tokens": tokens,
        "total_cost": _money(known_cost) if len(known_cost) == len(entries) else None,
        "execution_start": start,
        "execution_end": end,
        "total_execution_time_seconds": whole_seconds(
            datetime.fromisoformat(start), datetime.fromisoformat(end)
        ),
        "average_tokens_per_instance": None if tokens is None else _average(tokens, len(entries)),
        "all_completed": completed == len(entries),
        "status_counts": dict(Counter(entry["status"] for entry in entries)),
        "known_cost": _money(known_cost),
        "known_tokens": sum(known_tokens),
    }
    return {name: value for name, value in said.items() if value is not None}


def _created(entry: JsonObject) -> datetime:
    return datetime.fromisoformat(entry["created_at"])


def _terminated(entry: JsonObject) -> datetime:
    return datetime.fromisoformat(entry["terminated_at"])


def _money(amounts: Sequence[float]) -> float | int:
    return plain_number(exact_sum(amounts))


def _average(total: int, count: int) -> float | int:
    return total // count if total % count == 0 else round(total / count, 2)


def _measured(member: TeamMember, seconds: int) -> JsonObject:
    """Performance and resources of one instance: what was given, and what a collection sees itself."""
    given = member.spec.given
    return {
        "performance": {"wall_seconds": seconds, **given.get("performance", {})},
        "resources": {
            **given.get("resources", {}),
            "disk_bytes": member.kept.size,
            "tokens": member.account.tokens,
        },
    }


def team_measured(entries: Sequence[JsonObject], instances: Sequence[JsonObject]) -> JsonObject:
    """Performance and resources of the team, made of those of its instances' documents."""
    summary = execution_summary(entries)
    measured = [instance.get("performance", {}) for instance in instances]
    used = [instance.get("resources", {}) for instance in instances]
    active = all_known(one.get("active_seconds") for one in measured)
    cpu = all_known(one.get("cpu_seconds") for one in used)
    return {
        "performance": {
            "response_times": _response_times(measured),
            "wall_seconds": summary["total_execution_time_seconds"],
            "active_seconds": None if active is None else _money(active),
        },
        "resources": {
            "cpu_seconds": None if cpu is None else _money(cpu),
            "disk_bytes": sum(one["disk_bytes"] for one in used),
            "tokens": {name: _class_total(name, used) for name in TOKEN_CLASSES},
        },
    }


def _response_times(measured: Sequence[JsonObject]) -> JsonObject | None:
    """Those of all calls of the team, as far as they follow from those of its instances: a median of many does not."""
    known = all_known(one.get("response_times") for one in measured)
    if not known:
        return None
    if len(known) == 1:
        only: JsonObject = known[0]
        return only
    counts, means, longest = ([times.get(name) for times in known] for name in ("count", "mean", "max"))
    if None in (*counts, *means, *longest):
        return None
    total = sum(counts)
    mean = sum(count * value for count, value in zip(counts, means, strict=True)) / total if total else None
    return {"count": total, "mean": mean, "p50": None, "p95": None, "max": max(longest)}


def _class_total(name: str, used: Sequence[JsonObject]) -> int | None:
    known = all_known((one.get("tokens") or {}).get(name) for one in used)
    return None if known is None else sum(known)


def weakest(entries: Sequence[JsonObject]) -> str | None:
    """The source of the sum: the weakest of its parts; None when a part is not known."""
    return max((entry.get("token_source") for entry in entries), key=TOKEN_SOURCES.index)


def distinct(rows: Iterable[JsonObject | None]) -> list[JsonObject]:
    """The price rows that were used, each once."""
    found: list[JsonObject] = []
    for row in rows:
        if row is not None and row not in found:
            found.append(row)
    return found


def _observed_system(given: JsonObject | None) -> JsonObject:
    return {name: value for name, value in (given or {}).items() if value is not None}
