"""The factory optimizer: compares the states of a plan with the traits of its factories, and checks its spec's strategy."""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import FileKind, json_name, walk
from runcard.plans.agent_reports import AgentReport
from runcard.plans.agents import AGENTS
from runcard.plans.factory_traits import TraitMatch, factories_of, match_traits, missing_traits, strategy
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef
from runcard.plans.ruby.factory_usage import FactoryCall, factory_calls, symbols
from runcard.plans.ruby.spec_tree import read_spec
from runcard.plans.spec_groups import is_group_of_method, is_of_method
from runcard.plans.spec_paths import spec_of

_AGENT = AGENTS["factory-optimizer"]
_PREFIX = f"{_AGENT.name}: "  # of its warnings, so that a second run replaces them


@dataclass(frozen=True, slots=True)
class FactoryAdvice:
    """What could be improved about the factories of a plan."""

    plan: Plan
    strategy: str
    matches: list[TraitMatch]
    missing: dict[str, list[str]]
    unused: list[tuple[str, str]]  # factory and trait
    other: list[FactoryCall]  # calls in the spec that do not follow the strategy
    other_warnings: tuple[str, ...]

    @property
    def advice(self) -> list[str]:
        """Improvements, as sentences; they are written into the plan."""
        advice = [
            f"no trait for {name}: {', '.join(states)}; use attributes, or add traits"
            for name, states in self.missing.items()
        ]
        advice += [
            f"no spec uses the trait :{trait} of the factory {factory}" for factory, trait in self.unused
        ]
        advice += [
            f"line {call.line} of the spec: {call.strategy}(:{call.factory}) in a test that should use {self.strategy}"
            for call in self.other
        ]
        return advice

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.other_warnings, *self.advice)

    def to_dict(self) -> JsonObject:
        return {
            "metadata_path": json_name(self.plan.path).text,
            "strategy": self.strategy,
            "matches": [match.to_dict() for match in self.matches],
            "missing": self.missing,
            "unused": [{"factory": factory, "trait": trait} for factory, trait in self.unused],
            "other_strategy": [
                {"line": call.line, "strategy": call.strategy, "factory": call.factory} for call in self.other
            ],
            "warnings": list(self.warnings),
        }


def optimize(path: str, *, root: str | None = None, method_ref: MethodRef | None = None) -> FactoryAdvice:
    """Compare a plan with its factories, and write the advice into the plan as the factory optimizer."""
    plan = find_plan(path, root=root, method_ref=method_ref)
    plan.check_exists()
    plan.check_handover(_AGENT)
    data = plan.to_latest()
    matches = match_traits(data)
    factories = factories_of(data)
    result = FactoryAdvice(
        plan,
        strategy(data),
        matches,
        missing_traits(data, matches) if factories else {},
        list(_unused(plan, {(match.factory, match.trait): None for match in matches})),
        _other_strategy(plan, data),
        (*plan.warnings, *plan.missing(_AGENT.name), *_no_factories(data, has_factories=bool(factories))),
    )
    _write(plan, result.advice)
    return result


def _no_factories(data: JsonObject, *, has_factories: bool) -> list[str]:
    uses_models = data["target"].get("uses_models") is True
    return (
        ["the method uses models, but the plan has no factories"] if uses_models and not has_factories else []
    )


def _unused(plan: Plan, traits: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The traits, of those that set up states of the plan, that no spec uses."""
    if not traits:
        return
    used: set[str] = set()
    for path in _specs(plan.location.project.root):
        with suppress(RuncardError):  # not a text file
            used |= symbols(path)
    yield from ((factory, trait) for factory, trait in traits if trait not in used)


def _specs(root: str) -> Iterator[str]:
    """The Ruby files below spec and test, without the factories."""
    for folder in ("spec", "test"):
        top = os.path.join(root, folder)
        if not os.path.isdir(top):
            continue
        for entry in walk(top, on_error=lambda *_: None, enter=lambda path: path.strip("/") != "factories"):
            if entry.kind is FileKind.FILE and entry.path.endswith(".rb") and entry.path != "factories.rb":
                yield os.path.join(top, entry.path)


def _other_strategy(plan: Plan, data: JsonObject) -> list[FactoryCall]:
    """Calls in the plan's spec that use another strategy than the test level needs; not those for other methods."""
    expected = strategy(data)
    with suppress(RuncardError):
        path = os.path.join(plan.location.project.root, spec_of(plan))
        others = [
            range(part.line, part.end_line + 1)
            for part in read_spec(path).walk()
            if is_of_method(part) and not is_group_of_method(part.name, data["target"])
        ]
        return [
            call
            for call in factory_calls(path)
            if call.strategy != expected and not any(call.line in lines for lines in others)
        ]
    return []


def _write(plan: Plan, advice: list[str]) -> None:
    data = plan.to_dict()
    marked = AgentReport(completed=True).applied_to(data, _AGENT)
    existing = data.get("automation", {}).get("warnings") or []
    kept = [text for text in existing if not text.startswith(_PREFIX)]
    if existing or advice:
        marked["automation"]["warnings"] = [*kept, *(f"{_PREFIX}{text}" for text in advice)]
    plan.write(_AGENT.name, marked)
