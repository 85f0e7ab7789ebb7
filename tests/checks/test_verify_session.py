"""`runcard verify` on sessions and on a store of them: whatever happens to a file is found, and named."""

import json
import os
import shutil
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from runcard.cli.exit_codes import code_for_severity, worst
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.operations.checks.verify import summary, verify
from runcard.store.sessions.directory import Modes, SessionDirectory
from runs.runs import complaints
from sessions.build import CODER, LEAD, change, make_session

Kinds = set[tuple[str, str]]


def judged(*paths: Path) -> tuple[dict[str, Any], int]:
    results = list(verify(*paths))
    return summary(results), int(worst(code_for_severity(one.verdict.severity) for one in results))


def kinds(*paths: Path) -> Kinds:
    """The kinds and paths of all findings."""
    return {(one["kind"], one["path"]) for one in judged(*paths)[0]["findings"]}


def files_of(session: Path) -> list[Path]:
    """Every regular file of a session, and of its store."""
    store = session.parent
    return sorted(path for path in store.rglob("*") if path.is_file() and not path.is_symlink())


def test_a_session_that_is_well(cli: Cli, session: Path) -> None:
    for path in (session, session / "metadata.json"):
        done = cli("verify", path)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(
            f"{session}: intact, complete, not signed, not time-stamped\nIntact means "
        )
    report, code = judged(session.parent)
    assert (code, len(report["records"]), report["findings"]) == (0, 1, [])


def test_a_store_of_many_sessions_and_its_ledger(tmp_path: Path) -> None:
    store = tmp_path / "artifacts"
    first = make_session(store)
    make_session(store)  # the same team again
    make_session(store, "other")
    report, code = judged(store)
    assert (code, len(report["records"]), report["findings"]) == (0, 3, [])
    assert (report["intact"], report["complete"], report["signed"]) == (True, True, None)
    shutil.rmtree(first)
    report, code = judged(store)
    assert (report["intact"], report["complete"], code) == (True, False, 1)
    assert [(one["kind"], one["record"]) for one in report["findings"]] == [("ledger", first.name)]


def test_one_flipped_bit_in_any_file_is_found(session: Path) -> None:
    """In every file: in its first and its last byte, and in every 211th, each time another bit."""
    for path in files_of(session):
        data = path.read_bytes()
        for place in sorted({*range(0, len(data), 211), len(data) - 1} - {-1}):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
            report, code = judged(session.parent)
            assert code, (path, place)
            assert report["findings"], (path, place)
        path.write_bytes(data + b"x")
        assert judged(session.parent)[1], path
        path.write_bytes(data)
    assert judged(session.parent)[1] == 0


def test_any_file_that_is_removed_is_found(session: Path) -> None:
    for path in files_of(session):
        if path.parent.name == ".runcard":
            continue  # whoever removes the whole ledger removes a store's memory: nothing is left to tell
        moved = path.rename(session.parent / "aside")
        report, code = judged(session)
        assert (code, report["complete"]) == (1, False), path
        moved.rename(path)
    assert judged(session)[1] == 0


def test_any_file_that_is_swapped_for_a_link_is_found(session: Path) -> None:
    """Also when the link leads to the very bytes."""
    aside = session.parent.parent / "aside"
    for path in files_of(session):
        if path.parent.name == ".runcard":
            continue
        path.rename(aside)
        path.symlink_to(aside)
        assert judged(session)[1] == 1, path
        path.unlink()
        aside.rename(path)


def test_any_line_that_is_cut_is_found(session: Path) -> None:
    """In every file: the first, the last, and every ninth."""
    for path in files_of(session):
        lines = path.read_bytes().splitlines(keepends=True)
        for number in sorted({*range(0, len(lines), 9), len(lines) - 1} - {-1}):
            path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
            assert judged(session.parent)[1] in ((1, 2) if path.parent.name == ".runcard" else (1,)), path
        path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "folder", [".", "instances", f"instances/{LEAD}", f"instances/{LEAD}/workspace/notes"]
)
def test_anything_that_was_added_is_found(session: Path, folder: str) -> None:
    place = session / folder
    (place / "new.txt").write_text("new")
    (place / "SHA256SUMS.bak").write_text("")
    (place / "link").symlink_to("new.txt")
    os.mkfifo(place / "fifo")
    prefix = "" if folder == "." else f"{folder}/"
    assert kinds(session) == {
        ("unexpected", f"{prefix}new.txt"),
        ("unexpected", f"{prefix}SHA256SUMS.bak"),
        ("unexpected", f"{prefix}fifo"),
        ("link", f"{prefix}link"),
    }


