"""Bringing a document on disk to another version: what is written, and what is left alone."""

import difflib
import json
import os
import stat
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from checks import samples
from conftest import Put
from runcard.digests import sha256_bytes
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import KINDS
from runcard.documents.session.team import Team
from runcard.encoding import Limits
from runcard.errors import DocumentError, MachineError, StoreError, UsageError
from runcard.operations.amendments import migrate as operation
from runcard.operations.amendments.migrate import migrate
from runcard.operations.checks.validate import validate


def _changed_lines(before: bytes, after: bytes) -> tuple[list[str], list[str]]:
    lines = list(difflib.ndiff(before.decode().splitlines(), after.decode().splitlines()))
    return [x[2:].strip() for x in lines if x[0] == "-"], [x[2:].strip() for x in lines if x[0] == "+"]


@pytest.mark.parametrize(
    ("sample", "versions"),
    [
        (samples.team, {"version": "2.0.0"}),
        (samples.instance, {"version": "1.0.0", "format_version": "2.0.0"}),
    ],
)
def test_a_document_goes_up_and_down_again_and_has_its_old_bytes(
    put: Put, sample: Any, versions: dict[str, str]
) -> None:
    path = put("x.json", sample())
    original = path.read_bytes()
    up = migrate(path, "2.0.0", backup=False)
    data = json.loads(path.read_bytes())
    assert data.pop("origin") == {"version": "1.0.0", "sha256": sha256_bytes(original).hex}
    assert data == sample() | versions
    assert (up.dropped, up.notes) == ((), ())
    assert [checked.report.findings for checked in validate(path)] == [()]
    down = migrate(path, "1.0.0", backup=False)
    assert path.read_bytes() == original
    assert down.dropped == ("/origin",)


@pytest.mark.parametrize(
    "form",
    [
        lambda data: json.dumps(data, indent=2),
        lambda data: json.dumps(data, indent="\t") + "\n\n",
        lambda data: json.dumps(data, indent=4).replace("\n", "\r\n"),
        lambda data: json.dumps(data, separators=(",", ":")),
        lambda data: json.dumps(data).replace("0.25", "25e-2").replace("1920", "1.92E3"),
        lambda data: "\ufeff" + json.dumps(data, indent=2),
    ],
    ids=["indented", "tabs", "crlf", "dense", "numbers", "mark"],
)
def test_the_text_changes_only_where_it_must(put: Put, form: Any) -> None:
    before = form(samples.team()).encode()
    path = put("x.json", before)
    migrate(path, "2.0.0", backup=False)
    after = path.read_bytes()
    assert after.count(b"\r\n") - before.count(b"\r\n") == (4 if b"\r\n" in before else 0)
    head, tail = before.split(b"1.0.0")
    body, end = tail.rsplit(b"[]", 1)
    assert after.startswith(head + b"2.0.0" + body + b"[],")
    assert after.endswith(end)
    migrate(path, "1.0.0", backup=False)
    assert path.read_bytes() == before


def test_the_difference_touches_only_version_and_origin(put: Put) -> None:
    path = put("x.json", samples.team())
    moved = migrate(path, "2.0.0")
    gone, new = _changed_lines(moved.before, moved.after)
    assert gone == ['"version": "1.0.0",', '"errors": []']
    assert new[:3] == ['"version": "2.0.0",', '"errors": [],', '"origin": {']
    assert [line.partition(":")[0] for line in new[3:]] == ['"version"', '"sha256"', "}"]


def test_who_reads_the_old_document_meanwhile_reads_it_to_its_end(put: Put) -> None:
    path = put("x.json", samples.team())
    with path.open("rb", buffering=0) as reading:
        begun = reading.read(100)
        moved = migrate(path, "2.0.0", backup=False)
        assert begun + reading.read() == moved.before
    assert path.read_bytes() == moved.after


def test_unknown_fields_and_their_order_survive(put: Put) -> None:
    data = {"x-first": 1, **samples.team(), "x-last": {"b": [1.50, None], "a": "é"}}
    data["instances"][0]["x-inner"] = True
    path = put("x.json", data)
    migrate(path, "2.0.0")
    after = json.loads(path.read_bytes())
    assert [*after] == [*data, "origin"]
    assert after["x-last"] == data["x-last"]
    assert after["instances"] == data["instances"]


