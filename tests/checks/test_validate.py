"""Which documents are found at a path, and what is reported about those that cannot be read."""

import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checks import samples
from conftest import Put
from runcard.encoding import Limits
from runcard.errors import UsageError
from runcard.observe.process import this_process
from runcard.operations.checks.validate import CheckedDocument, summary, validate


def _found(folder: Path, kind: str | None = None) -> dict[str, CheckedDocument]:
    """What is found in a folder, by the path below it, in order."""
    results = list(validate(folder, kind=kind))
    found = {os.path.relpath(checked.path, folder): checked for checked in results}
    assert len(found) == len(results)
    return found


def _rules(checked: CheckedDocument) -> list[str]:
    return [found.rule for found in checked.report.findings]


def test_documents_of_every_kind_are_found_by_their_content(put: Put, tmp_path: Path) -> None:
    for kind, sample in samples.VALID.items():
        put(f"any/name-of-{kind}.json", sample())
    put("old/flat.json", samples.flat())
    found = _found(tmp_path)
    assert {name: checked.report.kind for name, checked in found.items()} == {
        **{f"any/name-of-{kind}.json": kind for kind in samples.VALID},
        "old/flat.json": "generation",
    }


def test_documents_are_reported_in_the_order_of_their_paths(put: Put, tmp_path: Path) -> None:
    names = ["Z.json", "a.json", "é.json", "b/a.json", "b/c/a.json", "d/a.json"]
    for name in reversed(names):
        put(name, samples.team())
    assert list(_found(tmp_path)) == names


def test_foreign_files_in_a_folder_are_passed_over(put: Put, tmp_path: Path) -> None:
    put("package.json", {"name": "x", "version": "1.0.0"})
    put("list.json", b"[1, 2]")
    put("broken.json", b"{not json")
    put("latin.json", "{'é".encode("latin-1"))
    put("team.yaml", samples.team())
    put("team.json.bak", samples.team())
    assert _rules(_found(tmp_path)["."]) == ["file.nothing-found"]
    put("team.json", samples.team())
    assert list(_found(tmp_path)) == ["team.json"]


def test_a_run_is_asked_for_its_own_document_only(put: Put, tmp_path: Path) -> None:
    put("outputs/2025-12-14_103000/metadata.json", samples.generation())
    for trap in ("metadata.json", "team.json", "personas/1.json", "personas/metadata.json"):
        put(f"outputs/2025-12-14_103000/outputs/{trap}", samples.broken_team())
    assert list(_found(tmp_path)) == ["outputs/2025-12-14_103000/metadata.json"]
    assert list(_found(tmp_path / "outputs" / "2025-12-14_103000")) == ["metadata.json"]


def _session(put: Put, name: str) -> None:
    """A session whose workspaces are full of traps."""
    put(f"{name}/metadata.json", samples.team())
    put(f"{name}/manifest.json", samples.manifest())
    put(f"{name}/other.json", samples.broken_team())
    for instance in ("lead", "writer"):
        put(f"{name}/instances/{instance}/metadata.json", samples.member_document(instance))
        for trap in ("metadata.json", "manifest.json", "deep/team.json", "instances/x/metadata.json"):
            put(f"{name}/instances/{instance}/workspace/{trap}", samples.broken_team())
        put(f"{name}/instances/{instance}/workspace/bad.json", b'{"execution_summary": {')
        put(f"{name}/instances/{instance}/notes.json", samples.broken_team())


_OWN = [
    "metadata.json",
    "manifest.json",
    "instances/lead/metadata.json",
    "instances/writer/metadata.json",
]


def test_a_session_is_asked_for_its_own_documents_and_its_workspaces_are_left_alone(
    put: Put, tmp_path: Path
) -> None:
    session = "artifacts/2025-11-06_14-32-45-docs-team-001"
    _session(put, session)
    found = _found(tmp_path)
    assert list(found) == [f"{session}/{own}" for own in _OWN]
    assert [checked.report.kind for checked in found.values()] == ["team", "manifest", "instance", "instance"]
    assert all(checked.report.valid for checked in found.values())


def test_an_instance_alone_is_asked_for_its_own_document(put: Put, tmp_path: Path) -> None:
    _session(put, "s")
    assert list(_found(tmp_path / "s" / "instances")) == ["lead/metadata.json", "writer/metadata.json"]
    assert list(_found(tmp_path / "s" / "instances" / "lead")) == ["metadata.json"]


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        (b"", "json.syntax"),
        (b'{"execution_summary": {', "json.syntax"),
        (b"\x00\x01\x02\xff", "encoding.utf-8"),
        (samples.written(samples.team())[:300], "json.syntax"),
    ],
    ids=["empty", "cut", "binary", "half"],
)
def test_a_session_with_a_damaged_document_is_reported_and_its_workspaces_are_left_alone(
    put: Put, tmp_path: Path, damage: bytes, rule: str
) -> None:
    _session(put, "s")
    put("s/metadata.json", damage)
    found = _found(tmp_path)
    assert list(found) == [f"s/{own}" for own in _OWN]
    assert _rules(found["s/metadata.json"]) == [rule]


