"""Changing a text only where its data changes."""

import json
from collections import OrderedDict
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from encoding.plain_data import (
    containers,
    deep_in_the_stack,
    exactly,
    innermost,
    nested,
    objects,
    randoms,
    scalars,
    spelled,
    texts,
    values,
)
from runcard.encoding import BOM, canonical_json, decode_json, encode_json
from runcard.encoding.json.edit import edit_json
from runcard.errors import EncodingError

marks = st.sampled_from([b"", BOM])
blanks = st.sampled_from([" \t\r\n", " ", "", "\n"])


def at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def replaced(value: Any, pointer: str, new: object) -> Any:
    """A copy with another value at one place."""
    if not pointer:
        return new
    copy = deepcopy(value)
    parent, _, step = pointer.rpartition("/")
    container, key = at(copy, parent), step.replace("~1", "/").replace("~0", "~")
    container[int(key) if isinstance(container, list) else key] = new
    return copy


@st.composite
def changed(draw: st.DrawFn, old: Any) -> Any:
    """Data that have something to do with the old ones: a few members set, taken out, put in."""
    new = deepcopy(old)
    for _ in range(draw(st.integers(1, 3))):
        places = [new] if isinstance(new, dict | list) else []
        for place in places:
            places += [v for v in (place.values() if isinstance(place, dict) else place) if v and _holds(v)]
        if not places:
            return draw(values)
        place = draw(st.sampled_from(places))
        _change(draw, place)
    return new


def _holds(value: object) -> bool:
    return isinstance(value, dict | list)


def _change(draw: st.DrawFn, place: Any) -> None:
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    action = draw(st.sampled_from(["set", "add", "remove", "first"]))
    value = draw(values)
    if action == "remove" and keys:
        del place[draw(st.sampled_from(keys))]
    elif action == "set" and keys:
        place[draw(st.sampled_from(keys))] = value
    elif isinstance(place, list):
        place.insert(0 if action == "first" else len(place), value)
    else:
        before = dict(place) if action == "first" else {}
        if before:
            place.clear()
        place[draw(texts)] = value
        place |= before


@settings(deadline=None, max_examples=140)
@given(st.data(), randoms, marks, blanks)
def test_the_edited_text_says_the_new_data(
    data: st.DataObject, random: Random, mark: bytes, blank: str
) -> None:
    old = data.draw(values)
    new = data.draw(changed(old) | values)
    text = mark + spelled(old, random, blank).text.encode()
    edited = edit_json(text, old, new)
    assert exactly(decode_json(edited)) == exactly(new)
    assert edited.startswith(mark)
    assert not edited.startswith(mark + BOM)


@settings(deadline=None, max_examples=70)
@given(values, randoms, marks, blanks)
def test_an_edit_that_changes_nothing_keeps_every_byte(
    value: Any, random: Random, mark: bytes, blank: str
) -> None:
    data = mark + spelled(value, random, blank).text.encode()
    assert edit_json(data, value, value) == data
    assert edit_json(data, value, decode_json(data)) == data
    assert edit_json(data, value, deepcopy(value)) == data


@settings(deadline=None, max_examples=100)
@given(containers, randoms, blanks, scalars, st.data())
def test_an_edit_of_one_value_changes_only_its_span(
    old: Any, random: Random, blank: str, scalar: object, data: st.DataObject
) -> None:
    text, places = spelled(old, random, blank)
    pointer = data.draw(st.sampled_from(sorted(places)))
    assume(exactly(at(old, pointer)) != exactly(scalar))
    start, end = places[pointer]
    edited = edit_json(text.encode(), old, replaced(old, pointer, scalar)).decode()
    assert edited == text[:start] + json.dumps(scalar, ensure_ascii=False) + text[end:]


@settings(deadline=None, max_examples=70)
@given(objects, randoms, blanks, st.data())
def test_a_member_that_goes_leaves_the_others_as_they_were_written(
    old: dict[str, Any], random: Random, blank: str, data: st.DataObject
) -> None:
    text, places = spelled(old, random, blank)
    gone = data.draw(st.sampled_from(sorted(old)))
    edited = edit_json(text.encode(), old, {k: v for k, v in old.items() if k != gone}).decode()
    for key in old.keys() - {gone}:
        start, end = places["/" + key.replace("~", "~0").replace("/", "~1")]
        assert text[start:end] in edited
    assert len(edited) < len(text)
    assert list(decode_json(edited.encode())) == [key for key in old if key != gone]


@settings(deadline=None, max_examples=70)
@given(objects, randoms, blanks, st.data(), values)
def test_a_member_that_comes_stands_where_the_data_have_it(
    old: dict[str, Any], random: Random, blank: str, data: st.DataObject, value: object
) -> None:
    key = data.draw(texts.filter(lambda key: key not in old))
    place = data.draw(st.integers(0, len(old)))
    members = list(old.items())
    new = dict([*members[:place], (key, value), *members[place:]])
    edited = decode_json(edit_json(spelled(old, random, blank).text.encode(), old, new))
    assert list(edited) == list(new)
    assert exactly(edited) == exactly(new)


