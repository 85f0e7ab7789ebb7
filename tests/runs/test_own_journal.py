"""Closing one's own run: what the recorder knows is not found out again, and the record is the same."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.documents import chain
from runcard.documents.run.fold import fold_events
from runcard.encoding import encode_json
from runcard.files import sync
from runcard.recording import heartbeat
from runcard.recording.journal_facts import WrittenEvents
from runcard.store.runs import journal_source, open_journals
from runs.runs import verdict

USAGE = {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 1000, "output_tokens": 100}}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The lines of journals that are parsed while runs are closed."""
    lines: list[bytes] = []

    class Watched(chain.JournalStream):
        def __iter__(self) -> Iterator[chain.JournalEntry]:
            for entry in super().__iter__():
                lines.append(entry.raw)
                yield entry

    monkeypatch.setattr(open_journals, "JournalStream", Watched)
    monkeypatch.setattr(journal_source, "JournalStream", Watched)
    return lines


def record_much(tmp_path: Path, **options: Any) -> Path:
    """A run with an event of each kind, one of them cut."""
    source = tmp_path / "input.txt"
    source.write_text("a text")
    with runcard.record(
        tmp_path / "outputs",
        model="claude-sonnet-4-5",
        config={"depth": [1, 2.5, {"käse": None}], "password": "hunter2-and-more"},
        labels={"team": "a"},
        inputs=[str(source)],
        strict=True,
        **options,
    ) as run:
        config = {"list": [1, 2]}
        run.set_config(config, tuple=(1, (2, 3)), large=2**60, small=1e-9)
        config["list"].append(3)  # later, and so not recorded
        run.set_labels(stage="test")
        run.add_usage(USAGE, step="first", latency=0.25)
        run.add_usage(USAGE | {"id": "msg_1"}, cost=0.5)
        run.set_costs(total_cost_usd=1.25)
        run.add_warning("careful", type="mine")
        run.add_error("wrong")
        run.relate("parent", "run-1")
        run.log("page.read", page=1, text="x" * 100_000)
    return Path(run.path)


@pytest.mark.parametrize("options", [{}, {"max_event_bytes": 65_536}, {"keep_secrets": True}])
def test_the_events_of_a_recorder_are_not_parsed_and_give_the_same_document(
    options: dict[str, Any], tmp_path: Path, parsed: list[bytes]
) -> None:
    run = record_much(tmp_path, **options)
    assert parsed == []
    lines = [json.loads(line) for line in (run / "experiment.jsonl").read_bytes().splitlines()]
    document = json.loads((run / "metadata.json").read_bytes())
    folded = fold_events(lines[0]["payload"], lines)
    facts = {name: document[name] for name in ("symlinks", "event_chains", "ledger_head")}
    folded |= facts
    folded["checksums"]["output"] = document["checksums"]["output"]
    assert encode_json(folded) == (run / "metadata.json").read_bytes()
    assert facts["event_chains"] == [head.to_dict() for head in chain.heads(lines)]
    assert verdict(run)["intact"] is True


def test_repeated_reports_are_read_again(tmp_path: Path, parsed: list[bytes]) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as run:
        for _ in range(2):
            run.add_usage(USAGE | {"id": "msg_1", "type": "message", "role": "assistant"})
    assert parsed
    assert json.loads((run.path / "metadata.json").read_bytes())["costs"]["input_tokens"] == 1000
    assert verdict(run.path)["intact"] is True


def test_a_journal_that_the_program_changed_is_parsed(tmp_path: Path, parsed: list[bytes]) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as run:
        run.add_warning("careful")
        journal = run.path / "experiment.jsonl"
        journal.write_bytes(journal.read_bytes().replace(b"careful", b"all well"))
    assert parsed
    document = json.loads((run.path / "metadata.json").read_bytes())
    assert "damaged-journal" in [warning["type"] for warning in document["warnings"]]


def test_events_of_which_one_was_interrupted_are_not_used() -> None:
    line = {"event": "page.read", "payload": {}, "writer": "w-1", "seq": 1, "hash": ""}
    whole, short, twice, broken = (WrittenEvents() for _ in range(4))
    whole.add(line)
    twice.add(line)
    twice.add(line)
    with pytest.raises(KeyError):
        broken.add({})
    assert [events.take(1) is not None for events in (whole, short, twice, broken)] == [
        True,
        False,
        False,
        False,
    ]
    assert whole.take(1) is None  # only once: closing changes it


def test_the_final_document_is_synced_together_with_the_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, everything = [], []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        real(descriptor)

    def sync_filesystem(path: str) -> None:
        everything.append([name for name in os.listdir(path) if name.startswith(".metadata.json.")])

    with runcard.record(tmp_path / "outputs", strict=True):
        pass  # the first run makes the user's key
    with runcard.record(tmp_path / "outputs", strict=True) as run:
        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(sync, "sync_filesystem", sync_filesystem)
        monkeypatch.setattr(sync, "_files_to_sync_one_by_one", lambda: 0)
    closing = [name for name in synced if name != "experiment.jsonl"]  # which is also synced every second
    assert [len(names) for names in everything] == [1]  # after the new document was written
    assert closing[:-1] == [run.path.name]  # once it has its name
    assert closing[-1].startswith("ledger-")


def test_runs_that_follow_each_other_share_the_thread_of_the_heartbeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heartbeat.HEARTBEAT.pause()  # the thread of an earlier run
    monkeypatch.setattr(heartbeat, "INTERVAL", 1000.0)
    threads = []
    for _ in range(3):
        with runcard.record(tmp_path / "outputs", strict=True):
            threads += [thread for thread in threading.enumerate() if thread.name == "runcard-heartbeat"]
    heartbeat.HEARTBEAT.pause()
    assert len(threads) == 3
    assert len(set(threads)) == 1


_COUNTS_OPENED_FILES = """
import sys, threading, runcard
usage = {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 1000, "output_tokens": 100}}
opened, recorder = [], threading.get_ident()
def hook(event, arguments):
    if event == "open" and threading.get_ident() == recorder:
        opened.append(arguments[0])
sys.addaudithook(hook)
for _ in range(3):  # the first ones create what is missing, and load code
    opened.clear()
    with runcard.record("outputs", model="claude-sonnet-4-5", provider="anthropic", strict=True) as run:
        run.add_usage(usage)
print(len(opened), opened)
"""


def test_a_small_run_opens_few_files(tmp_path: Path) -> None:
    """Each one costs time. The threads that gather facts are not counted."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNTS_OPENED_FILES], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert int(done.stdout.split()[0]) <= 44, done.stdout
