"""`runcard export --to ro-crate`: crates that roc-validator accepts, and citations that cffconvert accepts."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import runcard
from conftest import Cli
from interop.contents import records
from interop.installed_validators import problems
from runcard.digests import sha256_bytes
from runcard.interop.citation import citation_file
from runcard.interop.record_content import RecordContent
from runcard.operations.checks.verify import summary, verify
from runs.runs import record_one
from sessions.build import AGENTS

DESCRIPTOR = "ro-crate-metadata.json"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def graph(crate: Path) -> dict[str, dict[str, Any]]:
    entities = json.loads((crate / DESCRIPTOR).read_bytes())["@graph"]
    return {entity["@id"]: entity for entity in entities}


def write_graph(crate: Path, entities: dict[str, dict[str, Any]]) -> None:
    document = json.loads((crate / DESCRIPTOR).read_bytes())
    (crate / DESCRIPTOR).write_text(json.dumps(document | {"@graph": list(entities.values())}))


def team(project: Path) -> Path:
    (project / "work").mkdir()
    (project / "work" / "a b#c%.md").write_text("# a\n")
    agents = [dict(agent) for agent in AGENTS]
    agents[0] |= {"workspace": str(project / "work"), "model": "m/ü <x>"}
    spec = {"team_session_id": "team-1", "instances": agents}
    return Path(runcard.collect(spec, artifacts="artifacts").path)


def test_a_crate_holds_the_record(cli: Cli, project: Path) -> None:
    run = record_one(project / "outputs")
    done = cli("export", run, "--to", "ro-crate", "--license", "CC-BY-4.0", "--author", "Ada", "-o", "crate")
    assert (done.code, done.out) == (0, "crate\n")
    copy = project / "crate" / run.name
    assert (summary(list(verify(copy)))["intact"], os.readlink(copy / "latest")) == (True, "personas")
    entities = graph(project / "crate")
    root = entities["./"]
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert entities[root["author"][0]["@id"]]["name"] == "Ada"
    action = entities["#run"]
    results = {entities[link["@id"]]["name"] for link in action["result"]}
    assert results == {"notes.txt", "personas/1.json"}
    figures = {
        entities[link["@id"]]["name"]: entities[link["@id"]]["value"] for link in action["resourceUsage"]
    }
    assert (figures["input_tokens"], figures["output_tokens"]) == ("45230", "8750")
    for entity in entities.values():
        if entity["@type"] == "File":
            file = project / "crate" / entity["@id"]
            assert sha256_bytes(file.read_bytes()).hex == entity["sha256"]
            assert file.stat().st_size == int(entity["contentSize"])


def test_only_the_metadata_to_stdout(cli: Cli, project: Path) -> None:
    run = record_one(project / "outputs")
    done = cli("export", run, "--to", "ro-crate", "--license", "CC0-1.0", "-o", "-")
    assert json.loads(done.out)["@graph"][0]["@id"] == DESCRIPTOR
    assert sorted(os.listdir(project)) == ["interviews", "outputs"]


def test_agents_are_actions(cli: Cli, project: Path) -> None:
    session = team(project)
    assert cli("export", session, "--to", "ro-crate", "--license", "our own", "-o", "crate").code == 0
    entities = graph(project / "crate")
    actions = [entity for entity in entities.values() if entity["@type"] == "CreateAction"]
    assert [action["name"] for action in actions] == ["coordinator", "coder", "tester"]
    assert actions[2]["actionStatus"].endswith("/FailedActionStatus")
    assert actions[2]["error"] == "429: too many requests"
    assert [link["@id"].rpartition("/")[2] for link in actions[0]["result"]] == ["a%20b%23c%25.md"]


def test_an_archive_and_a_withheld_file(cli: Cli, project: Path) -> None:
    run = record_one(project / "outputs")
    runcard.redact(run, files=["notes.txt"], reason="asked", by="ada")
    archived = runcard.archive(run)
    done = cli("export", archived.archive_path, "--to", "ro-crate", "--license", "CC0-1.0")
    assert (done.code, done.out.strip()) == (0, f"{run.name}-crate")
    crate = project / f"{run.name}-crate"
    assert not (crate / run.name / "notes.txt").exists()
    assert not [own for own in graph(crate) if own.endswith("notes.txt")]


@pytest.mark.long
@pytest.mark.needs("validators")
def test_roc_validator(cli: Cli, project: Path) -> None:
    """Everything that is REQUIRED, of good crates; and it finds what is missing in bad ones."""
    run, session = record_one(project / "outputs"), team(project)
    with runcard.record(project / "outputs", strict=True) as empty:
        pass
    crates = {"run": run, "session": session, "empty": empty.path}
    for name, record in crates.items():
        arguments = ["--license", "CC-BY-4.0" if name == "run" else "our own"]
        assert cli("export", record, "--to", "ro-crate", *arguments, "-o", name).code == 0
    for name in ("no-license", "no-instrument", "no-file"):
        shutil.copytree("run", name, symlinks=True)
    entities = graph(project / "no-license")
    del entities["./"]["license"]
    write_graph(project / "no-license", entities)
    entities = graph(project / "no-instrument")
    del entities["#run"]["instrument"]
    write_graph(project / "no-instrument", entities)
    (project / "no-file" / run.name / "notes.txt").unlink()
    found = problems(*map(Path, (*crates, "no-license", "no-instrument", "no-file")))
    assert {name: found[name] for name in crates} == {name: [] for name in crates}
    assert all(found[name] for name in ("no-license", "no-instrument", "no-file"))


@pytest.mark.long
@pytest.mark.needs("validators")
def test_cffconvert(project: Path) -> None:
    """The citations of random records pass; one without authors does not."""
    number = 0

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(records)
    def write(content: RecordContent) -> None:
        nonlocal number
        number += 1
        (project / f"{number}.cff").write_bytes(citation_file(content, (), "https://example.org/l"))

    write()
    (project / "bad.cff").write_text("cff-version: 1.2.0\nmessage: m\ntitle: t\n")
    found = problems(*project.glob("*.cff"))
    assert found.pop("bad.cff")
    assert {message for messages in found.values() for message in messages} == set()
