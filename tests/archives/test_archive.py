"""Archiving, restoring and taking files out, as a user does it."""

import json
import os
import shutil
import subprocess
import zlib
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from archives.records import archives, events, index, judged, make_run, make_session, state, unpacked
from conftest import Cli
from runcard.documents import reader
from runcard.documents.kinds import ARCHIVE_INDEX
from runcard.errors import StoreError
from runcard.operations.amendments.amend import amend
from runcard.operations.archives.archive import ChangedRecordError, archive
from runcard.operations.archives.extract import extract
from runcard.operations.archives.restore import restore
from runcard.operations.checks.measure import measure
from runcard.operations.checks.show import show_record
from runcard.store.archives import deflate, scan
from runcard.store.archives.index import ArchiveFolder
from sessions.build import team_document
from sessions.collecting.teams import instance, lay_out, team, write_spec


@pytest.fixture(params=["run", "session"])
def record(request: pytest.FixtureRequest) -> Path:
    made: Path = request.getfixturevalue(request.param)
    return made


def test_a_record_goes_into_an_archive_and_comes_back_as_it_was(record: Path, cli: Cli) -> None:
    store, before = record.parent, state(record)
    outcome = cli("archive", record)
    assert (outcome.code, outcome.err) == (0, "")
    assert not record.exists()
    (packed,) = archives(store)
    assert packed.parent.name == record.name[:7]
    assert (judged(store)["intact"], judged(store)["complete"], judged(store)["findings"]) == (True, True, [])
    assert judged(packed)["findings"] == judged(record)["findings"] == []
    outcome = cli("restore", packed)
    assert (outcome.code, outcome.out.strip()) == (0, str(record))
    assert state(record) == before
    assert packed.exists()
    assert judged(store)["findings"] == []
    assert events(store) == ["record.closed", "record.archived", "record.restored"]


def test_plain_tar_reads_an_archive(record: Path, here: Path) -> None:
    before = state(record)
    archive(record)
    (packed,) = archives(record.parent)
    assert state(unpacked(packed, here / "by-tar")) == before


def test_the_index_has_the_digests_of_the_file_and_of_its_stream(record: Path) -> None:
    size = sum(path.lstat().st_size for path in record.rglob("*") if path.is_file() and not path.is_symlink())
    archive(record)
    (packed,) = archives(record.parent)
    ((entry,),) = (value for key, value in index(record.parent).items() if key.startswith("archived_"))
    data = packed.read_bytes()
    stream = subprocess.run(["gzip", "-dc", packed], check=True, capture_output=True).stdout
    assert (entry["sha256"], entry["bytes"]) == (sha256(data).hexdigest(), len(data))
    assert entry["tar_sha256"] == sha256(stream).hexdigest()
    assert entry["uncompressed_bytes"] == size
    assert entry["archive_file"] == f"{record.name[:7]}/{record.name}.tar.gz"
    (checked,) = runcard.validate(record.parent / "archive" / "archive_index.json")
    assert checked.report.findings == ()


def test_the_same_record_always_gives_the_same_archive(record: Path, here: Path) -> None:
    shutil.copytree(record, here / "copy" / record.name, symlinks=True)
    archive(record)
    archive(here / "copy" / record.name)
    (first,), (second,) = archives(record.parent), archives(here / "copy")
    assert first.read_bytes() == second.read_bytes()


def test_the_metadata_document_can_be_read_and_shown_without_the_archive(record: Path, cli: Cli) -> None:
    document = (record / "metadata.json").read_bytes()
    archive(record)
    (packed,) = archives(record.parent)
    assert Path(str(packed).replace(".tar.gz", ".metadata.json")).read_bytes() == document
    packed.unlink()
    for word in (record, record.name):
        outcome = cli("show", word, "--json")
        assert (outcome.code, json.loads(outcome.out)["document"]) == (0, json.loads(document))
    assert cli("show", record).code == 0


