"""What must agree between the documents of one session, and with the files that are stored beside them.

A field is compared where both documents have it. Each finding stands in the document that is not the team's: the team
document is the one that the others are held to. Nothing here reads files: what lies on the disk is handed over.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from runcard.documents.exact_sums import money_agrees
from runcard.documents.findings import Finding, finding, shown
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject

Findings = Iterator[Finding]

# What an instance is called in the team document and in its own, and what the manifest repeats of it.
_REPEATED = ("name", "role", "status", "tokens_used")
_OF_INSTANCE = (
    *_REPEATED,
    "model",
    "execution_time_seconds",
    "role_title",
    "terminated_at_source",
    "token_source",
    "cost_source",
    "tokens",
    "error_details",
)
_TIMES = ("created_at", "terminated_at")


@dataclass(frozen=True, slots=True)
class StoredFigures:
    """What is stored of one instance; None where there is no such thing."""

    files: int = 0
    size: int = 0  # of all files of the workspace
    types: Mapping[str, int] = field(default_factory=dict)
    output: str | None = None  # the name of its transcript
    output_size: int | None = None
    output_lines: int | None = None


class Roster:
    """The team as the team document lists it."""

    def __init__(self, team: JsonObject) -> None:
        self.team = team
        listed = [entry or {} for entry in team.get("instances") or ()]
        self.instances = {
            entry["instance_id"]: entry for entry in listed if entry.get("instance_id") is not None
        }
        # Where the list itself is faulty, nobody can say who is not in it.
        self.is_whole = team.get("instances") is not None and len(self.instances) == len(listed)
        self.children: dict[str, set[str]] = {}
        for own, entry in self.instances.items():
            self.children.setdefault(entry.get("parent_instance_id") or "", set()).add(own)


def manifest_rules(manifest: JsonObject, roster: Roster) -> Findings:
    """Whether the manifest of a session indexes its team: all of it, and as the team document has it."""
    yield from _same(manifest, roster.team, "team_session_id", "", "session.manifest")
    index = [entry or {} for entry in manifest.get("instances_index") or ()]
    listed = {entry.get("instance_id") for entry in index}
    for place, entry in enumerate(index):
        at, own = f"/instances_index/{place}", entry.get("instance_id")
        if own in roster.instances:
            for name in _REPEATED:
                yield from _same(entry, roster.instances[own], name, at, "session.manifest")
            yield from _same_cost(entry, roster.instances[own], at, "session.manifest")
        elif own is not None and roster.is_whole:
            yield _stranger("session.manifest", f"{at}/instance_id", own)
    absent = [own for own in roster.instances if own not in listed]
    if absent and None not in listed:
        yield finding(
            "session.manifest",
            "/instances_index",
            f"{len(absent)} of {len(roster.instances)} instances are not listed: {_some(absent)}",
            hint="in a session the manifest lists every instance of the team",
        )
    yield from _manifest_summary(manifest.get("summary") or {}, roster.team)


def _manifest_summary(summary: JsonObject, team: JsonObject) -> Findings:
    said = team.get("execution_summary") or {}
    counts = {"total_instances": team.get("total_instances")}
    counts |= {name: said.get(f"{name}_instances") for name in ("completed", "failed")}
    for name, theirs in counts.items():
        mine = summary.get(name)
        if mine is not None and theirs is not None and mine != theirs:
            yield _differs("session.manifest", f"/summary/{name}", mine, theirs)
    mine, theirs = summary.get("total_cost"), said.get("total_cost")
    if mine is not None and theirs is not None and not money_agrees([mine], theirs):
        yield _differs("session.manifest", "/summary/total_cost", mine, theirs)


def instance_rules(instance: JsonObject, roster: Roster, folder: str) -> Findings:
    """Whether an instance's own document, in the folder of that name, says what the team document says of it."""
    own = instance.get("instance_id")
    if own is None:
        return
    if own != folder:
        yield finding(
            "session.instance",
            "/instance_id",
            f"instance_id is {shown(own)}, but the document lies in the folder {shown(folder)}",
            hint="the folder of an instance has its id as its name",
            expected=folder,
            found=own,
        )
    listed = roster.instances.get(own)
    if listed is None:
        if roster.is_whole:
            yield _stranger("session.instance", "/instance_id", own)
        return
    yield from _as_listed(instance, listed)
    if roster.is_whole:
        yield from _children(instance.get("children_instance_ids"), roster.children.get(own, set()))


