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
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, StoreError
from runcard.files import failure, locked, printable, write_atomic
from runcard.files.temporary_files import remove_temporary_files_for
from runcard.plans.agent_reports import Mark, without_secrets
from runcard.plans.agents import AGENTS, Agent, agent_named, predecessor
from runcard.plans.edit import check_ownership, in_order, is_new_analysis, without_later_marks
from runcard.plans.plan_files import Place
from runcard.plans.plan_text import read_stored
from runcard.plans.project import check_inside, make_folder

_NEWER = {"version.newer-major", "version.newer-minor"}  # what is not rewritten
_BEFORE_HANDING_ON = ("analyzer", "validator")  # who works on plans that are not valid yet


class StaleError(StoreError):
    """Somebody else wrote the plan in the meantime."""


@dataclass(frozen=True)
class Plan:
    """The plan of one method, as it was when it was read."""

    place: Place
    report: Report

    @property
    def path(self) -> str:
        return self.place.path

    @property
    def source(self) -> str:
        """The Ruby file that it is about."""
        return self.place.source

    @property
    def exists(self) -> bool:
        return self.place.stored.exists

    @property
    def warnings(self) -> tuple[str, ...]:
        """What there is to know about where it lies."""
        return self.place.warnings

    def to_dict(self) -> JsonObject:
        """The data, the caller's own to change; empty for a plan that does not exist yet."""
        source = self.place.stored.source
        data = (
            None
            if source is None or self.place.stored.data is None
            else TestPlan.decode(source, self.place.stored.limits)
        )
        return data or {}

    def write(self, agent: str, data: JsonObject) -> "Plan":
        """Write the plan with other data, as an agent; the plan as it is then."""
        doer = agent_named(agent)
        if doer.name != "analyzer":
            self.check_exists()
        self.place.check_own()
        with self.locked() as now:
            if now.place.stored.source != self.place.stored.source:
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
        mark, _ = without_secrets(Mark(completed, version, skipped, warnings, errors, values))
        self.check_exists()
        with self.locked() as now:
            return now._marked(doer, mark)  # noqa: SLF001 - the same plan

    def _marked(self, agent: Agent, mark: Mark) -> "Plan":
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
        if self.place.is_other or not self.exists:
            return [f"there is no plan yet: the {before.name} comes before the {agent}"]
        said = [] if doer.name in _BEFORE_HANDING_ON else [_told(error) for error in self.report.errors]
        if self.place.stored.data is None:
            said = [_told(error) for error in self.report.errors]
        elif not before.is_done(self.place.stored.data):
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
        data = self.place.stored.data
        if data is None or any(found.rule in _NEWER for found in self.report.findings):
            return self
        automation = data.get("automation")
        if isinstance(automation, dict) and "validation_passed" in automation:  # it must not say otherwise
            data = data | {"automation": automation | {"validation_passed": section["completed"]}}
        return self._written(AGENTS["validator"], {**data, "validation": section})

    def check_exists(self) -> None:
        """Refuse what is not there, and a plan that is about another method than the one asked for."""
        if self.place.is_other:
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
                make_folder(self.place.project)
        except OSError as error:
            raise failure(error, folder, "make the directory") from error
        with locked(folder):
            yield plan_at(replace(self.place, stored=read_stored(self.path, self.place.stored.limits)))

    def _readable(self) -> JsonObject:
        data = self.place.stored.data
        if data is None:
            raise InvalidDocument(self.report, printable(self.path))
        return data

    def _written(self, agent: Agent, data: JsonObject, *, is_new: bool = False) -> "Plan":
        stored = self.place.stored
        self._check_rewritable()
        old = {} if stored.data is None and agent.name == "analyzer" else self._readable()
        check_ownership(agent, old, data)
        if is_new or is_new_analysis(old, data):
            data = without_later_marks(agent, data)
        if not old:
            data = {TESTPLAN.version_key: TESTPLAN.latest} | data
        after = _text(stored.source, old, in_order(old, data))
        if after == stored.source:
            return self
        written = plan_at(replace(self.place, stored=replace(stored, source=after)))
        _check_worth(self.report, written.report, agent, self.path)
        check_inside(self.place.project, self.path)
        try:
            write_atomic(self.path, after)
        except OSError as error:
            raise failure(error, self.path, "write") from error
        is_plans_own = os.path.dirname(os.path.realpath(self.path)) == self.place.project.folder
        remove_temporary_files_for(self.path, others=is_plans_own)
        return written

    def _check_rewritable(self) -> None:
        for found in self.report.findings:
            if found.rule in _NEWER:
                raise DocumentError(
                    f"{printable(self.path)} is not rewritten: {found.message}", hint=found.hint
                )


def plan_at(place: Place) -> Plan:
    """The plan at a place, with all that is wrong with it."""
    source = place.stored.source
    report = Report(kind=TESTPLAN.name)
    if source is not None:
        report = reader.parse_document(source, kind=TESTPLAN.name, limits=place.stored.limits).report
    return Plan(place, report)


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
    place = f"{error.path}: " if error.path else ""
    return f"the plan is not valid: {place}{error.message} [{error.rule}]"
