"""runcard redact: what is taken out is gone, and said to be; everything else still verifies."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import runcard
from amendments.records import CUSTOMER, KEY, OTHER_KEY, assert_tidy, digest, entries, everything, lines
from conftest import Cli
from runcard.documents import chain
from runcard.errors import StoreError, UsageError
from runcard.operations.amendments.redact import redact
from runs.runs import kinds, verdict

WHY = ("--reason", "she asked for it", "--by", "ada", "--yes")


def is_good(record: Path) -> bool:
    said = verdict(record)
    return bool(said["intact"] and said["complete"])


def test_a_file_is_taken_out_and_it_is_said_by_whom_and_why(cli: Cli, run: Path) -> None:
    old, sums, metadata = digest(run / "notes.txt"), digest(run / "SHA256SUMS"), digest(run / "metadata.json")
    done = cli("redact", run, "--file", "notes.txt", *WHY)
    assert (done.code, done.out, done.err) == (0, f"{run}/notes.txt: withheld\n", "")
    assert not (run / "notes.txt").exists()
    (entry,) = entries(run)
    assert (entry["kind"], entry["path"]) == ("redaction", "notes.txt")
    assert (entry["old_sha256"], entry["new_sha256"]) == (old, None)
    assert (entry["who"], entry["why"]) == ("ada", "she asked for it")
    assert entry["when"].endswith("Z")
    assert lines(run / "amendments.jsonl")[0]["prev"] == metadata
    assert (digest(run / "SHA256SUMS"), digest(run / "metadata.json")) == (sums, metadata)
    told = cli("verify", run)
    assert told.code == 0
    assert (
        "  notes.txt: withheld by 'ada' because she asked for it, says the amendment [withheld]"
        in told.out.splitlines()
    )
    assert_tidy(run)


def test_without_runcard_only_the_file_that_was_taken_out_is_missed(cli: Cli, run: Path) -> None:
    cli("redact", run, "--file", "notes.txt", *WHY)
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"],
        cwd=run,
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
    )
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if not line.endswith(": OK")] == [
        "notes.txt: FAILED open or read"
    ]


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [
        ("*.txt", {"notes.txt", "plain.txt"}),
        ("**/*.txt", {"notes.txt", "plain.txt", "deep/log.txt"}),
        ("deep", {"deep/log.txt", "deep/er/notes.md"}),
        ("deep/", {"deep/log.txt", "deep/er/notes.md"}),
        ("deep/*", {"deep/log.txt", "deep/er/notes.md"}),
        ("deep/**", {"deep/log.txt", "deep/er/notes.md"}),
        ("**/notes.*", {"notes.txt", "deep/er/notes.md"}),
        ("*/er/*.md", {"deep/er/notes.md"}),
        ("[mn]ote[!x].t?t", {"notes.txt"}),
        ("plain.???", {"plain.txt"}),
        ("**/**/**/**/**/log.txt", {"deep/log.txt"}),
    ],
)
def test_patterns_mean_the_listed_files(run: Path, pattern: str, gone: set[str]) -> None:
    assert {one.path for one in redact(run, files=[pattern], reason="x", dry_run=True).taken} == gone


@pytest.mark.parametrize("pattern", ["NOTES.txt", "log.txt", "*/*/*/*", "[", "latest", "deep/**/x"])
def test_a_pattern_that_means_nothing_is_an_error(run: Path, pattern: str) -> None:
    with pytest.raises(StoreError, match="no file of the record matches"):
        redact(run, files=["notes.txt", pattern], reason="x")
    assert (run / "notes.txt").exists()


@pytest.mark.parametrize(
    "pattern", ["../outputs", "/etc/passwd", "a/../../x", "", "a//b", "./notes.txt", "a\0b"]
)
def test_a_pattern_that_leads_out_is_refused(run: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match=r"refused|nothing to redact"):
        redact(run, files=[pattern] if pattern else [], reason="x")
    assert not (run / "amendments.jsonl").exists()


@pytest.mark.parametrize("name", ["metadata.json", "SHA256SUMS", "amendments.jsonl", "metadata.json.sig"])
def test_what_fixes_the_record_stays(cli: Cli, run: Path, name: str) -> None:
    done = cli("redact", run, "--file", name, *WHY)
    assert done.code == 1
    assert done.err.startswith(f"Error: {name} seals the record")


def test_names_of_all_kinds_are_taken_out_and_nothing_beside_them(tmp_path: Path) -> None:
    names = ["[a].txt", "*", "a b\nc", "-", "--yes", "\x1b[31m", "né"]
    with runcard.record(tmp_path / "outputs", strict=True) as started:
        for name in [*names, "a.txt", "b"]:
            (started.path / name).write_text(name)
        stray = os.fsencode(started.path) + b"/\xff\xfe"
        Path(os.fsdecode(stray)).write_text("stray")
    for name in [*names, os.fsdecode(b"\xff\xfe")]:
        done = redact(started.path, files=[name], reason="x", by="ada")
        assert [one.path for one in done.taken] == [name]
    assert {path.name for path in started.path.iterdir()} >= {"a.txt", "b"}
    assert is_good(started.path)
    assert entries(started.path)[-1]["path_base64"] == "//4="


def test_a_link_in_the_way_leads_nowhere(run: Path, tmp_path: Path) -> None:
    """A record may list `deep/log.txt` where `deep` is a link by now: what it leads to is not the record's."""
    outside = tmp_path / "outside"
    shutil.move(run / "deep", outside)
    (run / "deep").symlink_to(outside)
    with pytest.raises(StoreError, match="is missing"):
        redact(run, files=["deep/log.txt"], reason="x")
    assert (outside / "log.txt").exists()
    (run / "notes.txt").unlink()
    (run / "notes.txt").symlink_to(outside / "log.txt")
    with pytest.raises(StoreError, match="is missing"):
        redact(run, files=["notes.txt"], reason="x")
    assert (outside / "log.txt").exists()


