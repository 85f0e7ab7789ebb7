"""Naming a record: every command finds it by its path, id, name, prefix or age, live or archived."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from files.unprivileged import NOBODY, everybodys_directory, without_rights
from runcard.errors import RuncardError, StoreError
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runcard.store import store_search
from runcard.store.find_record import AmbiguousRecordError, open_archive, open_record
from runcard.store.store_search import RecordMatch
from runs.rerun.projects import runcard as process
from sessions.collecting.teams import lay_out

COMMANDS: dict[str, list[str]] = {
    "show": ["show", "{}"],
    "log": ["log", "{}"],
    "verify": ["verify", "{}"],
    "validate": ["validate", "{}"],
    "amend": ["amend", "{}", "note", "seen"],
    "redact": ["redact", "{}", "--file", "notes.txt", "--reason", "x", "--yes"],
    "migrate": ["migrate", "{}"],
    "archive": ["archive", "{}"],
    "restore": ["restore", "{}", "--to", "elsewhere"],
    "extract": ["extract", "{}", "notes.txt", "--output", "elsewhere"],
    "export": ["export", "{}", "--to", "bundle", "--output", "bundle.tar.gz"],
    "rerun": ["rerun", "{}", "--yes"],
    "close": ["close", "{}"],
}
WORDS: dict[str, Callable[[Path], str]] = {
    "path": lambda run: f"outputs/{run.name}",
    "document": lambda run: f"outputs/{run.name}/metadata.json",
    "id": lambda run: run_id(run.name),
    "prefix": lambda run: run_id(run.name)[:-1],
    "name": lambda run: run.name,
    "latest": lambda _: "@latest",
    "latest of a store": lambda _: "outputs/@latest",
}
NEWER = "2026-01-03_101112"
NOT_LIVE = {"restore", "extract"}  # they need an archive
ids: dict[str, str] = {}


def run_id(name: str) -> str:
    return ids[name]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs of a command."""
    folder = tmp_path_factory.mktemp("two-runs")
    made: list[Path] = []
    for day in ("2026-01-02", "2026-01-03"):
        script = "echo out; echo note > $RUNCARD_RUN_DIR/notes.txt"
        done = process(folder, "run", "--quiet", "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        (new,) = [path for path in (folder / "outputs").glob("2*") if path not in made]
        moved = new.rename(new.with_name(f"{day}_101112"))
        ids[moved.name] = json.loads((moved / "metadata.json").read_bytes())["generation"]["run_id"]
        made.append(moved)
    shutil.rmtree(folder / "outputs" / ".runcard")  # whose ledger has the old names
    return folder / "outputs"


@pytest.fixture
def run(two_runs: Path, here: Path) -> Path:
    """Two runs of a command; the newer one."""
    shutil.copytree(two_runs, here / "outputs")
    return here / "outputs" / NEWER


@pytest.fixture
def shared(two_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody can read, with two runs in `outputs`, and root's ledgers in `artifacts`."""
    with everybodys_directory() as folder:
        monkeypatch.chdir(folder)
        shutil.copytree(two_runs, folder / "outputs")
        (folder / "artifacts" / ".runcard").mkdir(parents=True)
        open_record("@latest")  # loads what that needs
        (folder / "artifacts" / ".runcard").chmod(0o700)
        yield folder


@pytest.fixture(scope="module")
def stores(two_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The store with its newer run live, and one where it is archived."""
    archived = tmp_path_factory.mktemp("archived") / "outputs"
    shutil.copytree(two_runs, archived)
    archive(archived / NEWER, force=True)
    return {"live": two_runs, "archived": archived}


@pytest.mark.parametrize("state", ["live", "archived"])
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_finds_a_record_by_every_word(
    cli: Cli, stores: dict[str, Path], here: Path, command: str, word: str, state: str
) -> None:
    shutil.copytree(stores[state], here / "outputs")
    run = here / "outputs" / NEWER
    named = WORDS[word](run)
    done = cli(*(part.format(named) for part in COMMANDS[command]))
    if state == "live" and command in NOT_LIVE:
        assert (done.code, f"{run.name} is not archived" in done.err) == (1, True)
    elif state == "archived" and command == "close":
        assert (done.code, "is archived, so it is closed" in done.err) == (1, True)
    else:
        assert done.code in {0, 2}, done.err
        assert "does not exist" not in done.err


def test_the_one_before_the_latest_is_counted_over_live_and_archived_records(cli: Cli, run: Path) -> None:
    older = run.with_name("2026-01-02_101112")
    for _ in range(2):
        assert run_id(older.name) in cli("show", "@latest~1", "--json").out
        archive(older, force=True)
    archive(run, force=True)
    assert run_id(older.name) in cli("show", "@latest~1", "--json").out
    done = cli("show", "@latest~2")
    assert (done.code, "there are only 2 records in " in done.err) == (
        1,
        True,
    )


def test_a_run_that_is_open_is_found_by_its_id_and_as_the_latest(cli: Cli, here: Path) -> None:
    with runcard.record(here / "outputs", strict=True) as open_run:
        for word in (open_run.id, open_run.id[:12], open_run.path.name, "@latest"):
            assert cli("show", word, "--json").out.startswith("{")
            assert Path(open_record(word).path).resolve() == open_run.path.resolve()


def test_sessions_and_the_runs_of_experiments_are_found(cli: Cli, here: Path) -> None:
    (here / "team").mkdir()
    session = Path(runcard.collect(lay_out(here / "team"), artifacts=here / "artifacts").path)
    own = session.name[20:]
    assert [Path(open_record(word).path).name for word in (own, own[:5], session.name)] == [session.name] * 3
    (here / "experiments" / "x").mkdir(parents=True)
    with runcard.record(here / "experiments" / "x" / "outputs", strict=True) as made:
        pass
    assert Path(open_record(made.id).path).resolve() == made.path.resolve()
    assert open_record(own).kind == "session"
    assert (open_record(made.id).kind, open_record(made.id).id) == ("run", made.id)
    archive(session)
    assert (open_record(own).kind, open_record(own).id, open_record(own).is_archived) == (
        "session",
        own,
        True,
    )
    assert cli("validate", own).code in {0, 2}


@pytest.mark.usefixtures("run")
def test_messages_name_the_record_and_not_the_word(cli: Cli) -> None:
    path = "outputs/2026-01-03_101112"
    assert cli("amend", "@latest", "note", "x", "--by", "ada").out == f"{path}: note by ada: x\n"
    assert cli("redact", "@latest", "--file", "notes.txt", "--reason", "x", "--yes").out == (
        f"{path}/notes.txt: withheld\n"
    )
    archive(path, force=True)
    done = cli("close", "@latest")
    assert done.err.startswith(f"Error: outputs/archive/2026-01/{path[8:]}.tar.gz is archived")


def _started(run: str) -> str:
    return str(json.loads((Path(run) / "metadata.json").read_bytes())["generation"]["timestamp_start"])


@pytest.mark.usefixtures("run")
def test_several_matches_are_an_error_that_lists_them(cli: Cli) -> None:
    done = cli("show", "run-")
    assert done.code == 1
    assert done.err == (
        "Error: 2 records match run-\n"
        f"  outputs/2026-01-02_101112: started {_started('outputs/2026-01-02_101112')}, completed\n"
        f"  outputs/2026-01-03_101112: started {_started('outputs/2026-01-03_101112')}, completed\n"
        "  hint: name one by its path\n"
    )
    for command in ("validate", "verify"):
        err = cli(command, "run-").err
        assert all(f"outputs/2026-01-{day}_101112" in err for day in ("02", "03"))
    assert cli("archive", "run-").err == done.err
    with pytest.raises(AmbiguousRecordError):
        open_archive("run-")


def test_no_match_lists_similar_records_or_the_newest(cli: Cli, run: Path) -> None:
    assert "did you mean outputs/2026-01-03_101112" in cli("show", "2026-01-03_101113").err
    assert "the newest are outputs/2026-01-03_101112, outputs/2026-01-02_101112" in cli("show", "xyz").err
    assert cli("show", "2026").code == 1
    assert cli("show", run_id(run.name)[:3]).code == 1  # too short
    assert cli("show", "").err.startswith("Error: '' does not exist\n")


def test_hints_explain_words_that_are_nearly_right(cli: Cli, run: Path, here: Path) -> None:
    for word in ("@lates", "latest", "@LATEST", "@latest~x", "LATEST~1"):
        assert "hint: did you mean @latest?\n" in cli("show", word).err
    assert "hint: did you mean outputs/@latest?\n" in cli("show", "outputs/latest").err
    assert "hint: a prefix of an id needs at least 4 characters\n" in cli("show", "run").err
    (here / "experiments" / "moods").mkdir(parents=True)
    for word in ("moods", "experiments/moods"):
        assert "hint: moods is an experiment: runcard experiment show moods\n" in cli("show", word).err
    assert "hint: the oldest is @latest~1\n" in cli("show", "@latest~99").err
    assert "hint: the oldest is outputs/@latest~1\n" in cli("show", "outputs/@latest~99").err
    shutil.rmtree(run)
    assert "hint: the oldest is @latest\n" in cli("show", "@latest~1").err
    assert "; the newest is outputs/2026-01-02_101112\n" in cli("show", "xyz").err


def test_hints_say_what_to_do_about_a_record_that_has_not_what_is_asked_for(cli: Cli, here: Path) -> None:
    (here / "artifacts").mkdir()
    assert "hint: try: runcard ledger artifacts\n" in cli("ledger").err
    with runcard.record(here / "outputs", strict=True) as made:
        pass
    path = f"outputs/{made.path.name}"
    assert f"hint: nothing to restore: it is already in {path}\n" in cli("restore", made.id).err
    assert f"hint: copy the files from {path}\n" in cli("extract", made.id, "x").err
    assert cli("log", made.id).err == (
        f"Error: the run {path} has no output.log\n"
        "  hint: `runcard run` stores the output, `runcard.record` does not\n"
    )
    for command, missing in (("import-bundle", "no.tar.gz"), ("migrate", "no.json")):
        assert cli(command, missing).err == f"Error: {missing} does not exist\n  hint: check the path\n"


@pytest.mark.usefixtures("here")
def test_a_store_without_records_is_said(cli: Cli) -> None:
    assert "there are no records in ., outputs, artifacts" in cli("show", "@latest").err


def test_a_path_that_exists_wins(cli: Cli, run: Path, here: Path) -> None:
    shutil.copytree(run, here / run.name)
    assert open_record(run.name).path == run.name
    (here / "@latest").write_text("x")
    assert "is a file, not a record" in cli("show", "@latest").err


@pytest.mark.parametrize("command", ["show", "amend", "migrate", "archive", "rerun", "close", "export"])
def test_a_record_is_preferred_to_a_plain_directory_of_its_name(
    cli: Cli, run: Path, here: Path, command: str
) -> None:
    (here / run.name / "sub").mkdir(parents=True)
    done = cli(*(part.format(run.name) for part in COMMANDS[command]))
    assert (done.code in {0, 2}, "is not a record" in done.err) == (True, False), done.err
    (here / "plain").mkdir()
    done = cli(*(part.format("plain") for part in COMMANDS[command]))
    assert (done.code, "plain" in done.err) == (1, True)
    assert "plain is not a record: it has no metadata.json" in cli("show", "plain").err


def test_a_record_in_its_directory_and_in_an_archive_is_one_match_the_directory(run: Path) -> None:
    packed = archive(run, force=True).archive
    restore(packed)
    for word in (run.name, run_id(run.name), "@latest", run_id(run.name)[:-1]):
        assert Path(open_record(word).path).name == run.name
        if word != "@latest":
            assert open_archive(word).path.endswith(packed.name)


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_record_in_its_store_is_preferred_to_copies(cli: Cli, here: Path, *, is_closed: bool) -> None:
    with runcard.record(here / "outputs", strict=True) as older:
        pass
    with runcard.record(here / "outputs", strict=True) as made:
        if is_closed:
            made.finish()
        for copy in (here / "forged", here / "outputs" / "zzz"):
            shutil.copytree(made.path, copy)
        words = (made.id, made.id[:-1], "@latest")
        assert {Path(open_record(word).path).resolve() for word in words} == {made.path.resolve()}
        assert open_record("forged").path == "forged"
        assert open_record("@latest~1").id == older.id
        shutil.copytree(here / "outputs", here / "artifacts")
        assert all("2 records match" in cli("show", word).err for word in words)


def test_sessions_that_were_collected_again_are_different_records(here: Path) -> None:
    (here / "team").mkdir()
    session = Path(runcard.collect(lay_out(here / "team"), artifacts=here / "artifacts").path)
    again = session.with_name(f"2099{session.name[4:]}")
    shutil.copytree(session, again)
    shutil.copytree(session, here / "forged")
    assert [open_record(word).name for word in ("@latest", "@latest~1")] == [again.name, session.name]
    with pytest.raises(StoreError):
        open_record("@latest~2")


def worked(store: Path, session_id: str, day: int, hours: int = 1) -> str:
    """Collect a session whose work was in October; returns the name of its directory."""
    instance = {
        "name": "a",
        "status": "completed",
        "created_at": f"2025-10-{day:02}T10:00:00Z",
        "terminated_at": f"2025-10-{day:02}T{10 + hours}:00:00Z",
    }
    spec = {"team_session_id": session_id, "instances": [instance]}
    return runcard.collect(spec, artifacts=store, again=True).path.name


def test_the_latest_session_is_the_one_that_worked_last_whenever_it_was_collected(here: Path) -> None:
    store = here / "artifacts"
    names = {day: worked(store, f"team-{day:02}", day) for day in (5, 9, 1, 7)}
    by_work = [names[day] for day in (9, 7, 5, 1)]
    words = ("@latest", "@latest~1", "@latest~2", "@latest~3")
    assert [open_record(word).name for word in words] == by_work
    archive(store / names[9])
    archive(store / names[1], to=here / "kept")
    assert [open_record(word).name for word in words] == by_work
    with runcard.record(here / "outputs", strict=True) as run:
        pass
    assert open_record("@latest").id == run.id
    assert [open_record(f"@latest~{number}").name for number in (1, 2, 3, 4)] == by_work


def test_sessions_of_the_same_work_are_sorted_by_their_collection(here: Path) -> None:
    first, second = (worked(here / "artifacts", "team", 5) for _ in range(2))
    assert first < second
    assert [open_record(word).name for word in ("@latest", "@latest~1")] == [second, first]


def test_a_session_whose_document_cannot_be_read_has_the_time_in_its_name(here: Path) -> None:
    store = here / "artifacts"
    old, broken = worked(store, "one", 5), worked(store, "other", 1)
    document = store / broken / "metadata.json"
    document.write_text(document.read_text().replace('"total_instances": 1', '"total_instances": 7'))
    assert [open_record(word).name for word in ("@latest", "@latest~1")] == [broken, old]


def test_only_documents_of_sessions_that_may_be_the_latest_are_read(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = here / "artifacts"
    for number in range(6):
        spec = {"team_session_id": f"t-{number}", "instances": [{"name": "a", "status": "running"}]}
        spec["instances"][0]["created_at"] = "2025-10-01T10:00:00Z"  # type: ignore[index]
        session = runcard.collect(spec, artifacts=store).path
        session.rename(session.with_name(f"2026-01-0{number + 1}_10-00-00-t-{number}"))
    read: list[str] = []
    real = store_search._stated_time

    def noted(match: RecordMatch) -> datetime:
        read.append(match.name)
        return real(match)

    monkeypatch.setattr(store_search, "_stated_time", noted)
    assert open_record("artifacts/@latest").name == "2026-01-06_10-00-00-t-5"
    assert read == ["2026-01-06_10-00-00-t-5"]


def test_sessions_with_the_same_id_are_listed_with_their_times(here: Path, cli: Cli) -> None:
    """Two that are archived, and one that is not."""
    (here / "team").mkdir()
    spec = lay_out(here / "team")
    sessions = [runcard.collect(spec, artifacts=here / "artifacts", again=True) for _ in range(3)]
    packed = [archive(session.path).archive for session in sessions[:2]]
    paths = sorted(str(path.relative_to(here)) for path in (*packed, sessions[2].path))
    collected = {session.path.name: session.document.to_dict()["created_at"] for session in sessions}
    times = "worked 2025-11-06T14:00:00Z to 2025-11-06T14:32:00Z, collected"
    done = cli("show", "research-team-001")
    assert (done.code, done.out) == (1, "")
    message, *candidates, hint = done.err.splitlines()
    assert (message, hint) == ("Error: 3 records match research-team-001", "  hint: name one by its path")
    names = [Path(path).name.removesuffix(".tar.gz") for path in paths]
    assert candidates == [
        f"  {path}: {times} {collected[name]}" for path, name in zip(paths, names, strict=True)
    ]
    assert json.loads(cli("show", "research-team-001", "--json").out)["details"] == [
        candidate.strip() for candidate in candidates
    ]
    for command in ("verify", "validate"):  # whose findings are lines
        done = cli(command, "research-team-001")
        assert (done.code, [path in done.err for path in paths]) == (1, [True] * 3)
    for path in paths:
        assert cli("show", path).out.startswith("research-team-001  2 of 2 completed")
    packed[0].with_name(packed[0].name.replace(".tar.gz", ".metadata.json")).write_text("{")
    assert cli("show", "research-team-001").code == 1


def test_a_ledger_that_names_another_directory_is_not_believed(run: Path) -> None:
    """The document of a directory must have the id."""
    from runcard.store.ledger import CLOSED, Ledger  # noqa: PLC0415

    with Ledger(str(run.parent)) as ledger:
        payload = {"kind": "run", "id": "run-forged", "path": run.name, "sha256": "0" * 64, "time": "x"}
        ledger.append(CLOSED, "2026-01-01T00:00:00Z", payload)
        payload = payload | {"path": "../../etc", "archive": "../../../etc/passwd.tar.gz"}
        ledger.append(CLOSED, "2026-01-01T00:00:00Z", payload)
    with pytest.raises(StoreError, match="run-forged does not exist"):
        open_record("run-forged")
    assert Path(open_record(run.name).path).name == run.name


@pytest.mark.parametrize(
    "word", ["../outputs/x", "\x1b[31mred", "a\nb", "x" * 5000, "@latest~99999999999", "*"]
)
@pytest.mark.usefixtures("run")
def test_hostile_words_are_only_not_found(cli: Cli, word: str) -> None:
    done = cli("show", word)
    assert done.code == 1
    assert "\x1b" not in done.err
    assert done.err.count("\n") == 2


def test_hostile_names_are_printed_harmlessly(cli: Cli, run: Path) -> None:
    shutil.copytree(run, run.with_name("2026-01-03_101112\x1b[31m"))
    done = cli("show", "2026-01-03_10")
    assert (done.code, "\x1b" in done.err) == (1, False)


def test_an_unreadable_index_does_not_hide_a_directory(cli: Cli, run: Path) -> None:
    older = run.with_name("2026-01-02_101112")
    archive(older, force=True)
    (run.parent / "archive" / "archive_index.json").write_text("{")
    assert Path(open_record(run_id(run.name)).path).name == run.name
    assert "is damaged" in cli("show", older.name).err


def test_a_path_costs_no_search(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "scandir", None)
    assert open_record(run).id == run_id(run.name)


class TestWordsThatMustNotHitAnotherRecord:
    """Records are changed and deleted by these words: a near miss is an error."""

    def test_the_name_or_path_of_a_deleted_run_is_not_the_beginning_of_another(
        self, cli: Cli, run: Path
    ) -> None:
        shutil.copytree(run, run.with_name(f"{run.name}-2"))
        shutil.rmtree(run)
        for word in (run.name, f"outputs/{run.name}", str(run), f"{run}/metadata.json"):
            done = cli("amend", word, "note", "x")
            assert (done.code, "does not exist" in done.err) == (1, True)

    def test_the_id_of_a_deleted_session_is_not_the_beginning_of_another(self, cli: Cli, here: Path) -> None:
        kept = [_session(here, name) for name in ("team-1", "team-10")]
        shutil.rmtree(kept[0])
        assert cli("archive", "team-1").code == 1
        assert kept[1].is_dir()

    def test_a_folder_in_front_names_the_store_and_the_whole_name(self, cli: Cli, run: Path) -> None:
        for word in (
            f"./{run.name}",
            "./@latest",
            f"outputs/{run.name[:-2]}",
            f"outputs/{run_id(run.name)[:-1]}",
        ):
            assert cli("show", word).code == 1, word
        assert cli("show", f"outputs/{run_id(run.name)}").code == 0

    def test_an_index_or_a_name_with_the_id_of_another_record_is_not_believed(
        self, cli: Cli, run: Path
    ) -> None:
        older = run.with_name("2026-01-02_101112")
        shutil.copytree(older, run.with_name(run_id(run.name)))
        with pytest.raises(AmbiguousRecordError):
            open_record(run_id(run.name))
        shutil.rmtree(run.with_name(run_id(run.name)))
        archive(older, force=True)
        index = run.parent / "archive" / "archive_index.json"
        index.write_text(index.read_text().replace(run_id(older.name), run_id(run.name)))
        assert cli("amend", run_id(run.name), "tag", "x").code == 0
        assert (run / "amendments.jsonl").exists()

    def test_an_archive_that_a_ledger_gives_another_id_is_not_found_by_it(self, cli: Cli, here: Path) -> None:
        with runcard.record(here / "outputs", strict=True) as made:
            pass
        packed = archive(made.path, to=here / "kept").archive
        ledger = next((here / "outputs" / ".runcard").glob("ledger-*"))
        ledger.write_text(ledger.read_text().replace(made.id, "run-another"))
        assert cli("show", "run-another").code == 1
        assert cli("show", packed).code == 0

    def test_the_latest_may_be_archived_in_another_folder(self, here: Path) -> None:
        with runcard.record(here / "outputs", strict=True):
            pass
        with runcard.record(here / "outputs", strict=True) as newer:
            pass
        archive("@latest", to=here / "kept")
        assert open_record("@latest").id == newer.id

    def test_without_the_index_of_archives_a_prefix_and_the_latest_are_errors(
        self, cli: Cli, run: Path
    ) -> None:
        archive(run.with_name("2026-01-02_101112"), force=True)
        (run.parent / "archive" / "archive_index.json").write_text("{bad")
        for word in ("run-", "@latest", "@latest~1"):
            done = cli("amend", word, "tag", "x")
            assert (done.code, "archive_index.json" in done.err) == (1, True), done.err
        assert cli("show", run_id(run.name)).code == 0

    @pytest.mark.needs("root")
    def test_the_latest_beside_a_store_whose_ledgers_cannot_be_read(self, shared: Path) -> None:
        """Only archives that this user made count, and there are none in the ledgers of another user."""
        own = shared / "artifacts" / ".runcard"
        with without_rights():
            assert open_record("@latest").name == NEWER
            with pytest.raises(RuncardError, match=r"artifacts/\.runcard: Permission denied"):
                open_record(run_id(NEWER)[:-1])
        os.chown(own, NOBODY, -1)
        own.chmod(0)
        with (
            without_rights(),
            pytest.raises(StoreError, match=r"artifacts/\.runcard: Permission denied") as raised,
        ):
            open_record("@latest")
        assert "outputs/@latest" in str(raised.value.hint)
        with without_rights():
            assert open_record("outputs/@latest").name == NEWER
        own.rmdir()
        own.symlink_to("/")
        with without_rights(), pytest.raises(StoreError, match="symbolic link"):
            open_record("@latest")

    @pytest.mark.needs("root")
    def test_the_latest_is_unknown_beside_a_store_that_cannot_be_read(self, shared: Path) -> None:
        (shared / "artifacts").chmod(0)
        with without_rights(), pytest.raises(StoreError, match="which record is @latest is unknown"):
            open_record("@latest")

    @pytest.mark.usefixtures("run")
    def test_a_store_for_older_records_does_not_go_with_a_name(self, cli: Cli) -> None:
        done = cli("archive", "--outputs", "other", "@latest")
        assert (done.code, "other/@latest" in done.err) == (64, True)


def _session(here: Path, session_id: str) -> Path:
    agent = {"name": "a", "status": "completed", "created_at": "2025-11-06T14:00:00Z"}
    agent |= {"terminated_at": "2025-11-06T14:20:00Z"}
    spec = {"team_session_id": session_id, "instances": [agent]}
    return Path(runcard.collect(spec, artifacts=here / "artifacts").path)
