"""What can go wrong while a session is recorded: exceptions, threads, wrong arguments, a store that cannot be written."""

import asyncio
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import runcard
from attacks.victims import contents
from conftest import Cli
from files.unprivileged import everybodys_directory, without_rights
from runcard.errors import RuncardWarning, StoreError, UsageError
from runcard.operations.sessions.close_session import close_dead_session
from runcard.recording.heartbeat import HEARTBEAT

KEY = "sk-ant-api03-" + "a" * 93 + "AA"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("RUNCARD_SESSION_DIR", "RUNCARD_SESSION", "RUNCARD_INSTANCE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def statuses(session: runcard.Session) -> dict[str, str]:
    document = json.loads((session.path / "metadata.json").read_bytes())
    return {entry["name"]: entry["status"] for entry in document["instances"]}


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Iterator[Path]:
    """A folder where everybody may write, with an open session of root."""
    with everybodys_directory() as folder:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("RUNCARD_DIRECTORY_MODE", "0777")
        monkeypatch.setenv("RUNCARD_FILE_MODE", "0666")
        for name in ("team-1", "team-2"):
            assert cli("session", "start", name).code == 0
            assert cli("session", "instance", "writer", "--session", name).code == 0
        assert cli("session", "finish", "--session", "team-1").code == 0  # loads what that needs
        for path in (folder / "artifacts", *folder.glob("artifacts/**/*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        yield folder / "artifacts" / ".open"


@pytest.mark.needs("root")
@pytest.mark.parametrize("command", ["finish", "close"])
@pytest.mark.parametrize(("place", "mode"), [(".", 0o1777), (".", 0o755), ("team-2", 0o755)])
def test_a_session_of_another_user_that_i_may_not_remove_is_not_ended(
    shared: Path, cli: Cli, command: str, place: str, mode: int
) -> None:
    """Stored, it would still be open."""
    (shared / place).chmod(mode)
    before = contents(shared.parent)
    with without_rights():
        done = (
            cli("close", "team-2") if command == "close" else cli("session", "finish", "--session", "team-2")
        )
    assert (done.code, contents(shared.parent)) == (1, before)
    assert "the session team-2 belongs to root, and you may not remove it" in done.err
    assert "let root run: runcard close team-2" in done.err
    assert cli("close", "team-2").code == 0


@pytest.mark.needs("root")
def test_who_may_write_everywhere_ends_the_session_of_another_user(shared: Path, cli: Cli) -> None:
    with without_rights():
        done = cli("session", "finish", "--session", "team-2")
    assert (done.code, done.err) == (0, "")
    assert os.listdir(shared) == []


def test_an_exception_passes_and_ends_what_is_open() -> None:
    with pytest.raises(ZeroDivisionError), runcard.Session("team-1") as session:  # noqa: PT012
        session.start_instance("lead")
        with session.start_instance("worker"):
            raise ZeroDivisionError("no")
    assert statuses(session) == {"lead": "error", "worker": "error"}


def test_agents_that_are_open_have_the_error_of_the_session(folder: Path) -> None:
    with pytest.raises(RuntimeError, match="boom"), runcard.Session("team-1") as session:  # noqa: PT012
        session.start_instance("lead")
        own = session.start_instance("worker")
        own.add_error("429")
        session.start_instance("done").finish()
        raise RuntimeError(f"boom {KEY}")
    document = json.loads((session.path / "metadata.json").read_bytes())
    assert {entry["name"]: entry.get("error_message") for entry in document["instances"]} == {
        "lead": "boom [masked:anthropic-key]",
        "worker": "429",
        "done": None,
    }
    assert not any(KEY.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_an_asynchronous_block_is_a_session() -> None:
    async def work() -> runcard.Session:
        async with runcard.Session("team-1") as session, session.start_instance("worker"):
            await asyncio.sleep(0)
        return session

    assert statuses(asyncio.run(work())) == {"worker": "completed"}


def test_threads_share_a_session() -> None:
    with runcard.Session("team-1") as session:

        def work(number: int) -> None:
            found = runcard.current_session()
            assert found is session
            for step in range(20):
                found.event("step", number=number, step=step)
            found.start_instance(f"agent {number}").finish()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(statuses(session)) == 8
    (result,) = runcard.verify(session.path)
    assert result.verdict.findings == ()


def test_a_pickled_session_is_another_writer() -> None:
    program = "import pickle, sys; pickle.load(sys.stdin.buffer).start_instance('kid').finish()"
    with runcard.Session("team-1") as session:
        assert pickle.loads(pickle.dumps(session)) is session  # noqa: S301
        subprocess.run([sys.executable, "-c", program], input=pickle.dumps(session), check=True)
    assert statuses(session) == {"kid": "completed"}


def test_a_forked_child_does_not_end_the_session() -> None:
    with runcard.Session("team-1") as session:
        session.start_instance("lead")
        child = os.fork()
        if not child:
            session.__exit__(None, None, None)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert session.is_open
    assert statuses(session) == {"lead": "completed"}


def test_secrets_reach_no_file() -> None:
    session = runcard.Session("team-1", labels={"note": KEY}).start()
    worker = session.start_instance("worker", labels={"key": KEY})
    worker.log(f"the key is {KEY}")
    worker.event("found", text=KEY, nested=[{"a": KEY}])
    worker.add_error(f"bad key {KEY}")

    def assert_clean() -> None:
        files = [path for path in Path("artifacts").rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if KEY.encode() in path.read_bytes()]

    assert_clean()
    worker.finish("error", f"still {KEY}")
    session.finish()
    assert_clean()
    document = json.loads((session.path / "metadata.json").read_bytes())
    assert {entry["rule"] for entry in document["audit"]["redactions"]}


@pytest.mark.parametrize(
    "session_id", ["", " ", "../up", "a/b", ".hidden", "x" * 129, "a\nb", "\x00", KEY, None, 3]
)
def test_an_id_that_cannot_be_a_name_is_refused(session_id: str) -> None:
    with pytest.raises(UsageError):
        runcard.Session(session_id)
    assert not Path("artifacts").exists()


def test_wrong_arguments_raise_at_once() -> None:
    with runcard.Session("team-1") as session:
        worker = session.start_instance("worker", instance_id="w-1", output="out.txt")
        for arguments in (
            {"name": ""},
            {"name": "x", "parent": "nobody"},
            {"name": "x", "parent": 3},
            {"name": "x", "instance_id": "../x"},
            {"name": "x", "instance_id": "w-1"},
            {"name": "x", "workspace": f"work/{KEY}"},
            {"name": "x", "workspace": 3},
            {"name": "x", "labels": 3},
        ):
            with pytest.raises(UsageError):
                session.start_instance(**arguments)
        with pytest.raises(UsageError):
            worker.log("its output is a file")
        with pytest.raises(UsageError):
            worker.event("session.ended")
        with pytest.raises(UsageError):
            worker.finish("done")
        Path("out.txt").write_text("printed\n")
        worker.finish()
        with pytest.raises(UsageError):
            worker.finish()
    assert statuses(session) == {"worker": "completed"}
    assert (session.path / "instances" / "w-1" / "output.log").read_text() == "printed\n"


def test_without_a_store_the_code_goes_on() -> None:
    Path("artifacts").write_text("a file")
    with pytest.warns(RuncardWarning, match="not recorded"), runcard.Session("team-1") as session:  # noqa: PT031
        worker = session.start_instance("worker")
        worker.log("hello")
        worker.finish()
    with pytest.raises(runcard.RuncardError), runcard.Session("team-1", strict=True):
        pass


def test_a_session_that_is_refused_leaves_the_open_one_of_its_id_alone() -> None:
    first = runcard.Session("team-1").start()
    first.start_instance("worker")
    with pytest.warns(RuncardWarning, match="not recorded: the session team-1 is open already"):
        second = runcard.Session("team-1").start()
    assert not os.path.lexists(second.path)
    assert second.finish() is None
    assert list(HEARTBEAT._beats) == [f"session {first.path}"]
    assert runcard.current_session() is first
    with runcard.record() as run:
        pass
    first.finish()
    document = json.loads((first.path / "metadata.json").read_bytes())
    assert document["relations"] == [{"type": "run", "id": run.id}]


def test_a_session_that_cannot_be_stored_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: there is a warning, and closing it later stores it."""
    session = runcard.Session("team-1").start()
    session.start_instance("worker").finish()
    with monkeypatch.context() as patch:
        patch.setenv("ARTIFACTS_MAX_SIZE_GB", "1")
        patch.setattr("runcard.operations.archives.candidates.store_size", lambda _: 10**10)
        blocked = runcard.Session("team-2").start()
        blocked.start_instance("worker").finish()
        with pytest.warns(RuncardWarning, match="limit exceeded"):
            assert blocked.finish() is None
    session.finish()
    assert os.listdir("artifacts/.open") == ["team-2"]
    assert close_dead_session("artifacts/.open/team-2").document.session_id == "team-2"


def test_calls_that_could_not_be_written_make_the_cost_unknown() -> None:
    """As on a disk that is full for a while: an agent whose start was lost is in the session all the same."""
    program = """
import resource, runcard, sys
sys.dont_write_bytecode = True
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
call = {"input_tokens": 100, "output_tokens": 20}
with runcard.Session("team-1") as session:
    first = session.start_instance("first", model="gpt-4o", provider="openai")
    first.add_usage(call)
    limit(10)
    first.add_usage(call)
    second = session.start_instance("second", model="gpt-4o", provider="openai")
    limit(resource.RLIM_INFINITY)
    second.add_usage(call)
print(session.path)
"""
    words = [sys.executable, "-W", "ignore", "-c", program]
    path = Path(subprocess.run(words, capture_output=True, check=True, text=True).stdout.strip())
    document = json.loads((path / "metadata.json").read_bytes())
    first, second = document["instances"]
    assert ("cost" in first, first["known_cost"] > 0, second["cost"] > 0) == (False, True, True)
    assert "total_cost" not in document["execution_summary"]
    (result,) = runcard.verify(path)
    assert result.verdict.findings == ()


def test_what_comes_late_is_a_warning() -> None:
    with runcard.Session("team-1") as session:
        worker = session.start_instance("worker")
    with pytest.warns(RuncardWarning, match="closed"):
        worker.log("late")
    with pytest.warns(RuncardWarning, match="closed"):
        worker.event("late")


def test_a_session_without_agents_is_not_stored() -> None:
    with pytest.warns(RuncardWarning, match="No instances found"), runcard.Session("team-1") as session:
        session.event("nothing")
    assert os.listdir("artifacts/.open") == []


def test_two_of_one_id_are_refused_and_names_are_reserved() -> None:
    with runcard.Session("team-1") as session:
        session.start_instance("worker")
        with pytest.raises(StoreError, match="open already"), runcard.Session("team-1", strict=True):
            pass
        spec = {
            "team_session_id": "team-1",
            "instances": [{"name": "a", "status": "completed", "created_at": "2026-01-01T00:00:00Z"}],
        }
        collected = runcard.collect(spec).path
    assert collected.name != session.path.name
    assert statuses(session) == {"worker": "completed"}


def test_a_run_inside_names_its_session_and_its_calls_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNCARD_CATALOG", str(Path("catalog.db").absolute()))
    reply = {
        "id": "msg_1",
        "type": "message",
        "model": "claude-sonnet-4-5-20250929",
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1000, "output_tokens": 200},
    }
    with (
        runcard.Session("team-1") as session,
        session.start_instance("worker", provider="anthropic") as worker,
    ):
        with runcard.record(provider="anthropic") as run:
            run.add_usage(reply)
            run.add_usage(reply | {"id": "msg_2"})
        worker.add_usage(reply)
    document = json.loads((session.path / "metadata.json").read_bytes())
    assert document["relations"] == [{"type": "run", "id": run.id}]
    assert document["metered_runs"] == [{"run_id": run.id, "calls_in_both": 1, "only_metered": 1}]
    (entry,) = document["instances"]
    assert (entry["calls"], entry["tokens_used"]) == (2, 2400)
    relation = {"type": "session", "id": "team-1", "instance_id": worker.id}
    assert json.loads((run.path / "metadata.json").read_bytes())["relations"] == [relation]
    words = [sys.executable, "-m", "runcard", "costs", "--json"]
    costs = json.loads(subprocess.run(words, capture_output=True, check=False).stdout)
    assert costs["totals"]["calls"] == 2


_FORGOTTEN = """
import runcard, sys
session = runcard.Session("team-1", artifacts="artifacts").start()
session.start_instance("worker", workspace="work")
{}
"""


@pytest.mark.parametrize(
    ("end", "status", "code", "warnings"),
    [
        ("", "terminated", 0, 1),
        ("raise ValueError('no')", "error", 1, 0),
        ("sys.exit(3)", "terminated", 3, 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "terminated", -15, 0),
    ],
)
def test_a_session_that_is_not_finished_is_closed_when_the_program_ends(
    folder: Path, end: str, status: str, code: int, warnings: int
) -> None:
    (folder / "work").mkdir()
    for number in range(50):
        (folder / "work" / f"{number}.txt").write_text("made")
    done = subprocess.run(
        [sys.executable, "-c", _FORGOTTEN.format(end)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert done.stderr.count("call session.finish()") == warnings
    (path,) = (folder / "artifacts").glob("2*")
    document = json.loads((path / "metadata.json").read_bytes())
    assert [entry["status"] for entry in document["instances"]] == [status]
    assert len([*path.glob("**/work*/**/*.txt"), *path.glob("**/workspace*/**/*.txt")]) >= 50
    lines = [json.loads(line) for line in (path / "audit.jsonl").read_bytes().splitlines()]
    notes = [line["payload"]["type"] for line in lines if line["event"] == "warning.added"]
    assert notes == ["not-finished"] * warnings
    (result,) = runcard.verify(path)
    assert result.verdict.findings == ()
