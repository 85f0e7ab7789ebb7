"""Somebody edits the document of a record that has no ledger beside it: the journal of the record says otherwise."""

import json
import os
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

import runcard
from attacks.edited import (
    LEAD,
    alone,
    change,
    edit,
    failed_run,
    kinds,
    messages,
    session,
    small_run,
    verify,
)
from runcard.operations.archives.archive import archive
from runcard.operations.runs.close import close

RECORDS = Path(__file__).parent / "data" / "records-0.1.0.tar.gz"

DIE = """
import os, sys, runcard
with runcard.record(sys.argv[1], strict=True) as run:
    run.log("page.read", number=1)
    os._exit(9)
"""


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


@pytest.fixture
def run(here: Path) -> Path:
    return alone(failed_run(here / "outputs"), here)


def test_sed_that_turns_failure_into_success(run: Path) -> None:
    edit(run, '"status": "failed"', '"status": "completed"')
    edit(run, '"exit_code": 3', '"exit_code": 0')
    code, report = verify(run)
    assert (code, report["intact"], report["complete"]) == (1, False, True)
    assert messages(report, "document") == [
        "/generation/exit_code: the journal says 3, the document says 0",
        "/generation/status: the journal says 'failed', the document says 'completed'",
    ]


FORGERIES = [
    ("generation/timestamp_end", "2026-01-01T00:00:00.000Z"),
    ("generation/timestamp_start", "2026-01-01T00:00:00.000Z"),
    ("generation/duration_seconds", 0.001),
    ("generation/command", ["python", "another.py"]),
    ("generation/labels", {"team": "sales"}),
    ("generation/process/pid", 1),
    ("generation/process/host", "elsewhere"),
    ("generation/experiment_id", "exp-0000000000000000"),
    ("generation/estimated", ["/generation/timestamp_end"]),
    ("generation/approved", True),
    ("producer/version", "9.9.9"),
    ("environment/python_version", "2.7"),
    ("costs/output_tokens", 1),
    ("costs/total_cost_usd", 0.01),
    ("costs/cost_source", "given"),
    ("costs/price_rows", []),
    ("token_usage/breakdown_by_step/0/step", "think"),
    ("token_usage/breakdown_by_model/0/calls", 2),
    ("data_sources/files/0/path", "another.md"),
    ("data_sources/files/0/sha256", "0" * 64),
    ("data_sources/files", []),
    ("warnings", []),
    ("warnings/0/message", "all is well"),
    ("errors", [{"type": None, "message": "mine", "timestamp": None}]),
    ("redactions", [{"rule": "x", "where": "y", "count": 1}]),
    ("relations", [{"type": "parent", "id": "run-0000000000000000"}]),
    ("trace", {"traceparent": "00-" + "1" * 32 + "-" + "1" * 16 + "-01"}),
    ("resources/cpu_seconds", 0),
    ("signed_off", "by nobody"),
]


@pytest.mark.parametrize(("keys", "value"), FORGERIES, ids=[keys for keys, _ in FORGERIES])
def test_any_value_that_the_events_decide(run: Path, keys: str, value: object) -> None:
    change(run / "metadata.json", keys, value)
    results = list(runcard.verify(run))
    found = [one for result in results for one in result.verdict.findings if one.kind == "document"]
    assert any(one.message.startswith(f"/{keys}") for one in found), found


def test_a_configuration_and_its_digest_changed_together(run: Path) -> None:
    document = json.loads((run / "metadata.json").read_bytes())
    configuration = document["configuration"] | {"model": "claude-opus-4-1"}
    change(run / "metadata.json", "configuration/model", "claude-opus-4-1")
    canonical = json.dumps(configuration, sort_keys=True, separators=(",", ":")).encode()
    change(run / "metadata.json", "checksums/config", f"sha256:{sha256(canonical).hexdigest()}")
    code, report = verify(run)
    assert code == 1
    assert any(
        one.startswith("/configuration/model: the journal says") for one in messages(report, "document")
    )


def test_a_value_that_is_only_written_otherwise_is_the_same(run: Path) -> None:
    """No alarm for 7.0 in the place of 7, for keys in another order, or for a null that is left out."""
    document = json.loads((run / "metadata.json").read_bytes())
    document["configuration"]["seed"] = 7.0
    del document["generation"]["experiment_name"]
    (run / "metadata.json").write_text(json.dumps(document, sort_keys=True))
    code, report = verify(run)
    assert not any("journal says" in one for one in messages(report, "document")), (code, report)


