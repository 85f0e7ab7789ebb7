"""`runcard show`: a run on one screen, and what is known of it now."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import runcard
from checks import samples
from conftest import Cli, Put
from runcard.errors import StoreError
from runcard.operations.checks.show import show_run, status_now
from runcard.store import layout
from runs.runs import USAGE, copy_store, read, record_one

DIE = """
import os, sys, runcard
with runcard.record(sys.argv[1], strict=True) as run:
    (run.path / "half.txt").write_text("half")
    (run.path / "experiment.w-0001.jsonl").write_text("")
    os._exit(9)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed run and one whose process is gone, each in its store."""
    folder = tmp_path_factory.mktemp("show")
    record_one(folder / "outputs", labels={"team": "ux"}, parent="run-of-somebody")
    subprocess.run([sys.executable, "-c", DIE, folder / "left"], check=False, timeout=60)
    return folder


def only_run(store: Path) -> Path:
    (run,) = (path for path in store.iterdir() if path.name != ".runcard")
    return run


@pytest.fixture
def closed(made: Path, tmp_path: Path) -> Path:
    return only_run(copy_store(made / "outputs", tmp_path / "outputs"))


@pytest.fixture
def dead(made: Path, tmp_path: Path) -> Path:
    return only_run(copy_store(made / "left", tmp_path / "left"))


def test_a_typical_run_fits_on_one_screen(cli: Cli, closed: Path) -> None:
    done = cli("show", closed)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120
    generation = read(closed)["generation"]
    assert lines[0] == f"{generation['run_id']}  completed"
    for said in (
        f"  directory   {closed}",
        "  experiment  personas",
        f"  started     {generation['timestamp_start']}",
        "  labels      team=ux",
        "  related     parent run-of-somebody",
        "  total   $0.26694 (by the price table)",
        "  input   45,230",
        "  counts  reported by the vendor",
        "  notes.txt        10 B",
        "  personas/1.json  16 B",
    ):
        assert said in lines
    assert [line for line in lines if line and line[0] != " "][1:] == [
        "Configuration",
        "Cost",
        "Inputs",
        "Files",
    ]


def test_for_programs_there_is_the_whole_document(cli: Cli, closed: Path) -> None:
    done = cli("show", "--json", closed)
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)
    assert said["document"] == read(closed)
    assert (said["path"], said["status"], said["amendments"]) == (str(closed), "completed", [])
    assert said["files"] == [{"path": "notes.txt", "bytes": 10}, {"path": "personas/1.json", "bytes": 16}]


def test_the_path_may_be_that_of_the_document(
    cli: Cli, closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("show", closed / "metadata.json").out == cli("show", closed).out
    monkeypatch.chdir(closed)
    assert "  directory   .\n" in cli("show", "metadata.json").out


def test_a_run_whose_process_is_gone_is_interrupted(cli: Cli, dead: Path) -> None:
    before = (dead / "metadata.json").read_bytes()
    done = cli("show", dead)
    assert done.code == 2
    assert done.out.splitlines()[0].endswith("  interrupted")
    assert "  duration    unknown\n" in done.out
    assert done.err == (
        f"Warning: the run is not closed: its process is gone\n  hint: to close it: runcard close {dead}\n"
    )
    said = cli("show", "--json", dead)
    assert (said.code, json.loads(said.out)["status"]) == (2, "interrupted")
    assert json.loads(said.out)["document"]["generation"]["status"] == "running"
    assert [file["path"] for file in json.loads(said.out)["files"]] == ["half.txt"]  # no journals
    assert (dead / "metadata.json").read_bytes() == before


SPEND = """
import os, sys, runcard
with runcard.record(sys.argv[1], strict=True) as run:
    run.set_config(temperature=0.5)
    run.set_labels(team="ux")
    run.add_usage({"input": 1000, "output": 100}, model="claude-sonnet-4-5-20250929")
    run.add_error("the third reply was empty")
    os._exit(9)
