"""Amendments: the only way in which a closed record changes, and what `verify` and `show` say of them.

Here they are made by hand, by the recipe of the documentation, as another program would write them.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.store.amendments.read import read_amendments
from runs.runs import copy_store, kinds, read, record_one, verdict


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_one(tmp_path_factory.mktemp("amended") / "outputs")


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A closed run as another program got it: with no ledger, which would not know what that program amends."""
    store = copy_store(made.parent, tmp_path / "outputs")
    for ledger in (store / ".runcard").glob("ledger-*"):
        ledger.unlink()
    return store / made.name


@pytest.fixture
def known(made: Path, tmp_path: Path) -> Path:
    """A closed run in a store of its own, with its ledger."""
    return copy_store(made.parent, tmp_path / "known") / made.name


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def amend(run: Path, *entries: tuple[str, dict[str, Any]], first: str | None = None) -> list[dict[str, Any]]:
    """Write amendments; each is an event and what it says beside who, when and why."""
    prev, lines = first or digest(run / "metadata.json"), []
    for seq, (event, said) in enumerate(entries, 1):
        payload = {"who": "ada", "when": "2026-12-01T09:00:00Z", "why": "a customer asked for it", **said}
        fields = {"seq": seq, "timestamp": payload["when"], "event": event, "writer": "w-amend"}
        lines.append(chain.make_line(fields, payload, "0" * 32, prev))
        prev = lines[-1]["hash"]
    (run / "amendments.jsonl").write_bytes(b"".join(encode_json(line, COMPACT) for line in lines))
    return lines


def redact(run: Path, name: str, new: bytes | None) -> dict[str, Any]:
    """Change a file, or take it out, and say what an amendment says about it."""
    path = run / name
    said: dict[str, Any] = {"path": name, "old_sha256": digest(path), "new_sha256": None}
    if new is None:
        path.unlink()
        return said
    path.write_bytes(new)
    return said | {"new_sha256": digest(path)}


def test_a_file_that_was_amended_is_accepted_and_it_is_said_by_whom_and_why(cli: Cli, run: Path) -> None:
    old = digest(run / "notes.txt")
    amend(run, ("redaction", redact(run, "notes.txt", b"two\n[taken out]\n")))
    done = cli("verify", run)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == [
        f"{run}: intact, complete, not signed, not time-stamped",
        "  notes.txt: amended by 'ada' because a customer asked for it, says the amendment [amended]",
    ]
    said = verdict(run)
    assert (said["intact"], said["complete"]) == (True, True)
    (finding,) = said["findings"]
    assert (finding["kind"], finding["expected"], finding["found"]) == (
        "amended",
        old,
        digest(run / "notes.txt"),
    )


def test_a_file_that_was_withheld_is_accepted_and_it_is_said_by_whom_and_why(cli: Cli, run: Path) -> None:
    amend(run, ("redaction", redact(run, "personas/1.json", None)))
    done = cli("verify", run)
    assert (done.code, done.err) == (0, "")
    assert (
        "  personas/1.json: withheld by 'ada' because a customer asked for it, says the amendment [withheld]"
        in done.out.splitlines()
    )


def test_a_file_may_be_amended_again(run: Path) -> None:
    amend(
        run,
        ("redaction", redact(run, "notes.txt", b"one\n")),
        ("note", {"text": "nothing changes by this"}),
        ("redaction", redact(run, "notes.txt", b"") | {"who": "ben", "why": "it was not enough"}),
    )
    (finding,) = verdict(run)["findings"]
    assert (finding["kind"], finding["message"]) == (
        "amended",
        "amended by 'ben' because it was not enough, says the amendment",
    )


def test_remarks_change_nothing(run: Path) -> None:
    amend(run, ("note", {"text": "checked"}), ("tag", {"tag": "gold"}), ("approval", {}))
    assert verdict(run)["findings"] == []
    assert read_amendments(str(run)).changes == ()


def test_odd_amendments_change_nothing(run: Path) -> None:
    lines = amend(run, ("redaction", {"path": 3}), ("redaction", {"path": "notes.txt", "old_sha256": None}))
    assert verdict(run)["findings"] == []
    del lines[1]["payload"], lines[1]["salt"]
    (run / "amendments.jsonl").write_bytes(b"".join(encode_json(line, COMPACT) for line in lines))
    assert kinds(verdict(run)) == {("chain", "amendments.jsonl")}
    assert read_amendments(str(run)).changes == ()


def withhold_an_event(run: Path, seq: int) -> dict[str, Any]:
    """Take the payload of an event out, with its salt."""
    lines = [json.loads(line) for line in (run / "experiment.jsonl").read_text().splitlines()]
    del lines[seq - 1]["payload"], lines[seq - 1]["salt"]
    return redact(run, "experiment.jsonl", b"".join(encode_json(line, COMPACT) for line in lines))


def test_an_event_that_was_withheld_keeps_the_chain(cli: Cli, run: Path) -> None:
    amend(run, ("redaction", withhold_an_event(run, 3)))
    done = cli("verify", run)
    assert done.code == 0
    writer = read(run)["event_chains"][0]["writer"]
    assert done.out.splitlines()[1:3] == [
        "  experiment.jsonl: amended by 'ada' because a customer asked for it, says the amendment [amended]",
        f"  experiment.jsonl: event {writer}:3: withheld by 'ada' because a customer asked for it, says the amendment [withheld]",
    ]


