"""`runcard doctor`: sessions that will be deleted, stores, settings, and that it changes nothing."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acceptance.command import runcard_on_terminal
from conftest import Cli, Outcome
from files.unprivileged import everybodys_directory, without_rights
from isolation import set_user_folders
from measured_processes import VARIABLE
from runcard import extras
from runcard.operations.checks.doctor import machine
from runcard.store import layout
from transcripts.madrox_logs import MadroxLogs
from transcripts.opencode_files import OpenCodeDatabase, text
from transcripts.session_files import assistant, event, meta, token_counts, turn, user, write

STRACE = shutil.which("strace") or "strace"  # before a test sets PATH

DAY = 86400
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _user(monkeypatch: pytest.MonkeyPatch, home: Path, here: Path) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("runcard.transcripts.madrox.log_folder.DEFAULT_FOLDER", str(home / "madrox"))
    (here / "work").mkdir()
    monkeypatch.chdir(here / "work")


def put(path: Path, data: str = "{}\n", *, age: float = 0) -> Path:
    """A file that was changed so many days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data)
    moment = time.time() - age * DAY
    os.utime(path, (moment, moment))
    return path


def claude(
    home: Path, session: str = "s-1", *, age: float = 0, folder: str = "-work", cwd: str = "/work"
) -> Path:
    line = json.dumps({"type": "user", "sessionId": session, "cwd": cwd, "message": {"content": "hello"}})
    return put(home / ".claude" / "projects" / folder / f"{session}.jsonl", line + "\n", age=age)


def stored(store: Path, session: str, **document: Any) -> Path:
    """A session in a store, as far as the doctor reads it."""
    folder = store / f"2026-11-15_10-15-00-{session}"
    return put(folder / layout.METADATA, json.dumps({"team_session_id": session, **document}))


def source(path: Path, size: int | None = None) -> dict[str, Any]:
    return {"source": str(path), "bytes": path.stat().st_size if size is None else size}


def doctor(cli: Cli, code: int = 0) -> dict[str, Any]:
    outcome = cli("doctor", "--json")
    assert outcome.code == code, outcome.err
    data: dict[str, Any] = json.loads(outcome.out)
    return data


def tool(cli: Cli, code: int = 0) -> dict[str, Any]:
    """The only tool that has sessions."""
    (found,) = doctor(cli, code)["session_files"]
    return found  # type: ignore[no-any-return]


