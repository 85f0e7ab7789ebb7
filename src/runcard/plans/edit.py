"""Changing a plan's data as an agent: who may change what, and what a new analysis makes void."""

from collections.abc import Iterator

from runcard.encoding import JsonObject, encode_json
from runcard.errors import DocumentError
from runcard.files import printable
from runcard.plans.agents import SECTIONS, Agent, later_than

_ANALYSIS = ("analyzer", "test_level", "target", "characteristics")
_OF_A_MARK = ("completed", "skipped", "skip_reason")


def check_ownership(agent: Agent, old: JsonObject, new: JsonObject) -> None:
    """Refuse a change of anything that is not the agent's."""
    outside = [place for place in _changed(old, new) if not agent.owns(*place)]
    if not outside:
        return
    named = ", ".join(printable(".".join(place)) for place in outside[:5])
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
        void = {"validation_passed", *(marker for later in later_than(agent) for marker in later.markers)}
        void |= {f"{later.prefix}{word}" for later in later_than(agent) for word in _OF_A_MARK}
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
