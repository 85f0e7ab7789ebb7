"""Any single damage to a valid plan is found by the matching rule, at its position."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.samples import at, plan
from plans.valid_plans import Fields, plans
from runcard.documents.reader import ParsedDocument, parse_document
from runcard.documents.testplan.characteristic_tree import CharacteristicTree, leaf_contexts
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding.yaml import decode_yaml, encode_yaml

QUIET = {"characteristic.explosion", "state.terminal-parent"}


def examined(data: Fields) -> ParsedDocument:
    return parse_document(encode_yaml(data), kind="testplan")


@settings(deadline=None, max_examples=30)
@given(plans())
def test_the_plans_that_are_damaged_below_are_valid(data: Fields) -> None:
    report = examined(data).report
    assert {found.rule for found in report.findings} <= QUIET
    assert decode_yaml(TestPlan.from_dict(data).to_bytes()) == data


Damage = Callable[
    [Fields, random.Random], tuple[str, str] | None
]  # the rule and the pointer; None: not possible
DAMAGES: dict[str, Damage] = {}


def damage(found: Damage) -> Damage:
    DAMAGES[found.__name__] = found
    return found


def _one(data: Fields, choose: random.Random) -> tuple[int, Fields]:
    index = choose.randrange(len(data["characteristics"]))
    return index, data["characteristics"][index]


def _child(data: Fields, choose: random.Random) -> tuple[int, Fields] | None:
    children = [(i, one) for i, one in enumerate(data["characteristics"]) if one["depends_on"]]
    return choose.choice(children) if children else None


@damage
def required_is_missing(data: Fields, choose: random.Random) -> tuple[str, str]:
    places = {
        "": ["analyzer", "test_level", "target", "characteristics"],
        "/analyzer": ["completed", "timestamp", "source_file_mtime", "version"],
        "/validation": ["completed", "errors", "warnings"],
        "/target": ["class", "method", "method_type", "file"],
        "/factories_detected/invoice": ["file", "traits"],
        "/characteristics/0": ["name", "type", "states", "default", "depends_on", "level"],
    }
    pointer = choose.choice(list(places))
    del at(data, pointer)[choose.choice(places[pointer])]
    return "schema.required", pointer


@damage
def a_type_is_wrong(data: Fields, choose: random.Random) -> tuple[str, str]:
    pointer = choose.choice(
        [
            *(
                "/analyzer",
                "/validation",
                "/target",
                "/characteristics",
                "/factories_detected",
                "/automation",
            ),
            *("/analyzer/completed", "/analyzer/source_file_mtime", "/validation/errors", "/target/class"),
            *(
                "/target/uses_models",
                "/characteristics/1",
                "/characteristics/0/states",
                "/characteristics/0/level",
            ),
            *(
                "/factories_detected/invoice",
                "/factories_detected/invoice/traits",
                "/automation/analyzer_completed",
            ),
        ]
    )
    parent, _, key = pointer.rpartition("/")
    container = at(data, parent)
    wrong: Any = 1.5 if pointer != "/target/class" else {}
    container[int(key) if isinstance(container, list) else key] = wrong
    return "schema.type", pointer


@damage
def a_word_is_not_allowed(data: Fields, choose: random.Random) -> tuple[str, str]:
    pointer = choose.choice(["/test_level", "/target/method_type", "/characteristics/0/type"])
    at(data, pointer.rpartition("/")[0])[pointer.rpartition("/")[2]] = "other"
    return "schema.enum", pointer


@damage
def the_analysis_is_not_completed(data: Fields, _: random.Random) -> tuple[str, str]:
    data["analyzer"]["completed"] = False
    return "analysis.incomplete", "/analyzer/completed"


@damage
def the_time_is_none(data: Fields, choose: random.Random) -> tuple[str, str]:
    data["analyzer"]["timestamp"] = choose.choice(["yesterday", "2025-11-07", "2025-11-07T10:00:00"])
    return "schema.format", "/analyzer/timestamp"


@damage
def the_mtime_is_not_a_time(data: Fields, choose: random.Random) -> tuple[str, str]:
    data["analyzer"]["source_file_mtime"] = choose.choice([0, -5])
    return "mistake.mtime", "/analyzer/source_file_mtime"


@damage
def the_validator_found_errors(data: Fields, _: random.Random) -> tuple[str, str]:
    data["validation"]["errors"] = ["something"]
    return "validation.errors", "/validation/errors"


@damage
def the_class_has_no_name(data: Fields, choose: random.Random) -> tuple[str, str]:
    data["target"]["class"] = choose.choice(["foo", "Foo:Bar", "Foo::", "Foo Bar", "Foo::bar", "", "Foo\n"])
    return "name.class", "/target/class"


@damage
def the_method_has_no_name(data: Fields, choose: random.Random) -> tuple[str, str]:
    data["target"]["method"] = choose.choice(["#a", "A.b", "a b", "1a", "", "a?!", "&&", "a\n"])
    return "name.method", "/target/method"


@damage
def the_file_leads_out(data: Fields, choose: random.Random) -> tuple[str, str]:
    data["target"]["file"] = choose.choice(["/a.rb", "../a.rb", "a/../../b.rb", "a\0.rb", "", "a//b.rb"])
    return "path.hostile", "/target/file"


@damage
def a_name_stands_twice(data: Fields, _: random.Random) -> tuple[str, str]:
    copy = data["characteristics"][0] | {"depends_on": None, "when_parent": None, "level": 1}
    data["characteristics"].append(copy)
    return "characteristic.duplicate", f"/characteristics/{len(data['characteristics']) - 1}/name"


@damage
def there_is_one_state(data: Fields, choose: random.Random) -> tuple[str, str]:
    index, one = _one(data, choose)
    one["states"] = one["states"][: choose.randrange(2)]
    one["default"] = None
    return "state.few", f"/characteristics/{index}/states"


@damage
def the_default_is_no_state(data: Fields, choose: random.Random) -> tuple[str, str]:
    index, one = _one(data, choose)
    one["default"] = "elsewhere"
    return "state.default", f"/characteristics/{index}/default"


@damage
def the_parent_is_missing(data: Fields, choose: random.Random) -> tuple[str, str] | None:
    if found := _child(data, choose):
        found[1]["depends_on"] = "nobody"
        return "dependency.missing", f"/characteristics/{found[0]}/depends_on"
    return None


@damage
def when_parent_is_no_state(data: Fields, choose: random.Random) -> tuple[str, str] | None:
    if found := _child(data, choose):
        found[1]["when_parent"] = "elsewhere"
        return "dependency.state", f"/characteristics/{found[0]}/when_parent"
    return None


@damage
def when_parent_is_missing(data: Fields, choose: random.Random) -> tuple[str, str] | None:
    if found := _child(data, choose):
        if choose.random() < 0.5:
            del found[1]["when_parent"]
        else:
            found[1]["when_parent"] = None
        return "mistake.when-parent", f"/characteristics/{found[0]}/when_parent"
    return None


@damage
def a_root_has_a_when_parent(data: Fields, _: random.Random) -> tuple[str, str]:
    data["characteristics"][0]["when_parent"] = "x"
    return "dependency.root", "/characteristics/0/when_parent"


@damage
def the_level_is_not_the_depth(data: Fields, choose: random.Random) -> tuple[str, str]:
    index, one = _one(data, choose)
    one["level"] += choose.choice([5, 9])
    return "mistake.level", f"/characteristics/{index}/level"


@damage
def there_is_a_cycle(data: Fields, choose: random.Random) -> tuple[str, str]:
    index, one = _one(data, choose)
    one |= {"depends_on": one["name"], "when_parent": one["states"][0]}
    return "dependency.cycle", f"/characteristics/{index}/depends_on"


@damage
def a_state_is_no_text(data: Fields, choose: random.Random) -> tuple[str, str]:
    index, one = _one(data, choose)
    one["states"].append(choose.choice([True, None, 777, 1.5]))
    return "yaml.unquoted", f"/characteristics/{index}/states/{len(one['states']) - 1}"


@damage
def a_factory_is_in_a_characteristic(data: Fields, choose: random.Random) -> tuple[str, str]:
    index, one = _one(data, choose)
    key = choose.choice(["existing_trait", "traits", "factory", "factory_name", "factories"])
    one[key] = "x"
    return "mistake.factory", f"/characteristics/{index}/{key}"


@damage
def the_version_is_above_all(data: Fields, choose: random.Random) -> tuple[str, str]:
    data["format_version"] = choose.choice(["2.1", "3.0", 3, 2.5, "10.0"])
    return "version.newer-major", "/format_version"


# What may come along: a value that is gone leaves its neighbours without what they speak of.
COMPANIONS = {
    "schema.required": {"section.absent"},
    "schema.type": {"dependency.missing", "section.absent"},
    "state.few": {"dependency.state"},
    "dependency.cycle": {"dependency.missing"},
    "yaml.unquoted": {"state.binary", "state.few", "state.duplicate"},
}


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_a_single_damage_is_found(name: str) -> None:
    seen = []

    @settings(deadline=None, max_examples=10)
    @given(plans(), st.integers(0, 2**32))
    def look(data: Fields, seed: int) -> None:
        expected = DAMAGES[name](data, random.Random(seed))  # noqa: S311
        if expected is None:
            return
        report = examined(data).report
        assert expected in {(found.rule, found.path) for found in report.findings}
        allowed = {expected[0], *QUIET, *COMPANIONS.get(expected[0], ())}
        # What loses its name or its states is no parent any more.
        allowed |= {"dependency.missing", "characteristic.single", "dependency.level"}
        assert {found.rule for found in report.findings} <= allowed
        seen.append(expected)

    look()
    assert seen


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 50, 3000])
def test_a_cycle_of_any_length_is_told_whole_and_once(length: int) -> None:
    names = [f"c{number}" for number in range(length)]
    data = plan()
    data["characteristics"] = [
        {
            "name": name,
            "type": "enum",
            "states": ["a", "b"],
            "default": None,
            "depends_on": names[(number + 1) % length],
            "when_parent": "a",
            "level": 1,
        }
        for number, name in enumerate(names)
    ]
    random.Random(length).shuffle(data["characteristics"])  # noqa: S311
    found = [found for found in examined(data).report.errors if found.rule == "dependency.cycle"]
    assert len(found) == 1
    told = found[0].message.removeprefix("circular dependency: ").split(" → ")
    assert told[0] == told[-1] == data["characteristics"][0]["name"]
    assert sorted(told[1:]) == sorted(names)
    assert all(names[(names.index(a) + 1) % length] == b for a, b in pairwise(told))


def test_two_cycles_and_what_hangs_on_them() -> None:
    data = plan()
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("e", "a"), ("f", "e")]
    data["characteristics"] = [
        data["characteristics"][1] | {"name": name, "depends_on": parent, "when_parent": "small", "level": 9}
        for name, parent in pairs
    ]
    report = examined(data).report
    assert [found.message for found in report.errors] == [
        "circular dependency: a → b → a",
        "circular dependency: c → d → c",
    ]


def test_a_chain_may_be_as_long_as_a_document() -> None:
    data = plan()
    root = data["characteristics"][0]
    chain = [
        root
        | {"name": f"c{n}", "depends_on": f"c{n - 1}" if n else None, "when_parent": "vip" if n else None}
        | {"level": n + 1}
        for n in range(5000)
    ]
    data["characteristics"] = chain[::-1]
    assert {found.rule for found in TestPlan.check(data).findings} == {"characteristic.explosion"}


def contexts_by_counting(listed: list[Fields]) -> int:
    """The innermost contexts, each made in turn."""

    def below(parent: str | None, state: str | None) -> int:
        total = 1
        for one in listed:
            when = one["when_parent"]
            is_here = one["depends_on"] == parent and (
                parent is None or state in (when if isinstance(when, list) else [when])
            )
            if is_here:
                total *= sum(below(one["name"], own) for own in one["states"])
        return total

    return below(None, None)


@settings(deadline=None, max_examples=30)
@given(plans())
def test_contexts_are_counted_as_they_would_be_written(data: Fields) -> None:
    listed = data["characteristics"]
    assert leaf_contexts(CharacteristicTree(listed)) == contexts_by_counting(listed)


def test_a_guard_ends_whatever_would_be_combined_with_it() -> None:
    """Three guards and an enum of four states have 7 contexts, not 32: behind a guard that leaves nothing is asked."""
    root = plan()["characteristics"][0] | {"type": "binary", "states": ["on", "off"], "default": None}
    guards = [root | {"name": f"guard_{number}", "terminal_states": ["off"]} for number in range(3)]
    kind = root | {"name": "kind", "type": "enum", "states": ["a", "b", "c", "d"]}
    assert leaf_contexts(CharacteristicTree([*guards, kind])) == 7
    assert leaf_contexts(CharacteristicTree([one | {"terminal_states": []} for one in guards] + [kind])) == 32
    data = plan() | {"characteristics": [*guards, kind]}
    assert "characteristic.explosion" not in {found.rule for found in TestPlan.check(data).findings}


@pytest.mark.parametrize(
    ("states", "is_warned"), [((2, 3, 4), False), ((5, 5), True), ((24,), False), ((25,), True)]
)
def test_from_25_innermost_contexts_on_there_is_a_warning(
    states: tuple[int, ...], *, is_warned: bool
) -> None:
    root = plan()["characteristics"][0] | {"default": None}
    listed = [
        root | {"name": f"c{index}", "states": [f"s{state}" for state in range(number)]}
        for index, number in enumerate(states)
    ]
    findings = TestPlan.check(plan() | {"characteristics": listed}).findings
    found = [each for each in findings if each.rule == "characteristic.explosion"]
    assert len(found) == is_warned
    assert all((each.found, each.expected) == (25, "fewer than 25 contexts") for each in found)


def test_many_characteristics_alone_are_no_explosion() -> None:
    root = plan()["characteristics"][0] | {"type": "binary", "states": ["on", "off"], "default": None}
    guards = [root | {"name": f"guard_{number}", "terminal_states": ["off"]} for number in range(23)]
    assert not TestPlan.check(plan() | {"characteristics": guards}).findings
    more = [*guards, root | {"name": "last"}]
    found = TestPlan.check(plan() | {"characteristics": more}).findings
    assert [(each.rule, each.found) for each in found] == [("characteristic.explosion", 25)]


def test_what_is_never_a_finding() -> None:
    data = plan()
    data["characteristics"][0] |= {"states": ["regular", "premium"], "x_unknown": 1}
    del data["characteristics"][0]["when_parent"]
    data |= {"x_section": {"a": 1}}
    data["target"]["x"] = data["automation"]["any_thing"] = [1]
    assert examined(data).report.findings == ()
