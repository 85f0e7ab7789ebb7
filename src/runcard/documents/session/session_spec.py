"""The SPEC of a session: the input of `runcard collect`, checked like a document.

It lists the instances of a team and the paths of their files. Nothing here reads these files, asks the clock, or knows
prices. A parent given by name is replaced by its id, and an instance without an id gets one.

Invariant: a `SessionSpec` exists only if there are no errors; its ids can be file names, and its parents exist.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from runcard.documents import schema
from runcard.documents.findings import ERROR, Finding, display_value, finding
from runcard.documents.kinds import SESSION_SPEC
from runcard.documents.session.team import Team
from runcard.documents.times import format_time, parse_time
from runcard.encoding import JsonObject, join_pointer

Findings = Iterator[Finding]


_TEMPLATE = Path(__file__).with_name("spec_template.yaml")


def template() -> str:
    """An example of a SPEC, with comments."""
    return _TEMPLATE.read_text("utf-8")


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """One agent of the SPEC."""

    instance_id: str
    parent_id: str | None
    created: datetime
    terminated: datetime | None  # None: its end is unknown
    fields: JsonObject  # as in the SPEC, without null values


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A session that can be collected."""

    session_id: str
    instances: tuple[InstanceSpec, ...]
    fields: JsonObject  # other than the instances


def check_spec(
    data: object,
    collected: datetime,
    make_id: Callable[[str], str],
    more_rules: Callable[[JsonObject, str], Iterable[Finding]],
) -> tuple[list[Finding], SessionSpec | None]:
    """All findings about a SPEC, and the session if there are no errors.

    `make_id` makes the id of an instance without one, from a text that is the same for the same instance. `more_rules`
    checks each instance, given with its pointer, by rules that need to know vendors.
    """
    if not isinstance(data, dict):
        return [_not_an_object(data)], None
    findings, valid = schema.check(SESSION_SPEC, SESSION_SPEC.latest, data)
    findings += _unknown_keys(valid, schema.known_fields(SESSION_SPEC))
    findings += _empty_team(valid)
    instances = [_one_name_each(instance or {}) for instance in valid.get("instances") or ()]
    ids = list(_ids(valid.get("team_session_id"), instances, make_id))
    parents = _Parents(instances, ids)
    findings += parents.findings()
    findings += _team_rules(valid, instances, ids, parents.ids)
    for index, instance in enumerate(instances):
        findings += _instance_rules(instance, f"/instances/{index}", collected)
        findings += more_rules(instance, f"/instances/{index}")
    if any(finding.severity is ERROR for finding in findings):
        return findings, None
    session = SessionSpec(
        valid["team_session_id"],
        tuple(_instance(*facts) for facts in zip(instances, ids, parents.ids, strict=True)),
        _without_null({key: value for key, value in valid.items() if key != "instances"}),
    )
    return findings, session


def _ids(session_id: str | None, instances: list[JsonObject], make_id: Callable[[str], str]) -> Iterator[str]:
    """The id of each instance. One that is made here is the same whenever the session is collected."""
    counts: Counter[tuple[str | None, ...]] = Counter()
    for instance in instances:
        if "instance_id" in instance:
            yield instance["instance_id"]
            continue
        names = (session_id, instance.get("name"), instance.get("created_at"))
        counts[names] += 1
        yield make_id(repr((*names, counts[names])))


def _instance(fields: JsonObject, instance_id: str, parent: str | None) -> InstanceSpec:
    created, terminated = parse_time(fields["created_at"]), parse_time(fields.get("terminated_at"))
    if created is None:
        raise ValueError("the instance was not checked")
    return InstanceSpec(instance_id, parent, created, terminated, fields)


def _one_name_each(instance: JsonObject) -> JsonObject:
    """The fields of an instance; those that documents have two names for, under one of them."""
    fields = _without_null(instance)
    for other, name in (("error", "error_message"), ("tokens", "usage")):
        if (value := fields.pop(other, None)) is not None:
            fields.setdefault(name, value)
    return fields


def _without_null(fields: JsonObject) -> JsonObject:
    return {key: value for key, value in fields.items() if value is not None}


def _not_an_object(data: object) -> Finding:
    return finding(
        "document.not-an-object",
        "",
        f"expected an object, found {display_value(data)}",
        hint="`runcard collect --template` prints an example",
    )


def _empty_team(spec: JsonObject) -> Findings:
    session = spec.get("team_session_id")
    if session is not None and not session.strip():
        yield finding(
            "schema.min-length",
            "/team_session_id",
            "Team session ID cannot be empty",
            hint="give the session an id",
        )
    if spec.get("instances") == []:
        yield finding(
            "count.instances",
            "/instances",
            f"No instances found for team session {display_value(session or '')}",
            hint="list the agents of the team; `runcard collect --template` prints an example",
        )


