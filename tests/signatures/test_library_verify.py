"""`runcard.verify` takes the options of the command, and its results say the same."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from signatures.authority import Authority


@pytest.fixture
def signed(cli: Cli, run: Path, here: Path, signers: Path) -> Path:
    assert signers.exists()
    assert cli("sign", run, "--key", here / "alice").code == 0
    return run


def test_signers_and_names(cli: Cli, signed: Path, signers: Path, here: Path) -> None:
    (result,) = runcard.verify(signed, signers=signers)
    assert (result.verdict.exit_code, result.signature.signed, result.signature.by) == (
        0,
        True,
        ("alice, author",),
    )
    assert [(each.names, each.is_trusted) for each in result.signers] == [(("alice", "author"), True)]
    (result,) = runcard.verify(signed, signers=signers, require=["author", "reviewer"])
    assert (result.verdict.exit_code, result.verdict.findings[0].message) == (
        1,
        "it is not signed by reviewer",
    )
    (here / "revoked").write_text((here / "alice.pub").read_text())
    (result,) = runcard.verify(signed, signers=signers, revoked=here / "revoked")
    assert (result.verdict.exit_code, result.signature.state) == (1, "untrusted")
    (result,) = runcard.verify(signed)
    assert (result.verdict.exit_code, result.signers[0].is_trusted) == (0, None)
    assert cli("redact", signed, "--file", "notes.txt", "--reason", "x", "--yes").code == 0
    (result,) = runcard.verify(signed, signers=signers)
    assert (result.verdict.exit_code, result.signature.state) == (1, "before-changes")
    (result,) = runcard.verify(signed, signers=signers, allow_unsigned_changes=True)
    assert (result.verdict.exit_code, result.signature.signed) == (2, False)


def test_time_stamps(cli: Cli, signed: Path, authority: Authority, here: Path) -> None:
    (result,) = runcard.verify(signed, tsa_certs=authority.root, require_timestamp=True)
    assert (result.verdict.exit_code, result.timestamps) == (1, ())
    assert cli("timestamp", signed, "--request", "request.tsq").code == 0
    reply = authority.replies_to(here / "request.tsq", here / "reply.tsr")
    assert cli("timestamp", signed, "--response", reply).code == 0
    (result,) = runcard.verify(signed, tsa_certs=authority.root, require_timestamp=True)
    (stamp,) = result.timestamps
    assert (result.verdict.exit_code, stamp.is_trusted) == (0, True)
    assert stamp.timestamp.latest <= datetime.now(UTC) + timedelta(seconds=2)  # it has whole seconds


def test_stores_pins_and_wrong_options(signed: Path, signers: Path, here: Path) -> None:
    store, pin = signed.parent, here / "pins"
    results = list(runcard.verify(store, signers=signers, require_signed_ledger=True))
    assert [finding.kind for result in results for finding in result.verdict.findings] == ["limits", "signer"]
    assert all(result.verdict.exit_code == 0 for result in runcard.verify(store, pin=pin))
    assert pin.exists()
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    ledger.write_bytes(b"")
    assert any(result.verdict.exit_code == 1 for result in runcard.verify(store, pin=pin))
    for options in (
        {"require": ["alice"]},
        {"allow_unsigned_changes": True},
        {"require_signed_ledger": True},
    ):
        with pytest.raises(runcard.RuncardError, match="needs a file of signers"):
            runcard.verify(store, **options)
    with pytest.raises(runcard.RuncardError, match="about one record"):
        runcard.verify(store, proof=pin)
    inside = shutil.copy(signers, store / "signers")
    assert any(
        "use one of your own" in str(result.verdict) for result in runcard.verify(store, signers=inside)
    )


def test_the_command_and_the_library_say_the_same(cli: Cli, signed: Path, signers: Path) -> None:
    (signed / "notes.txt").write_text("forged\n")
    report = json.loads(cli("verify", "--json", "--signers", signers, signed.parent).out)
    results = list(runcard.verify(signed.parent, signers=signers))
    findings = [finding.to_dict() for result in results for finding in result.verdict.findings]
    (record,) = [result for result in results if result.verdict.records]
    assert findings == report["findings"]
    assert record.signature.to_dict() == report["records"][0]["signature"]
