"""A store with a long history: its ledger is not read as a whole to record, close or amend a run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import runcard
from runcard.documents import chain
from runcard.recording.closing import close_dead_run
from runcard.store import layout

ENTRIES = 3_000
ID = "run-01m7hxkfvkx0a46n8sanbp"


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """A store with one run, and a ledger that has many others which were deleted."""
    outputs = tmp_path / "outputs"
    with runcard.record(outputs, strict=True):
        pass
    ledger = ledger_of(outputs)
    (first,) = ledger.read_bytes().splitlines()
    last = json.loads(first)
    seq, prev, payload = last["seq"], last["hash"], last["payload"]
    with ledger.open("ab") as file:
        for number in range(ENTRIES):
            seq += 1
            fields = {"seq": seq, "timestamp": last["timestamp"], "event": "record.deleted"}
            entry = payload | {"id": f"{ID}{number:06}", "sha256": f"{number:064}"}
            line = chain.write_line(fields | {"writer": last["writer"]}, entry, "0" * 32, prev)
            prev = line.hash
            file.write(line.raw)
    return outputs


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The lines that are parsed."""
    lines: list[bytes] = []
    parse = chain.parse_entry

    def counted(number: int, raw: bytes) -> chain.JournalEntry | None:
        lines.append(raw)
        return parse(number, raw)

    for module in ("documents.chain", "store.ledger_search"):
        monkeypatch.setattr(f"runcard.{module}.parse_entry", counted)
    return lines


def ledger_of(outputs: Path) -> Path:
    (ledger,) = (outputs / ".runcard").glob("ledger-*.jsonl")
    return ledger


def run_in(outputs: Path) -> Path:
    (run,) = (path for path in outputs.iterdir() if not path.name.startswith("."))
    return run


def events(outputs: Path) -> list[str]:
    return [json.loads(line)["event"] for line in ledger_of(outputs).read_bytes().splitlines()]


@pytest.mark.needs("strace")
def test_recording_a_run_reads_only_the_end_of_the_ledger(outputs: Path, tmp_path: Path) -> None:
    code = "import runcard, sys\nwith runcard.record(sys.argv[1], strict=True): pass"
    trace = tmp_path / "trace"
    subprocess.run(
        [
            *("strace", "-f", "--seccomp-bpf", "-y", "-e", "trace=read,pread64,mmap", "-o", trace),
            *(sys.executable, "-c", code, outputs),
        ],
        check=True,
    )
    calls = [line for line in trace.read_text().splitlines() if f"{ledger_of(outputs).name}>" in line]
    sizes = [int(size) for call in calls for size in re.findall(r"= (\d+)$", call)]
    assert len(sizes) == len(calls) > 0
    assert sum(sizes) < 50_000 < ledger_of(outputs).stat().st_size


def test_a_missing_entry_is_added_without_parsing_the_ledger(outputs: Path, parsed: list[bytes]) -> None:
    """The recorder was killed after it wrote the document, before or after the entry."""
    run, ledger = run_in(outputs), ledger_of(outputs)
    mark = Path(layout.open_mark(str(run)))
    mark.touch()
    close_dead_run(str(run))
    assert not mark.exists()
    assert len(events(outputs)) == ENTRIES + 1  # the entry was there
    document = run / "metadata.json"
    document.write_bytes(document.read_bytes() + b"\n")  # another digest
    mark.touch()
    close_dead_run(str(run))
    assert events(outputs)[ENTRIES + 1 :] == ["record.closed"]
    assert len(parsed) < 200
    assert chain.check(chain.parse(ledger.read_bytes()), ledger.stem).faults == ()


def test_an_amendment_is_entered_once_without_parsing_the_ledger(outputs: Path, parsed: list[bytes]) -> None:
    runcard.amend(run_in(outputs), "tag", "kept")
    assert len(events(outputs)) == ENTRIES + 2
    assert len(parsed) < 200