def test_files_and_folders_come_out_alone(run: Path, here: Path, cli: Cli) -> None:
    before = {
        path: (run / path).read_bytes() for path in ("a.txt", "sub/b.txt", "large.bin", "metadata.json")
    }
    archive(run)
    outcome = cli("extract", run.name, *before, "-o", "out")
    assert outcome.out.split() == [f"out/{path}" for path in before]
    assert {path: (here / "out" / path).read_bytes() for path in before} == before
    assert cli("extract", run, "sub/", "latest", "--output", "more", "--json").code == 0
    assert sorted(path.name for path in (here / "more").rglob("*")) == ["b.txt", "latest", "sub"]
    again = cli("extract", run.name, "a.txt", "-o", "out")
    assert (again.code, again.out) == (1, "")
    assert cli("extract", run.name, "nowhere", "-o", "out").code == 1
    assert cli("extract", run.name, "../a.txt", "-o", "out").code == 64


def test_a_record_that_was_restored_and_is_gone_is_missed_also_by_its_name(record: Path, cli: Cli) -> None:
    archive(record)
    assert judged(record)["findings"] == []  # in its archive
    restore(archives(record.parent)[0])
    shutil.rmtree(record)
    assert cli("verify", record).code == 1
    for said in (judged(record), judged(record.parent)):
        assert [(found["kind"], found["record"]) for found in said["findings"]] == [("ledger", record.name)]
        assert (said["intact"], said["complete"], len(said["records"])) == (True, False, 1)


def test_showing_what_is_in_an_archive_writes_nothing(record: Path, here: Path, cli: Cli) -> None:
    amend(record, "note", "seen")
    archive(record)
    (packed,) = archives(record.parent)
    (here / "given").mkdir()
    shutil.copy(packed, here / "given" / "one.tar.gz")
    packed.with_name(packed.name.replace(".tar.gz", ".index.json")).unlink()
    before = state(here)
    for one in (packed, here / "given" / "one.tar.gz"):
        shown = json.loads(cli("show", one, "--json").out)
        assert [entry["text"] for entry in shown["amendments"]] == ["seen"]
    assert state(here) == before


@pytest.mark.parametrize("damage", ["missing", "corrupt", "stale"])
def test_an_index_of_places_that_is_no_good_is_made_again(run: Path, here: Path, damage: str) -> None:
    archive(run)
    (places,) = (run.parent / "archive").glob("*/*.index.json")
    good = places.read_bytes()
    if damage == "missing":
        places.unlink()
    else:
        places.write_bytes(b"{" if damage == "corrupt" else good.replace(b"[[0,", b"[[7,"))
    assert len(list(extract(run.name, ["z"], here / "out"))) == 1
    assert (here / "out" / "z").read_text() == "z"
    assert places.read_bytes() == good


def test_a_record_that_was_changed_is_not_archived(record: Path, cli: Cli) -> None:
    listed = next(path for path in sorted(record.rglob("*.md")) if path.is_file())
    listed.write_text("forged")
    outcome = cli("archive", record)
    assert outcome.code == 1
    assert f"{listed.relative_to(record)}: the file was changed" in outcome.err
    assert record.is_dir()
    assert archives(record.parent) == []
    with pytest.raises(ChangedRecordError) as caught:
        archive(record)
    assert [found.kind for found in caught.value.verdict.findings] == ["changed"]
    assert cli("archive", record, "--force").code == 0
    assert judged(*archives(record.parent))["findings"][0]["path"] == str(listed.relative_to(record))
    assert cli("restore", record.name).code == 1
    assert cli("restore", record, "--force").code == 0
    assert listed.read_text() == "forged"


def test_open_records_are_not_archived(here: Path, cli: Cli) -> None:
    with runcard.record(here / "outputs", model="m", provider="p") as run:
        assert "is not closed" in cli("archive", run.path).err
        assert (
            cli("archive", "--older-than", "0s").out == "nothing to archive: no closed record is that old\n"
        )
        assert Path(run.path).is_dir()
    assert cli("archive", "--older-than", "0s").code == 0
    assert not Path(run.path).exists()


def test_only_old_records_are_archived(here: Path, cli: Cli) -> None:
    run, session = make_run(here / "outputs"), make_session(here)
    assert cli("archive", "--older-than", "9999w").out == "nothing to archive: no closed record is that old\n"
    assert cli("archive").code == cli("archive", run, "--older-than", "1d").code == 64
    assert cli("archive", "--older-than", "soon").code == 64
    outcome = cli("archive", "--older-than", "0s", "--json")
    told = [entry["record"] for entry in json.loads(outcome.out)["archived"]]
    assert (sorted(told), outcome.code) == (sorted(map(str, (run, session))), 0)


