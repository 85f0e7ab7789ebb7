"""A cloned repository, or a shared folder, has an open run or session in a store: closing it copies no files of the user's,
and signs nothing in the user's name."""

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import runcard
from attacks.command_server import runcard as command
from attacks.victims import contents
from conftest import Cli
from mcp_server.answers import Tools
from runcard.errors import RuncardError
from runcard.operations.checks.doctor import doctor
from runcard.operations.runs.close import close_one
from runcard.operations.sessions.collect_team import collect_team, collect_team_artifacts
from runcard.operations.sessions.shell_session import join_session, start_session
from runcard.operations.signatures.keygen import keygen
from runcard.store import layout
from runcard.store.runs.config_file import remove_config, write_config

TEXT = "the victim's own text"
REASON = "was not stored: it is not known that you named it"
As = Callable[[str], None]


@pytest.fixture
def home(here: Path) -> Path:
    """A folder of the user's that no repository may get."""
    (here / "home").mkdir()
    (here / "home" / "thesis.txt").write_text(TEXT)
    (here / "home" / "transcript.log").write_text(TEXT)
    return here / "home"


@pytest.fixture
def as_user(here: Path, monkeypatch: pytest.MonkeyPatch) -> As:
    """Become a user: each has a state folder of their own, and so a key."""

    def become(name: str) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(here / "state" / name))

    return become


@pytest.fixture
def planted(here: Path, home: Path, as_user: As) -> Path:
    """An open session that a stranger has put into the store; it belongs to no process."""
    as_user("mallory")
    record_session(here / "artifacts", home)
    as_user("alice")
    return layout_live(here)


def layout_live(here: Path) -> Path:
    return here / "artifacts" / ".open" / "team-1"


def record_session(
    store: Path, workspace: Path, output: Path | None = None, agent_id: str = "coder-1"
) -> None:
    """Start a session with one agent that names these files."""
    start_session("team-1", artifacts=str(store))
    session = join_session("team-1", str(store))
    output = output or workspace / "transcript.log"
    session.start_instance("coder", workspace=workspace, output=output, instance_id=agent_id)


def write_spec(session_id: str, workspace: Path) -> None:
    """A SPEC of one agent, in the folder `specs` of the current directory."""
    agent = {"name": "coder", "status": "completed", "workspace": str(workspace)}
    times = {"created_at": "2025-11-06T14:00:00Z", "terminated_at": "2025-11-06T14:01:00Z"}
    Path("specs").mkdir(exist_ok=True)
    spec = {"team_session_id": session_id, "instances": [agent | times]}
    Path("specs", f"{session_id}.json").write_text(json.dumps(spec))


def kill_owner(live: Path) -> None:
    """Make it a session whose process is gone."""
    start = json.loads((live / "session.json").read_bytes())
    start["process"] = {"pid": 2**22 - 1, "host": os.uname().nodename, "boot_id": None, "started": None}
    (live / "session.json").write_text(json.dumps(start))


