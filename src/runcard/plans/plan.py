"""A plan that can be read, changed by an agent, and written back.

Writers are serialised by a lock on the folder of the plan. A write is refused when the file is not what it was when it
was read, when it changes something that is not the agent's, or when it would make the plan invalid. The file is
replaced in one step; what did not change keeps its bytes, comments included.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from runcard.documents import reader
from runcard.documents.findings import Finding, InvalidDocument, Report
from runcard.documents.kinds import TESTPLAN
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject, encode_json
from runcard.errors import DocumentError, StoreError
from runcard.files import failure, locked, printable, write_atomic
from runcard.files.temporary_files import remove_temporary_files_for
from runcard.plans.agent_reports import AgentReport, mask_report
from runcard.plans.agents import AGENTS, SECTIONS, Agent, agent_named, predecessor, successors
from runcard.plans.plan_files import PlanLocation, read_plan_file
from runcard.plans.project import check_inside, make_folder

_NEWER = {"version.newer-major", "version.newer-minor"}  # what is not rewritten
_BEFORE_HANDING_ON = ("analyzer", "validator")  # who works on plans that are not valid yet


class StaleError(StoreError):
    """Somebody else wrote the plan in the meantime."""


@dataclass(frozen=True)
class Plan:
    """The plan of one method, as it was when it was read."""

    location: PlanLocation
    report: Report

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
        """What there is to know about where it lies."""
        return self.location.warnings

    def to_dict(self) -> JsonObject:
        """The data, the caller's own to change; empty for a plan that does not exist yet."""
        source = self.location.plan_file.source
        data = (
            None
            if source is None or self.location.plan_file.data is None
            else TestPlan.decode(source, self.location.plan_file.limits)
        )
        return data or {}

    def write(self, agent: str, data: JsonObject) -> "Plan":
        """Write the plan with other data, as an agent; the plan as it is then."""
        doer = agent_named(agent)
        if doer.name != "analyzer":
            self.check_exists()
        self.location.check_method()
        with self.locked() as now:
            if now.location.plan_file.source != self.location.plan_file.source:
                raise StaleError(
                    f"{printable(self.path)} has changed since it was read: nothing was written",
                    hint="open the plan again, and make the change anew",
                )
            return self._written(doer, data)

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
        """Report about an agent's work in the plan as it is now; `values` are further keys of `automation`.

        Nothing said, or the version alone, means that the work is done.
        """
        doer = agent_named(agent)
        mark, _ = mask_report(AgentReport(completed, version, skipped, warnings, errors, values))
        self.check_exists()
        with self.locked() as now:
            return now._marked(doer, mark)  # noqa: SLF001 - the same plan

    def _marked(self, agent: Agent, mark: AgentReport) -> "Plan":
        if mark.hands_on:
            self.check_handed_on(agent)
        data = mark.on(agent, self._readable())
        return self._written(agent, data, is_new=agent.name == "analyzer" and mark.is_completed)

    def missing(self, agent: str) -> list[str]:
        """What an agent must wait for before it begins; empty when it may."""
        doer = agent_named(agent)
        before = predecessor(doer)
        if before is None:
            return []
        if self.location.is_other_method or not self.exists:
            return [f"there is no plan yet: the {before.name} comes before the {agent}"]
        said = [] if doer.name in _BEFORE_HANDING_ON else [_told(error) for error in self.report.errors]
        if self.location.plan_file.data is None:
            said = [_told(error) for error in self.report.errors]
        elif not before.is_done(self.location.plan_file.data):
            said.append(f"the {before.name} has not left its marker")
        return said

    def check_handed_on(self, agent: Agent) -> None:
        """Refuse to hand an invalid plan on."""
        if agent.name not in _BEFORE_HANDING_ON:
            self.check_valid()

    def check_valid(self) -> None:
        if not self.report.valid:
            raise InvalidDocument(self.report, printable(self.path))

    def with_validation(self, section: JsonObject) -> "Plan":
        """The plan with what the validator found; itself where nothing can or need be written."""
        data = self.location.plan_file.data
        if data is None or any(found.rule in _NEWER for found in self.report.findings):
            return self
        automation = data.get("automation")
        if isinstance(automation, dict) and "validation_passed" in automation:  # it must not say otherwise
            data = data | {"automation": automation | {"validation_passed": section["completed"]}}
        return self._written(AGENTS["validator"], {**data, "validation": section})

    def check_exists(self) -> None:
        """Refuse what is not there, and a plan that is about another method than the one method_ref for."""
        if self.location.is_other_method:
            raise StoreError(
                f"{printable(self.source)} has no plan for that method",
                hint="make it with `runcard plan analyze --write`; `runcard plan list` shows the plans that there are",
            )
        if not self.exists:
            raise StoreError(
                f"there is no plan for {printable(self.source)}",
                hint="make it with `runcard plan analyze --write`; `runcard plan path` says where it must lie",
            )

    @contextmanager
    def locked(self) -> Iterator["Plan"]:
        """Keep other writers out; the same plan, as the file is now."""
        folder = os.path.dirname(os.path.abspath(self.path))
        try:
            if not self.exists:
                make_folder(self.location.project)
        except OSError as error:
            raise failure(error, folder, "make the directory") from error
        with locked(folder):
            yield plan_at(
                replace(self.location, plan_file=read_plan_file(self.path, self.location.plan_file.limits))
            )

    def _readable(self) -> JsonObject:
        data = self.location.plan_file.data
        if data is None:
            raise InvalidDocument(self.report, printable(self.path))
        return data

    def _written(self, agent: Agent, data: JsonObject, *, is_new: bool = False) -> "Plan":
        plan_file = self.location.plan_file
        self._check_rewritable()
        old = {} if plan_file.data is None and agent.name == "analyzer" else self._readable()
        check_ownership(agent, old, data)
        if is_new or is_new_analysis(old, data):
            data = without_later_marks(agent, data)
        if not old:
            data = {TESTPLAN.version_key: TESTPLAN.latest} | data
        after = _text(plan_file.source, old, in_order(old, data))
        if after == plan_file.source:
            return self
        written = plan_at(replace(self.location, plan_file=replace(plan_file, source=after)))
        _check_worth(self.report, written.report, agent, self.path)
        check_inside(self.location.project, self.path)
        try:
            write_atomic(self.path, after)
        except OSError as error:
            raise failure(error, self.path, "write") from error
        is_plans_own = os.path.dirname(os.path.realpath(self.path)) == self.location.project.folder
        remove_temporary_files_for(self.path, others=is_plans_own)
        return written

    def _check_rewritable(self) -> None:
        for found in self.report.findings:
            if found.rule in _NEWER:
                raise DocumentError(
                    f"{printable(self.path)} is not rewritten: {found.message}", hint=found.hint
                )


