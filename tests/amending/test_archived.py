"""Redacting a record that is archived, or was: what is taken out is in no archive any more."""

import gzip
from pathlib import Path

import pytest

from amending.records import CUSTOMER, entries, lines
from conftest import Cli
from recording.runs import kinds, verdict
from runcard.errors import UsageError
from runcard.operations.archive import archive
from runcard.operations.redact import redact
from runcard.operations.restore import restore

WHY = ("--reason", "she asked for it", "--by", "ada", "--yes")


def holds(archived: Path, text: str) -> bool:
    return text.encode() in gzip.decompress(archived.read_bytes())


def test_an_archived_record_is_redacted_in_its_archive(cli: Cli, run: Path) -> None:
    packed = Path(archive(run).archive)
    assert holds(packed, CUSTOMER)
    done = cli("redact", packed, "--file", "**/notes.*", *WHY)
    assert (done.code, done.err) == (0, "")
    assert cli("redact", run, "--event", "2", *WHY).code == 0  # by the name that it had
    assert not run.exists()
    assert not holds(packed, CUSTOMER)
    said = verdict(run.parent)
    assert (said["intact"], said["complete"]) == (True, True)
    assert ("withheld", "notes.txt") in kinds(said)
    (ledger,) = (run.parent / ".runcard").glob("ledger-*")
    digests = [line["payload"].get("archive_sha256") for line in lines(ledger) if "payload" in line]
    assert len({digest for digest in digests if digest}) == 3  # the old ones stay in the ledger


def test_a_redaction_that_was_killed_before_the_record_was_archived_again_goes_on(run: Path) -> None:
    packed = Path(archive(run).archive)
    restore(packed)
    redact(run, files=["**/notes.*"], reason="x")
    redact(packed, files=["**/notes.*"], reason="x")
    assert not run.exists()
    restore(packed)
    assert [entry["path"] for entry in entries(run)] == ["deep/er/notes.md", "notes.txt"]


def test_a_record_that_was_restored_still_has_an_archive_and_that_is_said(cli: Cli, run: Path) -> None:
    packed = Path(archive(run).archive)
    restore(packed)
    done = cli("redact", run, "--file", "notes.txt", *WHY)
    assert done.code == 2
    assert done.err == f"Warning: {packed} still has what was taken out: archive the record again\n"
    said = verdict(run.parent)
    assert (said["intact"], said["complete"]) == (True, True)


def test_nobody_looks_into_an_archive_and_who_is_there_is_asked(cli: Cli, run: Path) -> None:
    packed = archive(run).archive
    with pytest.raises(UsageError, match="is an archive"):
        redact(packed, files=["notes.txt"], reason="x", dry_run=True)
    assert cli("redact", packed, "--file", "notes.txt", "--reason", "x").code == 64
    assert not run.exists()
