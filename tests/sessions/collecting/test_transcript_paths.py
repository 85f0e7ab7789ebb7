"""`collect` of a session file of an agent tool, or of a folder of them: the error names the command that imports it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import Cli
from runcard.operations.sessions import transcript_paths
from transcripts.madrox_logs import MadroxLogs
from transcripts.session_files import assistant, claude, meta, user, write
from transcripts.test_opencode import database, message


def hint_of(cli: Cli, *arguments: str | Path) -> str:
    done = cli("collect", *arguments)
    assert (done.code, done.out) == (1, "")
    error, hint = done.err.splitlines()
    assert error.endswith(", not a SPEC")
    return hint.removeprefix("  hint: to store it: ")


def test_a_session_file_of_each_tool_is_recognized(cli: Cli, here: Path) -> None:
    files = {
        "claude-code": claude(here, user(), assistant()),
        "codex": write(here / "rollout-1.jsonl", meta()),
        "gemini": write(here / "session-1.json", {"sessionId": "g", "startTime": "t", "messages": []}),
        "opencode": database(here / "data", [("m", "s", message())]),
    }
    for tool, path in files.items():
        assert hint_of(cli, path) == f"runcard import {tool} {path}"


def test_a_folder_is_recognized_however_deep_its_sessions_are(cli: Cli, here: Path) -> None:
    claude(here / "home/.claude/projects/shop/s-1/subagents", user(), name="agent-1.jsonl")
    for folder in ("home", "home/.claude", "home/.claude/projects/shop"):
        assert hint_of(cli, folder) == f"runcard import claude-code {folder}"
    write(here / "home/.codex/sessions/2026/rollout-1.jsonl", meta())
    assert hint_of(cli, "home") == "runcard import claude-code home; runcard import codex home"
    MadroxLogs(here / "logs").event("instance_spawn", "lead", "2026-11-16T12:00:00")
    assert hint_of(cli, "logs") == "runcard import madrox logs"


@pytest.mark.parametrize(
    "name", ["a b.jsonl", "it's.jsonl", "$(touch x).jsonl", "-x.jsonl", "é\x1b[31m\n.jsonl"]
)
def test_the_command_can_be_copied(cli: Cli, here: Path, name: str) -> None:
    write(here / name, user())
    command = hint_of(cli, "--", name)
    assert command.isprintable()
    script = command.replace("runcard import claude-code", "printf %s")
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert os.path.normpath(done.stdout) == name
    assert os.listdir(here) == [name]


def test_a_large_session_is_not_read_as_a_spec(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNCARD_LIMITS_SIZE", "1000")
    path = claude(here, user(), *[assistant()] * 50)
    assert hint_of(cli, path) == f"runcard import claude-code {path}"


def test_json_has_the_error(cli: Cli, here: Path) -> None:
    done = cli("collect", claude(here, user()), "--json")
    assert (done.code, json.loads(done.out)["status"]) == (1, "error")
    assert json.loads(done.out)["error"].endswith("is a session file of Claude Code, not a SPEC")


def test_other_files_and_folders_have_the_errors_they_had(cli: Cli, here: Path) -> None:
    (here / "notes").mkdir()
    (here / "notes" / "a.jsonl").write_text('{"a": 1}\n')
    (here / "broken.db").write_bytes(b"not a database")
    (here / "broken.jsonl.zst").write_bytes(b"not packed")
    os.mkfifo(here / "notes" / "session-1.json")
    (here / "notes" / "session-2.json").symlink_to(claude(here / "elsewhere", user()))
    (here / "secret").mkdir(0o000)
    assert cli("collect", "notes").err == "Error: notes is a directory\n  hint: name a file\n"
    for path in ("broken.db", "broken.jsonl.zst", "notes/a.jsonl", "notes/session-1.json", "secret", "none"):
        done = cli("collect", path)
        assert (done.code, "runcard import" in done.err) == (1, False), path


def test_a_huge_folder_is_not_read_to_its_end(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_paths, "_MOST_ENTRIES", 3)
    for number in range(5):
        (here / f"{number}.txt").touch()
    claude(here, user(), name="9.jsonl")
    assert transcript_paths.transcript_error(str(here)) is None
