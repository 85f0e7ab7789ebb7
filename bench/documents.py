"""Checking documents, by library and by command, compared with other validators."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from timeit import repeat
from typing import Any

import jsonschema_rs
import yaml
from jsonschema import Draft7Validator

from runcard.documents.schema import schema_bytes
from runcard.documents.session.team import Team
from runcard.encoding.yaml import decode_yaml, encode_yaml
from table import Row, print_table

BIN = Path(sys.executable).parent


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


def measure(*, quick: bool = False) -> list[Row]:
    return [
        *_library(500 if quick else 3000),
        *_yaml(100 if quick else 500),
        *_command(200 if quick else 1000),
    ]


def _library(number: int) -> list[Row]:
    document = team()
    schema = json.loads(schema_bytes("team", "1.0.0"))
    slow = Draft7Validator(schema)
    fast = jsonschema_rs.validator_for(schema, validate_formats=True)
    report = Team.check(document)
    if report.findings:
        raise SystemExit(f"the benchmark's document is not valid: {report.findings}")
    ours = _micros(lambda: Team.check(document), number)
    peers = {
        "jsonschema (schema only)": _micros(lambda: slow.is_valid(document), number // 20),
        "jsonschema-rs (schema only)": _micros(lambda: fast.is_valid(document), number),
    }
    return [
        Row(
            work="check a team document: schema and rules",
            ours=ours,
            peer=peer,
            theirs=theirs,
            unit="µs",
            target="<= 40 µs",
            ok=ours <= 40,
        )
        for peer, theirs in peers.items()
    ]


def _yaml(number: int) -> list[Row]:
    """The same document as YAML, about 2 KB; the peer reads YAML 1.1 and accepts duplicate keys."""
    data = encode_yaml(team())
    ours = _micros(lambda: decode_yaml(data), number)
    theirs = _micros(lambda: yaml.load(data, yaml.CSafeLoader), number)
    return [
        Row(
            work="read a YAML document",
            ours=ours,
            peer="PyYAML with libyaml",
            theirs=theirs,
            unit="µs",
            target=">= 3 x",
            ok=theirs / ours >= 3,
        )
    ]


def _micros(work: Callable[[], object], number: int) -> float:
    return min(repeat(work, number=number, repeat=7)) / number * 1e6


def _command(files: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder) / "team.schema.json"
        schema.write_bytes(schema_bytes("team", "1.0.0"))
        paths = []
        for number in range(files):
            document = team() | {"team_session_id": f"team-{number}"}
            paths.append(Path(folder) / f"{number}.json")
            paths[-1].write_text(json.dumps(document, indent=2))
        names = [str(path) for path in paths]
        ours = [str(BIN / "runcard"), "validate", *names]
        theirs = [str(BIN / "check-jsonschema"), "--schemafile", str(schema), *names]
        best = [float("inf"), float("inf")]
        for _ in range(3):
            best = [min(best[0], _seconds(ours)), min(best[1], _seconds(theirs))]
    return [
        Row(
            work=f"check {files:,} files by command",
            ours=best[0],
            peer="check-jsonschema (schema only)",
            theirs=best[1],
            unit="s",
            target=">= 4 x as fast",
            ok=best[1] >= 4 * best[0],
        )
    ]


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
