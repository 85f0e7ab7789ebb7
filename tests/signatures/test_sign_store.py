"""Signing the ledger of a store: what was removed or written afresh is noticed."""

import base64
import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from runcard.operations.signatures.keygen import keygen
from runcard.store.ledger_index import LedgerIndex
from runcard.store.verification.ledger_signatures import LedgerPrefixes


@pytest.fixture
def store(here: Path, signers: Path) -> Path:
    """A store of three runs whose ledger Alice has signed."""
    assert signers.exists()
    return record_three(here / "outputs")


def record_three(store: Path, score: int = 1) -> Path:
    for number in range(3):
        with runcard.record(store, config={"number": number, "score": score}, strict=True):
            pass
    return store


def sign_store(cli: Cli, store: Path, key: str = "alice") -> None:
    outcome = cli("sign", store, "--key", key)
    assert outcome.code == 0, outcome.err


def runs_of(store: Path) -> list[Path]:
    return sorted(path for path in store.iterdir() if not path.name.startswith("."))


def kinds(cli: Cli, store: Path) -> tuple[int, set[str], set[str]]:
    outcome = cli("verify", "--json", store)
    findings = json.loads(outcome.out)["findings"]
    return outcome.code, {each["kind"] for each in findings}, {each["message"] for each in findings}


def cut_last_entry(store: Path) -> None:
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))


def test_a_store_whose_ledger_is_signed(cli: Cli, store: Path) -> None:
    sign_store(cli, store)
    outcome = cli("verify", store)
    assert outcome.code == 0
    assert f"{store}: the ledger is signed" in outcome.out.splitlines()
    assert "already signed" in cli("sign", store, "--key", "alice").out
    record_three(store)  # a ledger may grow
    assert kinds(cli, store) == (0, set(), set())
    assert ", without the last 3 entries" in cli("verify", store).out
    assert "already signed" not in cli("sign", store, "--key", "alice").out
    assert len((store / ".runcard" / "ledgers.sig").read_bytes().splitlines()) == 2


@pytest.mark.parametrize("kind", ["link", "fifo", "too large"])
def test_something_else_in_place_of_the_signatures(cli: Cli, store: Path, here: Path, kind: str) -> None:
    """A link is not followed: what is behind it is nobody's business."""
    path = store / ".runcard" / "ledgers.sig"
    if kind == "link":
        (here / "secret").write_text("canary\n")
        path.symlink_to(here / "secret")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.touch()
        os.truncate(path, 1 << 33)
    outcome = cli("verify", store)
    assert (outcome.code, "[signature]" in outcome.out, "'c'" in outcome.out) == (1, True, False)


def test_the_last_record_removed_together_with_its_entry(cli: Cli, store: Path) -> None:
    shutil.rmtree(runs_of(store)[-1])
    cut_last_entry(store)
    assert kinds(cli, store)[0] == 0  # without a signature this is not seen
    shutil.rmtree(store)
    record_three(store)
    sign_store(cli, store)
    shutil.rmtree(runs_of(store)[-1])
    cut_last_entry(store)
    code, found, messages = kinds(cli, store)
    assert (code, found) == (1, {"tail"})
    assert messages == {"signature 1: the ledger had 3 entries when it was signed, and has fewer now"}


def test_a_store_written_afresh_with_better_numbers(cli: Cli, store: Path, here: Path) -> None:
    sign_store(cli, store)
    kept = (store / ".runcard/ledgers.sig").read_bytes()
    shutil.rmtree(store)
    record_three(here / "outputs", score=100)
    assert kinds(cli, store)[0] == 0
    (store / ".runcard/ledgers.sig").write_bytes(kept)
    code, found, messages = kinds(cli, store)
    assert (code, found) == (1, {"signature"})
    assert messages == {"signature 1: the first 3 entries of the ledger are not those that were signed"}


def test_the_signature_of_a_record_is_none_of_a_store(cli: Cli, store: Path) -> None:
    run = runs_of(store)[0]
    assert cli("sign", run, "--key", "alice").code == 0
    (store / ".runcard/ledgers.sig").write_bytes((run / "metadata.json.sig").read_bytes())
    assert kinds(cli, store)[2] == {"signature 1: the statement is about something else, by its type"}
    sign_store_of_another = store.parent / "other"
    record_three(sign_store_of_another)
    sign_store(cli, sign_store_of_another)
    (store / ".runcard/ledgers.sig").unlink()
    (run / "metadata.json.sig").write_bytes((sign_store_of_another / ".runcard/ledgers.sig").read_bytes())
    assert kinds(cli, run)[2] == {"signature 1: the statement is about something else, by its type"}


