"""Small documents of every kind, each valid as it is. Every call makes new data, the caller's own to damage."""

import json
from typing import Any

Fields = dict[str, Any]


def team() -> Fields:
    return {
        "version": "1.0.0",
        "created_at": "2025-11-06T14:32:45Z",
        "team_session_id": "docs-team-001",
        "total_instances": 2,
        "instances": [
            _member("lead", "architect", "14:00", "14:32", 1920, parent=None, children=1),
            _member("writer", "tech_writer", "14:05", "14:28", 1380, parent="lead", children=0),
        ],
        "execution_summary": {
            "total_instances": 2,
            "completed_instances": 2,
            "failed_instances": 0,
            "total_tokens": 3300,
            "total_cost": 0.5,
            "execution_start": "2025-11-06T14:00:00Z",
            "execution_end": "2025-11-06T14:32:00Z",
            "total_execution_time_seconds": 1920,
            "average_tokens_per_instance": 1650,
            "all_completed": True,
        },
        "system_info": {"python_version": "3.11.5", "os": "linux"},
        "errors": [],
    }


def _member(
    name: str, role: str, start: str, end: str, seconds: int, *, parent: str | None, children: int
) -> Fields:
    return {
        "instance_id": name,
        "name": name,
        "role": role,
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "created_at": f"2025-11-06T{start}:00Z",
        "terminated_at": f"2025-11-06T{end}:00Z",
        "execution_time_seconds": seconds,
        "tokens_used": seconds,
        "cost": 0.25,
        "parent_instance_id": parent,
        "children_count": children,
        "error_message": None,
    }


def running_team() -> Fields:
    """A team document that is valid, with a warning: one instance is not finished."""
    data = team()
    data["instances"][1]["status"] = "running"
    data["execution_summary"] |= {"completed_instances": 1, "failed_instances": 1, "all_completed": False}
    return data


def broken_team() -> Fields:
    """A team document with three errors: two by the schema, one by a rule."""
    data = team()
    data["total_instances"] = "two"
    data["instances"][1]["role"] = "tester"
    data["execution_summary"]["total_cost"] = 9
    return data


def big_team(count: int) -> Fields:
    """A team of one lead and many others."""
    data = team()
    lead, other = data["instances"]
    data["instances"] = [lead, *({**other, "instance_id": f"i-{number}"} for number in range(count - 1))]
    lead["children_count"] = count - 1
    data["total_instances"] = count
    tokens = lead["tokens_used"] + (count - 1) * other["tokens_used"]
    data["execution_summary"] |= {
        "total_instances": count,
        "completed_instances": count,
        "total_tokens": tokens,
        "total_cost": count * 0.25,
        "average_tokens_per_instance": tokens / count,
    }
    return data


def newer_minor_team() -> Fields:
    return team() | {"version": "2.7.0"}


def rich_team() -> Fields:
    """A team document of 2.0.0 with fields that 1.0.0 has no room for, one on each level."""
    data = team() | {"version": "2.0.0", "labels": {"project": "docs"}}
    data["instances"][1] |= {"token_source": "reported"}
    data["execution_summary"]["known_cost"] = 0.5
    return data


def instance() -> Fields:
    return {
        "version": "1.0.0",
        "instance_id": "writer",
        "name": "writer",
        "role": "tech_writer",
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "created_at": "2025-11-06T14:05:00Z",
        "terminated_at": "2025-11-06T14:28:00Z",
        "parent_instance_id": "lead",
        "children_instance_ids": [],
        "workspace": {"path": "ws", "files_count": 1, "total_size_bytes": 3, "file_types": {".md": 1}},
        "output": {"file": "output.log", "lines": 1, "size_bytes": 3},
        "error": None,
        "environment": {"timezone": "UTC", "language": "en_US"},
    }


def member_document(name: str) -> Fields:
    """The document of one of the team's instances that agrees with the team document, without any files."""
    (entry,) = (one for one in team()["instances"] if one["instance_id"] == name)
    left = {key: value for key, value in entry.items() if key not in {"children_count", "error_message"}}
    return {"version": "1.0.0", **left, "children_instance_ids": ["writer"] if name == "lead" else []}


def manifest() -> Fields:
    return {
        "version": "1.0.0",
        "team_session_id": "docs-team-001",
        "timestamp": "2025-11-06T14:32:45Z",
        "instances_index": [
            {
                **{key: one[key] for key in ("instance_id", "name", "role", "status", "tokens_used", "cost")},
                "metadata_file": f"instances/{one['instance_id']}/metadata.json",
            }
            for one in team()["instances"]
        ],
        "summary": {"total_instances": 2, "completed": 2, "failed": 0, "total_cost": 0.5},
    }


def archive_index() -> Fields:
    return {"archived_sessions": [], "archived_runs": []}


def generation() -> Fields:
    return {
        "metadata_version": "1.0",
        "generation": {
            "experiment_id": "exp-abc123",
            "run_id": "run-def456",
            "timestamp_start": "2025-12-14T10:30:00Z",
            "timestamp_end": "2025-12-14T10:32:15Z",
            "duration_seconds": 135,
        },
        "configuration": {"model": "claude-sonnet-4-5", "provider": "anthropic", "persona_count": 3},
        "data_sources": {"files": [{"path": "in/a.md", "bytes": 812, "tokens": 203}], "total_tokens": 203},
        "environment": {
            "runcard_version": "0.1.0",
            "python_version": "3.12.0",
            "platform": "linux",
            "timezone": "UTC",
        },
        "costs": {"input_tokens": 203, "output_tokens": 10, "total_cost_usd": 0.42},
        "checksums": {"config": None, "data": None, "output": None},
    }


def flat() -> Fields:
    """The unversioned shape of a generation document."""
    return {
        "generated_at": "2024-05-01T10:00:00",
        "provider": "anthropic",
        "model": "claude-3",
        "persona_count": 3,
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "source_files": ["a.md"],
    }


def flat_0_1_0() -> Fields:
    return {
        "version": "0.1.0",
        "timestamp": "2024-05-01T10:00:00",
        "experiment": "personas",
        "provider": "anthropic",
        "model": "claude-3",
        "input_files": ["a.md"],
        "input_tokens": 10,
        "output_tokens": 5,
        "total_cost": 0.1,
        "generation_parameters": {"temperature": 1},
    }


VALID = {
    "archive-index": archive_index,
    "generation": generation,
    "instance": instance,
    "manifest": manifest,
    "team": team,
}


def written(data: object) -> bytes:
    """A document as people write it, with a newline at its end."""
    return json.dumps(data, indent=2, ensure_ascii=False).encode() + b"\n"
