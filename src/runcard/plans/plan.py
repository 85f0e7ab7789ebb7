"""A plan that agents read, change and write back.

A lock on the folder of the plan serialises writers. A write is refused when the file has changed since it was read, when
the change is not the agent's to make, or when it would make the plan invalid. The file is replaced atomically; values
that did not change keep their bytes, comments included.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from runcard.documents import reader
from runcard.documents.findings import Finding, InvalidDocument, Report
from runcard.documents.kinds import TESTPLAN
from runcard.documents.testplan.plan import TestPlan
from runcard.documents.testplan.versions import PlanShape, in_latest_shape
from runcard.encoding import BOM, JsonObject, Limits, as_text, encode_json
from runcard.encoding.json.edit import same_data
from runcard.errors import DocumentError, StoreError
from runcard.files import failure, locked, printable, shell_word
from runcard.plans.agent_reports import AgentReport, mask_report
from runcard.plans.agents import AGENTS, SECTIONS, Agent, agent_named, predecessor, successors
from runcard.plans.plan_files import MethodRef, PlanLocation, locate_plan, previous_path, read_plan_file
from runcard.plans.plan_writes import PlanWrites
from runcard.plans.project import check_inside, make_folder

_NEWER = {"version.newer-major", "version.newer-minor"}  # such plans are not rewritten
_MAY_BE_INVALID = ("analyzer", "validator")  # agents that work on plans that are not valid yet


class StaleError(StoreError):
    """The plan has changed since it was read."""


@dataclass(frozen=True)
class Plan:
    """The plan of one method, as it was when it was read."""

    location: PlanLocation

    @cached_property
    def report(self) -> Report:
        """All findings, with their positions in the text."""
        plan_file = self.location.plan_file
        if plan_file.content is None:
            return Report(kind=TESTPLAN.name)
        return reader.parse_document(plan_file.content, kind=TESTPLAN.name, limits=plan_file.limits).report

    @cached_property
    def errors(self) -> list[Finding]:
        """The errors of the report. A valid plan is not searched for the positions of its warnings."""
        return self.report.errors if self._needs_text else []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings; if the plan is valid, perhaps without their positions."""
        return (self.report if self._needs_text else self._quick_report).findings

    @cached_property
    def _needs_text(self) -> bool:
        """Whether the data alone do not show that the plan is valid."""
        from runcard.documents.testplan.unquoted_scalars import may_be_unquoted  # noqa: PLC0415 - imports YAML

        data, plan_file = self._yaml_data, self.location.plan_file
        if data is None or not self._quick_report.valid or plan_file.content is None:
            return True
        return may_be_unquoted(data, as_text(plan_file.content, plan_file.limits))

    @cached_property
    def _quick_report(self) -> Report:
        """The findings about the data, without positions, which take ten times as long."""
        data = self._yaml_data
        return self.report if data is None else TestPlan.check(data)

    @property
    def _yaml_data(self) -> JsonObject | None:
        """The data, if they are surely those of the report: a text in JSON is not always read as YAML."""
        plan_file = self.location.plan_file
        content = plan_file.content or b""
        return None if content.startswith(BOM) or content.lstrip()[:1] == b"{" else plan_file.data

    @property
    def _newer_version(self) -> Finding | None:
        """The finding that this version cannot write the plan, if there is one."""
        data = self._yaml_data
        if data is not None and data.get(TESTPLAN.version_key) in TESTPLAN.versions:
            return None
        return next((each for each in self._quick_report.findings if each.rule in _NEWER), None)

    @property
    def path(self) -> str:
        return self.location.path

    @property
    def source(self) -> str:
        """The Ruby file that it is about."""
        return self.location.source

    @property
    def exists(self) -> bool:
        return self.location.plan_file.exists

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about its location."""
        return self.location.warnings

    def to_dict(self) -> JsonObject:
        """A copy of the data; empty for a plan that does not exist yet."""
        plan_file = self.location.plan_file
        if plan_file.content is None or plan_file.data is None:
            return {}
        data: JsonObject = TestPlan.decode(plan_file.content, plan_file.limits)
        return data

    def to_latest(self) -> JsonObject:
        """A copy of the data with its characteristics as the latest version has them, for whoever reads all versions."""
        return in_latest_shape(self.to_dict())

    def write(self, agent: str, data: JsonObject, *, writes: PlanWrites | None = None) -> "Plan":
        """Write new data as an agent; returns the written plan.

        It is durable then. With `writes`, of a command that writes many plans, it is durable after `writes.sync()`.
        """
        writer = agent_named(agent)
        if writer.name != "analyzer":
            self.check_exists()
        self.location.check_method()
        with self.locked() as now:
            if now.location.plan_file.content != self.location.plan_file.content:
                raise StaleError(
                    f"{printable(self.path)} has changed since it was read: nothing was written",
                    hint="open the plan again and repeat the change",
                )
            return self._write_as(writer, data, writes=writes)

    def mark(
        self,
        agent: str,
        *,
        completed: bool | None = None,
        version: str | None = None,
        skipped: str | None = None,
        warnings: Sequence[str] = (),
        errors: Sequence[str] = (),
        values: JsonObject | None = None,
    ) -> "Plan":
        """Write an agent's report into the plan as it is on disk; `values` are further keys of `automation`.

        Without arguments, or with the version alone, the work is marked as completed.
        """
        writer = agent_named(agent)
        report, _ = mask_report(AgentReport(completed, version, skipped, warnings, errors, values))
        self.check_exists()
        with self.locked() as now:
            return now._mark_as(writer, report)  # noqa: SLF001 - the same plan

    def _mark_as(self, agent: Agent, report: AgentReport) -> "Plan":
        if report.allows_successor:
            self.check_handover(agent)
        data = report.applied_to(self._data_or_raise(), agent)
        return self._write_as(agent, data, is_new=agent.name == "analyzer" and report.is_completed)

    @property
    def error_lines(self) -> list[str]:
        return [_error_line(error) for error in self.errors]

    def missing(self, agent: str) -> list[str]:
        """The reasons why an agent cannot begin; empty when it can."""
        writer = agent_named(agent)
        before = predecessor(writer)
        if before is None:
            return []
        if self.location.is_other_method or not self.exists:
            return [f"no plan yet: the {before.name} comes before the {agent}"]
        errors = self.error_lines
        reasons = [] if writer.name in _MAY_BE_INVALID else errors
        if self.location.plan_file.data is None:
            reasons = errors
        elif not before.is_done(self.location.plan_file.data):
            reasons.append(f"the {before.name} has not reported yet")
        return reasons

    def check_handover(self, agent: Agent) -> None:
        """Refuse to hand over an invalid plan."""
        if agent.name not in _MAY_BE_INVALID:
            self.check_valid()

    def check_valid(self) -> None:
        if self.errors:
            raise InvalidDocument(self.report, printable(self.path))

    def with_validation(self, section: JsonObject, *, writes: PlanWrites | None = None) -> "Plan":
        """Write the validator's section; returns this plan if nothing can or need be written."""
        data = self.location.plan_file.data
        if data is None or self._newer_version:
            return self
        automation = data.get("automation")
        if (
            isinstance(automation, dict) and "validation_passed" in automation
        ):  # it must agree with the section
            data = data | {"automation": automation | {"validation_passed": section["completed"]}}
        return self._write_as(AGENTS["validator"], {**data, "validation": section}, writes=writes)

    def check_exists(self) -> None:
        """Refuse a plan that does not exist, or that is the plan of another method."""
        if self.location.is_other_method:
            raise StoreError(
                f"{printable(self.source)} has no plan for this method",
                hint=f"create it with `runcard plan analyze {shell_word(self.source)} --all-methods --write`, or see all plans: runcard plan list",
            )
        if not self.exists:
            raise StoreError(
                f"there is no plan for {printable(self.source)}",
                hint=f"to create it: runcard plan analyze {shell_word(self.source)} --all-methods --write",
            )

    @contextmanager
    def locked(self) -> Iterator["Plan"]:
        """Lock out other writers; yields the plan as it is on disk."""
        folder = os.path.dirname(os.path.abspath(self.path))
        try:
            if not self.exists:
                make_folder(self.location.project)
        except OSError as error:
            raise failure(error, folder, "make the directory") from error
        with locked(folder):
            yield Plan(
                replace(self.location, plan_file=read_plan_file(self.path, self.location.plan_file.limits))
            )

    def _data_or_raise(self) -> JsonObject:
        data = self.location.plan_file.data
        if data is None:
            raise InvalidDocument(self.report, printable(self.path))
        return data

    def _write_as(
        self, agent: Agent, data: JsonObject, *, is_new: bool = False, writes: PlanWrites | None = None
    ) -> "Plan":
        plan_file = self.location.plan_file
        self._check_rewritable()
        old = {} if plan_file.data is None and agent.name == "analyzer" else self._data_or_raise()
        _check_ownership(agent, old, data)
        if is_new or _is_new_analysis(old, data):
            data = _without_later_marks(agent, data)
        if not old:
            data = {TESTPLAN.version_key: PlanShape.of_plan(data).version} | data
        after = _encode(plan_file.content, old, _in_order(old, data))
        if after == plan_file.content:
            return self
        written = Plan(replace(self.location, plan_file=replace(plan_file, content=after)))
        _check_no_new_errors(self, written, agent)
        check_inside(self.location.project, self.path)
        own_writes = writes or PlanWrites()
        if plan_file.content and agent.name == "analyzer" and _is_new_analysis(old, data):
            own_writes.write(previous_path(self.path), plan_file.content, self.location.project)
        own_writes.write(self.path, after, self.location.project)
        if writes is None:
            own_writes.sync()
        return written

    def _check_rewritable(self) -> None:
        if newer := self._newer_version:
            raise DocumentError(f"{printable(self.path)} is not rewritten: {newer.message}", hint=newer.hint)


