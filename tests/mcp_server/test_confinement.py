"""Nothing outside of the stores can be read, however it is named."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import runcard
from mcp_server.answers import Tools

SECRET = "TOP-SECRET-4711"  # noqa: S105 - what must not be read


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A store that a stranger filled, and a record elsewhere that it must not lead to."""
    with runcard.record(tmp_path / "private" / "outputs", config={"note": SECRET}, strict=True) as theirs:
        (theirs.path / "output.log").write_text(SECRET)
    (tmp_path / "secret.txt").write_text(SECRET)
    place = tmp_path / "project"
    with runcard.record(place / "outputs", strict=True) as run:
        (run.path / "out.txt").write_text("fine\n")
    store = place / "outputs"
    (store / "linked").symlink_to(theirs.path)
    for name, link in (
        ("link-document", "metadata.json"),
        ("link-output", "output.log"),
        ("link-page", "README.md"),
    ):
        shutil.copytree(run.path, store / name)
        (store / name / link).unlink(missing_ok=True)
        target = theirs.path / link if link != "output.log" else tmp_path / "secret.txt"
        (store / name / link).symlink_to(target)
    (store / "link-folder").mkdir()
    shutil.copy(run.path / "metadata.json", store / "link-folder")
    (store / "link-folder" / "up").symlink_to(tmp_path)
    (place / "experiments" / "evil").mkdir(parents=True)
    (place / "experiments" / "evil" / "outputs").symlink_to(tmp_path / "private" / "outputs")
    monkeypatch.chdir(place)
    return place, Path(theirs.path)


def _words(place: Path, theirs: Path) -> list[str]:
    store = place / "outputs"
    return [
        str(theirs),
        theirs.name,
        "linked",
        str(store / "linked"),
        "outputs/linked",
        f"../private/outputs/{theirs.name}",
        f"outputs/../../private/outputs/{theirs.name}",
        f"{store}/../../private/outputs/{theirs.name}",
        "link-document",
        "outputs/link-document/metadata.json",
        "experiments/evil/outputs/" + theirs.name,
        "/etc",
        "/",
        ".",
        "..",
        "~",
        "-",
        "",
        "a\0b",
        "/proc/self/environ",
        "outputs",
        str(store),
    ]


def test_no_name_of_a_record_leads_out_of_the_stores(hostile: tuple[Path, Path]) -> None:
    tools = Tools()
    for word in _words(*hostile):
        if word == hostile[1].name and (hostile[0] / "outputs" / word).exists():
            continue  # both were recorded in the same second
        for name in ("get_record", "read_transcript", "verify_record", "validate_document"):
            answer, is_error = tools.result(name, {"record": word})
            assert is_error, (name, word)
            assert SECRET not in json.dumps(answer)
        assert tools.result("diff_records", {"before": word, "after": "@latest"})[1]


@pytest.mark.parametrize(
    "file", ["output.log", "up/secret.txt", "../../../secret.txt", "/etc/passwd", "up", "", "a\0b"]
)
def test_no_file_of_a_record_leads_out_of_it(hostile: tuple[Path, Path], file: str) -> None:
    tools = Tools()
    for record in ("link-output", "link-folder"):
        answer, is_error = tools.result("read_transcript", {"record": f"outputs/{record}", "file": file})
        assert is_error, (record, file)
        assert SECRET not in json.dumps(answer)
    assert hostile


def test_lists_searches_and_checks_do_not_follow_links(hostile: tuple[Path, Path]) -> None:
    tools = Tools()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_records", {"columns": ["config.note", "path"]}),
        ("search_records", {"text": SECRET}),
        ("search_records", {"text": SECRET, "where_to_look": "transcripts"}),
        ("cost_report", {}),
        *(
            ("verify_record", {"record": f"outputs/{name}"})
            for name in ("link-output", "link-page", "link-folder")
        ),
        *(
            ("validate_document", {"record": f"outputs/{name}"})
            for name in ("link-output", "link-page", "link-folder")
        ),
        *(
            ("get_record", {"record": f"outputs/{name}"})
            for name in ("link-output", "link-page", "link-folder")
        ),
    ]
    for name, arguments in calls:
        answer, _ = tools.result(name, arguments)
        text = json.dumps(answer).replace(json.dumps(arguments)[1:-1], "")
        assert SECRET not in text, (name, arguments)
    assert all("private" not in row["path"] for row in tools("list_records")["quoted"]["records"])
    assert hostile


@pytest.mark.parametrize(
    "file", ["/etc/passwd", "../secret.txt", "link.txt", "folder/secret.txt", "a\0b", ".."]
)
def test_whence_and_plans_read_only_files_of_the_project(hostile: tuple[Path, Path], file: str) -> None:
    place, _ = hostile
    (place / ".git").mkdir()
    (place / "link.txt").symlink_to(place.parent / "secret.txt")
    (place / "folder").symlink_to(place.parent)
    tools = Tools()
    for name, argument in (
        ("whence", "file"),
        ("plan_read", "source"),
        ("plan_status", "source"),
        ("list_factories", "directory"),
    ):
        answer, is_error = tools.result(name, {argument: file})
        assert is_error, name
        assert "is not in the project" in answer["error"] or "is refused" in answer["error"]


def test_what_is_outside_is_refused_in_the_same_words_whether_it_exists_or_not(
    hostile: tuple[Path, Path],
) -> None:
    tools = Tools()
    there, nothing = (
        tools.error("get_record", record=path) for path in ("/etc/hostname", "/etc/no-such-file")
    )
    assert there["error"].replace("hostname", "no-such-file") == nothing["error"]
    assert there["hint"] == nothing["hint"]
    assert hostile


def test_a_name_that_is_not_utf_8_is_listed_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record("outputs", strict=True) as run:
        pass
    odd = os.fsdecode(os.fsencode(tmp_path / "outputs") + b"/odd-\xff\x1b")
    shutil.copytree(run.path, odd)
    tools = Tools()
    assert tools("list_records")["total"] == 2
    assert tools("verify_record", record=odd)["record"]["id"] == run.id


@pytest.mark.parametrize("word", ["outputs", "./outputs", "outputs/"])
@pytest.mark.usefixtures("project")
def test_a_store_is_no_record_and_the_error_says_so(word: str) -> None:
    error = Tools().error("verify_record", record=word)
    assert error["error"] == f"{word} is a store, not a record"
    assert "list_records" in error["hint"]
