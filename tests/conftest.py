"""What all tests may ask for: the command line inside this process, and files with documents in them."""

import gc
import io
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from checks.samples import written
from runcard.cli.main import main

# How long something takes is for bench/ to say. Each run has the same examples; `--hypothesis-profile=explore` tries others.
settings.register_profile("runcard", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("runcard")

pytest_plugins = ["isolation", "measured_processes", "needs", "pytester", "skip_report", "slow_tests"]

gc.disable()  # until all tests are collected: what is there then stays to the end


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


def pytest_configure() -> None:
    """Processes that tests start can be interrupted, also if a script started the tests in the background.

    There, or under `nohup`, signals are ignored, and a process inherits that.
    """
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


class Cli:
    """`runcard` in this process: quick, for everything that does not need a process of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["runcard", *map(str, arguments)])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        code = main()
        out, err = self._capsys.readouterr()
        return Outcome(code, out, err)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(monkeypatch, capsys)


Put = Callable[[str, object], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write bytes, or data as a document, to a file below the temporary folder."""

    def write(name: str, content: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else written(content))
        return path

    return write


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to work in, with no settings but the test's own, and no run around it."""
    for name in list(os.environ):
        if name.startswith(("ARTIFACT", "PRESERVE_", "RUNCARD_", "TRACEPARENT")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def outputs(here: Path) -> Path:
    """A store that does not exist yet."""
    return here / "outputs"