def find_plan(
    path: str,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    limits: Limits | None = None,
) -> Plan:
    """The plan of a source, or the plan at a path; it need not exist."""
    return Plan(locate_plan(path, root=root, method_ref=method_ref, limits=limits))


def _encode(content: bytes | None, old: JsonObject, new: JsonObject) -> bytes:
    if content and old and same_data(old, new):
        return content
    return TestPlan.edit(content, old, new) if content and old else TestPlan.encode(new)


def _check_no_new_errors(before: Plan, after: Plan, agent: Agent) -> None:
    """Refuse a write that adds errors; the validator may write down the errors it found."""
    if agent.name == "validator" or not after.errors:
        return
    known = {(error.rule, error.path) for error in before.errors}
    new = [error for error in after.errors if (error.rule, error.path) not in known]
    if new:
        raise InvalidDocument(after.report._replace(findings=tuple(new)), f"the new {printable(before.path)}")


def _error_line(error: Finding) -> str:
    where = f"{error.path}: " if error.path else ""
    return f"the plan is not valid: {where}{error.message} [{error.rule}]"


_ANALYSIS = ("test_level", "target", "characteristics")
_PLACE = {"lines", "source", "condition", "note", "wording"}  # of a characteristic
_MARK_KEYS = ("completed", "skipped", "skip_reason")