def test_true_in_the_place_of_one(run: Path) -> None:
    change(run / "metadata.json", "token_usage/breakdown_by_step/0/calls", True)
    _, report = verify(run)
    assert any(
        "/calls: the journal says 1, the document says true" in one for one in messages(report, "document")
    )


def test_the_journal_removed_with_its_line_in_the_list(run: Path) -> None:
    """Without the journal the document could say anything; it names the chains that were there."""
    os.unlink(run / "experiment.jsonl")
    listing = run / "SHA256SUMS"
    listing.write_text("".join(line for line in _lines(listing) if "experiment.jsonl" not in line))
    edit(run, '"status": "failed"', '"status": "completed"')
    digest = sha256(listing.read_bytes()).hexdigest()
    change(run / "metadata.json", "checksums/output", f"sha256:{digest}")
    code, report = verify(run)
    assert (code, report["complete"]) == (1, False)
    assert ("missing", "experiment.jsonl") in {(one["kind"], one["path"]) for one in report["findings"]}


@pytest.mark.parametrize(
    "payload",
    [
        '{"metadata_version":"1.0"}',
        "[]",
        '"x"',
        '{"generation":[],"configuration":7}',
        '{"generation":{"timestamp_start":1},"configuration":{},"data_sources":{"files":[1]}}',
    ],
)
def test_a_journal_that_nobody_could_have_written(run: Path, payload: str) -> None:
    journal = run / "experiment.jsonl"
    first, rest = journal.read_text().split("\n", 1)
    start = first.index('"payload":') + len('"payload":')
    end = first.rindex(',"hash"')
    journal.write_text(first[:start] + payload + first[end:] + "\n" + rest)
    code, report = verify(run)
    assert code == 1
    assert {"changed", "chain"} <= kinds(report)


def test_a_dead_run_that_was_closed_cannot_become_a_success(here: Path) -> None:
    outputs = here / "outputs"
    subprocess.run([sys.executable, "-c", DIE, outputs], check=False, timeout=60)
    (closing,) = runcard_close(outputs)
    copy = alone(closing, here)
    assert verify(copy) == (0, {**verify(copy)[1], "findings": []})
    change(copy / "metadata.json", "generation/timestamp_end", "2099-01-01T00:00:00.000Z")  # an estimate
    edit(copy, '"status": "interrupted"', '"status": "completed"')
    _, report = verify(copy)
    told = messages(report, "document")
    assert "/generation/status: the journal says 'interrupted', the document says 'completed'" in told
    assert not any("timestamp_end: the journal" in one for one in told)


def runcard_close(outputs: Path) -> list[Path]:
    return [Path(one.path) for one in close(store=outputs)]


SESSION_FORGERIES = [
    ("instances/1/status", "completed"),
    ("instances/0/model", "claude-opus-4-1"),
    ("instances/0/cost", 9.0),
    ("instances/1/error_message", None),
    ("instances/0/tokens/input", 1),
    ("execution_summary/all_completed", True),
    ("execution_summary/known_cost", 99),
    ("performance/active_seconds", 99),
    ("resources/disk_bytes", 1),
    ("price_rows", []),
    ("errors", []),
    ("audit/collected_by", "somebody@else"),
    ("audit/omissions", []),
    ("audit/excluded", []),
    ("audit/options/keep_secrets", True),
    ("created_at", "2025-01-01T00:00:00Z"),
    ("labels", {"team": "sales"}),
    ("relations", [{"type": "parent", "id": "run-1"}]),
    ("trace", {"traceparent": "00-" + "1" * 32 + "-" + "1" * 16 + "-01"}),
    ("system_info/platform", "another"),
    ("producer/version", "0.0.1"),
    ("reviewed", True),
]


