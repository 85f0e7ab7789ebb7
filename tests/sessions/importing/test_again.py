"""A session that is imported again: the same, grown, rewritten, amended, archived or damaged."""

import json
import os
import shutil
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runcard.operations.sessions.import_sessions import ImportProgress, import_sessions
from runcard.store.ledger import Ledger
from sessions.collecting.teams import team
from sessions.importing.claude_sessions import (
    ID,
    Session,
    assert_clean,
    calls_in,
    events,
    imported,
    ledger_lines,
    stored,
)
from transcripts.opencode_files import OpenCodeDatabase, text
from transcripts.session_files import read


@pytest.fixture
def session(here: Path) -> Session:
    return Session(here)


@pytest.fixture
def store(here: Path) -> Path:
    return here / "artifacts"


def test_the_same_session_is_not_stored_again(cli: Cli, session: Session, store: Path) -> None:
    first = imported(session, store)
    done = cli("import", "claude-code", session.project)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("0 sessions imported, 1 unchanged")
    assert (stored(store), events(store)) == ([first.path], ["record.closed"])
    assert_clean(store)


def test_a_session_that_grew_replaces_its_import(session: Session, store: Path) -> None:
    first = imported(session, store)
    session.grow(3)
    second = imported(session, store)
    assert (first.action, second.action, second.warnings) == ("imported", "replaced", ())
    assert stored(store) == [second.path]
    assert second.path is not None
    assert calls_in(second.path) == 4
    assert events(store) == ["record.closed", "record.closed", "record.reimported", "record.deleted"]
    closed, new, reimported, deleted = (line["payload"] for line in ledger_lines(store))
    assert (reimported["path"], reimported["sha256"]) == (second.path.name, new["sha256"])
    assert reimported["replaces"] == {"path": closed["path"], "sha256": closed["sha256"]}
    assert deleted["why"] == f"it was imported again as {second.path.name}"
    assert_clean(store)
    assert imported(session, store).action == "unchanged"


def test_the_ledger_and_verify_know_the_event(cli: Cli, session: Session, store: Path) -> None:
    first = imported(session, store).path
    session.grow()
    second = imported(session, store).path
    assert first is not None
    assert second is not None
    *_, reimported, deleted = cli("ledger", store).out.splitlines()
    assert f"reimported  session {second.name} ({ID}) replaces {first.name}" in reimported
    assert f"because it was imported again as {second.name}" in deleted
    done = cli("verify", store)
    assert (done.code, done.err) == (0, "")
    assert cli("verify", second).code == 0
    shutil.rmtree(second)
    done = cli("verify", store)
    assert (done.code, second.name in done.out + done.err, first.name in done.out + done.err) == (
        1,
        True,
        False,
    )


def test_the_name_of_a_replaced_import_leads_to_the_new_one(cli: Cli, session: Session, store: Path) -> None:
    first = newest = imported(session, store).path
    for _ in range(2):
        session.grow()
        newest = imported(session, store).path
    assert first is not None
    assert newest is not None
    for word in (first.name, f"artifacts/{first.name}", str(first)):
        done = cli("show", word)
        assert (done.code, newest.name in done.err.partition("hint: it was imported again: ")[2]) == (1, True)
    packed = archive(newest).archive
    assert packed.name in cli("show", first.name).err
    assert cli("prune", "--older-than", "0s", "--yes").code == 0
    assert "imported again" not in cli("show", first.name).err


def test_a_new_agent_is_growth(session: Session, store: Path) -> None:
    imported(session, store)
    session.grow(agent="a1")
    second = imported(session, store)
    assert second.action == "replaced"
    session.grow(agent="a1")
    third = imported(session, store)
    assert (third.action, stored(store)) == ("replaced", [third.path])
    assert third.path is not None
    assert calls_in(third.path) == 3
    assert_clean(store)


def rewrite(session: Session) -> None:
    session.main.write_bytes(session.main.read_bytes().replace(b"question 1", b"question X"))


def shrink(session: Session) -> None:
    session.main.write_bytes(b"".join(session.main.read_bytes().splitlines(keepends=True)[:-2]))


def lose(session: Session) -> None:
    (session.project / session.id / "subagents" / "agent-a1.jsonl").unlink()


