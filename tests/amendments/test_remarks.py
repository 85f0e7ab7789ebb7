"""runcard amend: notes, tags, evaluations and approvals about the very bytes that a record has."""

import json
from pathlib import Path
from typing import Any

import pytest

from amendments.records import KEY, assert_tidy, digest, entries, lines
from conftest import Cli
from runcard.errors import StoreError, UsageError
from runcard.operations.amendments.amend import amend
from runcard.operations.amendments.redact import redact
from runcard.store.amendments.read import Remark
from runs.runs import read, verdict


def test_remarks_are_entries_and_change_nothing(cli: Cli, run: Path) -> None:
    before = digest(run / "metadata.json")
    assert cli("amend", run, "note", "read twice", "--by", "ada").out == f"{run}: note by ada: read twice\n"
    assert cli("amend", run, "tag", "gold", "--by", "ada").code == 0
    assert cli("amend", run, "evaluation", "accuracy=0.93", "--comment", "by hand", "--by", "ada").code == 0
    assert cli("amend", run, "approval", "--by", "ada").code == 0
    assert [entry["kind"] for entry in entries(run)] == ["note", "tag", "evaluation", "approval"]
    for entry in entries(run):
        assert (entry["path"], entry["old_sha256"], entry["new_sha256"]) == (None, None, None)
        assert (entry["who"], entry["when"][-1]) == ("ada", "Z")
    assert lines(run / "amendments.jsonl")[0]["prev"] == before
    assert verdict(run.parent)["findings"] == []
    assert_tidy(run)


def test_a_remark_names_the_digest_of_the_output(run: Path, session: Path) -> None:
    amend(run, "note", "x")
    amend(session, "note", "x")
    assert entries(run)[0]["about"] == [{"path": "SHA256SUMS", "digest": read(run)["checksums"]["output"]}]
    assert entries(session)[0]["about"] == [
        {"path": "SHA256SUMS", "digest": read(session)["checksums"]["session"]}
    ]


def test_a_remark_may_be_about_some_files(run: Path) -> None:
    amend(run, "evaluation", "style=good", about=["notes.txt", "./deep/log.txt"])
    redact(run, rules=["anthropic-key"], reason="x")
    amend(run, "approval", about=["deep/log.txt"])
    first, *_, last = entries(run)
    assert first["about"][0] == {"path": "notes.txt", "digest": f"sha256:{digest(run / 'notes.txt')}"}
    assert last["about"][0]["digest"] == f"sha256:{digest(run / 'deep' / 'log.txt')}"
    assert first["about"][1]["digest"] != last["about"][0]["digest"]


def test_the_files_that_a_remark_is_about_are_shown(cli: Cli, run: Path) -> None:
    done = cli("amend", run, "note", "hi", "--about", "notes.txt", "--about", "deep/log.txt", "--by", "ada")
    assert done.out == f"{run}: note on notes.txt, deep/log.txt by ada: hi\n"
    amend(run, "tag", "gold", about=["notes.txt"], by="ada")
    amend(run, "approval", about=["notes.txt"], by="ada")
    shown = cli("show", run).out.splitlines()
    assert shown[-2:] == ["  tag gold on notes.txt by ada", "  notes.txt approved by ada"]


def test_a_remark_about_something_that_is_not_a_file_is_still_described() -> None:
    for about in (None, "x", [1, {}, {"path": ["x"]}, {"path": None}]):
        assert Remark("tag", {"tag": "gold", "who": "ada", "about": about}).describe() == "tag gold by ada"


@pytest.mark.parametrize("path", ["nowhere", "../x", "/etc/passwd", "", "metadata.json", "deep"])
def test_what_the_record_does_not_list_is_nothing_to_talk_about(run: Path, path: str) -> None:
    with pytest.raises(StoreError, match="the record lists no file"):
        amend(run, "note", "x", about=[path])


