"""The rules across the documents of a session, and between these documents and the stored files.

The team document is the reference: the manifest and the instance documents must agree with it. A field is compared if both
documents have it. Nothing here reads files: the caller passes the figures of the stored ones.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from runcard.documents.exact_sums import money_agrees
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject

Findings = Iterator[Finding]

# The fields of an instance that the manifest repeats, and those that its own document repeats.
_IN_MANIFEST = ("name", "role", "status", "tokens_used")
_IN_INSTANCE = (
    *_IN_MANIFEST,
    "model",
    "execution_time_seconds",
    "role_title",
    "terminated_at_source",
    "token_source",
    "cost_source",
    "known_cost",
    "tokens",
    "server_tools",
    "calls",
    "models",
    "tool_uses",
    "errors_by_category",
    "error_details",
)
_TIMES = ("created_at", "terminated_at")


@dataclass(frozen=True, slots=True)
class StoredFigures:
    """The figures of the stored files of one instance; None for a file that does not exist."""

    files: int = 0
    size: int = 0  # of all files of the workspace, in bytes
    types: Mapping[str, int] = field(default_factory=dict)
    output: str | None = None  # the name of its transcript
    output_size: int | None = None
    output_lines: int | None = None


class Roster:
    """The team as the team document lists it."""

    def __init__(self, team: JsonObject) -> None:
        self.team = team
        entries = [entry or {} for entry in team.get("instances") or ()]
        self.instances = {
            entry["instance_id"]: entry for entry in entries if entry.get("instance_id") is not None
        }
        # If the list itself is invalid, it is unknown which instances are missing.
        self.is_whole = team.get("instances") is not None and len(self.instances) == len(entries)
        self.children: dict[str, set[str]] = {}
        for instance_id, entry in self.instances.items():
            self.children.setdefault(entry.get("parent_instance_id") or "", set()).add(instance_id)


def manifest_rules(manifest: JsonObject, roster: Roster) -> Findings:
    """Check that the manifest of a session lists the whole team, as the team document does."""
    yield from _same(manifest, roster.team, "team_session_id", "", "session.manifest")
    index = [entry or {} for entry in manifest.get("instances_index") or ()]
    indexed = {entry.get("instance_id") for entry in index}
    for position, entry in enumerate(index):
        at, instance_id = f"/instances_index/{position}", entry.get("instance_id")
        if instance_id in roster.instances:
            for name in _IN_MANIFEST:
                yield from _same(entry, roster.instances[instance_id], name, at, "session.manifest")
            yield from _same_cost(entry, roster.instances[instance_id], at, "session.manifest")
        elif instance_id is not None and roster.is_whole:
            yield _not_in_team("session.manifest", f"{at}/instance_id", instance_id)
    absent = [instance_id for instance_id in roster.instances if instance_id not in indexed]
    if absent and None not in indexed:
        yield finding(
            "session.manifest",
            "/instances_index",
            f"{len(absent)} of {len(roster.instances)} instances are not listed: {_first_ids(absent)}",
            hint="list every instance of the team",
        )
    yield from _manifest_summary(manifest.get("summary") or {}, roster.team)


def _manifest_summary(summary: JsonObject, team: JsonObject) -> Findings:
    team_summary = team.get("execution_summary") or {}
    counts = {"total_instances": team.get("total_instances")}
    counts |= {name: team_summary.get(f"{name}_instances") for name in ("completed", "failed")}
    for name, in_team in counts.items():
        stated = summary.get(name)
        if stated is not None and in_team is not None and stated != in_team:
            yield _differs("session.manifest", f"/summary/{name}", stated, in_team)
    stated, in_team = summary.get("total_cost"), team_summary.get("total_cost")
    if stated is not None and in_team is not None and not money_agrees([stated], in_team):
        yield _differs("session.manifest", "/summary/total_cost", stated, in_team)


def instance_rules(instance: JsonObject, roster: Roster, folder: str) -> Findings:
    """Check an instance's own document, in the folder of that name, against the team document."""
    instance_id = instance.get("instance_id")
    if instance_id is None:
        return
    if instance_id != folder:
        yield finding(
            "session.instance",
            "/instance_id",
            f"instance_id is {display_value(instance_id)}, but the document is in the folder {display_value(folder)}",
            hint="name the folder of an instance after its id",
            expected=folder,
            found=instance_id,
        )
    in_team = roster.instances.get(instance_id)
    if in_team is None:
        if roster.is_whole:
            yield _not_in_team("session.instance", "/instance_id", instance_id)
        return
    yield from _as_in_team(instance, in_team)
    if roster.is_whole:
        yield from _children(instance.get("children_instance_ids"), roster.children.get(instance_id, set()))


