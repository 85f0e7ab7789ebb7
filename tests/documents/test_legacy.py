"""The older, flat shapes of a generation document: nothing is lost, nothing is invented."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.samples import Fields, at, data, files, is_harmless
from encoding.plain_data import exactly, values
from runcard.documents.migrations import migrate
from runcard.documents.reader import load_document, parse_document
from runcard.documents.times import parse_time
from runcard.encoding import encode_json

BERLIN = ZoneInfo("Europe/Berlin")


def upgraded(old: Fields, zone: tzinfo | None = None) -> Fields:
    return migrate("generation", old, old.get("version"), "1.0", zone).data


def test_the_unversioned_shape_becomes_1_0() -> None:
    assert upgraded(data("legacy/flat")) == {
        "metadata_version": "1.0",
        "generation": {
            "experiment_id": None,
            "run_id": None,
            "timestamp_start": None,
            "timestamp_end": "2024-11-02T08:15:00Z",
            "duration_seconds": None,
        },
        "configuration": {"model": "claude-3-5-sonnet", "provider": "anthropic", "persona_count": 3},
        "data_sources": {"files": ["data/a.md", "data/b.csv"], "total_tokens": None},
        "environment": dict.fromkeys(("runcard_version", "python_version", "platform", "timezone")),
        "costs": {"input_tokens": 1200, "output_tokens": 340, "total_cost_usd": None},
        "token_usage": {"total_input_tokens": 1200, "total_output_tokens": 340, "total_tokens": 1540},
        "checksums": dict.fromkeys(("config", "data", "output")),
    }


def test_the_shape_of_0_1_0_becomes_1_0() -> None:
    new = upgraded(data("legacy/0.1.0"))
    assert new["generation"]["experiment_name"] == "onboarding"
    assert new["generation"]["timestamp_end"] == "2025-01-20T18:45:10.500000Z"
    assert new["configuration"] == {
        "model": "gpt-4o",
        "provider": "openai",
        "temperature": 0.2,
        "persona_count": 5,
    }
    assert new["data_sources"]["files"] == ["in/a.txt"]
    assert new["costs"] == {
        "input_tokens": 900,
        "output_tokens": 100,
        "total_cost_usd": 0.0123,
        "cost_source": "given",
    }
    assert "legacy" not in new


@pytest.mark.parametrize("name", ["flat", "0.1.0"])
def test_a_time_without_a_zone_is_null_and_kept_until_the_zone_is_named(name: str) -> None:
    old = data(f"legacy/{name}--time-without-zone")
    field = "timestamp" if "version" in old else "generated_at"
    moved = migrate("generation", old, old.get("version"), "1.0")
    assert moved.data["generation"]["timestamp_end"] is None
    assert moved.data["legacy"] == {field: old[field]}
    (note,) = moved.notes
    assert "--timezone" in note
    assert old[field] in note
    zoned = migrate("generation", old, old.get("version"), "1.0", BERLIN)
    assert parse_time(zoned.data["generation"]["timestamp_end"]) == datetime.fromisoformat(
        old[field]
    ).replace(tzinfo=BERLIN)
    assert "legacy" not in zoned.data
    assert zoned.notes == ()


def test_a_zone_that_is_named_does_not_change_a_time_that_has_one() -> None:
    assert upgraded(data("legacy/flat"), BERLIN) == upgraded(data("legacy/flat"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "yesterday",
            "2024",
            "14:00",
            "2024-13-01T00:00:00Z",
            "2024-11-02T25:00:00Z",
            "\x1b[2J\n",
            "x" * 9999,
        ),
        *("0000-01-01T00:00:00Z", "0001-01-01T00:00:00+12:00", "9999-12-31T23:59:59-12:00"),
        *("2024-11-02T09:15:00+99:00", "9999-12-31T23:59:60Z"),
    ],
)
@pytest.mark.parametrize("zone", [None, BERLIN, timezone(timedelta(hours=23))])
def test_nonsense_for_a_time_is_kept_and_told_in_a_line(text: str, zone: tzinfo | None) -> None:
    old = data("legacy/flat") | {"generated_at": text}
    moved = migrate("generation", old, None, "1.0", zone)
    assert moved.data["generation"]["timestamp_end"] is None
    assert moved.data["legacy"] == {"generated_at": text}
    (note,) = moved.notes
    assert is_harmless(note)
    assert len(note) < 300
    assert parse_document(encode_json(old)).report.valid


def test_the_note_is_part_of_the_finding() -> None:
    (older,) = [
        found
        for found in parse_document(encode_json(data("legacy/flat--no-time-at-all"))).report.findings
        if found.rule == "version.older"
    ]
    assert "without a version" in older.message
    assert "generated_at" in older.message
    assert is_harmless(older.message)


PLACES = {
    "generated_at": "/generation/timestamp_end",
    "timestamp": "/generation/timestamp_end",
    "experiment": "/generation/experiment_name",
    "model": "/configuration/model",
    "provider": "/configuration/provider",
    "persona_count": "/configuration/persona_count",
    "source_files": "/data_sources/files",
    "input_files": "/data_sources/files",
    "input_tokens": "/costs/input_tokens",
    "output_tokens": "/costs/output_tokens",
    "total_tokens": "/token_usage/total_tokens",
    **dict.fromkeys(("total_cost_usd", "cost_usd", "total_cost", "cost"), "/costs/total_cost_usd"),
}


def moment(value: str, zone: tzinfo | None) -> datetime | None:
    return parse_time(value) or (datetime.fromisoformat(value).replace(tzinfo=zone) if zone else None)


def assert_nothing_is_lost(old: Fields, new: Fields, zone: tzinfo | None = None) -> None:
    kept = new.get("legacy", {})
    for field, value in old.items():
        if field in kept:
            assert exactly(kept[field]) == exactly(value)
        elif field == "generation_parameters":
            assert value.items() <= new["configuration"].items()
        elif field != "version":
            found = at(new, PLACES[field])
            same_time = PLACES[field].endswith("_end") and parse_time(found) == moment(value, zone)
            assert same_time or exactly(found) == exactly(value)


@pytest.mark.parametrize("path", files("legacy"), ids=lambda path: path.stem)
def test_every_value_of_an_older_document_is_somewhere_in_the_new_one(path: Any) -> None:
    old = data(f"legacy/{path.stem}")
    assert_nothing_is_lost(old, upgraded(old))
    assert_nothing_is_lost(old, load_document(path.read_bytes()).to_dict())


times = st.sampled_from(["2024-11-02T09:15:00Z", "2024-11-02T09:15:00", "2024-11-02 09:15+02:00", "soon"])
counts = st.integers(-2, 2000)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "provider": st.text(max_size=3),
    "model": st.text(max_size=3),
    "input_tokens": counts,
    "output_tokens": counts,
    "total_tokens": counts | st.booleans(),
    "cost": st.floats(-1, 9),
    "cost_usd": st.floats(-1, 9),
    "legacy": values,
    "metadata": values,
}
FLAT = FIELDS | {"persona_count": counts, "source_files": st.lists(st.text(max_size=3), max_size=3)}
OLD = FIELDS | {
    "experiment": st.text(max_size=3),
    "input_files": st.lists(st.text(max_size=3), max_size=3),
    "generation_parameters": st.dictionaries(
        st.sampled_from(["model", "provider", "temperature", "legacy"]), values, max_size=3
    ),
}


def shapes(base: dict[str, Any], fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Fields]:
    """An older document: each field is there or not, right or wrong."""
    optional = {name: some | values for name, some in fields.items() if name not in base}
    return st.fixed_dictionaries(base, optional=optional)


older_documents = shapes({"generated_at": times | values, "persona_count": values}, FLAT) | shapes(
    {"version": st.just("0.1.0"), "timestamp": times | values, "input_files": OLD["input_files"] | values},
    OLD,
)


@settings(deadline=None, max_examples=100)
@given(older_documents, st.sampled_from([None, UTC, BERLIN]))
def test_whatever_an_older_document_holds_it_is_read_and_nothing_is_lost(
    old: Fields, zone: tzinfo | None
) -> None:
    before = exactly(old)
    new = upgraded(old, zone)
    assert exactly(old) == before
    assert_nothing_is_lost(old, new, zone)
    report = parse_document(encode_json(new)).report
    assert report.valid, report.errors
    assert parse_document(encode_json(old)).report.valid


@settings(deadline=None, max_examples=60)
@given(older_documents)
def test_nothing_is_invented(old: Fields) -> None:
    new = upgraded(old)
    known = {exactly(value) for value in old.values()}
    for pointer in ("/generation/experiment_id", "/generation/run_id", "/generation/timestamp_start"):
        assert at(new, pointer) is None
    for pointer in (
        "/costs/input_tokens",
        "/costs/output_tokens",
        "/costs/total_cost_usd",
        "/data_sources/files",
    ):
        assert at(new, pointer) is None or exactly(at(new, pointer)) in known
    assert new["checksums"] == {"config": None, "data": None, "output": None}
    assert ("cost_source" in new["costs"]) == (new["costs"]["total_cost_usd"] is not None)