def _as_listed(instance: JsonObject, listed: JsonObject) -> Findings:
    for name in _OF_INSTANCE:
        yield from _same(instance, listed, name, "", "session.instance")
    for name in _TIMES:
        mine, theirs = instance.get(name), listed.get(name)
        if mine is not None and theirs is not None and parse_time(mine) != parse_time(theirs):
            yield _differs("session.instance", f"/{name}", mine, theirs)
    for name, their_name in (("parent_instance_id", "parent_instance_id"), ("error", "error_message")):
        if (
            name in instance and their_name in listed and instance[name] != listed[their_name]
        ):  # null is an answer
            yield _differs("session.instance", f"/{name}", instance[name], listed[their_name])
    yield from _same_cost(instance, listed, "", "session.instance")


def _children(stated: list[str] | None, actual: set[str]) -> Findings:
    if stated is not None and None not in stated and set(stated) != actual:
        yield finding(
            "session.instance",
            "/children_instance_ids",
            f"the children are {_some(stated)}; in the team document they are {_some(sorted(actual))}",
            hint="the children of an instance are those that name it as their parent",
        )


def stored_rules(instance: JsonObject, stored: StoredFigures) -> Findings:
    """Whether the figures of an instance describe what is stored of it."""
    workspace, output = instance.get("workspace") or {}, instance.get("output") or {}
    for name, actual in (("files_count", stored.files), ("total_size_bytes", stored.size)):
        yield from _figure(f"/workspace/{name}", workspace.get(name), actual, "the stored workspace has")
    types = workspace.get("file_types")
    if types is not None and None not in types.values():
        counted = {suffix: count for suffix, count in types.items() if count}
        if counted != dict(stored.types):
            wrong = sorted(
                suffix
                for suffix in counted.keys() | stored.types.keys()
                if counted.get(suffix, 0) != stored.types.get(suffix, 0)
            )
            yield finding(
                "session.figures",
                "/workspace/file_types",
                "the counts by type are not those of the stored files: "
                + ", ".join(
                    f"{shown(suffix)} {counted.get(suffix, 0)} for {stored.types.get(suffix, 0)}"
                    for suffix in wrong[:5]
                ),
                hint="count every stored file once, by its last suffix in lower case",
                expected=dict(stored.types),
            )
    file = output.get("file")
    if file is not None and stored.output is None:
        yield finding(
            "session.file-missing",
            "/output/file",
            f"the transcript {shown(file)} does not exist",
            hint="put it back, or leave the section out when there is none",
            found=file,
        )
    if stored.output is not None:
        yield from _figure(
            "/output/size_bytes", output.get("size_bytes"), stored.output_size, "the transcript has"
        )
        yield from _figure("/output/lines", output.get("lines"), stored.output_lines, "the transcript has")


def _figure(pointer: str, stated: int | None, actual: int | None, what: str) -> Findings:
    if stated is not None and actual is not None and stated != actual:
        yield finding(
            "session.figures",
            pointer,
            f"{pointer.rpartition('/')[2]} is {shown(stated)}, but {what} {shown(actual)}",
            hint=f"write {shown(actual)}, or put the stored files back",
            expected=actual,
            found=stated,
        )


def missing_instances(roster: Roster, folders: Collection[str]) -> Findings:
    """The instances of a team that have no document of their own."""
    for place, own in enumerate(roster.instances):
        if own not in folders:
            yield finding(
                "session.file-missing",
                f"/instances/{place}",
                f"the instance {shown(own)} has no document of its own in the session",
                hint="put instances/<id>/metadata.json back",
                found=own,
            )


def _same(mine: JsonObject, theirs: JsonObject, name: str, at: str, rule: str) -> Findings:
    """What both say about a thing; what one of them does not say, or says wrongly, cannot be compared."""
    value, listed = mine.get(name), theirs.get(name)
    if value is not None and listed is not None and value != listed:
        yield _differs(rule, f"{at}/{name}", value, listed)


def _same_cost(mine: JsonObject, theirs: JsonObject, at: str, rule: str) -> Findings:
    cost, listed = mine.get("cost"), theirs.get("cost")
    if cost is not None and listed is not None and not money_agrees([cost], listed):
        yield _differs(rule, f"{at}/cost", cost, listed)


def _differs(rule: str, pointer: str, mine: object, theirs: object) -> Finding:
    return finding(
        rule,
        pointer,
        f"{pointer.rpartition('/')[2]} is {shown(mine)}; in the team document it is {shown(theirs)}",
        hint="the documents of a session say the same: correct the wrong one",
        expected=theirs if isinstance(theirs, str | int | float) else None,
        found=mine,
    )


def _stranger(rule: str, pointer: str, own: str) -> Finding:
    return finding(
        rule,
        pointer,
        f"the instance {shown(own)} is not in the team document",
        hint="list it in the team document, or take it out here",
        found=own,
    )


def _some(ids: list[str]) -> str:
    more = f" and {len(ids) - 5:,} more" if len(ids) > 5 else ""
    return (", ".join(shown(own) for own in ids[:5]) or "none") + more
