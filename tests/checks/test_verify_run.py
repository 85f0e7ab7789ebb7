"""`runcard verify`: what it says to people and to programs, about runs that are well, open, damaged or not there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from files.unprivileged import everybodys_directory
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runs.runs import copy_store, kinds, read, record_one, verdict

GOOD = "intact, complete, not signed, not time-stamped"
UNSIGNED = (
    "Intact means that nothing was changed since closing, except by amendments. This does not prove that the content is true.\n"
    "Complete means that nothing is missing in a record. This does not prove that there were no other records.\n"
    "Not signed: anyone able to write to this folder, its sender included, could have forged it.\n"
    "Not time-stamped: the only evidence of the date is the recorder's own clock.\n"
)
DIE = """
import os, sys, runcard
with runcard.record(sys.argv[1], strict=True) as run:
    run.log("page.read", number=1)
    (run.path / "half.txt").write_text("half")
    os._exit(9)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two closed runs, to be copied."""
    outputs = tmp_path_factory.mktemp("verify") / "outputs"
    record_one(outputs)
    record_one(outputs)
    return outputs


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy_store(made, tmp_path / "outputs")
    monkeypatch.chdir(tmp_path)
    return Path("outputs")


def runs_of(store: Path) -> list[Path]:
    return sorted(path for path in store.iterdir() if path.name != ".runcard")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run whose process is gone, to be copied."""
    outputs = tmp_path_factory.mktemp("left") / "outputs"
    subprocess.run([sys.executable, "-c", DIE, outputs], check=False, timeout=60)
    return outputs


@pytest.fixture
def dead(left: Path, tmp_path: Path) -> Path:
    """A run whose process is gone, in a store of its own."""
    (run,) = runs_of(copy_store(left, tmp_path / "left"))
    return run


def test_a_run_that_is_well(cli: Cli, store: Path) -> None:
    run = runs_of(store)[0]
    done = cli("verify", run)
    assert (done.code, done.out, done.err) == (0, f"{run}: {GOOD}\n{UNSIGNED}", "")


def test_many_runs_and_a_whole_store(cli: Cli, store: Path) -> None:
    first, second = runs_of(store)
    lines = f"{first}: {GOOD}\n{second}: {GOOD}\n2 records: 2 good\n{UNSIGNED}"
    for paths in ([first, second], [store]):
        done = cli("verify", *paths)
        assert (done.code, done.out, done.err) == (0, lines, "")


