"""The factory optimizer: the states of a plan beside the traits of its factories, and how its spec gets objects."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import FileKind, json_name, walk
from runcard.plans.agent_reports import AgentReport
from runcard.plans.agents import AGENTS
from runcard.plans.factory_traits import TraitMatch, matches, missing, strategy, traits
from runcard.plans.plan import Plan, plan_at
from runcard.plans.plan_files import MethodRef, locate_plan
from runcard.plans.ruby.factory_usage import FactoryCall, factory_calls, symbols
from runcard.plans.spec_paths import spec_of

_AGENT = AGENTS["factory-optimizer"]
_OURS = f"{_AGENT.name}: "  # how its warnings begin, so that a second look replaces those of the first


@dataclass(frozen=True, slots=True)
class FactoryAdvice:
    """What could be better about the factories of a plan."""

    plan: Plan
    strategy: str
    matches: list[TraitMatch]
    missing: dict[str, list[str]]
    unused: list[tuple[str, str]]  # factory and trait
    other: list[FactoryCall]  # where the spec does not follow the strategy
    remarks: tuple[str, ...]

    @property
    def advice(self) -> list[str]:
        """What there is to do, a sentence each; this is what the plan keeps."""
        said = [
            f"no trait for {name}: {', '.join(states)}; use attributes, or add traits"
            for name, states in self.missing.items()
        ]
        said += [
            f"no spec uses the trait :{trait} of the factory {factory}" for factory, trait in self.unused
        ]
        said += [
            f"line {one.line} of the spec: {one.strategy}(:{one.factory}) in a test that should use {self.strategy}"
            for one in self.other
        ]
        return said

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.remarks, *self.advice)

    def to_dict(self) -> JsonObject:
        return {
            "metadata_path": json_name(self.plan.path).text,
            "strategy": self.strategy,
            "matches": [match.to_dict() for match in self.matches],
            "missing": self.missing,
            "unused": [{"factory": factory, "trait": trait} for factory, trait in self.unused],
            "other_strategy": [
                {"line": one.line, "strategy": one.strategy, "factory": one.factory} for one in self.other
            ],
            "warnings": list(self.warnings),
        }


def optimize(path: str, *, root: str | None = None, method_ref: MethodRef | None = None) -> FactoryAdvice:
    """Compare a plan with its factories, and write down as the factory optimizer what there is to do."""
    plan = plan_at(locate_plan(path, root=root, method_ref=method_ref))
    plan.check_exists()
    plan.check_handed_on(_AGENT)
    data = plan.to_dict()
    found = matches(data)
    has_factories = bool(data.get("factories_detected"))
    result = FactoryAdvice(
        plan,
        strategy(data),
        found,
        missing(data, found) if has_factories else {},
        list(_unused(plan, data)),
        _other(plan, data),
        (*plan.warnings, *plan.missing(_AGENT.name), *_doubts(data, has_factories=has_factories)),
    )
    _write(plan, data, result.advice)
    return result


def _doubts(data: JsonObject, *, has_factories: bool) -> list[str]:
    uses_models = data["target"].get("uses_models") is True
    return (
        ["the method uses models, and the plan knows no factories"]
        if uses_models and not has_factories
        else []
    )


def _unused(plan: Plan, data: JsonObject) -> Iterator[tuple[str, str]]:
    """The traits that stand in no spec."""
    known = list(traits(data))
    if not known:
        return
    used: set[str] = set()
    for path in _specs(plan.location.project.root):
        with suppress(RuncardError):  # what is no text uses nothing
            used |= symbols(path)
    yield from ((factory, trait) for factory, trait in known if trait not in used)


def _specs(root: str) -> Iterator[str]:
    """The Ruby files below spec and test that are not the factories themselves."""
    for folder in ("spec", "test"):
        top = os.path.join(root, folder)
        if not os.path.isdir(top):
            continue
        for entry in walk(top, on_error=lambda *_: None, enter=lambda path: path.strip("/") != "factories"):
            if entry.kind is FileKind.FILE and entry.path.endswith(".rb") and entry.path != "factories.rb":
                yield os.path.join(top, entry.path)


def _other(plan: Plan, data: JsonObject) -> list[FactoryCall]:
    """Where the spec of the plan, if there is one, gets objects otherwise than its level wants."""
    wanted = strategy(data)
    with suppress(RuncardError):
        spec = os.path.join(plan.location.project.root, spec_of(plan))
        return [one for one in factory_calls(spec) if one.strategy != wanted]
    return []


def _write(plan: Plan, data: JsonObject, advice: list[str]) -> None:
    marked = AgentReport(completed=True).on(_AGENT, data)
    said = data.get("automation", {}).get("warnings") or []
    kept = [text for text in said if not text.startswith(_OURS)]
    if said or advice:
        marked["automation"]["warnings"] = [*kept, *(f"{_OURS}{text}" for text in advice)]
    plan.write(_AGENT.name, marked)
