"""Runs to be looked at, made once and copied."""

import json
import shutil
from pathlib import Path
from typing import Any

import runcard
from runcard.operations.checks.verify import summary, verify

USAGE = {
    "id": "msg_01",
    "type": "message",
    "model": "claude-sonnet-4-5-20250929",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 45230, "output_tokens": 8750},
}


def record_one(outputs: Path, **settings: Any) -> Path:
    """Record a run with inputs, outputs, a link and model calls; its directory."""
    source = outputs.parent / "interviews"
    source.mkdir(exist_ok=True)
    (source / "a.md").write_text("Q: How are you?\n")
    arguments: dict[str, Any] = {
        "model": "claude-sonnet-4-5-20250929",
        "provider": "anthropic",
        "config": {"persona_count": 3},
        "inputs": [str(source / "*.md")],
        "experiment": "personas",
        "strict": True,
    }
    with runcard.record(outputs, **(arguments | settings)) as run:
        run.add_usage(USAGE, step="generate", prompt="Make three personas.")
        (run.path / "personas").mkdir()
        (run.path / "personas" / "1.json").write_text('{"name": "Ada"}\n')
        (run.path / "notes.txt").write_text("two\nlines\n")
        (run.path / "latest").symlink_to("personas")
    return run.path


def read(run: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((run / "metadata.json").read_bytes())
    return document


def copy_store(store: Path, target: Path) -> Path:
    shutil.copytree(store, target, symlinks=True)
    return target


def verdict(*paths: Path) -> dict[str, Any]:
    return summary(list(verify(*paths)))


def kinds(said: dict[str, Any]) -> set[tuple[str, str]]:
    return {(found["kind"], found["path"]) for found in said["findings"]}


def complaints(report: str) -> list[str]:
    """The lines of the report of `runcard verify` that name an error, a warning or a finding."""
    return [line for line in report.splitlines() if line.startswith(("Error: ", "Warning: ", "  "))]
