"""Editing YAML: the data become the new ones, and every other byte stays."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from encoding.plain_data import exactly, randoms, values
from runcard.encoding import BOM
from runcard.encoding.json.writer import to_bytes
from runcard.encoding.limits import NONE
from runcard.encoding.yaml import decode_yaml, edit_yaml
from runcard.encoding.yaml.composer import compose
from runcard.encoding.yaml.edit import _Editor, _with_sections
from runcard.encoding.yaml.writer import block, encode_key, flow, inline
from runcard.errors import EncodingError

PLAN = """\
# made by hand

analyzer:
  completed: true   # at last
  version: '1.0'

validation:
  completed: false
  errors:
    - "no target"
  warnings: []

# what is tested
target: {class: Foo, "method": bar}  # short
characteristics:
  - name: "paid"
    states: [yes_, 'no']
    # nobody knows
    level: 1

  - name: kind
    level: 2

automation:
  analyzer_completed: true # by the analyzer
"""


def edited(text: str, **changes: Any) -> str:
    """The text after sections were set, or removed by None."""
    data = decode_yaml(text.encode())
    for key, value in changes.items():
        if value is None:
            del data[key]
        else:
            data[key] = value
    found = edit_yaml(text.encode(), data)
    assert exactly(decode_yaml(found)) == exactly(data)
    return found.decode()


def test_nothing_changes_when_the_data_are_the_same() -> None:
    assert edit_yaml(PLAN.encode(), decode_yaml(PLAN.encode())) == PLAN.encode()


def test_a_section_is_set_and_everything_else_stays() -> None:
    found = edited(PLAN, validation={"completed": True, "errors": [], "warnings": ["only one: a"]})
    expected = PLAN.replace("completed: false", "completed: true")
    expected = expected.replace('errors:\n    - "no target"\n', "errors: []\n")
    assert found == expected.replace("warnings: []", "warnings:\n    - 'only one: a'")


def test_a_key_is_added_below_a_section() -> None:
    data = decode_yaml(PLAN.encode())
    data["automation"] |= {"skeleton_generated": True, "skeleton_file": "spec/foo_spec.rb"}
    assert edit_yaml(PLAN.encode(), data).decode() == (
        PLAN + "  skeleton_generated: true\n  skeleton_file: spec/foo_spec.rb\n"
    )


def test_a_section_is_added_where_it_stands_in_the_data_with_the_empty_line_that_sections_have() -> None:
    data = decode_yaml(PLAN.encode())
    data = {"analyzer": data.pop("analyzer"), "test_level": "unit", **data, "factories_detected": {}}
    expected = PLAN.replace("version: '1.0'\n", "version: '1.0'\n\ntest_level: unit\n")
    assert edit_yaml(PLAN.encode(), data).decode() == expected + "\nfactories_detected: {}\n"


def test_a_section_is_removed_with_its_lines() -> None:
    first = PLAN.index("validation:")
    last = PLAN.index("\n# what is tested")
    assert edited(PLAN, validation=None) == PLAN[:first] + PLAN[last:]


def test_what_stands_in_brackets_stays_in_brackets() -> None:
    found = edited(PLAN, target={"class": "Foo", "method": "baz", "file": "a b.rb", "uses": ["x", {"y": 1}]})
    new = '{class: Foo, "method": baz, file: a b.rb, uses: ["x", {"y": 1}]}  # short'
    assert found == PLAN.replace('{class: Foo, "method": bar}  # short', new)
    assert edited("a: {b: 1, c: 2, d: 3} # x\n", a={"c": 2}) == "a: {c: 2} # x\n"
    assert edited("a: [1, 2, 3] # x\n", a=[1]) == "a: [1] # x\n"


def test_an_element_changes_in_its_place() -> None:
    data = decode_yaml(PLAN.encode())
    data["characteristics"][0]["states"][0] = "yes"
    data["characteristics"][1]["level"] = 1
    data["characteristics"].append({"name": "new", "states": ["on", "x"]})
    expected = PLAN.replace("[yes_, 'no']", "['yes', 'no']").replace("level: 2\n", "level: 1\n")
    expected = expected.replace("level: 1\n\nauto", "level: 1\n  - name: new\n    states: ['on', x]\n\nauto")
    assert edit_yaml(PLAN.encode(), data).decode() == expected


CHANGES: dict[str, tuple[str, object, str]] = {
    "a value becomes a map, and its comment stays": (
        "a: 1 # one\nb: 2\n",
        {"a": {"c": 1}, "b": 2},
        "a: # one\n  c: 1\nb: 2\n",
    ),
    "a map becomes a value": ("a: # one\n  c: 1\n  d: 2\nb: 2\n", {"a": 5, "b": 2}, "a: 5 # one\nb: 2\n"),
    "nothing becomes a value": ("a:\nb: 2\n", {"a": "x", "b": 2}, "a: x\nb: 2\n"),
    "nothing becomes a map": ("a:\nb: 2\n", {"a": {"x": [1]}, "b": 2}, "a:\n  x: [1]\nb: 2\n"),
    "an empty list becomes a long one": (
        "a: []\nb: 2",
        {"a": ["x y", "z"], "b": 2},
        "a:\n  - x y\n  - z\nb: 2",
    ),
    "a text of lines becomes one line": ("a: |\n  x\n  y\nb: 1\n", {"a": "x", "b": 1}, "a: x\nb: 1\n"),
    "the first key of an element": ("- a: 1\n  b: 2\n", [{"b": 2}], "- b: 2\n"),
    "a key before the first of an element": ("- b: 2\n", [{"a": 1, "b": 2}], "- a: 1\n  b: 2\n"),
    "an element becomes a map": ("- x # c\n", [{"a": 1, "b": 2}], "- a: 1\n  b: 2 # c\n"),
    "the last element goes": ("a:\n- 1 # one\n- 2 # two\n", {"a": [1]}, "a:\n- 1 # one\n"),
    "a list in the column of its key grows": (
        "a:\n- 1\nb: 2\n",
        {"a": [1, 2], "b": 2},
        "a:\n- 1\n- 2\nb: 2\n",
    ),
    "a text without an end of line": ("a: 1", {"a": 1, "b": {"c": 2}}, "a: 1\nb:\n  c: 2"),
    "lines of another system": (
        "a: 1\r\nc: 3\r\n",
        {"a": 1, "b": {"x": 2}, "c": 3},
        "a: 1\r\nb:\r\n  x: 2\r\nc: 3\r\n",
    ),
    "an empty document": ("", {"a": 1}, "a: 1\n"),
    "a document of comments": ("# only\n", {"a": [1]}, "# only\na: [1]\n"),
    "a document becomes empty": ("# c\na: 1\nb: 2\n", {}, "# c\n{}\n"),
    "the end of a document": ("a: 1\n...\n", {"a": 1, "b": 2}, "a: 1\nb: 2\n...\n"),
    "an alias that stays": (
        "a: &x [1]\nb: *x\nc: 1\n",
        {"a": [1], "b": [1], "c": 2},
        "a: &x [1]\nb: *x\nc: 2\n",
    ),
    "an alias that differs now": ("a: &x [1]\nb: *x # c\n", {"a": [1], "b": [2]}, "a: &x [1]\nb: [2] # c\n"),
    "a merged value that differs now": (
        "a: &x {k: 1}\nb:\n  <<: *x\n  l: 2\n",
        {"a": {"k": 1}, "b": {"l": 2, "k": 3}},
        "a: &x {k: 1}\nb:\n  <<: *x\n  l: 2\n  k: 3\n",
    ),
    "a map becomes a list": (
        "a: # c\n  b: 1\nd: 2\n",
        {"a": ["x y", {"c": 1}], "d": 2},
        "a: # c\n  - x y\n  - c: 1\nd: 2\n",
    ),
    "nothing behind a dash becomes a map": ("-\n- 1\n", [{"a": 1, "b": 2}, 1], "- a: 1\n  b: 2\n- 1\n"),
    "a key before the first, in brackets": ("{b: 2} # c\n", {"a": 1, "b": 2}, "{a: 1, b: 2} # c\n"),
    "a key behind a text of lines": (
        "a: |+\n  x\n\nb: 1\n",
        {"a": "x\n\n", "m": 1, "b": 1},
        "a: |+\n  x\n\nm: 1\nb: 1\n",
    ),
    "a document that is indented": (
        "# c\n  a: 1\n",
        {"b": {"c": 1}, "d": 2},
        "# c\n  b:\n    c: 1\n  d: 2\n",
    ),
    "an element far behind its dash": (
        "-   a: 1\n",
        [{"b": {"c": 1}, "d": 2}],
        "-   b:\n      c: 1\n    d: 2\n",
    ),
    "a whole number becomes true": ("a: 1\n", {"a": True}, "a: true\n"),
    "what older readers misread is quoted": ("a: x\n", {"a": "2026-11-15"}, "a: '2026-11-15'\n"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_changes_only_its_place(name: str) -> None:
    text, new, expected = CHANGES[name]
    assert edit_yaml(text.encode(), new).decode() == expected


def test_a_byte_order_mark_stays() -> None:
    assert edit_yaml(BOM + b"a: 1\n", {"a": 2}) == BOM + b"a: 2\n"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("a: &x [1]\nb: *x\n", {"a": [2], "b": [1]}),
        ("a: &x {k: 1}\nb:\n  <<: *x\n", {"a": {"k": 2}, "b": {"k": 1}}),
    ],
)
def test_what_cannot_be_changed_in_place_is_refused(text: str, new: object) -> None:
    with pytest.raises(EncodingError) as refused:
        edit_yaml(text.encode(), new)
    assert refused.value.rule == "yaml.edit"
    assert "aliases" in str(refused.value.hint)


def spelled(value: Any, random: Random) -> str:
    """Data as a person might write them: brackets here and there, comments, empty lines."""
    if not isinstance(value, dict | list) or not value or random.random() < 0.1:
        return flow(value) + random.choice(["", "  # document"]) + "\n"
    lines: list[str] = []
    members = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, child in members:
        lead = "-" if key is None else f"{encode_key(key)}:"
        text = inline(child) if random.random() < 0.5 else flow(child)
        lines += random.choice([[], [], ["# about"], [""]])
        if text is None or (isinstance(child, dict | list) and child and random.random() < 0.5):
            inner = list(block(child, 2))
            lines += [lead + " " + inner[0].lstrip(), *inner[1:]] if key is None else [lead, *inner]
        else:
            lines.append(f"{lead} {text}" + random.choice(["", "", " # here"]))
    return "\n".join([*lines, *random.choice([[""], [], ["# last", ""]])])


def changed(old: Any, fresh: Any, random: Random) -> Any:
    """Data in which something is other than before, or gone, or new."""
    if isinstance(old, dict) and old:
        kept = {key: changed(value, fresh, random) for key, value in old.items() if random.random() < 0.8}
        return kept | ({"new": fresh} if random.random() < 0.5 else {})
    if isinstance(old, list) and old:
        kept_items = [changed(item, fresh, random) for item in old if random.random() < 0.8]
        return [*kept_items, fresh] if random.random() < 0.5 else kept_items
    return random.choice([old, fresh])


@settings(max_examples=200, deadline=None)
@given(values, values, randoms)
def test_any_text_can_be_changed_to_say_anything(old: Any, fresh: Any, random: Random) -> None:
    text = spelled(old, random).encode()
    assert exactly(decode_yaml(text)) == exactly(old)
    new = changed(old, fresh, random)
    found = edit_yaml(text, new)
    assert exactly(decode_yaml(found)) == exactly(new)
    assert found.count(b"# last") == text.count(b"# last")


@given(values, randoms)
@settings(max_examples=60, deadline=None)
def test_a_section_that_is_added_without_positions_stands_where_the_editor_puts_it(
    value: Any, random: Random
) -> None:
    old = {"first": 1, "second": value, "third": ["a: b", "\n second: x"]}
    text = "".join(f"{line}\n" for line in block(old)).encode()
    keys = list(old)
    keys.insert(random.randint(1, 3), "added")
    new = {key: old.get(key, {"completed": True, "errors": []}) for key in keys}
    found = _with_sections(text, new)
    assert found in (None, to_bytes(_Editor(text.decode()).edited(compose(text.decode(), NONE), new)))
    assert found is not None or b"\n\n" in text or b"#" in text or b"\r" in text
