"""Signatures go where their record goes, and keys end: copies, bundles, archives, keys that were rotated or stolen."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.operations.signatures.keygen import keygen

DIE = """
import os, sys, runcard
with runcard.record(sys.argv[1], strict=True):
    os._exit(9)
"""


def report(cli: Cli, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    outcome = cli("verify", "--json", *arguments)
    return outcome.code, json.loads(outcome.out)


@pytest.fixture
def signed(cli: Cli, run: Path, here: Path, signers: Path) -> Path:
    assert signers.exists()
    assert cli("sign", run, "--key", here / "alice").code == 0
    return run


def test_a_bundle_keeps_the_signature_and_is_no_alarm(
    cli: Cli, signed: Path, here: Path, signers: Path
) -> None:
    before = (signed / "metadata.json.sig").read_bytes()
    assert cli("export", signed, "--to", "bundle", "--output", here / "run.tar.gz").code == 0
    outcome = cli("import-bundle", here / "run.tar.gz", here / "received")
    assert outcome.code in {0, 2}, outcome.err  # a bundle without its program is a warning
    received = Path(outcome.out.strip())
    assert (received / "metadata.json.sig").read_bytes() == before
    code, found = report(cli, "--signers", signers, received)
    assert (code, found["intact"], found["complete"], found["signed"]) == (0, True, True, True)
    assert found["findings"] == []
    assert cli("verify", here / "received").code == 0
    (received / "notes.txt").write_text("other")
    assert report(cli, received)[0] == 1


def test_an_archive_keeps_the_signature_and_can_be_signed_again(
    cli: Cli, signed: Path, here: Path, signers: Path
) -> None:
    assert cli("archive", signed).code == 0
    (archive,) = (here / "outputs/archive").rglob("*.tar.gz")
    assert report(cli, "--signers", signers, archive)[0] == 0
    assert report(cli, "--signers", signers, "--require", "reviewer", archive)[0] == 1
    assert cli("sign", archive, "--key", here / "bob").code == 0
    assert report(cli, "--signers", signers, "--require", "author,reviewer", archive)[0] == 0
    assert report(cli, here / "outputs")[0] == 0
    assert cli("restore", archive, "--to", here / "back").code == 0
    (back,) = (path.parent for path in (here / "back").rglob("metadata.json"))
    assert report(cli, "--signers", signers, "--require", "author,reviewer", back)[0] == 0


def died(here: Path) -> Path:
    subprocess.run([sys.executable, "-c", DIE, str(here / "outputs")], check=False)
    (run,) = (path for path in (here / "outputs").iterdir() if not path.name.startswith("."))
    return run


@pytest.fixture
def always(signers: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUNCARD_SIGN", "always")
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", "alice")
    return signers


def test_close_signs_a_run_whose_process_died(cli: Cli, here: Path, always: Path) -> None:
    run = died(here)
    assert cli("close", run).code == 0
    assert report(cli, "--signers", always, run)[0] == 0


def test_a_run_that_the_next_recording_closes_is_not_signed(cli: Cli, here: Path, always: Path) -> None:
    """Nobody looked at it, and until then anyone could change it."""
    run = died(here)
    assert cli("run", "--", "true").code == 0
    assert report(cli, run)[1]["complete"] is True
    assert not (run / "metadata.json.sig").exists()
    assert len(list((here / "outputs").glob("*/metadata.json.sig"))) == 1
    assert always.exists()


def test_the_key_is_found_from_another_directory(here: Path, always: Path) -> None:
    program = "import os, runcard\nwith runcard.record(strict=True) as run:\n    os.chdir('/')\n"
    subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=here, check=True)
    assert list((here / "outputs").glob("*/metadata.json.sig"))
    assert always.exists()


def line_of(here: Path, name: str, options: str = "") -> str:
    words = (here / f"{name}.pub").read_text().split()
    return f'alice {options}{"," if options else ""}namespaces="runcard" {words[0]} {words[1]}\n'


def test_a_key_that_was_rotated(cli: Cli, signed: Path, here: Path) -> None:
    keygen(here / "new", name="alice")
    rotated = here / "rotated"
    rotated.write_text(
        line_of(here, "alice", 'valid-before="20200101Z"') + line_of(here, "new", 'valid-after="20200101Z"')
    )
    code, found = report(cli, "--signers", rotated, signed)
    assert code == 1
    (signer,) = found["records"][0]["signers"]
    assert signer["trusted"] is False
    assert "no trusted time-stamp proves that the signature is older" in signer["reason"]
    assert cli("sign", signed, "--key", here / "new").code == 0
    assert report(cli, "--signers", rotated, signed)[0] == 0


def test_a_key_that_was_stolen_on_a_date_and_one_that_is_lost(cli: Cli, signed: Path, here: Path) -> None:
    keygen(here / "new", name="alice")
    lost = here / "lost"
    lost.write_text(line_of(here, "alice") + line_of(here, "new"))
    assert report(cli, "--signers", lost, signed)[0] == 0  # both are trusted
    stolen = here / "stolen"
    stolen.write_text(line_of(here, "alice", 'valid-before="20200101Z"'))
    assert report(cli, "--signers", stolen, signed)[0] == 1
    assert report(cli, "--signers", lost, "--revoked", here / "alice.pub", signed)[0] == 1


@pytest.mark.needs("openssh-client")
def test_a_passphrase_and_its_key_get_into_no_record_and_no_message(
    cli: Cli, run: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "correct-horse-canary-7f3a"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", canary, "-C", "me", "-f", str(here / "locked")]
    subprocess.run(command, check=True)
    ask = here / "ask"
    ask.write_text(f"#!/bin/sh\necho {canary}\n")
    ask.chmod(0o700)
    said = [cli("-v", "sign", run, "--key", here / "locked")]
    assert said[0].code == 64
    monkeypatch.setenv("SSH_ASKPASS", str(ask))
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    said += [cli("-v", "sign", run, "--ssh", here / "locked"), cli("-v", "verify", run), cli("show", run)]
    assert [each.code for each in said[1:]] == [0, 0, 0], said
    monkeypatch.setenv("SSH_ASKPASS", "/bin/false")
    (run / "metadata.json.sig").unlink()
    said.append(cli("-v", "sign", run, "--ssh", here / "locked"))
    assert said[-1].code == 1
    secret = (here / "locked").read_text().splitlines()[2:-1]
    texts = [each.out + each.err for each in said]
    texts += [path.read_text() for path in (here / "outputs").rglob("*") if path.is_file()]
    assert not any(word in text for word in (canary, *secret) for text in texts)
