"""The rules of a plan's characteristics: their states, and how they depend on each other.

A level is the depth in the tree that they make. A value may be None anywhere, which says that the schema found fault
with it.
"""

import re
from collections import Counter
from collections.abc import Iterator

from runcard.documents.findings import Finding, finding, shown
from runcard.documents.testplan.characteristic_tree import ENOUGH, CharacteristicTree, leaf_contexts
from runcard.encoding import JsonObject

Findings = Iterator[Finding]

MANY_CHARACTERISTICS = 5
MANY_CONTEXTS = 25
MANY_NAMES = 100  # among more of them the nearest is not looked for

_FACTORY_KEY = re.compile(r"(?:^|_)(?:trait|factor(?:y|ie))s?(?:_|$)")


def characteristic_rules(listed: list[JsonObject | None], *, is_later: bool) -> Findings:
    """All that can be said about a list of characteristics; `is_later` shapes may number their roots."""
    characteristics = [one or {} for one in listed]
    yield from _number(listed)
    yield from _names(characteristics)
    tree = CharacteristicTree(characteristics)
    for index, (one, known) in enumerate(zip(characteristics, tree.states, strict=True)):
        at = f"/characteristics/{index}"
        yield from _states(one, at)
        if known is not None:
            yield from _among_states(one, at, known)
        yield from _factory_keys(one, at)
    yield from _dependencies(tree)
    yield from _cycles(tree)
    yield from _levels(tree, is_later=is_later)
    if None not in listed:
        yield from _explosion(tree)


def _number(listed: list[JsonObject | None]) -> Findings:
    if not listed:
        yield finding(
            "characteristic.none",
            "/characteristics",
            "the plan has no characteristics: there is nothing to test apart",
            hint="see whether the method has conditions that the analyzer did not find",
        )
    if len(listed) == 1:
        yield finding(
            "characteristic.single",
            "/characteristics",
            "the plan has only one characteristic",
            hint="see whether the method has more edge cases",
            found=1,
        )


def _names(characteristics: list[JsonObject]) -> Findings:
    first: dict[str, int] = {}
    for index, one in enumerate(characteristics):
        name = one.get("name")
        if name is None:
            continue
        if name in first:
            yield finding(
                "characteristic.duplicate",
                f"/characteristics/{index}/name",
                f"the name {shown(name)} stands at /characteristics/{first[name]}/name already",
                hint="give each characteristic a name of its own",
                expected="a name that stands once",
                found=name,
            )
        first.setdefault(name, index)


def _states(one: JsonObject, at: str) -> Findings:
    states = one.get("states")
    if states is None:
        return
    if len(states) < 2:
        yield finding(
            "state.few",
            f"{at}/states",
            f"{shown(one.get('name'))} has {len(states)} state{'s' * (not states)}",
            hint="name two states or more, or drop the characteristic",
            expected=">= 2 states",
            found=len(states),
        )
    elif len(states) > 2 and one.get("type") == "binary":
        yield finding(
            "state.binary",
            f"{at}/states",
            f"{shown(one.get('name'))} is binary and has {len(states)} states",
            hint="make it an enum, or name two states",
            expected=2,
            found=len(states),
        )
    for state, count in Counter(state for state in states if state is not None).items():
        if count > 1:
            yield finding(
                "state.duplicate",
                f"{at}/states",
                f"the state {shown(state)} stands {count} times",
                hint="name each state once",
                found=state,
            )


def _among_states(one: JsonObject, at: str, known: frozenset[str]) -> Findings:
    states: list[str] = one["states"]
    listed = _listed(states)
    default = one.get("default")
    if default is not None and default not in known:
        yield finding(
            "state.default",
            f"{at}/default",
            f"the default {shown(default)} is not one of the states {listed}",
            hint="name one of the states, or null for no default",
            expected=states[:10],
            found=default,
        )
    for place, state in enumerate(one.get("terminal_states") or ()):
        if state is not None and state not in known:
            yield finding(
                "state.terminal",
                f"{at}/terminal_states/{place}",
                f"the terminal state {shown(state)} is not one of the states {listed}",
                hint="name states of this characteristic",
                expected=states[:10],
                found=state,
            )


def _listed(states: list[str]) -> str:
    return ", ".join(shown(state, 30) for state in states[:10])


def _factory_keys(one: JsonObject, at: str) -> Findings:
    for key in one:
        if _FACTORY_KEY.search(key):
            yield finding(
                "mistake.factory",
                f"{at}/{key.replace('~', '~0').replace('/', '~1')}",
                f"common mistake: {shown(key)} is about factories and stands in a characteristic",
                hint="what is known about factories belongs in the section factories_detected",
                found=one[key],
            )


def _dependencies(tree: CharacteristicTree) -> Findings:
    for index, one in enumerate(tree.all):
        at = f"/characteristics/{index}"
        if tree.is_root(index):
            yield from _root(one, at)
        elif one.get("depends_on") is not None:
            yield from _child(tree, index, at)


def _root(one: JsonObject, at: str) -> Findings:
    if one.get("when_parent") not in (None, []):
        yield finding(
            "dependency.root",
            f"{at}/when_parent",
            f"{shown(one.get('name'))} depends on nothing and has a when_parent, {shown(one['when_parent'])}",
            hint="write null, or name the parent in depends_on",
            expected="null",
            found=one["when_parent"],
        )


