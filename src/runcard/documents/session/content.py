"""The content of a session: what two collections of the same work have in common.

It is made of the facts in the documents that come from the SPEC, and of the digests of the stored files. The time, the user,
the machine and the options of a collection do not count, nor the path of a workspace. The end of an instance counts only if
it was observed. Computed costs are apart: they change with the SPEC, and with the price table.

Facts are taken from the documents, so that sessions that older versions collected can be compared as well.
"""

from collections.abc import Iterable
from typing import Any

from runcard.encoding import JsonObject

COMPUTED = "computed_costs"

_TEAM_FACTS = ("version", "team_session_id", "labels", "trace", "relations", "errors", "origin_session")
_INSTANCE_FACTS = (
    *("instance_id", "name", "role", "role_title", "model", "status", "created_at", "parent_instance_id"),
    *("tokens_used", "tokens", "token_source", "error", "error_details", "labels", "trace"),
    *("calls", "tool_uses", "errors_by_category"),
)
_END_FACTS = ("terminated_at", "execution_time_seconds")
_PERFORMANCE_FACTS = ("response_times", "active_seconds", "peak_memory_bytes")
_RESOURCE_FACTS = ("cpu_seconds", "memory_bytes")


def content_of(team: JsonObject, instances: Iterable[JsonObject], files: str) -> JsonObject:
    """The content of a session, given its documents and the digest of the listing of its instances' files."""
    system = team.get("system_info") or {}
    links = sorted((link["path"], link["target"]) for link in team.get("symlinks") or ())
    documents = list(instances)
    members = {document["instance_id"]: _instance(document, team["created_at"]) for document in documents}
    return {
        **_facts(team, _TEAM_FACTS),
        **_facts(system, ("madrox_version",)),
        "symlinks": links,
        "instances": members,
        "files": files,
        COMPUTED: {
            document["instance_id"]: _facts(document, ("cost", "known_cost"))
            for document in documents
            if document.get("cost_source") != "given"
        },
    }


def _instance(document: JsonObject, collected: str) -> JsonObject:
    facts = _facts(document, _INSTANCE_FACTS)
    if _has_observed_end(document, collected):
        facts |= _facts(document, _END_FACTS)
    if document.get("cost_source") == "given":
        facts |= _facts(document, ("cost",))
    facts |= _facts(document.get("performance") or {}, _PERFORMANCE_FACTS)
    return facts | _facts(document.get("resources") or {}, _RESOURCE_FACTS)


def _has_observed_end(document: JsonObject, collected: str) -> bool:
    """Whether the end is not the time of the collection; documents of 1.0.0 do not say so."""
    source: str | None = document.get("terminated_at_source")
    status: str = document["status"]
    end: str = document["terminated_at"]
    return status != "running" and end != collected if source is None else source == "observed"


def _facts(data: JsonObject, names: Iterable[str]) -> JsonObject:
    """The fields that are there and known."""
    return {
        name: value for name in names if (value := _without_unknown(data.get(name))) not in (None, {}, [])
    }


def _without_unknown(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(value, dict):
        return value
    return {name: inner for name, inner in value.items() if inner is not None}
