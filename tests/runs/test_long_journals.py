"""Journals that are too long for memory: closing reads them as streams, and gives the same as if it held them."""

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from documents.test_fold import start
from runcard.documents import chain
from runcard.documents.run import events
from runcard.documents.run.fold import fold_events
from runcard.encoding import encode_json
from runcard.recording.run_closer import RunCloser
from runcard.store.runs import open_journals

Fields = dict[str, Any]

ID = start()["generation"]["run_id"]


class Writer:
    """Writes the lines of one writer, with fixed salts and given times."""

    def __init__(self, name: str, run_id: str = ID) -> None:
        self.name, self.run_id, self.seq, self.prev = name, run_id, 0, chain.first_link(run_id, name)

    def line(self, second: float, event: str, payload: Fields) -> bytes:
        self.seq += 1
        fields = {
            "seq": self.seq,
            "timestamp": f"2026-11-15T10:{int(second) // 60 % 60:02}:{second % 60:09.6f}Z",
            "level": "info",
            "event": event,
            "experiment_id": "exp-1",
            "run_id": self.run_id,
            "elapsed": second,
            "writer": self.name,
        }
        line = chain.write_line(fields, payload, f"{self.seq:032x}", self.prev)
        self.prev = line.hash
        return line.raw


def call(number: int, **more: Any) -> Fields:
    return {
        "model": "gpt-5",
        "provider": "openai",
        "step": f"step {number % 3}",
        "response_id": f"chatcmpl-{number}",
        "tokens": {"input": number % 1000, "output": 7},
        "token_source": "reported",
        "cost_usd": number % 100 / 1000,
        "cost_source": "given",
        "latency_seconds": number % 977 / 100,
        "time_to_first_token_seconds": number % 97 / 1000,
        **more,
    }


def journal(writer: Writer, count: int, *, every: float = 1, offset: float = 0) -> list[bytes]:
    lines = [writer.line(offset, events.RUN_STARTED, start())] if writer.name == "w-00000000" else []
    return lines + [
        writer.line(offset + every * number, events.MODEL_CALLED, call(number)) for number in range(count)
    ]


def one() -> dict[str, bytes]:
    return {"experiment.jsonl": b"".join(journal(Writer("w-00000000"), 20))}


def several() -> dict[str, bytes]:
    """Each response is reported by two of the writers, and some lines have the same time."""
    files = {"experiment.jsonl": b"".join(journal(Writer("w-00000000"), 20))}
    for number in (1, 2, 3):
        writer = Writer(f"w-0000000{number}")
        files[f"experiment.{writer.name}.jsonl"] = b"".join(
            journal(writer, 9, every=number, offset=number / 2)
        )
    return files


def back_in_time() -> dict[str, bytes]:
    files = several()
    writer = Writer("w-00000004")
    lines = [writer.line(second, "page.read", {"page": second}) for second in (9, 3, 12, 1)]
    return files | {"experiment.w-00000004.jsonl": b"".join(lines)}


def merged() -> dict[str, bytes]:
    """Left by a closing that was killed: the merged journal, in the place of one of the others, and the rest."""
    files = several()
    whole = b"".join(raw + b"\n" for raw in reference(files))
    return files | {"experiment.jsonl": whole}


def in_order() -> dict[str, bytes]:
    return {"experiment.jsonl": merged()["experiment.jsonl"]}


def out_of_order() -> dict[str, bytes]:
    """One file with the lines of all writers, one after the other."""
    return {"experiment.jsonl": b"".join(several().values())}


def torn() -> dict[str, bytes]:
    files = several()
    files["experiment.jsonl"] += b'{"seq":22,"timesta'
    files["experiment.w-00000002.jsonl"] = files["experiment.w-00000002.jsonl"][:-100]
    return files


def foreign() -> dict[str, bytes]:
    files = several()
    other = journal(Writer("w-00000007", "run-other"), 3)
    files["experiment.w-00000001.jsonl"] += b"a line of the user's\n" + b"".join(other) + b"\r\n\n"
    return files


def broken() -> dict[str, bytes]:
    """Lines that were removed and changed."""
    lines = one()["experiment.jsonl"].splitlines(keepends=True)
    del lines[5]
    lines[9] = lines[9].replace(b'"step 2"', b'"step 9"').replace(b'"step 1"', b'"step 9"')
    return several() | {"experiment.jsonl": b"".join(lines)}


CASES = [one, several, back_in_time, merged, in_order, out_of_order, torn, foreign, broken]