def test_a_session_is_as_old_as_its_work(here: Path, cli: Cli) -> None:
    run, session = make_run(here / "outputs"), make_session(here)  # of November 2025, collected now
    assert cli("archive", "--older-than", "30d").code == 0
    assert (run.exists(), session.exists()) == (True, False)
    assert [path.parent.name for path in archives(here / "artifacts")] == [session.name[:7]]


def test_a_session_is_as_old_as_the_end_of_its_work(here: Path, cli: Cli) -> None:
    lay_out(here)
    long = instance(created_at="2025-11-06T14:00:00Z", terminated_at=f"{datetime.now(UTC):%FT%TZ}")
    running = {"name": "a", "status": "running", "created_at": "2025-11-06T14:00:00Z"}
    for each in (long, running):
        runcard.collect(write_spec(here, team(each)))
    assert cli("archive", "--older-than", "1d").out == "nothing to archive: no closed record is that old\n"


def test_a_session_without_a_summary_of_times_is_as_old_as_its_instances(here: Path, cli: Cli) -> None:
    """As another program may write it."""
    session = here / "artifacts" / "theirs"
    session.mkdir(parents=True)
    document = team_document()
    for name in ("execution_start", "execution_end"):
        del document["execution_summary"][name]
    document["created_at"] = f"{datetime.now(UTC):%FT%TZ}"
    (session / "metadata.json").write_text(json.dumps(document))
    assert "started    2025-11-06T14:00:00Z" in cli("show", session).out
    done = cli("archive", "--older-than", "30d", "--force")
    assert f"artifacts/archive/{datetime.now(UTC):%Y-%m}/theirs.tar.gz" in done.out


def test_a_dry_run_of_archiving_lists_and_writes_nothing(here: Path, cli: Cli) -> None:
    run, session = make_run(here / "outputs"), make_session(here)
    (here / "outputs/.runcard/archived-old").mkdir()
    before = state(here)
    month = session.name[:7]
    done = cli("archive", "--older-than", "0s", "--dry-run")
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].startswith(f"{session}: ")
    assert lines[0].endswith(f", to {here}/artifacts/archive/{month}/{session.name}.tar.gz")
    assert lines[1] == f"{run}: 3.2 MB, to {here}/outputs/archive/{month}/{run.name}.tar.gz"
    assert lines[2] == "2 to archive, 3.2 MB unpacked"
    data = json.loads(cli("archive", run, "--to", "elsewhere", "--dry-run", "--json").out)
    (planned,) = data.pop("candidates")
    size = sum(path.lstat().st_size for path in run.rglob("*") if path.is_file() and not path.is_symlink())
    assert data == {"dry_run": True, "bytes": size, "archived": []}
    assert planned == {
        "record": str(run),
        "archive": str(here / "elsewhere" / month / f"{run.name}.tar.gz"),
        "is_archived": False,
        "uncompressed_bytes": size,
        "findings": [],
    }
    assert cli("archive", "--older-than", "9999w", "--dry-run").out.startswith("nothing to archive")
    assert state(here) == before


def test_a_dry_run_of_archiving_ends_like_the_real_one(here: Path, cli: Cli) -> None:
    bad, kept = make_run(here / "outputs"), make_run(here / "outputs")
    archive(kept)
    (bad / "a.txt").write_text("forged")
    with runcard.record(here / "outputs", model="m", provider="p") as run:
        name = run.path.name

        def others() -> Any:  # the run itself is still written to
            return {path: facts for path, facts in state(here).items() if name not in path}

        for words in ([bad], [run.path], ["nothing"], [kept.name], [bad, kept.name]):
            before = others()
            planned = cli("archive", *words, "--dry-run")
            assert others() == before
            done = cli("archive", *words)
            assert (planned.code, planned.err) == (done.code, done.err)
        before = others()
        assert cli("archive", bad, "--force", "--dry-run").code == 0
        assert others() == before
    assert "already archived" in cli("archive", kept.name, "--dry-run").out
    Path(archives(bad.parent)[0]).rename(bad.parent / "archive" / bad.name[:7] / f"{bad.name}.tar.gz")
    clash = cli("archive", bad, "--force", "--dry-run")
    assert (clash.code, "exists already, as the archive of another record" in clash.err) == (1, True)