def test_links_are_held_to_what_the_document_says(session: Path) -> None:
    link = session / "instances" / LEAD / "workspace" / "latest"
    path = str(link.relative_to(session))
    link.unlink()
    assert kinds(session) == {("link", path)}
    link.symlink_to("plan.md")
    (finding,) = judged(session)[0]["findings"]
    assert (finding["expected"], finding["found"]) == ("notes/a.TXT", "plan.md")


def reseal(session: Path, **fields: Any) -> None:
    """What somebody would do who changed a file and hides it: a new list, a new digest."""
    from runcard import checksums  # noqa: PLC0415

    listing = checksums.make(session, exclude={"SHA256SUMS", "metadata.json"}).listing
    (session / "SHA256SUMS").write_bytes(listing.to_bytes())
    change(session / "metadata.json", checksums={"session": str(listing.digest)}, **fields)


def test_a_session_that_was_sealed_again_contradicts_the_ledger(session: Path) -> None:
    (session / "summary.md").write_text("forged")
    reseal(session)
    report, code = judged(session)
    assert [one["kind"] for one in report["findings"]] == ["ledger"]
    assert (report["intact"], report["complete"], code) == (False, True, 1)


def test_the_digests_in_an_instance_document_are_checked(session: Path) -> None:
    shutil.rmtree(session.parent / ".runcard")
    (session / "instances" / LEAD / "output.log").write_text("forged\n")
    (session / "instances" / CODER / "workspace" / "new.py").write_text("x")
    reseal(session)
    findings = {one["path"]: one for one in judged(session)[0]["findings"]}
    assert {one["kind"] for one in findings.values()} == {"document"}
    assert findings[f"instances/{LEAD}/metadata.json"]["message"].startswith("/checksums/output: ")
    forged = sha256(b"forged\n").hexdigest()
    assert findings[f"instances/{LEAD}/metadata.json"]["expected"] == f"sha256:{forged}"
    assert findings[f"instances/{CODER}/metadata.json"]["message"].startswith("/checksums/workspace: ")


def test_documents_that_do_not_agree_are_found_where_no_digest_tells(session: Path) -> None:
    shutil.rmtree(session.parent / ".runcard")
    change(session / "manifest.json", team_session_id="team-2")
    change(session / "instances" / LEAD / "metadata.json", name="boss")
    reseal(session)
    found = kinds(session) - {("document", "metadata.json")}  # which is held to the others as well
    assert found == {("document", "manifest.json"), ("document", f"instances/{LEAD}/metadata.json")}


def test_a_cut_journal_whose_list_was_made_again(session: Path) -> None:
    shutil.rmtree(session.parent / ".runcard")
    audit = session / "audit.jsonl"
    audit.write_bytes(b"".join(audit.read_bytes().splitlines(keepends=True)[:-1]))
    reseal(session)
    report, code = judged(session)
    told = [("tail", "audit.jsonl"), ("limits", "metadata.json")]
    assert [(one["kind"], one["path"]) for one in report["findings"]] == told
    assert (report["intact"], report["complete"], code) == (True, False, 1)


def test_a_session_under_another_name_has_the_journal_of_another(session: Path) -> None:
    shutil.rmtree(session.parent / ".runcard")
    (finding,) = judged(session.rename(session.with_name("2025-11-06_14-32-45-team-9")))[0]["findings"]
    assert (finding["kind"], finding["path"]) == ("chain", "audit.jsonl")
    assert "the directory was renamed" in finding["message"]


