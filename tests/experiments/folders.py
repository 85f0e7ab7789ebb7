"""A directory to work in, and what lies in it."""

import json
from pathlib import Path
from typing import Any

import runcard
from runcard.encoding.yaml import decode_yaml

USAGE = {
    "id": "msg_01",
    "type": "message",
    "model": "claude-sonnet-4-5-20250929",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 100_000, "output_tokens": 10_000},
}


def config_of(name: str) -> Any:
    return decode_yaml(Path("experiments", name, "config.yaml").read_bytes())


def record(name: str, outputs: str | None = None, **settings: Any) -> Path:
    """Record a run of an experiment, with one call of a model; its directory."""
    store = outputs or f"experiments/{name}/outputs"
    with runcard.record(store, experiment=name, provider="anthropic", strict=True, **settings) as run:
        run.add_usage(USAGE | {"model": settings.get("model", USAGE["model"])})
    return run.path


def metadata(run: Path) -> Any:
    return json.loads((run / "metadata.json").read_bytes())


def tombstones() -> list[Any]:
    (ledger,) = Path("experiments/.runcard").glob("ledger-*.jsonl")
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert all(line["event"] == "record.deleted" for line in lines)
    return [line["payload"] for line in lines]
