"""Hooks: what they note, and how the noted sessions get into the store, once, with sub-agents, and whatever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from runcard.agent_setup import hook_note
from runcard.agent_setup.notes import is_pending, locked_note, read_note, read_notes, read_result
from runcard.agent_setup.tools import SETUPS
from runcard.operations.agents.catch_up import catch_up, catch_up_session
from runcard.operations.agents.install import own_commands
from runcard.operations.sessions.import_sessions import import_sessions
from runcard.store.remove_tree import remove_tree
from sessions.importing.sample_sessions import (
    FIRST,
    FORK,
    reply,
    said,
    session_with_sub_agent,
    text,
    tool_use,
)
from sessions.importing.test_metered_runs import metered_run
from transcripts.session_files import claude, usage
from waiting import wait_until

Json = dict[str, Any]
NAME = f"claude-code-{FIRST}"


@pytest.fixture(autouse=True)
def work(here: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the agent works; its home is that of the user."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    for name in ("CLAUDE_PROJECT_DIR",):
        monkeypatch.delenv(name, raising=False)
    return here


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks note, and start nothing: the test does what they would start."""
    monkeypatch.setattr(hook_note, "_start", lambda _: None)


def transcript(home: Path, session: str = FIRST) -> Path:
    return home / ".claude" / "projects" / "-home-u-shop" / f"{session}.jsonl"


def event(home: Path, name: str, session: str = FIRST, **more: Any) -> bytes:
    """What Claude Code passes to a hook."""
    facts = {"session_id": session, "transcript_path": str(transcript(home, session)), "cwd": os.getcwd()}
    return json.dumps(facts | {"hook_event_name": name} | more).encode()


def note(home: Path, name: str, session: str = FIRST) -> None:
    hook_note.note("claude-code", name, event(home, name, session))


