"""Reports of agents about their work, as keys of `automation` in a plan. Secrets in them are masked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from runcard.encoding import JsonObject
from runcard.errors import DocumentError, UsageError
from runcard.plans.agents import Agent


@dataclass(frozen=True, slots=True)
class AgentReport:
    """An agent's report. After a completed or skipped agent its successor may begin."""

    completed: bool | None = None  # None: completed, if nothing but the version is given
    version: str | None = None
    skipped: str | None = None  # the reason
    warnings: Sequence[str] = ()
    errors: Sequence[str] = ()
    values: JsonObject | None = None  # further keys of `automation`

    def __post_init__(self) -> None:
        if self.is_completed and self.skipped is not None:
            raise UsageError("an agent is completed or skipped, not both", hint="drop one of the two")

    @property
    def is_completed(self) -> bool:
        if self.completed is None:
            return self.skipped is None and not (self.warnings or self.errors or self.values)
        return self.completed

    @property
    def allows_successor(self) -> bool:
        return self.is_completed or self.skipped is not None

    def applied_to(self, plan: JsonObject, agent: Agent) -> JsonObject:
        """The plan with this report of an agent."""
        if not agent.writes:
            raise DocumentError("the reviewer may not write into a plan", hint="report to the user instead")
        automation = dict(plan.get("automation") or {})
        automation |= self._state(agent)
        if self.is_completed:
            for suffix in ("skipped", "skip_reason"):
                automation.pop(agent.prefix + suffix, None)
        for key, texts in (("errors", self.errors), ("warnings", self.warnings)):
            if texts:
                automation[key] = [*_existing(automation.get(key), key), *texts]
        return {**plan, "automation": automation | (self.values or {})}

    def _state(self, agent: Agent) -> JsonObject:
        state: JsonObject = {}
        if self.skipped is not None:
            state[agent.marker] = state[f"{agent.prefix}skipped"] = True
            state[f"{agent.prefix}skip_reason"] = self.skipped
        elif self.is_completed:
            state |= dict.fromkeys(agent.markers, True)
        elif self.errors:  # a failed agent is not done, whatever it reported before
            state |= dict.fromkeys(agent.markers, False)
        if self.version is not None:
            state[f"{agent.prefix}version"] = self.version
        return state


def mask_report(report: AgentReport) -> tuple[AgentReport, list[str]]:
    """The report with its secrets masked, and the names of the rules that matched."""
    if not (report.skipped or report.warnings or report.errors or report.values):
        return report, []
    from runcard.masking import mask_data, mask_text  # noqa: PLC0415 - its patterns take long to import

    values = mask_data(dict(report.values or {}))
    rules = set(values.counts)

    def clean(text: Any) -> Any:  # noqa: ANN401 - any JSON value
        if not isinstance(text, str):
            return text
        masked = mask_text(text)
        rules.update(masked.counts)
        return masked.value

    cleaned = replace(
        report,
        skipped=clean(report.skipped),
        warnings=[clean(text) for text in _as_list(report.warnings)],
        errors=[clean(text) for text in _as_list(report.errors)],
        values=values.value,
    )
    return cleaned, sorted(rules)


def _as_list(texts: Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts  # a str is a sequence of strings, too


def _existing(value: object, key: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise DocumentError(f"automation.{key} is not a list", hint=f"write {key}: []")
    return value