def _child(tree: CharacteristicTree, index: int, at: str) -> Findings:
    one, parent = tree.all[index], tree.parents[index]
    if parent is None:
        yield finding(
            "dependency.missing",
            f"{at}/depends_on",
            f"{shown(one.get('name'))} depends on {shown(one['depends_on'])}, which the plan does not have",
            hint=_nearest(one["depends_on"], tree) or "name a characteristic of this plan, or null",
            expected="the name of a characteristic",
            found=one["depends_on"],
        )
    when = tree.when(index)
    if not when and not _is_faulty(one):
        known = None if parent is None else tree.states[parent]
        listed = "" if parent is None or known is None else _listed(tree.all[parent]["states"])
        yield finding(
            "mistake.when-parent",
            f"{at}/when_parent",
            f"common mistake: {shown(one.get('name'))} has depends_on {shown(one['depends_on'])} and no when_parent",
            hint=f"name the state of the parent in which it matters{': ' if listed else ''}{listed}",
            expected="a state of the parent",
        )
    if parent is not None:
        yield from _parent_states(tree, parent, index, when)


def _is_faulty(one: JsonObject) -> bool:
    """Whether the schema found fault with a state in a list: then what is left of it may look like nothing."""
    when = one.get("when_parent")
    return isinstance(when, list) and None in when


def _parent_states(tree: CharacteristicTree, parent: int, index: int, when: list[str]) -> Findings:
    known = tree.states[parent]
    if known is None:
        return
    above = tree.all[parent]
    is_list = isinstance(tree.all[index].get("when_parent"), list)
    for place, state in enumerate(when):
        pointer = f"/characteristics/{index}/when_parent" + (f"/{place}" if is_list else "")
        if state not in known:
            yield finding(
                "dependency.state",
                pointer,
                f"{shown(state)} is no state of {shown(above.get('name'))}",
                hint=f"its states are {_listed(above['states'])}",
                expected=above["states"][:10],
                found=state,
            )
        elif state in tree.terminal[parent]:
            yield finding(
                "state.terminal-parent",
                pointer,
                f"{shown(state)} is a terminal state of {shown(above.get('name'))}: nothing follows it",
                hint="name another state of the parent, or take this one out of its terminal_states",
                found=state,
            )


def _nearest(name: str, tree: CharacteristicTree) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a document that is wrong

    if len(tree.by_name) > MANY_NAMES:
        return None
    near = get_close_matches(name[:100], tree.by_name, 1)
    return f"did you mean {shown(near[0])}?" if near else None


def _cycles(tree: CharacteristicTree) -> Findings:
    """Each cycle once, told whole, from the first of its members in the document."""
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
    whole = " → ".join(shown(name)[1:-1] for name in names)
    return finding(
        "dependency.cycle",
        f"/characteristics/{members[0]}/depends_on",
        f"circular dependency: {whole}",
        hint="make one of them a root: depends_on: null",
        found=whole,
    )


def _levels(tree: CharacteristicTree, *, is_later: bool) -> Findings:
    numbered = is_later and _are_numbered(tree)
    for index, (one, depth) in enumerate(zip(tree.all, tree.depths, strict=True)):
        level = one.get("level")
        if level is None or depth is None or (level == depth and isinstance(level, int)):
            continue
        pointer, name = f"/characteristics/{index}/level", shown(one.get("name"))
        if numbered and level == _numbered_level(tree, index):
            yield finding(
                "dependency.level",
                pointer,
                f"{name} has level {shown(level)} and depth {depth}: the levels of this plan are numbers of roots",
                hint=f"write {depth}; level is depth, and roots may share it",
                expected=depth,
                found=level,
            )
        else:
            yield finding(
                "mistake.level",
                pointer,
                f"common mistake: {name} has level {shown(level)}, but its depth is {depth}",
                hint=f"write {depth}: a root has 1, a child its parent's and 1",
                expected=depth,
                found=level,
            )


def _are_numbered(tree: CharacteristicTree) -> bool:
    """Whether the roots are numbered from 1 on, none with a number beyond its place in the list."""
    roots = [(index, tree.all[index].get("level")) for index in range(len(tree.all)) if tree.is_root(index)]
    before = 0
    for index, level in roots:
        if not isinstance(level, int) or not before < level <= index + 1:
            return False
        before = level
    return len(roots) > 1


def _numbered_level(tree: CharacteristicTree, index: int) -> object:
    """The level that a characteristic has where roots are numbered: their own, or one more than its parent's."""
    level = tree.all[index].get("level")
    parent = tree.parents[index]
    if parent is None:
        return level
    above = tree.all[parent].get("level")
    return above + 1 if isinstance(above, int) else None


def _explosion(tree: CharacteristicTree) -> Findings:
    contexts = leaf_contexts(tree)
    if len(tree.all) < MANY_CHARACTERISTICS and contexts < MANY_CONTEXTS:
        return
    number = f"{contexts:,}" if contexts < ENOUGH else f"more than {ENOUGH:,}"
    yield finding(
        "characteristic.explosion",
        "/characteristics",
        f"{len(tree.all):,} characteristics make {number} contexts: combinatorial explosion",
        hint="test a part of the method by itself, or move rare characteristics to tests of their own",
        expected=f"fewer than {MANY_CHARACTERISTICS} characteristics and {MANY_CONTEXTS} contexts",
        found=len(tree.all),
    )