def run_hook(home: Path, name: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """The command line that `install` writes, as an agent runs it."""
    line = own_commands().hook_line("claude-code", name)
    return subprocess.run(
        ["sh", "-c", line],
        input=event(home, name) if data is None else data,
        capture_output=True,
        check=False,
    )


def wait_for_result(name: str = NAME) -> None:
    """Until the process that a hook started is done."""

    def is_done() -> bool:
        known, result = read_note(name), read_result(name)
        if not (known and result and result.digest == known.digest):
            return False
        with locked_note(name) as is_free:
            return is_free

    wait_until(is_done, "the import of the session")


def stored(work: Path) -> dict[str, list[Json]]:
    """The team documents in the store, by session."""
    found: dict[str, list[Json]] = {}
    for path in sorted((work / "artifacts").glob("*/metadata.json")):
        document = json.loads(path.read_bytes())
        found.setdefault(document["team_session_id"], []).append(document)
    return found


def only(work: Path, session: str = FIRST) -> Json:
    (document,) = stored(work)[session]
    return document


def add_line(path: Path, record: Json) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def is_complete(document: Json) -> bool:
    """Whether a record has all that its session files have now."""
    digests = {sha256(Path(source["source"]).read_bytes()).hexdigest() for source in document["sources"]}
    return {source["sha256"] for source in document["sources"]} == digests


def test_a_hook_imports_the_session_prints_nothing_and_returns(cli: Cli, work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    done = run_hook(home, "Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    wait_for_result()
    document = only(work)
    assert document["recorded_by"] == ["hook"]
    assert len(document["instances"]) == 2
    assert is_complete(document)
    assert cli("verify", "artifacts").code == 0
    assert cli("validate", "artifacts").code == 0


@pytest.mark.parametrize(
    "data",
    [b"", b"not json", b"[]", b"{}", b'{"session_id": 5}', b'{"session_id": ""}', b'{"session_id": "../../x"}', b"\xff\xfe",
     b'{"session_id": "' + b"x" * 5000 + b'"}', b"[" * 100_000],
)  # fmt: skip
def test_whatever_an_agent_passes_a_hook_succeeds_and_is_silent(home: Path, data: bytes) -> None:
    done = run_hook(home, "Stop", data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (home / "x").exists()


def test_a_hook_whose_program_is_gone_succeeds_and_is_silent() -> None:
    line = (
        own_commands()
        ._replace(hook=("/nowhere/python", "/nowhere/hook_note.py"))
        .hook_line("claude-code", "Stop")
    )
    done = subprocess.run(["sh", "-c", line], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hook_without_a_place_for_its_note_succeeds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "file"))
    assert run_hook(home, "Stop").returncode == 0


@pytest.mark.usefixtures("quiet")
def test_a_note_has_nothing_that_was_said(home: Path) -> None:
    data = event(
        home,
        "UserPromptSubmit",
        prompt="my secret plan",
        last_assistant_message="my secret answer",
        tool_input={"a": "b"},
    )
    hook_note.note("claude-code", "UserPromptSubmit", data)
    folder = home / ".local/state/runcard/hooks"
    texts = [path.read_text() for path in folder.iterdir()]
    assert len(texts) == 1
    assert "secret" not in texts[0]
    assert {line.split(" ")[0] for line in texts[0].splitlines()} == {
        *("tool", "session", "event", "folder", "transcript", "run", "time")
    }
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


@pytest.mark.usefixtures("quiet")
def test_a_note_keeps_uncommon_names() -> None:
    folder = "/home/a \\n b\nc\rd é\x85\u2028\x0btool other"
    data = json.dumps({"session_id": "a/b c", "cwd": folder, "transcript_path": "x"}).encode()
    hook_note.note("codex", "Stop", data)
    (found,) = read_notes()
    assert (found.tool, found.session, found.folder) == ("codex", "a/b c", folder)


def test_a_hook_imports_almost_nothing(home: Path) -> None:
    """An agent waits for it: `json`, `re`, `subprocess` or runcard would double its time."""
    python, *options, script = own_commands().hook
    probe = [python, *options, "-X", "importtime", script, "claude-code", "session.busy"]
    done = subprocess.run(probe, input=event(home, "Stop"), capture_output=True, check=True)
    names = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert not names & {"json", "re", "enum", "subprocess", "signal", "hashlib", "typing", "runcard", "site"}
    assert next(read_notes()).session == FIRST


@pytest.mark.usefixtures("quiet")
def test_a_session_that_grows_is_one_record(work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    note(home, "Stop")
    catch_up_session(NAME)
    first = only(work)
    add_line(transcript(home), reply("msg_9", 7, text("More.")))
    note(home, "SessionEnd")
    catch_up_session(NAME)
    assert only(work)["instances"][0]["calls"] == first["instances"][0]["calls"] + 1
    assert is_complete(only(work))


@pytest.mark.usefixtures("quiet")
def test_what_the_last_hook_did_not_see_is_imported_at_the_next_start(work: Path, home: Path) -> None:
    """An agent that is killed has written more than its last hook has seen."""
    session_with_sub_agent(home / ".claude")
    note(home, "Stop")
    catch_up_session(NAME)
    add_line(transcript(home), reply("msg_9", 7, text("More.")))
    sub_agent = next((home / ".claude").rglob("agent-*.jsonl"))
    add_line(sub_agent, reply("msg_10", 8, text("Side."), isSidechain=True, agentId="a1b2c3d4"))
    assert not is_complete(only(work))
    note(home, "SessionStart", FORK)  # another session; its own file is not there yet
    assert catch_up().imported == [FIRST]
    assert is_complete(only(work))
    assert list(stored(work)) == [FIRST]
    assert catch_up().imported == []


@pytest.mark.usefixtures("quiet")
def test_doctor_imports_what_was_left_and_says_so(cli: Cli, work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    note(home, "SessionStart")
    outcome = cli("doctor")
    assert "1 session noted, 1 session imported now" in outcome.out
    assert is_complete(only(work))
    assert json.loads(cli("doctor", "--json").out)["hooks"]["imported"] == []


@pytest.mark.usefixtures("quiet")
def test_a_session_that_cannot_be_imported_is_named_and_tried_again(cli: Cli, work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    (work / "artifacts").write_text("in the way")
    note(home, "Stop")
    catch_up_session(NAME)
    assert "was not imported" in cli("doctor").err
    (work / "artifacts").unlink()
    assert "1 session imported now" in cli("doctor").out
    assert is_complete(only(work))


@pytest.mark.usefixtures("quiet")
def test_several_sessions_of_one_project_a_fork_and_a_session_over_two_days(
    cli: Cli, work: Path, home: Path
) -> None:
    session_with_sub_agent(home / ".claude")
    fork = [
        said("Again", 1, session=FORK),
        reply("msg_1", 0, text("x"), session=FORK),
        reply("msg_20", 9, text("y"), session=FORK),
    ]
    claude(home / ".claude", *fork, name=f"{FORK}.jsonl")
    for session in (FIRST, FORK):
        note(home, "Stop", session)
    assert sorted(catch_up().imported) == [FIRST, FORK]
    late = reply("msg_21", 0, text("next day"), session=FORK) | {"timestamp": "2026-11-03T09:00:00.000Z"}
    add_line(transcript(home, FORK), late)
    note(home, "SessionStart", FORK)  # resumed
    assert catch_up().imported == [FORK]
    assert {session: len(documents) for session, documents in stored(work).items()} == {FIRST: 1, FORK: 1}
    calls = sum(agent["calls"] for session in (FIRST, FORK) for agent in only(work, session)["instances"])
    whole = import_sessions("claude-code", [home / ".claude"], artifacts="all").sessions
    assert calls == sum(
        agent["calls"] for each in whole if each.document for agent in each.document.to_dict()["instances"]
    )
    assert only(work, FORK)["origin_session"]["ended"].startswith("2026-11-03")
    assert cli("verify", "artifacts").code == 0


@pytest.mark.usefixtures("quiet")
def test_two_processes_import_a_session_once(work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    note(home, "Stop")
    command = [sys.executable, "-P", "-m", "runcard", "hook", "--catch-up", "--only", NAME]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert is_complete(only(work))


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "wait", [0.3, *(pytest.param(wait, marks=pytest.mark.long) for wait in (0.05, 0.15, 0.45, 0.6))]
)
def test_an_import_that_is_killed_is_done_by_the_next(cli: Cli, work: Path, home: Path, wait: float) -> None:
    session_with_sub_agent(home / ".claude")
    note(home, "Stop")
    command = [sys.executable, "-P", "-m", "runcard", "hook", "--catch-up", "--only", NAME]
    process = subprocess.Popen(command)
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    process.wait()
    catch_up()
    assert is_complete(only(work))
    assert cli("verify", "artifacts").code == 0


@pytest.mark.usefixtures("quiet")
def test_a_session_stays_in_its_store(work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    note(home, "Stop")
    catch_up_session(NAME)
    add_line(transcript(home), reply("msg_9", 7, text("More.")))
    (work / "elsewhere").mkdir()
    os.chdir(work / "elsewhere")  # an agent that changed its folder
    note(home, "SessionEnd")
    catch_up()
    assert is_complete(only(work))
    assert not (work / "elsewhere" / "artifacts").exists()


@pytest.mark.usefixtures("quiet")
def test_a_record_names_all_ways_in_which_the_session_was_seen(cli: Cli, work: Path, home: Path) -> None:
    """By a hook, by a run that metered it, by an agent that used the MCP server, and by an import."""
    use = tool_use("mcp__runcard__list_records", "t1")
    claude(home / ".claude", said("Hi", 0), reply("msg_1", 1, use, stop="tool_use"), name=f"{FIRST}.jsonl")
    note(home, "Stop")
    catch_up_session(NAME)
    assert only(work)["recorded_by"] == ["hook", "mcp"]
    metered_run(("msg_1", usage(), None), ("msg_title", usage(output=7), None))
    assert cli("import", "claude-code", "--session", FIRST).code == 0
    document = only(work)
    assert document["recorded_by"] == ["hook", "import", "mcp", "meter"]
    assert [run["only_metered"] for run in document["metered_runs"]] == [1]
    assert cli("import", "claude-code", "--session", FIRST).err.startswith("0 sessions imported, 1 unchanged")
    assert cli("validate", "artifacts").code == 0


@pytest.mark.usefixtures("quiet")
def test_a_session_inside_a_run_is_joined_with_it_when_the_run_is_closed(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(home / ".claude", said("Hi", 0), reply("msg_1", 1, text("x")), name=f"{FIRST}.jsonl")
    run = runcard.start("outputs")
    with monkeypatch.context() as patch:
        patch.setenv("RUNCARD_RUN_DIR", str(run.path))
        note(home, "SessionEnd")
    catch_up()
    assert "metered_runs" not in only(work)
    assert catch_up().imported == []
    run.finish()
    metered_run(("msg_1", usage(), None))
    catch_up()
    assert only(work)["recorded_by"] == ["hook", "meter"]


@pytest.mark.usefixtures("quiet")
def test_frequent_events_do_not_import_a_long_session_again_and_again(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_with_sub_agent(home / ".claude")
    note(home, "Stop")
    catch_up_session(NAME)
    add_line(transcript(home), reply("msg_9", 7, text("More.")))
    note(home, "Stop")
    catch_up_session(NAME)  # too soon
    assert not is_complete(only(work))
    found = read_note(NAME)
    assert found is not None
    assert is_pending(found, read_result(NAME))
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    catch_up_session(NAME)
    assert is_complete(only(work))


@pytest.mark.usefixtures("quiet")
def test_what_became_of_a_session_with_many_files_is_read_back(work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    folder = transcript(home).with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    for number in range(700):
        (folder / f"{number:04}-{'x' * 60}.txt").write_text("a result")
    note(home, "Stop")
    catch_up_session(NAME)
    found, outcome = read_note(NAME), read_result(NAME)
    assert found is not None
    assert outcome is not None
    assert (outcome.action, is_pending(found, outcome)) == ("imported", False)
    (folder / "another.txt").write_text("a result")
    assert is_pending(found, outcome)
    assert only(work)


@pytest.mark.usefixtures("quiet")
def test_a_link_in_place_of_the_folder_of_a_session_is_not_followed(home: Path, tmp_path: Path) -> None:
    session_with_sub_agent(home / ".claude")
    elsewhere = tmp_path / "disk"
    elsewhere.mkdir()
    folder = transcript(home).with_suffix("")
    if folder.exists():
        folder.rename(tmp_path / "moved")
    folder.symlink_to(elsewhere)
    note(home, "Stop")
    found = read_note(NAME)
    assert found is not None
    before = found.files_digest()
    (elsewhere / "other").write_text("of nobody's session")
    assert found.files_digest() == before


@pytest.mark.usefixtures("quiet")
def test_a_folder_of_a_session_can_be_deep(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session_with_sub_agent(home / ".claude")
    note(home, "Stop")
    found = read_note(NAME)
    assert found is not None
    before = found.files_digest()
    folder = transcript(home).with_suffix("")
    folder.mkdir(exist_ok=True)
    with monkeypatch.context() as inside:
        inside.chdir(folder)
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        Path("x").write_text("")
    assert found.files_digest() != before
    remove_tree(str(folder))  # that of Python may be too deep for pytest


@pytest.mark.usefixtures("quiet")
def test_the_files_of_a_session_are_looked_at_up_to_a_limit(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_with_sub_agent(home / ".claude")
    folder = transcript(home).with_suffix("") / "zz"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"{number:02}").write_text("")
    note(home, "Stop")
    found = read_note(NAME)
    assert found is not None
    looked: list[str] = []
    look = os.lstat

    def counted(path: str, **more: Any) -> os.stat_result:
        looked.append(str(path))
        return look(path, **more)

    monkeypatch.setattr("runcard.agent_setup.notes._MOST_FILES", 10)
    with monkeypatch.context() as counting:
        counting.setattr(os, "lstat", counted)
        found.files_digest()
    assert len([path for path in looked if path.startswith(str(home))]) < 20


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "facts",
    ['"cwd": "/home/\\ud800"', '"cwd": "/home/u", "tool_input": {"n": ' + "7" * 5000 + "}"],
)
def test_an_event_with_odd_values_is_noted(home: Path, facts: str) -> None:
    path = json.dumps(str(transcript(home)))
    data = f'{{"session_id": "{FIRST}", "transcript_path": {path}, {facts}}}'
    hook_note.note("claude-code", "Stop", data.encode())
    found = read_note(NAME)
    assert found is not None
    assert (found.event, found.transcript) == ("Stop", str(transcript(home)))
    assert found.folder.startswith("/home/")


@pytest.mark.usefixtures("quiet")
def test_a_hostile_folder_cannot_change_what_is_run(work: Path, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    (work / "runcard").mkdir()
    (work / "runcard" / "__init__.py").write_text("open('taken', 'w')")
    (work / "json.py").write_text("open('taken', 'w')")
    note(home, "Stop")
    catch_up()
    assert is_complete(only(work))
    assert not (work / "taken").exists()


def test_events_have_a_meaning() -> None:
    known = {
        "SessionStart",
        "Stop",
        "SubagentStop",
        "SessionEnd",
        "AfterAgent",
        "session.created",
        "session.busy",
        "session.idle",
    }
    assert {name for setup in SETUPS.values() for name in setup.events} == known


def test_the_import_of_a_hook_reads_only_files_that_can_have_calls_of_the_session(home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    other = claude(home / ".claude", reply("msg_90", 0, text("x"), session=FORK), name=f"{FORK}.jsonl")
    with other.open("ab") as file:
        file.write(b'{"type": "assistant", "message": {"usage"\n')  # which whoever reads it reports
    whole = import_sessions("claude-code", [home / ".claude"], artifacts="all")
    assert [part.path for part in whole.unread] == [str(other)]
    for changed, is_read in (("2026-10-01", False), ("2026-11-20", True)):  # before and after the session
        moment = datetime.fromisoformat(f"{changed}T00:00:00+00:00").timestamp()
        os.utime(other, (moment, moment))
        report = import_sessions("claude-code", session=FIRST, artifacts=changed, recorded_by="hook")
        assert bool(report.unread) is is_read
        (stored_one,) = report.sessions
        (same,) = (each for each in whole.sessions if each.session == FIRST)
        assert stored_one.document is not None
        assert same.document is not None
        documents = [each.to_dict() for each in (stored_one.document, same.document)]
        assert documents[0]["execution_summary"] == documents[1]["execution_summary"]
        assert documents[0]["sources"] == documents[1]["sources"]


def test_the_imports_of_hooks_are_nothing_that_a_command_left_behind(home: Path) -> None:
    """A run whose last step was an agent with hooks said that processes were left, and to switch the meter off."""
    session_with_sub_agent(home / ".claude")
    (home / "event").write_bytes(event(home, "Stop"))
    line = f"{{ {own_commands().hook_line('claude-code', 'Stop')}; }} <{home}/event"
    assert warnings_of_run(line) == []
    left = warnings_of_run(f"{line}; sleep 60 & echo $! >{home}/pid")
    os.kill(int((home / "pid").read_text()), signal.SIGKILL)
    assert [warning.partition(",")[0] for warning in left] == ["the command left a process running"]
    wait_until(lambda: read_result(NAME) is not None, "the import of the session")


def warnings_of_run(script: str) -> list[str]:
    command = [sys.executable, "-m", "runcard", "run", "--outputs", "runs", "--", "sh", "-c", script]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return [line.removeprefix("Warning: ") for line in done.stderr.splitlines() if "Warning: " in line]
