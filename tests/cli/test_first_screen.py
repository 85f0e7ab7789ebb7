"""`runcard` alone: what is in this folder, and commands that work as they are printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from acceptance.command import environment
from conftest import Cli
from docs import pretend_claude
from runs.runs import record_one
from sessions.build import make_session
from web.page_server import PageServer

SCRIPT = Path(sys.executable).with_name("runcard")


def typed(folder: Path, command: str, path: str = os.defpath) -> str:
    """What a shell prints for a command; nothing but the system's programs is in its PATH."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment({"PATH": path}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    return done.stdout


def commands(screen: str) -> list[str]:
    return re.findall(r"^  (\S*runcard .*?)  ", screen, re.MULTILINE)


def test_in_an_empty_folder_it_names_the_first_commands_and_they_work(here: Path, home: Path) -> None:
    pretend_claude.write_session(home)
    (here / "a place").mkdir()
    (here / "a place/runcard").symlink_to(SCRIPT)
    screen = typed(here, "'a place'/runcard")
    assert screen.startswith("There are no records here yet. Try:\n")
    printed = re.findall(r"^  ('a place/runcard' .*?)  ", screen, re.MULTILINE)
    words = [shlex.split(command)[1:] for command in printed]
    assert [first for first, *_ in words] == ["demo", "costs", "import", "run", "--help"]
    for command in printed:
        assert typed(here, command)
    assert typed(here, "'a place'/runcard").startswith("The records here:\n")


def test_in_a_folder_with_records_it_counts_them(here: Path, cli: Cli) -> None:
    record_one(here / "outputs")
    archived = record_one(here / "outputs")
    assert cli("archive", archived).code == 0
    make_session(here / "artifacts")
    screen = typed(here, str(SCRIPT))
    assert re.findall(r"^  (outputs|artifacts) +(.*)$", screen, re.MULTILINE) == [
        ("outputs", "1 run, 1 archive"),
        ("artifacts", "1 session"),
    ]
    ls, show, serve, _ = commands(screen)
    assert "completed" in typed(here, ls)
    assert typed(here, show)
    program = shlex.split(serve)
    assert program.pop() == "serve"
    with PageServer(here, program=program) as server:
        assert server.url


def test_the_commands_name_this_runcard(here: Path) -> None:
    by_path, by_name = typed(here, str(SCRIPT)), typed(here, "runcard", f"{SCRIPT.parent}:{os.defpath}")
    assert {command.split()[0] for command in commands(by_path)} == {str(SCRIPT)}
    assert {command.split()[0] for command in commands(by_name)} == {"runcard"}


def test_another_runcard_in_the_path_is_not_meant(here: Path) -> None:
    (here / "runcard").write_text("#!/bin/sh\n")
    (here / "runcard").chmod(0o755)
    screen = typed(here, str(SCRIPT), f"{here}:{os.defpath}")
    assert {command.split()[0] for command in commands(screen)} == {str(SCRIPT)}


def test_started_as_a_module_it_names_the_script_beside_python(here: Path) -> None:
    screen = typed(here, f"{shlex.quote(sys.executable)} -m runcard")
    assert {command.split()[0] for command in commands(screen)} == {str(SCRIPT)}
