"""verify with many records and long ledgers: what is read, how often, in which process and in how much memory."""

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import runcard
from runcard.documents import chain
from runcard.operations.checks.verify import verify
from runcard.parallel import forks
from runcard.parallel.forks import work_in_order
from runcard.store import ledger

RUNS = 24
ID = "run-01m7hxkfvkx0a46n8sanbp"

# Verifies in this process, on two cores whatever the machine has, and prints the peak of its memory.
# Not ru_maxrss: that begins with the memory of the process that started this one.
VERIFY = r"""
import json, re, sys
from pathlib import Path
from runcard.operations.checks.verify import summary, verify
from runcard.parallel import forks
forks.cores, forks.START_AFTER = (lambda: int(sys.argv[1])), 0.0
found = summary(verify(*sys.argv[2:]))
peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]
print(json.dumps({"found": found, "peak": int(peak) * 1024}))
"""


@pytest.fixture(scope="session")
def _many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("many") / "outputs"
    for number in range(RUNS):
        with runcard.record(outputs, strict=True) as run:
            run.log("page.read", number=number)
            (run.path / "notes.txt").write_text("notes\n")
    return outputs


@pytest.fixture
def outputs(_many: Path, tmp_path: Path) -> Path:
    shutil.copytree(_many, tmp_path / "outputs")
    return tmp_path / "outputs"


def records(outputs: Path) -> list[Path]:
    return sorted(path for path in outputs.iterdir() if not path.name.startswith("."))


def ledger_of(outputs: Path) -> Path:
    (ledger,) = (outputs / ".runcard").glob("ledger-*.jsonl")
    return ledger


def python(*arguments: object, cores: int = 2) -> list[str]:
    return [sys.executable, "-c", VERIFY, str(cores), *map(str, arguments)]


def report(*paths: Path, cores: int = 2) -> tuple[dict[str, object], int]:
    done = subprocess.run(python(*paths, cores=cores), capture_output=True, check=True)
    answer = json.loads(done.stdout)
    return answer["found"], answer["peak"]


