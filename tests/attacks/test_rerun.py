"""`runcard rerun` of a record that somebody else made, or changed: nothing runs before the user has agreed."""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attacks import command_server
from runcard.documents.chain import write_line
from runs.rerun.projects import make_project, record
from runs.runs import read

CANARY = "canary.txt"
KEY = "sk-ant-" + "api03-" + "Zq8vJ2mX7tLw4RbN9cKd3HfG6pSyE1uA"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_project(tmp_path / "project")
    return tmp_path / "project"


def strangers(home: Path) -> dict[str, str]:
    """The environment of another user of a machine with the same name."""
    return {"XDG_STATE_HOME": str(home / "stranger" / "state")}


def runcard(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return command_server.runcard(folder, *arguments, variables=variables)


def record_command(folder: Path, *arguments: str, **variables: str) -> Path:
    """Run `runcard run` with these arguments; the directory of the run."""
    done = runcard(folder, "run", *arguments, **variables)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("runcard: ")]
    return Path(line.removeprefix("runcard: "))


def refused(folder: Path, run: Path) -> None:
    """The command is shown, an error says how to go on, and nothing ran."""
    before = sorted(folder.rglob("*"))
    done = runcard(folder, "rerun", str(run))
    assert (done.returncode, done.stdout) == (64, ""), done.stderr
    lines = done.stderr.splitlines()
    assert any(line.startswith("runcard: command: ") for line in lines)
    assert "there is no terminal to confirm on" in done.stderr
    assert lines[-1] == "  hint: read the command; to run it, pass --yes"
    assert sorted(folder.rglob("*")) == before