def in_killed_process(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(9)
    os.waitpid(child, 0)


def assert_nothing_taken(store: Path) -> None:
    assert not [name for name, data in contents(store).items() if TEXT.encode() in data]
    assert not list(store.glob("2*/instances/*/workspace"))


@pytest.mark.parametrize(
    "arguments", [("close", "team-1"), ("collect", "team-1"), ("session", "finish", "--session", "team-1")]
)
def test_closing_copies_nothing_that_a_strangers_session_names(
    cli: Cli, here: Path, planted: Path, arguments: tuple[str, ...]
) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert f"coder: the workspace {REASON}" in done.err
    assert f"coder: {here}/home/transcript.log {REASON}" in done.err
    assert not planted.exists()
    assert_nothing_taken(here / "artifacts")
    (verdict,) = (result.verdict for result in runcard.verify(next((here / "artifacts").glob("2*"))))
    assert verdict.findings == ()


def test_doctor_names_a_dead_session_that_may_be_somebody_elses(planted: Path) -> None:
    kill_owner(planted)
    warnings = [warning for warning in doctor().warnings() if "team-1" in warning.message]
    assert [warning.message.split(":")[0] for warning in warnings] == [
        "1 open session is not known to be yours"
    ]
    assert "runcard close --trust artifacts/.open/team-1" in str(warnings[0].hint)


def test_closing_all_leaves_a_dead_session_open_that_may_be_somebody_elses(
    cli: Cli, here: Path, planted: Path
) -> None:
    kill_owner(planted)
    before = contents(here / "artifacts")
    done = cli("close")
    assert done.code == 2
    assert f"{planted} is not closed: it is not known to be yours" in done.err
    assert f"if it is yours: runcard close --trust {planted}" in done.err
    assert contents(here / "artifacts") == before
    closed = json.loads(cli("close", "--json").out)["runs"]
    assert [(run["closed"], run["status"]) for run in closed] == [(False, "interrupted")]
    assert cli("close", "--trust", planted).code == 0
    assert len(list((here / "artifacts").glob("2*/instances/*/workspace/thesis.txt"))) == 1


@pytest.mark.parametrize("whose", ["mine", "a stranger's"])
def test_closing_all_leaves_my_session_open_if_an_agent_may_be_somebody_elses(
    cli: Cli, here: Path, home: Path, as_user: As, whose: str
) -> None:
    as_user("alice")
    in_killed_process(
        lambda: runcard.Session("team-1", strict=True).start().start_instance("coder", workspace=home)
    )
    as_user("alice" if whose == "mine" else "mallory")
    in_killed_process(lambda: join_session("team-1").start_instance("writer", workspace=home))
    as_user("alice")
    done = cli("close")
    assert (done.code, layout_live(here).exists()) == ((0, False) if whose == "mine" else (2, True))


@pytest.mark.parametrize("whose", ["mine", "a stranger's"])
def test_closing_all_leaves_a_strangers_session_open_that_names_no_file(
    cli: Cli, here: Path, as_user: As, whose: str
) -> None:
    """It would be stored without a signature."""
    as_user("alice" if whose == "mine" else "mallory")
    in_killed_process(lambda: runcard.Session("team-1", strict=True).start().start_instance("coder"))
    as_user("alice")
    done = cli("close")
    assert (done.code, layout_live(here).exists()) == ((0, False) if whose == "mine" else (2, True))


@pytest.mark.usefixtures("planted")
def test_the_library_copies_nothing_either(here: Path) -> None:
    (result,) = runcard.close("team-1")
    assert result.closed
    assert sum(REASON in warning for warning in result.warnings) == 2
    assert_nothing_taken(here / "artifacts")


@pytest.mark.usefixtures("planted")
def test_trust_says_that_a_session_is_mine(cli: Cli, here: Path) -> None:
    assert cli("close", "--trust").code == 64
    done = cli("close", "--trust", "team-1")
    assert (done.code, done.err) == (0, "")
    (copy,) = (here / "artifacts").glob("2*/instances/*/workspace/thesis.txt")
    assert copy.read_text() == TEXT


def test_my_own_session_is_closed_with_all_that_it_names(
    cli: Cli, here: Path, home: Path, as_user: As
) -> None:
    as_user("alice")
    record_session(here / "artifacts", home)
    assert [warning for warning in doctor().warnings() if "team-1" in warning.message] == []
    assert cli("close", "team-1").code == 0
    assert len(list((here / "artifacts").glob("2*/instances/*/workspace/thesis.txt"))) == 1
    assert len(list((here / "artifacts").glob("2*/instances/*/output.log"))) == 1


def test_a_session_of_a_program_that_was_killed_is_closed_with_its_files(
    cli: Cli, here: Path, home: Path
) -> None:
    in_killed_process(
        lambda: (
            runcard.Session("team-1", strict=True)
            .start()
            .start_instance("coder", workspace=home)
            .log("hello")
        )
    )
    assert layout.live_sessions("artifacts")
    assert cli("close").code == 0
    assert len(list((here / "artifacts").glob("2*/instances/*/workspace/thesis.txt"))) == 1


def test_a_clone_with_nothing_but_an_open_session_is_named(here: Path, planted: Path) -> None:
    """Git keeps no empty folders: such a store has no `.runcard`."""
    shutil.rmtree(here / "artifacts/.runcard", ignore_errors=True)
    assert os.listdir(here / "artifacts") == [planted.parent.name]
    (warning,) = (warning for warning in doctor().warnings() if "team-1" in warning.message)
    assert "runcard close --trust artifacts/.open/team-1" in str(warning.hint)


def test_without_a_key_a_session_says_so_at_its_start(
    cli: Cli, here: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "file"))
    started = cli("session", "start", "team-1")
    assert (started.code, "runcard close --trust team-1" in started.err) == (0, True)
    join_session("team-1").start_instance("coder", workspace=home)
    with runcard.Session("team-2", strict=True) as session:  # a program knows what it has named
        session.start_instance("coder", workspace=home)
    assert cli("close", "team-1").code == 2
    assert len(list((here / "artifacts").glob("2*-team-2/instances/*/workspace/thesis.txt"))) == 1
    assert len(list((here / "artifacts").glob("2*-team-1/instances/*/workspace"))) == 0


