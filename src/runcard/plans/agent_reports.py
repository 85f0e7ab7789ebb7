"""What an agent reports about its work, and the keys of `automation` that say it. Secrets are masked in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from runcard.encoding import JsonObject
from runcard.errors import DocumentError, UsageError
from runcard.plans.agents import Agent


@dataclass(frozen=True, slots=True)
class AgentReport:
    """An agent's report. One that is skipped has nothing left to do either, and its successor may begin."""

    completed: bool | None = None  # None: when nothing else is said but the version
    version: str | None = None
    skipped: str | None = None  # the reason
    warnings: Sequence[str] = ()
    errors: Sequence[str] = ()
    values: JsonObject | None = None  # further keys of `automation`

    def __post_init__(self) -> None:
        if self.is_completed and self.skipped is not None:
            raise UsageError("an agent is completed or skipped, not both", hint="leave one of the two out")

    @property
    def is_completed(self) -> bool:
        if self.completed is None:
            return self.skipped is None and not (self.warnings or self.errors or self.values)
        return self.completed

    @property
    def hands_on(self) -> bool:
        return self.is_completed or self.skipped is not None

    def on(self, agent: Agent, plan: JsonObject) -> JsonObject:
        """The plan with this mark of an agent."""
        if not agent.writes:
            raise DocumentError("the reviewer writes nothing into a plan", hint="report elsewhere")
        automation = dict(plan.get("automation") or {})
        automation |= self._state(agent)
        if self.is_completed:
            for word in ("skipped", "skip_reason"):
                automation.pop(agent.prefix + word, None)
        for key, said in (("errors", self.errors), ("warnings", self.warnings)):
            if said:
                automation[key] = [*_texts(automation.get(key), key), *said]
        return {**plan, "automation": automation | (self.values or {})}

    def _state(self, agent: Agent) -> JsonObject:
        said: JsonObject = {}
        if self.skipped is not None:
            said[agent.marker] = said[f"{agent.prefix}skipped"] = True
            said[f"{agent.prefix}skip_reason"] = self.skipped
        elif self.is_completed:
            said |= dict.fromkeys(agent.markers, True)
        elif self.errors:  # what went wrong is not done, whatever was said before
            said |= dict.fromkeys(agent.markers, False)
        if self.version is not None:
            said[f"{agent.prefix}version"] = self.version
        return said


def mask_report(mark: AgentReport) -> tuple[AgentReport, list[str]]:
    """A report as it may be written down, and the rules by which something in it was masked."""
    if not (mark.skipped or mark.warnings or mark.errors or mark.values):
        return mark, []
    from runcard.masking import mask_data, mask_text  # noqa: PLC0415 - its patterns take long to import

    values = mask_data(dict(mark.values or {}))
    rules = set(values.counts)

    def clean(text: Any) -> Any:  # noqa: ANN401 - whatever was said
        if not isinstance(text, str):
            return text
        masked = mask_text(text)
        rules.update(masked.counts)
        return masked.value

    cleaned = replace(
        mark,
        skipped=clean(mark.skipped),
        warnings=[clean(text) for text in _listed(mark.warnings)],
        errors=[clean(text) for text in _listed(mark.errors)],
        values=values.value,
    )
    return cleaned, sorted(rules)


def _listed(said: Sequence[str]) -> Sequence[str]:
    return [said] if isinstance(said, str) else said  # one text is a sequence of texts, too


def _texts(value: object, key: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise DocumentError(
            f"automation.{key} is no list, so nothing can be added to it", hint=f"write {key}: []"
        )
    return value