def test_a_run_with_a_damaged_document_is_reported_and_its_outputs_are_left_alone(
    put: Put, tmp_path: Path
) -> None:
    put("run/metadata.json", b'{"metadata_version": "1.0", ')
    put("run/experiment.jsonl", b"")
    put("run/personas/1.json", samples.team())
    found = _found(tmp_path)
    assert list(found) == ["run/metadata.json"]
    assert _rules(found["run/metadata.json"]) == ["json.syntax"]


@pytest.mark.parametrize("name", ["metadata.json", "manifest.json"])
def test_a_damaged_file_with_a_records_name_is_reported_wherever_it_lies(
    put: Put, tmp_path: Path, name: str
) -> None:
    put(f"loose/{name}", b"garbage")
    put("loose/team.json", samples.team())
    found = _found(tmp_path)
    assert list(found) == sorted([f"loose/{name}", "loose/team.json"])
    assert _rules(found[f"loose/{name}"]) == ["json.syntax"]


@pytest.mark.parametrize("key", ["execution_summary", "metadata_version", "archived_runs"])
def test_a_damaged_document_of_another_name_is_told_by_its_keys(put: Put, tmp_path: Path, key: str) -> None:
    put("x.json", f'{{"{key}" : [1, 2'.encode())
    put("y.json", f'{{"a": "{key}" 1'.encode())
    assert list(_found(tmp_path)) == ["x.json"]


def test_a_foreign_file_called_metadata_is_passed_over(put: Put, tmp_path: Path) -> None:
    put("theirs/metadata.json", {"title": "a photograph"})
    put("theirs/inner/team.json", samples.team())
    assert list(_found(tmp_path)) == ["theirs/inner/team.json"]


def test_the_copies_and_the_index_of_an_archive_are_checked(put: Put, tmp_path: Path) -> None:
    put("archive/archive_index.json", samples.archive_index())
    put("archive/2025-11/x.metadata.json", samples.team())
    put("archive/2025-11/y.metadata.json", samples.broken_team())
    put("archive/2025-11/x.tar.gz", b"\x1f\x8b")
    found = _found(tmp_path)
    assert {name: (checked.report.kind, checked.report.valid) for name, checked in found.items()} == {
        "archive/archive_index.json": ("archive-index", True),
        "archive/2025-11/x.metadata.json": ("team", True),
        "archive/2025-11/y.metadata.json": ("team", False),
    }


def test_hidden_folders_are_passed_over_unless_they_are_named(put: Put, tmp_path: Path) -> None:
    put("seen/team.json", samples.team())
    put(".open/x/metadata.json", samples.team())
    put("seen/.runcard/team.json", samples.team())
    assert list(_found(tmp_path)) == ["seen/team.json"]
    assert list(_found(tmp_path / ".open")) == ["x/metadata.json"]


def test_links_in_a_folder_are_not_followed(put: Put) -> None:
    team = put("elsewhere/team.json", samples.team())
    folder = put("here/own.json", samples.team()).parent
    (folder / "link.json").symlink_to(team)
    (folder / "folder").symlink_to(team.parent)
    (folder / "loop").symlink_to(folder)
    run = put("here/run/other.json", samples.team()).parent
    (run / "metadata.json").symlink_to(team)
    assert list(_found(folder)) == ["own.json", "run/other.json"]


def test_a_link_that_is_named_is_followed(put: Put, tmp_path: Path) -> None:
    team = put("elsewhere/team.json", samples.team())
    (tmp_path / "file.json").symlink_to(team)
    (tmp_path / "folder").symlink_to(team.parent)
    results = list(validate(tmp_path / "file.json", tmp_path / "folder"))
    assert [checked.path for checked in results] == [
        f"{tmp_path}/file.json",
        f"{tmp_path}/folder/team.json",
    ]


def test_what_is_no_regular_file_in_a_folder_is_passed_over(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("team.json", samples.team())
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "folder.json").mkdir()
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.json")
        assert list(_found(tmp_path)) == ["team.json"]


def test_folders_may_be_nested_deeper_than_any_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
        Path("team.json").write_bytes(samples.written(samples.team()))
        assert list(_found(tmp_path)) == ["d/" * 1200 + "team.json"]
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # pytest could not


def test_in_a_folder_a_kind_judges_what_was_found_and_finds_nothing_more(put: Put, tmp_path: Path) -> None:
    _session(put, "s")
    put("package.json", {"name": "x"})
    put("damaged/metadata.json", b"{")
    found = _found(tmp_path, kind="manifest")
    assert list(found) == ["damaged/metadata.json", *(f"s/{own}" for own in _OWN)]
    assert found["s/manifest.json"].report.valid
    assert found["s/metadata.json"].report.kind == "manifest"
    assert not found["s/metadata.json"].report.valid


def test_a_kind_that_does_not_exist_is_the_callers_mistake_at_once() -> None:
    with pytest.raises(UsageError, match="no such kind: teem") as caught:
        validate("x", kind="teem")
    assert caught.value.hint == "one of archive-index, generation, instance, manifest, team, testplan"