def test_an_event_that_was_withheld_without_a_word_is_found(run: Path) -> None:
    withhold_an_event(run, 3)
    said = verdict(run)
    withheld = {("changed", "experiment.jsonl"), ("withheld", "experiment.jsonl")}
    assert kinds(said) - {("limits", "metadata.json")} == withheld
    assert any("no amendment says why" in found["message"] for found in said["findings"])
    assert said["intact"] is False


def migrate(run: Path, *, keep: bool = True) -> tuple[str, dict[str, Any]]:
    """Rewrite the document, keep the old bytes in the store, and say what an amendment says about it."""
    old = (run / "metadata.json").read_bytes()
    sealed = sha256(old).hexdigest()
    if keep:
        originals = run.parent / ".runcard" / "originals"
        originals.mkdir()
        (originals / sealed).write_bytes(old)
    said = redact(run, "metadata.json", old.replace(b'"labels": {}', b'"labels": {"moved": "yes"}'))
    return sealed, said


def test_a_migration_that_is_none_is_a_change(run: Path) -> None:
    """Converting the old bytes does not give the new ones."""
    sealed, said = migrate(run)
    amend(run, ("migration", said | {"who": "runcard migrate", "why": "1.0 → 1.1"}), first=sealed)
    (finding,) = [found for found in verdict(run)["findings"] if found["kind"] == "changed"]
    assert (finding["path"], finding["expected"], finding["found"]) == (
        "metadata.json",
        sealed,
        said["new_sha256"],
    )


def test_a_migration_whose_old_bytes_are_gone_or_changed_is_not_complete(run: Path) -> None:
    sealed, said = migrate(run)
    amend(run, ("migration", said), first=sealed)
    original = run.parent / ".runcard" / "originals" / sealed
    original.write_bytes(b"{}")
    assert ("missing", "metadata.json") in kinds(verdict(run))
    original.unlink()
    said_now = verdict(run)
    assert ("missing", "metadata.json") in kinds(said_now)
    assert said_now["complete"] is False


def test_a_document_that_was_changed_without_an_amendment_is_found_by_the_ledger(known: Path) -> None:
    migrate(known)
    said = verdict(known)
    assert kinds(said) == {("ledger", "metadata.json"), ("document", "metadata.json")}
    assert said["intact"] is False


def forged(run: Path, name: str) -> None:
    """What somebody might try who wants a changed file to pass for an amended one."""
    said = redact(run, "notes.txt", b"two\n[taken out]\n")
    if name == "no chain":
        (run / "amendments.jsonl").write_text(json.dumps({"event": "redaction", "payload": said}) + "\n")
    elif name == "another record's":
        amend(run, ("redaction", said), first="0" * 64)
    elif name == "another author":
        (line,) = amend(run, ("redaction", said))
        line["payload"]["who"] = "somebody else"
        (run / "amendments.jsonl").write_bytes(encode_json(line, COMPACT))
    elif name == "one left out":
        lines = amend(run, ("note", {}), ("redaction", said))
        (run / "amendments.jsonl").write_bytes(encode_json(lines[1], COMPACT))
    elif name == "torn":
        amend(run, ("redaction", said))
        with (run / "amendments.jsonl").open("ab") as file:
            file.write(b'{"seq": 2')
    elif name == "another digest":
        amend(run, ("redaction", said | {"new_sha256": "0" * 64}))
    elif name == "another file's digest":
        amend(run, ("redaction", said | {"old_sha256": "0" * 64}))


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("no chain", ("chain", "amendments.jsonl")),
        ("another record's", ("chain", "amendments.jsonl")),
        ("another author", ("chain", "amendments.jsonl")),
        ("one left out", ("chain", "amendments.jsonl")),
        ("torn", ("chain", "amendments.jsonl")),
        ("another digest", ("changed", "notes.txt")),
        ("another file's digest", ("changed", "notes.txt")),
    ],
)
def test_a_forged_amendment_is_found(cli: Cli, run: Path, name: str, finding: tuple[str, str]) -> None:
    forged(run, name)
    said = verdict(run)
    assert finding in kinds(said)
    assert said["intact"] is False
    assert cli("verify", run).code == 1


def test_amended_files_are_told_also_where_something_else_is_wrong(cli: Cli, run: Path) -> None:
    amend(run, ("redaction", redact(run, "notes.txt", b"")))
    (run / "personas" / "1.json").unlink()
    done = cli("verify", run)
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[1:] == [
        "  personas/1.json: the file is missing [missing]",
        "  notes.txt: amended by 'ada' because a customer asked for it, says the amendment [amended]",
    ]


def test_what_was_amended_is_shown_with_the_run(cli: Cli, run: Path) -> None:
    amend(
        run,
        ("redaction", redact(run, "notes.txt", b"")),
        ("redaction", redact(run, "personas/1.json", None) | {"who": "b\x1ben", "why": "it\nwas asked"}),
    )
    done = cli("show", run)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[lines.index("Amendments") + 1 :] == [
        "  notes.txt: amended by 'ada' because a customer asked for it, says the amendment",
        "  personas/1.json: withheld by 'b\\x1ben' because it\\nwas asked, says the amendment",
    ]
    shown = json.loads(cli("show", "--json", run).out)["amendments"][0]
    assert (shown["kind"], shown["path"], shown["who"]) == ("redaction", "notes.txt", "ada")
    assert shown["new_sha256"] == digest(run / "notes.txt")


def test_an_amendment_that_names_nobody_says_so(run: Path) -> None:
    amend(run, ("redaction", redact(run, "notes.txt", b"") | {"who": None, "why": ""}))
    (finding,) = verdict(run)["findings"]
    assert finding["message"] == "amended by 'unknown' because unknown, says the amendment"