def plan_at(location: PlanLocation) -> Plan:
    """The plan at a location, with all that is wrong with it."""
    source = location.plan_file.source
    report = Report(kind=TESTPLAN.name)
    if source is not None:
        report = reader.parse_document(source, kind=TESTPLAN.name, limits=location.plan_file.limits).report
    return Plan(location, report)


def _text(source: bytes | None, old: JsonObject, new: JsonObject) -> bytes:
    return TestPlan.edit(source, old, new) if source and old else TestPlan.encode(new)


def _check_worth(before: Report, after: Report, agent: Agent, path: str) -> None:
    """Refuse what makes a plan worse; the validator may say how bad it is."""
    if agent.name == "validator":
        return
    known = {(found.rule, found.path) for found in before.errors}
    fresh = [found for found in after.errors if (found.rule, found.path) not in known]
    if fresh:
        raise InvalidDocument(replace(after, findings=tuple(fresh)), f"what {printable(path)} would become")


def _told(error: Finding) -> str:
    location = f"{error.path}: " if error.path else ""
    return f"the plan is not valid: {location}{error.message} [{error.rule}]"


_ANALYSIS = ("analyzer", "test_level", "target", "characteristics")
_OF_A_MARK = ("completed", "skipped", "skip_reason")


def check_ownership(agent: Agent, old: JsonObject, new: JsonObject) -> None:
    """Refuse a change of anything that is not the agent's."""
    outside = [location for location in _changed(old, new) if not agent.owns(*location)]
    if not outside:
        return
    named = ", ".join(printable(".".join(location)) for location in outside[:5])
    raise DocumentError(
        f"the {agent.name} may not write {named}: nothing was changed",
        hint=f"it may write {', '.join(agent.places)}" if agent.writes else "the reviewer only reads",
    )


def _changed(old: JsonObject, new: JsonObject) -> Iterator[tuple[str, ...]]:
    """The sections that differ; of `automation` the keys."""
    for section in {**old, **new}:
        before, after = old.get(section, {}), new.get(section, {})
        if section == "automation" and isinstance(before, dict) and isinstance(after, dict):
            yield from ((section, key) for key in {**before, **after} if _differ(before, after, key))
        elif _differ(old, new, section):
            yield (section,)


def _differ(old: JsonObject, new: JsonObject, key: str) -> bool:
    if key not in old or key not in new:
        return True
    return encode_json(old[key]) != encode_json(new[key])  # for which 1, 1.0 and true are three


def is_new_analysis(old: JsonObject, new: JsonObject) -> bool:
    return any(section in old and _differ(old, new, section) for section in _ANALYSIS)


def without_later_marks(agent: Agent, plan: JsonObject) -> JsonObject:
    """The plan without what later agents said about the analysis before."""
    left = {section: value for section, value in plan.items() if section != "validation"}
    automation = left.get("automation")
    if isinstance(automation, dict):
        void = {"validation_passed", *(marker for later in successors(agent) for marker in later.markers)}
        void |= {f"{later.prefix}{word}" for later in successors(agent) for word in _OF_A_MARK}
        left["automation"] = {key: value for key, value in automation.items() if key not in void}
    return left


def in_order(old: JsonObject, new: JsonObject) -> JsonObject:
    """The new data in the order of the file; a new section stands where plans have it."""
    keys = [key for key in old if key in new]
    for key in new:
        if key in old:
            continue
        before = SECTIONS[: SECTIONS.index(key)] if key in SECTIONS else SECTIONS
        places = [index + 1 for index, known in enumerate(keys) if known in before]
        is_known = key in SECTIONS
        keys.insert((max(places, default=0) if is_known else len(keys)), key)
    return {key: new[key] for key in keys}
