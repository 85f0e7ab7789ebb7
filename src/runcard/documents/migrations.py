"""Migrate a document from one version to another, in small pure steps.

Nothing is changed in place: unchanged values are shared with the old data. No step invents a value that the older document
does not have. The caller checks the result and records its `origin`.
"""

from collections.abc import Callable, Iterable
from datetime import tzinfo
from typing import NamedTuple

from runcard.documents.run import legacy
from runcard.documents.testplan import versions as testplan_versions
from runcard.encoding import JsonObject
from runcard.errors import DocumentError


class MigratedData(NamedTuple):
    """Data in another version, with the fields that were dropped and notes about those that were changed."""

    data: JsonObject
    dropped: tuple[str, ...] = ()  # JSON pointers into the older data
    notes: tuple[str, ...] = ()


Step = Callable[[JsonObject, tzinfo | None], MigratedData]

# The fields that 2.0.0 added: they are dropped on the way to 1.0.0.
_ADDED_TO_BOTH = ("performance", "resources", "price_rows", "token_source", "labels", "trace")
_ADDED_TO_INSTANCE = (
    *_ADDED_TO_BOTH,
    "cost_source",
    "known_cost",
    "error_details",
    "role_title",
    "terminated_at_source",
    "tokens",
    "server_tools",
    "calls",
    "models",
    "tool_uses",
    "errors_by_category",
    "sources",
)
_ADDED_TO_TEAM = (
    *_ADDED_TO_BOTH,
    "producer",
    "checksums",
    "symlinks",
    "relations",
    "event_chains",
    "ledger_head",
    "audit",
    "origin",
    "origin_session",
    "recorded_by",
    "usage_incomplete",
    "metered_runs",
    "sources",
)
_ADDED_TO_SUMMARY = ("status_counts", "known_cost", "known_tokens")


def _team_up(data: JsonObject, _: tzinfo | None) -> MigratedData:
    return MigratedData({**data, "version": "2.0.0"})


def _team_down(data: JsonObject, _: tzinfo | None) -> MigratedData:
    dropped = [f"/{name}" for name in _ADDED_TO_TEAM if name in data]
    instances = []
    for index, instance in enumerate(data["instances"]):
        instances.append(_without(instance, _ADDED_TO_INSTANCE))
        dropped += [f"/instances/{index}/{name}" for name in _ADDED_TO_INSTANCE if name in instance]
    summary = data["execution_summary"]
    dropped += [f"/execution_summary/{name}" for name in _ADDED_TO_SUMMARY if name in summary]
    older = _without(data, _ADDED_TO_TEAM) | {
        "version": "1.0.0",
        "instances": instances,
        "execution_summary": _without(summary, _ADDED_TO_SUMMARY),
    }
    return MigratedData(older, tuple(dropped))


def _instance_up(data: JsonObject, _: tzinfo | None) -> MigratedData:
    """Also from a document whose `version` is 2.0.0, as runcard wrote them before there was `format_version`."""
    later = {"version": "1.0.0", "format_version": "2.0.0"}
    fields = (
        (later if name == "version" else {name: data[name]}) for name in data if name != "format_version"
    )
    return MigratedData({name: value for each in fields for name, value in each.items()})


def _instance_down(data: JsonObject, _: tzinfo | None) -> MigratedData:
    names = (*_ADDED_TO_INSTANCE, "producer", "checksums", "origin")
    dropped = tuple(f"/{name}" for name in names if name in data)
    return MigratedData(_without(data, (*names, "format_version")) | {"version": "1.0.0"}, dropped)


def _without(data: JsonObject, names: Iterable[str]) -> JsonObject:
    removed = frozenset(names)
    return {key: value for key, value in data.items() if key not in removed}


def _flat_up(data: JsonObject, zone: tzinfo | None) -> MigratedData:
    return MigratedData(*legacy.from_flat(data, zone))


def _flat_0_1_0_up(data: JsonObject, zone: tzinfo | None) -> MigratedData:
    return MigratedData(*legacy.from_0_1_0(data, zone))


def _plan_up(data: JsonObject, _: tzinfo | None) -> MigratedData:
    return MigratedData(*testplan_versions.to_2_0(data))


def _plan_down(data: JsonObject, _: tzinfo | None) -> MigratedData:
    return MigratedData(*testplan_versions.to_1_3(data))


STEPS: dict[tuple[str, str | None, str], Step] = {
    ("generation", None, "1.0"): _flat_up,
    ("generation", "0.1.0", "1.0"): _flat_0_1_0_up,
    ("team", "1.0.0", "2.0.0"): _team_up,
    ("team", "2.0.0", "1.0.0"): _team_down,
    ("instance", "1.0.0", "2.0.0"): _instance_up,
    ("instance", "2.0.0", "1.0.0"): _instance_down,
    ("instance", "2.0.0", "2.0.0"): _instance_up,
    ("testplan", "1.3", "2.0"): _plan_up,
    ("testplan", "2.0", "1.3"): _plan_down,
}


def migrate(
    kind: str, data: JsonObject, source: str | None, target: str, zone: tzinfo | None = None
) -> MigratedData:
    """The data in another version; raises DocumentError if there are no steps to it."""
    result = MigratedData(data)
    for step in _steps_between(kind, source, target):
        last = step(result.data, zone)
        result = last._replace(dropped=(*result.dropped, *last.dropped), notes=(*result.notes, *last.notes))
    return result


_NO_STEPS = {
    "testplan": "make a new plan with `runcard plan analyze --write`",
}


def _steps_between(kind: str, source: str | None, target: str) -> list[Step]:
    """The fewest steps from one version to another."""
    if (kind, source, target) in STEPS:
        return [STEPS[kind, source, target]]
    paths: dict[str | None, list[Step]] = {source: []}
    frontier = [source]
    while frontier and target not in paths:
        version = frontier.pop(0)
        for (name, begin, end), step in STEPS.items():
            if name == kind and begin == version and end not in paths:
                paths[end] = [*paths[version], step]
                frontier.append(end)
    if target not in paths:
        reachable = sorted(version for version in paths if version is not None and version != source)
        raise DocumentError(
            f"a {kind} document of version {source or 'none'} cannot be migrated to {target}",
            hint=f"possible: {', '.join(reachable)}"
            if reachable
            else _NO_STEPS.get(kind, "no migration exists for this version"),
        )
    return paths[target]
