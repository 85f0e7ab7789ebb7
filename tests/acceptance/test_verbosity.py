"""`-q`, `-v`, progress and colours, with real processes and a real terminal."""

import re
from pathlib import Path

import pytest

from acceptance.command import runcard, runcard_on_terminal
from checks import samples
from cli.commands import EVERY_COMMAND
from conftest import Cli, Put

_BAR = re.compile(r"[█░]{20} +[0-9]+% [0-9.]+ MB of [0-9.]+ MB(, [0-9.]+ [kMG]?B/s)?(, [0-9]+ s left)?$")

# The bar comes at once and its clock runs fast, so that a test sees it without gigabytes.
_LARGE = """
import sys, time
from types import SimpleNamespace
from runcard.parallel import progress as counter
from runcard.cli import progress
counter.PERIOD = progress._PATIENCE = progress._EVERY = 0
progress.time = SimpleNamespace(monotonic=lambda: time.monotonic() * 100)
from runcard.cli.main import main
sys.exit(main())
"""


@pytest.fixture
def run(here: Path) -> Path:
    """A run with 20 MB, in the store of the current directory."""
    (here / "make.py").write_text(
        "import os\nfor number in range(4):\n"
        "    open(os.path.join(os.environ['RUNCARD_RUN_DIR'], f'{number}.bin'), 'wb').write(os.urandom(5_000_000))\n"
    )
    assert runcard("run", "-q", "--", "python3", "make.py", cwd=here).code == 0
    (path,) = here.glob("outputs/2*")
    return path


def _shown(*arguments: str | Path) -> tuple[int, list[str], str]:
    """The exit code, the lines that were shown and wiped, and what is left on the terminal."""
    code, seen = runcard_on_terminal(*arguments, program=_LARGE)
    *shown, rest = seen.split("\r\x1b[K")
    return code, [text for text in shown if text], rest


def test_archive_verify_and_restore_show_a_bar_that_is_gone_at_the_end(run: Path, here: Path) -> None:
    for arguments, printed in (
        (["verify", run], "intact, complete"),
        (["archive", run], ".tar.gz: "),
        (["verify", here / "outputs/archive"], "intact, complete"),
        (["restore", "outputs/" + run.name], run.name),
    ):
        code, shown, rest = _shown(*arguments)
        assert code == 0, rest
        bars = [text for text in shown if _BAR.fullmatch(text)]
        assert bars, (arguments, shown)
        assert any("s left" in text and "/s" in text for text in bars), shown
        assert re.search(r"(9[0-9]|100)%", bars[-1]), bars[-1]
        assert "█" not in rest
        assert printed in rest


def test_quiet_shows_neither_a_bar_nor_success(run: Path) -> None:
    assert _shown("verify", "-q", run) == (0, [], "")
    assert _shown("-q", "archive", run) == (0, [], "")


def test_progress_without_a_terminal_is_shown_on_request(run: Path) -> None:
    assert runcard("verify", run).err == b""
    assert runcard("verify", "--progress", run).messages == "20.0 MB done\n"


def test_quiet_leaves_errors_warnings_and_data(put: Put, run: Path) -> None:
    good, bad = put("good.json", samples.team()), put("bad.json", samples.broken_team())
    assert runcard("-q", "validate", good).out == b""
    assert runcard("validate", "--quiet", good).out == b""
    done = runcard("-q", "validate", good, bad)
    assert (done.code, done.out) == (1, b"")
    assert done.messages.startswith("Error: ")
    assert runcard("-q", "show", run).out == runcard("show", run).out != b""


def test_verbose_shows_how_much_was_read_and_tracebacks(run: Path, tmp_path: Path) -> None:
    done = runcard("verify", "-v", run)
    assert re.search(r"not time-stamped\n  [0-9]+ files, 20\.0 MB\n", done.text)
    assert runcard("-v", "verify", run).text == done.text
    missing = tmp_path / "missing"
    assert "Traceback" not in runcard("show", missing).messages
    done = runcard("show", "-v", missing, with_traceback=True)
    assert done.code == 1
    assert done.messages.startswith("Error: ")
    assert "Traceback (most recent call last):" in done.messages


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_command_takes_quiet_and_verbose(cli: Cli, name: str) -> None:
    listed = cli(*name.split(), "--help").out
    assert re.search(r"^  -q, --quiet ", listed, re.MULTILINE)
    assert re.search(r"^  -v, --verbose ", listed, re.MULTILINE)
    done = cli(*name.split(), "-q", "-v", "x")
    assert done.code == 64
    assert "Traceback" not in done.err


def test_run_takes_quiet_before_and_after_its_name(here: Path) -> None:
    for arguments in (["run", "-q"], ["-q", "run"], ["run", "--quiet"]):
        done = runcard(*arguments, "--", "echo", "hello", cwd=here)
        assert (done.code, done.out, done.err) == (0, b"hello\n", b"")
    assert runcard("run", "-v", "--", "true", cwd=here).messages.startswith("runcard: ")


def test_force_color_colours_a_pipe_unless_no_color_is_set(put: Put) -> None:
    path = put("x.json", samples.broken_team())
    assert runcard("validate", path, env={"FORCE_COLOR": "1"}).err.startswith(
        b"\x1b[31m\x1b[1mError:\x1b[0m "
    )
    assert b"\x1b" not in runcard("validate", path, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).err