def test_a_file_that_was_changed_is_not_taken_out(run: Path) -> None:
    (run / "notes.txt").write_text("forged\n")
    with pytest.raises(StoreError, match=r"notes\.txt was changed since the record was closed"):
        redact(run, files=["*.txt"], reason="x")
    assert (run / "notes.txt").exists()
    assert not (run / "amendments.jsonl").exists()


def test_a_list_that_was_changed_is_not_believed(run: Path) -> None:
    with (run / "SHA256SUMS").open("a") as file:
        file.write(f"{'0' * 64}  x\n")
    with pytest.raises(StoreError, match="SHA256SUMS is not the list that was sealed"):
        redact(run, files=["notes.txt"], reason="x")


def test_amendments_that_do_not_hold_are_not_continued(run: Path) -> None:
    redact(run, files=["notes.txt"], reason="x")
    path = run / "amendments.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"why":"x"', b'"why":"y"'))
    with pytest.raises(StoreError, match=r"amendments\.jsonl line 1: the payload does not match its digest"):
        redact(run, files=["plain.txt"], reason="x")


def test_the_payload_of_an_event_goes_with_its_salt_and_the_chain_holds(cli: Cli, run: Path) -> None:
    before = (run / "experiment.jsonl").read_bytes().splitlines()
    writer = json.loads(before[1])["writer"]
    done = cli("redact", run, "--event", "2", *WHY)
    assert (done.code, done.out) == (0, f"{run}/experiment.jsonl: withheld in 1 event: {writer}:2\n")
    after = (run / "experiment.jsonl").read_bytes().splitlines()
    assert [a == b for a, b in zip(before, after, strict=True)] == [
        number != 1 for number in range(len(before))
    ]
    gone = json.loads(after[1])
    assert gone.keys() == json.loads(before[1]).keys() - {"payload", "salt"}
    assert chain.check(chain.parse((run / "experiment.jsonl").read_bytes()), gone["run_id"]).faults == ()
    told = cli("verify", run)
    assert told.code == 0
    assert (
        f"  experiment.jsonl: event {writer}:2: withheld by 'ada' because she asked for it, says the amendment [withheld]"
        in told.out.splitlines()
    )
    assert entries(run)[0]["events"] == [f"{writer}:2"]
    assert_tidy(run)