def test_the_path_may_be_that_of_the_document(cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs_of(store)[0]
    assert cli("verify", run / "metadata.json").out.startswith(f"{run}: {GOOD}\n")
    monkeypatch.chdir(run)
    assert cli("verify", "metadata.json").out.startswith(f".: {GOOD}\n")
    assert cli("verify", ".").code == 0


def test_what_is_wrong_stands_below_the_verdict_and_nothing_on_stderr(cli: Cli, store: Path) -> None:
    run = runs_of(store)[0]
    (run / "notes.txt").write_text("three\n")
    (run / "personas" / "1.json").unlink()
    (run / "new.txt").write_text("new")
    done = cli("verify", run)
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines() == [
        f"Error: {run}: CHANGED AND INCOMPLETE",
        "  new.txt: the file was not there when the run was closed [unexpected]",
        "  notes.txt: the file was changed [changed]",
        "  personas/1.json: the file is missing [missing]",
    ]


def test_the_good_ones_are_still_told_and_the_exit_code_is_the_worst(
    cli: Cli, store: Path, dead: Path
) -> None:
    first, second = runs_of(store)
    (second / "notes.txt").unlink()
    done = cli("verify", "nowhere", first, second, dead)
    newest = f"outputs/{second.name}, outputs/{first.name}"
    assert done.code == 1
    assert done.err.splitlines() == [
        "Error: nowhere does not exist",
        f"  hint: name a record by its path, its id or the name of its directory; the newest are {newest}",
    ]
    assert done.out.splitlines() == [
        f"{first}: {GOOD}",
        f"{dead}: incomplete (nothing changed)",
        f"Error: {second}: INCOMPLETE (nothing changed)",
        "  notes.txt: the file is missing [missing]",
        f"Warning: {dead}: the run was interrupted and is not closed: its process is gone; to close it: runcard close {dead} [open]",
        "3 records: 1 good, 1 incomplete, 1 open",
        *UNSIGNED.splitlines(),
    ]


def test_the_report_for_programs_has_exactly_these_keys(cli: Cli, store: Path) -> None:
    run = runs_of(store)[0]
    (run / "notes.txt").write_text("three\n")
    done = cli("verify", "--json", store)
    assert (done.code, done.err) == (1, "")
    assert json.loads(done.out) == {
        "intact": False,
        "complete": True,
        "signed": None,
        "timestamped": None,
        "tally": {
            "good": 1,
            "changed_after_signing": 0,
            "changed": 1,
            "incomplete": 0,
            "not_signed_as_required": 0,
            "not_timestamped_as_required": 0,
            "open": 0,
            "removed": 0,
        },
        "records": [
            {
                "path": str(each.absolute()),
                "id": read(each)["generation"]["run_id"],
                "kind": "run",
                "intact": each != run,
                "complete": True,
                "signed": None,
                "signature": {"state": "none", "by": [], "unsigned_additions": 0},
                "timestamped": None,
                "fingerprint": f"sha256:{sha256((each / 'metadata.json').read_bytes()).hexdigest()}",
                "signers": [],
                "timestamps": [],
            }
            for each in runs_of(store)
        ],
        "stores": [
            {
                "path": str(store.absolute()),
                "ledger": {
                    "signature": {"state": "none", "by": []},
                    "entries": 2,
                    "amendments": 0,
                    "deletions": 0,
                    "unsigned_deletions": 0,
                    "unsigned_changes": 0,
                },
                "anchors": [],
            }
        ],
        "findings": [
            {
                "kind": "changed",
                "record": run.name,
                "path": "notes.txt",
                "expected": sha256(b"two\nlines\n").hexdigest(),
                "found": sha256(b"three\n").hexdigest(),
                "message": "the file was changed",
            }
        ],
    }


def test_the_report_for_programs_is_there_whatever_the_exit_code(cli: Cli, store: Path, dead: Path) -> None:
    for paths, code, intact, complete, records in (
        ([store], 0, True, True, 2),
        ([dead], 2, True, False, 1),
        (["nowhere"], 1, True, False, 0),
        ([store, "nowhere"], 1, True, False, 2),
    ):
        done = cli("verify", "--json", *paths)
        said = json.loads(done.out)
        assert (done.code, done.err) == (code, "")
        assert (said["intact"], said["complete"], len(said["records"])) == (intact, complete, records)


@pytest.mark.parametrize(
    ("made_of", "message"),
    [("nothing", "does not exist"), ("file", "is not a record"), ("folder", "holds no records")],
)
def test_a_path_that_is_no_run_is_an_error(cli: Cli, tmp_path: Path, made_of: str, message: str) -> None:
    path = tmp_path / "x"
    if made_of == "file":
        path.write_text("x")
    elif made_of == "folder":
        path.mkdir()
    done = cli("verify", path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: {path} {message}\n  hint: name a r")


def test_no_path_is_wrong_usage(cli: Cli) -> None:
    assert cli("verify").code == 64


def test_a_store_without_runs_is_well(cli: Cli, store: Path) -> None:
    (empty := store / "empty" / ".runcard").mkdir(parents=True)
    done = cli("verify", empty.parent)
    assert (done.code, done.err) == (0, "")


@pytest.fixture
def alive(tmp_path: Path) -> Iterator[Path]:
    """A run that is at work."""
    with runcard.record(tmp_path / "working", strict=True) as run:
        yield run.path


def test_a_run_that_is_at_work_is_not_closed(cli: Cli, alive: Path) -> None:
    done = cli("verify", alive)
    assert (done.code, done.err) == (2, "")
    assert done.out.splitlines() == [
        f"{alive}: incomplete (nothing changed)",
        f"Warning: {alive}: the run is not closed: it is still running [open]",
    ]
    (finding,) = verdict(alive)["findings"]
    assert (finding["kind"], finding["path"]) == ("open", "metadata.json")


def test_a_run_of_another_host_stays_running(cli: Cli, dead: Path) -> None:
    document = read(dead)
    document["generation"]["process"]["host"] = "another-host"
    (dead / "metadata.json").write_text(json.dumps(document))
    done = cli("verify", dead)
    assert done.code == 2
    assert "it runs on another host" in done.out


def test_verifying_writes_nothing(cli: Cli, dead: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in dead.parent.rglob("*")}
    assert cli("verify", dead.parent).code == 2
    assert {path: path.stat().st_mtime_ns for path in dead.parent.rglob("*")} == before


def change_line(journal: Path, change: Callable[[bytes], bytes]) -> int:
    """Change the line of the program; its number, which depends on when the environment was observed."""
    lines = journal.read_bytes().splitlines()
    (number,) = (number for number, line in enumerate(lines) if b'"page.read"' in line)
    lines[number] = change(lines[number])
    journal.write_bytes(b"".join(line + b"\n" for line in lines))
    return number + 1


def test_the_chains_of_an_open_run_are_checked(cli: Cli, dead: Path) -> None:
    number = change_line(dead / "experiment.jsonl", lambda line: line.replace(b'"number":1', b'"number":2'))
    done = cli("verify", dead)
    assert done.code == 1
    assert f"experiment.jsonl: line {number}: the payload does not match its digest [chain]" in done.out


def test_a_torn_line_of_a_dead_run_is_told_and_no_fault(cli: Cli, dead: Path) -> None:
    with (dead / "experiment.jsonl").open("ab") as journal:
        journal.write(b'{"seq": 3, "tim')
    done = cli("verify", dead)
    assert done.code == 2
    assert "experiment.jsonl: the last line is truncated [limits]" in done.out


def test_a_payload_that_is_gone_from_an_open_run_was_not_taken_out_in_the_open(cli: Cli, dead: Path) -> None:
    def take_out(raw: bytes) -> bytes:
        line = json.loads(raw)
        del line["payload"], line["salt"]
        return encode_json(line, COMPACT).rstrip(b"\n")

    number = change_line(dead / "experiment.jsonl", take_out)
    done = cli("verify", dead)
    assert done.code == 1
    assert f"experiment.jsonl: line {number}: its payload was taken out [chain]" in done.out


def test_a_closed_run_that_says_it_is_open_is_found_by_the_ledger(cli: Cli, store: Path) -> None:
    """Else somebody could change any file of a run, and have the run taken for one that is not closed."""
    run = runs_of(store)[0]
    document = read(run)
    document["generation"]["status"] = "running"
    (run / "metadata.json").write_text(json.dumps(document))
    done = cli("verify", run)
    assert done.code == 1
    assert "it says that it is not closed, and the ledger has it as closed [ledger]" in done.out
    assert verdict(run)["intact"] is False


def test_half_a_line_at_the_end_of_a_closed_journal_is_found(store: Path) -> None:
    run = runs_of(store)[0]
    with (run / "experiment.jsonl").open("ab") as journal:
        journal.write(b'{"seq')
    assert kinds(verdict(run)) == {("chain", "experiment.jsonl"), ("changed", "experiment.jsonl")}


def test_events_of_a_writer_that_was_not_there_are_found(store: Path) -> None:
    run = runs_of(store)[0]
    other = (runs_of(store)[1] / "experiment.jsonl").read_bytes()
    with (run / "experiment.jsonl").open("ab") as journal:
        journal.write(other)
    messages = [found["message"] for found in verdict(run)["findings"]]
    assert any("was not there when the run was closed" in message for message in messages)


def test_a_rewritten_journal_is_not_the_one_that_was_closed(store: Path) -> None:
    """Somebody knows the recipe, and makes a whole chain anew."""
    run = runs_of(store)[0]
    lines = [json.loads(line) for line in (run / "experiment.jsonl").read_text().splitlines()]
    prev = lines[0]["prev"]
    for number, line in enumerate(lines):
        fields = {
            key: line[key] for key in line.keys() - {"payload", "salt", "hash", "prev", "payload_sha256"}
        }
        lines[number] = chain.make_line(fields | {"level": "forged"}, line["payload"], line["salt"], prev)
        prev = lines[number]["hash"]
    (run / "experiment.jsonl").write_bytes(b"".join(encode_json(line, COMPACT) for line in lines))
    messages = [found["message"] for found in verdict(run)["findings"] if found["kind"] == "chain"]
    assert messages == [f"the events of writer {lines[0]['writer']} are not those that were closed"]


def test_a_listing_that_cannot_be_read_is_changed(store: Path) -> None:
    run = runs_of(store)[0]
    (run / "SHA256SUMS").write_text("nonsense\n")
    said = verdict(run)
    assert ("changed", "SHA256SUMS") in kinds(said)
    assert any(found["message"].startswith("line 1: ") for found in said["findings"])


def test_the_digest_of_the_inputs_must_be_that_of_the_inputs(store: Path, tmp_path: Path) -> None:
    run = copy_store(runs_of(store)[0], tmp_path / "elsewhere")
    document = read(run)
    document["data_sources"]["files"][0]["sha256"] = "0" * 64
    (run / "metadata.json").write_text(json.dumps(document))
    assert kinds(verdict(run)) == {("document", "metadata.json")}


def test_a_document_without_chains_has_limits(cli: Cli, store: Path, tmp_path: Path) -> None:
    run = copy_store(runs_of(store)[0], tmp_path / "elsewhere")
    document = read(run)
    del document["event_chains"]
    (run / "metadata.json").write_text(json.dumps(document))
    done = cli("verify", run)
    assert done.code == 0
    assert done.out.splitlines()[1:2] == [
        "  experiment.jsonl: the document states no chains: a cut tail cannot be detected [limits]",
    ]


def test_what_is_limited_is_told_also_where_something_is_wrong(cli: Cli, store: Path, tmp_path: Path) -> None:
    run = copy_store(runs_of(store)[0], tmp_path / "elsewhere")
    document = read(run)
    del document["event_chains"]
    (run / "metadata.json").write_text(json.dumps(document))
    (run / "notes.txt").unlink()
    done = cli("verify", run)
    assert (done.code, done.err) == (1, "")
    assert [line.rpartition(" ")[2] for line in done.out.splitlines()[1:]] == ["[missing]", "[limits]"]


AS_NOBODY = """
import json, os, sys
import runcard.parallel.helper_pool, runcard.checksums.large_files  # loaded where a file cannot be read at once
from runcard.operations.checks.verify import summary, verify
summary(list(verify(sys.argv[1])))  # loads all that it needs
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(json.dumps(summary(list(verify(sys.argv[1])))))
"""


@pytest.mark.parametrize(
    ("closed", "paths"),
    [
        ("run/personas", {"personas", "personas/1.json"}),
        ("run/notes.txt", {"notes.txt"}),
        ("run/metadata.json", {"metadata.json"}),
        ("run/amendments.jsonl", {"amendments.jsonl"}),
        ("run", {""}),
        (".", {""}),
    ],
)
def test_what_cannot_be_read_is_told(closed: str, paths: set[str]) -> None:
    with everybodys_directory() as folder:
        run = record_one(folder / "outputs").rename(folder / "outputs" / "run")
        hidden = run.parent / closed
        if not hidden.exists():
            hidden.touch()
        mode = hidden.stat().st_mode
        hidden.chmod(0)
        target = run.parent if closed == "." else run
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, target], capture_output=True, text=True, check=True, timeout=60
        )
        hidden.chmod(mode)
    said = json.loads(done.stdout)
    assert (said["intact"], said["complete"]) == (True, False)
    assert {found["path"] for found in said["findings"] if found["kind"] == "missing"} == paths


