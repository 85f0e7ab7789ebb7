"""`make demo` works for somebody who has just cloned the project."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT

TOUR = ROOT / "examples" / "tour.sh"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    return {**plain, "PATH": path, "TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8", "TERM": "xterm"}


def test_the_tour_shows_what_it_promises_and_cleans_up(environment: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", str(TOUR)],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for said in (
        "run.json: valid generation 1.0",
        "[time.order]",
        "[sum.cost]",
        "[digest.config]",
        '"rule": "digest.config"',
        '+  "version": "2.0.0",',
        "team.json: valid team 2.0.0",
        '"$schema": "http://json-schema.org/draft-07/schema#"',
    ):
        assert said in done.stdout
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_tour_is_coloured_on_a_terminal(environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ["bash", str(TOUR)], env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as tour:
        os.close(theirs)
        printed = _read_all(ours)
    os.close(ours)
    assert tour.returncode == 0
    assert b"\x1b[1m$ runcard validate run.json team.json\x1b[0m" in printed


def _read_all(terminal: int) -> bytes:
    parts = []
    try:
        while part := os.read(terminal, 65_536):
            parts.append(part)
    except OSError:  # what Linux says when the other side has gone
        pass
    return b"".join(parts)


def test_the_tour_names_pages_that_exist() -> None:
    ending = TOUR.read_text("utf-8").partition("What to read next")[2]
    named = [line.split()[0] for line in ending.splitlines() if ".md " in line or "/ " in line]
    assert named
    for path in named:
        assert (ROOT / path).exists(), path


def test_the_tour_says_what_to_do_when_runcard_is_not_installed() -> None:
    tools = Path(subprocess.check_output(["sh", "-c", "command -v bash"], encoding="utf-8").strip())
    done = subprocess.run(
        [str(tools), str(TOUR)],
        env={"PATH": "/nonexistent"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error:")
