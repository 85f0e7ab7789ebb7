"""The SPEC of a session: what `runcard collect` is told, judged as a document is.

It names the instances of a team and the places of their files. Nothing here looks at these places, asks the clock, or
knows what tokens cost. A parent that is given by its name becomes an id here, and an instance without an id gets one.

Invariant: there is a `SessionSpec` only when nothing is wrong, and then its ids can be file names and its parents exist.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from runcard.documents import schema
from runcard.documents.findings import ERROR, Finding, finding, shown
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
    """One agent, as the SPEC tells of it."""

    instance_id: str
    parent_id: str | None
    created: datetime
    terminated: datetime | None  # None: nobody saw its end
    given: JsonObject  # what stands in the SPEC, without what is null


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A session that can be collected."""

    session_id: str
    instances: tuple[InstanceSpec, ...]
    given: JsonObject  # what stands beside the instances


def judge(
    data: object,
    collected: datetime,
    make_id: Callable[[], str],
    more: Callable[[JsonObject, str], Iterable[Finding]],
) -> tuple[list[Finding], SessionSpec | None]:
    """Everything that is wrong with a SPEC, and the session that it tells of when nothing is.

    `more` is asked about each instance, with its pointer: for what cannot be judged without knowing vendors.
    """
    if not isinstance(data, dict):
        return [_not_an_object(data)], None
    findings, sound = schema.check(SESSION_SPEC, SESSION_SPEC.latest, data)
    findings += _unknown_keys(sound, schema.known_fields(SESSION_SPEC))
    findings += _nobody(sound)
    listed = [_told(instance or {}) for instance in sound.get("instances") or ()]
    ids = [instance["instance_id"] if "instance_id" in instance else make_id() for instance in listed]
    parents = _Parents(listed, ids)
    findings += parents.findings()
    findings += _team_rules(sound, listed, ids, parents.ids)
    for index, instance in enumerate(listed):
        findings += _own_rules(instance, f"/instances/{index}", collected)
        findings += more(instance, f"/instances/{index}")
    if any(found.severity is ERROR for found in findings):
        return findings, None
    session = SessionSpec(
        sound["team_session_id"],
        tuple(_instance(*facts) for facts in zip(listed, ids, parents.ids, strict=True)),
        _without_null({key: value for key, value in sound.items() if key != "instances"}),
    )
    return findings, session


def _instance(given: JsonObject, own: str, parent: str | None) -> InstanceSpec:
    created, terminated = parse_time(given["created_at"]), parse_time(given.get("terminated_at"))
    if created is None:
        raise ValueError("an instance that was not judged")
    return InstanceSpec(own, parent, created, terminated, given)


def _told(instance: JsonObject) -> JsonObject:
    """What an instance says; what documents have two names for, under one of them."""
    given = _without_null(instance)
    for other, name in (("error", "error_message"), ("tokens", "usage")):
        if (value := given.pop(other, None)) is not None:
            given.setdefault(name, value)
    return given


def _without_null(fields: JsonObject) -> JsonObject:
    return {key: value for key, value in fields.items() if value is not None}


def _not_an_object(data: object) -> Finding:
    return finding(
        "document.not-an-object",
        "",
        f"a SPEC is an object, found {shown(data)}",
        hint="`runcard collect --template` prints an example",
    )


def _nobody(spec: JsonObject) -> Findings:
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
            f"No instances found for team session {shown(session or '')}",
            hint="list the agents of the team; `runcard collect --template` prints an example",
        )


def _unknown_keys(spec: JsonObject, known: JsonObject) -> Findings:
    """A warning for each key that nothing reads: it may be a fact that would be lost."""
    work: list[tuple[Any, JsonObject, tuple[str | int, ...]]] = [(spec, known, ())]
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
        f"{shown(key)} is no key of a SPEC: what it says is not kept",
        hint=f"perhaps {near!r} was meant" if near else "put facts of your own under 'labels'",
        found=key,
    )


