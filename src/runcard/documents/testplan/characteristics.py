"""The rules of a plan's characteristics: their states, and their dependencies.

A level is the depth in the tree of dependencies. A value may be None anywhere: then the schema found a fault in it.
"""

import re
from collections import Counter
from collections.abc import Iterator

from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.testplan.characteristic_tree import MAX_COUNT, CharacteristicTree, leaf_contexts
from runcard.encoding import JsonObject

Findings = Iterator[Finding]

MANY_CONTEXTS = 25
MANY_NAMES = 100  # with more names there are no suggestions

_FACTORY_KEY = re.compile(r"(?:^|_)(?:trait|factor(?:y|ie))s?(?:_|$)")


def characteristic_rules(listed: list[JsonObject | None], *, is_later: bool) -> Findings:
    """All findings about a list of characteristics; plans with `is_later` may number their roots."""
    characteristics = [characteristic or {} for characteristic in listed]
    yield from _number(listed)
    yield from _names(characteristics)
    tree = CharacteristicTree(characteristics)
    for index, (characteristic, known) in enumerate(zip(characteristics, tree.states, strict=True)):
        at = f"/characteristics/{index}"
        yield from _states(characteristic, at)
        if known is not None:
            yield from _among_states(characteristic, at, known)
        yield from _factory_keys(characteristic, at)
    yield from _dependencies(tree)
    yield from _cycles(tree)
    yield from _levels(tree, is_later=is_later)
    if None not in listed:
        yield from _combinations(tree)


def _number(listed: list[JsonObject | None]) -> Findings:
    if not listed:
        yield finding(
            "characteristic.none",
            "/characteristics",
            "the plan has no characteristics: no branches, so no separate cases",
            hint="check whether the method has conditions that the analyzer did not find",
        )
    if len(listed) == 1:
        yield finding(
            "characteristic.single",
            "/characteristics",
            "the plan has only one characteristic",
            hint="check whether the method has more edge cases",
            found=1,
        )


def _names(characteristics: list[JsonObject]) -> Findings:
    first: dict[str, int] = {}
    for index, characteristic in enumerate(characteristics):
        name = characteristic.get("name")
        if name is None:
            continue
        if name and not name.strip():
            yield _blank(f"/characteristics/{index}/name", "the name")
        if name in first:
            yield finding(
                "characteristic.duplicate",
                f"/characteristics/{index}/name",
                f"the name {display_value(name)} is already used at /characteristics/{first[name]}/name",
                hint="give each characteristic a unique name",
                expected="a unique name",
                found=name,
            )
        first.setdefault(name, index)


def _blank(at: str, what: str) -> Finding:
    return finding("name.blank", at, f"{what} is blank", hint="write a word that describes it", found="")


def _states(characteristic: JsonObject, at: str) -> Findings:
    states = characteristic.get("states")
    if states is None:
        return
    if len(states) < 2:
        yield finding(
            "state.few",
            f"{at}/states",
            f"{display_value(characteristic.get('name'))} has {len(states)} state{'s' * (not states)}",
            hint="add states, or remove the characteristic",
            expected=">= 2 states",
            found=len(states),
        )
    elif len(states) > 2 and characteristic.get("type") == "binary":
        yield finding(
            "state.binary",
            f"{at}/states",
            f"{display_value(characteristic.get('name'))} is binary but has {len(states)} states",
            hint="make it an enum, or reduce it to two states",
            expected=2,
            found=len(states),
        )
    for position, state in enumerate(states):
        if state is not None and not state.strip():
            yield _blank(f"{at}/states/{position}", "the state")
    for state, count in Counter(state for state in states if state is not None).items():
        if count > 1:
            yield finding(
                "state.duplicate",
                f"{at}/states",
                f"the state {display_value(state)} is listed {count} times",
                hint="list each state once",
                found=state,
            )


