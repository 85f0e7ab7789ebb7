"""What the tests of survival share: places in memory, real programs, and the questions every store must stand."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runcard.cli.exit_codes import ExitCode
from runcard.documents import chain
from runcard.operations.checks.show import status_now
from runcard.operations.checks.verify import verify
from runcard.operations.runs.close import close
from runcard.recording.closing import CloseResult
from whole_ledgers import entries, ledgers

TESTS = Path(__file__).parent.parent
MEMORY = Path("/dev/shm")  # noqa: S108 - a file system that is quick to sync, whatever else the machine does

_OWN = {"experiment", "heartbeats", "open"}
_CHECK = 'for run; do cd "$run" && sha256sum --check --strict --quiet SHA256SUMS || exit 1; done'


@contextmanager
def in_memory() -> Iterator[Path]:
    """A directory of its own, in memory where the machine has such a place."""
    path = Path(tempfile.mkdtemp(prefix="survival-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def environment(**more: str) -> dict[str, str]:
    """The variables of a program that can import runcard and these modules, and that no other run encloses.

    Its coverage is not measured: signals and kills that come at any moment would hit the measuring as well.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RUNCARD_", "COVERAGE_"))}
    return kept | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])} | more


def python(code: str, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as a user would; `more` are variables of its environment."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        env=environment(**more),
    )


@contextmanager
def started(code: str, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A program at work, which has printed its first line; it is gone at the end, whatever it does."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def harness(module: str, *arguments: str | Path) -> Iterator[Any]:
    """What one of the harness programs of the tests reports, line by line: it is ahead while one is checked."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(TMPDIR=os.getcwd())
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
            assert process.wait() == 0
        finally:
            process.kill()


def runs_of(store: Path) -> list[Path]:
    """Everything in a store that has a name."""
    return sorted(path for path in store.iterdir() if path.name != ".runcard") if store.exists() else []


def document_of(run: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((run / "metadata.json").read_bytes())
    return document


def status_of(run: Path) -> str | None:
    """The status as `show` and `ls` tell it."""
    return status_now(str(run), document_of(run))


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "experiment.jsonl").read_text().splitlines()]


def warnings_of(run: Path) -> list[str]:
    return [warning["type"] for warning in document_of(run)["warnings"]]


def close_all(*runs: Path) -> list[CloseResult]:
    return list(close(*runs))


def findings(*paths: Path) -> list[str]:
    return [
        f"{found.kind} {found.record}/{found.path}: {found.message}"
        for result in verify(*paths)
        for found in result.verdict.findings
    ]


def assert_readable(store: Path) -> None:
    """Whatever was killed here: what has a name is a record, open with nobody at work on it, or closed and true."""
    for run in runs_of(store):
        if status_of(run) != "interrupted":
            for result in verify(run):
                assert result.verdict.exit_code != ExitCode.FAILED, result
                assert result.verdict.complete
                assert result.verdict.intact


def assert_nothing_open(store: Path) -> None:
    """Every run says that it is closed, and the store's list of open runs is empty."""
    for run in runs_of(store):
        assert document_of(run)["generation"]["status"] != "running", run
        assert not (store / ".runcard" / "open" / run.name).exists()


def assert_closed(store: Path, *, runs: int | None = None, limits: bool = False) -> None:
    """Every run is closed, verifies, checks with sha256sum, and stands in the ledger once.

    With `limits`, `verify` may say that a record cannot tell something: its first event was never written.
    """
    found = runs_of(store)
    assert runs is None or len(found) == runs
    assert_nothing_open(store)
    if not found:
        return
    subprocess.run(["sh", "-c", _CHECK, "sh", *found], check=True)
    said = [found for found in findings(store) if not (limits and found.startswith("limits"))]
    assert said == [], said
    entered = []
    for _, journal, checked in ledgers(str(store)):
        assert checked.faults == ()
        assert journal.torn == b""
        entered += [entry.id for entry in entries(journal)]
    assert sorted(entered) == sorted(document_of(run)["generation"]["run_id"] for run in found)


def assert_tidy(store: Path) -> None:
    """Nothing is left that belongs to no run: no half-made run, no temporary file, no name on the list of open ones."""
    own = {path.name for path in (store / ".runcard").iterdir() if not path.name.startswith("ledger-")}
    assert own <= _OWN, own
    left = [
        *(store / ".runcard" / "open").iterdir(),
        *store.rglob("*.tmp"),
        *store.glob("*/experiment.*.jsonl"),
    ]
    assert left == [], left


def assert_one_story(run: Path) -> None:
    """The journal names this run alone, its chains hold, and time goes forward."""
    run_id = document_of(run)["generation"]["run_id"]
    lines = lines_of(run)
    assert {line["run_id"] for line in lines} == {run_id}
    assert chain.check(chain.parse((run / "experiment.jsonl").read_bytes()), run_id).faults == ()
    times = [line["timestamp"] for line in lines]
    assert times == sorted(times)