def test_strict_turns_every_warning_into_an_error(put: Put) -> None:
    path = put("x.json", samples.running_team())
    (lenient,), (strict,) = list(validate(path)), list(validate(path, strict=True))
    assert (lenient.report.valid, strict.report.valid) == (True, False)
    assert _rules(lenient) == _rules(strict)


def test_limits_are_those_of_the_caller(put: Put) -> None:
    path = put("x.json", samples.team())
    (checked,) = validate(path, limits=Limits(depth=2))
    assert _rules(checked) == ["json.too-deep"]


def test_the_summary_of_nothing_is_not_valid() -> None:
    assert summary([]) == {"valid": False, "documents": []}


def test_the_summary_is_valid_when_all_documents_are(put: Put) -> None:
    good, bad = put("a.json", samples.running_team()), put("b.json", samples.broken_team())
    assert summary(validate(good, good))["valid"] is True
    assert summary(validate(good, bad))["valid"] is False


def test_a_name_that_is_not_utf_8_is_escaped_in_the_summary(tmp_path: Path) -> None:
    name = os.path.join(os.fsencode(tmp_path), b"a\xff.json")
    with open(name, "wb") as file:
        file.write(samples.written(samples.team()))
    (document,) = summary(validate(tmp_path))["documents"]
    assert document["path"] == f"{tmp_path}/a\\xff.json"


def test_a_file_that_vanishes_while_a_folder_is_read_is_passed_over(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.json", samples.team())
    gone = put("b.json", samples.team())
    scan = os.scandir

    def vanish(folder: str) -> object:
        entries = list(scan(folder))
        gone.unlink()
        return entries

    monkeypatch.setattr(os, "scandir", vanish)
    assert list(_found(tmp_path)) == ["a.json"]


def _refuse(monkeypatch: pytest.MonkeyPatch, call: str, refused: Path) -> None:
    """Let the system refuse a call for one path, as it does to an ordinary user."""
    real = getattr(os, call)

    def maybe(path: str, *arguments: object, **options: object) -> object:
        if path == str(refused):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, call, maybe)


def _refused(checked: CheckedDocument) -> None:
    (found,) = checked.report.errors
    assert (found.rule, found.message) == ("file.unreadable", "it cannot be read: Permission denied")
    assert found.hint


def test_a_folder_that_cannot_be_listed_is_reported_and_the_rest_is_checked(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a/team.json", samples.team())
    put("b/team.json", samples.team())
    _refuse(monkeypatch, "scandir", tmp_path / "a")
    found = _found(tmp_path)
    assert list(found) == ["a", "b/team.json"]
    _refused(found["a"])


def test_a_file_that_cannot_be_read_is_reported_although_nobody_knows_what_it_is(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = put("anything.json", b"")
    put("team.json", samples.team())
    _refuse(monkeypatch, "open", secret)
    found = _found(tmp_path)
    assert list(found) == ["anything.json", "team.json"]
    _refused(found["anything.json"])


def test_instances_that_cannot_be_listed_are_reported(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _session(put, "s")
    _refuse(monkeypatch, "listdir", tmp_path / "s" / "instances")
    found = _found(tmp_path)
    assert list(found) == ["s/metadata.json", "s/instances"]
    _refused(found["s/instances"])


def test_an_instance_that_nobody_may_look_at_is_reported(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _session(put, "s")
    hidden = tmp_path / "s" / "instances" / "lead" / "metadata.json"
    for call in ("lstat", "open"):
        _refuse(monkeypatch, call, hidden)
    found = _found(tmp_path)
    assert list(found) == [f"s/{own}" for own in _OWN]
    _refused(found["s/instances/lead/metadata.json"])


def _running(process: dict[str, Any]) -> samples.Fields:
    data = samples.generation()
    data["generation"] |= {"status": "running", "process": process}
    return data


def test_a_run_whose_process_is_gone_is_told_to_be_interrupted_and_nothing_is_written(put: Put) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    path = put("run/metadata.json", _running(this_process() | {"pid": ended.pid}))
    before = path.read_bytes()
    (checked,) = validate(path.parent)
    assert checked.report.valid
    assert [found.message for found in checked.report.warnings] == [
        "the run is interrupted: its process is gone"
    ]
    assert os.listdir(path.parent) == ["metadata.json"]
    assert path.read_bytes() == before


def test_a_run_of_another_host_is_not_judged_from_here(put: Put) -> None:
    path = put("run/metadata.json", _running(this_process() | {"host": "elsewhere", "boot_id": "other"}))
    (checked,) = validate(path)
    (warning,) = checked.report.warnings
    assert warning.message.startswith("the run is not closed: it runs on another host")


def test_a_run_that_is_running_is_a_warning(put: Put) -> None:
    for path in (put("run/metadata.json", _running(this_process())), put("copy.json", _running({}))):
        (checked,) = validate(path)
        assert [found.message for found in checked.report.warnings] == ["the run is not closed"]
