"""Whoever amends a signed record is told that the signature does not cover what was done, and how to sign it again."""

from pathlib import Path

import pytest

from attacks.edited import session as collected_session
from conftest import Cli

WHY = ("--reason", "law", "--yes")


@pytest.fixture
def signed(cli: Cli, run: Path, here: Path, signers: Path) -> Path:
    assert signers.exists()
    assert cli("sign", run, "--key", here / "alice").code == 0
    return run


def test_a_change_and_the_command_that_signs_again(
    cli: Cli, signed: Path, here: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cli("redact", signed, "--file", "notes.txt", *WHY)
    assert (done.code, done.err.splitlines()) == (
        0,
        [
            f"Note: {signed} was signed before this change: its signature does not cover the record as it is now",
            f"  hint: to sign it as it is now: runcard sign {signed} --key FILE",
        ],
    )
    assert cli("verify", "--signers", signers, signed).code == 1
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", str(here / "alice"))
    done = cli("amend", signed, "note", "seen")
    assert done.err.endswith(f"to sign it as it is now: runcard sign {signed}\n")
    assert cli("sign", signed).code == 0
    assert cli("verify", "--signers", signers, signed).code == 0


def test_a_remark(cli: Cli, signed: Path) -> None:
    done = cli("amend", signed, "tag", "best")
    assert (done.code, done.err.splitlines()[0]) == (
        0,
        f"Note: the signature of {signed} does not cover this remark",
    )
    done = cli("amend", signed, "tag", "good", "--json")
    assert done.err.startswith(f"Note: the signature of {signed} does not cover the last 2 remarks\n")
    assert cli("--quiet", "amend", signed, "tag", "good").err == ""


def test_nothing_to_say(cli: Cli, run: Path, here: Path, signed: Path) -> None:
    assert cli("redact", signed, "--file", "notes.txt", *WHY, "--dry-run").err == ""
    (here / "other").mkdir()
    for name in ("metadata.json.sig",):
        (signed / name).unlink()
    assert cli("amend", run, "note", "seen").err == ""


def test_an_archive_and_a_migration(cli: Cli, signed: Path, here: Path) -> None:
    assert cli("archive", signed).code == 0
    (archive,) = (here / "outputs/archive").rglob("*.tar.gz")
    done = cli("redact", archive, "--file", "notes.txt", *WHY)
    assert f"runcard sign {archive} --key FILE" in done.err
    session = collected_session(here)
    assert cli("sign", session, "--key", here / "alice").code == 0
    done = cli("migrate", session / "metadata.json", "--to", "1.0.0")  # which drops fields
    assert f"Note: {session} was signed before this change" in done.err
    assert cli("sign", session, "--key", here / "alice").code == 0
    assert "was signed before 2 changes" in cli("migrate", session, "--to", "1.0.0").err  # of two instances
    assert "Note" not in cli("migrate", session, "--to", "1.0.0").err