def test_more_events_can_go_later_and_each_has_its_own_reason(run: Path) -> None:
    writer = lines(run / "experiment.jsonl")[0]["writer"]
    redact(run, events=["2"], reason="first", by="ada")
    again = redact(run, events=[f"{writer}:2", "3"], reason="second", by="ben")
    assert again.already == (f"experiment.jsonl event {writer}:2",)
    withheld = [found["message"] for found in verdict(run)["findings"] if found["kind"] == "withheld"]
    assert withheld == [
        f"event {writer}:2: withheld by 'ada' because first, says the amendment",
        f"event {writer}:3: withheld by 'ben' because second, says the amendment",
    ]
    assert is_good(run)


def test_an_event_that_two_writers_have_must_be_named_in_full(tmp_path: Path) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as started:
        started.log("parent", who=CUSTOMER)
        child = os.fork()
        if child == 0:
            started.log("child", who=CUSTOMER)
            os._exit(0)
        os.waitpid(child, 0)
    writers = {line["writer"] for line in lines(started.path / "experiment.jsonl")}
    assert len(writers) == 2
    with pytest.raises(UsageError, match="2 writers have an event 1") as caught:
        redact(started.path, events=["1"], reason="x")
    for writer in writers:
        assert f"{writer}:1" in str(caught.value.hint)
        redact(started.path, events=[f"{writer}:1"], reason="x")
    assert is_good(started.path)


@pytest.mark.parametrize("event", ["99", "0", "w-00000000:2"])
def test_an_event_that_is_not_there_is_an_error(cli: Cli, run: Path, event: str) -> None:
    done = cli("redact", run, "--event", event, *WHY)
    assert done.code == 1
    assert done.err.startswith(f"Error: there is no event {event} in experiment.jsonl")


@pytest.mark.parametrize("event", ["x", "-1", "1:", "1.5", ":3"])
def test_what_is_no_number_of_an_event_is_wrong_usage(run: Path, event: str) -> None:
    with pytest.raises(UsageError, match="is not an event"):
        redact(run, events=[event], reason="x")


def test_the_audit_of_a_session_is_a_journal_too(cli: Cli, session: Path) -> None:
    done = cli("redact", session, "--event", "1", *WHY)
    assert done.code == 0
    assert "payload" not in lines(session / "audit.jsonl")[0]
    told = verdict(session)
    assert kinds(told) == {("amended", "audit.jsonl"), ("withheld", "audit.jsonl")}
    assert (told["intact"], told["complete"]) == (True, True)
    assert_tidy(session)


def test_files_of_a_session_can_go_and_its_documents_are_still_valid(cli: Cli, session: Path) -> None:
    assert (
        cli("redact", session, "--file", "instances/*/workspace", "--file", "**/output.log", *WHY).code == 0
    )
    assert cli("verify", session).code == 0
    assert cli("validate", session).code == 0
    assert cli("redact", session, "--file", "instances/*/metadata.json", *WHY).code == 0
    assert cli("verify", session).code == 0
    assert cli("validate", session).code == 0


def test_a_rule_masks_what_it_finds_in_texts_and_takes_whole_payloads_out(cli: Cli, run: Path) -> None:
    done = cli("redact", run, "--rule", "anthropic-key", *WHY)
    writer = lines(run / "experiment.jsonl")[0]["writer"]
    assert done.code == 0
    assert done.out.splitlines() == [
        f"{run}/deep/log.txt: masked: 2 × anthropic-key",
        f"{run}/experiment.jsonl: withheld in 1 event: {writer}:3",
    ]
    assert (run / "deep" / "log.txt").read_text() == (
        f"one [masked:anthropic-key]\ntwo {OTHER_KEY}\nthree [masked:anthropic-key] end\n"
    )
    assert KEY.encode() in (run / "picture.png").read_bytes()  # no text
    assert is_good(run)
    assert entries(run)[0]["rules"] == {"anthropic-key": 2}
    assert cli("redact", run, "--rule", "anthropic-key", *WHY).out == f"{run}: nothing to redact\n"