def test_a_link_to_a_session_is_that_session(session: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(session)
    assert judged(tmp_path / "latest")[0]["findings"] == []


def test_a_copy_elsewhere_without_a_ledger_is_well(session: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(session, tmp_path / "elsewhere" / session.name, symlinks=True)
    assert judged(copy)[0]["findings"] == []


def test_a_session_that_the_ledger_lacks_is_something_to_know(cli: Cli, session: Path) -> None:
    shutil.copytree(session.parent / ".runcard", session.parent / "kept")
    added = make_session(session.parent, "new", ledger=False)
    done = cli("verify", session.parent)
    assert done.code == 2
    assert complaints(done.out) == [
        f"Warning: {added}: the ledger of the store does not know this session [ledger]"
    ]


def test_a_ledger_that_was_cut_before_an_entry_that_a_session_saw(tmp_path: Path) -> None:
    store = tmp_path / "artifacts"
    make_session(store)
    second = make_session(store)
    (ledger,) = (store / ".runcard").iterdir()
    ledger.write_bytes(ledger.read_bytes().splitlines(keepends=True)[1])
    report, _ = judged(second)
    assert [one["kind"] for one in report["findings"]] == ["ledger", "chain"]
    assert not report["complete"]


def test_the_first_version_says_what_it_cannot_tell(cli: Cli, old_session: Path) -> None:
    done = cli("verify", old_session)
    assert (done.code, done.err) == (0, "")
    assert [line.partition(": ")[0] for line in done.out.splitlines()[1:4]] == [
        "  SHA256SUMS",
        "  metadata.json",
        "  audit.jsonl",
    ]
    assert all(line.endswith(" [limits]") for line in done.out.splitlines()[1:4])
    (old_session / "summary.md").write_text("forged")
    assert ("changed", "summary.md") in kinds(old_session)
    (old_session / "SHA256SUMS").unlink()
    assert ("missing", "SHA256SUMS") in kinds(old_session)
    (old_session / "audit.jsonl").unlink()
    assert {kind for kind, _ in kinds(old_session)} == {"limits"}
    assert judged(old_session)[1] == 0


def test_a_session_of_another_program_is_held_to_what_its_documents_repeat(old_session: Path) -> None:
    for name in ("SHA256SUMS", "audit.jsonl"):
        (old_session / name).unlink()
    change(old_session / "instances" / LEAD / "metadata.json", cost=4.5)
    assert ("document", f"instances/{LEAD}/metadata.json") in kinds(old_session)
    (old_session / "instances" / LEAD / "output.log").unlink()
    (old_session / "instances" / CODER / "metadata.json").unlink()
    assert {path for kind, path in kinds(old_session) if kind == "missing"} == {
        f"instances/{LEAD}/output.log",
        f"instances/{CODER}/metadata.json",
    }
    assert judged(old_session)[1] == 1


def test_what_was_amended_in_the_open_is_told(session: Path) -> None:
    log, name = session / "instances" / LEAD / "output.log", f"instances/{LEAD}/output.log"
    old, sealed = (sha256(path.read_bytes()).hexdigest() for path in (log, session / "metadata.json"))
    log.write_text("[withheld]\n")
    payload = {"path": name, "old_sha256": old, "new_sha256": sha256(log.read_bytes()).hexdigest()}
    said = {"who": "ann", "why": "a customer's name", "when": "2026-01-01T00:00:00Z"}
    line = chain.make_line(
        {"seq": 1, "event": "redaction", "writer": "w-1"}, payload | said, "0" * 32, sealed
    )
    (session / "amendments.jsonl").write_bytes(encode_json(line, COMPACT))
    finding, unknown = judged(session)[0]["findings"]
    assert (unknown["kind"], unknown["message"]) == (
        "ledger",
        "the ledger does not know the last amendment",
    )
    assert (finding["kind"], finding["path"]) == ("amended", name)
    assert finding["message"] == "amended by 'ann' because a customer's name, says the amendment"
    (session / "amendments.jsonl").write_bytes(b"")
    assert kinds(session) == {("unexpected", "amendments.jsonl"), ("changed", name)}


def test_what_a_collection_left_is_open(cli: Cli, session: Path) -> None:
    place = session.parent / ".open" / "team-2.0a1b2c3d"
    place.mkdir(parents=True)
    shutil.copy(session / "audit.jsonl", place)
    done = cli("verify", session.parent)
    assert done.code == 2
    assert complaints(done.out) == [
        (
            f"Warning: {place}: the session is not complete:"
            " its collection was interrupted; the next one removes what it left [open]"
        )
    ]
    report, code = judged(place)
    assert (report["intact"], report["complete"], code) == (True, False, 2)
    assert [(one["kind"], one["record"]) for one in report["findings"]] == [("open", ".open/team-2.0a1b2c3d")]
    lines = (place / "audit.jsonl").read_bytes().splitlines(keepends=True)
    (place / "audit.jsonl").write_bytes(lines[0] + lines[2])
    assert kinds(session.parent) == {("open", "audit.jsonl"), ("chain", "audit.jsonl")}
    assert judged(session.parent)[1] == 1


def test_a_session_that_is_being_collected_is_open(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "artifacts"
    with SessionDirectory(str(store), "team-1", datetime.now(UTC), Modes(0o700, 0o600)):
        done = cli("verify", store)
        assert done.code == 2
        (warning,) = complaints(done.out)
        assert warning.endswith(": the session is not complete: it is being collected [open]")
        assert judged(store / ".open")[1] == 2


def test_a_store_in_which_nothing_was_ever_finished(tmp_path: Path) -> None:
    (tmp_path / ".open" / "team-2.0a1b2c3d").mkdir(parents=True)
    assert judged(tmp_path)[1] == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_session_whose_document_is_damaged_is_still_one(session: Path, damage: bytes) -> None:
    (session / "metadata.json").write_bytes(damage)
    report, code = judged(session.parent)
    assert code == 1
    assert {"document", "ledger"} == {one["kind"] for one in report["findings"] if one["kind"] != "limits"}
    assert {one["record"] for one in report["findings"]} == {session.name}


def test_an_instance_alone_cannot_be_verified(cli: Cli, session: Path) -> None:
    done = cli("verify", session / "instances" / LEAD)
    assert done.code == 1
    assert "is an instance, which is a part of a session\n  hint: " in done.err


def test_names_that_are_hostile_do_not_reach_the_terminal(cli: Cli, session: Path) -> None:
    (session / "instances" / LEAD / "workspace" / "\x1b[31mred\n").write_text("x")
    done = cli("verify", session)
    assert "\\x1b[31mred\\n: the file was not there when the session was closed [unexpected]" in done.out
    assert "\x1b" not in done.out


def test_names_of_every_kind_and_paths_of_any_length(cli: Cli, tmp_path: Path) -> None:
    workspace = deep_workspace(tmp_path / "work")
    agent = {"name": "a", "instance_id": "a", "status": "completed", "workspace": str(workspace)}
    times = {"created_at": "2025-11-06T14:00:00Z", "terminated_at": "2025-11-06T14:01:00Z"}
    spec = {"team_session_id": "t", "instances": [agent | times]}
    session = runcard.collect(spec, artifacts=tmp_path / "artifacts").path
    assert judged(session)[0]["findings"] == []
    assert all(checked.report.valid for checked in runcard.validate(session))
    done = cli("show", session, "--instance", "a")
    assert done.code == 0
    assert "  stored  4 files, 4 B\n" in done.out
    assert (
        max(len(line) for line in done.out.splitlines() if "  from " not in line and "session" not in line)
        <= 80
    )
    deepest = os.path.join(*["d" * 250] * 20)
    place = os.open(session / "instances" / "a" / "workspace", os.O_RDONLY)
    for _ in range(20):
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.unlink("deep.txt", dir_fd=place)
    os.symlink("x", "link", dir_fd=place)
    os.close(place)
    base = f"instances/a/workspace/{deepest}"
    assert kinds(session) == {("missing", f"{base}/deep.txt"), ("link", f"{base}/link")}
    shutil.rmtree(session)
    shutil.rmtree(workspace)


def deep_workspace(workspace: Path) -> Path:
    """Names that are not UTF-8, with a newline, as long as can be; and a file 5,000 bytes below."""
    workspace.mkdir()
    for name in (b"bad.\xff", b"new\nline", b"n" * 255):
        Path(os.fsdecode(os.fsencode(workspace) + b"/" + name)).write_text("x")
    os.symlink(b"bad.\xff", os.fsencode(workspace) + b"/li\xfenk")
    place = os.open(workspace, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=place)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    file = os.open("deep.txt", os.O_WRONLY | os.O_CREAT, dir_fd=place)
    os.write(file, b"x")
    os.close(file)
    os.close(place)
    return workspace


def test_the_report_names_the_record_and_the_file(session: Path) -> None:
    old = (session / "summary.md").read_bytes()
    (session / "summary.md").write_text("x")
    report, _ = judged(session)
    assert json.loads(json.dumps(report))["findings"] == [
        {
            "kind": "changed",
            "record": session.name,
            "path": "summary.md",
            "expected": sha256(old).hexdigest(),
            "found": sha256(b"x").hexdigest(),
            "message": "the file was changed",
        }
    ]
