"""A session as it is written: what the documents say, in both versions."""

import json
import stat
import tarfile
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import runcard
from accounting.wire_forms import CLAUDE_CODE, CODEX_EVENT, GEMINI_CLI_JSON
from conftest import Cli
from runcard.documents.schema import schema_bytes
from runcard.documents.session.roles import SYNONYMS
from runcard.views.formats import byte_size
from sessions.collecting.teams import KEY, assert_tidy, document, everything, instance, state, team

SUMMARY = {
    *("total_instances", "completed_instances", "failed_instances", "total_tokens", "total_cost"),
    *("execution_start", "execution_end", "total_execution_time_seconds"),
    *("average_tokens_per_instance", "all_completed"),
}


def collected(*instances: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The team document of these instances."""
    return runcard.collect(team(*instances), **options).document.to_dict()


def summary_of(*instances: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = collected(*instances)["execution_summary"]
    return data


def test_a_session_is_laid_out_as_documented_and_nothing_else_is_touched(here: Path, spec: Path) -> None:
    before = {path: value for path, value in state(here).items() if "artifacts" not in path}
    result = runcard.collect(spec)
    assert result.path.parent == here / "artifacts"
    assert result.is_whole
    ids = [entry["instance_id"] for entry in result.document.instances]
    assert sorted(path.name for path in result.path.iterdir()) == [
        *("SHA256SUMS", "audit.jsonl", "instances", "manifest.json", "metadata.json", "summary.md")
    ]
    assert sorted(path.name for path in (result.path / "instances").iterdir()) == sorted(ids)
    for own in ids:
        folder = result.path / "instances" / own
        assert sorted(path.name for path in folder.iterdir()) == ["metadata.json", "output.log", "workspace"]
    assert_tidy(here / "artifacts")
    assert {path: value for path, value in state(here).items() if "artifacts" not in path} == before
    assert sorted(path.name for path in (here / "artifacts").iterdir() if path.name[0] == ".") == [
        ".open",
        ".runcard",
    ]


def test_the_team_document_says_all_that_is_known(spec: Path) -> None:
    result = runcard.collect(spec)
    data = result.document.to_dict()
    coordinator, researcher = data["instances"]
    assert coordinator == {
        "instance_id": "coordinator-1",
        "name": "coordinator",
        "role": "architect",
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "created_at": "2025-11-06T14:00:00Z",
        "terminated_at": "2025-11-06T14:32:00Z",
        "terminated_at_source": "observed",
        "execution_time_seconds": 1920,
        "tokens_used": 45230,
        "token_source": "given",
        "tokens": {
            "input": 41000,
            "output": 4230,
            "cache_read": 12000,
            "cache_write": None,
            "reasoning": None,
        },
        "cost": 0.15405,  # 29,000 at $3, 12,000 at $0.30 and 4,230 at $15 for a million
        "cost_source": "priced",
        "parent_instance_id": None,
        "children_count": 1,
        "error_message": None,
    }
    assert (researcher["parent_instance_id"], researcher["children_count"]) == ("coordinator-1", 0)
    assert (researcher["created_at"], researcher["terminated_at"]) == (
        "2025-11-06T14:05:00Z",
        "2025-11-06T14:28:00.900Z",
    )
    assert (researcher["execution_time_seconds"], researcher["cost_source"]) == (1380, "given")
    assert data["execution_summary"] == {
        "total_instances": 2,
        "completed_instances": 2,
        "failed_instances": 0,
        "total_tokens": 77330,
        "total_cost": 0.47405,
        "execution_start": "2025-11-06T14:00:00Z",
        "execution_end": "2025-11-06T14:32:00Z",
        "total_execution_time_seconds": 1920,
        "average_tokens_per_instance": 38665,
        "all_completed": True,
        "status_counts": {"completed": 2},
        "known_cost": 0.47405,
        "known_tokens": 77330,
    }
    assert data["price_rows"][0]["usd_per_million"]["output"] == 15
    assert data["errors"] == []
    assert data["audit"]["excluded"] == [{"pattern": ".env", "count": 2}]
    assert [link["target"] for link in data["symlinks"]] == ["report.md", "report.md"]
    assert data["producer"] == {"name": "runcard", "version": runcard.__version__}
    assert data["system_info"]["runcard_version"] == runcard.__version__
    assert "madrox_version" not in data["system_info"]
    assert data["ledger_head"] is None
    assert runcard.collect(spec, again=True).document.to_dict()["ledger_head"] is not None


def test_the_instance_documents_describe_what_is_stored(spec: Path) -> None:
    session = runcard.collect(spec).path
    data = document(session, "instances/coordinator-1/metadata.json")
    assert data["workspace"] == {
        "path": str(spec.parent / "workspaces" / "coordinator"),
        "files_count": 2,
        "total_size_bytes": len("# What coordinator found\n") + len("a,b\n1,2\n"),
        "file_types": {".csv": 1, ".md": 1},
    }
    log = session / "instances" / "coordinator-1" / "output.log"
    assert data["output"] == {"file": "output.log", "lines": 3, "size_bytes": log.stat().st_size}
    assert log.read_text() == "hello\nusing [masked:anthropic-key] now\nthe end"
    assert data["resources"]["disk_bytes"] == data["workspace"]["total_size_bytes"] + log.stat().st_size
    assert data["performance"] == {
        "response_times": None,
        "wall_seconds": 1920,
        "active_seconds": None,
        "peak_memory_bytes": None,
    }
    assert data["resources"] == {
        "cpu_seconds": None,
        "disk_bytes": data["resources"]["disk_bytes"],
        "tokens": {"input": 41000, "output": 4230, "cache_read": 12000}
        | dict.fromkeys(("cache_write", "reasoning")),
    }
    children = data["children_instance_ids"]
    assert [document(session)["instances"][1]["instance_id"]] == children
    assert set(data["checksums"]) == {"output", "workspace"}
    assert data["error"] is None


def test_no_secret_gets_into_a_session(here: Path, spec: Path) -> None:
    """Neither from a transcript nor from a credential file, and the audit says where one was."""
    data = runcard.collect(spec).document.to_dict()
    assert KEY.encode() not in everything(here / "artifacts")
    where = "instances/coordinator-1/output.log"
    assert data["audit"]["redactions"] == [{"rule": "anthropic-key", "where": where, "count": 1}]
    report = here / "workspaces" / "researcher" / "report.md"
    report.write_text(f"the key is {KEY}\n")
    runcard.collect(spec, artifacts="masked", mask_workspaces=True)
    assert KEY.encode() not in everything(here / "masked")
    (line,) = (
        line
        for line in (here / "masked").glob("*/audit.jsonl").__next__().read_text().splitlines()
        if "report.md" in line and "source_sha256" in line
    )
    payload = json.loads(line)["payload"]
    assert payload["source_sha256"] != payload["sha256"]


def test_the_older_version_has_the_documented_fields_and_no_others(spec: Path) -> None:
    validator = import_module("jsonschema").Draft7Validator
    session = runcard.collect(spec, schema="1.0.0").path
    data = document(session)
    validator(json.loads(schema_bytes("team", "1.0.0"))).validate(data)
    known = json.loads(schema_bytes("team", "1.0.0"))
    assert set(data) == set(known["properties"])
    assert set(data["execution_summary"]) == SUMMARY
    assert set(data["system_info"]) == {"python_version", "os", "hostname"}
    for entry in data["instances"]:
        assert set(entry) == set(known["definitions"]["InstanceMetadata"]["properties"])
        own = document(session, f"instances/{entry['instance_id']}/metadata.json")
        schema = json.loads(schema_bytes("instance", "1.0.0"))
        validator(schema).validate(own)
        assert set(own) == set(schema["properties"])
    assert "producer" not in document(session, "manifest.json")


def test_the_manifest_lists_every_instance(spec: Path) -> None:
    session = runcard.collect(spec).path
    data, manifest = document(session), document(session, "manifest.json")
    assert manifest["timestamp"] == data["created_at"]
    assert manifest["summary"] == {"total_instances": 2, "completed": 2, "failed": 0, "total_cost": 0.47405}
    for entry, indexed in zip(data["instances"], manifest["instances_index"], strict=True):
        assert {key: entry.get(key) for key in indexed if key != "metadata_file"} == {
            key: value for key, value in indexed.items() if key != "metadata_file"
        }
        assert document(session, indexed["metadata_file"])["name"] == entry["name"]


def test_what_is_not_known_is_left_out_and_never_zero() -> None:
    data = collected(instance(), instance("b", tokens_used=100, cost=0.5))
    nobody, known = data["instances"]
    assert {"tokens_used", "cost", "tokens", "token_source", "cost_source"}.isdisjoint(nobody)
    assert (nobody["model"], known["tokens_used"]) == ("unknown", 100)
    summary = data["execution_summary"]
    assert {"total_tokens", "total_cost", "average_tokens_per_instance"}.isdisjoint(summary)
    assert (summary["known_tokens"], summary["known_cost"]) == (100, 0.5)
    assert data["token_source"] is None


def test_free_is_zero() -> None:
    assert summary_of(instance(tokens_used=0, cost=0))["total_cost"] == 0


def test_money_is_added_up_in_decimals() -> None:
    assert summary_of(*(instance(str(n), cost=0.1) for n in range(3)))["total_cost"] == 0.3


def test_a_cost_that_is_given_counts_before_the_table() -> None:
    (entry,) = collected(instance(model="claude-sonnet-4-5", usage={"input": 5, "output": 3}, cost=7))[
        "instances"
    ]
    assert (entry["cost"], entry["cost_source"]) == (7, "given")


def test_a_model_without_a_price_has_no_cost_and_a_warning_names_it() -> None:
    result = runcard.collect(team(instance(model="mystery-1", usage={"input": 5, "output": 3})))
    assert "cost" not in result.document.instances[0]
    assert "'mystery-1'" in result.findings[0].message


def test_usage_as_a_vendor_reports_it_is_read_as_well() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 0,
    }
    (entry,) = collected(instance(model="claude-sonnet-4-5", usage=usage))["instances"]
    assert (entry["tokens"]["input"], entry["tokens_used"]) == (100, 105)


def test_totals_of_codex_are_read_with_their_cache() -> None:
    (entry,) = collected(instance(model="gpt-5", usage=CODEX_EVENT["payload"]["info"]))["instances"]
    assert (entry["tokens_used"], entry["tokens"]["cache_read"]) == (101_000, 90_000)
    assert (entry["cost"], entry["cost_source"]) == (0.03375, "priced")


def test_all_models_of_claude_code_are_added_up_with_the_cost_that_it_states() -> None:
    result = runcard.collect(team(instance(model="claude-sonnet-4-5", usage=CLAUDE_CODE)))
    (entry,) = result.document.to_dict()["instances"]
    assert (entry["tokens"]["input"], entry["tokens_used"]) == (189_637, 190_130)
    assert (entry["cost"], entry["cost_source"]) == (0.0694963, "reported")
    assert result.findings == ()
    assert next(runcard.verify(result.path)).verdict.findings == ()


def test_each_model_of_a_usage_has_its_own_price() -> None:
    document = collected(instance(usage=GEMINI_CLI_JSON))
    assert document["instances"][0]["cost_source"] == "priced"
    assert [row["model"] for row in document["price_rows"]] == ["gemini-2.5-pro", "gemini-2.5-flash"]


def test_an_unknown_count_in_a_usage_is_an_error() -> None:
    with pytest.raises(runcard.InvalidDocument) as error:
        runcard.collect(
            team(instance(usage={**CODEX_EVENT["payload"]["info"]["total_token_usage"], "foo": 1}))
        )
    (found,) = error.value.report.findings
    assert (found.rule, found.message.partition(":")[0]) == ("spec.usage", "foo")


def test_tokens_of_many_calls_cost_at_least_the_price_of_small_ones() -> None:
    usage = {"input": 1_000_000, "output": 0}
    (entry,) = collected(instance(model="claude-sonnet-4-5", usage=usage))["instances"]
    assert (entry.get("cost"), entry["known_cost"]) == (None, 3)
    (entry,) = collected(instance(model="claude-sonnet-4-5", usage={"input": 200_000, "output": 0}))[
        "instances"
    ]
    assert entry["cost"] == 0.6


@pytest.mark.parametrize(
    ("word", "role"), [*SYNONYMS.items(), ("pirate", "general"), ("Architect", "general")]
)
def test_a_role_outside_the_list_is_mapped_and_kept_as_the_title(word: str, role: str) -> None:
    (entry,) = collected(instance(role=word))["instances"]
    assert (entry["role"], entry["role_title"]) == (role, word)


def test_a_role_of_the_list_has_no_title() -> None:
    (entry, nobody) = collected(instance(role="devops"), instance("b"))["instances"]
    assert (entry["role"], nobody["role"]) == ("devops", "general")
    assert "role_title" not in entry


def test_an_instance_that_still_runs_ends_with_the_collection() -> None:
    result = runcard.collect(team(instance(status="running", terminated_at=None)))
    (entry,) = result.document.instances
    assert entry["terminated_at"] == result.document.to_dict()["created_at"]
    assert entry["terminated_at_source"] == "collected"
    data = result.document.to_dict()["execution_summary"]
    assert (data["completed_instances"], data["failed_instances"], data["all_completed"]) == (0, 1, False)


def test_every_status_but_completed_counts_as_failed() -> None:
    statuses = ["completed", "error", "timeout", "terminated", "completed"]
    data = summary_of(*(instance(str(n), status=status) for n, status in enumerate(statuses)))
    assert (data["completed_instances"], data["failed_instances"]) == (2, 3)
    assert data["status_counts"] == {"completed": 2, "error": 1, "timeout": 1, "terminated": 1}


@pytest.mark.parametrize(
    ("status", "message", "category", "retryable"),
    [
        ("error", "429 Too Many Requests", "rate_limit", True),
        ("error", "prompt is too long: 250000 tokens", "context_length", False),
        ("error", "401 invalid x-api-key", "authentication", False),
        ("error", "Connection reset by peer", "network", True),
        ("error", "Segmentation fault (core dumped)", "crashed", None),
        ("error", "out of memory", "out_of_memory", None),
        ("error", "tool call failed", "tool_error", None),
        ("error", "it was a dark and stormy night", "other", None),
        ("error", None, "other", None),
        ("timeout", "gave up", "timeout", True),
        ("terminated", None, "cancelled", None),
    ],
)
def test_errors_have_a_category(status: str, message: str | None, category: str, retryable: object) -> None:
    (entry,) = collected(instance(status=status, error_message=message))["instances"]
    assert entry["error_details"]["category"] == category
    assert entry["error_details"].get("retryable") is retryable
    assert entry["error_message"] == message


def test_error_details_that_are_given_are_kept() -> None:
    details = {"category": "refusal", "message": "no", "time": "2025-11-06T14:01:00Z", "retryable": False}
    (entry,) = collected(instance(status="error", error_details=details))["instances"]
    assert entry["error_details"] == details


def test_errors_and_omissions_are_told_in_sentences() -> None:
    data = collected(
        instance("a", status="error", error_message="broken"),
        instance("b", status="timeout", workspace="gone", output="gone.log"),
    )
    gone = str(Path("gone.log").absolute())
    assert data["errors"] == [
        "a: broken",
        "b: it ended with the status timeout, without a message",
        "b: the workspace was not stored: it does not exist",
        f"b: {gone} was not stored: the file does not exist",
    ]
    assert [omission["path"] for omission in data["audit"]["omissions"]] == [".", gone]


def test_what_is_given_beside_is_kept() -> None:
    spec = team(
        instance(
            performance={"active_seconds": 5, "response_times": {"count": 3, "mean": 1.5}},
            resources={"cpu_seconds": 2.5},
            labels={"a": "b"},
            environment={"timezone": "Europe/Berlin"},
            execution_time_seconds=599,
        ),
        labels={"team": "ux"},
        relations=[{"type": "session", "id": "earlier"}],
        trace={"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"},
        system_info={"madrox_version": "1.2.0"},
    )
    result = runcard.collect(spec)
    data = result.document.to_dict()
    own = document(result.path, f"instances/{data['instances'][0]['instance_id']}/metadata.json")
    assert own["performance"] == {
        "response_times": {"count": 3, "mean": 1.5},
        "wall_seconds": 599,
        "active_seconds": 5,
        "peak_memory_bytes": None,
    }
    assert (own["labels"], own["environment"]["timezone"]) == ({"a": "b"}, "Europe/Berlin")
    assert (data["labels"], data["relations"]) == ({"team": "ux"}, spec["relations"])
    assert (data["trace"], data["system_info"]["madrox_version"]) == (spec["trace"], "1.2.0")
    assert (data["performance"]["active_seconds"], data["resources"]["cpu_seconds"]) == (5, 2.5)


def test_response_times_of_a_team_are_told_as_far_as_they_follow() -> None:
    one = {"count": 3, "mean": 1.0, "p50": 0.9, "p95": 1.4, "max": 1.5}
    two = {"count": 1, "mean": 3.0, "p50": 3.0, "p95": 3.0, "max": 3.0}

    def told(*times: dict[str, Any] | None) -> Any:
        agents = [
            instance(f"a{index}", performance={"response_times": known}) for index, known in enumerate(times)
        ]
        return collected(*agents)["performance"]["response_times"]

    assert told(one) == one
    assert told(one, two) == {"count": 4, "mean": 1.5, "p50": None, "p95": None, "max": 3.0}
    assert told(one, None) == told(None, one) == told(one, {"count": 0}) == one  # of those that have any
    assert told(one, None, two) == told(one, two)
    assert told(one, {"count": 2}) == {"count": 5, "mean": None, "p50": None, "p95": None, "max": None}
    assert told(one, {"max": 9.0}) == {"count": None, "mean": None, "p50": None, "p95": None, "max": 9.0}
    assert told(None, None) is None
    assert told({"count": 0}) is None


def _lives(*times: tuple[str, str | None, str]) -> list[dict[str, Any]]:
    return [
        instance(
            f"a{index}",
            status=status,
            created_at=f"2025-11-06T14:{start}Z",
            terminated_at=end and f"2025-11-06T14:{end}Z",
        )
        for index, (start, end, status) in enumerate(times)
    ]


def test_a_team_is_active_while_one_of_it_is() -> None:
    def active(*times: tuple[str, str | None, str]) -> Any:
        data = collected(*_lives(*times))
        assert data["performance"]["wall_seconds"] >= (data["performance"]["active_seconds"] or 0)
        return data["performance"]["active_seconds"]

    done = "completed"
    assert active(("00:00", "10:00", done)) == 600
    assert active(("00:00", "10:00", done), ("05:00", "08:00", done)) == 600
    assert active(("00:00", "10:00", done), ("05:00", "12:00", done), ("20:00", "21:00.9", done)) == 780
    assert active(("00:00", "01:00", done), ("00:00", "01:00", done)) == 60
    assert active(("00:00", "00:00", done)) == 0
    assert active(("00:00", "10:00", done), ("05:00", None, done)) is None  # its end is unknown
    assert active(("00:00", None, "running")) > 600  # until it was collected


def test_stated_active_times_of_several_agents_do_not_add_up() -> None:
    """They may overlap."""
    five, none = instance("a", performance={"active_seconds": 5}), instance("b")
    assert collected(five)["performance"]["active_seconds"] == 5
    assert collected(five, none)["performance"]["active_seconds"] is None


def test_resources_of_a_team_add_up_where_they_are_known() -> None:
    usage = {"input": 10, "output": 2, "reasoning": 1}
    first = instance("a", usage=usage, resources={"cpu_seconds": 1.5, "memory_bytes": 7}, cost=0)
    second = instance("b", usage=usage, resources={"cpu_seconds": 2}, cost=0)
    first["performance"], second["performance"] = {"peak_memory_bytes": 9}, {"peak_memory_bytes": 4}
    data = collected(first, second)
    assert data["resources"] == {
        "cpu_seconds": 3.5,
        "disk_bytes": None,  # nothing was stored
        "tokens": {"input": 20, "output": 4, "cache_read": None, "cache_write": None, "reasoning": 2},
    }
    assert data["performance"]["peak_memory_bytes"] == 9
    assert collected(first)["performance"]["peak_memory_bytes"] == 9
    unknown = collected(first, instance("c", resources={"cpu_seconds": None}, cost=0))
    assert unknown["performance"]["peak_memory_bytes"] is None
    assert unknown["resources"]["cpu_seconds"] is None  # and not that of the first


def test_bytes_that_were_not_stored_are_unknown(spec: Path) -> None:
    for options, is_known in (({"metadata_only": True}, False), ({"no_transcripts": True}, True)):
        result = runcard.collect(spec, **options)  # type: ignore[arg-type]
        own = document(result.path, "instances/coordinator-1/metadata.json")
        sizes = [data["resources"]["disk_bytes"] for data in (own, document(result.path))]
        assert [size is not None for size in sizes] == [is_known] * 2


@pytest.mark.parametrize("schema", ["2.0.0", "1.0.0"])
def test_the_summary_has_the_size_of_all_files(here: Path, spec: Path, schema: str) -> None:
    (here / "workspaces/coordinator" / "odd\nname").write_text("x" * 100_000)
    for number in range(2):  # without an entry in the ledger, and with one
        session = runcard.collect(spec, schema=schema, again=True).path
        total = sum(
            path.stat().st_size for path in session.rglob("*") if not path.is_symlink() and path.is_file()
        )
        assert f"- **Size**: {byte_size(total)}\n" in (session / "summary.md").read_text(), number


def test_the_summary_describes_files_by_their_titles_and_keeps_no_secret(here: Path, spec: Path) -> None:
    workspace = here / "workspaces/coordinator"
    (workspace / "tool.py").write_text('"""Counts the users."""\n')
    (workspace / "a.md").write_text("# The password is hunter2-and-more\n")
    (workspace / "secrets.md").write_text("# It is Mimi's name\n")
    (workspace / "latest.md").symlink_to("report.md")
    session = runcard.collect(spec, exclude=["!secrets.md"]).path
    page = (session / "summary.md").read_text()
    assert "- `report.md` - What coordinator found (Markdown, 25 B)\n" in page
    assert "- `tool.py` - Counts the users. (Python, 24 B)\n" in page
    assert "- `secrets.md` - Markdown, 20 B\n" in page
    assert "hunter2" not in page
    assert "Mimi" not in page
    assert "latest.md" not in page


def test_documents_of_1_0_0_have_neither(spec: Path) -> None:
    session = runcard.collect(spec, schema="1.0.0").path
    for name in ("metadata.json", "instances/coordinator-1/metadata.json"):
        assert not {"performance", "resources"} & document(session, name).keys()


def test_a_session_of_an_older_runcard_is_as_good_as_before(here: Path, cli: Cli) -> None:
    """Its team's active time is the sum of the agents', and it has no peak of memory."""
    with tarfile.open(Path(__file__).with_name("session-without-peak-memory.tar.gz")) as archive:
        archive.extractall(here, filter="data")
    (session,) = here.glob("*-older-team")
    assert document(session)["performance"]["active_seconds"] == 900
    assert cli("verify", session).code == 0
    assert cli("validate", session).code == 0
    data = document(session)
    data["performance"]["active_seconds"] = 899
    (session / "metadata.json").write_text(json.dumps(data))
    assert "active_seconds" in cli("verify", session).out


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"no_transcripts": True}, ["metadata.json", "workspace"]),
        ({"metadata_only": True}, ["metadata.json"]),
    ],
)
def test_those_who_may_not_keep_text_need_not(spec: Path, options: dict[str, bool], kept: list[str]) -> None:
    result = runcard.collect(spec, **options)  # type: ignore[arg-type]
    folder = result.path / "instances" / "coordinator-1"
    assert sorted(path.name for path in folder.iterdir()) == kept
    data = document(result.path, "instances/coordinator-1/metadata.json")
    assert "output" not in data
    assert data["workspace"]["path"]
    assert result.is_whole  # left out on purpose is no omission
    assert_tidy(result.path.parent)


def test_modes_are_for_the_owner_alone(here: Path, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = here / "workspaces" / "coordinator" / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o6755)
    session = runcard.collect(spec).path
    for path in [here / "artifacts", *(here / "artifacts").rglob("*")]:
        wanted = 0o700 if path.is_dir() or path.name == "run.sh" else 0o600
        assert path.is_symlink() or stat.S_IMODE(path.lstat().st_mode) == wanted, path
    stored = session / "instances" / "coordinator-1" / "workspace" / "run.sh"
    assert stored.stat().st_mtime_ns == script.stat().st_mtime_ns
    monkeypatch.setenv("RUNCARD_DIRECTORY_MODE", "0750")
    monkeypatch.setenv("RUNCARD_FILE_MODE", "0640")
    shared = runcard.collect(spec, artifacts="shared").path
    assert stat.S_IMODE(shared.stat().st_mode) == 0o750
    assert stat.S_IMODE((shared / "instances").stat().st_mode) == 0o750
    assert stat.S_IMODE((shared / "metadata.json").stat().st_mode) == 0o640


def test_the_name_is_the_time_of_the_document_and_taken_seconds_are_passed_over(here: Path) -> None:
    spec = team(instance())
    results = [runcard.collect(spec, again=True) for _ in range(3)]
    assert len({result.path for result in results}) == 3
    assert_tidy(here / "artifacts")
    for result in results:
        created = result.document.created_at
        assert created is not None
        assert f"{created:%Y-%m-%d_%H-%M-%S}-research-team-001" == result.path.name
        assert abs((created - datetime.now(UTC)).total_seconds()) < 60


def test_a_price_file_of_the_settings_counts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = {"model": "mystery-1", "usd_per_million": {"input": 10, "output": 10}}
    table = {"source": "ours", "as_of": "2025-11-01", "providers": {"acme": {"models": [model]}}}
    (here / "prices.json").write_text(json.dumps(table))
    monkeypatch.setenv("RUNCARD_PRICES", str(here / "prices.json"))
    usage = {"input": 1, "output": 1}
    (entry,) = collected(instance(model="mystery-1", provider="acme", usage=usage))["instances"]
    assert (entry["cost"], entry["cost_source"]) == (0.00002, "priced")


def test_a_service_tier_has_its_own_price_in_a_session() -> None:
    made = {"created_at": "2026-11-01T14:00:00Z", "terminated_at": "2026-11-01T14:10:00Z"}
    usage = {"input": 1_000_000, "output": 0}
    reported = {
        "input_tokens": 1_000_000,
        "output_tokens": 0,
        "cache_read_input_tokens": 0,
        "service_tier": "batch",
    }
    standard, batch, by_vendor, by_hand, unknown = runcard.collect(
        team(
            instance("a", model="claude-haiku-4-5", usage=usage, **made),
            instance("b", model="claude-haiku-4-5", usage=usage, service_tier="batch", **made),
            instance("c", model="claude-haiku-4-5", usage=reported, **made),
            instance("d", model="claude-haiku-4-5", usage=usage | {"service_tier": "batch"}, **made),
            instance("e", model="claude-haiku-4-5", usage=usage, service_tier="priority", **made),
        )
    ).document.instances
    assert [entry["cost"] for entry in (standard, batch, by_vendor, by_hand)] == [1, 0.5, 0.5, 0.5]
    assert "cost" not in unknown
    assert "known_cost" not in unknown


def test_a_tier_without_a_price_is_named() -> None:
    usage = {"input": 5, "output": 3}
    result = runcard.collect(team(instance(model="claude-haiku-4-5", usage=usage, service_tier="priority")))
    (finding,) = result.findings
    assert (finding.rule, finding.path) == ("spec.price", "/instances/0/usage")
    assert "'claude-haiku-4-5' in the service tier 'priority'" in finding.message


def test_the_result_of_claude_code_names_its_model_and_is_as_reported() -> None:
    counts = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    totals = counts | {"webSearchRequests": 2, "costUSD": 0.25}
    one = {"type": "result", "total_cost_usd": 0.25, "modelUsage": {"claude-sonnet-4-5": totals}}
    two = one | {"modelUsage": {"claude-sonnet-4-5": totals, "claude-haiku-4-5": totals}}
    result = runcard.collect(
        team(
            instance("a", model=None, usage=one),
            instance("b", model=None, usage=two),
            instance("c", usage={"input": 1, "output": 1}, cost=1),
        )
    )
    first, second, by_hand = result.document.instances
    assert (first["model"], first["token_source"]) == ("claude-sonnet-4-5", "reported")
    assert (second["model"], second["token_source"]) == ("unknown", "reported")  # of several models
    assert by_hand["token_source"] == "given"  # noqa: S105
    assert (first["server_tools"], second["server_tools"]) == ({"web_search": 2}, {"web_search": 4})
    assert "server_tools" not in by_hand


def test_names_in_the_usage_are_masked_as_all_of_the_spec() -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    usage = {"input": 1, "output": 1, "model": secret, "server_tools": {secret: 2}}
    result = runcard.collect(team(instance("a", model=None, usage=usage, cost=1)))
    stored = [path.read_bytes() for path in Path(result.path).rglob("*") if path.is_file()]
    assert stored
    assert not any(secret.encode() in data for data in stored)


def test_a_price_for_large_calls_leaves_the_cost_known_in_part() -> None:
    usage = {"input": 300_000, "output": 3}
    result = runcard.collect(team(instance(model="claude-sonnet-4-5", usage=usage)))
    (finding,) = result.findings
    assert finding.message == (
        "no count is known for calls above 200000 input tokens of 'claude-sonnet-4-5': the cost is known only in part"
    )
    assert finding.hint == "add 'cost' if it is known"
    assert "known_cost" in result.document.instances[0]


def test_a_total_of_tokens_alone_has_an_unknown_cost_and_a_warning() -> None:
    result = runcard.collect(team(instance(model="claude-haiku-4-5", tokens_used=500), instance("b", cost=1)))
    entry, _ = result.document.instances
    assert entry["tokens_used"] == 500
    assert "cost" not in entry
    summary = result.document.to_dict()["execution_summary"]
    assert "total_cost" not in summary
    assert summary["known_cost"] == 1
    assert [(each.rule, each.path) for each in result.findings] == [
        ("spec.price", "/instances/0/tokens_used")
    ]


def test_what_is_known_of_a_cost_counts_in_a_session() -> None:
    usage = {"input": 1_000_000, "output": 0, "server_tools": {"code_execution": 1}}
    result = runcard.collect(
        team(instance(model="claude-haiku-4-5", usage=usage), instance("b", cost=2)), schema="2.0.0"
    )
    entry, _ = result.document.instances
    assert (entry.get("cost"), entry["known_cost"]) == (None, 1)
    own = document(result.path / "instances" / entry["instance_id"])
    assert (own.get("cost"), own["known_cost"]) == (None, 1)
    assert own["price_rows"][0]["usd_per_million"]["input"] == 1
    data = result.document.to_dict()["execution_summary"]
    assert (data.get("total_cost"), data["known_cost"]) == (None, 3)
    assert "code_execution" in result.findings[0].message
    page = (result.path / "summary.md").read_text()
    assert "**Total Cost**: ≥ $3.00 (a part is unknown)" in page


def test_an_agent_with_several_models_and_service_tiers_has_a_price_row_for_each(cli: Cli) -> None:
    """The usage is a list; each part has a model, and may have a service tier and the form of a vendor."""
    parts = [
        {"model": "claude-haiku-4-5", "usage": {"input_tokens": 1_000_000, "output_tokens": 0}},
        {"model": "claude-opus-4-5", "input": 1_000_000, "output": 10, "service_tier": "batch"},
    ]
    made = {"created_at": "2026-11-02T10:00:00Z", "terminated_at": "2026-11-02T10:05:00Z"}
    result = runcard.collect(team(instance(usage=parts, **made)))
    (entry,) = result.document.to_dict()["instances"]
    own = json.loads((result.path / "instances" / entry["instance_id"] / "metadata.json").read_bytes())
    assert [(row["model"], row.get("service_tier")) for row in own["price_rows"]] == [
        ("claude-haiku-4-5", None),
        ("claude-opus-4-5", "batch"),
    ]
    assert entry["model"] == "claude-opus-4-5"
    assert entry["tokens_used"] == 2_000_010
    assert entry["cost"] == 3.500125
    assert own["models"] == entry["models"]
    assert [(use["model"], use["cost"]) for use in entry["models"]] == [
        ("claude-haiku-4-5", 1),
        ("claude-opus-4-5", 2.500125),
    ]
    assert cli("verify", "artifacts").code == 0


def test_a_fault_in_one_part_of_a_list_of_usage_is_located() -> None:
    with pytest.raises(runcard.InvalidDocument) as refused:
        runcard.collect(team(instance(usage=[{"input": 1, "output": 2}, {"outptu": 3, "input": 1}])))
    assert [found.path for found in refused.value.report.errors] == ["/instances/0/usage/1"]