def damage(outputs: Path) -> None:
    first, second, third, fourth, fifth, *_ = records(outputs)
    (first / "notes.txt").write_text("forged\n")
    (second / "new.txt").touch()
    shutil.rmtree(third)
    journal = fourth / "experiment.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    (fifth / "metadata.json").write_bytes(b"{")
    ledger = ledger_of(outputs)
    ledger.write_bytes(ledger.read_bytes().replace(b'"kind":"run"', b'"kind":"ran"', 1))


def long_ledger(outputs: Path, count: int) -> None:
    """Put entries about records that were deleted on purpose behind those of the ledger."""
    ledger = ledger_of(outputs)
    last = json.loads(ledger.read_bytes().splitlines()[-1])
    seq, prev, payload = last["seq"], last["hash"], last["payload"]
    with ledger.open("ab") as file:
        for number in range(count):
            seq += 1
            fields = {
                "seq": seq,
                "timestamp": last["timestamp"],
                "event": "record.deleted",
                "writer": last["writer"],
            }
            line = chain.write_line(fields, payload | {"id": f"{ID}{number:06}"}, "0" * 32, prev)
            prev = line.hash
            file.write(line.raw)


@pytest.mark.needs("strace")
def test_each_file_of_a_record_is_opened_once_and_the_ledger_once(outputs: Path, tmp_path: Path) -> None:
    subprocess.run(
        [
            "strace",
            "-ff",
            "--seccomp-bpf",
            "-e",
            "trace=openat,open",
            "-o",
            tmp_path / "trace",
            *python(outputs),
        ],
        check=True,
        capture_output=True,
    )
    names = re.findall(
        r'open(?:at)?\([^"]*"([^"]+)"[^)]*\) = \d',
        "".join(path.read_text() for path in tmp_path.glob("trace.*")),
    )
    opened = Counter(os.path.basename(name) for name in names)
    files = {"metadata.json", "experiment.jsonl", "SHA256SUMS", "README.md", "notes.txt"}
    assert {name: opened[name] for name in files} == dict.fromkeys(files, RUNS)
    assert opened[ledger_of(outputs).name] == 1


def test_forks_find_what_one_process_finds_in_the_same_order(outputs: Path) -> None:
    assert report(outputs)[0]["findings"] == []
    damage(outputs)
    alone, together = report(outputs, cores=1)[0], report(outputs, cores=2)[0]
    assert alone == together
    assert alone["findings"]
    assert report(*records(outputs), cores=1)[0] == report(*records(outputs), cores=2)[0]


@pytest.mark.long
def test_the_index_of_a_ledger_takes_little_memory(outputs: Path) -> None:
    small = report(outputs)[1]
    long_ledger(outputs, 20_000)
    found, peak = report(outputs)
    assert (found["intact"], found["complete"], found["findings"]) == (True, True, [])
    assert peak - small < 300 * 20_000  # all of the ledger, parsed, would take more than 100 MB


def test_a_record_that_was_checked_leaves_nothing_in_memory(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without garbage to collect, the memory does not depend on when the collector runs."""
    damage(outputs)
    monkeypatch.setattr(forks, "cores", lambda: 1)
    list(verify(outputs))
    gc.collect()
    gc.disable()
    try:
        list(verify(outputs))
        assert gc.collect() < RUNS
    finally:
        gc.enable()


def test_one_record_is_found_in_a_long_ledger_without_parsing_it(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_ledger(outputs, 5_000)
    parsed, searched, parse = [], [], chain.parse_entry

    def counted(number: int, raw: bytes) -> chain.JournalEntry | None:
        parsed.append(raw)
        return parse(number, raw)

    def opened(path: str) -> int:
        searched.append(path)
        return ledger.open_ledger(path)

    for module in ("documents.chain", "store.ledger_search"):
        monkeypatch.setattr(f"runcard.{module}.parse_entry", counted)
    monkeypatch.setattr("runcard.store.ledger_search.open_ledger", opened)
    first, *_ = records(outputs)
    (result,) = verify(first)
    assert result.verdict.findings == ()
    assert 0 < len(parsed) < 200
    assert len(searched) == 1  # once for the record and for the chain


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_entry_that_was_changed_or_removed_beside_that_of_a_record_is_reported_with_it(
    outputs: Path, at: int
) -> None:
    """Also far from the end of a long ledger, where the rest of the chain is left to the check of the store."""
    long_ledger(outputs, 500)
    ledger, run = ledger_of(outputs), records(outputs)[5]
    lines = ledger.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if f'"{run.name}"'.encode() in line) - 1 + at
    for changed in (lines[place].replace(b'"time"', b'"tame"'), b""):
        ledger.write_bytes(b"".join([*lines[:place], changed, *lines[place + 1 :]]))
        kinds = {finding.kind for result in verify(run) for finding in result.verdict.findings}
        assert kinds & {"chain", "ledger"}


def test_a_fork_that_dies_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mother = os.getpid()
    monkeypatch.setattr(forks, "cores", lambda: 2)
    monkeypatch.setattr(forks, "START_AFTER", 0.0)
    monkeypatch.setattr(forks, "_is_single_threaded", lambda: True)

    def work(item: int, _: object) -> tuple[int, bool]:
        if item in {7, 30} and os.getpid() != mother:
            os._exit(9)
        return item, os.getpid() == mother

    results = list(work_in_order(range(100), work))
    assert [item for item, _ in results] == list(range(100))
    assert dict(results)[7]
    assert not all(is_here for _, is_here in results)


def test_an_error_in_a_fork_is_raised_here_and_no_fork_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "cores", lambda: 2)
    monkeypatch.setattr(forks, "START_AFTER", 0.0)
    monkeypatch.setattr(forks, "_is_single_threaded", lambda: True)

    def work(item: int, _: object) -> int:
        return 1 // (40 - item)

    def noted_fork() -> int:
        started.append(fork())
        return started[-1]

    started: list[int] = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", noted_fork)
    with pytest.raises(ZeroDivisionError):
        list(work_in_order(range(100), work))
    assert started
    for child in started:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_one_core_or_one_item_starts_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_fork() -> int:
        raise AssertionError("a fork was started")

    monkeypatch.setattr(os, "fork", no_fork)
    monkeypatch.setattr(forks, "START_AFTER", 0.0)
    monkeypatch.setattr(forks, "cores", lambda: 1)
    assert list(work_in_order(range(20), lambda item, _: item)) == list(range(20))
    monkeypatch.setattr(forks, "cores", lambda: 2)
    assert list(work_in_order([1], lambda item, _: item)) == [1]


# Runs `runcard verify` with two forks. In a fork, the fourth record and those after it wait for a signal, or kill it.
COMMAND = """
import os, signal, sys, time
from runcard.cli.main import main
from runcard.operations.checks import verify_directories
from runcard.parallel import forks
forks.cores, forks.START_AFTER = (lambda: 2), 0.0
mother, check = os.getpid(), verify_directories._check_files

deed, first = sys.argv[1:3]

def in_fork(path, *others, **options):
    if os.getpid() != mother and os.path.basename(path) >= first:
        if deed == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(2, b"at work in %d\\n" % os.getpid())
        time.sleep(600)
    return check(path, *others, **options)

verify_directories._check_files = in_fork
sys.argv[1:] = ["verify", sys.argv[3]]
sys.exit(main())
"""


def command(outputs: Path, deed: str) -> list[str]:
    return [sys.executable, "-c", COMMAND, deed, records(outputs)[3].name, str(outputs)]


@pytest.mark.parametrize("of_terminal", [True, False])
def test_ctrl_c_ends_all_forks_at_once(outputs: Path, of_terminal: bool) -> None:  # noqa: FBT001
    """Whether the terminal sends the signal to all processes, or somebody to this one alone."""
    with subprocess.Popen(
        command(outputs, "wait"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stderr is not None
        children = [int(process.stderr.readline().split()[-1]) for _ in range(2)]
        (os.killpg if of_terminal else os.kill)(process.pid, signal.SIGINT)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (130, b"Error: interrupted\n")
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_verify_reports_all_records_although_its_forks_are_killed(outputs: Path) -> None:
    damage(outputs)
    done = subprocess.run(command(outputs, "kill"), capture_output=True, check=False)
    usual = subprocess.run(
        [sys.executable, "-c", COMMAND, "kill", "~", str(outputs)], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (usual.returncode, usual.stdout, usual.stderr)
    assert done.returncode == 1