def _among_states(characteristic: JsonObject, at: str, known: frozenset[str]) -> Findings:
    states: list[str] = characteristic["states"]
    default = characteristic.get("default")
    if default is not None and default not in known:
        yield finding(
            "state.default",
            f"{at}/default",
            f"the default {display_value(default)} is not one of the states {_join(states)}",
            hint="use one of the states, or null for no default",
            expected=states[:10],
            found=default,
        )
    for position, state in enumerate(characteristic.get("terminal_states") or ()):
        if state is not None and state not in known:
            yield finding(
                "state.terminal",
                f"{at}/terminal_states/{position}",
                f"the terminal state {display_value(state)} is not one of the states {_join(states)}",
                hint="use states of this characteristic",
                expected=states[:10],
                found=state,
            )


def _join(states: list[str]) -> str:
    return ", ".join(display_value(state, 30) for state in states[:10])


def _factory_keys(characteristic: JsonObject, at: str) -> Findings:
    for key in characteristic:
        if _FACTORY_KEY.search(key):
            yield finding(
                "mistake.factory",
                f"{at}/{key.replace('~', '~0').replace('/', '~1')}",
                f"common mistake: {display_value(key)} is about factories but is in a characteristic",
                hint="move it to the section factories_detected",
                found=characteristic[key],
            )


def _dependencies(tree: CharacteristicTree) -> Findings:
    for index, characteristic in enumerate(tree.all):
        at = f"/characteristics/{index}"
        if tree.is_root(index):
            yield from _root(characteristic, at)
        elif characteristic.get("depends_on") is not None:
            yield from _child(tree, index, at)


def _root(characteristic: JsonObject, at: str) -> Findings:
    if characteristic.get("when_parent") not in (None, []):
        yield finding(
            "dependency.root",
            f"{at}/when_parent",
            f"{display_value(characteristic.get('name'))} is a root but has a when_parent, {display_value(characteristic['when_parent'])}",
            hint="set it to null, or set depends_on to the parent",
            expected="null",
            found=characteristic["when_parent"],
        )


def _child(tree: CharacteristicTree, index: int, at: str) -> Findings:
    characteristic, parent = tree.all[index], tree.parents[index]
    if parent is None:
        yield finding(
            "dependency.missing",
            f"{at}/depends_on",
            f"{display_value(characteristic.get('name'))} depends on {display_value(characteristic['depends_on'])}, which is not in the plan",
            hint=_suggestion(characteristic["depends_on"], tree)
            or "use the name of a characteristic of this plan, or null",
            expected="the name of a characteristic",
            found=characteristic["depends_on"],
        )
    when = tree.when(index)
    if not when and not _is_faulty(characteristic):
        known = None if parent is None else tree.states[parent]
        listed = "" if parent is None or known is None else _join(tree.all[parent]["states"])
        yield finding(
            "mistake.when-parent",
            f"{at}/when_parent",
            f"common mistake: {display_value(characteristic.get('name'))} has depends_on {display_value(characteristic['depends_on'])} but no when_parent",
            hint=f"set it to the state of the parent in which it matters{': ' if listed else ''}{listed}",
            expected="a state of the parent",
        )
    if parent is not None:
        yield from _parent_states(tree, parent, index, when)


def _is_faulty(characteristic: JsonObject) -> bool:
    """Whether the schema found a faulty state in the list, so that the rest of it may be empty."""
    when = characteristic.get("when_parent")
    return isinstance(when, list) and None in when


def _parent_states(tree: CharacteristicTree, parent: int, index: int, when: list[str]) -> Findings:
    known = tree.states[parent]
    if known is None:
        return
    parent_data = tree.all[parent]
    is_list = isinstance(tree.all[index].get("when_parent"), list)
    for position, state in enumerate(when):
        pointer = f"/characteristics/{index}/when_parent" + (f"/{position}" if is_list else "")
        if state not in known:
            yield finding(
                "dependency.state",
                pointer,
                f"{display_value(state)} is not a state of {display_value(parent_data.get('name'))}",
                hint=f"its states are {_join(parent_data['states'])}",
                expected=parent_data["states"][:10],
                found=state,
            )
        elif state in tree.terminal[parent]:
            yield finding(
                "state.terminal-parent",
                pointer,
                f"{display_value(state)} is a terminal state of {display_value(parent_data.get('name'))}: nothing follows it",
                hint="use another state of the parent, or remove this one from its terminal_states",
                found=state,
            )