def test_archives_can_lie_elsewhere(record: Path, here: Path, cli: Cli) -> None:
    before = state(record)
    assert cli("archive", record, "--to", "elsewhere").code == 0
    (packed,) = (here / "elsewhere").glob("*/*.tar.gz")
    assert judged(record.parent)["complete"]
    assert cli("show", record).code == 0
    packed.rename(here / "away")
    assert [found["kind"] for found in judged(record.parent)["findings"]] == ["ledger", "limits"]
    (here / "away").rename(packed)
    assert cli("restore", packed).code == 0
    assert state(record) == before


def test_an_archive_from_another_machine_needs_a_place(record: Path, here: Path, cli: Cli) -> None:
    before = state(record)
    archive(record)
    (packed,) = archives(record.parent)
    shutil.copy(packed, here / "sent.tar.gz")
    assert judged(here / "sent.tar.gz")["findings"] == []
    assert cli("restore", "sent.tar.gz").code == 64
    assert cli("restore", "sent.tar.gz", "--to", "there").code == 0
    assert state(here / "there" / record.name) == before
    assert [path.name for path in (here / "there").iterdir()] == [record.name]
    assert judged(here / "there" / record.name)["findings"] == []


def test_nothing_is_overwritten(record: Path, cli: Cli) -> None:
    archive(record)
    record.mkdir()
    (record / "mine.txt").write_text("mine")
    assert "exists already" in cli("restore", record.name).err
    assert [path.name for path in record.iterdir()] == ["mine.txt"]


def test_archiving_again_replaces_an_archive_that_differs(record: Path, cli: Cli) -> None:
    archive(record)
    (packed,) = archives(record.parent)
    first = packed.read_bytes()
    restore(packed)
    assert "restored_at" in json.dumps(index(record.parent))
    archive(record)
    assert packed.read_bytes() == first
    assert "restored_at" not in json.dumps(index(record.parent))
    restore(packed)
    (record / "later.txt").write_text("later")
    assert cli("archive", record).code == 1
    assert packed.read_bytes() == first
    assert cli("archive", record, "--force").code == 0
    assert packed.read_bytes() != first
    assert len(archives(record.parent)) == 1


def test_an_archive_that_lost_all_that_lay_beside_it_is_still_known_as_that_of_its_record(
    record: Path,
) -> None:
    archive(record)
    (packed,) = archives(record.parent)
    for lost in (packed.parent.glob("*.json"), packed.parents[1].glob("*.json")):
        for path in lost:
            path.unlink()
    amend(packed, "note", "found again")
    assert not record.exists()
    assert judged(record.parent)["findings"] == []
    assert [entry.payload["text"] for entry in show_record(packed).amendments.entries] == ["found again"]


def test_unknown_fields_of_the_index_stay(here: Path) -> None:
    first, second = (make_run(here / "outputs") for _ in range(2))
    archive(first)
    file = here / "outputs" / "archive" / "archive_index.json"
    data = json.loads(file.read_bytes())
    data["note"] = "mine"
    data["archived_runs"][0]["shelf"] = 7
    file.write_text(json.dumps(data))
    archive(second)
    now = index(here / "outputs")
    assert (now["note"], now["archived_runs"][0]["shelf"], len(now["archived_runs"])) == ("mine", 7, 2)


def test_an_archive_of_another_record_is_never_replaced(here: Path, run: Path) -> None:
    """Such as one that has the same name in another store."""
    archive(run)
    (packed,) = archives(run.parent)
    other = make_run(here / "other")
    same = other.rename(run)
    before = packed.read_bytes()
    for force in (False, True):
        with pytest.raises(StoreError, match="as the archive of another record"):
            archive(same, force=force)
    assert (packed.read_bytes(), same.is_dir()) == (before, True)
    assert archive(same, to=here / "elsewhere", force=True).archive.is_file()


