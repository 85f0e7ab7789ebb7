"""`runcard export --to in-toto|ro-crate|otlp|cyclonedx|citation` of real records."""

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

import runcard
from conftest import Cli
from interop.validators import check_bom, check_statement, check_traces
from runcard.cli.runs import export as command
from runcard.operations.catalog.export_table import FORMATS
from runcard.operations.export.export_records import RECORD_FORMS
from runs.runs import read, record_one
from sessions.build import AGENTS, LEAD

HOSTILE = "a|b\x1b[31m\nü"
STRANGE = b"not-utf8-\xff.txt"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(project: Path) -> Path:
    return record_one(project / "outputs")


@pytest.fixture
def session(project: Path) -> Path:
    work = project / "work"
    (work / "sub").mkdir(parents=True)
    (work / "sub" / "a.py").write_text("print(1)\n")
    agents = [dict(agent) for agent in AGENTS]
    agents[0] |= {"workspace": str(work), "name": HOSTILE}
    spec = {"team_session_id": "team-1", "instances": agents}
    return Path(runcard.collect(spec, artifacts="artifacts").path)


def exported(cli: Cli, *arguments: str | Path) -> list[dict[str, Any]]:
    """The lines that a command writes to stdout."""
    done = cli("export", *arguments)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def spans(cli: Cli, record: Path) -> list[dict[str, Any]]:
    (traces,) = exported(cli, record, "--to", "otlp")
    return check_traces(traces)


def test_formats_of_the_command_are_those_of_the_operations() -> None:
    assert command._RECORDS == RECORD_FORMS
    assert set(command._TABLES) == set(FORMATS)


def slsa(statements: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = [each for each in statements if each["predicateType"] == "https://slsa.dev/provenance/v1"]
    return found


def test_in_toto_of_a_run(cli: Cli, run: Path) -> None:
    statements = exported(cli, run, "--to", "in-toto")
    for statement in statements:
        check_statement(statement)
    provenance, document = slsa(statements), read(run)
    own, *_ = statements
    schema = json.loads(cli("schema", "record-statement").out)
    assert jsonschema_rs.is_valid(schema, own, validate_formats=True)
    assert own["predicate"]["event_chains"] == document["event_chains"]
    assert (
        own["predicate"]["ledger"]["hash"]
        in Path("outputs/.runcard").joinpath(own["predicate"]["ledger"]["file"]).read_text()
    )
    assert {subject["name"] for subject in provenance["subject"]} == {"notes.txt", "personas/1.json"}
    predicate = provenance["predicate"]
    assert predicate["buildDefinition"]["externalParameters"]["configuration"] == document["configuration"]
    (source,) = document["data_sources"]["files"]
    assert {"name": source["path"], "digest": {"sha256": source["sha256"]}} in predicate["buildDefinition"][
        "resolvedDependencies"
    ]
    generation = document["generation"]
    assert predicate["runDetails"]["metadata"] == {
        "invocationId": generation["run_id"],
        "startedOn": generation["timestamp_start"],
        "finishedOn": generation["timestamp_end"],
    }
    names = {part["name"] for part in predicate["runDetails"]["byproducts"]}
    assert names == {"metadata.json", "README.md", "SHA256SUMS", "experiment.jsonl"}


def test_in_toto_of_several_records(cli: Cli, run: Path, session: Path) -> None:
    done = cli("export", run, session, "--to", "in-toto", "-o", "all.intoto.jsonl")
    assert (done.code, done.out) == (0, "all.intoto.jsonl\n")
    statements = [json.loads(line) for line in Path("all.intoto.jsonl").read_text().splitlines()]
    for statement in statements:
        check_statement(statement)
    ids = [
        each["predicate"]["runDetails"]["metadata"]["invocationId"]
        for each in statements
        if "runDetails" in each["predicate"]
    ]
    assert ids == [read(run)["generation"]["run_id"], "team-1"]


def test_spans_of_calls(cli: Cli, project: Path) -> None:
    reply = {
        "id": "msg_1",
        "type": "message",
        "model": "claude-sonnet-4-5",
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_input_tokens": 30,
            "cache_creation_input_tokens": 7,
        },
    }
    with runcard.record(project / "outputs", provider="anthropic", strict=True) as run:
        run.add_usage(
            reply, prompt="SECRET PROMPT", latency=1.5, request={"temperature": 0.5, "max_tokens": 9}
        )
        run.add_usage({"input": 5, "output": 2}, model="no-such-model")
    root, timed, untimed = spans(cli, run.path)
    document = read(run.path)
    assert root["name"] == "invoke_workflow"
    assert (timed["name"], untimed["name"]) == ("chat claude-sonnet-4-5", "chat no-such-model")
    assert timed["end"] - timed["start"] == 1_500_000_000
    assert (untimed["start"], untimed["attributes"]["runcard.duration_unknown"]) == (untimed["end"], True)
    facts = timed["attributes"]
    assert facts["gen_ai.usage.input_tokens"] == 137, "Anthropic's input is without its cached parts"
    assert facts["gen_ai.usage.cache_read.input_tokens"] == 30
    assert facts["gen_ai.usage.cache_creation.input_tokens"] == 7
    assert (facts["gen_ai.request.temperature"], facts["gen_ai.request.max_tokens"]) == (0.5, 9)
    assert facts["gen_ai.provider.name"] == "anthropic"
    assert "runcard.cost_usd" not in untimed["attributes"], "an unknown price is not 0"
    total = sum(span["attributes"]["gen_ai.usage.input_tokens"] for span in (timed, untimed))
    assert total == document["costs"]["input_tokens"]
    assert "gen_ai.usage.input_tokens" not in root["attributes"], "the sum over all spans counts once"
    assert "runcard.total.cost_usd" not in root["attributes"]
    assert root["attributes"]["runcard.total.known_cost_usd"] == document["costs"]["known_cost_usd"]
    assert spans(cli, run.path)[0]["trace"] == root["trace"], "the same record has the same ids"


