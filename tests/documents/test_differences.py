"""Comparing plain data, and documents with what their journals say."""

from typing import Any

import pytest

from runcard.documents.differences import differences
from runcard.documents.run import events
from runcard.documents.run.journal_check import compare_with_journal, is_newer
from runcard.version import __version__


def pointers(left: Any, right: Any, *exempt: str) -> list[str]:
    return [one.pointer for one in differences(left, right, exempt)]


def test_the_smallest_parts_that_differ_are_named() -> None:
    left = {"a": {"b": [1, 2, {"c/d": "x"}]}, "same": [1], "gone": 1}
    right = {"a": {"b": [1, 3, {"c/d": "y"}]}, "same": [1.0], "new": 2}
    assert pointers(left, right) == ["/a/b/1", "/a/b/2/c~1d", "/gone", "/new"]


def test_lists_of_other_lengths_differ_as_a_whole() -> None:
    assert pointers({"a": [1, 2]}, {"a": [1]}) == ["/a"]


def test_null_and_absent_are_the_same_and_true_is_not_one() -> None:
    assert pointers({"a": None, "b": True}, {"c": None, "b": 1}) == ["/b"]


def test_what_is_exempt_is_left_out() -> None:
    assert pointers({"a": {"b": 1, "c": 2}}, {"a": {"b": 2, "c": 3}}, "/a/b") == ["/a/c"]
    assert pointers({"a": {"b": 1}}, {"a": {"b": 2}}, "/a") == []


def test_data_nested_deeper_than_python_allows() -> None:
    left: Any = 1
    right: Any = 2
    for _ in range(2000):
        left, right = {"a": left}, {"a": right}
    assert pointers(left, right) == ["/a" * 2000]


def line(event: str, payload: Any = None, **more: Any) -> dict[str, Any]:
    return {"event": event, **more} | ({} if payload is None else {"payload": payload})


@pytest.mark.parametrize(
    ("lines", "obstacle"),
    [
        ([], "the journal has no start event"),
        ([line(events.RUN_STARTED)], "the payload of the first event was withheld"),
        (
            [line(events.RUN_STARTED, {}, truncated={"original_bytes": 9})],
            "the first event was too large and was cut",
        ),
        (
            [line(events.RUN_STARTED, {"producer": {"name": "runcard", "version": "999.0"}})],
            "a newer version of runcard recorded the run",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(lines: list[dict[str, Any]], obstacle: str) -> None:
    assert compare_with_journal({}, lines).obstacle == obstacle


@pytest.mark.parametrize("start", [[], "x", 3, {"generation": 1}, {"generation": {}, "configuration": []}])
def test_a_start_that_nobody_wrote(start: object) -> None:
    assert compare_with_journal({}, [line(events.RUN_STARTED, start)]).is_foreign


def test_newer_versions() -> None:
    assert is_newer({"name": "runcard", "version": "999.1.0"})
    for producer in (
        None,
        3,
        {},
        {"name": "x", "version": "999"},
        {"name": "runcard", "version": __version__},
    ):
        assert not is_newer(producer)
