"""Whatever a valid document says: every format passes the validator of its project, and its numbers are the document's."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings

from interop.contents import HOSTILE, calls, records, runs, sessions
from interop.validators import check_bom, check_statement, check_traces
from runcard.interop.citation import bibtex_entry, citation_file
from runcard.interop.cyclonedx_bom import cyclonedx_bom
from runcard.interop.otlp_spans import otlp_traces
from runcard.interop.record_content import RecordContent, UsageFigures, agent_usage, call_usage, time_text
from runcard.interop.slsa_provenance import slsa_statement

often = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def usages(content: RecordContent) -> list[UsageFigures]:
    """What a run, or each agent of a session, used."""
    return [content.usage] if content.is_run else [agent_usage(agent) for agent in content.agents]


@often
@given(records)
def test_in_toto(content: RecordContent) -> None:
    statement = json.loads(json.dumps(slsa_statement(content)))
    check_statement(statement)
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    outputs = {file.text: file.sha256 for file in content.outputs}
    assert subjects == (outputs or {"metadata.json": content.metadata.sha256})
    digests = {
        entry["sha256"]
        for entry in content.document.get("data_sources", {}).get("files", ())
        if isinstance(entry, dict) and entry["sha256"]
    }
    dependencies = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    if content.is_run:
        parameters = statement["predicate"]["buildDefinition"].get("internalParameters", {})
        assert parameters.get("persona_version") == content.document["environment"]["persona_version"]
    assert digests == {part["digest"]["sha256"] for part in dependencies if "sha256" in part["digest"]}


@often
@given(runs())
def test_spans_of_a_run(content: RecordContent) -> None:
    traces = otlp_traces(content)
    root, *spans = check_traces(traces)
    assert "SECRET" not in json.dumps(traces)
    assert root["parent"] is None
    assert {span["parent"] for span in spans} <= {root["id"]}
    assert [counted(span) for span in spans] == [
        {name: count for name, count in tokens(call_usage(call)).items() if count is not None}
        for call in content.calls
    ]
    expected = {} if content.calls else tokens(content.usage)
    assert counted(root) == {name: count for name, count in expected.items() if count is not None}
    assert root["attributes"].get("runcard.total.cost_usd") == content.usage.cost_usd
    for span, call in zip(spans, content.calls, strict=True):
        is_timed = call["timestamp"] is not None and call["latency_seconds"] is not None
        assert span["attributes"].get("runcard.duration_unknown", False) is not is_timed
        assert (span["status"] == 2) is ("error" in call)


@often
@given(sessions())
def test_spans_of_a_session(content: RecordContent) -> None:
    root, *spans = check_traces(otlp_traces(content))
    assert counted(root) == {}
    lead = spans[0]
    assert [span["parent"] for span in spans] == [root["id"], *[lead["id"]] * (len(spans) - 1)]
    for span, agent in zip(spans, content.agents, strict=True):
        figures = tokens(agent_usage(agent))
        assert counted(span) == {name: count for name, count in figures.items() if count is not None}
        assert span["attributes"]["runcard.total.cost_usd"] == agent["cost"]
        assert (span["status"] == 2) is (agent["status"] != "completed")


def tokens(usage: UsageFigures) -> dict[str, int | None]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read.input_tokens": usage.cache_read_tokens,
        "cache_creation.input_tokens": usage.cache_write_tokens,
        "reasoning.output_tokens": usage.reasoning_tokens,
    }


def counted(span: dict[str, Any]) -> dict[str, int]:
    begin = "gen_ai.usage."
    return {
        key.removeprefix(begin): count for key, count in span["attributes"].items() if key.startswith(begin)
    }


@often
@given(records)
def test_cyclonedx(content: RecordContent) -> None:
    text = json.dumps(cyclonedx_bom(content))
    check_bom(text)
    bom = json.loads(text)
    assert bom["metadata"].get("timestamp") == time_text(content.ended)
    hashes = {part["name"]: part["hashes"][0]["content"] for part in bom["components"] if "hashes" in part}
    assert {file.text: file.sha256 for file in content.outputs}.items() <= hashes.items()
    libraries = {part["name"]: part.get("version") for part in bom["components"] if part["type"] == "library"}
    packages = content.document.get("environment", {}).get("packages") or {}
    assert libraries == {name: version or None for name, version in packages.items()}
    found = [properties(workflow) for workflow in bom["formulation"][0]["workflows"]]
    for figures, usage in zip(found, usages(content), strict=True):
        known = usage.known_figures()
        assert {name: figures.get(f"runcard:{name}") for name in UsageFigures._fields} == {
            name: str(known[name]) if name in known else None for name in UsageFigures._fields
        }


def properties(part: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in part.get("properties", ())}


@often
@given(records)
def test_citation_file(content: RecordContent) -> None:
    citation = yaml.safe_load(citation_file(content, [HOSTILE, "Ada"], "https://example.org/license"))
    assert citation["cff-version"] == "1.2.0"
    assert [author["name"] for author in citation["authors"]][1:] == ["Ada"]
    assert citation["identifiers"][0]["value"] == content.id
    assert citation["identifiers"][1]["value"] == f"sha256:{content.metadata.sha256}"
    ended = content.ended or content.started
    assert citation.get("date-released") == (ended and ended.date().isoformat())


@often
@given(records)
def test_bibtex(content: RecordContent) -> None:
    entry = bibtex_entry(content, [HOSTILE, "Ada"])
    fields = dict(bibtex_fields(entry))
    assert fields["author"].endswith(" and {Ada}")
    assert content.metadata.sha256 in fields["note"]
    for value in fields.values():
        plain = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#_%]", "", value)
        assert not set(plain) & set('\\$&#_%~^"')


def bibtex_fields(entry: str) -> Iterator[tuple[str, str]]:
    """The fields of one entry, as BibTeX reads them: braces count, escaped or not."""
    first, *lines, last, empty = entry.split("\n")
    assert re.fullmatch(r"@misc\{[A-Za-z0-9:._-]+,", first)
    assert (last, empty) == ("}", "")
    for line in lines:
        match = re.fullmatch(r"  ([a-z]+) = \{(.*)\},", line)
        assert match, line
        depth = 0
        for at, character in enumerate(match[2]):
            depth += {"{": 1, "}": -1}.get(character, 0)
            assert depth >= 0, f"{line!r} ends at {at}"
        assert depth == 0, line
        yield match[1], match[2]


@often
@given(calls())
def test_input_includes_its_cached_part(call: dict[str, Any]) -> None:
    """The counts of a call are those of its event: there, the cache classes are parts of the input already."""
    usage = call_usage(call)
    assert usage.input_tokens == call["tokens"]["input"]
    assert usage.cache_write_tokens == call["tokens"]["cache_write_5m"]