class _Parents:
    """Who started whom, by ids, whether the SPEC says it by id or by name."""

    def __init__(self, listed: list[JsonObject], ids: list[str]) -> None:
        self._listed = listed
        self._by_name: dict[str, list[str]] = {}
        self._ids = set(ids)
        for instance, own in zip(listed, ids, strict=True):
            if instance.get("name"):
                self._by_name.setdefault(instance["name"], []).append(own)
        self.ids = [self._parent(instance) for instance in listed]

    def _parent(self, instance: JsonObject) -> str | None:
        if "parent_instance_id" in instance:
            return str(instance["parent_instance_id"])
        candidates = self._named(instance)
        return candidates[0] if len(candidates) == 1 else None

    def _named(self, instance: JsonObject) -> list[str]:
        """The instances that `parent` can mean: those of that name, or else the one that has it for its id."""
        name = instance.get("parent")
        if name is None:
            return []
        return self._by_name.get(name) or ([name] if name in self._ids else [])

    def findings(self) -> Findings:
        for index, instance in enumerate(self._listed):
            name, given = instance.get("parent"), instance.get("parent_instance_id")
            at, named = f"/instances/{index}/parent", self._named(instance)
            if name is None:
                continue
            if not named:
                yield finding(
                    "parent.missing",
                    at,
                    f"the parent {shown(name)} is not in the team",
                    hint="write the name of an instance in the list, or leave it out for a root",
                    found=name,
                )
            elif given is not None and given not in named:
                yield finding(
                    "parent.ambiguous",
                    at,
                    f"the parent is {shown(name)} here and {shown(given)} in parent_instance_id",
                    hint="say it once",
                    found=name,
                )
            elif given is None and len(named) > 1:
                yield finding(
                    "parent.ambiguous",
                    at,
                    f"{len(named)} instances have the name {shown(name)}",
                    hint="give each its instance_id, and name the parent by parent_instance_id",
                    found=name,
                )


def _team_rules(
    spec: JsonObject, listed: list[JsonObject], ids: list[str], parents: list[str | None]
) -> Findings:
    """What holds for the instances of every team document; where the SPEC says it in its own way, it is found there."""
    team = [
        {**instance, "instance_id": own, "parent_instance_id": parent}
        for instance, own, parent in zip(listed, ids, parents, strict=True)
    ]
    session = spec.get("team_session_id") or None
    for found in Team.rules({"team_session_id": session, "instances": team}):
        owner, _, field = found.path.rpartition("/")
        by_name = field == "parent_instance_id" and field not in listed[int(owner.rpartition("/")[2])]
        told = _by_name(found.message, listed, ids) if found.rule == "parent.cycle" else found.message
        yield replace(found, path=f"{owner}/parent" if by_name else found.path, message=told)


def _by_name(message: str, listed: list[JsonObject], ids: list[str]) -> str:
    """A message with names in the place of ids that nobody has ever seen."""
    for instance, own in zip(listed, ids, strict=True):
        if "instance_id" not in instance:
            message = message.replace(own, shown(instance.get("name")).strip("'"))
    return message


def _own_rules(instance: JsonObject, at: str, collected: datetime) -> Findings:
    created, terminated = parse_time(instance.get("created_at")), parse_time(instance.get("terminated_at"))
    for field, moment in (("created_at", created), ("terminated_at", terminated)):
        if moment is not None and not _can_be_written(moment):
            yield finding(
                "schema.format",
                f"{at}/{field}",
                f"{instance[field]} is outside the years that times have",
                hint="correct the year",
                found=instance[field],
            )
    if terminated is None and created is not None and created > collected:
        yield finding(
            "time.order",
            f"{at}/created_at",
            f"created at {instance['created_at']}, which lies in the future, and still running",
            hint="correct the time, or the clock of this machine",
            found=instance["created_at"],
        )
    status = instance.get("status")
    if status == "running" and terminated is not None:
        yield finding(
            "spec.conflict",
            f"{at}/terminated_at",
            "the instance is running, and has an end: it is taken for the time when somebody looked",
            hint="leave terminated_at out, or correct the status",
            found=instance["terminated_at"],
        )
    elif status not in {None, "running"} and "terminated_at" not in instance:
        yield finding(
            "expected.absent",
            at,
            f"{shown(instance.get('name'))} has ended, and nobody says when: the time of the collection is taken",
            hint="add terminated_at",
        )


def _can_be_written(moment: datetime) -> bool:
    try:
        format_time(moment)
    except OverflowError:
        return False
    return True
