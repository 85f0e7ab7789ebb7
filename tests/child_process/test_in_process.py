"""`run` as a function: what it returns, and that it leaves its process as it was."""

import os
import signal
import threading
from pathlib import Path

import pytest

from child_process.commands import SECRET
from runcard.errors import MachineError, RuncardError, StoreError
from runcard.operations.runs.run import CommandResult, run
from runs.runs import read


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RUNCARD_OUTPUTS", "RUNCARD_PARENT", "RUNCARD_RUN_DIR", "TRACEPARENT"):
        monkeypatch.delenv(name, raising=False)


def document(ran: CommandResult) -> dict[str, object]:
    return read(Path(ran.path))


def test_a_command_is_run_and_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.md").write_text("a")
    script = f"echo out; echo err >&2; echo {SECRET}; rm a.md; exit 3"
    ran = run(["sh", "-c", script], model="m", config={"seed": 1}, patterns=["*.md", "*.txt"])
    assert (ran.code, ran.problems) == (3, [])
    assert capfd.readouterr() == (f"out\n{SECRET}\n", "err\n")
    assert sorted((Path(ran.path) / "output.log").read_text().split()) == [
        "[masked:anthropic-key]",
        "err",
        "out",
    ]
    assert len(ran.warnings) == 2
    assert [warning["message"] for warning in read(Path(ran.path))["warnings"]] == ran.warnings


def test_an_earlier_run_that_cannot_be_closed_is_a_warning_of_the_command(
    recwarn: pytest.WarningsRecorder,
) -> None:
    Path("outputs/lost").mkdir(parents=True)
    Path("outputs/.runcard/open").mkdir(parents=True)
    Path("outputs/.runcard/open/lost").touch()
    ran = run(["true"])
    assert ran.warnings == [f"an earlier run could not be closed: {Path.cwd() / 'outputs/lost'} is not a run"]
    assert read(Path(ran.path))["warnings"] == []
    assert list(recwarn) == []


def test_nothing_is_left_behind_in_the_process() -> None:
    run(["true"])  # what is loaded and kept open once
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    before = (sorted(os.listdir("/proc/self/fd")), threading.active_count(), signal.getsignal(signal.SIGCHLD))
    for command in (
        ["sh", "-c", "echo x"],
        ["sh", "-c", "kill -9 $$"],
        ["./missing"],
        ["/"],
        ["sh", "-c", "sleep 600 & echo $! > orphan"],
    ):
        run(command, keep_secrets=True)
    orphan = int(Path("orphan").read_text())  # it was adopted
    os.kill(orphan, signal.SIGKILL)
    os.waitpid(orphan, 0)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    after = (sorted(os.listdir("/proc/self/fd")), threading.active_count(), signal.getsignal(signal.SIGCHLD))
    assert after == before


def test_a_script_without_an_interpreter_and_one_whose_interpreter_is_missing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name, text in (("plain", "echo $1\n"), ("odd", "#!/no/such/thing\n")):
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    assert run(["./plain", "word"]).code == 0
    assert capfd.readouterr().out == "word\n"
    ran = run(["./odd"])
    assert ran.code == 127
    assert [problem.message for problem in ran.problems] == ["./odd: its interpreter was not found"]


def test_what_the_command_does_to_its_directory_is_told() -> None:
    ran = run(["sh", "-c", "rm -r $RUNCARD_RUN_DIR; touch $RUNCARD_RUN_DIR"])
    assert ran.code == 0
    assert "replaced by a file" in ran.warnings[0]
    assert (Path(ran.path) / "user" / Path(ran.path).name).is_file()
    ran = run(
        [
            "sh",
            "-c",
            "rm -r $RUNCARD_RUN_DIR; mkdir $RUNCARD_RUN_DIR; echo mine > $RUNCARD_RUN_DIR/output.log",
        ]
    )
    assert "replaced by another one" in ran.warnings[0]
    assert (Path(ran.path) / "user" / "output.log").read_text() == "mine\n"


def test_a_record_that_cannot_be_closed_is_a_problem() -> None:
    ran = run(["sh", "-c", "rm -r outputs"])
    assert ran.code == 125
    assert isinstance(ran.problems[0], RuncardError)


def test_where_nothing_can_be_recorded_nothing_is_run() -> None:
    Path("outputs").touch()
    with pytest.raises((StoreError, MachineError)):
        run(["touch", "made"])
    assert not Path("made").exists()


def test_output_that_cannot_be_prepared_is_told_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as context:
        context.setattr(os, "fork", refuse)
        with pytest.raises(OSError, match="temporarily unavailable"):
            run(["touch", "made"])
    (path,) = (path for path in Path("outputs").iterdir() if path.name != ".runcard")
    assert read(path)["generation"]["status"] == "failed"
    assert read(path)["errors"][0]["type"] == "BlockingIOError"


def test_a_thread_of_the_program_around_it_may_take_the_signal() -> None:
    """That a child has ended is told to any thread that does not block it."""
    over = threading.Event()
    others = [threading.Thread(target=over.wait, daemon=True) for _ in range(20)]
    for other in others:
        other.start()
    try:
        assert run(["sh", "-c", "exit 3"]).code == 3
    finally:
        over.set()
        for other in others:
            other.join()