@pytest.mark.parametrize(("keys", "value"), SESSION_FORGERIES, ids=[keys for keys, _ in SESSION_FORGERIES])
def test_any_value_of_a_team_document(here: Path, keys: str, value: object) -> None:
    copy = alone(session(here), here)
    assert [one for result in runcard.verify(copy) for one in result.verdict.findings] == []
    change(copy / "metadata.json", keys, value)
    found = [one for result in runcard.verify(copy) for one in result.verdict.findings]
    section = keys.partition("/")[0]
    told = [one for one in found if one.kind == "document" and one.path == "metadata.json"]
    assert any(one.message.startswith(f"/{section}") for one in told), found


def test_a_session_of_the_older_version_is_held_to_its_journal(here: Path) -> None:
    copy = alone(session(here, schema="1.0.0"), here)
    code, report = verify(copy)
    assert (code, kinds(report)) == (0, {"limits"})
    edit(copy, '"model": "claude-sonnet-4-5"', '"model": "claude-opus-4-1"')
    code, report = verify(copy)
    assert (code, report["intact"]) == (1, False)
    assert "/instances: the journal has another digest of it" in messages(report, "document")


def test_the_document_of_an_instance_and_the_list_changed_together(here: Path) -> None:
    """All digests agree again; the journal still knows what was kept."""
    copy = alone(session(here), here)
    name = f"instances/{LEAD}/metadata.json"
    change(copy / name, "output/lines", 7)
    listing = copy / "SHA256SUMS"
    digest = sha256((copy / name).read_bytes()).hexdigest()
    lines = [f"{digest}  {name}\n" if name in line else line for line in _lines(listing)]
    listing.write_text("".join(lines))
    change(copy / "metadata.json", "checksums/session", f"sha256:{sha256(listing.read_bytes()).hexdigest()}")
    code, report = verify(copy)
    assert code == 1
    assert messages(report, "document") == ["/output/lines: the journal says 2, the document says 7"]


def test_a_withheld_event_is_no_alarm_and_is_said(here: Path) -> None:
    run = failed_run(here / "outputs")
    events = [json.loads(line) for line in _lines(run / "experiment.jsonl")]
    called = next(event["seq"] for event in events if event["event"] == "model.called")
    runcard.redact(run, events=[str(called)], reason="private")
    code, report = verify(run)
    assert (code, kinds(report)) == (0, {"amended", "withheld", "limits"})
    (told,) = messages(report, "limits")
    assert told.endswith(": /costs, /performance, /token_usage")
    change(run / "metadata.json", "generation/exit_code", 0)
    copy = alone(run, here)
    assert any(one.startswith("/generation/exit_code") for one in messages(verify(copy)[1], "document"))


def test_forgeries_are_found_in_archives(here: Path) -> None:
    copy = alone(failed_run(here / "outputs"), here)
    edit(copy, '"status": "failed"', '"status": "completed"')
    packed = archive(copy, force=True).archive
    code, report = verify(packed)
    assert code == 1
    assert any("/generation/status: the journal says 'failed'" in one for one in messages(report, "document"))


def test_an_edited_session_in_an_archive(here: Path) -> None:
    copy = alone(session(here), here)
    change(copy / "metadata.json", "audit/collected_by", "somebody@else")
    code, report = verify(archive(copy, force=True).archive)
    assert code == 1
    assert any(one.startswith("/audit/collected_by: the rest of") for one in messages(report, "document"))


def test_records_of_the_version_before_are_well(here: Path) -> None:
    """Runs and sessions of every kind, as an earlier runcard left them: no false alarm."""
    with tarfile.open(RECORDS) as packed:
        packed.extractall(here, filter="fully_trusted")  # noqa: S202 - it is our own
    code, report = verify("outputs", "artifacts", cwd=here)
    assert (code, report["intact"], report["complete"]) == (0, True, True)
    assert kinds(report) == {"amended", "withheld", "limits"}
    assert len(report["records"]) >= 28
    for record in [*(here / "outputs").glob("2*"), *(here / "artifacts").glob("2*")]:
        if not (record / "amendments.jsonl").exists():  # whose old bytes are in the store
            assert verify(alone(record, here))[0] == 0, record


def test_many_differences_are_bounded(here: Path) -> None:
    copy = alone(small_run(here / "outputs"), here)
    change(copy / "metadata.json", "environment/packages", {f"p{number}": "1" for number in range(500)})
    _, report = verify(copy)
    told = messages(report, "document")
    assert len(told) < 30
    assert told[-1].startswith("and ")
