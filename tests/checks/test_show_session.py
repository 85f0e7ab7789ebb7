"""`runcard show` and `runcard log` on a session, as people and programs use them."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from sessions.build import AGENTS, CODER, LEAD, TESTER, change


def test_a_session_on_one_screen(cli: Cli, session: Path) -> None:
    for path in (session, session / "metadata.json"):
        done = cli("show", path)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("team-1  failed, 2 of 3 completed\n")
        assert f"  directory  {session}\n" in done.out
        assert "\n  ├── coder    completed  backend_developer  32,100  $0.32     23m\n" in done.out


def test_a_session_for_programs(cli: Cli, session: Path) -> None:
    said = json.loads(cli("show", "--json", session).out)
    assert list(said) == ["path", "amendments", "signatures", "document"]
    assert said["document"] == json.loads((session / "metadata.json").read_text())


@pytest.mark.parametrize("name", ["coder", CODER])
def test_one_agent_by_its_name_or_id(cli: Cli, session: Path, name: str) -> None:
    done = cli("show", session, "--instance", name)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("coder  completed\n")
    assert "  parent    coordinator\n" in done.out
    assert "  src/main.py        9 B\n" in done.out
    said = json.loads(cli("show", "--json", "--instance", name, session).out)
    assert list(said) == ["session", "path", "files", "document"]
    assert said["files"][0] == {"path": "src/main.py", "bytes": 9}
    assert said["document"]["instance_id"] == CODER


def test_an_agent_that_is_not_there(cli: Cli, session: Path) -> None:
    done = cli("show", session, "--instance", "codder")
    assert (done.code, done.out) == (64, "")
    assert done.err == "Error: the session has no agent codder\n  hint: did you mean coder?\n"
    assert "its agents are: coordinator, coder, tester" in cli("show", session, "--instance", "zzz").err
    assert cli("log", session, "codder").code == 64
    assert cli("log", session, "--instance", "codder").err == done.err


def test_the_agent_of_a_log_can_be_named_with_an_option_as_for_show(cli: Cli, session: Path) -> None:
    done = cli("log", session, "--instance", LEAD)
    assert (done.code, done.out) == (0, cli("log", session, LEAD).out)
    assert cli("log", session, LEAD, "--instance", LEAD).code == 64


def test_a_name_that_two_agents_have(cli: Cli, session: Path) -> None:
    document = json.loads((session / "metadata.json").read_text())
    document["instances"][2]["name"] = "coder"
    change(session / "metadata.json", instances=document["instances"])
    done = cli("show", session, "--instance", "coder")
    assert done.code == 64
    assert done.err == f"Error: 2 agents are called coder\n  hint: name one by its id: {CODER}, {TESTER}\n"
    assert cli("log", session, LEAD).code == 0


def test_an_agent_whose_document_is_gone(cli: Cli, session: Path) -> None:
    (session / "instances" / LEAD / "metadata.json").unlink()
    done = cli("show", session, "--instance", LEAD)
    assert done.code == 1
    assert "metadata.json does not exist" in done.err
    assert cli("log", session, LEAD).out == "hello\nworld\n"


def test_what_was_amended_is_on_the_screen(cli: Cli, session: Path) -> None:
    line = {
        "seq": 1,
        "writer": "w",
        "prev": "0" * 64,
        "payload_sha256": "0" * 64,
        "hash": "0" * 64,
        "event": "redaction",
        "payload": {
            "path": "summary.md",
            "old_sha256": "0" * 64,
            "new_sha256": None,
            "who": "ann",
            "why": "law",
        },
    }
    (session / "amendments.jsonl").write_text(json.dumps(line) + "\n")
    assert (
        "Amendments\n  summary.md: withheld by 'ann' because law, says the amendment\n"
        in cli("show", session).out
    )
    (change,) = json.loads(cli("show", "--json", session).out)["amendments"]
    assert (change["kind"], change["path"]) == ("redaction", "summary.md")
    assert (change["who"], change["why"], change["new_sha256"]) == ("ann", "law", None)


def test_a_session_of_the_first_version(cli: Cli, old_session: Path) -> None:
    done = cli("show", old_session)
    assert done.code == 0
    assert "  tester: error: 429: too many requests\n" in done.out
    assert cli("show", old_session, "--instance", "tester").code == 0


def test_a_run_has_no_agents(cli: Cli, tmp_path: Path) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as run:
        (run.path / "output.log").write_text("said\n")
    assert cli("show", run.path, "--instance", "x").code == 64
    assert cli("log", run.path, "x").code == 64
    assert cli("log", run.path).out == "said\n"


def test_a_transcript_is_printed_byte_by_byte(session: Path) -> None:
    raw = b"\x1b[31mred\x1b[0m\xff\r\n\ttab\x07no end"
    (session / "instances" / LEAD / "output.log").write_bytes(raw)
    done = subprocess.run(
        [sys.executable, "-m", "runcard", "log", session, "coordinator"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == raw


def test_which_transcript_must_be_said(cli: Cli, session: Path) -> None:
    done = cli("log", session)
    assert (done.code, done.out) == (64, "")
    assert "name one of: coordinator, coder, tester" in done.err


def test_the_only_agent_of_a_session_need_not_be_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.log").write_text("done\n")
    agent = {"instance_id": "a", "name": "a", "role": "general", "model": "m", "status": "completed"}
    agent |= {"created_at": "2025-11-06T14:00:00Z", "output": "agent.log"}
    path = runcard.collect({"team_session_id": "team-1", "instances": [agent]}, artifacts="artifacts").path
    assert cli("log", path).out == "done\n"


@pytest.mark.parametrize("how", ["never", "link", "fifo"])
def test_a_transcript_that_is_not_there(cli: Cli, session: Path, how: str) -> None:
    log = session / "instances" / TESTER / "output.log"
    if how == "link":
        (log.parent / "other.log").write_text("other")
        log.symlink_to("other.log")
    elif how == "fifo":
        os.mkfifo(log)
    done = cli("log", session, "tester")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: there is no transcript of tester\n")


def test_a_transcript_that_was_taken_out(cli: Cli, session: Path) -> None:
    path = f"instances/{LEAD}/output.log"
    runcard.redact(session, files=[path], reason="it has a name", by="ada")
    done = cli("log", session, "coordinator")
    assert done.code == 1
    assert "hint: withheld by 'ada' because it has a name, says the amendment" in done.err


def test_a_transcript_that_the_document_says_lies_elsewhere(cli: Cli, session: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = session / "instances" / LEAD
    (folder / "out").symlink_to(tmp_path)
    for place in ("../../../../secret", str(tmp_path / "secret"), "out/secret"):
        change(folder / "metadata.json", output={"file": place})
        done = cli("log", session, LEAD)
        assert (done.code, done.out) == (1, "")
        assert " is refused: " in done.err
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    for done in (cli("log", session, LEAD), cli("show", session, "--instance", LEAD)):
        assert " is refused: a symbolic link leads out " in done.err


def on_a_terminal(command: list[str | Path], **environ: str) -> str:
    """What a command prints to a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "dumb", **environ},
    )
    os.close(follower)
    printed = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the end, as Linux tells it
            break
        if not part:
            break
        printed += part
    os.close(leader)
    assert process.wait(60) == 0
    return printed.decode()


def test_on_a_terminal_it_is_paged_and_harmless(session: Path) -> None:
    raw = "\x1b[31mred\x1b[0m and \x1b]0;title\x07\ttab \u202eturned\r\nnext".encode() + b"\xff\n"
    (session / "instances" / LEAD / "output.log").write_bytes(raw)
    command: list[str | Path] = [sys.executable, "-m", "runcard", "log", session, "coordinator"]
    printed = on_a_terminal(command, PAGER="sed s/^/:/")
    lines = [line for line in printed.replace("\r\n", "\n").split("\n") if line]
    assert lines == [":red and \\x1b]0;title\\x07\ttab \\u202eturned", ":next\\xff"]


def test_every_agent_is_in_the_tree(cli: Cli, session: Path) -> None:
    out = cli("show", session).out
    assert all(agent["name"] in out for agent in AGENTS)
