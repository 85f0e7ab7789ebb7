"""Amendments that somebody without the key writes into a signed record, as the documentation describes them."""

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from attacks.command_server import runcard as command
from attacks.edited import LEAD, Fields, kinds, messages, session, verify
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.operations.signatures.keygen import keygen
from runcard.recording import record_signature
from runcard.signing.private_keys import load_plain_signer
from runcard.store import signatures
from runcard.store.amendments.change import Amender

WHEN = "2026-01-01T00:00:00Z"
PLAN = "testplan-2.0/every-addition.yml"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def signers(here: Path) -> Path:
    path = here / "signers"
    path.write_text(keygen(here / "alice", name="alice@lab.org").signers_line + "\n")
    return path


@pytest.fixture
def signed(here: Path, signers: Path) -> Path:
    """A signed run with a result and a metric."""
    assert signers.exists()
    with runcard.record(here / "outputs", strict=True) as run:
        (run.path / "final.json").write_text('{"accuracy": 0.6}\n')
        run.log_metric("accuracy", 0.6)
    path = Path(run.path)
    sign(path)
    return path


def sign(run: Path, key: str = "alice") -> None:
    done = command(Path.cwd(), "sign", run, "--key", key)
    assert done.returncode == 0, done.stderr


def forge(
    run: Path,
    kind: str,
    path: str | None,
    old: str | None,
    new: str | None,
    writer: str = "amendments",
    **fields: Any,
) -> str:
    """Write a line by hand, in the name of somebody else; its hash."""
    file = run / "amendments.jsonl"
    first = sha256(sealed_bytes(run)).hexdigest()
    lines = [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []
    lines = [line for line in lines if line["writer"] == writer]
    head = (lines[-1]["seq"], lines[-1]["hash"]) if lines else (0, first)
    payload = {"path": path, "old_sha256": old, "new_sha256": new, "who": "alice@lab.org", "when": WHEN}
    line = chain.make_line(
        {"seq": head[0] + 1, "timestamp": WHEN, "event": kind, "writer": writer},
        payload | {"why": "a name was in it"} | fields,
        os.urandom(16).hex(),
        head[1],
    )
    with file.open("ab") as opened:
        opened.write(encode_json(line, COMPACT))
    return str(line["hash"])


def sealed_bytes(run: Path) -> bytes:
    originals = run.parent / ".runcard" / "originals"
    kept = [path.read_bytes() for path in originals.iterdir()] if originals.is_dir() else []
    return kept[0] if kept else (run / "metadata.json").read_bytes()


def replace_output(run: Path) -> None:
    """Another result, and an amendment that calls it a redaction."""
    output = run / "final.json"
    old = sha256(output.read_bytes()).hexdigest()
    output.write_text('{"accuracy": 0.99}\n')
    forge(run, "redaction", "final.json", old, sha256(output.read_bytes()).hexdigest())


def replace_document(run: Path) -> None:
    """Another metric in the document, and an amendment that calls it a migration, with the original in the store."""
    forge_migration(run, "metadata.json", (run / "metadata.json").read_bytes().replace(b"0.6", b"0.99"))


def forge_migration(run: Path, name: str, new: bytes) -> None:
    """Other bytes of a file, and an amendment that calls it a migration, with the original in the store."""
    old = (run / name).read_bytes()
    assert new != old
    digest = sha256(old).hexdigest()
    originals = run.parent / ".runcard" / "originals"
    forge(run, "migration", name, digest, sha256(new).hexdigest(), **{"from": "1.0", "to": "1.0"})
    originals.mkdir(parents=True, exist_ok=True)
    (originals / digest).write_bytes(old)
    (run / name).write_bytes(new)


def record(report: Fields) -> Fields:
    (found,) = report["records"]
    return dict(found)


def test_the_signature_of_an_untouched_record(signed: Path, signers: Path) -> None:
    code, report = verify(signed, "--signers", signers)
    fingerprints = record(report)["signers"][0]["fingerprint"]
    assert (code, report["signed"]) == (0, True)
    assert record(report)["signature"] == {
        "state": "current",
        "by": ["alice@lab.org"],
        "unsigned_additions": 0,
    }
    assert record(verify(signed)[1])["signature"] == {
        "state": "current",
        "by": [fingerprints],
        "unsigned_additions": 0,
    }


def test_a_redaction_with_other_content_is_not_signed(signed: Path, signers: Path) -> None:
    replace_output(signed)
    code, report = verify(signed, "--signers", signers)
    assert (code, report["signed"], record(report)["signed"]) == (1, False, False)
    assert record(report)["signature"]["state"] == "before-changes"
    assert messages(report, "signer") == ["alice@lab.org: signed before 1 change that nobody signed"]
    allowed = verify(signed, "--signers", signers, "--allow-unsigned-changes")
    assert (allowed[0], allowed[1]["signed"], allowed[1]["tally"]["changed_after_signing"]) == (2, False, 1)
    assert verify(signed)[0] == 2


def test_the_verdict_says_that_nobody_signed_the_change(signed: Path, signers: Path) -> None:
    replace_output(signed)
    done = command(Path.cwd(), "verify", signed, "--signers", signers)
    first, *rest = done.stdout.splitlines()
    assert first == (
        f"Error: {signed}: intact, complete, SIGNED BEFORE 1 CHANGE THAT NOBODY SIGNED, not time-stamped"
    )
    assert (
        "  final.json: amended by 'alice@lab.org' because a name was in it, says the amendment [amended]"
        in rest
    )
    assert not any("signed by alice" in line and "before" not in line for line in rest)
    quiet = command(Path.cwd(), "verify", "-q", signed, "--signers", signers)
    assert (quiet.returncode, "NOBODY SIGNED" in quiet.stdout + quiet.stderr) == (1, True)


@pytest.mark.parametrize("kind", ["note", "approval", "review", "redaction"])
def test_what_a_line_calls_itself_does_not_matter(signed: Path, signers: Path, kind: str) -> None:
    """A line that names a file and its digests changes that file, whatever its kind."""
    output = signed / "final.json"
    old = sha256(output.read_bytes()).hexdigest()
    output.write_text("other\n")
    forge(signed, kind, "final.json", old, sha256(b"other\n").hexdigest(), text="harmless")
    code, report = verify(signed, "--signers", signers)
    assert (code, record(report)["signature"]["state"]) == (1, "before-changes")


def test_a_line_of_unknown_kind_counts_as_a_change(signed: Path, signers: Path) -> None:
    forge(signed, "blessing", None, None, None)
    code, report = verify(signed, "--signers", signers)
    assert (code, record(report)["signature"]["state"]) == (1, "before-changes")


def test_lines_of_a_second_writer_are_an_error(signed: Path) -> None:
    """Each writer has a chain of its own, whose count hides that of the other."""
    assert command(Path.cwd(), "amend", signed, "note", "seen", "--by", "ada").returncode == 0
    output = signed / "final.json"
    old = sha256(output.read_bytes()).hexdigest()
    output.write_text("other\n")
    noted = (signed / "amendments.jsonl").read_bytes()
    forge(signed, "redaction", "final.json", old, sha256(b"other\n").hexdigest(), writer="m")
    both = (signed / "amendments.jsonl").read_bytes()
    (signed / "amendments.jsonl").write_bytes(both.removeprefix(noted) + noted)
    code, report = verify(signed)
    assert (code, report["intact"]) == (1, False)
    assert messages(report, "chain") == ["line 2: amendments of several writers"]
    for arguments in (("amend", signed, "note", "more"), ("sign", signed, "--key", "alice")):
        refused = command(Path.cwd(), *arguments)
        assert (refused.returncode, "amendments of several writers" in refused.stderr) == (1, True)


def test_a_migration_that_changes_a_metric_is_a_change(signed: Path, signers: Path) -> None:
    replace_document(signed)
    code, report = verify(signed, "--signers", signers)
    assert (code, report["intact"], report["signed"]) == (1, False, False)
    assert record(report)["signature"]["state"] == "before-tampering"
    assert any("converting the document" in message for message in messages(report, "changed"))
    assert verify(signed)[0] == 1  # also for a reader who trusts nobody


def test_a_migration_that_changes_the_producer_is_a_change(signed: Path) -> None:
    """Nothing is exempt: no migration writes another producer."""
    document = json.loads((signed / "metadata.json").read_bytes())
    digest = sha256((signed / "metadata.json").read_bytes()).hexdigest()
    document["origin"] = {"version": "1.0", "sha256": digest}
    document["producer"] |= {"name": "a laboratory that everybody trusts"}
    forge_migration(signed, "metadata.json", json.dumps(document).encode())
    code, report = verify(signed)
    assert (code, report["intact"]) == (1, False)
    assert any("converting the document" in message for message in messages(report, "changed"))


@pytest.mark.parametrize("version", ["1.0.0, reviewed by alice", {"reviewed": "by alice"}, None])
def test_a_migration_that_writes_something_else_as_the_version_is_a_change(
    here: Path, signers: Path, version: object
) -> None:
    """Each migration sets `version` of an instance document: what it says is compared before that."""
    team = session(here)
    sign(team)
    name = f"instances/{LEAD}/metadata.json"
    document = json.loads((team / name).read_bytes())
    digest = sha256((team / name).read_bytes()).hexdigest()
    document["origin"] = {"version": "2.0.0", "sha256": digest}
    forge_migration(team, name, json.dumps(document | {"version": version}).encode())
    code, report = verify(team, "--signers", signers)
    assert (code, report["intact"], report["signed"]) == (1, False, False)
    assert any("converting the document" in message for message in messages(report, "changed"))


def test_a_migration_to_the_same_version_that_changes_the_form_only_is_none(
    signed: Path, signers: Path
) -> None:
    document = json.loads((signed / "metadata.json").read_bytes())
    digest = sha256((signed / "metadata.json").read_bytes()).hexdigest()
    document["origin"] = {"version": "1.0", "sha256": digest}
    forge_migration(signed, "metadata.json", json.dumps(document, indent=7).encode())
    assert record(verify(signed, "--signers", signers)[1])["signature"]["state"] == "current"


def test_an_output_is_no_document_of_the_record(here: Path, signers: Path) -> None:
    """The comments of a plan are not compared, so what is called its migration is a change."""
    plan = (Path(__file__).parents[1] / "corpus" / "valid" / PLAN).read_bytes()
    with runcard.record(here / "outputs", strict=True) as run:
        (run.path / "plan.yaml").write_bytes(plan)
    path = Path(run.path)
    sign(path)
    forge_migration(path, "plan.yaml", b"# approved by alice\n" + plan)
    code, report = verify(path, "--signers", signers)
    assert (code, report["intact"], record(report)["signature"]["state"]) == (1, True, "before-changes")


def test_a_migration_that_drops_fields_is_a_change(here: Path, signers: Path) -> None:
    """A session goes down to 1.0.0, which has no labels, and up again: the labels are gone."""
    record_path = session(here)
    sign(record_path)
    for version in ("1.0.0", "2.0.0"):
        assert command(here, "migrate", record_path, "--to", version).returncode in {0, 2}
    assert "labels" not in json.loads((record_path / "metadata.json").read_bytes())
    code, report = verify(record_path, "--signers", signers)
    assert (code, report["intact"], kinds(report) & {"changed"}) == (1, True, set())
    assert record(report)["signature"]["state"] == "before-changes"
    sign(record_path)
    assert verify(record_path, "--signers", signers)[0] == 0


def test_a_file_and_its_line_added_to_a_session_that_states_no_digest_of_its_list(
    here: Path, signers: Path
) -> None:
    """The document of a session of 1.0.0 does not fix `SHA256SUMS`: the signature does."""
    team = session(here, schema="1.0.0")
    sign(team)
    assert verify(team, "--signers", signers)[1]["signed"] is True
    listing = team / "SHA256SUMS"
    before = listing.read_bytes()
    added = Path("instances", "lead-1", "workspace", "confession.md")
    (team / added).write_bytes(b"I did it\n")
    line = f"{sha256((team / added).read_bytes()).hexdigest()}  {added}\n".encode()
    lines = [*before.splitlines(keepends=True), line]
    lines.sort(key=lambda each: bytes(each).partition(b"  ")[2])
    listing.write_bytes(b"".join(lines))
    code, report = verify(team, "--signers", signers)
    assert (code, report["signed"]) == (1, False)
    assert messages(report, "signature") == [
        "signature 1: the signature names another digest than the list of checksums",
        "signature 1: the signature names another number of files than the list of checksums",
    ]


@pytest.mark.parametrize("most", [2, 10_000])
def test_a_statement_of_an_earlier_version_that_does_not_fix_the_files(
    here: Path, signers: Path, most: int
) -> None:
    """Of a session of 1.0.0 with more files than it names, it has only their number."""
    team = session(here, schema="1.0.0")
    real = record_signature._signed_state

    def without_list(amender: Amender) -> Any:
        state, ledger = real(amender)
        return state._replace(listing=None), ledger

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(signatures, "MOST_OUTPUTS", most)
        patched.setattr(record_signature, "_signed_state", without_list)
        record_signature.add_signature(str(team), load_plain_signer("alice"))
    said = "it was signed by an earlier version, which covers the number of its files only: sign it again"
    (found,) = runcard.verify(team, signers=signers)
    assert (
        found.verdict.exit_code,
        [each.message for each in found.verdict.findings if each.path.endswith(".sig")],
    ) == ((2, [said]) if most == 2 else (0, []))
    keygen(here / "mallory", name="alice@lab.org")
    record_signature.add_signature(str(team), load_plain_signer("mallory"))  # a stranger's does not do
    (found,) = runcard.verify(team, signers=signers)
    assert found.verdict.exit_code == (2 if most == 2 else 0)
    sign(team)
    (found,) = runcard.verify(team, signers=signers)
    assert found.verdict.exit_code == 0


def test_notes_and_approvals_leave_the_signature_and_are_counted(signed: Path, signers: Path) -> None:
    for kind, value in (("note", "seen"), ("approval", "carol")):
        assert command(Path.cwd(), "amend", signed, kind, value).returncode == 0
    code, report = verify(signed, "--signers", signers)
    assert (code, report["signed"]) == (0, True)
    assert record(report)["signature"] == {
        "state": "current",
        "by": ["alice@lab.org"],
        "unsigned_additions": 2,
    }
    shown = command(Path.cwd(), "verify", signed, "--signers", signers).stdout
    assert ", before 2 remarks" in shown


def test_the_main_output_withheld_from_a_copy(signed: Path, signers: Path) -> None:
    done = command(
        Path.cwd(),
        "redact",
        signed,
        "--file",
        "final.json",
        "--by",
        "alice@lab.org",
        "--reason",
        "law",
        "--yes",
    )
    assert done.returncode == 0, done.stderr
    shown = command(Path.cwd(), "verify", signed)
    assert shown.returncode == 2
    assert (
        "intact, complete except for 1 withheld part, signed before 1 change that nobody signed"
        in shown.stdout
    )
    assert "withheld by 'alice@lab.org' because law, says the amendment" in shown.stdout
    assert verify(signed, "--signers", signers)[0] == 1
    sign(signed)  # who has seen the change
    code, report = verify(signed, "--signers", signers)
    assert (code, report["signed"], kinds(report)) == (0, True, {"withheld"})


def test_a_change_that_only_a_stranger_signed(signed: Path, signers: Path, here: Path) -> None:
    replace_output(signed)
    keygen(here / "mallory", name="alice@lab.org")
    forged = (signed / "metadata.json.sig").read_bytes()
    # The ledger does not know the forged line, so the stranger signs a copy without a ledger.
    (signed.parent / ".runcard").rename(here / "away")
    sign(signed, "mallory")
    assert len((signed / "metadata.json.sig").read_bytes()) > len(forged)
    code, report = verify(signed, "--signers", signers)
    assert (code, record(report)["signature"]["state"]) == (1, "before-changes")
    assert record(report)["signature"]["by"] == ["alice@lab.org"]


def test_a_required_signer_stands_for_the_record_as_it_is(signed: Path, signers: Path, here: Path) -> None:
    """Alice is required, and signed; then somebody else whom the reader trusts changed the record, and signed that."""
    signers.write_text(signers.read_text() + keygen(here / "bob", name="bob@lab.org").signers_line + "\n")
    withheld = command(here, "redact", signed, "--file", "final.json", "--reason", "law", "--yes")
    assert withheld.returncode == 0
    required = ("--signers", signers, "--require", "alice@lab.org")
    assert messages(verify(signed, *required)[1], "signer") == [
        "alice@lab.org: signed before 1 change that nobody signed"
    ]
    sign(signed, "bob")
    assert verify(signed, "--signers", signers)[0] == 0
    code, report = verify(signed, *required)
    assert code == 1
    assert messages(report, "signer") == ["alice@lab.org signed it before 1 change, and not since"]
    assert verify(signed, *required, "--allow-unsigned-changes")[0] == 0
    assert messages(verify(signed, *required[:3], "bob@lab.org,alice@lab.org,carol")[1], "signer") == [
        "it is not signed by carol",
        "alice@lab.org signed it before 1 change, and not since",
    ]
    sign(signed)
    assert verify(signed, *required)[0] == 0


def test_the_payload_of_an_amendment_taken_out(signed: Path, signers: Path) -> None:
    """An approval that was signed is gone, and the chain still holds."""
    assert command(Path.cwd(), "amend", signed, "approval", "carol").returncode == 0
    sign(signed)
    file = signed / "amendments.jsonl"
    line = json.loads(file.read_bytes())
    del line["payload"], line["salt"]
    file.write_bytes(encode_json(line, COMPACT))
    code, report = verify(signed, "--signers", signers)
    assert (code, report["intact"]) == (1, False)
    assert any("its payload was taken out" in message for message in messages(report, "chain"))


@pytest.mark.parametrize(
    "command_line",
    [
        ("amend", "note", "seen"),
        ("redact", "--file", "final.json", "--reason", "law", "--yes"),
        ("redact", "--file", "final.json", "--reason", "law", "--dry-run"),
        ("sign", "--key", "alice"),
    ],
    ids=["amend", "redact", "redact --dry-run", "sign"],
)
def test_nothing_is_built_on_lines_that_the_ledger_does_not_know(
    signed: Path, signers: Path, command_line: tuple[str, ...]
) -> None:
    replace_output(signed)
    before = {path.name: path.read_bytes() for path in signed.iterdir()}
    name, *arguments = command_line
    done = command(Path.cwd(), name, signed, *arguments)
    assert (done.returncode, "the ledger of its store does not know" in done.stderr) == (1, True)
    assert {path.name: path.read_bytes() for path in signed.iterdir()} == before
    assert verify(signed, "--signers", signers)[0] == 1


def test_an_announcement_by_somebody_else_is_none(signed: Path, signers: Path) -> None:
    """The folder of the store can be written to as well, but the code in it needs the key of the user."""
    assert signers.exists()
    replace_output(signed)
    line = json.loads((signed / "amendments.jsonl").read_bytes())
    folder = signed.parent / ".runcard" / f"amending-{signed.name}"
    folder.mkdir()
    (folder / "announced").write_text(f"{line['hash']} {'0' * 64}")
    assert command(Path.cwd(), "amend", signed, "note", "seen").returncode == 1


def test_lines_that_were_written_elsewhere_can_be_accepted(signed: Path, signers: Path) -> None:
    replace_output(signed)
    refused = command(Path.cwd(), "amend", signed, "note", "seen")
    hint = refused.stderr.splitlines()[1]
    assert "--accept" in hint
    done = command(Path.cwd(), "amend", signed, "note", "compared with the printed copy", "--accept")
    assert (done.returncode, "Warning" in done.stderr) == (0, False)
    assert "ledger" not in kinds(verify(signed)[1])
    assert verify(signed, "--signers", signers)[0] == 1  # but nobody signed it


def test_amendments_that_were_cut_off_are_not_continued(signed: Path, signers: Path) -> None:
    assert signers.exists()
    for text in ("first", "second"):
        assert command(Path.cwd(), "amend", signed, "note", text).returncode == 0
    file = signed / "amendments.jsonl"
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    assert command(Path.cwd(), "amend", signed, "note", "third").returncode == 1


def test_a_copy_without_its_ledger_can_be_amended(signed: Path, signers: Path, here: Path) -> None:
    assert signers.exists()
    replace_output(signed)
    copy = here / "elsewhere" / signed.name
    copy.parent.mkdir()
    signed.rename(copy)
    assert command(Path.cwd(), "amend", copy, "note", "got this by mail").returncode == 0