def test_what_a_rule_finds_in_the_metadata_document_stays_and_is_said(cli: Cli, tmp_path: Path) -> None:
    with runcard.record(
        tmp_path / "outputs", config={"note": KEY}, keep_secrets=True, strict=True
    ) as started:
        (started.path / "a.txt").write_text(KEY)
    done = cli("redact", started.path, "--rule", "anthropic-key", *WHY)
    assert done.code == 2
    assert done.err.startswith("Warning: metadata.json matches a rule as well")
    assert is_good(started.path)


def test_a_rule_is_applied_where_it_can_be_and_says_where_it_cannot(cli: Cli, run: Path) -> None:
    (run / "plain.txt").unlink()
    (run / "plain.txt").symlink_to("notes.txt")
    (run / "experiment.jsonl").unlink()
    (run / "notes.txt").write_text(f"forged {KEY}")
    done = cli("redact", run, "--rule", "anthropic-key", *WHY)
    assert done.code == 2
    assert done.out == f"{run}/deep/log.txt: masked: 2 × anthropic-key\n"
    first, *others = done.err.splitlines()
    assert first.startswith(f"Warning: {run} failed verification before: ")
    assert others == [
        "Warning: cannot read experiment.jsonl: No such file or directory: it was left as it is",
        "Warning: notes.txt was changed since the record was closed: it was left as it is",
        "Warning: cannot read plain.txt: Too many levels of symbolic links: it was left as it is",
    ]
    assert kinds(verdict(run)) == {
        ("amended", "deep/log.txt"),
        ("changed", "notes.txt"),
        ("missing", "experiment.jsonl"),
        ("link", "plain.txt"),
    }


def test_several_rules_at_once(run: Path) -> None:
    redact(run, rules=["anthropic-key", "github-token"], reason="x")
    text = (run / "deep" / "log.txt").read_text()
    assert KEY not in text
    assert OTHER_KEY not in text


def test_a_rule_that_does_not_exist_is_wrong_usage(cli: Cli, run: Path) -> None:
    done = cli("redact", run, "--rule", "anthropic", *WHY)
    assert done.code == 64
    assert "hint: did you mean anthropic-key?" in done.err


def test_the_secret_lies_nowhere_any_more(run: Path) -> None:
    assert CUSTOMER.encode() in everything(run.parent)
    redact(run, files=["**/notes.*"], reason="x")
    redact(run, events=["2"], reason="x")
    assert CUSTOMER.encode() not in everything(run.parent)


def test_a_reason_is_masked_like_everything_that_is_recorded(run: Path) -> None:
    redact(run, files=["notes.txt"], reason=f"it had {KEY}", by=f"ada {KEY}")
    assert KEY.encode() not in (run / "amendments.jsonl").read_bytes()
    assert entries(run)[0]["why"] == "it had [masked:anthropic-key]"


def test_a_look_changes_nothing(cli: Cli, run: Path) -> None:
    before = everything(run.parent)
    for what in (("--file", "**/notes.*"), ("--event", "2"), ("--rule", "anthropic-key")):
        done = cli("redact", run, *what, "--reason", "x", "--dry-run")
        assert done.code == 0
        assert "would be " in done.out
    assert everything(run.parent) == before


def test_nobody_is_asked_where_nobody_is_there(cli: Cli, run: Path) -> None:
    done = cli("redact", run, "--file", "notes.txt", "--reason", "x")
    assert done.code == 64
    assert done.err.startswith("Error: no terminal to confirm on")
    assert not (run / "amendments.jsonl").exists()


def test_what_was_taken_out_already_is_said_and_no_error(cli: Cli, run: Path) -> None:
    cli("redact", run, "--file", "notes.txt", *WHY)
    done = cli("redact", run, "--file", "notes.txt", *WHY)
    assert (done.code, done.out) == (0, f"{run}/notes.txt: already withheld\n")
    assert len(entries(run)) == 1


