"""Anchoring a store: one time-stamp for all records, proofs, and what verify finds afterwards."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from attacks.edited import session
from conftest import Cli
from documents.test_merkle import definition
from runcard.documents.anchor import make_anchor
from runcard.signing import timestamp_server
from runcard.store.anchors import StoredAnchor
from signatures.authority import Authority, served

Fields = dict[str, Any]


@pytest.fixture
def store(here: Path) -> Path:
    """Five runs."""
    for number in range(5):
        with runcard.record(here / "outputs", strict=True) as recorded:
            (recorded.path / "notes.txt").write_text(f"{number}\n")
    return here / "outputs"


def runs(store: Path) -> list[Path]:
    return sorted(path for path in store.iterdir() if path.name.startswith("2"))


def anchored(cli: Cli, authority: Authority, store: Path) -> Fields:
    with served(authority) as url:
        done = cli("anchor", store, "--tsa", url, "--tsa-certs", authority.root, "--json")
    assert done.code == 0, done.err
    data: Fields = json.loads(done.out)
    return data


def verified(cli: Cli, path: Path, *options: str | Path) -> tuple[int, Fields, list[str]]:
    done = cli("verify", "--json", *options, path)
    data = json.loads(done.out)
    return (
        done.code,
        data,
        [f"{each['record']}: {each['message']} [{each['kind']}]" for each in data["findings"]],
    )


def anchor_findings(findings: list[str]) -> list[str]:
    return [re.sub(r"anchored \S+: ", "", found) for found in findings if found.endswith("[anchor]")]


def test_all_records_of_a_store_have_one_time_stamp(cli: Cli, store: Path, authority: Authority) -> None:
    made = anchored(cli, authority, store)
    assert made["size"] == 6  # and the ledger
    assert made["trusted"] is True
    document, replies = Path(made["path"]), Path(made["path"]).with_suffix(".tsr")
    assert authority.accepts(document, replies)
    leaves = document.with_suffix(".leaves.jsonl").read_bytes().splitlines()
    assert definition(leaves).hex() == made["root"] == json.loads(document.read_bytes())["tree"]["root"]
    assert {json.loads(leaf)["kind"] for leaf in leaves} == {"ledger", "run"}
    code, report, findings = verified(cli, store, "--tsa-certs", authority.root, "--require-timestamp")
    assert (code, report["timestamped"], findings) == (0, True, [])
    for record in report["records"]:
        (stamp,) = record["timestamps"]
        assert (stamp["trusted"], stamp["anchor"]) == (True, made["name"])
    one = verified(cli, runs(store)[2], "--tsa-certs", authority.root, "--require-timestamp")
    assert (one[0], one[1]["records"][0]["timestamps"][0]["anchor"]) == (0, made["name"])


def test_by_files(cli: Cli, store: Path, authority: Authority) -> None:
    done = cli("anchor", store, "--request", "a.tsq")
    assert done.code == 0
    assert "5 heads" not in done.out
    assert "6 heads; request written to a.tsq" in done.out
    code, report, findings = verified(cli, store)
    assert (code, report["timestamped"]) == (0, None)
    assert anchor_findings(findings)[0].endswith("the anchor is not time-stamped: it proves no time [anchor]")
    reply = authority.replies_to(Path("a.tsq"), Path("a.tsr"))
    done = cli("anchor", store, "--request", "a.tsq", "--response", reply, "--tsa-certs", authority.root)
    assert done.code == 0, done.err
    assert verified(cli, store, "--tsa-certs", authority.root)[1]["timestamped"] is True
    other = Path("other")
    with runcard.record(other, strict=True):
        pass
    refused = cli("anchor", other, "--response", reply)
    assert (refused.code, "is not about an anchor" in refused.err) == (1, True)


def test_a_record_that_was_deleted_is_seen_even_without_its_entry_in_the_ledger(
    cli: Cli, store: Path, authority: Authority
) -> None:
    anchored(cli, authority, store)
    gone = runs(store)[3]
    shutil.rmtree(gone)
    code, report, findings = verified(cli, store)
    message = (
        f"{gone.name}: the run is gone, and the ledger does not say that it was deleted on purpose [anchor]"
    )
    assert (code, report["complete"], anchor_findings(findings)) == (1, False, [message])
    for ledger in (store / ".runcard").glob("ledger-*"):
        ledger.unlink()
    found = anchor_findings(verified(cli, store)[2])
    assert message in found
    assert any("the ledger is missing" in each for each in found)


def test_a_record_that_was_replaced_is_seen(cli: Cli, store: Path, authority: Authority, here: Path) -> None:
    anchored(cli, authority, store)
    old = runs(store)[1]
    with runcard.record(here / "elsewhere", strict=True) as recorded:
        (recorded.path / "notes.txt").write_text("better\n")
    shutil.rmtree(old)
    shutil.copytree(recorded.path, old)
    code, report, findings = verified(cli, store)
    assert (code, report["intact"]) == (1, False)
    assert anchor_findings(findings) == [
        f"{old.name}: another run, or one with another metadata document, is in its place [anchor]"
    ]


def test_a_ledger_that_was_shortened_or_rewritten_is_seen(
    cli: Cli, store: Path, authority: Authority
) -> None:
    anchored(cli, authority, store)
    (ledger,) = (store / ".runcard").glob("ledger-*")
    lines = ledger.read_bytes().splitlines(keepends=True)
    shutil.rmtree(runs(store)[-1])
    ledger.write_bytes(b"".join(lines[:-1]))
    found = anchor_findings(verified(cli, store)[2])
    assert any("the ledger was shortened: it had 5 entries, and has 4" in each for each in found)
    ledger.write_bytes(b"".join(lines[:-1]) + lines[0])
    found = anchor_findings(verified(cli, store)[2])
    assert any("the ledger was rewritten: entry 5 is another one" in each for each in found)


def test_what_our_commands_do_is_no_alarm(cli: Cli, store: Path, authority: Authority, signers: Path) -> None:
    assert signers.exists()
    anchored(cli, authority, store)
    amended, redacted, archived, restored, pruned = runs(store)
    assert cli("amend", amended, "note", "seen").code == 0
    assert cli("redact", redacted, "--file", "notes.txt", "--reason", "private", "--yes").code == 0
    assert cli("sign", amended, "--key", "alice").code == 0
    assert cli("archive", archived).code == 0
    assert cli("archive", restored).code == 0
    assert cli("restore", restored.name).code == 0
    assert cli("rm", pruned, "--yes").code == 0
    code, report, findings = verified(cli, store, "--tsa-certs", authority.root, "--require-timestamp")
    (found,) = anchor_findings(findings)
    assert (code, report["tally"]["removed"]) == (2, 1)
    assert "was deleted or replaced since, says the ledger, which nobody signed" in found
    assert cli("sign", store, "--key", "alice").code == 0  # who knows that it was deleted on purpose
    code, report, findings = verified(cli, store, "--tsa-certs", authority.root, "--require-timestamp")
    deleted = f": 1 anchored record was deleted or replaced since, says the ledger: {pruned.name} [anchor]"
    assert (code, anchor_findings(findings)) == (0, [deleted]), findings
    assert deleted.removeprefix(": ") in cli("verify", store, "--tsa-certs", authority.root).out
    assert len(report["records"]) >= 4
    assert all(record["timestamped"] for record in report["records"])
    again = anchored(cli, authority, store)
    leaves = Path(again["path"]).with_suffix(".leaves.jsonl").read_text()
    assert f'"{archived.name}"' in leaves
    assert leaves.count(f'"{restored.name}"') == 1  # one name may begin with another
    assert f'"{pruned.name}"' not in leaves
    assert anchor_findings(verified(cli, store)[2]) == [deleted]


def test_a_session_is_anchored_and_a_new_one_later(cli: Cli, here: Path, authority: Authority) -> None:
    path = session(here)
    made = anchored(cli, authority, path.parent)
    assert made["size"] == 2
    assert verified(cli, path, "--tsa-certs", authority.root, "--require-timestamp")[0] == 0
    shutil.rmtree(path)
    assert "the session is gone" in anchor_findings(verified(cli, path.parent)[2])[0]


def test_a_signature_is_proven_by_an_anchor_and_its_removal_is_seen(
    cli: Cli, store: Path, authority: Authority, signers: Path
) -> None:
    signed = runs(store)[0]
    cli("sign", signed, "--key", "alice")
    anchored(cli, authority, store)
    cli("sign", signed, "--key", "bob")
    code, report, _ = verified(cli, signed, "--tsa-certs", authority.root, "--signers", signers)
    assert (code, report["records"][0]["timestamps"][0]["signatures"]) == (0, 1)
    lines = (signed / "metadata.json.sig").read_bytes().splitlines(keepends=True)
    (signed / "metadata.json.sig").write_bytes(lines[1])
    for path in (signed, store):
        code, report, findings = verified(cli, path)
        assert (code, report["intact"]) == (1, False)
        assert anchor_findings(findings) == [
            f"{signed.name}: signatures that it had were removed or changed [anchor]"
        ]


def test_an_anchor_names_the_one_before(cli: Cli, store: Path, authority: Authority) -> None:
    first = anchored(cli, authority, store)
    with runcard.record(store, strict=True):
        pass
    second = anchored(cli, authority, store)
    assert second["size"] == first["size"] + 2
    for file in Path(first["path"]).parent.glob(f"{first['name']}*"):
        file.unlink()
    code, _, findings = verified(cli, store)
    assert code == 1
    assert anchor_findings(findings) == [
        f"{first['name']}: the anchor before it is missing, or was changed [anchor]"
    ]


def _edit(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.parametrize(
    ("suffix", "change", "message"),
    [
        (".json", lambda path: _edit(path, b'"size": 6', b'"size": 5'), "the leaves are not those"),
        (".json", lambda path: _edit(path, b'"created_at": "20', b'"created_at": "19'), "a time-stamp of the anchor: it is about"),
        (".json", lambda path: path.write_bytes(b"{"), "the anchor is not JSON"),
        (".json", lambda path: path.write_bytes(b"[]"), "the anchor is not an object"),
        (".json", lambda path: _edit(path, b'"1.0.0"', b'"2.0.0"'), "which this runcard does not know"),
        (".json", lambda path: _edit(path, b'"root"', b'"rood"'), "the anchor is not well formed"),
        (".json", lambda path: path.write_bytes(b" " * 100_000), "is too large"),
        (".leaves.jsonl", lambda path: _edit(path, b'"run"', b'"ruN"'), "a leaf is neither"),
        (".leaves.jsonl", lambda path: _edit(path, b'"name":"20', b'"name":"19'), "the leaves are not those"),
        (".leaves.jsonl", lambda path: path.write_bytes(path.read_bytes()[:-5]), "a leaf is cut"),
        (".leaves.jsonl", lambda path: path.write_bytes(b"x" * 100_000 + b"\n"), "a leaf is cut, or too long"),
        (".leaves.jsonl", lambda path: path.write_bytes(b""), "the leaves are not those"),
        (".leaves.jsonl", lambda path: path.unlink(), "No such file"),
        (".tsr", lambda path: path.write_bytes(path.read_bytes()[:-9]), "a time-stamp of the anchor: the data is cut"),
        (".tsr", lambda path: path.write_bytes(b""), "a time-stamp of the anchor: the file is empty"),
    ],
)  # fmt: skip
def test_an_anchor_that_was_changed(
    cli: Cli, store: Path, authority: Authority, suffix: str, change: Any, message: str
) -> None:
    made = anchored(cli, authority, store)
    change(Path(made["path"]).with_suffix(suffix))
    code, _, findings = verified(cli, store)
    assert code == 1
    assert any(message in found for found in anchor_findings(findings)), findings


# Proofs.


def proof_of(cli: Cli, store: Path, record: Path) -> Path:
    done = cli("anchor", store, "--proof", record)
    assert done.code == 0, done.err
    return Path(f"{record.name}.proof.json")


def test_a_proof_is_checked_without_the_store(
    cli: Cli, store: Path, authority: Authority, here: Path
) -> None:
    anchored(cli, authority, store)
    record = runs(store)[4]
    proof = proof_of(cli, store, record)
    sent = here / "sent" / record.name
    shutil.copytree(record, sent)
    options = ("--tsa-certs", authority.root, "--require-timestamp")
    assert verified(cli, sent, *options)[0] == 1
    code, report, _ = verified(cli, sent, *options, "--proof", proof)
    assert (code, report["records"][0]["timestamps"][0]["trusted"]) == (0, True)
    shutil.copy(proof, here / "sent")
    assert verified(cli, sent, *options)[0] == 0
    inside = verified(cli, record, *options, "--proof", proof)
    assert (inside[0], len(inside[1]["records"][0]["timestamps"])) == (0, 1)  # not twice
    assert cli("verify", store, "--proof", proof).code == 64
    assert cli("verify", sent, record, "--proof", proof).code == 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data | {"index": 2}, "does not lead to the root"),
        (lambda data: data | {"index": -1}, "is not well formed"),
        (lambda data: data | {"path": data["path"][:-1]}, "does not lead to the root"),
        (lambda data: data | {"path": ["!"]}, "is not Base64"),
        (lambda data: data | {"path": data["path"] * 100}, "does not lead to the root"),
        (lambda data: data | {"leaf": data["leaf"].replace("run", "Run")}, "does not lead to the root"),
        (lambda data: data | {"timestamps": []}, "it has no time-stamp"),
        (lambda data: data | {"timestamps": ["AAAA"]}, "more data behind the end"),
        (
            lambda data: data | {"anchor": make_anchor("2020-01-01T00:00:00Z", 1, bytes(32)).decode()},
            "does not lead",
        ),
        (lambda data: data | {"anchor": data["anchor"] + " "}, "it is about something else than the anchor"),
        (lambda data: data | {"anchor_proof_version": "9.0.0"}, "does not know"),
        (lambda _: [], "is not an object"),
    ],
)
def test_a_proof_that_was_changed(
    cli: Cli, store: Path, authority: Authority, change: Any, message: str
) -> None:
    anchored(cli, authority, store)
    record = runs(store)[0]
    proof = proof_of(cli, store, record)
    proof.write_text(json.dumps(change(json.loads(proof.read_bytes()))))
    code, report, findings = verified(cli, record, "--proof", proof)
    assert (code, report["records"][0]["timestamped"]) == (1, False)
    assert any(message in found for found in findings), findings


def test_a_proof_about_another_record(cli: Cli, store: Path, authority: Authority) -> None:
    anchored(cli, authority, store)
    proof = proof_of(cli, store, runs(store)[0])
    code, _, findings = verified(cli, runs(store)[1], "--proof", proof)
    assert (code, "it is about another record" in findings[0]) == (1, True)


def test_what_cannot_be_anchored_or_proven(cli: Cli, store: Path, authority: Authority, here: Path) -> None:
    (here / "empty").mkdir()
    assert cli("anchor", "empty", "--request", "a.tsq").code == 1
    assert cli("anchor", "nothing", "--request", "a.tsq").code == 1
    assert cli("anchor", store).code == 64
    refused = cli("anchor", store, "--proof", runs(store)[0])
    assert (refused.code, "no time-stamped anchor" in refused.err) == (1, True)
    assert cli("anchor", store, "--proof", runs(store)[0], "--tsa", "http://x/").code == 64
    assert cli("anchor", store, "--output", "x", "--request", "a.tsq").code == 64
    with served(authority, status=500, body=b"") as url:
        failed = cli("anchor", store, "--tsa", url)
    assert (failed.code, list((store / ".runcard" / "anchors").iterdir())) == (1, [])


def test_a_run_that_is_open_is_left_out(cli: Cli, store: Path, authority: Authority) -> None:
    opened = runcard.record(store, strict=True)
    with opened:
        made = anchored(cli, authority, store)
    assert made["size"] == 6
    assert verified(cli, store)[0] == 0


def test_two_anchors_of_one_second_are_two(cli: Cli, store: Path, authority: Authority) -> None:
    first, second = anchored(cli, authority, store), anchored(cli, authority, store)
    assert first["name"] != second["name"]
    assert verified(cli, store)[0] == 0


@pytest.mark.long
def test_reading_an_anchor_takes_no_more_memory_for_more_records(here: Path) -> None:
    import tracemalloc  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from runcard.documents.anchor import Leaf  # noqa: PLC0415
    from runcard.store.anchors import draft_anchor  # noqa: PLC0415

    def peak(size: int) -> int:
        store = here / str(size)
        store.mkdir()
        leaves = (Leaf("run", f"run-{number}", f"run-{number}", f"{number:064x}") for number in range(size))
        tracemalloc.start()
        made = draft_anchor(str(store), leaves, datetime(2026, 1, 1, tzinfo=UTC)).publish()
        assert sum(1 for _ in made.checked_leaves()) == size
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(10)
    assert peak(20_000) < peak(200) + 1_000_000


def test_a_record_that_only_an_anchor_knows_is_in_the_tally(
    cli: Cli, store: Path, authority: Authority
) -> None:
    anchored(cli, authority, store)
    shutil.rmtree(runs(store)[0])
    _, by_both, _ = verified(cli, store)
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    ledger.unlink()
    _, by_anchor, _ = verified(cli, store)
    assert by_both["tally"]["removed"] == by_anchor["tally"]["removed"] == 1


def test_the_anchors_are_read_once_for_many_records_that_are_named(
    cli: Cli, here: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(12):
        with runcard.record(here / "outputs", strict=True):
            pass
    store = here / "outputs"
    anchored(cli, authority, store)
    assert cli("anchor", store, "--request", "later.tsq").code == 0
    opened: list[str] = []
    leaves = StoredAnchor.leaves

    def counted(anchor: StoredAnchor) -> Iterator[bytes]:
        opened.append(anchor.name)
        return leaves(anchor)

    monkeypatch.setattr(StoredAnchor, "leaves", counted)
    done = cli("verify", "--json", "--tsa-certs", authority.root, "--require-timestamp", *runs(store))
    data = json.loads(done.out)
    assert (done.code, len(data["records"])) == (0, 12)
    assert [each["message"] for each in data["findings"]] == [
        "the anchor is not time-stamped: it proves no time"
    ]
    assert len(opened) <= 2 * (2 * 8 + 1)  # two anchors: searched and read for eight records, then read once


def test_an_anchor_whose_time_stamp_fails_is_named_by_no_other(
    cli: Cli, store: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one may be made while the authority is asked."""
    ask = timestamp_server.send_request
    others: list[Fields] = []

    def fail(*_: object, **__: object) -> bytes:
        monkeypatch.setattr(timestamp_server, "send_request", ask)
        others.append(anchored(cli, authority, store))
        raise timestamp_server.AuthorityError("no reply", hint="try again")

    monkeypatch.setattr(timestamp_server, "send_request", fail)
    assert cli("anchor", store, "--tsa", "http://127.0.0.1:1/").code == 1
    code, _, findings = verified(cli, store, "--tsa-certs", authority.root, "--require-timestamp")
    assert (code, findings, len(others)) == (0, [], 1)
    assert len(list((store / ".runcard" / "anchors").iterdir())) == 3  # of the other one