def reference(files: dict[str, bytes]) -> list[bytes]:
    """The lines of a run in the order of time, found in the simplest way: all in memory."""
    queues: dict[str, list[tuple[Fields, bytes]]] = {}
    for name in sorted(files, key=lambda name: (name != "experiment.jsonl", name)):
        for entry in chain.parse(files[name]).entries:
            if entry.line["run_id"] == ID:
                queue = queues.setdefault(entry.line["writer"], [])
                if not queue or entry.line["seq"] > queue[-1][0]["seq"]:
                    queue.append((entry.line, entry.raw))
    lines = []
    while any(queues.values()):
        heads = {name: queue[0] for name, queue in queues.items() if queue}
        writer = min(heads, key=lambda name: (heads[name][0]["timestamp"], name))
        lines.append(queues[writer].pop(0)[1])
    return lines


def close(store: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    run = store / "run"
    run.mkdir(parents=True)
    (run / "metadata.json").write_bytes(encode_json(start()))
    for name, data in files.items():
        (run / name).write_bytes(data)
    for file in run.iterdir():
        os.utime(file, (0, 0))
    RunCloser(str(run)).close()
    return {str(file.relative_to(run)): file.read_bytes() for file in run.rglob("*") if file.is_file()}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_lines_that_are_read_again_give_the_same_record(
    case: Callable[[], dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = case()
    records = []
    for kept, most_open, block in ((1 << 20, 100, 1 << 16), (3000, 100, 100), (0, 1, 1 << 16), (0, 0, 999)):
        monkeypatch.setattr(open_journals, "_KEPT", kept)
        monkeypatch.setattr(open_journals, "_MOST_OPEN", most_open)
        monkeypatch.setattr(open_journals, "_LARGEST_BLOCK", block)
        monkeypatch.setattr(open_journals, "_SMALLEST_BLOCK", 1)
        records.append(close(tmp_path / f"{kept}-{most_open}", files))
    assert records[1:] == records[:1] * 3
    lines = records[0]["experiment.jsonl"].splitlines()
    assert [line for line in lines if b'"writer":"w-0000000' in line] == reference(files)
    document = json.loads(records[0]["metadata.json"])
    folded = fold_events(start(), [json.loads(line) for line in lines])
    assert {name: document[name] for name in ("costs", "token_usage", "performance", "warnings")} == {
        name: folded[name] for name in ("costs", "token_usage", "performance", "warnings")
    }


def test_a_journal_that_changes_while_it_is_read_again_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_journals, "_KEPT", 0)
    path = tmp_path / "experiment.jsonl"
    data = one()["experiment.jsonl"]
    for changed in (data[:-200], data.replace(b"w-00000000", b"w-00000001"), b"\n" * len(data)):
        path.write_bytes(data)
        journals = open_journals.OpenJournals(str(tmp_path), ID)
        path.write_bytes(changed)
        with pytest.raises(runcard.RuncardError, match="was changed while the run was closed"):
            list(journals)


class Calls:
    """The lines of calls, made anew for each iteration."""

    def __init__(self, payload: Callable[[int], Fields], count: int = 2_000) -> None:
        self._payload, self._count = payload, count

    def __iter__(self) -> Iterator[Fields]:
        return ({"event": events.MODEL_CALLED, "payload": self._payload(n)} for n in range(self._count))


@pytest.mark.parametrize(
    ("payload", "repeats"),
    [
        (call, 0),
        (
            lambda number: call(number, response_id="chatcmpl-0", api="chat"),
            0,
        ),  # a server with one id for all
        (lambda number: call(number // 2), 1_000),  # each response is reported twice
    ],
)
def test_a_fold_does_not_keep_the_calls(payload: Callable[[int], Fields], repeats: int) -> None:
    tracemalloc.start()
    try:
        document = fold_events(start(), Calls(payload))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    usage = document["token_usage"]
    assert usage.get("repeated_reports", 0) == repeats
    assert sum(row["calls"] for row in usage["breakdown_by_step"]) == 2_000 - repeats
    assert peak < 512 << 10  # 2,000 calls are 1.7 MB


CLOSE = """
import sys
from pathlib import Path
from runcard.recording.run_closer import RunCloser
RunCloser(sys.argv[1]).close()
# Not ru_maxrss: that begins with the memory of the process that started this one.
(peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(peak.split()[1]) // 1024)
"""


@pytest.mark.long
@pytest.mark.parametrize("writers", [1, 3])
def test_closing_a_run_with_30_000_events_takes_little_memory(tmp_path: Path, writers: int) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "metadata.json").write_bytes(encode_json(start()))
    for number in range(writers):
        name = "experiment.jsonl" if number == 0 else f"experiment.w-0000000{number}.jsonl"
        writer = Writer(f"w-0000000{number}")
        (run / name).write_bytes(b"".join(journal(writer, 30_000 // writers, every=0.01)))
    process = subprocess.run(
        [sys.executable, "-c", CLOSE, run], capture_output=True, text=True, check=False, timeout=400
    )
    assert process.returncode == 0, process.stderr
    assert int(process.stdout) < 80  # MB; 45 of them for Python and its modules
    document = json.loads((run / "metadata.json").read_bytes())
    assert document["token_usage"]["breakdown_by_model"][0]["calls"] == 30_000 // writers
