"""Signing records, and verifying what was signed."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attacks.edited import session
from conftest import Cli, Outcome
from runcard.operations.signatures.keygen import keygen
from runcard.signing.envelope import STATEMENT_TYPE, sign_statement, signed_bytes
from runcard.signing.private_keys import load_plain_signer

Fields = dict[str, Any]


def signed(cli: Cli, record: Path | str, key: str = "alice") -> Outcome:
    outcome = cli("sign", record, "--key", key)
    assert outcome.code == 0, outcome.err
    return outcome


def verified(cli: Cli, record: Path | str, *options: str | Path) -> tuple[int, Fields]:
    outcome = cli("verify", "--json", *options, record)
    report: Fields = json.loads(outcome.out)
    return outcome.code, report


def signature_file(record: Path) -> Path:
    return record / "metadata.json.sig"


def statement(line: bytes) -> Fields:
    data: Fields = json.loads(base64.b64decode(json.loads(line)["payload"]))
    return data


@pytest.mark.usefixtures("signers")
def test_a_signed_run(cli: Cli, run: Path, signers: Path) -> None:
    assert verified(cli, run)[1]["signed"] is None
    shown = signed(cli, run)
    fingerprint = shown.out.split()[-1]
    assert shown.out == f"{run}: signed with {fingerprint}\n"
    code, report = verified(cli, run, "--signers", signers)
    (record,) = report["records"]
    (signer,) = record["signers"]
    assert (code, report["intact"], report["complete"], report["signed"]) == (0, True, True, True)
    assert (signer["fingerprint"], signer["names"], signer["trusted"]) == (
        fingerprint,
        ["alice", "author"],
        True,
    )
    assert report["findings"] == []
    said = cli("verify", run, "--signers", signers).out.splitlines()
    assert said[:2] == [
        f"{run}: intact, complete, signed, not time-stamped",
        f"  signed by alice, author ({fingerprint})",
    ]
    assert [line.partition(" means")[0].partition(":")[0] for line in said[2:]] == [
        "Intact",
        "Complete",
        "Signed",
        "Not time-stamped",
    ]
    assert f"{signers} says whose it is. This does not prove when." in said[4]


def test_what_is_signed(cli: Cli, run: Path, signers: Path) -> None:
    assert signers.exists()
    signed(cli, run)
    data = statement(signature_file(run).read_bytes())
    lines = [line.split("  ") for line in (run / "SHA256SUMS").read_text().splitlines()]
    listed = {path: digest for digest, path in lines}
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in data["subject"]}
    document = json.loads((run / "metadata.json").read_bytes())
    assert {name: subjects[name] for name in listed} == listed
    assert subjects["SHA256SUMS"] == document["checksums"]["output"].removeprefix("sha256:")
    assert set(subjects) == {"metadata.json", "SHA256SUMS", *listed}
    predicate = data["predicate"]
    assert (predicate["kind"], predicate["id"]) == ("run", document["generation"]["run_id"])
    assert predicate["event_chains"] == document["event_chains"]
    assert (predicate["outputs"], predicate["amendments"]["count"]) == (
        {"count": len(listed), "are_subjects": True},
        0,
    )
    ledger = (run.parent / ".runcard" / predicate["ledger"]["file"]).read_text()
    assert json.loads(ledger.splitlines()[-1])["hash"] == predicate["ledger"]["hash"]


def test_without_a_file_of_signers_nobody_vouches_for_a_key(cli: Cli, run: Path, signers: Path) -> None:
    assert signers.exists()
    signed(cli, run)
    outcome = cli("verify", run)
    assert (outcome.code, "nobody vouches for" in outcome.out) == (0, True)
    (signer,) = verified(cli, run)[1]["records"][0]["signers"]
    assert (signer["names"], signer["trusted"]) == ([], None)


def test_a_record_that_is_not_signed_fails_where_signers_are_named(
    cli: Cli, run: Path, signers: Path
) -> None:
    outcome = cli("verify", run, "--signers", signers)
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        f"Error: {run}: intact, complete, NOT SIGNED AS REQUIRED, not time-stamped",
        "  metadata.json.sig: it is not signed [signer]",
    ]
    code, report = verified(cli, run, "--signers", signers)
    assert (code, report["intact"], report["signed"]) == (1, True, None)


def test_two_people_must_sign(cli: Cli, run: Path, signers: Path) -> None:
    required = ("--signers", signers, "--require", "author,reviewer")
    signed(cli, run)
    signed(cli, run)  # the same person twice
    code, report = verified(cli, run, *required)
    assert (code, [found["message"] for found in report["findings"]]) == (1, ["it is not signed by reviewer"])
    signed(cli, run, "bob")
    assert verified(cli, run, *required)[0] == 0
    assert cli("verify", run, "--require", "author").code == 64


def test_somebody_else_is_not_trusted(cli: Cli, run: Path, signers: Path, here: Path) -> None:
    keygen(here / "mallory", name="alice")
    signed(cli, run, "mallory")
    code, report = verified(cli, run, "--signers", signers)
    (signer,) = report["records"][0]["signers"]
    assert (code, report["signed"], signer["trusted"]) == (1, False, False)
    assert signer["reason"] == "the key is not in the file of signers"


def test_a_redaction_is_covered_by_the_next_signature(cli: Cli, run: Path, signers: Path) -> None:
    signed(cli, run)
    assert cli("redact", run, "--file", "notes.txt", "--reason", "private", "--yes").code == 0
    code, report = verified(cli, run, "--signers", signers)
    (signer,) = report["records"][0]["signers"]
    assert (code, report["signed"], signer["amended_since"], signer["changed_since"]) == (1, False, 1, 1)
    signed(cli, run, "bob")  # who has seen the redaction
    code, report = verified(cli, run, "--signers", signers)
    (first, second) = report["records"][0]["signers"]
    assert (code, report["signed"], first["changed_since"], second["changed_since"]) == (0, True, 1, 0)
    assert report["records"][0]["signature"]["by"] == ["bob, reviewer"]
    data = statement(signature_file(run).read_bytes().splitlines()[1])
    assert data["predicate"]["amendments"]["count"] == 1


def test_an_amendment_that_was_signed_cannot_be_taken_back(cli: Cli, run: Path, signers: Path) -> None:
    cli("amend", run, "note", "first")
    signed(cli, run)
    shutil.rmtree(run.parent / ".runcard")  # whose ledger would tell as well
    (run / "amendments.jsonl").unlink()
    code, report = verified(cli, run, "--signers", signers)
    tails = [found["message"] for found in report["findings"] if found["kind"] == "tail"]
    assert (code, tails) == (1, ["signature 1: the last amendment that was signed is missing"])


def test_a_store_written_afresh_is_not_signed(cli: Cli, run: Path, signers: Path, here: Path) -> None:
    """The numbers of a record cannot be made better without the key, however consistent the rest is."""
    signed(cli, run)
    kept = signature_file(run).read_bytes()
    import runcard  # noqa: PLC0415

    with runcard.record(here / "elsewhere", strict=True) as better:
        (better.path / "notes.txt").write_text("better\n")
    other = Path(better.path)
    signature_file(other).write_bytes(kept)
    code, report = verified(cli, other, "--signers", signers)
    assert (code, report["signed"]) == (1, False)
    assert "is about another metadata document" in report["findings"][0]["message"]


def test_a_session_and_its_archive(cli: Cli, here: Path, signers: Path) -> None:
    record = session(here)
    signed(cli, record)
    assert verified(cli, record, "--signers", signers)[0] == 0
    assert cli("archive", record).code == 0
    (packed,) = (record.parent / "archive").glob("*/*.tar.gz")
    code, report = verified(cli, packed, "--signers", signers)
    assert (code, report["signed"], report["records"][0]["kind"]) == (0, True, "session")
    signed(cli, packed, "bob")
    code, report = verified(cli, packed, "--signers", signers, "--require", "alice,bob")
    assert (code, len(report["records"][0]["signers"])) == (0, 2)
    assert not record.exists()


def test_a_migrated_document(cli: Cli, here: Path, signers: Path) -> None:
    record = session(here, schema="1.0.0")
    signed(cli, record)
    assert cli("migrate", record, "--to", "2.0.0").code in {0, 2}
    code, report = verified(cli, record, "--signers", signers)
    assert (code, report["signed"]) == (0, True), report["findings"]
    signed(cli, record, "bob")
    assert verified(cli, record, "--signers", signers, "--require", "alice,bob")[0] == 0


def test_a_damaged_record_is_not_signed(cli: Cli, run: Path, signers: Path) -> None:
    assert signers.exists()
    (run / "notes.txt").write_text("changed")
    outcome = cli("sign", run, "--key", "alice")
    assert outcome.code == 1
    assert "was not signed, because it fails verification: notes.txt" in outcome.err
    assert not signature_file(run).exists()


def test_keys_that_cannot_sign(cli: Cli, run: Path, here: Path) -> None:
    for options, code, message in (
        ((), 64, "no key was named"),
        (("--key", "a", "--ssh", "b"), 64, "--key excludes"),
        (("--key", "nowhere"), 1, "the key nowhere does not exist"),
    ):
        outcome = cli("sign", run, *options)
        assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    assert os.listdir(here) == ["outputs"]


def test_revoked_and_expired(cli: Cli, run: Path, signers: Path, here: Path) -> None:
    signed(cli, run)
    (here / "revoked").write_text((here / "alice.pub").read_text())
    code, report = verified(cli, run, "--signers", signers, "--revoked", here / "revoked")
    assert (code, report["records"][0]["signers"][0]["reason"]) == (1, "the key is revoked")
    key = " ".join((here / "alice.pub").read_text().split()[:2])
    (here / "old").write_text(f'alice valid-before="20200101Z" {key}\n')
    code, report = verified(cli, run, "--signers", here / "old")
    assert (code, "no trusted time-stamp proves" in report["records"][0]["signers"][0]["reason"]) == (1, True)


@pytest.mark.parametrize("content", [b"alice\n", b"\xff\xfe\n", b"alice ssh-ed25519 AAAA\n"])
def test_a_broken_file_of_signers_stops_the_command(cli: Cli, run: Path, here: Path, content: bytes) -> None:
    (here / "signers").write_bytes(content)
    outcome = cli("verify", run, "--signers", here / "signers")
    assert (outcome.code, outcome.out) == (1, "")
    assert "line 1" in outcome.err


def envelope_with(edit: Callable[[Fields], object]) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        envelope: Fields = json.loads(line)
        result = edit(envelope)
        return json.dumps(envelope if result is None else result).encode() + b"\n"

    return change


def payload_with(edit: Callable[[Fields], object]) -> Callable[[bytes], bytes]:
    """A statement that was changed, with the signature of the one before."""

    def change(envelope: Fields) -> None:
        data = json.loads(base64.b64decode(envelope["payload"]))
        edit(data)
        envelope["payload"] = base64.b64encode(json.dumps(data).encode()).decode()

    return envelope_with(change)


def flip(text: str) -> str:
    data = bytearray(base64.b64decode(text))
    data[-1] ^= 1
    return base64.b64encode(data).decode()


MANIPULATIONS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "not JSON": lambda _: b"signed, believe me\n",
    "not UTF-8": lambda _: b"\xff\xfe\x00\n",
    "a list": lambda _: b"[]\n",
    "no fields": lambda _: b"{}\n",
    "half a line": lambda line: line[: len(line) // 2],
    "a key twice": lambda line: line.replace(b'{"payloadType"', b'{"payloadType":"x","payloadType"', 1),
    "another payload type": envelope_with(lambda e: e.update(payloadType="application/json")),
    "no payload": envelope_with(lambda e: e.pop("payload") and None),
    "payload not Base64": envelope_with(lambda e: e.update(payload="***")),
    "payload not JSON": envelope_with(lambda e: e.update(payload="AAAA")),
    "no signatures": envelope_with(lambda e: e.update(signatures=[])),
    "signatures not a list": envelope_with(lambda e: e.update(signatures={})),
    "signature not an object": envelope_with(lambda e: e.update(signatures=["x"])),
    "signature flipped": envelope_with(
        lambda e: e["signatures"][0].update(sig=flip(e["signatures"][0]["sig"]))
    ),
    "signature too short": envelope_with(lambda e: e["signatures"][0].update(sig="AAAA")),
    "signature of 10 MB": envelope_with(lambda e: e["signatures"][0].update(sig="A" * 10_000_000)),
    "101 signatures": envelope_with(lambda e: e.update(signatures=e["signatures"] * 101)),
    "one of two is bad": envelope_with(
        lambda e: e["signatures"].append({**e["signatures"][0], "sig": flip(e["signatures"][0]["sig"])})
    ),
    "an SSH signature that is none": envelope_with(
        lambda e: e["signatures"][0].update(sig=base64.b64encode(b"SSHSIG").decode())
    ),
    "another statement type": payload_with(lambda d: d.update(_type="x")),
    "another predicate type": payload_with(
        lambda d: d.update(predicateType="https://slsa.dev/provenance/v1")
    ),
    "no subjects": payload_with(lambda d: d.pop("subject")),
    "subject without digest": payload_with(lambda d: d["subject"][0].pop("digest")),
    "another document": payload_with(lambda d: d["subject"][0]["digest"].update(sha256="0" * 64)),
    "another output": payload_with(lambda d: d["subject"][-1]["digest"].update(sha256="0" * 64)),
    "another id": payload_with(lambda d: d["predicate"].update(id="run-other")),
    "other chains": payload_with(lambda d: d["predicate"].update(event_chains=[])),
    "another time": payload_with(lambda d: d["predicate"].update(signed_at="2020-01-01T00:00:00Z")),
    "amendments not a count": payload_with(lambda d: d["predicate"]["amendments"].update(count="many")),
    "another key": payload_with(
        lambda d: d["predicate"]["signer"].update(
            public_key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFl09x0LsPChflgWxU9uULe5I8RXNd+oZ10dR57E2aSj"
        )
    ),
    "a key that is none": payload_with(lambda d: d["predicate"]["signer"].update(public_key="ssh-dss AAAA")),
}


def forged(run: Path, edit: Callable[[Fields], object]) -> None:
    """A statement that was changed and then signed: by somebody with the key."""
    path = signature_file(run)
    data = statement(path.read_bytes())
    edit(data)
    path.write_bytes(sign_statement(json.dumps(data).encode(), load_plain_signer("alice")).to_line())


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: data["subject"].append(data["subject"][0]), "names a subject twice"),
        (lambda data: data["subject"].insert(0, {**data["subject"][0], "digest": {"sha256": "0" * 64}}), "twice"),
        (lambda data: data["subject"].pop(0), "another metadata document"),
        (lambda data: data["subject"].append({"name": "new", "digest": {"sha256": "0" * 64}}), "another digest"),
        (lambda data: data["predicate"].update(event_chains=None), "another event chains"),
    ],
)  # fmt: skip
def test_a_statement_that_its_signer_changed(
    cli: Cli, run: Path, signers: Path, edit: Callable[[Fields], object], message: str
) -> None:
    signed(cli, run)
    forged(run, edit)
    code, report = verified(cli, run, "--signers", signers)
    assert (code, report["signed"]) == (1, False)
    assert message in report["findings"][0]["message"]


@pytest.mark.parametrize("name", MANIPULATIONS)
def test_a_manipulated_signature_is_wrong(cli: Cli, run: Path, signers: Path, name: str) -> None:
    signed(cli, run)
    path = signature_file(run)
    path.write_bytes(MANIPULATIONS[name](path.read_bytes()))
    code, report = verified(cli, run, "--signers", signers)
    kinds = {found["kind"] for found in report["findings"]}
    assert (code, report["signed"], report["records"][0]["signed"]) == (1, False, False), report
    assert kinds <= {"signature", "signer"}
    assert "signature" in kinds
    assert cli("verify", run).code == 1


@pytest.mark.parametrize(
    "name", ["metadata.json", "SHA256SUMS", "notes.txt", "experiment.jsonl", "README.md"]
)
def test_a_changed_file_of_a_signed_record(cli: Cli, run: Path, signers: Path, name: str) -> None:
    signed(cli, run)
    (run / name).write_bytes((run / name).read_bytes().replace(b"a", b"b", 1).replace(b"e", b"f", 1))
    code, report = verified(cli, run, "--signers", signers)
    assert (code, report["intact"]) == (1, False)


def test_two_who_sign_at_once(run: Path, signers: Path) -> None:
    assert signers.exists()
    program = (
        "import sys\n"
        "from runcard.operations.signatures.sign import open_signer, sign\n"
        "sign(sys.argv[1], open_signer(key=sys.argv[2]))\n"
    )
    commands = [[sys.executable, "-c", program, str(run), key] for key in ("alice", "bob") for _ in range(4)]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait() for process in processes] == [0] * 8
    assert len(signature_file(run).read_bytes().splitlines()) == 2  # none is lost, and none is there twice


def test_a_killed_append_is_no_signature(cli: Cli, run: Path, signers: Path) -> None:
    """Half a line at the end is wrong, and the next signature takes its place."""
    signed(cli, run)
    with signature_file(run).open("ab") as file:
        file.write(b'{"payloadType":')
    assert verified(cli, run, "--signers", signers)[1]["signed"] is False
    assert cli("sign", run, "--key", "bob").code == 0
    assert verified(cli, run, "--signers", signers, "--require", "author,reviewer")[0] == 0


def test_a_line_without_its_end_is_not_lost(cli: Cli, run: Path, signers: Path) -> None:
    signed(cli, run)
    path = signature_file(run)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert cli("sign", run, "--key", "bob").code == 0
    assert verified(cli, run, "--signers", signers, "--require", "author,reviewer")[0] == 0


def test_the_same_key_signs_again_only_after_an_amendment(cli: Cli, run: Path, signers: Path) -> None:
    assert signers.exists()
    signed(cli, run)
    again = cli("sign", run, "--key", "alice")
    assert (again.code, "already signed with SHA256:" in again.out) == (0, True)
    assert (
        json.loads(cli("sign", run, "--key", "alice", "--json").out)["records"][0]["already_signed"] is True
    )
    assert len(signature_file(run).read_bytes().splitlines()) == 1
    assert cli("amend", run, "note", "checked", "--by", "bob").code == 0
    assert "already" not in cli("sign", run, "--key", "alice").out
    assert len(signature_file(run).read_bytes().splitlines()) == 2


def test_too_many_signatures_end_the_check(cli: Cli, run: Path, signers: Path) -> None:
    signed(cli, run)
    with signature_file(run).open("ab") as file:
        file.write(b"{}\n" * 200_000)
    code, report = verified(cli, run, "--signers", signers)
    assert (code, report["signed"], len(report["findings"])) == (1, False, 1000)
    assert report["findings"][-1]["message"] == "there are more than 1,000 signatures"


def test_signed_bytes_are_those_of_the_standard() -> None:
    assert signed_bytes("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert STATEMENT_TYPE == "application/vnd.in-toto+json"


def test_under_a_damaged_record_stands_that_it_was_signed_before(cli: Cli, run: Path, signers: Path) -> None:
    signed(cli, run)
    (run / "notes.txt").write_text("better\n")
    lines = cli("verify", run, "--signers", signers).out.splitlines()
    assert lines[0] == f"Error: {run}: CHANGED (nothing missing)"
    (about,) = [line for line in lines if "alice" in line]
    assert about.startswith("  alice, author (SHA256:")
    assert about.endswith(" signed it before this change")
    report = verified(cli, run, "--signers", signers)[1]
    assert (report["signed"], report["records"][0]["signature"]["state"]) == (False, "before-tampering")


def test_the_library_says_the_same_of_a_signature(cli: Cli, run: Path, signers: Path) -> None:
    import runcard  # noqa: PLC0415

    assert signers.exists()

    def is_signed() -> bool | None:
        (result,) = (each for each in runcard.verify(run) if each.verdict.records)
        return result.verdict.signed

    assert is_signed() is None
    signed(cli, run)
    assert cli("amend", run, "note", "seen").code == 0
    assert is_signed() is True
    assert cli("redact", run, "--file", "notes.txt", "--reason", "private", "--yes").code == 0
    assert is_signed() is False
    signed(cli, run)
    assert is_signed() is True
    (run / "added.txt").write_text("x")
    assert is_signed() is False