def test_a_bundle_is_a_receipt(
    cli: Cli, store: Path, authority: Authority, here: Path, signers: Path
) -> None:
    """One file with the run, its signature, and the proof by an anchor; on another machine it is checked without the store."""
    assert signers.exists()
    record = runs(store)[1]
    assert cli("sign", record, "--key", here / "alice").code == 0
    plain = here / "plain.tar.gz"
    assert cli("export", record, "--to", "bundle", "--output", plain).code in {0, 2}
    made = anchored(cli, authority, store)
    bundle = here / "receipt.tar.gz"
    assert cli("export", record, "--to", "bundle", "--output", bundle).code in {0, 2}
    name = record.name
    shutil.rmtree(store)
    needs = ("--signers", signers, "--tsa-certs", authority.root, "--require-timestamp")
    assert verified(cli, plain, *needs)[0] == 1  # it was made before the anchor
    code, report, findings = verified(cli, bundle, *needs)
    (stamp,) = report["records"][0]["timestamps"]
    assert (code, findings, report["signed"], report["timestamped"]) == (0, [], True, True)
    assert (stamp["anchor"], stamp["trusted"], stamp["signatures"]) == (made["name"], True, 1)
    assert cli("import-bundle", bundle, here / "theirs").code in {0, 2}
    assert verified(cli, here / "theirs/outputs" / name, *needs)[0] == 0