@pytest.mark.parametrize(
    "arguments", [(), ("--file", "a", "--event", "1"), ("--event", "1", "--rule", "jwt")]
)
def test_one_kind_of_thing_is_taken_out_at_a_time(cli: Cli, run: Path, arguments: tuple[str, ...]) -> None:
    assert cli("redact", run, *arguments, *WHY).code == 64


@pytest.mark.parametrize("reason", [(), ("--reason", " ")])
def test_a_reason_is_needed(cli: Cli, run: Path, reason: tuple[str, ...]) -> None:
    assert cli("redact", run, "--file", "notes.txt", "--yes", *reason).code == 64


def test_json_tells_what_was_done(cli: Cli, run: Path) -> None:
    said = json.loads(cli("redact", run, "--rule", "anthropic-key", *WHY, "--json").out)
    assert said["done"] is True
    assert said["redacted"][0] == {
        "path": "deep/log.txt",
        "what": "secrets",
        "counts": {"anthropic-key": 2},
    }
    assert said["redacted"][1]["what"] == "events"


def test_a_run_that_is_not_closed_is_not_amended(cli: Cli, tmp_path: Path) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as started:
        done = cli("redact", started.path, "--file", "x", *WHY)
    assert done.code == 1
    assert "is not closed" in done.err


def test_what_is_no_record_is_said(cli: Cli, tmp_path: Path) -> None:
    done = cli("redact", tmp_path, "--file", "x", *WHY)
    assert done.code == 1
    assert "is not a record" in done.err


def test_a_record_in_a_store_without_a_ledger_gets_none(run: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(run, tmp_path / "elsewhere" / run.name, symlinks=True))
    redact(copied, files=["notes.txt"], reason="x")
    assert is_good(copied)
    assert not list((tmp_path / "elsewhere").rglob("ledger-*"))


def test_a_file_that_is_put_back_is_found_and_taken_out_again_by_the_next_amendment(
    cli: Cli, run: Path
) -> None:
    old = (run / "notes.txt").read_bytes()
    redact(run, files=["notes.txt"], reason="law", by="ada")
    (run / "notes.txt").write_bytes(old)
    said = verdict(run)
    assert kinds(said) == {("changed", "notes.txt")}
    assert said["intact"] is False
    assert "withheld by 'ada' because law, says the amendment" in said["findings"][0]["message"]
    done = cli("redact", run, "--file", "notes.txt", *WHY)
    assert done.out.splitlines() == [
        f"{run}/notes.txt: finished, an earlier redaction was interrupted",
        f"{run}/notes.txt: already withheld",
    ]
    assert is_good(run)


def test_a_journal_that_is_put_back_is_found(run: Path) -> None:
    old = (run / "experiment.jsonl").read_bytes()
    redact(run, events=["2"], reason="x")
    (run / "experiment.jsonl").write_bytes(old)
    assert kinds(verdict(run)) == {("changed", "experiment.jsonl")}
    redact(run, files=["experiment.jsonl"], reason="then all of it")
    assert is_good(run)


def test_permissions_stay_those_of_the_record(session: Path) -> None:
    redact(session, events=["1"], reason="x")
    for name in ("amendments.jsonl", "audit.jsonl"):
        assert (session / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "document",
    [
        b"[]",
        b"{",
        b'{"checksums": "x", "metadata_version": "1.0"}',
        b'{"metadata_version": "1.0", "generation": 3, "checksums": {"output": ["x"]}}',
        b'{"execution_summary": 1, "team_session_id": {}, "checksums": []}',
    ],
)
def test_a_document_that_is_no_document_stops_nobody_by_accident(
    cli: Cli, run: Path, document: bytes
) -> None:
    (run / "metadata.json").write_bytes(document)
    done = cli("redact", run, "--file", "notes.txt", "--reason", "x", "--dry-run")
    assert done.code in {1, 2}
    assert done.err.startswith("Error: " if done.code == 1 else "Warning: ")
