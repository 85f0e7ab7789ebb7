"""Signatures and time-stamps that cannot be checked here, because the package for that is not installed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import run_vectors

from conftest import Cli
from runcard.extras import install_command

VECTORS = Path(__file__).parents[2] / "vectors"


@pytest.fixture
def without_cryptography(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in sys.modules if name.partition(".")[0] == "cryptography"]
    for name in {"cryptography", *names}:
        monkeypatch.setitem(sys.modules, name, None)


def vector(name: str) -> Path:
    (record,) = (VECTORS / "records" / name).iterdir()
    return record


@pytest.mark.usefixtures("without_cryptography")
@pytest.mark.parametrize(
    "kind", ["signed", "signed-ssh-rsa", "signed-ssh-ecdsa-256", "signed-ssh-hardware-ecdsa"]
)
def test_a_signature_that_cannot_be_checked_is_not_called_missing(cli: Cli, kind: str) -> None:
    done = cli("verify", vector(kind))
    assert (done.code, done.err) == (2, "")
    assert "intact, complete, signature not checked, not time-stamped" in done.out
    assert install_command("sign") in done.out
    assert "could have forged" not in done.out


@pytest.mark.parametrize("kind", ["signed", "ssh-unknown-algorithm"])
def test_its_state_is_not_none(cli: Cli, kind: str, request: pytest.FixtureRequest) -> None:
    """In JSON, `none` is for a record without a signature."""
    if kind == "signed":
        request.getfixturevalue("without_cryptography")
    report = json.loads(cli("verify", "--json", vector(kind)).out)
    (record,) = report["records"]
    state = record["signature"]
    assert (report["signed"], record["signed"], state["state"], state["by"]) == (None, None, None, [])
    assert (state["unsigned_additions"], state["reason"]) == (None, report["findings"][0]["message"])


def test_the_state_of_a_ledger_whose_signature_cannot_be_checked_or_is_wrong(
    cli: Cli, run: Path, here: Path, signers: Path, request: pytest.FixtureRequest
) -> None:
    assert signers.exists()
    assert cli("sign", run, here / "outputs", "--key", here / "alice").code == 0
    file = here / "outputs/.runcard/ledgers.sig"
    good = file.read_bytes()

    def state() -> Any:
        (store,) = json.loads(cli("verify", "--json", here / "outputs").out)["stores"]
        return store["ledger"]["signature"]

    assert state()["state"] == "current"
    file.write_bytes(good.replace(b'"sig":"', b'"sig":"AAAA'))
    assert state() == {"state": "bad", "by": []}
    file.unlink()
    assert state() == {"state": "none", "by": []}
    file.write_bytes(good)
    request.getfixturevalue("without_cryptography")
    assert (state()["state"], install_command("sign") in state()["reason"]) == (None, True)


@pytest.mark.usefixtures("without_cryptography")
def test_a_signature_that_cannot_be_checked_is_not_trusted(cli: Cli) -> None:
    done = cli("verify", vector("signed"), "--signers", VECTORS / "signers")
    assert done.code == 1
    assert "its signature could not be checked [signer]" in done.out


@pytest.mark.usefixtures("without_cryptography")
def test_a_time_stamp_that_cannot_be_checked_is_not_called_missing(cli: Cli) -> None:
    done = cli("verify", vector("timestamp-good"))
    assert (done.code, done.err) == (2, "")
    assert "not signed, time-stamp not checked" in done.out


@pytest.mark.usefixtures("without_cryptography")
@pytest.mark.parametrize("name", ["statement-other-document", "signed-resealed", "signed-another-record"])
def test_a_signature_about_another_record_is_wrong_also_unchecked(cli: Cli, name: str) -> None:
    done = cli("verify", vector(name))
    assert (done.code, "[signature]" in done.out) == (1, True)


def test_no_vector_is_good_only_because_the_package_is_missing(
    cli: Cli, request: pytest.FixtureRequest
) -> None:
    """With the package 1 or 2, without it 0: that would be a verdict changed by what is installed."""
    vectors = [each for each in run_vectors.vectors("run") if each["exit_code"] and not each.get("make")]
    request.getfixturevalue("without_cryptography")
    records = [VECTORS / "records" / each["path"] for each in vectors]
    accepted = [
        each["name"] for each, record in zip(vectors, records, strict=True) if not cli("verify", record).code
    ]
    needs_trust = {
        each["name"]
        for each in vectors
        if set(each["findings"]) == {"signer"} or "authority" in each["findings"]
    }
    assert (set(accepted) - needs_trust, len(vectors) > 100) == (set(), True)


def test_of_a_record_that_cannot_be_read_nobody_knows_whether_it_is_signed(
    cli: Cli, run: Path, here: Path, signers: Path
) -> None:
    assert cli("sign", run, "--key", here / "alice").code == 0
    assert cli("archive", run).code == 0
    (archive,) = (here / "outputs/archive").rglob("*.tar.gz")
    data = archive.read_bytes()
    for size in (len(data) // 8, len(data) // 2):
        archive.write_bytes(data[:size])
        done = cli("verify", "--json", "--signers", signers, archive)
        report = json.loads(done.out)
        (record,) = report["records"]
        assert (done.code, record["signed"], record["signature"]["state"]) == (1, None, None)
        assert record["signature"]["reason"] in {each["message"] for each in report["findings"]}
        assert "its signature could not be checked" in {each["message"] for each in report["findings"]}