def test_whose_signature_it_is(cli: Cli, store: Path, here: Path, signers: Path) -> None:
    keygen(here / "mallory", name="alice")
    sign_store(cli, store, "mallory")
    for run in runs_of(store):
        assert cli("sign", run, "--key", "alice").code == 0
    outcome = cli("verify", "--signers", signers, store)
    assert outcome.code == 1
    assert f"{store}: the ledger is NOT SIGNED AS REQUIRED\n" in outcome.out
    assert "no signature is by a trusted signer [signer]" in outcome.out
    sign_store(cli, store)
    assert cli("verify", "--signers", signers, store).code == 0


def test_what_the_ledger_says_after_its_signature_is_a_claim(cli: Cli, store: Path, signers: Path) -> None:
    """Anybody can delete a bad record with `runcard rm`, and so make the tally better."""
    for run in runs_of(store):
        assert cli("sign", run, "--key", "alice").code == 0
    sign_store(cli, store)
    gone, redacted, *_ = runs_of(store)
    assert cli("rm", gone, "--yes").code == 0
    for options in ((), ("--signers", signers)):
        outcome = cli("verify", "-q", "--json", *options, store)
        report = json.loads(outcome.out)
        (found,) = report["findings"]
        assert (outcome.code, report["tally"]["removed"]) == (2, 1)
        assert (found["kind"], found["record"]) == ("ledger", gone.name)
        assert "says an entry of the ledger that nobody signed" in found["message"]
    shown = cli("verify", "-q", "--signers", signers, store)
    assert "was deleted, says an entry of the ledger that nobody signed" in shown.out + shown.err
    sign_store(cli, store)  # who knows that it was deleted on purpose
    assert cli("verify", "--signers", signers, store).code == 0
    assert cli("redact", redacted, "--file", "experiment.jsonl", "--reason", "law", "--yes").code == 0
    assert cli("sign", redacted, "--key", "alice").code == 0
    code, _, messages = kinds(cli, store)
    assert code == 2
    assert any("was changed, says an entry of the ledger" in message for message in messages)


def test_new_records_after_the_signature_of_the_ledger_are_no_claims(cli: Cli, store: Path) -> None:
    sign_store(cli, store)
    record_three(store)
    assert cli("amend", runs_of(store)[0], "note", "seen").code == 0
    assert kinds(cli, store)[0] == 0


def test_a_damaged_store_is_not_signed(cli: Cli, store: Path) -> None:
    shutil.rmtree(runs_of(store)[0])
    outcome = cli("sign", store, "--key", "alice")
    assert outcome.code == 1
    assert "was not signed, because it fails verification" in outcome.err
    assert not (store / ".runcard/ledgers.sig").exists()


def test_the_entries_that_were_signed_can_be_hashed_without_runcard(cli: Cli, store: Path) -> None:

    sign_store(cli, store)
    envelope = json.loads((store / ".runcard/ledgers.sig").read_bytes())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    record_three(store)
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    first = b"".join(
        ledger.read_bytes().splitlines(keepends=True)[: statement["predicate"]["ledgers"][0]["count"]]
    )
    assert statement["subject"] == [{"name": ledger.name, "digest": {"sha256": sha256(first).hexdigest()}}]


def test_the_beginnings_of_a_ledger_are_the_same_in_any_order(here: Path) -> None:
    for _ in range(4):
        with runcard.record(here / "outputs", strict=True):
            pass
    with LedgerIndex(str(here / "outputs")) as index:
        (ledger,) = index.ledgers
        lines = Path(ledger.path).read_bytes().splitlines(keepends=True)
        prefixes = LedgerPrefixes(index)
        for count in (1, 3, 4, 2, 4):
            end = prefixes.end(ledger, count)
            assert end is not None
            assert end.sha256 == sha256(b"".join(lines[:count])).hexdigest()
        assert prefixes.end(ledger, len(lines) + 1) is None


def test_a_ledger_that_is_not_signed_beside_signed_records_is_named(
    cli: Cli, store: Path, signers: Path
) -> None:
    for run in runs_of(store):
        assert cli("sign", run, "--key", "alice").code == 0
    outcome = cli("verify", "--signers", signers, store)
    assert outcome.code == 0
    assert "the ledger is not signed: records that are removed from its end are not noticed" in outcome.out
    required = cli("verify", "--signers", signers, "--require-signed-ledger", store)
    assert (required.code, "the ledger is not signed by a trusted signer [signer]" in required.out) == (
        1,
        True,
    )
    sign_store(cli, store)
    for options in ((), ("--require-signed-ledger",)):
        outcome = cli("verify", "--signers", signers, *options, store)
        assert (outcome.code, "not noticed" in outcome.out) == (0, False)
    shutil.rmtree(store / ".runcard")  # with the ledger and its signature
    assert cli("verify", "--signers", signers, "--require-signed-ledger", store).code == 1
    assert cli("verify", "--require-signed-ledger", store).code == 64


