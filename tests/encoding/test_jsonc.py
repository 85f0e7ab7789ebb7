"""JSON with comments: every value is found, and an edit changes nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.encoding.json.jsonc import (
    apply_insertions,
    insert_value,
    parse_jsonc,
    remove_value,
    undo_insertions,
)
from runcard.errors import EncodingError

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 2, 4, "\t"])


@given(VALUES, LAYOUTS)
def test_plain_json_is_read_as_json_reads_it(value: Any, indent: int | str | None) -> None:
    assert parse_jsonc(json.dumps(value, indent=indent)).data == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a": 1',
        '{"a" 1}',
        "{a: 1}",
        "[1 2]",
        "{} {}",
        "/* no end",
        '{"a": 1, "a": 2}',
        '"\n"',
        "NaN",
        "01",
        ",",
    ],
)
def test_what_is_broken_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(EncodingError, match="line "):
        parse_jsonc(text)


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(EncodingError, match="deeply"):
        parse_jsonc("[" * 100_000)


@given(OBJECTS, LAYOUTS, st.booleans(), st.text(), VALUES)
def test_an_insertion_adds_the_member_and_can_be_undone(
    data: dict[str, Any], indent: int | str | None, crlf: object, key: str, value: Any
) -> None:
    text = json.dumps(data, indent=indent).replace("\n", "\r\n" if crlf else "\n")
    if key in data:
        return
    insertions = insert_value(text, parse_jsonc(text), [], key, value)
    after = apply_insertions(text, insertions)
    assert parse_jsonc(after).data == data | {key: value}
    assert list(parse_jsonc(after).data) == [*data, key]
    assert undo_insertions(after, insertions) == text
    if crlf and "\n" in text:
        assert "\n" not in after.replace("\r\n", "")


@given(OBJECTS.filter(bool), LAYOUTS, st.data())
def test_a_removal_leaves_the_rest(
    data: dict[str, Any], indent: int | str | None, choice: st.DataObject
) -> None:
    text = json.dumps(data, indent=indent)
    key = choice.draw(st.sampled_from(list(data)))
    after = remove_value(text, parse_jsonc(text), [key])
    assert parse_jsonc(after).data == {name: value for name, value in data.items() if name != key}


COMMENTED = """\
// first
{
    /* a block */ "a": [1, 2,], // about a
    // before b
    "b": {}, /* behind b */
    "c": {"d": 1} // about c
    // at the end
}
// last
"""


@pytest.mark.parametrize("path", [[], ["b"], ["c"]])
def test_comments_stay_where_they_are(path: list[str]) -> None:
    insertions = insert_value(COMMENTED, parse_jsonc(COMMENTED), path, "new", {"x": [1]})
    after = apply_insertions(COMMENTED, insertions)
    container: Any = parse_jsonc(after).data
    for name in path:
        container = container[name]
    assert container["new"] == {"x": [1]}
    assert '"d": 1} // about c' in after.replace('"d": 1},', '"d": 1}') or path == ["c"]
    assert remove_value(after, parse_jsonc(after), [*path, "new"]) == COMMENTED
    assert undo_insertions(after, insertions) == COMMENTED


def test_an_item_is_added_behind_a_trailing_comma() -> None:
    text = '{\n  "a": [\n    1,\n  ],\n}\n'
    after = apply_insertions(text, insert_value(text, parse_jsonc(text), ["a"], None, 2))
    assert after == '{\n  "a": [\n    1,\n    2,\n  ],\n}\n'


def test_a_text_that_was_changed_is_not_undone() -> None:
    text = '{"a": 1}'
    insertions = insert_value(text, parse_jsonc(text), [], "b", 2)
    assert undo_insertions(apply_insertions(text, insertions).replace("2", "3"), insertions) is None