def test_a_run_does_not_take_the_name_of_one_that_is_archived(here: Path) -> None:
    names = set()
    for _ in range(20):  # many in a second
        with runcard.record(here / "outputs", strict=True) as run:
            pass
        names.add(run.path.name)
        archive(run.path)
    assert len(names) == len(archives(here / "outputs")) == 20
    assert judged(here / "outputs")["findings"] == []


def test_collections_in_one_second_are_archived_under_names_of_their_own(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFACTS_COMPRESS", "yes")
    spec = lay_out(here)
    results = [runcard.collect(spec, again=True) for _ in range(3)]
    assert [result.remarks for result in results] == [(), (), ()]
    assert len(archives(here / "artifacts")) == 3
    assert judged(here / "artifacts")["findings"] == []


@pytest.mark.parametrize("text", ["{", "[]", '{"archived_runs": [{"run_id": "a"}]}', '{"version": "9.0.0"}'])
def test_an_index_that_is_no_good_stops_the_work(run: Path, cli: Cli, text: str) -> None:
    folder = run.parent / "archive"
    folder.mkdir()
    (folder / "archive_index.json").write_text(text)
    outcome = cli("archive", run)
    assert (outcome.code, "archive_index.json is damaged" in outcome.err) == (1, True)
    assert run.is_dir()
    assert (folder / "archive_index.json").read_text() == text
    assert judged(run)["findings"] == []
    assert archives(run.parent) == []


def test_an_index_leads_nowhere_else(run: Path, here: Path, cli: Cli) -> None:
    """Names and places in an index that somebody else wrote."""
    other = make_run(here / "other")
    before = state(other)
    archive(run)
    path = run.parent / "archive" / "archive_index.json"
    data = index(run.parent)
    data["archived_runs"][0] |= {"run": f"../other/{other.name}", "store": str(here / "other")}
    path.write_text(json.dumps(data))
    (packed,) = archives(run.parent)
    assert cli("redact", packed, "--file", "a.txt", "--reason", "x", "--yes").code == 0
    assert state(other) == before
    assert (run.exists(), archives(run.parent)) == (False, [packed])
    assert cli("restore", packed).code == 0
    assert not (run / "a.txt").exists()


def test_a_folder_of_archives_is_verified_as_well(run: Path, session: Path, here: Path, cli: Cli) -> None:
    for record in (run, session):
        archive(record, to=here / "kept")
    verdict = judged(here / "kept")
    assert (len(verdict["records"]), verdict["findings"]) == (2, [])
    packed = next((here / "kept").glob("*/*team*.tar.gz"))
    packed.unlink()
    outcome = cli("verify", "kept")
    assert (outcome.code, packed.name in outcome.out) == (1, True)


def test_an_index_that_is_gone_is_made_again_from_the_archives(here: Path, cli: Cli) -> None:
    run, session, other = make_run(here / "outputs"), make_session(here), make_run(here / "outputs")
    for record in (run, session):
        archive(record)
        (record.parent / "archive" / "archive_index.json").unlink()
        assert cli("show", record.name).code == 0
        (lost,) = judged(record.parent)["findings"]
        assert (lost["kind"], lost["record"]) == ("missing", "archive/archive_index.json")
    archive(other)
    first, second = index(here / "outputs")["archived_runs"]
    assert (first["run"], second["run"], "sha256" in first) == (run.name, other.name, False)
    assert cli("restore", run.name).code == 0
    assert cli("restore", session.name).code == 0
    assert judged(here / "artifacts")["findings"] == []


def test_an_archived_record_is_shown_as_it_was(run: Path, session: Path, cli: Cli) -> None:
    """Wherever a record lies, its agents, their files and transcripts, and the files of a run can be looked at."""
    commands: list[tuple[str | Path, ...]] = [("log", run), ("log", session, "coordinator")]
    commands += [("show", session, "--instance", name, "--json") for name in ("coordinator", "researcher")]
    commands += [("show", run, "--json"), ("show", session, "--json")]
    before = [cli(*command) for command in commands]
    assert {one.code for one in before[1:]} == {0}
    assert before[0].code == 1  # nobody ran a command
    for record in (run, session):
        archive(record)
    for command, old in zip(commands, before, strict=True):
        by_name = cli(command[0], Path(command[1]).name, *command[2:])
        assert by_name.code == old.code
        if "--json" not in command:
            assert by_name.out == old.out
            continue
        was, now = json.loads(old.out), json.loads(by_name.out)
        assert f"{Path(command[1]).name}.tar.gz" in now["path"]
        assert {**now, "path": 0, "session": 0} == {**was, "path": 0, "session": 0}
    assert "large.bin" in cli("show", run.name).out


def test_a_transcript_that_is_damaged_in_the_archive_is_an_error(session: Path, cli: Cli) -> None:
    archive(session)
    (packed,) = archives(session.parent)
    raw = bytearray(packed.read_bytes())
    raw[len(raw) // 2] ^= 1
    packed.write_bytes(raw)
    outcome = cli("log", packed, "coordinator")
    assert outcome.code == 1
    assert "is not what was archived" in outcome.err
    assert cli("show", packed, "--instance", "nobody").code == 64


def test_a_file_with_holes_takes_no_room_when_it_comes_back(here: Path) -> None:
    with (
        runcard.record(here / "outputs", model="m", provider="p", strict=True) as made,
        open(made.path / "holes", "wb") as file,
    ):
        for place in (3_000_000, 20_000_000):
            file.seek(place)
            file.write(b"data")
        file.truncate(40_000_000)
    run = Path(made.path)
    digest = sha256((run / "holes").read_bytes()).hexdigest()
    archive(run)
    assert len(list(extract(run.name, ["holes"], here / "out"))) == 1
    restore(run.name)
    for copy in (run / "holes", here / "out" / "holes"):
        assert copy.stat().st_blocks * 512 < 1_000_000
        assert sha256(copy.read_bytes()).hexdigest() == digest
    assert judged(run)["findings"] == []


def test_archives_of_sessions_are_for_their_owner_alone(session: Path, run: Path) -> None:
    for record in (session, run):
        archive(record)
    paths = [session.parent / "archive", *(session.parent / "archive").rglob("*")]
    assert {path.stat().st_mode & 0o077 for path in paths} == {0}
    assert (run.parent / "archive").stat().st_mode & 0o777 == run.parent.stat().st_mode & 0o777


def test_a_session_may_be_called_like_an_archive(here: Path, cli: Cli) -> None:
    (here / "team").mkdir()
    spec = lay_out(here / "team")
    spec.write_text(spec.read_text().replace("research-team-001", "t.tar.gz"))
    session = Path(runcard.collect(spec, artifacts="artifacts").path)
    assert session.name.endswith("-t.tar.gz")
    assert cli("log", session, "coordinator").code == 0
    assert cli("redact", session, "--file", "summary.md", "--reason", "x", "--dry-run").code == 0
    archive(session)
    assert cli("log", session, "coordinator").code == 0
    assert cli("restore", session.name).code == 0
    (found,) = runcard.verify(session)
    assert (found.path, found.verdict.findings) == (str(session), ())


def test_amendments_of_an_archived_record_are_shown(run: Path, cli: Cli) -> None:
    assert cli("amend", run, "note", "a good one").code == 0
    archive(run)
    assert "a good one" in cli("show", run.name).out
    assert judged(run.parent)["findings"] == []


def test_without_isal_zlib_does_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no build of isal; archives of both kinds are read by both."""
    before = state(run)
    with monkeypatch.context() as patch:
        patch.setattr(deflate, "_fast", None)
        patch.setattr(deflate, "_DAMAGED", (zlib.error,))
        archive(run)
        assert judged(run.parent)["findings"] == []
    restore(run)
    assert state(run) == before


def test_what_another_program_packed_is_read_as_well(record: Path, here: Path, cli: Cli) -> None:
    before = state(record)
    subprocess.run(["tar", "czf", here / "x.tar.gz", "-C", record.parent, record.name], check=True)
    shutil.rmtree(record)
    assert judged(here / "x.tar.gz")["findings"] == []
    assert cli("extract", "x.tar.gz", "SHA256SUMS", "-o", "out").code == 0
    assert cli("restore", "x.tar.gz", "--to", "there").code == 0
    assert state(here / "there" / record.name) == before


def test_archives_and_an_index_that_another_program_made(session: Path, here: Path, cli: Cli) -> None:
    """The documented fields and nothing else: no digests, no copy of the document, plain `tar`."""
    before, name = state(session), session.name
    packed = here / "artifacts" / "archive" / "2025-11" / f"{name}.tar.gz"
    packed.parent.mkdir(parents=True)
    subprocess.run(["tar", "czf", packed, "-C", session.parent, name], check=True)
    shutil.rmtree(session)
    shutil.rmtree(session.parent / ".runcard")
    entry = {
        "team_session_id": "research-team-001",
        "archived_at": "2025-12-06T00:00:00Z",
        "archive_file": f"2025-11/{name}.tar.gz",
        "total_cost": 1.25,
        "instances_count": 2,
    }
    (packed.parent.parent / "archive_index.json").write_text(json.dumps({"archived_sessions": [entry]}))
    assert judged(session.parent)["findings"] == []
    assert cli("show", "research-team-001").code == 0
    assert cli("log", name, "researcher").out == "one\ntwo\n"
    assert "1 to delete" in cli("prune", "--older-than", "0s", "--dry-run").out
    assert cli("archive", session).out == f"already archived: {packed}\n"
    assert cli("restore", "research-team-001").code == 0
    assert state(session) == before
    assert index(session.parent)["archived_sessions"][0]["restored_at"]
    archive(session)
    assert judged(session.parent)["findings"] == []


def test_a_lost_copy_of_the_document_is_no_obstacle(record: Path, cli: Cli) -> None:
    before = state(record)
    archive(record)
    (copy,) = (record.parent / "archive").glob("*/*.metadata.json")
    copy.unlink()
    assert not judged(record.parent)["complete"]
    assert cli("show", record.name).code == 0
    assert cli("restore", record.name).code == 0
    assert state(record) == before


def test_the_copy_of_the_document_is_held_to_the_archive(run: Path) -> None:
    archive(run)
    (copy,) = (run.parent / "archive").glob("*/*.metadata.json")
    copy.write_bytes(copy.read_bytes().replace(b'"m"', b'"n"'))
    assert [(found["kind"], found["path"]) for found in judged(run.parent)["findings"]] == [
        ("changed", copy.name)
    ]
    copy.unlink()
    assert [(found["kind"], found["path"]) for found in judged(run.parent)["findings"]] == [
        ("missing", copy.name)
    ]


def test_a_fifo_that_came_later_is_a_change(run: Path, cli: Cli) -> None:
    os.mkfifo(run / "pipe")
    assert "pipe: neither a file nor a link" in cli("archive", run).err
    assert run.is_dir()


def test_a_run_with_more_files_than_any_archive_may_have_unseen_is_archived(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of checksums says how many there are, wherever it stands among them."""
    monkeypatch.setattr(scan, "MOST_MEMBERS", 100)
    monkeypatch.setattr(scan, "MORE_THAN_LISTED", 10)
    with runcard.record(here / "outputs", model="m", provider="p", strict=True) as run:
        for number in range(200):
            (run.path / f"{number:04}").touch()
    archive(run.path)
    (made,) = archives(here / "outputs")
    assert judged(made)["findings"] == []
    assert len(list(restore(made).path.iterdir())) > 200


def test_the_index_is_not_parsed_again_for_each_of_many_records(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets longer with each of them."""
    runs = [make_run(here / "outputs") for _ in range(3)]
    archive(runs[0])
    real, kinds = reader.load_document, []

    def load(data: bytes, **options: Any) -> Any:
        kinds.append(options.get("kind"))
        return real(data, **options)

    monkeypatch.setattr(reader, "load_document", load)
    for run in runs[1:]:
        archive(run)
    assert len(index(here / "outputs")["archived_runs"]) == 3
    assert ARCHIVE_INDEX.name not in kinds


def test_measuring_a_folder_of_archives_reads_its_index_once(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        archive(make_run(here / "outputs"))
    reads, real = [], ArchiveFolder._read

    def read(folder: ArchiveFolder) -> Any:
        reads.append(folder)
        return real(folder)

    monkeypatch.setattr(ArchiveFolder, "_read", read)
    assert measure([str(here / "outputs")]) > 9_000_000
    assert len(reads) == 1
