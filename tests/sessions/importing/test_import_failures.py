"""What goes wrong while sessions are imported: `kill -9`, a full disk, files that grow or cannot be read."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from files.small_disk import small_disk
from runcard.operations.sessions.import_sessions import import_sessions
from runcard.transcripts.reading import read_files
from runs.harness import harness, in_memory
from sessions.collecting.teams import assert_tidy, assert_whole, sessions, state
from sessions.importing.sample_sessions import FIRST, fork, reply, said, session_with_sub_agent, text
from transcripts.session_files import claude, lines

TOOL = "claude-code"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with in_memory() as path:
        monkeypatch.chdir(path)
        yield path


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before", "within"])
def test_an_import_killed_at_any_step_leaves_nothing_half_made(place: Path, moment: str) -> None:
    session_with_sub_agent(place / "home")
    fork(place / "home")
    before = state(place / "home")
    done = []
    for number, step in enumerate(
        harness("sessions.importing.harness_kill_import", moment, place / "home", place), 1
    ):
        store = place / str(number)
        print(moment, number, step)  # noqa: T201 - pytest shows it for the one that fails
        done.append(step)
        for session in sessions(store):
            assert_whole(session)
        report = import_sessions(TOOL, [place / "home"], artifacts=store)
        assert {each.action for each in report.sessions} <= {"imported", "unchanged"}
        assert len(sessions(store)) == 2  # one for each session, never two of one
        assert_tidy(store)
    assert state(place / "home") == before
    assert moment == "within" or {"renameat2", "syncfs", "mkdir"} <= set(done)


def test_a_full_disk_leaves_nothing_half_made_and_stops_the_import(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "home"
    session_with_sub_agent(home)
    claude(
        home,
        said("a long text " * 40_000, 30, session="later"),
        reply("msg_9", 31, text("x"), session="later"),
        name="later.jsonl",
    )
    with small_disk(tmp_path / "small", "300k") as store:
        outcome = cli("import", TOOL, home, "--artifacts", store / "artifacts", "--json")
        assert outcome.code == 1
        data = json.loads(outcome.out)
        actions = {each["session"]: each["action"] for each in data["sessions"]}
        assert actions == {FIRST: "imported", "later": "failed"}
        assert "No space left on device" in outcome.err
        assert "later was not imported" in outcome.err
        for session in sessions(store / "artifacts"):
            assert_whole(session)
        assert len(sessions(store / "artifacts")) == 1
        assert list((store / "artifacts" / ".open").iterdir()) == []


def test_a_file_that_grows_is_imported_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added after its calls were counted belongs to the next import."""
    file = claude(tmp_path, said("Hi", 0), reply("msg_1", 1, text("x")), name=f"{FIRST}.jsonl")
    size = file.stat().st_size

    def read_and_grow(*arguments: Any) -> Any:
        found = read_files(*arguments)
        with file.open("ab") as more:
            more.write(lines([said("More", 2), reply("msg_2", 3, text("y"))]))
        return found

    monkeypatch.setattr("runcard.operations.sessions.import_sessions.read_files", read_and_grow)
    (session,) = import_sessions(TOOL, [tmp_path]).sessions
    assert session.warnings == ()
    assert session.path is not None
    assert session.document is not None
    team = session.document.to_dict()
    assert (team["sources"][0]["bytes"], team["instances"][0]["calls"]) == (size, 1)
    copy = session.path / "instances/main/transcripts" / file.name
    assert copy.read_bytes() == file.read_bytes()[:size]
    assert team["execution_summary"]["execution_end"] == "2026-11-02T10:01:00Z"


def test_what_is_not_a_file_is_named_and_never_opened(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path)
    file = next(tmp_path.rglob("agent-*.jsonl"))
    file.unlink()
    os.mkfifo(file)
    link = file.with_name("agent-link.jsonl")
    link.symlink_to("/etc/passwd")
    outcome = cli("import", TOOL, tmp_path, "--json")
    assert outcome.code == 2
    data = json.loads(outcome.out)
    assert {(each["path"], each["reason"]) for each in data["unread"]} == {
        (str(file), "not a regular file"),
        (str(link), "a symbolic link, not followed"),
    }
    assert [each["action"] for each in data["sessions"]] == ["imported"]


@pytest.mark.long
def test_memory_stays_flat_for_a_large_file(tmp_path: Path) -> None:
    """A file of 64 MB, half of it in one line, in a process of its own."""
    file = tmp_path / "projects" / "p" / f"{FIRST}.jsonl"
    file.parent.mkdir(parents=True)
    with file.open("wb") as out:
        out.write(lines([said("Hi", 0), reply("msg_1", 1, text("x"))]))
        out.write(b'{"type":"user","message":{"content":"' + b"x" * (32 << 20) + b'"}}\n')
        line = lines([said("word " * 20_000, 2), reply("msg_2", 3, text("z " * 2000))])
        for _ in range((32 << 20) // len(line)):
            out.write(line)
    code = (
        "import re, sys\n"
        "from runcard.operations.sessions.import_sessions import import_sessions\n"
        "report = import_sessions('claude-code', [sys.argv[1]], artifacts=sys.argv[2])\n"
        "status = open('/proc/self/status').read()\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', status)[1], report.sessions[0].action)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "projects"), str(tmp_path / "store")],
        capture_output=True,
        check=True,
        text=True,
    )
    memory, action = done.stdout.split()
    assert action == "imported"
    assert int(memory) < 200_000, "kB"
