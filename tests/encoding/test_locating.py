"""Where the value of a pointer stands."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoding.plain_data import deep_in_the_stack, line_and_column, nested, offsets, randoms, spelled, values
from runcard.encoding import canonical_json, join_pointer, locate


@settings(deadline=None, max_examples=120)
@given(values, randoms)
def test_every_value_of_a_text_is_found_where_it_stands(value: object, random: Random) -> None:
    text, places = spelled(value, random)
    expected = {pointer: line_and_column(text, start) for pointer, (start, _) in places.items()}
    assert locate(text, places) == expected
    # A second opinion, by another way.
    assert {pointer: line_and_column(text, start) for pointer, start in offsets(text).items()} == expected


@settings(deadline=None, max_examples=50)
@given(values, randoms, st.data())
def test_a_few_pointers_are_found_as_well_as_all(value: object, random: Random, data: st.DataObject) -> None:
    text, places = spelled(value, random)
    some = data.draw(st.lists(st.sampled_from(sorted(places)), unique=True))
    assert locate(text, some) == {pointer: line_and_column(text, places[pointer][0]) for pointer in some}


@settings(deadline=None, max_examples=50)
@given(values, randoms, st.data())
def test_a_pointer_to_nothing_is_found_at_its_nearest_ancestor(
    value: object, random: Random, data: st.DataObject
) -> None:
    text, places = spelled(value, random)
    parent = data.draw(st.sampled_from(sorted(places)))
    missing = f"{parent}/no such key/7"
    assert locate(text, [missing]) == {missing: line_and_column(text, places[parent][0])}


TEXT = '{\r\n\t"a~b": {"c/d": 1},\n  "": [0,\n\n [{"\u4e2d": true, "x": "}]"}]], "\\u0061/": null}'


@pytest.mark.parametrize(
    ("pointer", "line", "column"),
    [
        ("", 1, 1),
        ("/a~0b", 2, 9),
        ("/a~0b/c~1d", 2, 17),
        ("/", 3, 7),
        ("//0", 3, 8),
        ("//1", 5, 2),
        ("//1/0/\u4e2d", 5, 9),
        ("//1/0/x", 5, 20),
        ("/a~1", 5, 40),
        ("//2", 3, 7),
        ("//00", 3, 7),
        ("//1/0/x/y/z", 5, 20),
    ],
)
def test_lines_and_columns_are_counted_in_characters_from_one(pointer: str, line: int, column: int) -> None:
    assert locate(TEXT, [pointer]) == {pointer: (line, column)}


def test_nothing_wanted_is_nothing_found() -> None:
    assert locate("[1]", []) == {}


@given(st.lists(st.text(max_size=5) | st.integers(0, 99), max_size=4))
def test_a_pointer_is_escaped_as_the_standard_says(path: list[str | int]) -> None:
    steps = join_pointer(path).split("/")
    assert [step.replace("~1", "/").replace("~0", "~") for step in steps[1:]] == [str(step) for step in path]
    assert steps[0] == ""


def test_a_thousand_levels_are_found_from_deep_in_the_stack() -> None:
    text = canonical_json(nested(1000)).decode()
    pointer = "/0/k" * 500
    found = deep_in_the_stack(lambda: locate(text, [pointer, "/0/k/0"]))
    assert found == {pointer: (1, text.index("1") + 1), "/0/k/0": (1, len('[{"k":[') + 1)}