def _unknown_keys(spec: JsonObject, known_keys: JsonObject) -> Findings:
    """A warning for each unknown key: its value would be lost."""
    work: list[tuple[Any, JsonObject, tuple[str | int, ...]]] = [(spec, known_keys, ())]
    while work:
        value, names, path = work.pop()
        if isinstance(value, list):
            work += [(item, names, (*path, index)) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            for key, inner in value.items():
                if key not in names:
                    yield _unknown_key(key, (*path, key), tuple(names))
                elif names[key] is not None:
                    work.append((inner, names[key], (*path, key)))


def _unknown_key(key: str, path: tuple[str | int, ...], names: tuple[str, ...]) -> Finding:
    near = schema.nearest(key, names)
    return finding(
        "spec.unknown-key",
        join_pointer(path),
        f"{display_value(key)} is not a key of a SPEC: it is not collected",
        hint=f"did you mean {near!r}?" if near else "put your own fields under 'labels'",
        found=key,
    )


class _Parents:
    """The parent of each instance by id, whether the SPEC has its id or its name."""

    def __init__(self, instances: list[JsonObject], ids: list[str]) -> None:
        self._instances = instances
        self._by_name: dict[str, list[str]] = {}
        self._ids = set(ids)
        for instance, instance_id in zip(instances, ids, strict=True):
            if instance.get("name"):
                self._by_name.setdefault(instance["name"], []).append(instance_id)
        self.ids = [self._parent(instance) for instance in instances]

    def _parent(self, instance: JsonObject) -> str | None:
        if "parent_instance_id" in instance:
            return str(instance["parent_instance_id"])
        candidates = self._named(instance)
        return candidates[0] if len(candidates) == 1 else None

    def _named(self, instance: JsonObject) -> list[str]:
        """The instances that `parent` can mean: those with that name, or else the one with that id."""
        name = instance.get("parent")
        if name is None:
            return []
        return self._by_name.get(name) or ([name] if name in self._ids else [])

    def findings(self) -> Findings:
        for index, instance in enumerate(self._instances):
            name, parent_id = instance.get("parent"), instance.get("parent_instance_id")
            at, named = f"/instances/{index}/parent", self._named(instance)
            if name is None:
                continue
            if not named:
                yield finding(
                    "parent.missing",
                    at,
                    f"the parent {display_value(name)} is not in the team",
                    hint="write the name of an instance in the list, or leave it out for a root",
                    found=name,
                )
            elif parent_id is not None and parent_id not in named:
                yield finding(
                    "parent.ambiguous",
                    at,
                    f"the parent is {display_value(name)} here and {display_value(parent_id)} in parent_instance_id",
                    hint="remove one of the two",
                    found=name,
                )
            elif parent_id is None and len(named) > 1:
                yield finding(
                    "parent.ambiguous",
                    at,
                    f"{len(named)} instances have the name {display_value(name)}",
                    hint="give each an instance_id, and name the parent in parent_instance_id",
                    found=name,
                )


def _team_rules(
    spec: JsonObject, instances: list[JsonObject], ids: list[str], parents: list[str | None]
) -> Findings:
    """The rules of team documents; findings about fields that the SPEC names differently point to these."""
    team = [
        {**instance, "instance_id": instance_id, "parent_instance_id": parent}
        for instance, instance_id, parent in zip(instances, ids, parents, strict=True)
    ]
    session = spec.get("team_session_id") or None
    for team_finding in Team.rules({"team_session_id": session, "instances": team}):
        owner, _, field = team_finding.path.rpartition("/")
        by_name = field == "parent_instance_id" and field not in instances[int(owner.rpartition("/")[2])]
        message = (
            _by_name(team_finding.message, instances, ids)
            if team_finding.rule == "parent.cycle"
            else team_finding.message
        )
        yield team_finding._replace(path=f"{owner}/parent" if by_name else team_finding.path, message=message)


def _by_name(message: str, instances: list[JsonObject], ids: list[str]) -> str:
    """A message with names instead of ids that were made here."""
    for instance, instance_id in zip(instances, ids, strict=True):
        if "instance_id" not in instance:
            message = message.replace(instance_id, display_value(instance.get("name")).strip("'"))
    return message


def _instance_rules(instance: JsonObject, at: str, collected: datetime) -> Findings:
    created, terminated = parse_time(instance.get("created_at")), parse_time(instance.get("terminated_at"))
    for field, moment in (("created_at", created), ("terminated_at", terminated)):
        if moment is not None and not _is_writable(moment):
            yield finding(
                "schema.format",
                f"{at}/{field}",
                f"{instance[field]} is outside the range of years",
                hint="correct the year",
                found=instance[field],
            )
    if terminated is None and created is not None and created > collected:
        yield finding(
            "time.order",
            f"{at}/created_at",
            f"created at {instance['created_at']}, which is in the future, and still running",
            hint="correct the time, or the clock of this machine",
            found=instance["created_at"],
        )
    status = instance.get("status")
    if status == "running" and terminated is not None:
        yield finding(
            "spec.conflict",
            f"{at}/terminated_at",
            "the instance is running but has an end: it is taken as the time of observation",
            hint="leave terminated_at out, or correct the status",
            found=instance["terminated_at"],
        )
    elif status not in {None, "running"} and "terminated_at" not in instance:
        yield finding(
            "expected.absent",
            at,
            f"{display_value(instance.get('name'))} has ended without terminated_at: the time of the collection is used",
            hint="add terminated_at",
        )


def _is_writable(moment: datetime) -> bool:
    try:
        format_time(moment)
    except OverflowError:
        return False
    return True