def test_a_bundle_with_the_proof_of_another_run(
    cli: Cli, store: Path, authority: Authority, here: Path
) -> None:
    anchored(cli, authority, store)
    first, second, *_ = runs(store)
    for run in (first, second):
        assert cli("export", run, "--to", "bundle", "--output", here / f"{run.name}.tar.gz").code in {0, 2}
    unpacked = here / "unpacked"
    unpacked.mkdir()
    for run in (first, second):
        subprocess.run(["tar", "xzf", here / f"{run.name}.tar.gz"], cwd=unpacked, check=True)
    inside = unpacked / first.name
    proof = inside / f"outputs/{first.name}.proof.json"
    other = (unpacked / second.name / f"outputs/{second.name}.proof.json").read_bytes()
    manifest = inside / ".runcard-bundle.json"
    old = sha256(proof.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace(old, sha256(other).hexdigest()))
    proof.write_bytes(other)
    forged = here / "forged.tar.gz"
    names = sorted(str(path.relative_to(unpacked)) for path in inside.rglob("*"))
    subprocess.run(["tar", "czf", forged, "--no-recursion", *names], cwd=unpacked, check=True)
    code, report, findings = verified(cli, forged)
    assert (code, report["timestamped"]) == (1, False)
    assert any("it is about another record" in found for found in findings)
