"""FIFOs and devices where a file is expected: no command waits for them or reads without end."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attacks.archive_parts import MEMORY, foreign_archive
from attacks.command_server import SECONDS, runcard

Swap = Callable[[Path], None]


def fifo(path: Path) -> None:
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.fixture
def silent() -> Iterator[Callable[[Path], None]]:
    """Makes a FIFO that somebody holds open and never writes to: reading it would wait for ever."""
    held: list[int] = []

    def make(path: Path) -> None:
        os.mkfifo(path)
        held.append(os.open(path, os.O_RDWR))

    yield make
    for descriptor in held:
        os.close(descriptor)


@pytest.fixture(params=["FIFO", "FIFO with a silent writer", "endless device"])
def swap(request: pytest.FixtureRequest, silent: Swap) -> Swap:
    swaps: dict[str, Swap] = {"FIFO": fifo, "FIFO with a silent writer": silent, "endless device": zeros}
    return swaps[request.param]


def assert_ends(done: subprocess.CompletedProcess[str]) -> None:
    """It ended in time, and said what it had to say in plain words."""
    assert done.returncode in {0, 1, 2}, done.stderr
    assert "Traceback" not in done.stderr


ON_ARCHIVES = [
    ("verify", "x.tar.gz"),
    ("restore", "x.tar.gz", "--to", "there"),
    ("extract", "x.tar.gz", "a.txt"),
    ("show", "x.tar.gz"),
    ("log", "x.tar.gz"),
    ("import-bundle", "x.tar.gz", "there"),
]


@pytest.mark.parametrize("command", ON_ARCHIVES, ids=lambda command: command[0])
def test_in_the_place_of_an_archive(tmp_path: Path, swap: Swap, command: tuple[str, ...]) -> None:
    swap(tmp_path / "x.tar.gz")
    done = runcard(tmp_path, *command, memory=MEMORY)
    assert_ends(done)
    assert done.returncode == 1
    assert (done.stdout if command[0] == "verify" else done.stderr).startswith("Error: ")
    assert os.listdir(tmp_path) == ["x.tar.gz"]


@pytest.mark.parametrize("place", ["archive_index.json", "2026-11/r.metadata.json", "2026-11/r.index.json"])
def test_beside_an_archive(tmp_path: Path, swap: Swap, place: str) -> None:
    folder = tmp_path / "archive"
    (folder / "2026-11").mkdir(parents=True)
    run = recorded(tmp_path)
    foreign_archive(run, folder / "2026-11" / "r.tar.gz")
    swap(folder / place)
    for command in ("verify", "show"):
        assert_ends(runcard(tmp_path, command, folder / "2026-11" / "r.tar.gz", memory=MEMORY))
    assert_ends(runcard(tmp_path, "verify", folder, memory=MEMORY))


def recorded(folder: Path, *options: str) -> Path:
    done = runcard(folder, "run", "--quiet", *options, "--", "sh", "-c", 'echo hi > "$RUNCARD_RUN_DIR/a.txt"')
    assert done.returncode == 0, done.stderr
    [run] = (path for path in (folder / "outputs").iterdir() if not path.name.startswith("."))
    return run


@pytest.mark.parametrize("way", ["setting", "variable", "file of the user"])
def test_in_the_place_of_the_price_file(tmp_path: Path, swap: Swap, way: str) -> None:
    swap(tmp_path / "prices.json")
    if way == "setting":
        (tmp_path / "runcard.toml").write_text('prices = "prices.json"\n')
    variables = {"RUNCARD_PRICES": "prices.json"} if way == "variable" else {}
    program = "import runcard\nwith runcard.record('outputs', model='m', provider='p') as run:\n    run.add_usage({'input_tokens': 1})\n"
    if way == "file of the user":
        program = "from runcard.accounting.prices import Prices\nPrices.with_file('prices.json')\n"
    own = {name: value for name, value in os.environ.items() if not name.startswith("RUNCARD_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=own | variables,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == (1 if way == "file of the user" else 0), done.stderr


@pytest.mark.parametrize("name", ["runcard.toml", "pyproject.toml"])
def test_in_the_place_of_the_settings(tmp_path: Path, swap: Swap, name: str) -> None:
    swap(tmp_path / name)
    assert_ends(runcard(tmp_path, "config", memory=MEMORY))


@pytest.mark.parametrize(
    "name",
    [
        "metadata.json",
        "SHA256SUMS",
        "a.txt",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("experiment.jsonl", "amendments.jsonl", "output.log", "README.md")
        ),
    ],
)
def test_in_a_record(tmp_path: Path, swap: Swap, name: str) -> None:
    run = recorded(tmp_path)
    (run / name).unlink(missing_ok=True)
    swap(run / name)
    for command in (
        ("verify",),
        ("show",),
        ("log",),
        ("archive",),
        ("export", "--to", "bundle"),
        ("rerun", "--dry-run"),
    ):
        done = runcard(tmp_path, *command, run, memory=MEMORY)
        assert_ends(done) if command[0] != "rerun" else None
        assert "Traceback" not in done.stderr
        if not run.exists():
            return  # archived: what is no file is left out, and named


@pytest.mark.parametrize("name", ["outputs", "outputs/.runcard", "outputs/.runcard/open", "outputs/archive"])
def test_in_the_place_of_a_directory(tmp_path: Path, swap: Swap, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    swap(tmp_path / name)
    for command in (("verify", "outputs"), ("archive", "--older-than", "1d"), ("close", "outputs/x")):
        done = runcard(tmp_path, *command, memory=MEMORY)
        assert "Traceback" not in done.stderr


def test_among_the_inputs_and_lock_files(tmp_path: Path, swap: Swap) -> None:
    (tmp_path / "in").mkdir()
    for name in ("in/a.md", "uv.lock", "evil.egg-info"):
        swap(tmp_path / name)
    done = runcard(tmp_path, "run", "--input", "in/*.md", "--", "true", memory=2 * MEMORY)
    assert done.returncode in {0, 2, 125}
    assert "Traceback" not in done.stderr


def test_in_an_experiment(tmp_path: Path, swap: Swap) -> None:
    (tmp_path / "experiments/x").mkdir(parents=True)
    swap(tmp_path / "experiments/x/config.yaml")
    for command in (
        ("run", "--experiment", "x", "--", "true"),
        ("experiment", "show", "x"),
        ("experiment", "list"),
    ):
        assert "Traceback" not in runcard(tmp_path, *command, memory=2 * MEMORY).stderr


def test_in_a_plan_and_its_source(tmp_path: Path, swap: Swap) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "Gemfile").write_text("")
    swap(tmp_path / "app/a.rb")
    for command in ("status", "validate", "path"):
        assert "Traceback" not in runcard(tmp_path, "plan", command, "app/a.rb", memory=MEMORY).stderr


@pytest.mark.parametrize(
    "command",
    [("validate",), ("collect",), ("run", "--quiet", "--config"), ("plan", "validate")],
    ids=lambda c: c[0],
)
def test_a_named_fifo_that_nobody_writes_to(tmp_path: Path, command: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "x.yaml")
    more = ("--", "true") if command[0] == "run" else ()
    done = runcard(tmp_path, *command, "x.yaml", *more)
    assert "Traceback" not in done.stderr


def test_the_output_of_a_command_can_still_be_named(tmp_path: Path) -> None:
    """A pipe that the user gives on the command line is read to its end."""
    run = recorded(tmp_path)
    script = 'exec "$@" <(cat "$DOCUMENT")'
    own = os.environ | {"DOCUMENT": str(run / "metadata.json")}
    done = subprocess.run(
        ["bash", "-c", script, "bash", sys.executable, "-m", "runcard", "validate"],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