def test_what_the_older_version_has_no_room_for_is_dropped_and_told(put: Put) -> None:
    path = put("x.json", samples.rich_team())
    moved = migrate(path, "1.0.0")
    assert moved.dropped == ("/labels", "/instances/1/token_source", "/execution_summary/known_cost")
    assert json.loads(path.read_bytes()) == samples.team()


@pytest.mark.parametrize("sample", [samples.flat, samples.flat_0_1_0])
def test_an_older_shape_becomes_a_run_and_says_where_it_came_from(put: Put, sample: Any) -> None:
    path = put("x.json", sample())
    before = path.read_bytes()
    moved = migrate(path, "1.0", zone=ZoneInfo("Europe/Berlin"))
    data = json.loads(path.read_bytes())
    assert moved.notes == ()
    assert data["generation"]["timestamp_end"] == "2024-05-01T08:00:00Z"
    assert data["origin"] == {"version": sample().get("version"), "sha256": sha256_bytes(before).hex}
    assert [checked.report.findings for checked in validate(path)] == [()]


def test_a_time_without_a_zone_becomes_null_and_its_text_is_kept(put: Put) -> None:
    path = put("x.json", samples.flat())
    moved = migrate(path, "1.0")
    data = json.loads(path.read_bytes())
    assert len(moved.notes) == 1
    assert data["generation"]["timestamp_end"] is None
    assert data["legacy"] == {"generated_at": "2024-05-01T10:00:00"}


def test_a_zone_does_not_change_a_time_that_has_one(put: Put) -> None:
    path = put("x.json", samples.flat() | {"generated_at": "2024-05-01T10:00:00+02:00"})
    migrate(path, "1.0", zone=UTC)
    assert json.loads(path.read_bytes())["generation"]["timestamp_end"] == "2024-05-01T08:00:00Z"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_the_old_bytes_and_the_mode_are_kept(put: Put, mode: int) -> None:
    path = put("x.json", samples.team())
    path.chmod(mode)
    before = path.read_bytes()
    moved = migrate(path, "2.0.0")
    kept = Path(str(moved.backup))
    assert kept == path.with_name("x.json.bak")
    assert kept.read_bytes() == before
    assert [stat.S_IMODE(file.stat().st_mode) for file in (path, kept)] == [mode, mode]


def test_a_backup_is_never_overwritten(put: Put) -> None:
    path, mine = put("x.json", samples.team()), put("x.json.bak", b"mine")
    taken = [path.with_name(f"x.json.bak.{number}") for number in range(2, 6)]
    taken[0].symlink_to("nowhere")
    taken[1].symlink_to("x.json")
    taken[2].mkdir()
    os.mkfifo(taken[3])
    assert migrate(path, "2.0.0").backup == f"{path}.bak.6"
    assert mine.read_bytes() == b"mine"
    assert not path.with_name("nowhere").exists()
    assert taken[1].is_symlink()
    assert migrate(path, "1.0.0").backup == f"{path}.bak.7"


def test_bytes_that_are_kept_already_are_not_kept_twice(put: Put) -> None:
    path, kept = put("x.json", samples.team()), put("x.json.bak", samples.team())
    assert migrate(path, "2.0.0").backup == str(kept)
    assert sorted(os.listdir(path.parent)) == ["x.json", "x.json.bak"]


