"""The team document: a session's metadata.json, and the rules for its fields.

The instances' own documents are in `instance.py`. Nothing here reads files: `verify` compares the document with the disk.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from runcard.documents.document import Document
from runcard.documents.exact_sums import exact_sum, money_agrees, whole_sum
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.kinds import TEAM
from runcard.documents.session.model_rules import model_rules
from runcard.documents.session.performance import team_section_rules
from runcard.documents.times import parse_time, whole_seconds
from runcard.encoding import JsonObject
from runcard.files import is_safe_id

Findings = Iterator[Finding]
Lifetime = tuple[datetime | None, datetime | None]  # from creation to end, as far as known

ID_FORM = "1 to 128 letters, digits, dots, dashes or underscores, beginning with a letter or digit"


class Team(Document):
    """A team session."""

    __slots__ = ()
    kind = TEAM
    cost_path = ("execution_summary", "total_cost")

    @property
    def session_id(self) -> str:
        return str(self._data["team_session_id"])

    @property
    def created_at(self) -> datetime | None:
        return parse_time(self._data["created_at"])

    @property
    def work_ended(self) -> datetime | None:
        return parse_time(work_end(self._data))

    @property
    def instances(self) -> tuple[JsonObject, ...]:
        """The instances as the document lists them; the first without a parent is the root."""
        return tuple(self.to_dict()["instances"])

    @staticmethod
    def rules(document: JsonObject) -> Findings:
        yield from id_form("/team_session_id", document.get("team_session_id"))
        entries, summary = document.get("instances"), document.get("execution_summary")
        if entries is None:  # absent or not a list: the schema reports it
            return
        instances = [instance or {} for instance in entries]
        lifetimes = [(parse_time(i.get("created_at")), parse_time(i.get("terminated_at"))) for i in instances]
        adds_up = None not in entries  # not with an invalid entry, which the schema reports
        yield from _count("/total_instances", document.get("total_instances"), len(instances))
        yield from _ids(instances)
        if adds_up:
            yield from _parents(instances)
        for index, (instance, lifetime) in enumerate(zip(instances, lifetimes, strict=True)):
            if instance.get("status") == "running" or _ends_before_start(lifetime):
                yield from lifetime_rules(instance, lifetime, f"/instances/{index}")
            yield from model_rules(instance, f"/instances/{index}")
        if summary is not None:
            yield from _summary(summary, instances, lifetimes, adds_up=adds_up)
        if adds_up:
            yield from team_section_rules(document, instances)


def work_start(document: JsonObject) -> str | None:
    """When the work of a session started: `execution_start`, or else the earliest start of an instance."""
    stated: str | None = document["execution_summary"].get("execution_start")
    return stated or min(_times_of(document, "created_at"), default=(None, None))[1]


def work_end(document: JsonObject) -> str | None:
    """When it ended: `execution_end`, or else the latest end of an instance.

    An instance without an observed end has that of the collection.
    """
    stated: str | None = document["execution_summary"].get("execution_end")
    return stated or max(_times_of(document, "terminated_at"), default=(None, None))[1]


def _times_of(document: JsonObject, field: str) -> list[tuple[datetime, str]]:
    texts = [instance[field] for instance in document["instances"]]
    return [(moment, text) for text in texts if (moment := parse_time(text)) is not None]


def _summary(
    summary: JsonObject, instances: list[JsonObject], lifetimes: list[Lifetime], *, adds_up: bool
) -> Findings:
    if adds_up:
        yield from _tokens(summary, instances)
        yield from _costs(summary, instances)
    yield from _statuses(summary, instances)
    yield from _times(summary, lifetimes)


def _ends_before_start(lifetime: Lifetime) -> bool:
    start, end = lifetime
    return start is not None and end is not None and start > end


def lifetime_rules(instance: JsonObject, lifetime: Lifetime, at: str) -> Findings:
    """The rules for the times and the end of an instance, in the team document and in its own."""
    if _ends_before_start(lifetime):
        created, terminated = instance["created_at"], instance["terminated_at"]
        yield finding(
            "time.order",
            f"{at}/terminated_at",
            f"terminated at {terminated}, before it was created at {created}",
            hint="correct the wrong one, or swap the two",
            expected=f">= {created}",
            found=terminated,
        )
    if instance.get("status") == "running":
        yield finding(
            "status.running",
            f"{at}/status",
            f"{display_value(instance.get('name') or instance.get('instance_id'))} is still running",
            hint="collect again when it has ended",
            found="running",
        )


def id_form(pointer: str, value: str | None) -> Findings:
    if value is not None and not is_safe_id(value):
        yield finding(
            "id.form",
            pointer,
            f"{display_value(value)} cannot be a file name",
            hint=f"use {ID_FORM}",
            expected=ID_FORM,
            found=value,
        )


def unique(pointers: Iterable[tuple[str, str | None]], rule: str, what: str) -> Findings:
    """A finding for each value that occurs again."""
    first: dict[str, str] = {}
    for pointer, value in pointers:
        if value is None:
            continue
        if value in first:
            yield finding(
                rule,
                pointer,
                f"{what} {display_value(value)} is already at {first[value]}",
                hint="remove or rename one of the two",
                found=value,
            )
        else:
            first[value] = pointer


def _count(pointer: str, stated: int | None, actual: int) -> Findings:
    if stated is not None and stated != actual:
        yield finding(
            "count.instances",
            pointer,
            f"the stated number of instances is {display_value(stated)}, the listed number {actual}",
            hint=f"write {actual}, or list the missing ones",
            expected=actual,
            found=stated,
        )


def _ids(instances: list[JsonObject]) -> Findings:
    ids = [instance.get("instance_id") for instance in instances]
    for index, value in enumerate(ids):
        if value is not None and not is_safe_id(value):
            yield from id_form(f"/instances/{index}/instance_id", value)
    if len(set(ids)) != len(ids):
        pointers = [(f"/instances/{index}/instance_id", value) for index, value in enumerate(ids)]
        yield from unique(pointers, "id.duplicate", "the instance_id")


def _parents(instances: list[JsonObject]) -> Findings:
    parents = {i["instance_id"]: i.get("parent_instance_id") for i in instances if i.get("instance_id")}
    children: dict[str | None, int] = {}  # a Counter would take as long as all the rest here
    for instance in instances:
        parent = instance.get("parent_instance_id")
        children[parent] = children.get(parent, 0) + 1
    for index, instance in enumerate(instances):
        parent, stated = instance.get("parent_instance_id"), instance.get("children_count")
        if parent is not None and parent not in parents:
            yield finding(
                "parent.missing",
                f"/instances/{index}/parent_instance_id",
                f"the parent {display_value(parent)} is not in the team",
                hint="name the instance_id of an instance in the list, or null for a root",
                found=parent,
            )
        instance_id = instance.get("instance_id")
        if stated is not None and instance_id is not None and stated != children.get(instance_id, 0):
            actual = children.get(instance_id, 0)
            yield finding(
                "count.children",
                f"/instances/{index}/children_count",
                f"children_count is {display_value(stated)}, but the number of instances naming this one as parent is {actual}",
                hint=f"write {actual}, or correct the parents",
                expected=actual,
                found=stated,
            )
    yield from _cycles(parents, instances)


def _cycles(parents: dict[str, str | None], instances: list[JsonObject]) -> Findings:
    """Each cycle once, in full. Every instance has one parent, so following parents finds them all."""
    visited: dict[str, str] = {}  # instance → where the walk that first reached it began
    positions: dict[str | None, int] = {}  # filled only if there is a cycle
    for start in parents:
        node: str | None = start
        while node in parents and node not in visited:
            visited[node] = start
            node = parents[node]
        if node is not None and visited.get(node) == start:
            positions = positions or {
                instance.get("instance_id"): index for index, instance in enumerate(instances)
            }
            yield _cycle(node, parents, positions[node])


def _cycle(node: str, parents: dict[str, str | None], index: int) -> Finding:
    names, step = [node], parents[node]
    while step is not None and step != node:
        names.append(step)
        step = parents[step]
    path = [display_value(name).strip("'") for name in (*names, node)]
    if len(path) > 100:
        path[50:-50] = [f"({len(path) - 100:,} more)"]
    return finding(
        "parent.cycle",
        f"/instances/{index}/parent_instance_id",
        f"a cycle of parents: {' → '.join(path)}",
        hint="give one of them a parent outside the cycle, or null",
        found=parents[node],
    )


def _statuses(summary: JsonObject, instances: list[JsonObject]) -> Findings:
    yield from _count("/execution_summary/total_instances", summary.get("total_instances"), len(instances))
    statuses = [instance.get("status") for instance in instances]
    if None in statuses:
        return
    completed = statuses.count("completed")
    failed = len(statuses) - completed
    for field, actual in (
        ("completed_instances", completed),
        ("failed_instances", failed),
        ("all_completed", failed == 0),
    ):
        stated = summary.get(field)
        if stated is not None and stated != actual:
            yield finding(
                "count.completed",
                f"/execution_summary/{field}",
                f"{field} is {display_value(stated)}, but {completed} of {len(statuses)} instances are completed",
                hint=f"write {display_value(actual)}; every status but 'completed' counts as failed",
                expected=actual,
                found=stated,
            )
    counts = summary.get("status_counts")
    if counts is None or None in counts.values():
        return
    if {status: count for status, count in counts.items() if count} != Counter(statuses):
        yield finding(
            "count.completed",
            "/execution_summary/status_counts",
            "status_counts does not count the instances by their status",
            hint="count every instance once",
            expected=dict(Counter(statuses)),
        )


def _times(summary: JsonObject, lifetimes: list[Lifetime]) -> Findings:
    created = [start for start, _ in lifetimes if start]
    terminated = [end for _, end in lifetimes if end]
    start = min(created) if lifetimes and len(created) == len(lifetimes) else None
    end = max(terminated) if lifetimes and len(terminated) == len(lifetimes) else None
    for field, actual, what in (
        ("execution_start", start, "the earliest created_at"),
        ("execution_end", end, "the latest terminated_at"),
    ):
        stated = summary.get(field)
        moment = parse_time(stated)
        if moment and actual and moment != actual:
            expected = actual.isoformat().replace("+00:00", "Z")
            yield finding(
                "summary.times",
                f"/execution_summary/{field}",
                f"{field} is {stated}, but {what} is {expected}",
                hint=f"write {expected}",
                expected=expected,
                found=stated,
            )
    stated = summary.get("total_execution_time_seconds")
    if stated is not None and start and end and stated != whole_seconds(start, end):
        seconds = whole_seconds(start, end)
        yield finding(
            "summary.times",
            "/execution_summary/total_execution_time_seconds",
            f"{display_value(stated)} seconds are stated; from the first start to the last end it is {seconds}",
            hint=f"write {seconds}",
            expected=seconds,
            found=stated,
        )


def _stated_values(instances: list[JsonObject], field: str) -> list[Any] | None:
    """The values that are stated; None if one of them is invalid, since their sum is unknown then."""
    values = [instance[field] for instance in instances if field in instance]
    return None if None in values else values


def _tokens(summary: JsonObject, instances: list[JsonObject]) -> Findings:
    counts = _stated_values(instances, "tokens_used")
    if counts is None:
        return
    total, average = summary.get("total_tokens"), summary.get("average_tokens_per_instance")
    actual = whole_sum(counts)
    is_complete = len(counts) == len(instances)
    if total is not None and (total != actual if is_complete else total < actual):
        yield _wrong_sum("sum.tokens", "total_tokens", total, actual, "tokens")
    yield from _unknown_parts(
        summary, "total_tokens", "known_tokens", len(instances) - len(counts), "tokens_used"
    )
    if summary.get("known_tokens") not in (None, actual):
        yield _wrong_sum("sum.tokens", "known_tokens", summary["known_tokens"], actual, "tokens")
    whole = total if total is not None else actual if is_complete else None
    if (
        average is not None
        and whole is not None
        and instances
        and not _is_average(average, whole, len(instances))
    ):
        yield finding(
            "sum.average",
            "/execution_summary/average_tokens_per_instance",
            f"the average is {display_value(average)}, but {display_value(whole)} tokens over {len(instances)} instances are stated",
            hint="divide the total by the number of instances",
            found=average,
        )


def _is_average(average: float, whole: int, count: int) -> bool:
    if average * count == whole:
        return True
    from decimal import Decimal  # noqa: PLC0415 - few averages are no whole numbers

    return abs(Decimal(str(average)) * count - Decimal(whole)) <= Decimal("0.01") * count


def _costs(summary: JsonObject, instances: list[JsonObject]) -> Findings:
    costs = _stated_values(instances, "cost")
    if costs is None:
        return
    total = summary.get("total_cost")
    is_complete = len(costs) == len(instances)
    if total is not None and not money_agrees(costs, total, at_least=not is_complete):
        yield _wrong_sum("sum.cost", "total_cost", total, exact_sum(costs), "dollars")
    yield from _unknown_parts(summary, "total_cost", "known_cost", len(instances) - len(costs), "cost")
    partly = [
        each["known_cost"] for each in instances if "cost" not in each and each.get("known_cost") is not None
    ]
    known = [*costs, *partly]
    if summary.get("known_cost") is not None and not money_agrees(known, summary["known_cost"]):
        yield _wrong_sum("sum.cost", "known_cost", summary["known_cost"], exact_sum(known), "dollars")


def _unknown_parts(summary: JsonObject, total: str, subtotal: str, unknown: int, part: str) -> Findings:
    if summary.get(total) is None and not (unknown and summary.get(subtotal) is not None):
        yield finding(
            "sum.absent",
            "/execution_summary",
            f"the summary has no {total}"
            + (f": {part} is unknown for {unknown} of the instances" if unknown else ""),
            hint=f"state {part} for every instance and {total} for all" if unknown else f"add {total}",
        )
    if summary.get(total) is not None and unknown:
        yield finding(
            "sum.unknown",
            f"/execution_summary/{total}",
            f"{total} is stated, but {part} is unknown for {unknown} of the instances",
            hint=f"leave {total} out, or state {part} for every instance",
        )


def _wrong_sum(rule: str, field: str, stated: object, actual: object, unit: str) -> Finding:
    from decimal import Decimal  # noqa: PLC0415 - few sums are wrong

    return finding(
        rule,
        f"/execution_summary/{field}",
        f"{field} is {display_value(stated)}, but the instances' {unit} add up to {display_value(actual)}",
        hint=f"write {display_value(actual)}, or correct the instances",
        expected=str(actual) if isinstance(actual, Decimal) else actual,
        found=stated,
    )