def test_spans_join_the_trace_of_the_caller(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPARENT", f"00-{'ab' * 16}-{'cd' * 8}-01")
    with runcard.record(project / "outputs", strict=True) as run:
        pass
    (root,) = spans(cli, run.path)
    assert (root["trace"], root["parent"]) == ("ab" * 16, "cd" * 8)


def test_spans_of_a_session(cli: Cli, session: Path) -> None:
    root, lead, coder, tester = spans(cli, session)
    assert root["name"] == "invoke_workflow team-1"
    assert (lead["parent"], coder["parent"], tester["parent"]) == (root["id"], lead["id"], lead["id"])
    assert coder["name"] == "invoke_agent coder"
    assert (tester["status"], tester["attributes"]["error.type"]) == (2, "rate_limit")
    assert tester["end"] - tester["start"] == 150_000_000_000
    assert "gen_ai.usage.input_tokens" not in coder["attributes"], "only the sum of its tokens is known"
    assert coder["attributes"]["runcard.total.total_tokens"] == 32100


def test_spans_of_a_recorded_session(cli: Cli, project: Path) -> None:
    with (
        runcard.Session("live-1", artifacts=project / "artifacts") as session,
        session.start_instance("writer", model="claude-sonnet-4-5") as writer,
    ):
        writer.add_usage({"input": 11, "output": 3})
    root, agent, call = spans(cli, session.path)
    assert (agent["parent"], call["parent"]) == (root["id"], agent["id"])
    assert call["attributes"]["gen_ai.usage.input_tokens"] == 11
    assert "gen_ai.usage.input_tokens" not in agent["attributes"]


def test_cyclonedx(cli: Cli, run: Path, session: Path) -> None:
    for record in (run, session):
        done = cli("export", record, "--to", "cyclonedx")
        assert done.code == 0
        check_bom(done.out)
    bom = json.loads(cli("export", run, "--to", "cyclonedx").out)
    kinds = [part["type"] for part in bom["components"]]
    assert kinds.count("machine-learning-model") == 1
    packages = read(run)["environment"]["packages"]
    assert kinds.count("library") == len(packages)
    assert f"pkg:pypi/click@{packages['click']}" in {part.get("purl") for part in bom["components"]}


def test_citation(cli: Cli, run: Path) -> None:
    done = cli("export", run, "--to", "citation", "--author", "Ada Lovelace", "--author", "C. Babbage")
    citation = yaml.safe_load(done.out)
    assert (done.code, [author["name"] for author in citation["authors"]]) == (
        0,
        ["Ada Lovelace", "C. Babbage"],
    )
    unknown = cli("export", run, "--to", "citation")
    assert (unknown.code, yaml.safe_load(unknown.out)["authors"]) == (2, [{"name": "anonymous"}])
    assert unknown.err.startswith("Warning: the author is not known")


def test_citation_files(
    cli: Cli, run: Path, session: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNCARD_AUTHOR", "Ada & Co")
    folder = project / "cited"
    folder.mkdir()
    assert cli("export", run, "--to", "citation", "-o", folder).code == 0
    assert {path.name for path in folder.iterdir()} == {"CITATION.cff", "CITATION.bib"}
    assert r"author = {{Ada \& Co}}" in (folder / "CITATION.bib").read_text()
    assert cli("export", run, session, "--to", "citation", "-o", "both.bib").code == 0
    assert Path("both.bib").read_text().count("@misc{") == 2
    assert cli("export", run, session, "--to", "citation").code == 64


def test_nothing_is_overwritten(cli: Cli, run: Path, project: Path) -> None:
    for form in RECORD_FORMS:
        target = project / f"there.{form}"
        target.write_text("mine")
        done = cli("export", run, "--to", form, "-o", target, *license_of(form))
        assert (done.code, target.read_text()) == (1, "mine")
        assert "exists already" in done.err


def license_of(form: str) -> list[str]:
    return ["--license", "CC0-1.0"] if form == "ro-crate" else []


@pytest.mark.parametrize("form", RECORD_FORMS)
def test_a_record_that_fails_verification_is_refused(cli: Cli, run: Path, project: Path, form: str) -> None:
    (run / "notes.txt").write_text("forged\n")
    done = cli("export", run, "--to", form, "-o", project / "out", *license_of(form))
    assert done.code == 1
    assert "was changed since it was closed" in done.err
    assert not (project / "out").exists()
    assert not [name for name in os.listdir(project) if name.startswith(".")]


def test_an_open_run_is_refused(cli: Cli, project: Path) -> None:
    with runcard.record(project / "outputs", strict=True) as run:
        done = cli("export", run.path, "--to", "otlp")
        assert (done.code, done.out) == (1, "")
        assert "is not closed" in done.err


def test_a_failed_run(cli: Cli, project: Path) -> None:
    def fail() -> None:
        with runcard.record(project / "outputs", strict=True) as run:
            paths.append(run.path)
            raise ValueError("no more")

    paths: list[Path] = []
    with pytest.raises(ValueError, match="no more"):
        fail()
    (root,) = spans(cli, paths[0])
    assert (root["status"], root["attributes"]["error.type"]) == (2, "failed")
    check_bom(cli("export", paths[0], "--to", "cyclonedx").out)


def test_withheld_stays_withheld(cli: Cli, run: Path) -> None:
    journal = [json.loads(line) for line in (run / "experiment.jsonl").read_text().splitlines()]
    (seq,) = [line["seq"] for line in journal if line["event"] == "model.called"]
    runcard.redact(run, files=["notes.txt"], reason="asked", by="ada")
    runcard.redact(run, events=[str(seq)], reason="asked", by="ada")
    statement = slsa(exported(cli, run, "--to", "in-toto"))
    assert {subject["name"] for subject in statement["subject"]} == {"personas/1.json"}
    check_statement(statement)
    bom = cli("export", run, "--to", "cyclonedx").out
    check_bom(bom)
    assert "notes.txt" not in bom
    (root,) = spans(cli, run)
    assert root["attributes"]["gen_ai.usage.input_tokens"] == 45230, "the totals are still in the document"


def test_an_archive_is_as_its_directory(cli: Cli, run: Path, session: Path) -> None:
    for record in (run, session):
        forms = [form for form in RECORD_FORMS if form != "ro-crate"]
        before = [without_ledger(cli("export", record, "--to", form).out) for form in forms]
        archived = runcard.archive(record)
        assert not record.exists()
        after = [cli("export", archived.archive_path, "--to", form).out for form in forms]
        assert [without_ledger(output) for output in after] == before


def without_ledger(output: str) -> str:
    """An export without the entry in the ledger: archiving a record makes a new one."""
    return re.sub(r'"ledger":\{[^}]*\}', "", output)


def test_a_name_that_is_not_utf8(cli: Cli, project: Path) -> None:
    with runcard.record(project / "outputs", strict=True) as run:
        (Path(os.fsdecode(os.fsencode(run.path) + b"/" + STRANGE))).write_text("x")
    statement = slsa(exported(cli, run.path, "--to", "in-toto"))
    assert [subject["name"] for subject in statement["subject"]] == [r"not-utf8-\xff.txt"]
    check_bom(cli("export", run.path, "--to", "cyclonedx").out)


@pytest.mark.usefixtures("project")
def test_a_session_of_schema_1(cli: Cli) -> None:
    spec = {"team_session_id": "old", "instances": [dict(agent) for agent in AGENTS]}
    old = Path(runcard.collect(spec, artifacts="artifacts", schema="1.0.0").path)
    assert read(old)["version"] == "1.0.0"
    statement = slsa(exported(cli, old, "--to", "in-toto"))
    check_statement(statement)
    assert len(spans(cli, old)) == 4
    check_bom(cli("export", old, "--to", "cyclonedx").out)


def test_the_library(run: Path, session: Path, project: Path) -> None:
    done = runcard.export([run, session], "otlp", project / "spans.jsonl")
    assert done.paths == (str(project / "spans.jsonl"),)
    assert done.records == (read(run)["generation"]["run_id"], "team-1")
    assert len((project / "spans.jsonl").read_text().splitlines()) == 2
    crate = runcard.export(run, "ro-crate", project / "crate", license="CC-BY-4.0", authors=["Ada"])
    assert (Path(crate.paths[0]) / "ro-crate-metadata.json").is_file()
    with pytest.raises(runcard.RuncardError, match="must name a license"):
        runcard.export(run, "ro-crate", project / "other")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["@latest", "--to", "otlp", "--license", "MIT"], "--license is for ro-crate and citation"),
        (["@latest", "--to", "otlp", "--model", "x"], "--model is for tables"),
        (["@latest", "--to", "otlp", "--with", "x"], "--with is for bundles"),
        (["--to", "otlp"], "Missing argument 'RECORD'"),
        (["a", "b"], "--to bundle takes one argument"),
        (["a", "b", "--to", "cyclonedx"], "holds one record only"),
        (["@latest", "--to", "otlp", "--json"], "cannot both go to stdout"),
    ],
)
@pytest.mark.usefixtures("project")
def test_wrong_options(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("export", *arguments)
    assert done.code == 64
    assert message in done.err


def test_json_names_what_was_written(cli: Cli, run: Path) -> None:
    done = cli("export", run, "--to", "citation", "-o", "CITATION.cff", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["paths"], len(answer["warnings"])) == (2, ["CITATION.cff"], 1)
    assert LEAD not in done.out
