"""Records with something in them that has to go, made once and copied."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.documents import chain
from runcard.recording.run import JournalEvents
from sessions.collecting.teams import COORDINATOR, lay_out, team
from whole_ledgers import ledgers

CUSTOMER = "the-name-of-a-customer"
KEY = "sk-ant-api03-" + "Zx9" * 30
OTHER_KEY = "ghp_" + "Ab1" * 12


def record(store: Path) -> Path:
    """A closed run: its second event and two of its files have the secret, two others have keys."""
    with (
        environment_at_the_end(),
        runcard.record(store, model="m", provider="p", strict=True, keep_secrets=True) as run,
    ):
        run.log("page.read", who=CUSTOMER)
        run.log("page.left", key=KEY)
        (run.path / "notes.txt").write_text(f"met {CUSTOMER}\n")
        (run.path / "deep" / "er").mkdir(parents=True)
        (run.path / "deep" / "er" / "notes.md").write_text(f"{CUSTOMER} again\n")
        (run.path / "deep" / "log.txt").write_text(f"one {KEY}\ntwo {OTHER_KEY}\nthree {KEY} end\n")
        (run.path / "picture.png").write_bytes(b"\x89PNG\0" + KEY.encode())
        (run.path / "latest").symlink_to("deep")
        (run.path / "plain.txt").write_text("nothing to see\n")
    return run.path


@contextmanager
def environment_at_the_end() -> Iterator[None]:
    """It is known after some time: its event would have another number in each run."""

    def refuse(*_: object) -> None:
        raise OSError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JournalEvents, "add_environment", refuse)
        yield


def collect(folder: Path) -> Path:
    """A closed session of one agent, in `folder/artifacts`."""
    spec = lay_out(folder, team(COORDINATOR))
    return runcard.collect(spec, artifacts=folder / "artifacts").path


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def everything(store: Path) -> bytes:
    """All bytes that lie anywhere in a store, its own files included."""
    return b"".join(path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def entries(record: Path) -> list[dict[str, Any]]:
    """The amendments of a record: their kind and what they say."""
    return [{"kind": line["event"], **line["payload"]} for line in lines(record / "amendments.jsonl")]


def assert_tidy(record: Path) -> None:
    """Nothing waits to be put in its place, and the ledger holds and knows the end of the amendments."""
    own = record.parent / ".runcard"
    assert not [path.name for path in own.iterdir() if path.name.startswith("amending-")]
    assert not list(own.rglob("*.tmp"))
    last = lines(record / "amendments.jsonl")[-1]
    ((_, journal, checked),) = ledgers(str(record.parent))
    assert (checked.faults, journal.torn) == ((), b"")
    said = [entry.line["payload"].get("amendments") for entry in journal.entries]
    head = chain.Head(last["writer"], last["seq"], last["hash"]).to_dict()
    assert said.count(head) == 1
