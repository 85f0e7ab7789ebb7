"""The completion of commands and kinds in a shell."""

import os
import subprocess
import sys

import pytest

from acceptance.command import TIMEOUT, environment, finished, runcard
from conftest import Cli
from runcard.cli.command_groups import COMMANDS
from runcard.documents.kinds import PUBLISHED


@pytest.mark.parametrize(
    "shell", ["bash", *(pytest.param(shell, marks=pytest.mark.needs(shell)) for shell in ("zsh", "fish"))]
)
def test_the_script_is_one_that_the_shell_accepts(cli: Cli, shell: str) -> None:
    done = cli("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert "_RUNCARD_COMPLETE" in done.out
    parsed = finished([shell, "-n"], stdin=done.out.encode(), env=environment())
    assert (parsed.code, parsed.err) == (0, b"")


def test_a_shell_that_is_not_known_is_wrong_usage(cli: Cli) -> None:
    done = cli("completion", "tcsh")
    assert (done.code, done.out) == (64, "")
    assert "'bash', 'zsh', 'fish'" in done.err


def _completed(words: str, number: int) -> list[str]:
    asked = {"_RUNCARD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    done = runcard(env=asked, measured=True)
    assert (done.code, done.err) == (0, b"")
    return [line.removeprefix("plain,") for line in done.text.splitlines()]


def test_the_beginning_of_a_command_is_completed() -> None:
    assert _completed("runcard val", 1) == ["validate"]
    assert _completed("runcard ", 1) == list(COMMANDS)


def test_the_kinds_of_document_are_completed() -> None:
    assert _completed("runcard schema ", 2) == sorted(PUBLISHED)
    assert _completed("runcard schema ma", 2) == ["manifest"]


def test_bash_completes_with_the_script(cli: Cli) -> None:
    script = cli("completion", "bash").out
    asked = 'COMP_WORDS=(runcard migr); COMP_CWORD=1; _runcard_completion runcard; echo "${COMPREPLY[@]}"'
    folder = os.path.dirname(sys.executable)
    env = environment({"PATH": f"{folder}:{os.environ['PATH']}"})
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"],
        capture_output=True,
        text=True,
        env=env,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("migrate\n", "")