def test_a_signed_ledger_is_required_of_a_record_alone(
    cli: Cli, store: Path, here: Path, signers: Path
) -> None:
    first, second, *_ = runs_of(store)
    assert cli("sign", first, "--key", "alice").code == 0

    def verify(path: Path) -> tuple[int, str]:
        done = cli("verify", "--signers", signers, "--require-signed-ledger", path)
        return done.code, done.out

    code, said = verify(first)
    assert (code, "the ledger is not signed by a trusted signer [signer]" in said) == (1, True)
    assert "[signature]" not in said  # there is none that could be wrong
    sign_store(cli, store)
    code, said = verify(first)
    assert (code, "outputs: the ledger is signed\n  signed by alice, author" in said) == (0, True)
    assert cli("rm", second, "--yes").code == 0  # what was done to others since is not about this record
    assert verify(first)[0] == 0
    ledger = store / ".runcard/ledgers.sig"
    good = ledger.read_bytes()
    ledger.write_bytes(good.replace(b'"sig":"', b'"sig":"AAAA'))
    assert verify(first)[0] == 1
    ledger.write_bytes(good)
    copy = Path(shutil.copytree(first, here / "elsewhere" / first.name))
    assert cli("export", first, "--to", "bundle", "--output", here / "bundle.tar.gz").code == 0
    for path in (copy, here / "bundle.tar.gz"):
        code, said = verify(path)
        assert (code, "there is no ledger here that could be signed" in said) == (1, True), said


def test_a_signed_ledger_is_that_of_its_archives_too(
    cli: Cli, store: Path, here: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in runs_of(store):
        assert cli("sign", run, "--key", "alice").code == 0
    assert cli("archive", runs_of(store)[0]).code == 0
    (archive,) = store.glob("archive/*/*.tar.gz")
    monkeypatch.chdir(here)
    paths = (
        store,
        Path("outputs"),
        archive,
        archive.relative_to(here),
        store / "archive",
        Path("outputs/archive"),
    )
    for path in paths:
        outcome = cli("verify", "-q", "--signers", signers, "--require-signed-ledger", path)
        assert (outcome.code, outcome.out.count("NOT SIGNED AS REQUIRED")) == (1, 1), (path, outcome.out)
        assert "outputs: the ledger is NOT SIGNED AS REQUIRED" in outcome.out
    sign_store(cli, store)
    for path in paths:
        outcome = cli("verify", "-q", "--signers", signers, "--require-signed-ledger", path)
        assert outcome.code == 0, (path, outcome.out)


def test_a_stranger_s_signature_of_the_ledger_does_not_do(
    cli: Cli, store: Path, here: Path, signers: Path
) -> None:
    for run in runs_of(store):
        assert cli("sign", run, "--key", "alice").code == 0
    keygen(here / "mallory", name="alice")
    sign_store(cli, store, "mallory")
    code, found, messages = kinds(cli, store)
    assert (code, found) == (0, set()), messages
    outcome = cli("verify", "--signers", signers, "--require-signed-ledger", store)
    assert (outcome.code, "the ledger is not signed by a trusted signer" in outcome.out) == (1, True)


def test_signers_that_came_with_the_records_are_a_warning(cli: Cli, store: Path, signers: Path) -> None:
    for record in (*runs_of(store), store):
        assert cli("sign", record, "--key", "alice").code == 0
    assert cli("verify", "--signers", signers, store).code == 0
    inside = Path(shutil.copy(signers, store / "signers"))
    for path in (store, store.parent):
        outcome = cli("verify", "--json", "--signers", inside, path)
        messages = [each["message"] for each in json.loads(outcome.out)["findings"]]
        assert (outcome.code, any("use one of your own" in each for each in messages)) == (2, True)
    assert "use one of your own" in cli("verify", "-q", "--signers", inside, store).out


def test_the_report_for_programs_says_what_the_ledger_says(cli: Cli, store: Path, signers: Path) -> None:
    for run in runs_of(store):
        assert cli("sign", run, "--key", "alice").code == 0
    assert cli("amend", runs_of(store)[1], "note", "seen").code == 0
    sign_store(cli, store)
    first, second, *_ = runs_of(store)
    assert cli("redact", second, "--file", "experiment.jsonl", "--reason", "law", "--yes").code == 0
    assert cli("rm", first, "--yes").code == 0
    report = json.loads(cli("verify", "--json", "--signers", signers, store).out)
    (about,) = report["stores"]
    assert about["path"] == str(store)
    ledger = about["ledger"]
    assert ledger["signature"] == {"state": "before-changes", "by": ["alice, author"]}
    assert (ledger["amendments"], ledger["deletions"]) == (2, 1)
    assert (ledger["unsigned_deletions"], ledger["unsigned_changes"]) == (1, 1)
    assert json.loads(cli("verify", "--json", second).out)["stores"] == []