@pytest.mark.parametrize(
    ("data", "new", "expected"),
    [
        pytest.param('{"a": 1, "b": 2}', {"a": 1, "b": 3}, '{"a": 1, "b": 3}', id="one line"),
        pytest.param('{"a":1,"b":2}', {"a": 1, "b": 2, "c": [1]}, '{"a":1,"b":2,"c":[1]}', id="compact"),
        pytest.param('{ "a" : 1 , "b" : 2 }', {"a": 3, "b": 2}, '{ "a" : 3 , "b" : 2 }', id="airy"),
        pytest.param('{"a": 1.50}', {"a": 1.5, "b": 2}, '{"a": 1.50, "b": 2}', id="spelling of numbers"),
        pytest.param('{"a": 1E2, "b": 0}', {"a": 100.0, "b": 1}, '{"a": 1E2, "b": 1}', id="exponents"),
        pytest.param(
            '{\n  "a": 1\n}\n',
            {"a": 1, "b": {"c": []}},
            '{\n  "a": 1,\n  "b": {\n    "c": []\n  }\n}\n',
            id="lines",
        ),
        pytest.param(
            '{\r\n\t"a": [\r\n\t\t1\r\n\t]\r\n}',
            {"a": [1, {"x": 2}]},
            '{\r\n\t"a": [\r\n\t\t1,\r\n\t\t{\r\n\t\t\t"x": 2\r\n\t\t}\r\n\t]\r\n}',
            id="tabs and carriage returns",
        ),
        pytest.param('{"a": 1, "b": 2, "c": 3}', {"c": 3}, '{"c": 3}', id="the first two gone"),
        pytest.param('{"a": 1, "b": 2, "c": 3}', {"a": 1}, '{"a": 1}', id="the last two gone"),
        pytest.param('{"a": 1, "b": 2, "c": 3}', {"a": 1, "c": 3}, '{"a": 1, "c": 3}', id="the middle gone"),
        pytest.param(
            '{"a": 1, "b": 2}', {"n": 0, "a": 1, "b": 2}, '{"n": 0, "a": 1, "b": 2}', id="a new first"
        ),
        pytest.param('{"a": 1, "b": 2}', {"n": 0, "b": 2}, '{"n": 0, "b": 2}', id="another first"),
        pytest.param('{"a": 1}', {"b": 1}, '{"b": 1}', id="nothing in common"),
        pytest.param('{"a": {}}', {"a": {"b": 1}}, '{"a": {"b": 1}}', id="filled"),
        pytest.param('{"a": {"b": 1}}', {"a": {}}, '{"a": {}}', id="emptied"),
        pytest.param("[1, 2, 3]", [1], "[1]", id="a shorter list"),
        pytest.param("[1]", [1, 2], "[1, 2]", id="a longer list"),
        pytest.param("[1,2]", [1, 2, 3], "[1,2,3]", id="a longer tight list"),
        pytest.param('["x"]', {"0": "x"}, '{"0": "x"}', id="a list becomes an object"),
        pytest.param(' "x" \n', None, " null \n", id="a bare value"),
        pytest.param(
            '{"b": 1, "a": 2}', {"a": 2, "b": 1}, '{"b": 1, "a": 2}', id="another order is no change"
        ),
        pytest.param('{"b": 1, "a": 2}', {"a": 3, "b": 1}, '{"b": 1, "a": 3}', id="the author's order stays"),
    ],
)
def test_the_text_keeps_its_author_s_hand(data: str, new: object, expected: str) -> None:
    assert edit_json(data.encode(), json.loads(data), new).decode() == expected


@pytest.mark.parametrize(
    ("old", "new"), [(1, True), (True, 1), (1, 1.0), (1.0, 1), (0, False), ("1", 1), (None, False)]
)
def test_values_that_python_takes_for_equal_are_told_apart(old: object, new: object) -> None:
    for wrap in (lambda v: v, lambda v: [v, 2], lambda v: {"a": {"b": v}, "c": 0}):
        data = encode_json(wrap(old))
        assert exactly(decode_json(edit_json(data, wrap(old), wrap(new)))) == exactly(wrap(new))


def test_other_mappings_are_compared_by_what_they_hold() -> None:
    data = b'{"a":  1, "b":  [1]}'
    assert edit_json(data, decode_json(data), OrderedDict(a=1, b=[2])) == b'{"a":  1, "b":  [2]}'


@pytest.mark.parametrize(
    "new", [{"a": {1: 2}}, {"a": {"b": 1, 2: 3}}, {"a": {"b": float("nan")}}, {"a": {"b": {1}}}]
)
def test_what_json_cannot_say_is_refused(new: object) -> None:
    with pytest.raises(EncodingError):
        edit_json(b'{"a": {"b": 1}}', {"a": {"b": 1}}, new)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(EncodingError) as refused:
        edit_json(b'{"a": 1}', {"a": 1}, {"a": "\udcff"})
    assert refused.value.rule == "json.lone-surrogate"


@pytest.mark.parametrize(("levels", "new"), [(1000, 2), (300, {"k": 1, "l": 2})])
def test_a_thousand_levels_are_edited_from_deep_in_the_stack(levels: int, new: object) -> None:
    data = canonical_json(nested(levels, 1))
    old, wanted = decode_json(data), nested(levels, new)
    edited = deep_in_the_stack(lambda: edit_json(data, old, wanted))
    assert canonical_json(decode_json(edited)) == canonical_json(wanted)
    assert deep_in_the_stack(lambda: edit_json(data, old, decode_json(data))) == data
    assert innermost(old) == 1
