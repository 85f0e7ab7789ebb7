"""A plan between 1.3 and 2.0: nothing is renamed, what is lost is named, and what has no room is refused."""

from copy import deepcopy

import pytest

from documents.samples import CORPUS, decoded, plan, rich_plan
from runcard.documents.migrations import migrate
from runcard.errors import DocumentError


def test_up_makes_lists_and_objects_and_nothing_else() -> None:
    older = plan()
    older["characteristics"][1] |= {"setup": "attribute", "x": 1}
    before = deepcopy(older)
    moved = migrate("testplan", older, "1.3", "2.0")
    assert older == before
    assert (moved.dropped, moved.notes) == ((), ())
    assert next(iter(moved.data)) == "format_version"
    changed = {"when_parent": ["premium"], "setup": {"type": "attribute"}}
    assert moved.data == {
        **before,
        "format_version": "2.0",
        "characteristics": [before["characteristics"][0], before["characteristics"][1] | changed],
    }


def test_down_names_what_it_drops() -> None:
    moved = migrate("testplan", rich_plan(), "2.0", "1.3")
    assert moved.dropped == (
        "/characteristics/0/setup/class",
        "/characteristics/0/setup/source",
        "/characteristics/1/threshold_value",
        "/characteristics/1/threshold_operator",
        "/characteristics/1/setup/class",
    )
    paid, amount, _ = moved.data["characteristics"]
    assert (moved.data["format_version"], paid["setup"], amount["setup"]) == ("1.3", "attribute", "method")
    assert amount["when_parent"] == "yes"
    assert moved.data["x_note"] == "kept"


def test_names_are_never_changed() -> None:
    for name in ("plain", "specification"):
        older = decoded(CORPUS / f"valid/testplan-1.3/{name}.yml")
        up = migrate("testplan", older, "1.3", "2.0").data
        down = migrate("testplan", up, "2.0", "1.3").data
        names = [one["name"] for one in older["characteristics"]]
        assert [one["name"] for one in up["characteristics"]] == names
        assert {**down, "format_version": None} == {**older, "format_version": None}


def test_down_is_refused_when_one_state_is_not_enough() -> None:
    newer = rich_plan()
    newer["characteristics"][1]["when_parent"] = ["yes", "no"]
    with pytest.raises(DocumentError, match="'amount' depends on 2 states of its parent"):
        migrate("testplan", newer, "2.0", "1.3")


def test_there_are_no_steps_from_what_has_no_schema() -> None:
    older = decoded(CORPUS / "warnings/section.absent--1.2.yml")
    with pytest.raises(DocumentError, match=r"version 1\.2 cannot be migrated to 2\.0") as refused:
        migrate("testplan", older, "1.2", "2.0")
    assert "runcard plan analyze --write" in (refused.value.hint or "")
