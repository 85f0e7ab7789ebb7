"""The wheel and the sdist: the same bytes wherever they are built; with each extra alone, its commands work."""

import json
import os
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from new_shell import typed

ROOT = Path(__file__).parents[2]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
CLIENTS = "import anthropic, openai, google.genai, runcard; runcard.watch(anthropic.Anthropic(api_key='x'))"

# What the extra is for, in a folder with one run, and what is printed.
COMMANDS = {
    "web": ("runcard export @latest --to html -o page.html && cat page.html", "<!doctype html>"),
    "mcp": (f"echo {shlex.quote(json.dumps(HELLO))} | runcard mcp", '"serverInfo"'),
    "sign": (
        "runcard keygen --output key.pem && runcard sign @latest --key key.pem && runcard verify outputs",
        "complete, signed",
    ),
    "ruby": ("runcard plan targets a.rb", "initialize"),
    "tokens": ("runcard run -q --input a.rb -- true && runcard show @latest --json", "o200k_base"),
    "arrow": ("runcard export runs --to parquet -o runs.parquet && ls", "runs.parquet"),
    "postgres": ("! RUNCARD_CATALOG=postgresql://127.0.0.1:1/x runcard ls", "does not answer"),
    "s3": ("! AWS_ENDPOINT_URL=http://127.0.0.1:1 runcard archive @latest --to s3://bucket", "cannot"),
    "cluster": ("runcard verify outputs --workers 1", "intact, complete"),
    "sdk": (f'python -c "{CLIENTS}" && echo watched', "watched"),
}

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def build(folder: Path, umask: str) -> Iterator[Path]:
    """The files that `make dist` makes in a new clone; its tools are those of this environment."""
    subprocess.run(["sh", "-c", f'umask {umask}; git clone -q "$0" "$1"', ROOT, folder], check=True)
    tools = f"-o .venv/.ready BIN={shlex.quote(os.path.dirname(sys.executable))}"
    typed(f"umask {umask}; make {tools} dist", folder, folder)
    assert typed("git status --porcelain", folder, folder) == ""
    yield from sorted((folder / "dist").iterdir())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist."""
    wheel, sdist = build(tmp_path_factory.mktemp("built") / "clone", "022")
    return wheel, sdist


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with nothing but pip."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    return tmp_path / "environment"


def test_two_builds_are_the_same_bytes(files: tuple[Path, Path], tmp_path: Path) -> None:
    again = list(build(tmp_path / "a folder elsewhere", "077"))
    assert [path.name for path in again] == [path.name for path in files]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files]


def test_the_wheel_has_the_package_and_nothing_else(files: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(files[0]) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    tracked = typed("git ls-files src/runcard examples", ROOT, ROOT).splitlines()
    assert sorted(names) == sorted(
        str(PurePosixPath("runcard", path) if path[0] == "e" else PurePosixPath(path).relative_to("src"))
        for path in tracked
    )


def test_the_sdist_has_all_that_the_tests_need(files: tuple[Path, Path], tmp_path: Path, home: Path) -> None:
    with tarfile.open(files[1]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    listed = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert set(typed("git ls-files", ROOT, ROOT).splitlines()) - listed == {".ci/run"}
    tests = (
        f"PYTHONPATH=src {shlex.quote(sys.executable)} -m pytest -n 0 tests/documents tests/test_layers.py"
    )
    assert " passed" in typed(f"{tests} -m 'not slow and not long'", folder, home)


def test_the_sdist_can_be_installed(
    files: tuple[Path, Path], environment: Path, tmp_path: Path, home: Path
) -> None:
    typed(f"pip install -q {files[1]}", tmp_path, home, programs=environment / "bin")
    assert "intact, complete" in typed("runcard demo tour", tmp_path, home, programs=environment / "bin")


def test_each_extra_has_its_commands_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(COMMANDS) == set(project["optional-dependencies"]) - {"all"}


@pytest.mark.parametrize("extra", COMMANDS)
def test_with_an_extra_alone_its_commands_work(
    files: tuple[Path, Path], environment: Path, tmp_path: Path, home: Path, extra: str
) -> None:
    (tmp_path / "a.rb").write_text("class A\n  def initialize\n  end\nend\n")
    typed(
        f"pip install -q {files[0]} && runcard run -q -- true", tmp_path, home, programs=environment / "bin"
    )
    command, printed = COMMANDS[extra]
    without = typed(f"({command}) || true", tmp_path, home, programs=environment / "bin")
    typed(f"pip install -q '{files[0]}[{extra}]'", tmp_path, home, programs=environment / "bin")
    answer = typed(command, tmp_path, home, programs=environment / "bin")
    assert printed in answer
    assert printed not in without
    assert "install the extra" not in answer