ODD: list[Any] = [None, 3, "x", [], {}, [1], [None], [{}], True, -1, "running", "../x"]


def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where something stands in a document."""
    if at:
        yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        if key not in {"packages", "lockfiles"}:
            yield from places(inner, (*at, key))


def test_no_document_however_odd_makes_it_stumble(store: Path, tmp_path: Path) -> None:
    """In each place of a document stands something that does not belong there, or nothing."""
    run = copy_store(runs_of(store)[0], tmp_path / "odd")
    whole = (run / "metadata.json").read_text()
    for turn, path in enumerate(places(json.loads(whole))):
        for odd in (ODD[turn % len(ODD)], ODD[(5 * turn + 3) % len(ODD)], KeyError):
            document = json.loads(whole)
            inner = document
            for step in path[:-1]:
                inner = inner[step]
            if odd is KeyError:
                del inner[path[-1]]
            else:
                inner[path[-1]] = odd
            (run / "metadata.json").write_text(json.dumps(document))
            assert len(verdict(run)["records"]) == 1


@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b"{}", b"\xff", b"{", b'{"metadata_version": "9.0"}']
)
def test_a_document_that_is_none_is_told(cli: Cli, store: Path, content: bytes) -> None:
    run = runs_of(store)[0]
    (run / "metadata.json").write_bytes(content)
    done = cli("verify", run)
    assert done.code == 1
    assert "[document]" in done.out


def test_a_store_with_a_document_that_is_none_is_told(store: Path) -> None:
    """Which run of the ledger it is, its journal tells."""
    run = runs_of(store)[0]
    for content in (b"{", b"[]"):
        (run / "metadata.json").write_bytes(content)
        said = verdict(store)
        assert {(found["kind"], found["record"]) for found in said["findings"]} >= {
            ("document", run.name),
            ("ledger", run.name),
        }


def test_amendments_that_cannot_be_looked_at_are_told(cli: Cli, store: Path) -> None:
    run = runs_of(store)[0]
    (run / "amendments.jsonl").mkdir()
    done = cli("verify", run)
    assert (done.code, done.err) == (1, "")
    assert (
        done.out
        == f"Error: {run}: CHANGED (nothing missing)\n  amendments.jsonl: it is not a regular file [link]\n"
    )


def test_a_document_that_is_a_link_is_not_there(store: Path, tmp_path: Path) -> None:
    run = runs_of(store)[0]
    (run / "metadata.json").rename(tmp_path / "metadata.json")
    (run / "metadata.json").symlink_to(tmp_path / "metadata.json")
    assert ("missing", "metadata.json") in kinds(verdict(run))


def test_hostile_names_are_shown_escaped(cli: Cli, store: Path) -> None:
    run = runs_of(store)[0]
    (run / "\x1b[2J\u202eevil\n.txt").write_text("x")
    (run / os.fsdecode(b"caf\xe9")).write_text("x")
    done = cli("verify", run)
    assert "\\x1b[2J\\u202eevil\\n.txt: the file was not there" in done.out
    assert "caf\\xe9: the file was not there" in done.out
    assert "\x1b" not in done.out
    assert "\x1b" not in cli("verify", "--json", run).out


def test_the_library_hands_out_verdicts(store: Path, dead: Path) -> None:
    progress: list[tuple[int, int]] = []
    well, ill = runcard.verify(runs_of(store)[0], dead, progress=lambda *seen: progress.append(seen))
    assert (well.verdict.intact, well.verdict.complete, well.verdict.exit_code) == (True, True, 0)
    assert (ill.verdict.intact, ill.verdict.complete, ill.verdict.exit_code) == (True, False, 2)
    assert (ill.path, ill.verdict.findings[0].kind) == (str(dead), "open")
    assert progress
