"""The two commands on the first screen of the README, as a visitor types them: in a fresh clone, with an empty home."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from new_shell import typed

ROOT = Path(__file__).parents[2]
FIRST_SCREEN = 40  # lines


def commands() -> list[str]:
    screen = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:FIRST_SCREEN])
    return re.findall(r"^make \w+", screen, re.MULTILINE)


def test_they_are_there() -> None:
    assert commands() == ["make demo", "make test"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_they_do_all_the_set_up(tmp_path: Path, home: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    demo, test = commands()
    shown = typed(demo, clone, home)
    assert "intact, complete" in shown
    assert "changed" in shown
    installed = os.listdir(clone / ".venv" / "bin")
    assert "runcard" in installed
    assert "pytest" not in installed  # the demo needs the package alone
    assert re.search(r"[1-9]\d* passed", typed(f"{test} ARGS=tests/store", clone, home))
    assert subprocess.check_output(["git", "status", "--porcelain"], cwd=clone) == b""
