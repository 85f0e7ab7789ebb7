"""Checking documents, by library and by command, compared with other validators."""

import json
from collections.abc import Callable, Iterator
from timeit import repeat
from typing import Any

import jsonschema_rs
import yaml
from jsonschema import Draft7Validator

from bench.measuring import BIN, RUNCARD, BenchError, command, race, scratch
from bench.table import Row, Target, Times, faster
from runcard.documents.schema import schema_bytes
from runcard.documents.session.team import Team
from runcard.encoding.yaml import decode_yaml, encode_yaml


def team(instances: int = 4) -> dict[str, Any]:
    """A valid team document."""
    listed = [
        {
            "instance_id": f"550e8400-e29b-41d4-a716-{number:012d}",
            "name": f"agent-{number}",
            "role": "backend_developer" if number else "architect",
            "model": "claude-sonnet-4-5",
            "status": "completed",
            "created_at": f"2025-11-06T14:{number % 30:02d}:00Z",
            "terminated_at": "2025-11-06T14:32:00Z",
            "execution_time_seconds": 1920 - 60 * (number % 30),
            "tokens_used": 31250,
            "cost": 0.3125,
            "parent_instance_id": "550e8400-e29b-41d4-a716-000000000000" if number else None,
            "children_count": 0 if number else instances - 1,
            "error_message": None,
        }
        for number in range(instances)
    ]
    return {
        "version": "1.0.0",
        "created_at": "2025-11-06T14:32:45.123456Z",
        "team_session_id": "research-team-001",
        "total_instances": instances,
        "instances": listed,
        "execution_summary": {
            "total_instances": instances,
            "completed_instances": instances,
            "failed_instances": 0,
            "total_tokens": 31250 * instances,
            "total_cost": 0.3125 * instances,
            "execution_start": "2025-11-06T14:00:00Z",
            "execution_end": "2025-11-06T14:32:00Z",
            "total_execution_time_seconds": 1920,
            "average_tokens_per_instance": 31250,
            "all_completed": True,
        },
        "system_info": {"python_version": "3.11.5", "os": "darwin", "hostname": "example"},
        "errors": [],
    }


def measure(*, quick: bool = False) -> Iterator[Row]:
    yield from _library(500 if quick else 3000)
    yield _yaml(100 if quick else 500)
    yield from _command(200 if quick else 1000)


def _library(number: int) -> Iterator[Row]:
    document = team()
    schema = json.loads(schema_bytes("team", "1.0.0"))
    slow = Draft7Validator(schema)
    fast = jsonschema_rs.validator_for(schema, validate_formats=True)
    report = Team.check(document)
    if report.findings:
        raise BenchError(f"the benchmark's document is not valid: {report.findings}")
    ours = _micros(lambda: Team.check(document), number)
    peers = {
        "jsonschema (schema only)": _micros(lambda: slow.is_valid(document), number // 20),
        "jsonschema-rs (schema only)": _micros(lambda: fast.is_valid(document), number),
    }
    for peer, theirs in peers.items():
        yield Row("check a team document: schema and rules", ours, peer, theirs, "µs", Target("<=", 40, "µs"))


def _yaml(number: int) -> Row:
    """The same document as YAML, about 2 KB; the peer reads YAML 1.1 and accepts duplicate keys."""
    data = encode_yaml(team())
    ours = _micros(lambda: decode_yaml(data), number)
    theirs = _micros(lambda: yaml.load(data, yaml.CSafeLoader), number)
    return Row("read a YAML document", ours, "PyYAML with libyaml", theirs, "µs", faster(3))


def _micros(work: Callable[[], object], number: int) -> Times:
    return Times.of(repeat(work, number=number, repeat=7), 1e6 / number)


def _command(files: int) -> Iterator[Row]:
    with scratch() as folder:
        schema = folder / "team.schema.json"
        schema.write_bytes(schema_bytes("team", "1.0.0"))
        paths = []
        for number in range(files):
            document = team() | {"team_session_id": f"team-{number}"}
            paths.append(folder / f"{number}.json")
            paths[-1].write_text(json.dumps(document, indent=2))
        times = race(
            {
                "ours": command(RUNCARD, "validate", *paths),
                "peer": command(BIN / "check-jsonschema", "--schemafile", schema, *paths),
            },
            3,
        )
    work, peer = f"runcard validate, {files:,} files", "check-jsonschema (schema only)"
    yield Row(work, times["ours"], peer, times["peer"], "s", faster(4))
