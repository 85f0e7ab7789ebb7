"""What `verify` says of records that fail: each thing once, and in words that hold."""

import json
import re
import shutil
from pathlib import Path

import pytest

import runcard
from conftest import Cli


@pytest.fixture
def signed(cli: Cli, here: Path, signers: Path) -> Path:
    assert signers.exists()
    with runcard.record(here / "outputs", strict=True) as run:
        for number in range(5):
            run.log("page.read", number=number)
        (run.path / "notes.txt").write_text("notes\n")
    path = Path(run.path)
    assert cli("sign", path, "--key", here / "alice").code == 0
    return path


def said(cli: Cli, *arguments: str | Path) -> list[str]:
    done = cli("verify", *arguments)
    assert done.code == 1
    return [re.sub(r" \(SHA256:\S+\)", "", line) for line in done.out.splitlines()]


def test_a_cut_journal_is_one_finding(cli: Cli, signed: Path, signers: Path) -> None:
    journal = signed / "experiment.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]))
    report = json.loads(cli("verify", "--json", signed).out)
    assert {each["kind"] for each in report["findings"]} == {"changed", "document", "tail"}
    values = sum(each["kind"] == "document" for each in report["findings"])
    cut = len(lines) - 3
    (writer,) = re.findall(rb'"writer":"([^"]+)"', lines[0])
    assert said(cli, "--signers", signers, signed) == [
        f"Error: {signed}: CHANGED AND INCOMPLETE",
        (
            f"  experiment.jsonl: the last {cut} events of writer {writer.decode()} were cut off; {values} values of the"
            " document cannot be confirmed without what is missing [tail]"
        ),
        "  alice, author signed it before this change",
    ]


def test_of_a_cut_journal_that_was_also_edited_the_edit_is_told(cli: Cli, signed: Path) -> None:
    journal = signed / "experiment.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], lines[1].replace(b"payload", b"payloab"), *lines[2:4]]))
    assert any("experiment.jsonl: line 2: " in line for line in said(cli, signed))
    (signed / "notes.txt").write_text("x")
    assert "  notes.txt: the file was changed [changed]" in said(cli, signed)


def test_a_signature_that_is_wrong_is_not_called_missing(cli: Cli, signed: Path, signers: Path) -> None:
    file = signed / "metadata.json.sig"
    file.write_bytes(file.read_bytes().replace(b'"sig":"', b'"sig":"AAAA'))
    assert said(cli, "--signers", signers, signed)[2:] == [
        "  metadata.json.sig: its signature is wrong [signer]"
    ]
    file.unlink()
    assert said(cli, "--signers", signers, signed)[1] == "  metadata.json.sig: it is not signed [signer]"


def test_what_came_after_the_signature(cli: Cli, signed: Path, signers: Path) -> None:
    assert cli("redact", signed, "--file", "notes.txt", "--reason", "x", "--yes").code == 0
    copy = Path(shutil.copytree(signed, signed.parent.parent / "copy"))
    (copy / "added.txt").write_text("x")
    last = said(cli, "--signers", signers, copy)[-1]
    assert last == "  alice, author signed it before 1 change and before this change"
    (copy / "added.txt").unlink()
    (copy / "README.md").unlink()
    assert (
        said(cli, copy)[-1] == "  an unknown key signed it before 1 change and before something was removed"
    )


def test_one_amendment(cli: Cli, signed: Path, signers: Path) -> None:
    assert cli("amend", signed, "note", "x").code == 0
    file = signed / "amendments.jsonl"
    kept = file.read_bytes()
    file.unlink()
    (found,) = (line for line in said(cli, signed) if "[tail]" in line)
    assert found == "  amendments.jsonl: the last amendment was cut off [tail]"
    file.write_bytes(kept)
    assert cli("sign", signed, "--key", signers.with_name("alice")).code == 0
    shutil.copytree(signed, signers.parent / "elsewhere" / signed.name)
    (signers.parent / "elsewhere" / signed.name / "amendments.jsonl").unlink()
    lines = said(cli, signers.parent / "elsewhere" / signed.name)
    assert any("signature 2: the last amendment that was signed is missing [tail]" in line for line in lines)
