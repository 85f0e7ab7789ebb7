"""No answer is too large, and nothing is left out silently."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runcard.errors import UsageError
from runcard.mcp_server.paging import (
    ENVELOPE,
    MARK,
    MOST_BYTES,
    json_size,
    page_of_items,
    page_of_value,
    text_head,
    value_at,
)

BUDGET = MOST_BYTES - ENVELOPE

_SMALL = 2_000  # bytes of a page in a test that makes many
_TEXTS = st.text(max_size=30) | st.sampled_from(["x" * 3_000, "\x1b" * 500, "é" * 900, "\n" * 1_200])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=10) | st.dictionaries(st.text(max_size=5), inner, max_size=10),
    max_leaves=20,
)


def _restored(value: Any, pointer: str = "", cursor: str | None = None) -> Any:
    """The value at a pointer, put together from pages, as a client does it that follows every mark and cursor."""
    page = page_of_value(value, pointer, cursor, _SMALL)
    assert json_size(page.value) <= _SMALL
    whole = _without_marks(value, page.value, pointer, _number(cursor))
    if page.next_cursor is None:
        assert page.left_out == 0
        return whole
    assert page.left_out > 0
    rest = _restored(value, pointer, page.next_cursor)
    return whole | rest if isinstance(whole, dict) else whole + rest


def _number(cursor: str | None) -> int:
    return int(cursor or 0)


def _without_marks(value: Any, shown: Any, pointer: str, first: int = 0) -> Any:
    parts: Any
    if isinstance(shown, dict) and "head" in shown.get(MARK, {}):
        mark = shown[MARK]
        return mark["head"] + _restored(value, mark["pointer"], mark["cursor"])
    if isinstance(shown, dict):
        parts = {
            name: _without_marks(value, part, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}")
            for name, part in shown.items()
            if name != MARK
        }
        mark = shown.get(MARK)
        return parts if mark is None else parts | _restored(value, mark["pointer"], mark["cursor"])
    if isinstance(shown, list):
        marks = [item[MARK] for item in shown if isinstance(item, dict) and "items" in item.get(MARK, {})]
        items = shown[: len(shown) - len(marks)]
        parts = [_without_marks(value, item, f"{pointer}/{first + n}") for n, item in enumerate(items)]
        return parts + (_restored(value, marks[0]["pointer"], marks[0]["cursor"]) if marks else [])
    return shown


@given(st.dictionaries(st.text(max_size=5), _VALUES, max_size=10))
@example({str(n): "y" * 30 for n in range(200)})
@example({"head": ["x" * 300] * 9, **{str(n): "y" * 99 for n in range(50)}})
@example({"a": {"b": [["z" * 5_000] * 3] * 3}})
def test_every_value_can_be_put_together_from_its_pages(value: dict[str, Any]) -> None:
    assert _restored(value) == value


def test_a_large_document_shows_the_beginning_of_every_section() -> None:
    document = {
        "name": "a",
        "files": [{"path": f"in/{n}.md", "bytes": n} for n in range(10_000)],
        "log": "x" * 10**6,
    }
    page = page_of_value(document)
    assert page.value["name"] == "a"
    assert page.value["files"][0] == {"path": "in/0.md", "bytes": 0}
    assert page.value["files"][-1][MARK]["items"] == 10_000 - (len(page.value["files"]) - 1)
    assert page.value["log"][MARK]["characters"] == 10**6 - len(page.value["log"][MARK]["head"])
    assert page.parts == 2
    assert json_size(page.value) > BUDGET // 2  # the room is used


def test_items_are_counted_from_the_first_one() -> None:
    rows = [{"id": f"run-{n}", "error": "e" * 900} for n in range(50)]
    page = page_of_items(rows, before=100, total=1000)
    assert page.left_out == 1000 - 100 - len(page.value)
    assert page.next_cursor == str(100 + len(page.value))
    assert 0 < len(page.value) < 50


def test_an_item_that_is_larger_than_a_page_is_shortened_and_not_skipped() -> None:
    page = page_of_items([{"text": "x" * 10**6}, {"text": "y"}])
    assert len(page.value) == 1
    assert page.parts == 1
    assert page.next_cursor == "1"


@pytest.mark.parametrize("text", ["x" * 50, "\x00" * 50, "é" * 50, "\U0001f600" * 50, '"' * 50])
def test_the_head_of_a_text_fits_as_json(text: str) -> None:
    head = text_head(text, 40)
    assert len(json.dumps(head, ensure_ascii=False).encode()) <= 40
    assert text.startswith(head)
    assert head


@pytest.mark.parametrize("cursor", ["-1", "x", "", "1e3", "99999", "٣", "9" * 30])
def test_a_cursor_that_no_answer_had_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="is not a cursor"):
        page_of_value([1, 2, 3], cursor=cursor)


@pytest.mark.parametrize("pointer", ["a", "/b", "/a/9", "/a/x", "/a/-1", "/a/0/0", "/a/" + "9" * 50])
def test_a_pointer_to_nothing_is_refused(pointer: str) -> None:
    with pytest.raises(UsageError):
        value_at({"a": [1]}, pointer)