def _suggestion(name: str, tree: CharacteristicTree) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a document that is wrong

    if len(tree.by_name) > MANY_NAMES:
        return None
    near = get_close_matches(name[:100], tree.by_name, 1)
    return f"did you mean {display_value(near[0])}?" if near else None


def _cycles(tree: CharacteristicTree) -> Findings:
    """Each cycle once and completely, starting with its first member in the document."""
    seen: dict[int, int] = {}  # characteristic → from where it was first reached
    for start in range(len(tree.all)):
        node: int | None = start
        while node is not None and node not in seen:
            seen[node] = start
            node = tree.parents[node]
        if node is not None and seen[node] == start:
            yield _cycle(tree, node)


def _cycle(tree: CharacteristicTree, node: int) -> Finding:
    members = [node]
    while (parent := tree.parents[members[-1]]) is not None and parent != node:
        members.append(parent)
    first = members.index(min(members))
    members = members[first:] + members[:first]
    names = [str(tree.all[member]["name"]) for member in (*members, members[0])]
    cycle = " → ".join(display_value(name)[1:-1] for name in names)
    return finding(
        "dependency.cycle",
        f"/characteristics/{members[0]}/depends_on",
        f"circular dependency: {cycle}",
        hint="make one of them a root: depends_on: null",
        found=cycle,
    )


def _levels(tree: CharacteristicTree, *, is_later: bool) -> Findings:
    numbered = is_later and _are_numbered(tree)
    for index, (characteristic, depth) in enumerate(zip(tree.all, tree.depths, strict=True)):
        level = characteristic.get("level")
        if level is None or depth is None or (level == depth and isinstance(level, int)):
            continue
        pointer, name = f"/characteristics/{index}/level", display_value(characteristic.get("name"))
        if numbered and level == _numbered_level(tree, index):
            yield finding(
                "dependency.level",
                pointer,
                f"{name} has level {display_value(level)} but depth {depth}: this plan numbers its roots",
                hint=f"write {depth}; the level is the depth, and several roots may have the same",
                expected=depth,
                found=level,
            )
        else:
            yield finding(
                "mistake.level",
                pointer,
                f"common mistake: {name} has level {display_value(level)}, but its depth is {depth}",
                hint=f"write {depth}: 1 for a root, one more than its parent for a child",
                expected=depth,
                found=level,
            )


def _are_numbered(tree: CharacteristicTree) -> bool:
    """Whether the roots are numbered upwards, none with a number beyond its position in the list."""
    roots = [(index, tree.all[index].get("level")) for index in range(len(tree.all)) if tree.is_root(index)]
    before = 0
    for index, level in roots:
        if not isinstance(level, int) or not before < level <= index + 1:
            return False
        before = level
    return len(roots) > 1


def _numbered_level(tree: CharacteristicTree, index: int) -> object:
    """The level of a characteristic if roots are numbered: its own, or one more than its parent's."""
    level = tree.all[index].get("level")
    parent = tree.parents[index]
    if parent is None:
        return level
    above = tree.all[parent].get("level")
    return above + 1 if isinstance(above, int) else None


def _combinations(tree: CharacteristicTree) -> Findings:
    contexts = leaf_contexts(tree)
    if contexts < MANY_CONTEXTS:
        return
    number = f"{contexts:,}" if contexts < MAX_COUNT else f"more than {MAX_COUNT:,}"
    yield finding(
        "characteristic.explosion",
        "/characteristics",
        f"{len(tree.all):,} characteristics make {number} contexts: combinatorial explosion",
        hint="test a part of the method separately, or move rare characteristics to separate tests",
        expected=f"fewer than {MANY_CONTEXTS} contexts",
        found=contexts,
    )
