"""A server, and runs to be looked at."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from observe.clients.clients import close_all
from observe.clients.server import ModelServer, serving


@pytest.fixture(scope="session")
def one_server() -> Iterator[ModelServer]:
    with serving() as found:
        yield found
        close_all()


@pytest.fixture
def server(one_server: ModelServer) -> ModelServer:
    one_server.asked.clear()
    return one_server


@pytest.fixture
def run(outputs: Path) -> Iterator[runcard.Run]:
    """A run that is open during the test."""
    with runcard.record(outputs, strict=True) as found:
        yield found


def events(run: runcard.Run) -> list[dict[str, Any]]:
    """The events so far; a thread of the run may be writing one."""
    lines, _, _ = (run.path / "experiment.jsonl").read_text().rpartition("\n")
    return [json.loads(line) for line in lines.splitlines()]


def calls(run: runcard.Run) -> list[dict[str, Any]]:
    """What the run says of calls of models, so far."""
    return [line["payload"] for line in events(run) if line["event"] == "model.called"]