def edit(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = read(run)
    change(document)
    (run / "metadata.json").write_text(json.dumps(document, indent=2) + "\n")


def test_a_record_whose_command_was_changed_is_not_run(project: Path) -> None:
    run = record(project)
    edit(run, lambda document: document["generation"].update(command=["touch", CANARY]))
    refused(project, run)
    assert not (project / CANARY).exists()


def test_a_changed_record_that_the_user_agrees_to_is_run_with_a_warning(project: Path) -> None:
    run = record(project)
    (run / "same.txt").write_text("forged\n")
    done = runcard(project, "rerun", "--yes", str(run))
    assert done.returncode == 2
    assert f"Warning: {run} fails verification: same.txt: the file was changed\n" in done.stderr


def test_an_imported_record_is_not_run(project: Path, tmp_path: Path) -> None:
    run = record(project)
    runcard(project, "export", str(run), "--to", "bundle", "--output", "run.tar.gz")
    done = runcard(tmp_path, "import-bundle", str(project / "run.tar.gz"), "theirs")
    refused(tmp_path / "theirs", tmp_path / done.stdout.strip())


def test_a_clone_that_brings_a_ledger_of_this_host_is_not_run(tmp_path: Path, home: Path) -> None:
    """A stranger can guess the name of a host, and record at the same path on a machine of their own."""
    folder = tmp_path / "clone"
    folder.mkdir()
    run = record_command(folder, "touch", CANARY, **strangers(home))
    (folder / CANARY).unlink()
    assert os.listdir(folder / "outputs" / ".runcard").count(f"ledger-{os.uname().nodename}.jsonl") == 1
    assert runcard(folder, "verify", str(run)).returncode == 0
    refused(folder, run)


def test_the_users_own_record_in_somebody_elses_copy_is_not_run(project: Path, tmp_path: Path) -> None:
    """The record is the user's; the program that its command names is not."""
    run = record(project)
    shutil.copytree(project, tmp_path / "fork", symlinks=True)
    fork = tmp_path / "fork"
    (fork / "make.py").write_text(f"open({CANARY!r}, 'w')")
    refused(fork, fork / "outputs" / run.name)


def test_a_run_that_was_pulled_into_the_users_own_store_is_not_run(project: Path, home: Path) -> None:
    """With an entry in the ledger whose chain is right, and the code of a run that is the user's own."""
    own = record(project)
    (project / "elsewhere").mkdir()
    theirs = record_command(project / "elsewhere", "touch", CANARY, **strangers(home))
    planted = own.parent / "2030-01-01_000000"
    shutil.move(theirs, planted)
    ledger = next((own.parent / ".runcard").glob("ledger-*.jsonl"))
    last = json.loads(ledger.read_text().splitlines()[-1])
    entry = json.loads(next((theirs.parent / ".runcard").glob("ledger-*.jsonl")).read_text().splitlines()[-1])
    fields = {
        "seq": 2,
        "timestamp": entry["timestamp"],
        "event": entry["event"],
        "writer": last["writer"],
    }
    payload = entry["payload"] | {"path": planted.name, "mac": last["payload"]["mac"]}
    with ledger.open("ab") as file:
        file.write(write_line(fields, payload, "0" * 32, last["hash"]).raw)
    assert runcard(project, "ledger").returncode == 0
    refused(project, planted)


def test_an_open_run_in_a_clone_does_not_become_the_users_own_by_closing_it(
    tmp_path: Path, home: Path
) -> None:
    script = (
        "import runcard, os, signal\nruncard.record().__enter__()\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "clone").mkdir()
    command = [sys.executable, "-c", script]
    env = os.environ | strangers(home)
    subprocess.run(command, cwd=tmp_path / "clone", env=env, check=False, timeout=60)
    assert "closed" in runcard(tmp_path / "clone", "close").stdout
    [run] = (tmp_path / "clone" / "outputs").glob("2*")
    assert read(run)["generation"]["status"] == "interrupted"
    refused(tmp_path / "clone", run)


def test_only_command_and_inputs_are_taken_from_a_strangers_record(tmp_path: Path, home: Path) -> None:
    (folder := tmp_path / "clone").mkdir()
    (folder / "a.md").write_text("hello\n")
    options = ("--keep-secrets", "--experiment", "evil", "--label", "a=b", "--set", "n=1", "--input", "a.md")
    (folder / "say.py").write_text(f"print({KEY!r})\n")
    command = (sys.executable, "say.py")
    there = record_command(folder, *options, "--outputs", "theirs", "--", *command, **strangers(home))
    assert KEY in (there / "output.log").read_text()
    done = runcard(folder, "rerun", "--yes", str(there))
    assert done.returncode in {0, 2}, done.stderr
    [new] = (folder / "outputs").glob("2*")
    document = read(new)
    assert KEY not in (new / "output.log").read_text()
    assert "keep_secrets" not in document
    assert document["generation"]["experiment_name"] is None
    assert document["generation"]["labels"] == {}
    assert "n" not in document["configuration"]
    assert document["generation"]["command"] == list(command)
    assert [file["path"] for file in document["data_sources"]["files"]] == ["a.md"]
    assert len(list((folder / "theirs").glob("2*"))) == 1


def test_a_command_cannot_hide_behind_control_characters(tmp_path: Path, home: Path) -> None:
    (folder := tmp_path / "clone").mkdir()
    run = record_command(
        folder, "sh", "-c", "touch x #\r\x1b[2K\x1b[1Aecho harmless\u202e", **strangers(home)
    )
    done = runcard(folder, "rerun", str(run))
    assert r"runcard: command: sh -c $'touch x #\r\x1b[2K\x1b[1Aecho harmless\u202e'" in done.stderr
    assert not {"\x1b", "\r", "\u202e"} & set(done.stderr)


def test_a_folder_named_as_an_input_is_not_walked(project: Path) -> None:
    run = record(project)
    edit(run, lambda document: document["data_sources"]["files"][0].update(path="/"))
    done = runcard(project, "rerun", "--dry-run", str(run))
    assert "input / is gone" in done.stderr


def on_terminal(folder: Path, *arguments: str, answer: bytes) -> tuple[int, str]:
    """Run the command with a keyboard; its exit code and what the screen shows."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "runcard", *arguments])  # noqa: S606 - the real one
    seen = b""
    try:
        while part := os.read(master, 65536):
            seen += part
            if seen.rstrip().endswith(b"[y/N]:"):
                os.write(master, answer)
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


@pytest.mark.parametrize(
    ("answer", "ran"), [(b"n\n", False), (b"\n", False), (b"\x04", False), (b"y\n", True)]
)
def test_on_a_terminal_the_user_is_asked(tmp_path: Path, home: Path, answer: bytes, *, ran: bool) -> None:
    (folder := tmp_path / "clone").mkdir()
    run = record_command(folder, "touch", CANARY, **strangers(home))
    (folder / CANARY).unlink()
    code, seen = on_terminal(folder, "rerun", str(run), answer=answer)
    assert "command: touch canary.txt" in seen
    assert f"Run this command in {folder}?" in seen
    assert (folder / CANARY).exists() is ran
    assert code == (0 if ran else 1)


def test_ones_own_record_needs_no_question(project: Path) -> None:
    run = record(project)
    assert runcard(project, "rerun", str(run)).returncode == 0
    amended = runcard(project, "amend", str(run), "note", "looks good")
    assert amended.returncode == 0, amended.stderr
    assert runcard(project, "rerun", str(run)).returncode == 0


@pytest.mark.parametrize("state", ["/dev/null", "/proc/nowhere", "relative"])
def test_without_a_state_folder_recording_goes_on_and_rerun_asks(
    project: Path, state: str, home: Path
) -> None:
    user = {"XDG_STATE_HOME": state, "HOME": str(home / "nowhere" if state == "relative" else home)}
    (home / "nowhere").write_text("a file in the place of a home")
    run = record(project, **user)
    assert read(run)["generation"]["status"] == "completed"
    assert runcard(project, "verify", "outputs", **user).returncode == 0
    assert runcard(project, "rerun", str(run), **user).returncode == 64


def test_a_key_that_others_can_read_proves_nothing(project: Path, home: Path) -> None:
    run = record(project)
    key = home / ".local" / "state" / "runcard" / "key"
    assert (key.stat().st_mode & 0o777, key.stat().st_size) == (0o600, 32)
    key.chmod(0o644)
    refused(project, run)


@pytest.mark.needs("root")
def test_root_leaves_nothing_in_the_home_of_another_user(project: Path, tmp_path: Path) -> None:
    (theirs := tmp_path / "theirs").mkdir()
    os.chown(theirs, 65534, 65534)
    run = record(project, XDG_STATE_HOME=str(theirs / "state"))
    assert os.listdir(theirs) == []
    assert runcard(project, "rerun", str(run), XDG_STATE_HOME=str(theirs / "state")).returncode == 64


def test_a_link_to_the_users_own_store_makes_no_command_trusted(project: Path, tmp_path: Path) -> None:
    """The run is the user's own, and the programs around it are a stranger's."""
    run = record(project)
    shutil.copytree(project, clone := tmp_path / "clone", ignore=shutil.ignore_patterns("outputs"))
    (clone / "outputs").symlink_to(project / "outputs")
    refused(clone, clone / "outputs" / run.name)
