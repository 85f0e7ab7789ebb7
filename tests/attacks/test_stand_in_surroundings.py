"""The stand-in of a program in hostile surroundings: it runs the program that the user's own PATH names, and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest

from runcard.observe.meter.program_folder import ProgramFolder

MODULES = ("runcard", "json", "os", "signal", "errno", "sitecustomize", "usercustomize")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of stand-ins, without what the meter tells them."""
    path = tmp_path / "runcard-programs-test"
    path.mkdir(mode=0o700)
    ProgramFolder(str(path)).write_stand_ins(["claude"])
    return path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "claude"
    path.parent.mkdir()
    path.write_text('#!/bin/sh\necho "the program $*"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A directory with modules and a program that are not to be run."""
    path = tmp_path / "hostile"
    path.mkdir()
    for name in MODULES:
        (path / f"{name}.py").write_text("print('a hostile module')\n")
    (path / "claude").write_text("#!/bin/sh\necho a hostile program\n")
    (path / "claude").chmod(0o755)
    return path


def run(
    folder: Path, *places: Path, cwd: Path, environment: dict[str, str] | None = None
) -> tuple[int, str, str]:
    path = os.pathsep.join(map(str, (folder, *places, "/usr/bin", "/bin")))
    variables = {"PATH": path, "HOME": str(cwd), **(environment or {})}
    done = subprocess.run(
        [folder / "claude", "-p", "hello"],
        env=variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


OWN = (0, "the program -p hello\n", "")


def test_variables_of_python_and_modules_beside_it_are_not_used(
    folder: Path, program: Path, hostile: Path
) -> None:
    names = ("PYTHONPATH", "PYTHONUSERBASE", "PYTHONHOME")
    variables = {name: str(hostile) for name in names} | {"PYTHONINSPECT": "1"}
    assert run(folder, program.parent, cwd=hostile, environment=variables) == OWN


@pytest.mark.parametrize("depth", ["²", "9" * 5000, "-1", "", "x"])
def test_the_program_runs_whatever_is_said_to_have_run_before(
    folder: Path, program: Path, hostile: Path, depth: str
) -> None:
    variables = {"RUNCARD_PROGRAM": f"1:{depth}:{program}"}
    assert run(folder, program.parent, cwd=hostile, environment=variables) == OWN


def test_links_to_a_stand_in_do_not_make_it_run_itself(folder: Path, hostile: Path, tmp_path: Path) -> None:
    places = tmp_path / "folder", tmp_path / "file"
    places[0].symlink_to(folder)
    places[1].mkdir()
    (places[1] / "claude").symlink_to(folder / "claude")
    assert run(folder, *places, cwd=hostile) == (127, "", "claude: command not found\n")