def _check_ownership(agent: Agent, old: JsonObject, new: JsonObject) -> None:
    """Refuse a change that the agent may not make."""
    refused = [keys for keys in _changed(old, new) if not agent.owns(*keys)]
    if not refused:
        return
    named = ", ".join(printable(".".join(keys)) for keys in refused[:5])
    raise DocumentError(
        f"the {agent.name} may not write {named}: nothing was changed",
        hint=f"it may write {', '.join(agent.writable)}" if agent.writes else "the reviewer only reads",
    )


def _changed(old: JsonObject, new: JsonObject) -> Iterator[tuple[str, ...]]:
    """The sections that differ; for `automation`, the keys."""
    for section in {**old, **new}:
        before, after = old.get(section, {}), new.get(section, {})
        if section == "automation" and isinstance(before, dict) and isinstance(after, dict):
            yield from ((section, key) for key in {**before, **after} if _differ(before, after, key))
        elif _differ(old, new, section):
            yield (section,)


def _differ(old: JsonObject, new: JsonObject, key: str) -> bool:
    if key not in old or key not in new:
        return True
    if old[key] is new[key]:
        return False
    return encode_json(old[key]) != encode_json(new[key])  # distinguishes 1, 1.0 and true


def _is_new_analysis(old: JsonObject, new: JsonObject) -> bool:
    """Whether reports about the old analysis are void: its characteristics differ, in more than their place."""
    replaced = [section for section in _ANALYSIS if section in old and old[section] is not new.get(section)]
    if not replaced:
        return False
    before, after = _meaning(old), _meaning(new)
    return any(_differ(before, after, section) for section in replaced)


def _meaning(plan: JsonObject) -> JsonObject:
    """The analysis in a plan without what follows from the place and the wording of the code."""
    plan = in_latest_shape(plan)
    listed = plan.get("characteristics")
    if not isinstance(listed, list):
        return plan
    kept = [_without_place(item) if isinstance(item, dict) else item for item in listed]
    return {**plan, "characteristics": kept}


def _without_place(characteristic: JsonObject) -> JsonObject:
    setup = characteristic.get("setup")
    kept = {key: value for key, value in characteristic.items() if key not in _PLACE}
    return kept | {"setup": {**setup, "source": None}} if isinstance(setup, dict) else kept


def _without_later_marks(agent: Agent, plan: JsonObject) -> JsonObject:
    """The plan without the reports of later agents about the previous analysis."""
    kept = {section: value for section, value in plan.items() if section != "validation"}
    automation = kept.get("automation")
    if isinstance(automation, dict):
        void = {"validation_passed", *(marker for later in successors(agent) for marker in later.markers)}
        void |= {f"{later.prefix}{word}" for later in successors(agent) for word in _MARK_KEYS}
        kept["automation"] = {key: value for key, value in automation.items() if key not in void}
    return kept


def _in_order(old: JsonObject, new: JsonObject) -> JsonObject:
    """The new data in the order of the file; new sections at their documented position."""
    keys = [key for key in old if key in new]
    for key in new:
        if key in old:
            continue
        before = SECTIONS[: SECTIONS.index(key)] if key in SECTIONS else SECTIONS
        positions = [index + 1 for index, known in enumerate(keys) if known in before]
        is_known = key in SECTIONS
        keys.insert(max(positions, default=0) if is_known else len(keys), key)
    return {key: new[key] for key in keys}
