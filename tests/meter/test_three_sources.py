"""One session of the real Claude Code, from three sources: the wire, its telemetry and its transcript."""

import json
from pathlib import Path

import pytest

from meter.agents import claude_code
from meter.records import assert_equals, run_metered
from meter.scripted_upstream import ScriptedUpstream, Step

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]


def test_the_wire_and_the_telemetry_have_a_call_that_the_transcript_lacks(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.plan(Step(tool=("Bash", {"command": "echo hello", "description": "Say hello"})))
    invocation = claude_code(tmp_path, upstream.url)
    options = ["--witness", "otlp"]
    run = run_metered(invocation.command, invocation.env, invocation.cwd, options=options)
    assert run.code == 0, run.err
    on_wire = {call.request_id for call in upstream.calls}
    assert len(on_wire) == 3
    assert_equals(run, upstream)

    witness = run.document["witness"]
    assert (witness["reported"], witness["metered"], witness["agreeing"]) == (3, 3, 3)
    assert (witness["only_reported"], witness["only_metered"], witness["differing"]) == ([], [], [])

    (transcript,) = (tmp_path / "home" / ".claude" / "projects").glob("*/*.jsonl")
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    in_transcript = {line["requestId"] for line in lines if line["type"] == "assistant"}
    assert len(in_transcript) == 2
    assert in_transcript < on_wire  # it lacks the call for the title
    assert run.document["costs"]["token_source"] == "reported"  # noqa: S105 - so nothing is missing
    assert run.document["warnings"] == []
