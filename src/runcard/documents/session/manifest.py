"""The manifest: the index of a session's instances. A manifest outside a session may list only a part of the team."""

from collections.abc import Iterator

from runcard.documents.document import Document
from runcard.documents.exact_sums import all_known, exact_sum, money_agrees, whole_sum
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.kinds import MANIFEST
from runcard.documents.session.team import id_form, unique
from runcard.encoding import JsonObject
from runcard.files import check_relative

Findings = Iterator[Finding]


class Manifest(Document):
    """The index of a session's instances."""

    __slots__ = ()
    kind = MANIFEST
    cost_path = ("summary", "total_cost")

    @property
    def session_id(self) -> str:
        return str(self._data["team_session_id"])

    @staticmethod
    def rules(document: JsonObject) -> Findings:
        index = [entry or {} for entry in document.get("instances_index") or ()]
        yield from id_form("/team_session_id", document.get("team_session_id"))
        yield from index_rules(index, "/instances_index", "instance_id", "metadata_file")
        yield from _summary(document.get("summary") or {}, index)


def index_rules(entries: list[JsonObject], at: str, id_field: str, file_field: str) -> Findings:
    """The rules of every list of ids and files: valid ids, paths that stay below, each file named once."""
    for position, entry in enumerate(entries):
        yield from id_form(f"{at}/{position}/{id_field}", entry.get(id_field))
        path = entry.get(file_field)
        if path is not None and (reason := check_relative(path.removeprefix("./"))):
            yield finding(
                "path.hostile",
                f"{at}/{position}/{file_field}",
                f"the path {display_value(path)} is refused: {reason}",
                hint="write a path relative to the directory of this file, without '..'",
                found=path,
            )
    files = [
        (f"{at}/{position}/{file_field}", entry[file_field].removeprefix("./"))
        for position, entry in enumerate(entries)
        if entry.get(file_field) is not None
    ]
    yield from unique(files, "path.duplicate", "the file")


def _summary(summary: JsonObject, index: list[JsonObject]) -> Findings:
    ids = [
        (f"/instances_index/{position}/instance_id", entry["instance_id"])
        for position, entry in enumerate(index)
        if entry.get("instance_id") is not None
    ]
    yield from unique(ids, "id.duplicate", "the instance_id")
    total, completed, failed = (summary.get(field) for field in ("total_instances", "completed", "failed"))
    if total is None:
        return
    if len(index) > total:
        yield _wrong_count("count.instances", "total_instances", total, len(index), "are listed")
    if completed is not None and failed is not None and (ended := whole_sum((completed, failed))) != total:
        yield _wrong_count("count.completed", "total_instances", total, ended, "are completed or failed")
    if len(index) != total:
        return
    statuses = [entry.get("status") for entry in index]
    if completed is not None and None not in statuses and completed != statuses.count("completed"):
        yield _wrong_count(
            "count.completed", "completed", completed, statuses.count("completed"), "are completed"
        )
    costs, stated = all_known(entry.get("cost") for entry in index), summary.get("total_cost")
    if stated is not None and costs is not None and not money_agrees(costs, stated):
        yield _wrong_count("sum.cost", "total_cost", stated, exact_sum(costs), "dollars add up")


def _wrong_count(rule: str, field: str, stated: object, actual: object, what: str) -> Finding:
    return finding(
        rule,
        f"/summary/{field}",
        f"{field} is {display_value(stated)}, but {display_value(actual)} {what}",
        hint=f"write {display_value(actual)}, or correct the index",
        expected=actual if isinstance(actual, int) else str(actual),
        found=stated,
    )
