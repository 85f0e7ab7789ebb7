"""The setting `sign`: records are signed when they are closed, and closed even if that fails."""

import json
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from runcard.operations.signatures.keygen import keygen

SPEC = {
    "team_session_id": "team-1",
    "instances": [
        {
            "name": "lead",
            "status": "completed",
            "created_at": "2025-11-06T14:00:00Z",
            "terminated_at": "2025-11-06T14:01:00Z",
        }
    ],
}


@pytest.fixture
def always(signers: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUNCARD_SIGN", "always")
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", str(here / "alice"))
    return signers


def is_signed(cli: Cli, record: Path, signers: Path) -> bool:
    return cli("verify", "--signers", signers, record).code == 0


def test_a_run_and_a_session_are_signed(cli: Cli, here: Path, always: Path) -> None:
    with runcard.record(here / "outputs", strict=True) as run:
        pass
    assert is_signed(cli, Path(run.path), always)
    (here / "spec.json").write_text(json.dumps(SPEC))
    outcome = cli("collect", "spec.json", "--artifacts", here / "artifacts")
    assert outcome.code == 0, outcome.err
    assert is_signed(cli, Path(outcome.out.strip()), always)


def test_a_command_is_signed(cli: Cli, here: Path, always: Path) -> None:
    assert cli("run", "--", "true").code == 0
    (record,) = (path for path in (here / "outputs").iterdir() if not path.name.startswith("."))
    assert is_signed(cli, record, always)


def test_an_amendment_and_a_redaction_are_signed(cli: Cli, run: Path, always: Path) -> None:
    assert cli("amend", run, "approval", "bob").code == 0
    report = json.loads(cli("verify", "--json", "--signers", always, run).out)
    assert report["records"][0]["signature"]["unsigned_additions"] == 0
    assert cli("redact", run, "--file", "notes.txt", "--reason", "law", "--yes").code == 0
    assert is_signed(cli, run, always)


def test_a_redaction_of_an_archive_is_signed_in_it(cli: Cli, run: Path, always: Path) -> None:
    assert cli("archive", run).code == 0
    assert cli("redact", run.name, "--file", "notes.txt", "--reason", "law", "--yes").code == 0
    assert not run.exists()
    (archived,) = run.parent.glob("archive/*/*.tar.gz")
    assert is_signed(cli, archived, always)


@pytest.mark.usefixtures("always")
def test_an_amendment_stays_when_it_cannot_be_signed(cli: Cli, run: Path, here: Path) -> None:
    (here / "alice").unlink()
    done = cli("amend", run, "note", "seen")
    assert (done.code, "was amended, and not signed" in done.err) == (2, True)
    assert len((run / "amendments.jsonl").read_bytes().splitlines()) == 1


@pytest.mark.usefixtures("always")
def test_a_key_that_is_gone_does_not_lose_the_record(cli: Cli, here: Path) -> None:
    (here / "alice").unlink()
    with (
        pytest.warns(runcard.RuncardWarning, match="was closed, and not signed"),
        runcard.record(here / "outputs", strict=True) as run,
    ):
        pass
    assert cli("verify", run.path).code == 0
    assert not (Path(run.path) / "metadata.json.sig").exists()
    (here / "spec.json").write_text(json.dumps(SPEC))
    outcome = cli("collect", "spec.json", "--artifacts", here / "artifacts")
    assert outcome.code == 2
    assert "was closed, and not signed" in outcome.err
    assert cli("verify", outcome.out.strip()).code == 0


def test_the_key_of_the_settings_is_that_of_sign(cli: Cli, run: Path, always: Path) -> None:
    assert cli("sign", run).code == 0
    assert is_signed(cli, run, always)


@pytest.mark.parametrize("name", ["sign", "signing.key"])
def test_a_repository_cannot_make_you_sign(cli: Cli, here: Path, name: str) -> None:
    keygen(here / "key", name="mallory")
    table = '\n[signing]\nkey = "key"\n'
    (here / "runcard.toml").write_text(f'sign = "always"\n{table}' if name == "sign" else table)
    outcome = cli("run", "--", "true")
    assert outcome.code == 0
    assert not list((here / "outputs").glob("*/metadata.json.sig"))
    assert f"{name} is ignored: it decides what you sign, and with which key" in cli("config").err
    assert cli("config", "trust").code == 0
    assert f"{name} is ignored" not in cli("config").err


def test_no_byte_of_a_key_gets_into_a_record_or_a_message(
    cli: Cli, here: Path, always: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert always.exists()
    secret = [line for line in (here / "alice").read_text().splitlines() if not line.startswith("-")]
    with runcard.record(here / "outputs", strict=True):
        pass
    said = [cli("sign", "@latest"), cli("-v", "verify", "outputs"), cli("show", "@latest"), cli("config")]
    (here / "broken").write_text((here / "alice").read_text().replace("\n", "\nX", 2))
    (here / "broken").chmod(0o600)
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", str(here / "broken"))
    said.append(cli("-v", "sign", "@latest"))
    assert said[-1].code == 64 or said[-1].code == 1
    texts = [each.out + each.err for each in said]
    texts += [path.read_text() for path in (here / "outputs").rglob("*") if path.is_file()]
    assert not any(line[20:] in text for line in secret[1:] for text in texts)


def test_what_was_changed_before_is_not_signed_along_with_a_note(
    cli: Cli, run: Path, always: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write to the store can enter a change in the ledger, but not have it signed unseen."""
    assert cli("sign", run).code == 0
    monkeypatch.setenv("RUNCARD_SIGN", "never")
    assert cli("redact", run, "--file", "notes.txt", "--reason", "x", "--yes").code == 0
    monkeypatch.setenv("RUNCARD_SIGN", "always")
    noted = cli("amend", run, "note", "seen")
    assert "was amended, and not signed: it has an amendment from before that you did not sign" in noted.err
    assert cli("verify", "--signers", always, run).code == 1
    assert cli("sign", run).code == 0
    assert cli("amend", run, "note", "seen again").err == ""
    assert is_signed(cli, run, always)