def test_a_copy_of_my_open_session_is_not_mine(cli: Cli, here: Path, home: Path, as_user: As) -> None:
    """It was committed while it was open, or somebody else kept it: the same session at the same path."""
    as_user("alice")
    record_session(here / "artifacts", home)
    live = layout_live(here)
    shutil.copytree(live, here / "kept")
    os.link(live / "events.jsonl", here / "original")  # its number is not free
    assert cli("close", "team-1").code == 0
    (stored,) = (here / "artifacts").glob("2*")
    shutil.rmtree(stored)
    shutil.copytree(here / "kept", live)
    assert cli("close", "team-1").code == 2
    assert_nothing_taken(here / "artifacts")


def test_the_codes_in_a_closed_session_are_worth_nothing(
    cli: Cli, here: Path, home: Path, as_user: As
) -> None:
    as_user("alice")
    record_session(here / "artifacts", home)
    start = (layout_live(here) / "session.json").read_bytes()
    os.link(layout_live(here) / "events.jsonl", here / "original")  # its number is not free
    assert cli("close", "team-1").code == 0
    (stored,) = (here / "artifacts").glob("2*")
    lines = (stored / "audit.jsonl").read_bytes().splitlines(keepends=True)
    shutil.rmtree(stored)
    live = layout_live(here)
    live.mkdir()
    (live / "session.json").write_bytes(start)
    (live / "events.jsonl").write_bytes(b"".join(lines[:2]))
    assert b'"mac"' in lines[0]
    assert b'"mac"' in lines[1]
    assert cli("close", "team-1").code == 2
    assert_nothing_taken(here / "artifacts")


@pytest.mark.parametrize("change", ["path", "agent", "session", "none", "earlier"])
def test_a_stranger_adds_an_agent_to_my_session(
    cli: Cli, here: Path, home: Path, as_user: As, change: str
) -> None:
    """In a shared folder: with a code that they could read there, or with that of another session of mine."""
    as_user("alice")
    (here / "work").mkdir()
    (here / "work" / "result.txt").write_text("result\n")
    record_session(here / "other", home, here / "work" / "result.txt", agent_id="coder-2")
    record_session(here / "artifacts", here / "work", here / "work" / "result.txt")
    store = "other" if change == "session" else "artifacts"
    line = json.loads((here / store / ".open" / "team-1" / "events.jsonl").read_text().splitlines()[1])
    line |= {"writer": "w-00000000", "seq": 1}
    if change == "earlier":
        line["timestamp"] = "2020-01-01T00:00:00.000Z"  # than mine, so that it is the one that counts
    line["instance_id"] = "coder-1" if change == "earlier" else "coder-2"
    if change not in {"session", "agent"}:
        line["payload"]["workspace"] = str(home)
    if change == "none":
        del line["payload"]["mac"]
    (layout_live(here) / "events.w-00000000.jsonl").write_text(json.dumps(line) + "\n")
    done = cli("close", "team-1")
    assert (done.code, "coder: the workspace was not stored" in done.err) == (2, True)
    assert not [name for name, data in contents(here / "artifacts").items() if TEXT.encode() in data]
    copies = [path.parts[-3] for path in (here / "artifacts").glob("2*/instances/*/workspace/result.txt")]
    assert copies == ([] if change == "earlier" else ["coder-1"])


