"""The published checks that need no runcard, on records as they are made: they accept what runcard accepts, or say that they cannot."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Cli
from signatures.authority import Authority
from signatures.test_timestamp import stamp_by_files

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = EXAMPLES / "verify-run" / "check_signature.sh"

pytestmark = [pytest.mark.needs("npm"), pytest.mark.needs("openssh-client")]


def code_of(*command: str | Path) -> int:
    return subprocess.run([*map(str, command)], check=False, capture_output=True, timeout=60).returncode


def python(program: str, *arguments: str | Path) -> int:
    return code_of(sys.executable, "-B", EXAMPLES / program, *arguments)


def node(program: str, run: Path) -> int:
    return code_of("node", EXAMPLES / program, run)


def sign(cli: Cli, run: Path) -> None:
    assert cli("sign", run, "--key", "alice").code == 0


def amend(cli: Cli, run: Path) -> None:
    assert cli("amend", run, "note", "read by two people").code == 0


def redact(cli: Cli, run: Path) -> None:
    assert cli("redact", run, "--file", "notes.txt", "--reason", "names a customer", "--yes").code == 0


def change(_: Cli, run: Path) -> None:
    (run / "notes.txt").write_text("better\n")


Step = Callable[[Cli, Path], None]


@pytest.mark.parametrize(
    ("steps", "runcard", "verifier", "script", "journal", "store"),
    [
        ([], 1, 0, 1, 0, 0),
        ([sign], 0, 0, 0, 0, 0),
        ([sign, amend], 0, 0, 1, 0, 0),
        ([amend, sign], 0, 0, 1, 0, 0),
        ([sign, redact], 1, 2, 1, 0, 0),
        ([redact, sign], 0, 0, 1, 0, 0),
        ([sign, change], 1, 1, 1, 0, 0),
    ],
)
def test_signed_amended_and_redacted_records(  # noqa: PLR0917
    cli: Cli,
    run: Path,
    signers: Path,
    steps: list[Step],
    runcard: int,
    verifier: int,
    script: int,
    journal: int,
    store: int,
) -> None:
    """The verifier in JavaScript does not know whom to trust; the script cannot check what was amended, and says so."""
    for step in steps:
        step(cli, run)
    found = {
        "runcard": cli("verify", "--signers", signers, run).code,
        "verifier": node("verify-run/verify_run.mjs", run),
        "script": code_of("sh", SCRIPT, run, signers),
        "journal": python("check_journal.py", run),
        "journal in JavaScript": node("check_journal.mjs", run),
        "store": python("check_store.py", run.parent),
    }
    assert found == {
        "runcard": runcard,
        "verifier": verifier,
        "script": script,
        "journal": journal,
        "journal in JavaScript": journal,
        "store": store,
    }


@pytest.mark.parametrize("is_signed", [True, False])
def test_time_stamped_records(
    cli: Cli, run: Path, signers: Path, authority: Authority, tmp_path: Path, *, is_signed: bool
) -> None:
    if is_signed:
        sign(cli, run)
    assert stamp_by_files(cli, authority, run).code == 0
    options = ("--tsa-certs", authority.root, "--require-timestamp")
    assert cli("verify", *options, run).code == 0
    assert node("verify-run/verify_run.mjs", run) == 0
    stamped = run / ("metadata.json.sig" if is_signed else "metadata.json")
    assert authority.accepts(stamped, run / "metadata.json.tsr")
    if is_signed:
        assert not authority.accepts(run / "metadata.json", run / "metadata.json.tsr")
    accepted = 0 if is_signed else 1  # one that nobody signed is refused
    assert code_of("sh", SCRIPT, run, signers, authority.root) == accepted
    stranger = Authority(tmp_path / "stranger")
    assert code_of("sh", SCRIPT, run, signers, stranger.root) == 1
    assert cli("verify", "--tsa-certs", stranger.root, run).code == 1


def text_of(*command: str | Path) -> str:
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, timeout=60).stdout


def test_the_programs_count_one_and_many(cli: Cli, run: Path, signers: Path, authority: Authority) -> None:
    check_store = (sys.executable, "-B", EXAMPLES / "check_store.py", run.parent)
    assert text_of(*check_store) == "1 entry about 1 record, 0 anchors\n"
    sign(cli, run)
    assert stamp_by_files(cli, authority, run).code == 0
    check = ("sh", SCRIPT, run, signers, authority.root)
    assert ": the run and its first signature\n" in text_of(*check)
    (run / "metadata.json.tsr").unlink()
    assert cli("sign", run, "--key", "bob").code == 0
    assert stamp_by_files(cli, authority, run).code == 0
    assert ": the run and its signatures 1 to 2\n" in text_of(*check)


def test_a_time_stamp_of_other_signatures(cli: Cli, run: Path, signers: Path, authority: Authority) -> None:
    """Time-stamps of one record do not count for another, nor do several, which `openssl` reads only the first of."""
    sign(cli, run)
    assert stamp_by_files(cli, authority, run).code == 0
    reply = (run / "metadata.json.tsr").read_bytes()
    (run / "metadata.json.tsr").write_bytes(reply + b"forged")
    assert code_of("sh", SCRIPT, run, signers, authority.root) == 1
    assert cli("verify", run).code == 1
    (run / "metadata.json.tsr").unlink()
    first = (run / "metadata.json.sig").read_bytes()
    (run / "metadata.json.sig").unlink()
    sign(cli, run)
    (run / "metadata.json.tsr").write_bytes(reply)
    assert (run / "metadata.json.sig").read_bytes() != first
    assert code_of("sh", SCRIPT, run, signers, authority.root) == 1
    assert cli("verify", run).code == 1


@pytest.mark.long
@pytest.mark.usefixtures("signers")
def test_ledgers_and_anchors(cli: Cli, run: Path, authority: Authority) -> None:
    store = run.parent
    assert python("check_store.py", store) == 0
    sign(cli, run)
    assert cli("anchor", store, "--request", "anchor.tsq").code == 0
    authority.replies_to(Path("anchor.tsq"), Path("anchor.tsr"))
    given = ("--request", "anchor.tsq", "--response", "anchor.tsr", "--tsa-certs", authority.root)
    assert cli("anchor", store, *given).code == 0
    assert cli("verify", store, "--tsa-certs", authority.root).code == 0
    assert python("check_store.py", store, authority.root) == 0
    anchors = store / ".runcard" / "anchors"
    (leaves,) = anchors.glob("*.leaves.jsonl")
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    edits: list[tuple[Path, Callable[[bytes], bytes]]] = [
        (leaves, lambda data: data.replace(b'"count":1', b'"count":2', 1)),
        (leaves, lambda data: data.replace(b"{", b"{ ", 1)),
        (leaves, lambda data: data[:-1]),
        (ledger, lambda data: data.replace(b'"kind":"run"', b'"kind":"ruin"', 1)),
        (ledger, lambda data: data[:-1]),
        (ledger, lambda data: data.split(b"\n", 1)[1]),
        (run / "metadata.json.sig", lambda data: data.replace(b'"sig"', b'"sig" ')),
        (run / "metadata.json", lambda data: data.replace(b'"completed"', b'"failed"')),
    ]
    for path, edit in edits:
        before = path.read_bytes()
        assert edit(before) != before
        path.write_bytes(edit(before))
        assert python("check_store.py", store, authority.root) in {1, 2}, path.name
        assert cli("verify", store, "--tsa-certs", authority.root).code in {1, 2}
        path.write_bytes(before)
    (document,) = (path for path in anchors.glob("*.json"))
    (anchors / f"{document.stem}.tsr").write_bytes(b"")
    assert python("check_store.py", store, authority.root) == 1
    assert python("check_store.py", store) == 0


def test_records_that_are_gone_or_were_archived(cli: Cli, run: Path) -> None:
    store = run.parent
    assert cli("archive", run).code == 0
    assert python("check_store.py", store) == 0
    (archive,) = store.glob("archive/*/*.tar.gz")
    data = archive.read_bytes()
    archive.write_bytes(data[:-1])
    assert python("check_store.py", store) == 1
    archive.unlink()
    assert python("check_store.py", store) == 1
    archive.write_bytes(data)
    assert cli("restore", run.name, "--outputs", store).code == 0 or cli("restore", archive).code == 0
    assert python("check_store.py", store) == 0
    assert cli("rm", run, "--yes").code == 0
    assert python("check_store.py", store) == 0


def test_a_ledger_that_leads_elsewhere(cli: Cli, run: Path) -> None:
    """A link in place of a record, or a path that leads out of the store, is not followed."""
    run.rename(run.parent.parent / "elsewhere")
    run.symlink_to(run.parent.parent / "elsewhere")
    assert python("check_store.py", run.parent) == 1
    assert cli("verify", run.parent).code == 1