def test_a_backup_that_cannot_be_read_is_left_alone(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("x.json", samples.team())
    put("x.json.bak", samples.team())

    def refused(name: str) -> int:
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(operation, "open_regular", refused)
    assert migrate(path, "2.0.0").backup == f"{path}.bak.2"


def test_without_backup_nothing_but_the_document_is_left(put: Put) -> None:
    path = put("x.json", samples.team())
    assert migrate(path, "2.0.0", backup=False).backup is None
    assert os.listdir(path.parent) == ["x.json"]


def test_a_dry_run_gives_the_result_and_writes_nothing(put: Put) -> None:
    path = put("x.json", samples.team())
    before = path.stat()
    moved = migrate(path, "2.0.0", dry_run=True)
    assert (moved.changed, moved.written, moved.backup) == (True, None, None)
    assert json.loads(moved.after)["version"] == "2.0.0"
    assert os.listdir(path.parent) == ["x.json"]
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_nothing_is_written_for_a_document_that_has_the_version(put: Put) -> None:
    path = put("x.json", samples.team())
    before = path.stat()
    moved = migrate(path, "1.0.0")
    assert (moved.changed, moved.written, moved.backup) == (False, None, None)
    assert os.listdir(path.parent) == ["x.json"]
    assert path.stat().st_ino == before.st_ino


def test_output_takes_a_name_that_is_free(put: Put, tmp_path: Path) -> None:
    path, new = put("x.json", samples.team()), tmp_path / "new.json"
    moved = migrate(path, "2.0.0", output=new)
    assert (moved.written, moved.backup) == (str(new), None)
    assert new.read_bytes() == moved.after
    assert path.read_bytes() == moved.before
    with pytest.raises(StoreError, match="exists already"):
        migrate(path, "2.0.0", output=new)
    with pytest.raises(StoreError, match="exists already"):
        migrate(path, "2.0.0", output=path)
    (tmp_path / "link.json").symlink_to("nowhere")
    with pytest.raises(StoreError, match="exists already"):
        migrate(path, "2.0.0", output=tmp_path / "link.json")
    assert not (tmp_path / "nowhere").exists()


def test_output_into_a_folder_that_does_not_exist_is_an_error(put: Put, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot write .*/nowhere/new\.json: No such file"):
        migrate(put("x.json", samples.team()), "2.0.0", output=tmp_path / "nowhere" / "new.json")


def test_output_to_a_dash_gives_the_bytes_to_the_caller(put: Put) -> None:
    path = put("x.json", samples.team())
    moved = migrate(path, "2.0.0", output="-")
    assert (moved.changed, moved.written) == (True, None)
    assert os.listdir(path.parent) == ["x.json"]


def test_an_invalid_document_is_refused_with_everything_that_was_found(put: Put) -> None:
    path = put("x.json", samples.broken_team())
    with pytest.raises(InvalidDocument) as caught:
        migrate(path, "2.0.0")
    assert len(caught.value.report.errors) == 3
    assert os.listdir(path.parent) == ["x.json"]
    assert path.read_bytes() == samples.written(samples.broken_team())


def test_a_newer_minor_version_is_not_rewritten(put: Put) -> None:
    path = put("x.json", samples.newer_minor_team())
    with pytest.raises(DocumentError, match=r"has version 2\.7\.0, which is newer than this runcard"):
        migrate(path, "1.0.0")
    assert path.read_bytes() == samples.written(samples.newer_minor_team())


def test_a_newer_major_version_is_refused(put: Put) -> None:
    with pytest.raises(InvalidDocument) as caught:
        migrate(put("x.json", samples.team() | {"version": "3.0.0"}), "1.0.0")
    assert [found.rule for found in caught.value.report.errors] == ["version.newer-major"]


@pytest.mark.parametrize("kind", samples.VALID)
def test_a_version_that_the_kind_never_had_is_the_callers_mistake(put: Put, kind: str) -> None:
    path = put("x.json", samples.VALID[kind]())
    with pytest.raises(UsageError, match=f"there is no {kind} version 9") as caught:
        migrate(path, "9")
    assert caught.value.hint == f"published: {', '.join(KINDS[kind].versions)}"


def test_a_kind_that_does_not_exist_is_the_callers_mistake(put: Put) -> None:
    with pytest.raises(UsageError, match="no such kind: teem"):
        migrate(put("x.json", samples.team()), "2.0.0", kind="teem")


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("name", ["instances/a/metadata.json", "outputs/team.json"])
def test_a_document_that_a_closed_record_does_not_know_is_not_changed(
    put: Put, name: str, *, dry_run: bool
) -> None:
    put("record/metadata.json", samples.team())
    put("record/SHA256SUMS", b"")
    path = put(f"record/{name}", samples.team())
    with pytest.raises(StoreError, match="is not what it was when the record was closed") as caught:
        migrate(path, "2.0.0", dry_run=dry_run)
    assert "write the migrated document to another file with --output" in str(caught.value.hint)
    assert path.read_bytes() == samples.written(samples.team())


def test_the_document_of_a_closed_record_is_amended_and_its_old_bytes_are_kept(
    put: Put, tmp_path: Path
) -> None:
    path = put("record/metadata.json", samples.team())
    put("record/SHA256SUMS", b"")
    done = migrate(path, "2.0.0")
    assert done.written == str(path)
    assert done.backup is not None
    assert Path(done.backup).parent == tmp_path / ".runcard" / "originals"
    assert Path(done.backup).read_bytes() == samples.written(samples.team())
    assert json.loads(path.read_bytes())["version"] == "2.0.0"
    assert (path.parent / "amendments.jsonl").is_file()
    assert not list(path.parent.glob("*.bak*"))


def test_a_document_in_a_closed_record_can_be_migrated_to_elsewhere(put: Put, tmp_path: Path) -> None:
    path = put("record/metadata.json", samples.team())
    put("record/SHA256SUMS", b"")
    migrate(path, "2.0.0", output=tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_bytes())["version"] == "2.0.0"
    assert migrate(path, "2.0.0", output="-").changed


def test_a_link_into_a_closed_record_amends_the_record(put: Put, tmp_path: Path) -> None:
    path = put("record/metadata.json", samples.team())
    put("record/SHA256SUMS", b"")
    (tmp_path / "link.json").symlink_to(path)
    assert migrate(tmp_path / "link.json", "2.0.0").changed
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(path.read_bytes())["version"] == "2.0.0"
    assert (path.parent / "amendments.jsonl").is_file()


def test_a_link_stays_a_link_and_what_it_points_to_is_replaced(put: Put, tmp_path: Path) -> None:
    path = put("elsewhere/team.json", samples.team())
    link = tmp_path / "link.json"
    link.symlink_to("elsewhere/team.json")
    moved = migrate(link, "2.0.0")
    assert os.readlink(link) == "elsewhere/team.json"
    assert json.loads(path.read_bytes())["version"] == "2.0.0"
    assert moved.backup == f"{link}.bak"


def test_a_missing_document_is_an_error_that_names_it(tmp_path: Path) -> None:
    for name in ("nothing.json", "no/folder.json"):
        with pytest.raises(StoreError, match=f"{name} does not exist"):
            migrate(tmp_path / name, "2.0.0")


def test_what_is_no_regular_file_is_not_rewritten(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", Path("/dev/null")):
        with pytest.raises(StoreError, match=f"{path} is not a regular file"):
            migrate(path, "2.0.0")


def test_a_name_that_has_no_room_for_a_backup_is_an_error_and_nothing_is_written(put: Put) -> None:
    path = put("x" * 250 + ".json", samples.team())
    with pytest.raises(StoreError, match="File name too long"):
        migrate(path, "2.0.0")
    assert path.read_bytes() == samples.written(samples.team())
    assert os.listdir(path.parent) == [path.name]
    assert migrate(path, "2.0.0", backup=False).changed


def test_a_disk_that_fails_leaves_the_old_document(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("x.json", samples.team())

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(operation, "write_atomic", full)
    with pytest.raises(MachineError, match=r"cannot rewrite .*x\.json: No space left on device"):
        migrate(path, "2.0.0")
    assert path.read_bytes() == samples.written(samples.team())


def test_a_result_that_is_not_valid_is_never_written(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("x.json", samples.team())
    monkeypatch.setattr(Team, "edit", lambda *_: samples.written(samples.broken_team()))
    with pytest.raises(InvalidDocument, match=r"what .*x\.json would become is not valid"):
        migrate(path, "2.0.0")
    assert os.listdir(path.parent) == ["x.json"]
    assert path.read_bytes() == samples.written(samples.team())


def test_limits_are_those_of_the_caller(put: Put) -> None:
    with pytest.raises(InvalidDocument):
        migrate(put("x.json", samples.team()), "2.0.0", limits=Limits(depth=2))


def test_names_that_are_not_utf_8_are_escaped_in_the_report(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"a\xff.json")
    with open(path, "wb") as file:
        file.write(samples.written(samples.team()))
    said = migrate(os.fsdecode(path), "2.0.0").to_dict()
    assert said["path"] == said["written"] == f"{tmp_path}/a\\xff.json"
    assert said["backup"] == f"{tmp_path}/a\\xff.json.bak"