def test_a_link_in_the_place_of_a_log_is_not_followed(cli: Cli, here: Path, home: Path, as_user: As) -> None:
    as_user("alice")
    start_session("team-1", artifacts=str(here / "artifacts"))
    join_session("team-1", str(here / "artifacts")).start_instance("coder", instance_id="coder-1")
    (layout_live(here) / "coder-1.log").symlink_to(home / "transcript.log")
    done = cli("close", "--trust", "team-1")
    assert (done.code, "coder-1.log was not stored" in done.err) == (2, True)
    assert_nothing_taken(here / "artifacts")


def test_an_agent_gets_no_files_from_outside_of_the_project(
    here: Path, home: Path, as_user: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user("alice")
    (here / "project").mkdir()
    monkeypatch.chdir(here / "project")
    tools = Tools(allows_write=True)
    record_session(here / "project" / "artifacts", home)  # mine, from a shell
    answer = tools.error("collect_team_artifacts", team_session_id="team-1")
    assert "is not in the project of this server" in answer["error"]
    assert answer["hint"].endswith("runcard collect team-1")
    assert_nothing_taken(here / "project" / "artifacts")
    assert layout.live_sessions("artifacts")  # nothing is lost
    write_spec("team-2", home)
    monkeypatch.setenv("ARTIFACTS_SPECS", "specs")
    answer = tools.error("collect_team_artifacts", team_session_id="team-2")
    assert "is not in the project of this server" in answer["error"]
    assert_nothing_taken(here / "project" / "artifacts")


def test_the_specs_of_a_project_are_used_only_if_the_user_trusts_it(cli: Cli, here: Path, home: Path) -> None:
    """A SPEC names any folder, and whoever collects by an id has not read it."""
    write_spec("team-2", home)
    Path("runcard.toml").write_text('[artifacts]\nspecs = "specs"\n')
    with pytest.raises(RuncardError, match="No instances found") as refused:
        collect_team("team-2")
    assert "runcard config trust" in str(refused.value.hint)
    assert collect_team_artifacts("team-2")["status"] == "error"
    assert_nothing_taken(here / "artifacts")
    assert cli("config", "trust").code == 0
    assert collect_team_artifacts("team-2")["status"] == "success"
    assert len(list((here / "artifacts").glob("2*/instances/*/workspace/thesis.txt"))) == 1


def test_an_agent_gets_nothing_that_a_strangers_session_names(
    here: Path, home: Path, as_user: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "project").mkdir()
    monkeypatch.chdir(here / "project")
    as_user("mallory")
    record_session(here / "project" / "artifacts", home)
    as_user("alice")
    answer = Tools(allows_write=True)("collect_team_artifacts", team_session_id="team-1")
    assert any(REASON in line for line in answer["summary"]["errors"])
    assert_nothing_taken(here / "project" / "artifacts")


@pytest.fixture
def alice_signs(here: Path, as_user: As, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user signs everything; the file of signers that has only their key."""
    as_user("alice")
    (here / "runtime").mkdir()
    monkeypatch.setenv(
        "XDG_RUNTIME_DIR", str(here / "runtime")
    )  # killed runs leave their configuration there
    key = keygen(here / "alice", name="alice")
    (here / "signers").write_text(key.signers_line + "\n")
    monkeypatch.setenv("RUNCARD_SIGN", "always")
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", str(here / "alice"))
    return here / "signers"


def die(here: Path) -> Path:
    """A run whose process was killed."""
    assert command(here, "run", "--", "sh", "-c", "kill -9 $PPID").returncode == -signal.SIGKILL
    (run,) = (here / "outputs").glob("2*")
    return run


def signature_of(cli: Cli, record: Path, signers: Path) -> int:
    return cli("verify", "--signers", signers, "--require", "alice", record).code


def test_a_strangers_run_is_closed_and_not_signed(
    cli: Cli, here: Path, alice_signs: Path, as_user: As
) -> None:
    as_user("mallory")
    run = die(here)
    as_user("alice")
    done = cli("close", run)
    assert (done.code, "was closed, and not signed: it is not known that you recorded it" in done.err) == (
        2,
        True,
    )
    assert not (run / "metadata.json.sig").exists()
    assert signature_of(cli, run, alice_signs) != 0


def test_my_own_run_is_signed_when_it_is_closed(cli: Cli, here: Path, alice_signs: Path) -> None:
    run = die(here)
    assert cli("close").code == 0
    assert signature_of(cli, run, alice_signs) == 0


def test_a_run_that_i_call_my_own_is_signed(cli: Cli, here: Path, alice_signs: Path, as_user: As) -> None:
    as_user("mallory")
    run = die(here)
    as_user("alice")
    assert cli("close", "--trust", run).code == 0
    assert signature_of(cli, run, alice_signs) == 0


def test_a_copy_of_my_open_run_is_not_signed(cli: Cli, here: Path, alice_signs: Path) -> None:
    """It was committed while it was open: what somebody adds to it and gives back is not mine."""
    run = die(here)
    (here / "outputs").rename(here / "original")
    shutil.copytree(here / "original", here / "outputs")
    assert cli("close", run).code == 2
    assert signature_of(cli, run, alice_signs) != 0


def test_my_run_that_is_put_back_after_it_was_closed_is_not_signed(
    cli: Cli, here: Path, alice_signs: Path
) -> None:
    """Even with the number of its file, which may be in use again."""
    run = die(here)
    mark = here / "outputs" / ".runcard" / "open" / run.name
    os.link(mark, here / "kept")
    assert cli("close").code == 0
    shutil.rmtree(run)
    run.mkdir()
    os.link(here / "kept", mark)
    assert cli("close", run).code == 2
    assert signature_of(cli, run, alice_signs) != 0


@pytest.mark.usefixtures("alice_signs")
def test_a_strangers_run_with_an_id_of_mine_leaves_my_files(here: Path, as_user: As) -> None:
    as_user("mallory")
    run = die(here)
    as_user("alice")
    run_id = json.loads((run / "metadata.json").read_bytes())["generation"]["run_id"]
    remove_config(run_id)
    path = Path(write_config(run_id, {"a": 1}))
    assert close_one(str(run)).closed
    assert path.exists()
    remove_config(run_id)


@pytest.mark.usefixtures("alice_signs")
def test_my_start_with_other_facts_is_not_signed(here: Path) -> None:
    run = die(here)
    for journal in (layout.open_mark(str(run)), run / "experiment.jsonl"):
        text = Path(journal).read_text()
        with open(journal, "r+") as file:  # the same file
            file.write(text.replace("kill -9", "kill -0"))
    close_one(str(run))
    assert not (run / "metadata.json.sig").exists()


@pytest.mark.usefixtures("home")
def test_a_strangers_session_is_not_signed(cli: Cli, here: Path, alice_signs: Path, as_user: As) -> None:
    as_user("mallory")
    record_session(here / "artifacts", here / "home")
    as_user("alice")
    done = cli("close", "team-1")
    assert (done.code, "was closed, and not signed" in done.err) == (2, True)
    (stored,) = (here / "artifacts").glob("2*")
    assert signature_of(cli, stored, alice_signs) != 0
    record_session(here / "artifacts", here / "home")
    assert cli("close", "team-1").code == 0
    newest = max((here / "artifacts").glob("2*"))
    assert signature_of(cli, newest, alice_signs) == 0