def test_a_file_that_is_gone_or_changed_is_nothing_to_talk_about(run: Path) -> None:
    redact(run, files=["notes.txt"], reason="x")
    with pytest.raises(StoreError, match="was taken out"):
        amend(run, "note", "x", about=["notes.txt"])
    (run / "plain.txt").write_text("forged")
    with pytest.raises(StoreError, match="is not what it was"):
        amend(run, "note", "x", about=["plain.txt"])


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("a=0.5", 0.5),
        ("a=3", 3),
        ("a=true", True),
        ("a=null", None),
        ('a={"b": [1]}', {"b": [1]}),
        ("a=good", "good"),
        ("a=x=y", "x=y"),
        ("a=", ""),
        ("a=NaN", "NaN"),
    ],
)
def test_a_value_is_json_where_it_is(run: Path, said: str, value: Any) -> None:
    amend(run, "evaluation", said)
    assert (entries(run)[0]["name"], entries(run)[0]["value"]) == ("a", value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("note", None),
        ("note", " "),
        ("tag", None),
        ("evaluation", "accuracy"),
        ("evaluation", "=1"),
        ("redaction", "x"),
        ("x", "x"),
        ("note", "x" * 70_000),
    ],
)
def test_a_remark_that_says_nothing_is_wrong_usage(run: Path, kind: str, value: str | None) -> None:
    with pytest.raises(UsageError):
        amend(run, kind, value)
    assert not (run / "amendments.jsonl").exists()


def test_who_approves_and_who_enters_it_may_be_two(cli: Cli, run: Path) -> None:
    done = cli("amend", run, "approval", "Dr. Ada", "--by", "ben", "--comment", "after the audit")
    assert done.out == f"{run}: approved by Dr. Ada, entered by ben: after the audit\n"


def test_secrets_in_a_remark_are_masked(run: Path) -> None:
    for kind, value in (("note", KEY), ("tag", KEY), ("evaluation", f"a={KEY}"), ("approval", KEY)):
        amend(run, kind, value, comment=KEY, by=KEY)
    assert KEY not in (run / "amendments.jsonl").read_text()


def test_remarks_are_shown_with_the_record(cli: Cli, run: Path, session: Path) -> None:
    for record in (run, session):
        amend(record, "note", "one\x1b[31m\ntwo", by="ada")
        amend(record, "evaluation", "accuracy=0.93", comment="by hand", by="ada")
        amend(record, "tag", "gold", by="ada")
        shown = cli("show", record).out.splitlines()
        assert shown[shown.index("Amendments") + 1 :] == [
            "  note by ada: one\\x1b[31m\\ntwo",
            "  evaluation accuracy = 0.93 by ada: by hand",
            "  tag gold by ada",
        ]
        said = json.loads(cli("show", record, "--json").out)["amendments"]
        assert [one["kind"] for one in said] == ["note", "evaluation", "tag"]
        assert said[1]["value"] == 0.93


def test_json_has_the_entry(cli: Cli, run: Path) -> None:
    said = json.loads(cli("amend", run, "tag", "gold", "--by", "ada", "--json").out)
    assert said["amendment"]["tag"] == "gold"
    assert said["warnings"] == []


def test_a_metadata_document_may_stand_for_its_record(run: Path) -> None:
    amend(run / "metadata.json", "note", "x")
    assert len(entries(run)) == 1


def test_a_remark_about_a_record_that_was_changed_before_is_a_warning(cli: Cli, run: Path) -> None:
    assert cli("amend", run, "approval", "ada").code == 0
    (run / "notes.txt").write_text("forged")
    before = f"Warning: {run} failed verification before: "
    done = cli("amend", run, "approval", "ada")
    assert (done.code, done.err.startswith(before)) == (2, True)
    assert "notes.txt" in done.err
    planned = cli("redact", run, "--file", "plain.txt", "--reason", "x", "--dry-run")
    assert (planned.code, planned.err.startswith(before)) == (2, True)
    withheld = cli("redact", run, "--file", "plain.txt", "--reason", "x", "--yes")
    assert (withheld.code, withheld.err.startswith(before)) == (2, True)