def _as_in_team(instance: JsonObject, in_team: JsonObject) -> Findings:
    for name in _IN_INSTANCE:
        yield from _same(instance, in_team, name, "", "session.instance")
    for name in _TIMES:
        stated, expected = instance.get(name), in_team.get(name)
        if stated is not None and expected is not None and parse_time(stated) != parse_time(expected):
            yield _differs("session.instance", f"/{name}", stated, expected)
    for name, team_name in (("parent_instance_id", "parent_instance_id"), ("error", "error_message")):
        # Here null is a value.
        if name in instance and team_name in in_team and instance[name] != in_team[team_name]:
            yield _differs("session.instance", f"/{name}", instance[name], in_team[team_name])
    yield from _same_cost(instance, in_team, "", "session.instance")


def _children(stated: list[str] | None, actual: set[str]) -> Findings:
    if stated is not None and None not in stated and set(stated) != actual:
        yield finding(
            "session.instance",
            "/children_instance_ids",
            f"the children are {_first_ids(stated)}; in the team document they are {_first_ids(sorted(actual))}",
            hint="list the instances that name this one as their parent",
        )


def stored_figures_rules(instance: JsonObject, stored: StoredFigures) -> Findings:
    """Check the figures in an instance document against the stored files."""
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
                "the counts by type do not match the stored files: "
                + ", ".join(
                    f"{display_value(suffix)} {counted.get(suffix, 0)} for {stored.types.get(suffix, 0)}"
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
            f"the transcript {display_value(file)} does not exist",
            hint="put it back, or remove the section",
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
            f"{pointer.rpartition('/')[2]} is {display_value(stated)}, but {what} {display_value(actual)}",
            hint=f"write {display_value(actual)}, or put the stored files back",
            expected=actual,
            found=stated,
        )


def missing_instances(roster: Roster, folders: Collection[str]) -> Findings:
    """A finding for each instance of the team that has no document of its own."""
    for position, instance_id in enumerate(roster.instances):
        if instance_id not in folders:
            yield finding(
                "session.file-missing",
                f"/instances/{position}",
                f"the instance {display_value(instance_id)} has no document of its own in the session",
                hint="put instances/<id>/metadata.json back",
                found=instance_id,
            )


def _same(document: JsonObject, in_team: JsonObject, name: str, at: str, rule: str) -> Findings:
    """Compare a field that both documents have; an invalid value was replaced by None and is not compared."""
    stated, expected = document.get(name), in_team.get(name)
    if stated is not None and expected is not None and stated != expected:
        yield _differs(rule, f"{at}/{name}", stated, expected)


def _same_cost(document: JsonObject, in_team: JsonObject, at: str, rule: str) -> Findings:
    stated, expected = document.get("cost"), in_team.get("cost")
    if stated is not None and expected is not None and not money_agrees([stated], expected):
        yield _differs(rule, f"{at}/cost", stated, expected)


def _differs(rule: str, pointer: str, stated: object, expected: object) -> Finding:
    return finding(
        rule,
        pointer,
        f"{pointer.rpartition('/')[2]} is {display_value(stated)}; in the team document it is {display_value(expected)}",
        hint="correct the wrong document",
        expected=expected if isinstance(expected, str | int | float) else None,
        found=stated,
    )


def _not_in_team(rule: str, pointer: str, instance_id: str) -> Finding:
    return finding(
        rule,
        pointer,
        f"the instance {display_value(instance_id)} is not in the team document",
        hint="add it to the team document, or remove it here",
        found=instance_id,
    )


def _first_ids(ids: list[str]) -> str:
    more = f" and {len(ids) - 5:,} more" if len(ids) > 5 else ""
    return (", ".join(display_value(instance_id) for instance_id in ids[:5]) or "none") + more
