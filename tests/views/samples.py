"""Documents of runs to be looked at."""

from typing import Any

Fields = dict[str, Any]


def run(**sections: Any) -> Fields:
    """The document of a closed run; a section that is given takes the place of its own, or adds to it."""
    document: Fields = {
        "generation": {
            "experiment_id": "exp-01jcqz8v3k5m7p9r",
            "experiment_name": "personas",
            "run_id": "run-01jcqz8v4n6q8s0t",
            "status": "completed",
            "timestamp_start": "2026-11-15T10:15:00.123Z",
            "timestamp_end": "2026-11-15T10:17:15.456Z",
            "duration_seconds": 135.333,
            "command": ["python", "generate.py", "--name", "Ada L."],
            "exit_code": 0,
            "labels": {"team": "ux"},
            "estimated": [],
        },
        "configuration": {
            "model": "claude-sonnet-4-5-20250929",
            "provider": "anthropic",
            "persona_count": 3,
            "strict": True,
            "seed": None,
            "steps": ["read", "write"],
        },
        "data_sources": {
            "files": [
                {"path": "in/a.md", "bytes": 812, "sha256": "ab" * 32, "tokens": 203},
                {"path": "in/b.md", "bytes": None, "sha256": "ab" * 32},
            ]
        },
        "environment": {
            "runcard_version": "0.1.0",
            "python_version": "3.12.0",
            "platform": "linux",
            "timezone": "Europe/Berlin",
            "git": {"commit": "4be1c0ffee0ddba11ad0be5eed5ca1ab1e0ff1ce", "branch": "main", "dirty": True},
            "packages": {"anthropic": "0.80.0", "httpx": "0.28.1"},
        },
        "costs": {
            "input_tokens": 45230,
            "output_tokens": 8750,
            "cache_read_tokens": 1200,
            "cache_write_tokens": 300,
            "total_cost_usd": 0.26694,
            "cost_source": "priced",
            "token_source": "reported",
        },
        "token_usage": {
            "breakdown_by_step": [
                {"step": "extract", "input": 30230, "output": 1750, "cost_usd": 0.1},
                {"step": None, "input": 15000, "output": 7000, "cost_usd": 0.16694},
            ],
            "breakdown_by_model": [
                {
                    "model": "claude-sonnet-4-5-20250929",
                    "calls": 3,
                    "input": 45230,
                    "output": 8750,
                    "cost_usd": 0.26694,
                }
            ],
        },
        "performance": {
            "calls": 3,
            "latency_seconds": {"mean": 1.8, "p50": 1.2, "p95": 3.1, "max": 3.1},
            "time_to_first_token_seconds": {"mean": 0.4, "p50": 0.4, "p95": 0.4, "max": 0.4},
        },
        "relations": [{"type": "parent", "id": "run-01jcqz8v00000000"}],
        "errors": [],
        "warnings": [
            {"type": "input", "message": "no file matches in/c.md", "timestamp": "2026-11-15T10:15:00Z"}
        ],
    }
    for name, section in sections.items():
        old = document.get(name)
        document[name] = old | section if isinstance(old, dict) and isinstance(section, dict) else section
    return document
