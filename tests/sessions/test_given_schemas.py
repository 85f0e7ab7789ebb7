"""Whatever writes a session, and in whichever version: another program accepts its documents by the given schemas."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import runcard
from documents import samples
from runcard.documents import schema
from runcard.operations.amendments.migrate import migrate_record
from runcard.operations.sessions.collect_team import collect_team_artifacts
from runcard.operations.sessions.import_sessions import import_sessions
from sessions.collecting.teams import COORDINATOR, instance, lay_out, team
from sessions.importing.sample_sessions import session_with_sub_agent

SCHEMAS = Path(schema.__file__).parent / "schemas"
VERSIONS = ("2.0.0", "1.0.0")


def collected(version: str) -> Path:
    """Workspaces, transcripts, roles that are not in the list, every status, unknown models and costs."""
    agents = [
        COORDINATOR,
        *(instance(status, status=status) for status in ("error", "timeout", "terminated")),
        instance("pirate", role="pirate", error_message="429: too many requests"),
        {"name": "last", "status": "running", "created_at": "2025-11-06T14:00:00Z", "parent": "pirate"},
    ]
    return runcard.collect(lay_out(Path(), team(*agents)), schema=version).path


def imported(version: str) -> Path:
    session_with_sub_agent(Path(".claude"))
    (session,) = import_sessions(
        "claude-code", [Path(".claude")], artifacts="artifacts", schema=version
    ).sessions
    return Path(str(session.path))


def recorded(version: str) -> Path:
    """With a run inside, an error, and an agent that is not finished."""
    Path("work").mkdir()
    Path("work/a.md").write_text("a\n")
    with runcard.Session("team-1", labels={"a": "b"}) as session:
        lead = session.start_instance("lead", role="architect", workspace="work")
        with session.start_instance("pirate", role="pirate", parent=lead, provider="anthropic") as worker:
            worker.add_usage({"input": 10, "output": 2}, model="claude-sonnet-4-5", latency=1.5)
            worker.log("done")
            with runcard.record() as run:
                run.add_usage({"input": 10, "output": 2}, model="claude-sonnet-4-5", provider="anthropic")
        lead.add_error("429: too many requests")
        lead.finish("error")
        session.start_instance("last")
    return _in_version(session.path, version)


def called(version: str) -> Path:
    """By the tool of the MCP server."""
    Path("specs").mkdir()
    Path("specs/team.json").write_text(json.dumps(team(instance("a"), instance("b", status="error"))))
    result = collect_team_artifacts("research-team-001", specs="specs")
    return _in_version(Path(result["artifacts_path"]), version)


def _in_version(path: Path, version: str) -> Path:
    if version == "1.0.0":
        migrate_record(str(path), version)
    return path


def accepts(name: str, *files: Path) -> bool:
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(SCHEMAS / f"{name}.json")]
    return subprocess.run([*command, *files], check=False, capture_output=True).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("write", [collected, imported, recorded, called])
def test_every_document_of_a_session_satisfies_the_given_schema(
    here: Path, write: Callable[[str], Path], version: str
) -> None:
    path = write(version)
    instances = sorted(path.glob("instances/*/metadata.json"))
    assert len(instances) >= 2
    assert accepts("team-1.0.0", path / "metadata.json")
    assert accepts("instance-1.0.0", *instances)
    additions = jsonschema_rs.Draft7Validator((SCHEMAS / "instance-1.0.0+2.0.0.json").read_text())
    assert {additions.is_valid(json.loads(file.read_bytes())) for file in instances} == {version == "2.0.0"}
    assert {checked.report.version for checked in runcard.validate(path)} == {
        version,
        "1.0.0",
    }  # and the manifest
    assert here in path.absolute().parents


@pytest.mark.parametrize("write", [collected, imported, recorded, called])
def test_a_session_of_1_0_0_has_nothing_that_was_added(here: Path, write: Callable[[str], Path]) -> None:
    path = write("1.0.0")
    given: dict[str, Any] = json.loads((SCHEMAS / "instance-1.0.0.json").read_bytes())
    for file in path.glob("instances/*/metadata.json"):
        assert json.loads(file.read_bytes()).keys() <= given["properties"].keys()
    known = json.loads((SCHEMAS / "team-1.0.0.json").read_bytes())
    document = json.loads((path / "metadata.json").read_bytes())
    entries = known["definitions"]
    assert document.keys() <= known["properties"].keys()
    assert document["execution_summary"].keys() <= entries["ExecutionSummary"]["properties"].keys()
    for entry in document["instances"]:
        assert entry.keys() <= entries["InstanceMetadata"]["properties"].keys()
    assert here in path.absolute().parents


@pytest.mark.long
def test_the_other_program_checks_the_form_of_times(here: Path) -> None:
    document = samples.instance()
    for name, time in (("good", "2025-11-06T14:05:00Z"), ("bad", "yesterday")):
        (here / name).write_text(json.dumps(document | {"created_at": time}))
    assert accepts("instance-1.0.0", here / "good")
    assert not accepts("instance-1.0.0", here / "bad")