"""


def spent(store: Path) -> Path:
    """A run that called a model, and whose process is gone."""
    subprocess.run([sys.executable, "-c", SPEND, store], check=False, timeout=60)
    return only_run(store)


def contents(run: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_an_open_run_is_shown_with_what_it_recorded_so_far(cli: Cli, tmp_path: Path) -> None:
    run = spent(tmp_path / "left")
    before = contents(tmp_path)
    done, data = cli("show", run), json.loads(cli("show", "--json", run).out)
    assert done.code == 2
    for line in (
        "  labels      team=ux",
        "  temperature  0.5",
        "Cost so far",
        "  total   ≥ $0.0045 (by the price table)",
        "  input   ≥ 1,000",
        "  error: the third reply was empty",
    ):
        assert line in done.out.splitlines()
    assert data["so_far"] is True
    assert data["document"]["costs"]["total_cost_usd"] == 0.0045
    assert data["document"]["generation"]["status"] == "running"
    assert data["document"]["generation"]["timestamp_end"] is None
    assert contents(tmp_path) == before
    cli("close", run)
    closed = json.loads(cli("show", "--json", run).out)
    assert closed["so_far"] is False
    for section in ("configuration", "costs", "token_usage", "errors"):
        assert data["document"][section] == closed["document"][section]


def test_an_unreadable_journal_leaves_what_was_known_at_the_start(cli: Cli, tmp_path: Path) -> None:
    run = spent(tmp_path / "left")
    Path(layout.open_mark(str(run))).unlink()  # a second name of the journal
    (journal,) = run.glob("*.jsonl")
    journal.unlink()
    journal.mkdir()
    done = cli("show", run)
    assert done.code == 2
    assert "there is no journal that can be read" in done.err
    assert "  no model calls recorded\n" in done.out


def test_a_journal_of_somebody_else_cannot_break_the_screen(cli: Cli, tmp_path: Path) -> None:
    run = spent(tmp_path / "left")
    (journal,) = run.glob("*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    call = next(line for line in lines if line["event"] == "model.called")
    call["payload"] |= {"tokens": {"input": "many", "output": [1]}, "cost_usd": {"a": 1}}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = cli("show", run)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "there is no journal that can be read" in done.err


def test_a_run_that_is_at_work_is_running(cli: Cli, tmp_path: Path) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as run:
        done = cli("show", run.path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == f"{run.id}  running"
    assert "took" not in done.out
    assert "  no model calls recorded\n" in done.out


def test_a_run_of_another_host_stays_running_with_a_warning(cli: Cli, dead: Path) -> None:
    document = read(dead)
    document["generation"]["process"]["host"] = "another-host"
    (dead / "metadata.json").write_text(json.dumps(document))
    done = cli("show", dead)
    assert done.code == 2
    assert done.out.splitlines()[0].endswith("  running")
    assert done.err == (
        "Warning: the run is not closed: it runs on another host, so its state cannot be checked from here\n"
    )


@pytest.mark.parametrize("process", [None, {}, {"pid": 2**22 + 1, "host": os.uname().nodename}])
def test_without_a_journal_the_process_decides(dead: Path, process: object) -> None:
    for path in (dead / "experiment.jsonl", *(dead.parent / ".runcard" / "open").iterdir()):
        path.unlink()
    document = read(dead)
    document["generation"]["process"] = process
    assert status_now(str(dead), document) == ("interrupted" if process else "running")


def test_a_journal_that_nobody_may_open_tells_nothing(dead: Path) -> None:
    """Then the process decides, and the command goes on."""
    for path in (dead / "experiment.jsonl", *(dead.parent / ".runcard" / "open").iterdir()):
        path.unlink()
    (dead / "experiment.jsonl").mkdir()
    assert show_run(dead).status == "interrupted"


def test_a_closed_run_says_that_its_end_was_estimated(cli: Cli, dead: Path) -> None:
    assert cli("close", dead).code == 0
    done = cli("show", dead)
    assert (done.code, done.err) == (0, "")
    assert " (estimated: the end was not observed)\n" in done.out


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("nowhere", "does not exist"),
        ("empty", "is not a record: it has no metadata.json"),
        ("file.txt", "is a file, not a record"),
    ],
)
@pytest.mark.parametrize(
    "command", [["show"], ["rerun"], ["archive"], ["amend", "note", "hi"]], ids=lambda c: c[0]
)
def test_what_is_no_record_is_an_error(
    cli: Cli, tmp_path: Path, command: list[str], name: str, what: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").touch()
    done = cli(command[0], tmp_path / name, *command[1:])
    assert (done.code, done.out) == (1, "")
    more = "; to list those of all folders: runcard ls" if name == "nowhere" else ""
    assert done.err == (
        f"Error: {tmp_path / name} {what}\n"
        f"  hint: name a record by its path, its id or the name of its directory{more}\n"
    )


def test_a_store_in_the_place_of_a_record_is_answered_with_one_of_its_records(cli: Cli, dead: Path) -> None:
    done = cli("show", dead.parent)
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(f"  hint: it holds records: name one of them, such as {dead}\n")


def test_what_wants_a_run_takes_no_session(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_bytes(samples.written(samples.team()))
    with pytest.raises(StoreError, match="is a session, not a run"):
        show_run(tmp_path)


def test_a_record_of_another_kind_is_an_error(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_bytes(samples.written(samples.instance()))
    done = cli("show", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(
        f"Error: {tmp_path} has a document of the kind instance: it is a part of a record\n"
    )


def test_a_broken_document_is_an_error(cli: Cli, closed: Path) -> None:
    (closed / "metadata.json").write_text("{")
    done = cli("show", closed)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")


def test_an_old_document_can_be_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text(
        json.dumps(
            {"generated_at": "2025-03-01T09:30:00Z", "model": "m", "provider": "p", "source_files": ["a.md"]}
        )
    )
    done = cli("show", tmp_path)
    assert done.code == 0
    assert done.out.splitlines()[0] == "a run without an id  unknown"
    assert "  a.md\n" in done.out


def test_a_document_of_a_newer_minor_version_is_shown_with_a_warning(cli: Cli, closed: Path) -> None:
    metadata = closed / "metadata.json"
    metadata.write_text(
        metadata.read_text().replace('"metadata_version": "1.0"', '"metadata_version": "1.7"')
    )
    done = cli("show", closed)
    assert done.code == 2
    assert done.out
    assert done.err.startswith("Warning: generation version 1.7 is newer than 1.0; it was read as 1.0\n")


def test_a_run_of_another_program_that_says_it_is_running_is_not_said_to_be_at_work(
    cli: Cli, put: Put
) -> None:
    document = samples.VALID["generation"]()
    document["generation"]["status"] = "running"
    run = put("run/metadata.json", document).parent
    for command in ("show", "verify", "validate"):
        done = cli(command, run)
        assert done.code == 2
        assert "the run is not closed: it is unknown whether it is still running" in (
            done.out if command == "verify" else done.err
        )


def test_a_readme_of_the_users_own_is_among_the_files(tmp_path: Path) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as run:
        (run.path / "README.md").write_text("# Mine\n")
    assert [path for path, _ in show_run(run.path).files] == ["README.md"]


def test_long_lists_are_cut(cli: Cli, tmp_path: Path) -> None:
    config = {f"setting_{number}": "x" * 300 for number in range(30)}
    with runcard.record(tmp_path / "outputs", config=config, strict=True) as run:
        for number in range(30):
            (run.path / f"file-{number:02}.txt").write_text("x")
            run.add_usage(USAGE | {"id": f"msg_{number}"}, step=f"step {number}")
            run.add_warning(f"warning {number}")
    done = cli("show", run.path)
    lines = done.out.splitlines()
    assert len(lines) <= 62
    assert max(map(len, lines)) <= 140
    assert sum("and 22 more" in line for line in lines) == 3
    assert sum("and 23 more" in line for line in lines) == 1  # the settings, with the model of the calls


def test_hostile_names_and_values_are_shown_escaped(cli: Cli, tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e\nline"
    with runcard.record(
        tmp_path / "outputs", config={evil: evil}, labels={"a": evil}, model=evil, strict=True
    ) as run:
        (run.path / evil).write_text("x")
        run.add_error(evil, type=evil)
        run.relate("commit", evil)
    done = cli("show", run.path)
    assert done.code == 0
    assert not set(done.out) & {"\x1b", "\u202e"}
    assert "\x1b" not in cli("show", "--json", run.path).out


def test_the_library_raises_what_the_command_prints(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a record") as raised:
        show_run(tmp_path)
    assert raised.value.hint
