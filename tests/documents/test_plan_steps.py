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


def test_down_and_up_again_loses_nothing() -> None:
    newer = rich_plan()
    before = deepcopy(newer)
    moved = migrate("testplan", newer, "2.0", "1.3")
    assert (newer, moved.dropped, moved.notes) == (before, (), ())
    paid, amount, _ = moved.data["characteristics"]
    assert (moved.data["format_version"], paid["setup"], amount["setup"]) == ("1.3", "attribute", "method")
    assert {key: paid[key] for key in ("setup_class", "setup_source")} == {
        key: newer["characteristics"][0]["setup"][name]
        for key, name in (("setup_class", "class"), ("setup_source", "source"))
    }
    assert amount["when_parent"] == "yes"
    assert amount["threshold_operator"] == newer["characteristics"][1]["threshold_operator"]
    assert moved.data["x_note"] == "kept"
    assert migrate("testplan", moved.data, "1.3", "2.0").data == newer


def test_down_names_what_it_drops() -> None:
    """A key of a setup that 1.3 does not know, and one whose place is taken."""
    newer = rich_plan()
    newer["characteristics"][0] |= {
        "setup": {"type": "model", "class": "User", "x": 1},
        "setup_class": "Account",
    }
    moved = migrate("testplan", newer, "2.0", "1.3")
    assert moved.dropped == ("/characteristics/0/setup/class", "/characteristics/0/setup/x")
    first = moved.data["characteristics"][0]
    assert (first["setup"], first["setup_class"]) == ("model", "Account")


def test_a_setup_of_unknown_type_is_kept() -> None:
    newer = rich_plan()
    newer["characteristics"][0]["setup"] = {"type": None, "class": "User"}
    older = migrate("testplan", newer, "2.0", "1.3").data
    assert (older["characteristics"][0]["setup"], older["characteristics"][0]["setup_class"]) == (
        None,
        "User",
    )
    assert migrate("testplan", older, "1.3", "2.0").data == newer


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