CHANGES = {
    rewrite: f"the beginning of {ID}.jsonl was changed",
    shrink: f"{ID}.jsonl is shorter",
    lose: "agent-a1.jsonl is gone",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("grows", [True, False])
def test_a_session_that_was_rewritten_is_kept(
    cli: Cli, session: Session, store: Path, change: object, *, grows: bool
) -> None:
    session.grow(2)
    session.grow(agent="a1")
    first = imported(session, store)
    assert callable(change)
    change(session)
    if grows and change is not shrink:
        session.grow(2)
    done = cli("import", "claude-code", session.project)
    assert (done.code, done.out) == (2, "")
    summary, warning = done.err.splitlines()
    assert summary.startswith("0 sessions imported, 1 kept")
    assert CHANGES[change] in warning
    assert warning.endswith(f"{first.path} is kept; pass --again to store it beside that, as it is now")
    assert (stored(store), events(store)) == ([first.path], ["record.closed"])
    data = json.loads(cli("import", "claude-code", session.project, "--json").out)
    assert [(each["action"], each["path"]) for each in data["sessions"]] == [("kept", str(first.path))]
    again = imported(session, store, again=True)
    assert (again.action, stored(store)) == ("imported", [first.path, again.path])
    assert imported(session, store).path == again.path
    session.grow()
    newest = imported(session, store)
    assert (newest.action, stored(store)) == ("replaced", [first.path, newest.path])
    assert_clean(store)


def test_an_import_with_amendments_is_never_deleted(cli: Cli, session: Session, store: Path) -> None:
    first = imported(session, store)
    assert cli("amend", str(first.path), "note", "Seen.").code == 0
    assert imported(session, store).action == "unchanged"
    session.grow()
    kept = imported(session, store)
    assert (kept.action, kept.path) == ("kept", first.path)
    assert "its import has amendments" in kept.warnings[0]
    beside = imported(session, store, again=True)
    assert (beside.action, stored(store)) == ("imported", [first.path, beside.path])
    assert imported(session, store).path == beside.path
    session.grow()
    newest = imported(session, store)
    assert (newest.action, stored(store)) == ("replaced", [first.path, newest.path])
    assert "Seen." in cli("show", str(first.path)).out


@pytest.mark.parametrize("is_restored", [False, True])
def test_an_archived_import_is_compared_and_replaced(
    cli: Cli, session: Session, store: Path, *, is_restored: bool
) -> None:
    path = imported(session, store).path
    assert path is not None
    packed = archive(path).archive
    if is_restored:
        restore(packed)
    same = imported(session, store)
    assert (same.action, same.path) == ("unchanged", path if is_restored else packed)
    session.grow()
    second = imported(session, store)
    assert (second.action, second.warnings, stored(store)) == ("replaced", (), [second.path])
    assert [each.name for each in packed.parent.iterdir()] == []
    assert_clean(store)
    assert cli("show", ID).code == 0


def test_an_archive_with_amendments_is_kept(cli: Cli, session: Session, store: Path) -> None:
    packed = archive(str(imported(session, store).path)).archive
    assert cli("amend", packed, "note", "Seen.").code == 0
    session.grow()
    kept = imported(session, store)
    assert (kept.action, kept.path, stored(store)) == ("kept", packed, [packed])


def test_an_archive_in_another_folder_is_compared_and_left_alone(
    here: Path, session: Session, store: Path
) -> None:
    packed = archive(str(imported(session, store).path), to=here / "kept").archive
    same = imported(session, store)
    assert (same.action, same.path) == ("unchanged", packed)
    session.grow()
    second = imported(session, store)
    assert (second.action, second.warnings, stored(store)) == ("imported", (), [second.path])
    assert packed.is_file()
    session.grow()
    third = imported(session, store)
    assert (third.action, stored(store), packed.is_file()) == ("replaced", [third.path], True)


def test_a_damaged_import_does_not_count_and_is_not_deleted(session: Session, store: Path) -> None:
    first = imported(session, store).path
    assert first is not None
    (log,) = first.glob("instances/main/output.log")
    log.write_bytes(log.read_bytes() + b"forged\n")
    second = imported(session, store)
    assert (second.action, stored(store)) == ("imported", [first, second.path])
    session.grow()
    third = imported(session, store)
    assert (third.action, stored(store)) == ("replaced", [first, third.path])
    assert len(third.warnings) == 1
    assert third.warnings[0].startswith(
        f"{first}, an earlier import, was not deleted: instances/main/output.log"
    )
    unchanged = imported(session, store)
    assert (unchanged.action, unchanged.warnings, stored(store)) == ("unchanged", (), [first, third.path])


def test_a_damaged_import_is_stored_again_also_beside_one_that_is_kept(session: Session, store: Path) -> None:
    first = imported(session, store)
    rewrite(session)
    second = imported(session, store, again=True).path
    assert second is not None
    (second / "instances/main/output.log").write_bytes(b"forged\n")
    third = imported(session, store)
    assert (third.action, stored(store)) == ("imported", [first.path, second, third.path])


def test_without_a_ledger_and_with_a_forged_one_a_session_is_replaced(session: Session, store: Path) -> None:
    imported(session, store)
    shutil.rmtree(store / ".runcard")
    session.grow()
    assert imported(session, store).action == "replaced"
    far = f"9999-12-31_23-59-59-{ID}"
    with Ledger(str(store)) as ledger:
        payload = {"kind": "session", "id": ID, "path": far, "sha256": "0" * 64}
        ledger.append("record.deleted", "2026-11-02T10:00:00Z", payload)
    session.grow()
    (newest,) = [imported(session, store).path]
    assert stored(store) == [newest]
    assert newest is not None
    assert newest.name < "9"


def test_an_import_that_is_damaged_is_not_named_as_replaced(session: Session, store: Path) -> None:
    first = imported(session, store).path
    assert first is not None
    (first / "instances/main/output.log").write_bytes(b"forged\n")
    session.grow()
    second = imported(session, store)
    assert (second.action, len(second.warnings)) == ("imported", 1)
    assert events(store) == ["record.closed"] * 2


@pytest.mark.parametrize(
    ("before", "loss"),
    [
        ({"keep_secrets": True}, "only it was imported with --keep-secrets"),
        ({"workspaces": True}, "only it has a workspace"),
        ({}, f"only it has a copy of {ID}.jsonl"),
    ],
)
def test_an_import_that_has_more_than_the_new_one_is_not_deleted(
    here: Path,
    session: Session,
    store: Path,
    before: dict[str, bool],
    loss: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = here / "shop"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    session.main.write_bytes(session.main.read_bytes().replace(b"/home/u/shop", os.fsencode(folder)))
    first = imported(session, store, **before)
    assert first.action == "imported"
    if not before:
        monkeypatch.setenv("RUNCARD_NO_TRANSCRIPTS", "true")
    session.grow()
    second = imported(session, store)
    assert second.action == "imported"
    assert second.warnings == (f"{first.path}, an earlier import, was not deleted: {loss}",)
    assert (stored(store), events(store)) == ([first.path, second.path], ["record.closed"] * 2)
    assert imported(session, store).warnings == ()
    assert stored(store) == [first.path, second.path]


def test_a_session_that_was_moved_is_the_same(here: Path, session: Session, store: Path) -> None:
    session.grow(agent="a1")
    first = imported(session, store)
    shutil.move(here / ".claude", here / "backup")
    session.project = here / "backup" / session.project.relative_to(here / ".claude")
    session.main = session.project / session.main.name
    same = imported(session, store)
    assert (same.action, same.path) == ("unchanged", first.path)
    session.grow()
    kept = imported(session, store)
    assert kept.action == "kept"
    assert "is at another path" in kept.warnings[0]
    assert stored(store) == [first.path]


def test_sessions_of_other_origin_with_the_same_id_are_left_alone(session: Session, store: Path) -> None:
    instance = {"name": "a", "status": "completed", "created_at": "2026-10-02T10:00:00Z"}
    spec = team(instance | {"terminated_at": "2026-10-02T11:00:00Z"}) | {"team_session_id": ID}
    collected = runcard.collect(spec, artifacts=store).path
    first = imported(session, store)
    session.grow()
    second = imported(session, store)
    assert (first.action, second.action) == ("imported", "replaced")
    assert stored(store) == sorted([collected, *filter(None, [second.path])])


def test_sessions_in_documents_of_version_1_are_compared_as_well(session: Session, store: Path) -> None:
    first = imported(session, store, schema="1.0.0")
    assert imported(session, store, schema="1.0.0").action == "unchanged"
    assert imported(session, store).path == first.path
    session.grow()
    second = imported(session, store, schema="1.0.0")
    assert (second.action, stored(store)) == ("replaced", [second.path])
    rewrite(session)
    assert imported(session, store, schema="1.0.0").action == "kept"


def test_what_is_written_while_a_session_is_imported_is_imported_the_next_time(
    session: Session, store: Path
) -> None:
    def write(progress: ImportProgress) -> None:
        if progress.total_sessions and not progress.sessions and session.turns == 1:
            session.grow(2)  # the calls have been read, and nothing else

    first = import_sessions("claude-code", [session.project], artifacts=store, progress=write).sessions[0]
    assert first.path is not None
    assert calls_in(first.path) == 1
    second = imported(session, store)
    assert (second.action, stored(store)) == ("replaced", [second.path])
    assert second.path is not None
    assert calls_in(second.path) == 3
    assert len(read("claude-code", session.project).table) == 3


def test_what_is_written_to_a_database_while_it_is_imported_is_imported_the_next_time(
    here: Path, store: Path
) -> None:
    database = OpenCodeDatabase(here / "opencode")
    database.session("ses_1")
    database.message("m1", "ses_1", 1, text("one", 2), finish="stop")

    def write(progress: ImportProgress) -> None:
        if progress.total_sessions and not progress.sessions and not written:
            written.append(1)
            database.message("m2", "ses_1", 3, text("two", 4), finish="stop")

    written: list[int] = []
    (first,) = import_sessions("opencode", [database.path], artifacts=store, progress=write).sessions
    assert (first.action, written) == ("imported", [1])
    (second,) = import_sessions("opencode", [database.path], artifacts=store).sessions
    assert second.action == "replaced"
    assert second.path is not None
    assert calls_in(second.path) == 2
    assert import_sessions("opencode", [database.path], artifacts=store).sessions[0].action == "unchanged"


def test_only_what_is_new_is_imported(here: Path, store: Path) -> None:
    sessions = [Session(here, f"{number:08}-0000-4000-8000-000000000000") for number in range(5)]
    first = import_sessions("claude-code", [sessions[0].project], artifacts=store)
    assert [each.action for each in first.sessions] == ["imported"] * 5
    sessions[3].grow()
    Session(here, "99999999-0000-4000-8000-000000000000")
    second = import_sessions("claude-code", [sessions[0].project], artifacts=store)
    actions = {each.session[:8]: each.action for each in second.sessions}
    assert actions == {
        **{f"{number:08}": "unchanged" for number in (0, 1, 2, 4)},
        "00000003": "replaced",
        "99999999": "imported",
    }
    assert len(stored(store)) == 6
    assert_clean(store)


def test_a_session_whose_files_were_deleted_by_its_tool_stays_as_it_is(
    here: Path, session: Session, store: Path
) -> None:
    """Its calls are still in a session that was resumed from it."""
    first = imported(session, store)
    fork = Session(here, "77777777-0000-4000-8000-000000000000")
    fork.main.write_bytes(session.main.read_bytes() + fork.main.read_bytes())
    session.main.unlink()
    for _ in range(2):
        report = import_sessions("claude-code", [session.project], artifacts=store)
        assert {each.session: each.warnings for each in report.sessions} == {ID: (), fork.id: ()}
        actions = {each.session: (each.action, each.path) for each in report.sessions}
        assert actions[ID] == ("unchanged", first.path)
    assert len(stored(store)) == 2


def test_an_index_of_archives_that_cannot_be_read_stops_the_import(session: Session, store: Path) -> None:
    archive(str(imported(session, store).path))
    (store / "archive" / "archive_index.json").write_text("{")
    with pytest.raises(runcard.RuncardError):
        imported(session, store)
    assert len(stored(store)) == 1