def test_a_machine_without_agents_has_nothing_to_do(cli: Cli) -> None:
    outcome = cli("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    assert "none found" in outcome.out
    assert doctor(cli).keys() == {
        *(
            "runcard",
            "python",
            "platform",
            "session_files",
            "searched_stores",
            "stores",
            "catalog",
            "settings",
        ),
        *("installed", "hooks", "catalog", "clients", "extras", "disks", "left_configurations", "warnings"),
        "open_state_folder",
    }


def test_sessions_of_claude_code(cli: Cli, home: Path) -> None:
    main = claude(home, "s-1", age=10)
    part = put(main.parent / "s-1" / "subagents" / "agent-a1.jsonl", "{}\n")
    claude(home, "s-2", age=20)
    found = tool(cli)
    assert (found["tool"], found["sessions"], found["files"]) == ("claude-code", 2, 3)
    assert found["bytes"] == 2 * main.stat().st_size + part.stat().st_size
    assert found["retention"] == {"kind": "age", "days": 30, "source": "default", "note": None}
    assert (found["not_imported"], found["days_left"], found["deleted_soon"]) == (2, 9, 0)
    assert found["command"] == "runcard import claude-code --all"


def test_a_session_without_a_message_is_no_loss(cli: Cli, home: Path) -> None:
    """There is nothing that an import could keep."""
    claude(home, "s-1")
    line = json.dumps({"type": "file-history-snapshot", "sessionId": "s-2"})
    put(home / ".claude/projects/-work/s-2.jsonl", line + "\n", age=40)
    found = tool(cli)
    assert (found["sessions"], found["empty"], found["files"], found["deleted_soon"]) == (1, 1, 2, 0)
    assert "1 session in 2 files" in cli("doctor").out
    assert "1 more without a message" in cli("doctor").out


def test_a_session_that_is_deleted_soon_is_a_warning(cli: Cli, home: Path) -> None:
    claude(home, "s-1", age=24.5)
    claude(home, "s-2", age=3)
    outcome = cli("doctor")
    assert outcome.code == 2
    assert "deleted 30 days after their last change; the next one in 5 days" in outcome.out
    assert outcome.err == (
        "Warning: 1 session is not imported, and Claude Code deletes it in 5 days\n"
        "  hint: keep it: runcard import claude-code --all\n"
    )


def test_sessions_that_are_overdue(cli: Cli, home: Path) -> None:
    claude(home, "s-1", age=31)
    claude(home, "s-2", age=40)
    outcome = cli("doctor")
    assert outcome.code == 2
    assert "the first of them the next time that Claude Code starts" in outcome.err


def test_the_age_of_a_session_is_that_of_its_main_file(cli: Cli, home: Path) -> None:
    """Claude Code deletes the files of sub-agents with it, and keeps older ones as long as it is there."""
    main = claude(home, "s-1", age=25)
    put(main.parent / "s-1" / "subagents" / "agent-a1.jsonl", age=1)
    assert tool(cli, 2)["days_left"] == 4
    os.utime(main, None)
    put(main.parent / "s-1" / "subagents" / "agent-a1.jsonl", age=29)
    assert tool(cli)["days_left"] == 29


def test_a_sub_agent_without_its_session_goes_by_its_own_age(cli: Cli, home: Path) -> None:
    folder = home / ".claude/projects/-work"
    put(folder / "s-1" / "subagents" / "agent-a1.jsonl", json.dumps(user()), age=28)
    assert tool(cli, 2)["days_left"] == 1
    os.utime(claude(home, "s-1"), None)
    assert tool(cli)["days_left"] == 29
    put(folder / "agent-b1.jsonl", json.dumps(user()), age=27)  # of an older version, beside it
    found = tool(cli, 2)
    assert (found["sessions"], found["days_left"]) == (1, 2)


def test_older_files_of_sub_agents_name_their_session(cli: Cli, home: Path) -> None:
    main = claude(home, "s-1")
    put(main.parent / "agent-a1.jsonl", json.dumps({"sessionId": "s-1"}))
    put(main.parent / "agent-b1.jsonl", 'torn "message"')
    assert (tool(cli)["sessions"], tool(cli)["files"]) == (2, 3)


def test_settings_of_projects_are_found_by_their_sessions(cli: Cli, home: Path, here: Path) -> None:
    put(home / ".claude" / "settings.json", '{"cleanupPeriodDays": 99999}')
    claude(home, "s-1", age=4, cwd=str(here / "shop"))
    assert tool(cli)["days_left"] == 99994
    path = put(here / "shop" / ".claude" / "settings.json", '{"cleanupPeriodDays": 7}')
    found = tool(cli, 2)
    assert (found["days_left"], found["retention"]["source"]) == (2, str(path))


def test_a_retention_of_zero_is_a_warning(cli: Cli, home: Path) -> None:
    put(home / ".claude" / "settings.json", '{"cleanupPeriodDays": 0}')
    claude(home, "s-1", age=100)
    outcome = cli("doctor")
    assert outcome.code == 2
    assert "it is unknown when Claude Code deletes its sessions: cleanupPeriodDays is 0" in outcome.err


def test_imported_sessions_are_safe(cli: Cli, home: Path) -> None:
    path = claude(home, "s-1", age=29)
    stored(Path("artifacts"), "s-1", sources=[source(path)])
    found = tool(cli)
    assert (found["imported"], found["not_imported"], found["grown"], found["command"]) == (1, 0, 0, None)
    assert (found["next_deletion"], found["deleted_soon"]) == (None, 0)
    assert "all imported" in cli("doctor").out


def test_what_the_import_stores_is_what_is_looked_for(cli: Cli, home: Path) -> None:
    """With the real import: all is safe; then a line is added, and a file of a sub-agent."""
    text = json.dumps(assistant(cwd="/work")) + "\n"
    main = put(home / ".claude/projects/-work/s-1.jsonl", text, age=29)
    part = put(main.parent / "s-1" / "subagents" / "agent-a1.jsonl", json.dumps(user()) + "\n", age=29)
    command = tool(cli, 2)["command"].split()[1:]
    assert cli(*command).code == 0
    found = tool(cli)
    assert (found["sessions"], found["files"], found["imported"]) == (1, 2, 1)
    part.write_text(part.read_text() * 2)
    assert tool(cli, 2)["grown"] == 1


def test_the_imports_of_all_tools_are_found(cli: Cli, home: Path) -> None:
    records = (meta(cwd="/work"), turn(), event(token_counts(10, 2), token_counts(10, 2)))
    write(home / ".codex/sessions/2026/11/02/rollout-2026-11-02T10-00-00-t-1.jsonl", *records)
    message = {"id": "m", "type": "gemini", "model": "gemini-2.5-pro", "timestamp": "2026-11-02T10:00:00Z"}
    tokens = {"input": 10, "output": 2, "cached": 0, "thoughts": 0, "tool": 0, "total": 12}
    chats = home / ".gemini/tmp/shop/chats"
    write(chats / "session-1.jsonl", {"sessionId": "g-1", "projectHash": "x"}, message | {"tokens": tokens})
    database = OpenCodeDatabase(home / ".local/share/opencode")
    database.session("ses_1")
    database.message("m1", "ses_1", 1, text("done", 3), finish="stop")
    logs = MadroxLogs(home / "madrox")
    logs.server()
    logs.instance("a1")
    for name in ("codex", "gemini", "opencode", "madrox"):
        assert cli("import", name, "--all").code in {0, 2}
    found = {each["tool"]: (each["sessions"], each["imported"]) for each in doctor(cli)["session_files"]}
    assert found == dict.fromkeys(("codex", "gemini", "opencode", "madrox"), (1, 1))


def test_a_session_that_grew_since_is_not_safe(cli: Cli, home: Path) -> None:
    path = claude(home, "s-1", age=29)
    stored(Path("artifacts"), "s-1", sources=[source(path, 3)])
    found = tool(cli, 2)
    assert (found["imported"], found["not_imported"], found["grown"]) == (0, 1, 1)
    assert "1 changed since its import" in cli("doctor").out


def test_a_new_file_of_an_imported_session_is_not_safe(cli: Cli, home: Path) -> None:
    path = claude(home, "s-1")
    stored(Path("artifacts"), "s-1", sources=[source(path)])
    put(path.parent / "s-1" / "subagents" / "agent-a1.jsonl")
    assert tool(cli)["grown"] == 1


@pytest.mark.parametrize(
    "sources", [5, {}, [5], [{}], [{"source": 5, "bytes": []}], [{"source": "x", "bytes": []}]]
)
def test_sources_of_another_form_prove_nothing(sources: object, cli: Cli, home: Path) -> None:
    claude(home, "s-1")
    stored(Path("artifacts"), "s-1", sources=sources)
    assert tool(cli)["imported"] == 0


def test_a_session_that_cannot_be_read_proves_nothing(cli: Cli, home: Path) -> None:
    claude(home, "s-1")
    stored(Path("artifacts"), "s-1").write_text("{")
    assert tool(cli)["imported"] == 0


def test_archived_sessions_are_imported(cli: Cli, home: Path) -> None:
    path = claude(home, "s-1")
    archive = Path("artifacts/archive/2026-11/2026-11-15_10-15-00-s-1.tar.gz")
    put(archive, "")
    put(Path(layout.metadata_copy(str(archive))), json.dumps({"sources": [source(path)]}))
    assert tool(cli)["imported"] == 1
    assert doctor(cli)["stores"][0]["archived"] == 1


def test_codex_gemini_and_opencode(cli: Cli, home: Path) -> None:
    put(home / ".codex/sessions/2026/11/02/rollout-2026-11-02T10-00-00-abc.jsonl", age=400)
    put(
        home / ".gemini/tmp/shop/chats/session-1.jsonl",
        '{"sessionId": "long-id", "projectHash": "x"}\n{"id": "m", "type": "user"}\n',
        age=26,
    )
    data_home = home / ".local/share/opencode"
    data_home.mkdir(parents=True)
    with closing(sqlite3.connect(data_home / "opencode.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE session (id TEXT, parent_id TEXT)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT)")
        database.execute("INSERT INTO session VALUES ('ses_1', NULL), ('ses_2', 'ses_1')")
        database.commit()
    codex, gemini, opencode = doctor(cli, 2)["session_files"]
    assert (codex["sessions"], codex["retention"]["kind"], codex["days_left"]) == (1, "never", None)
    assert (gemini["sessions"], gemini["files"], gemini["days_left"]) == (1, 1, 3)
    assert (opencode["sessions"], opencode["retention"]["kind"]) == (1, "never")
    assert os.listdir(data_home) == ["opencode.db"]


def test_a_database_whose_content_is_in_its_log_is_read(cli: Cli, home: Path) -> None:
    """OpenCode ends without moving its sessions from the log (WAL) to the main file."""
    data_home = home / ".local/share/opencode"
    data_home.mkdir(parents=True)
    with closing(sqlite3.connect(data_home / "opencode.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE session (id TEXT, parent_id TEXT)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT)")
        database.execute("INSERT INTO session VALUES ('ses_1', NULL), ('ses_2', 'ses_1')")
        database.commit()
        assert (data_home / "opencode.db-wal").stat().st_size > 0
        (opencode,) = doctor(cli, 0)["session_files"]
    assert (opencode["sessions"], opencode["at_least"]) == (1, False)


def test_a_database_that_is_none_is_named(cli: Cli, home: Path) -> None:
    put(home / ".local/share/opencode/opencode.db", "no database, but long enough to be read as one" * 10)
    found = tool(cli, 2)
    assert found["sessions"] == 0
    assert "the database cannot be read" in found["unread"][0]["reason"]


def test_sessions_beyond_the_number_that_gemini_keeps(cli: Cli, home: Path) -> None:
    put(home / ".gemini/settings.json", '{"general": {"sessionRetention": {"maxCount": 1}}}')
    for number in range(3):
        put(
            home / f".gemini/tmp/shop/chats/session-{number}.jsonl",
            f'{{"sessionId": "g-{number}"}}\n{{"id": "m", "type": "user"}}\n',
            age=number,
        )
    assert (tool(cli, 2)["deleted_soon"], tool(cli, 2)["days_left"]) == (2, 0)


def test_hostile_files_of_a_tool(cli: Cli, home: Path, here: Path) -> None:
    """A FIFO, links and names with control characters: named, not opened, and nothing waits."""
    main = claude(home, "s-1", cwd="/a\x00b")
    os.mkfifo(main.parent / "fifo.jsonl")
    (main.parent / "link.jsonl").symlink_to(here)
    put(main.parent / "agent-\x1b[31m.jsonl", '{"sessionId": "\\u001b[31m"}')
    outcome = cli("doctor")
    assert outcome.code == 2
    assert "\x1b" not in outcome.out + outcome.err
    assert {part["reason"] for part in tool(cli, 2)["unread"]} == {
        "a symbolic link, not followed",
        "not a regular file",
    }


def test_a_home_that_does_not_exist(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent/home")
    assert doctor(cli)["session_files"] == []


def test_runs_that_are_open_or_dead(cli: Cli, tmp_path: Path) -> None:
    """The run of a living process is fine; that of a killed one is a warning, and stays as it is."""
    program = (
        "import os, runcard, sys, time\n"
        "run = runcard.start()\n"
        "print(run.path, flush=True)\n"
        "sys.stdin.read()\n"
    )
    arguments = [sys.executable, "-c", program]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = Path(process.stdout.readline().strip()).name
        (store,) = doctor(cli)["stores"]
        assert (store["path"], store["runs"], store["sessions"]) == ("outputs", 1, 0)
        assert (store["open_runs"], store["dead_runs"]) == ([f"outputs/{name}"], [])
        process.kill()
    before = snapshot(tmp_path)
    outcome = cli("doctor")
    assert outcome.code == 2
    assert f"1 run was not closed and the process is gone: outputs/{name}" in outcome.err
    assert "runcard close --outputs outputs" in outcome.err
    assert snapshot(tmp_path) == before


def test_leftovers_of_killed_commands_are_named_and_kept(cli: Cli) -> None:
    own = Path("outputs") / ".runcard"
    names = ["new-run-1", "pruned-2026-11-15_101500", "amending-x", "copying-x"]
    for name in names:
        (own / name).mkdir(parents=True)
    put(own / ".metadata.json.0123abcd.tmp", age=1)
    put(Path("outputs/.open/s-1.0123abcd/audit.jsonl"), "", age=1)
    recent = own / "archived-x"
    recent.mkdir()
    for path in [*own.iterdir(), Path("outputs/.open/s-1.0123abcd")]:
        if path != recent:
            os.utime(path, (1, 1))
    (store,) = doctor(cli)["stores"]
    assert {os.path.basename(item["path"]) for item in store["leftovers"]} == {
        *names,
        ".metadata.json.0123abcd.tmp",
        "s-1.0123abcd",
    }
    assert "left by a killed command" in cli("doctor").out


def test_the_size_of_a_large_store_is_a_lower_bound(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runcard.operations.checks.doctor.stores._MOST_ENTRIES", 3)
    for second in range(3):
        run = Path(f"outputs/2026-11-15_10150{second}")
        put(run / layout.METADATA, "{}")
        put(run / "big", "x" * 1000)
    (store,) = doctor(cli)["stores"]
    assert (store["runs"], store["bytes_at_least"]) == (3, True)
    assert 0 < store["bytes"] < 3 * 1002
    assert "3 runs, 0 sessions; at least " in cli("doctor").out


def test_a_store_that_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    with everybodys_directory() as folder:
        monkeypatch.chdir(folder)
        Path("outputs").mkdir()
        doctor(cli)  # loads what that needs
        Path("outputs").chmod(0)
        with without_rights():
            outcome, (store,) = cli("doctor"), doctor(cli, 2)["stores"]
    assert "the store outputs cannot be read: Permission denied" in outcome.err
    assert "cannot be read: Permission denied" in outcome.out
    assert (store["runs"], store["sessions"], store["bytes"]) == (None, None, None)


@pytest.mark.parametrize(
    ("mode", "is_open"), [(0o700, False), (0o755, False), (0o720, True), (0o702, True), (0o777, True)]
)
def test_a_state_folder_that_others_can_write_to(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, here: Path, mode: int, *, is_open: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    assert doctor(cli)["open_state_folder"] is None
    folder = here / "state" / "runcard"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert doctor(cli, 2 if is_open else 0)["open_state_folder"] == (str(folder) if is_open else None)
    done = cli("doctor")
    assert (f"other users can write to {folder}" in done.err, f"chmod 700 {folder}" in done.err) == (
        is_open,
        is_open,
    )


def test_a_link_in_a_store_is_a_problem_of_that_store(cli: Cli, here: Path) -> None:
    Path("outputs").mkdir()
    Path("outputs/.runcard").symlink_to(here)
    (store,) = doctor(cli, 2)["stores"]
    assert store["problem"]


def test_a_link_in_place_of_the_experiments(cli: Cli, here: Path) -> None:
    Path("experiments").symlink_to(here)
    put(Path("outputs/2026-11-15_101500") / layout.METADATA, "{}")
    outcome = cli("doctor")
    assert outcome.code == 2
    assert "there may be more stores: ./experiments is a symbolic link" in outcome.err
    assert "1 run, 0 sessions" in outcome.out


def test_a_folder_that_is_gone(cli: Cli) -> None:
    Path("../work").rmdir()
    assert "the present folder: No such file or directory" in cli("doctor").err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('outputs = "../elsewhere"\n', "the file is not trusted"),
        ("outptus = 1\n", "unknown setting outptus"),
        ("[[[\n", "runcard.toml"),
        ("outputs = 5\n", "allowed"),
    ],
)
def test_problems_of_settings(text: str, message: str, cli: Cli) -> None:
    put(Path("runcard.toml"), text)
    outcome = cli("doctor")
    assert outcome.code == 2
    assert message in outcome.err
    assert doctor(cli, 2)["settings"]["problems"]


def test_low_disk_space(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LOW_SPACE", 1 << 62)
    outcome = cli("doctor")
    assert outcome.code == 2
    assert "are free in" in outcome.err
    assert ": low" in outcome.out


def test_agent_tools_in_path(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("claude", "goose"):
        put(here / "bin" / name, "#!/bin/sh\n").chmod(0o755)
    put(here / "bin" / "codex", "not executable")
    monkeypatch.setenv("PATH", f"/nowhere:{here / 'bin'}")
    clients = {client["name"]: client for client in doctor(cli)["clients"]}
    assert {name: client["metered"] for name, client in clients.items()} == {"claude": True, "goose": False}
    assert clients["claude"]["path"] == str(here / "bin" / "claude")


def test_the_tools_that_are_metered_are_those_that_the_meter_knows() -> None:
    from runcard.observe.meter.adapters.known_programs import _NAMES  # noqa: PLC0415

    assert set(machine._METERED) == _NAMES


def test_every_extra_that_installs_something_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        name for name, packages in project["optional-dependencies"].items() if packages and name != "all"
    }
    assert {extra.name for extra in machine.extras()} == extras


def test_a_missing_extra_has_the_command_that_installs_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.MODULES, "ruby", ("no_such_module", "no.such"))
    monkeypatch.setattr(machine, "_ABOUT", {"ruby": "test plans"})
    (extra,) = doctor(cli)["extras"]
    assert (extra["installed"], extra["install"]) == (False, extras.install_command("ruby"))
    assert extras.install_command("ruby") in cli("doctor").out


def snapshot(folder: Path) -> dict[str, tuple[int, ...]]:
    return {
        str(path): (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        for path in [folder, *sorted(folder.rglob("*"))]
        for status in [path.lstat()]
    }


def full_home(home: Path) -> None:
    claude(home, "s-1", age=29)
    put(home / ".claude" / "settings.json", '{"cleanupPeriodDays": 40}')
    put(home / ".codex/sessions/2026/11/02/rollout-2026-11-02T10-00-00-abc.jsonl")
    put(home / ".gemini/tmp/shop/chats/session-1.jsonl", '{"sessionId": "g-1", "type": "user"}\n')
    data_home = home / ".local/share/opencode"
    data_home.mkdir(parents=True)
    with closing(sqlite3.connect(data_home / "opencode.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE session (id TEXT, parent_id TEXT)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT)")
        database.commit()
    put(Path("runcard.toml"), 'outputs = "runs"\n')
    stored(Path("artifacts"), "s-1")
    (Path("runs") / ".runcard" / "open").mkdir(parents=True)


def process(*arguments: str, **environ: str) -> Outcome:
    done = subprocess.run(
        [*arguments, sys.executable, "-m", "runcard", "doctor"],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.mark.needs("strace")
def test_it_changes_nothing(tmp_path: Path, home: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is opened for writing, made, renamed, removed or touched; only stdout and stderr are written."""
    monkeypatch.delenv(VARIABLE, raising=False)  # what it measures would be written
    full_home(home)
    before = snapshot(home), snapshot(here)
    trace = tmp_path.parent / f"{tmp_path.name}.trace"
    traced = "trace=%file,write,pwrite64,writev,pwritev,ftruncate,fallocate,fchmod,fchown,futimesat,sendto"
    assert process(STRACE, "-f", "--seccomp-bpf", "-s", "0", "-e", traced, "-o", str(trace)).code == 0
    assert (snapshot(home), snapshot(here)) == before
    calls = trace.read_text().splitlines()
    assert [line for line in calls if re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", line)] == []
    names = "mkdir|rmdir|unlink|rename|link|symlink|f?chmod|f?chown|lchown|f?truncate|f?utime|mknod|fallocate|setxattr"
    assert [line for line in calls if re.match(rf"\d+ +({names})\w*\(", line)] == []
    written = [line for line in calls if re.match(r"\d+ +(write|pwrite|sendto)\w*\(", line)]
    assert written
    assert {re.search(r"\((\d+)", line)[1] for line in written} <= {"1", "2"}  # type: ignore[index]


def test_a_home_that_is_read_only(home: Path) -> None:
    full_home(home)
    folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        outcome = process()
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert outcome.code == 0, outcome.err
    assert "1 session in 1 file" in outcome.out


@pytest.mark.needs("root")
def test_files_of_another_user_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another user, who may list the folder, and may not read one of its folders."""
    program = (
        "import json, os\n"
        "from runcard.operations.checks.doctor import doctor\n"
        "doctor()\n"  # which loads what that user cannot
        "os.setgid(65534); os.setuid(65534)\n"
        "print(json.dumps(doctor().to_dict()))\n"
    )
    with everybodys_directory() as home:
        set_user_folders(monkeypatch, home)
        hidden = claude(home, "s-1").parent
        claude(home, "s-2", folder="-other")
        hidden.chmod(0o700)
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=home, capture_output=True, text=True, check=True
        )
    (found,) = json.loads(done.stdout)["session_files"]
    assert found["sessions"] == 1
    assert found["unread"][0]["path"] == str(hidden)


def test_the_beginning_of_a_session_is_enough(cli: Cli, home: Path) -> None:
    """A session of 10 GB, most of it a hole."""
    path = claude(home, "s-1")
    os.truncate(path, 10 << 30)
    found = tool(cli)
    assert (found["sessions"], found["bytes"]) == (1, 10 << 30)


def test_the_screen_fits_a_terminal(home: Path) -> None:
    full_home(home)
    code, screen = runcard_on_terminal("doctor", env={"COLUMNS": "80"})
    assert code == 0
    assert "Claude Code" in screen
    plain = re.sub(r"\x1b\[[0-9;]*m", "", screen)
    assert [line for line in plain.splitlines() if len(line) > 80 and "/" not in line] == []
