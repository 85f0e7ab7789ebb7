"""runcard close"""

import os
import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH, json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runcard.recording.closing import CloseResult


@click.command("close", short_help="Close runs whose process is gone.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=PATH)
@click.option(
    "--outputs",
    metavar="DIR",
    type=PATH,
    help="The store, when no RUN is named; the setting `outputs` unless given.",
)
@json_option
def command(runs: tuple[str, ...], outputs: str | None, as_json: bool) -> int:
    """Close the runs that were left open when their process died: those named, or all of a store.

    A run whose end nobody saw is marked as interrupted, with its end estimated from the last thing it did. Runs that are
    still at work are left alone.

    Exit codes: 0 done, 1 a run could not be closed, 2 something is to be known: a run is on another host.
    """
    from runcard.cli.printing import complain, complain_of_settings, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode, RuncardError, StoreError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.runs.close import close, find_unclosed_runs  # noqa: PLC0415
    from runcard.settings import OUTPUTS, read_settings  # noqa: PLC0415

    settings = read_settings({OUTPUTS: outputs})
    outputs = settings[OUTPUTS]
    if not runs and not os.path.isdir(outputs):
        raise StoreError(
            f"{printable(outputs)} does not exist", hint="name the store with --outputs, or a RUN"
        )
    code, said, elsewhere = ExitCode.OK, [], []
    for run in runs or find_unclosed_runs(outputs):
        try:
            (closing,) = _closed(close(_directory(run)), run)
        except RuncardError as error:
            code = ExitCode.FAILED
            complain("Error", error.message, hint=error.hint)
            said.append({"path": printable(run), "closed": False, "status": None, "reason": error.message})
            continue
        if not runs and closing.status != "running" and not closing.closed:
            continue  # closed already: nobody asked about it
        said.append(
            {
                "path": printable(closing.path),
                "closed": closing.closed,
                "status": closing.status,
                "reason": closing.reason,
            }
        )
        elsewhere += [closing] if _is_elsewhere(closing) else []
        if not as_json:
            say(f"{closing.path}: {_words(closing)}")
    if as_json:
        say_json({"runs": said})
    elif not said:
        say(f"{outputs}: no run is open")
    sys.stdout.flush()
    for closing in elsewhere:
        complain("Warning", f"{closing.path} is not closed: {closing.reason}")
    code = ExitCode.WARNINGS if elsewhere and code == ExitCode.OK else code
    return code if runs else complain_of_settings(settings, code)


def _directory(run: str) -> str:
    """The directory of a run that is named in any way; also one that has lost its document."""
    from runcard.errors import StoreError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.store.find_record import open_record  # noqa: PLC0415

    if os.path.isdir(run):
        return run
    record = open_record(run)
    if record.is_archived:
        raise StoreError(
            f"{printable(run)} is archived, so it is closed", hint=f"see it: runcard show {printable(run)}"
        )
    return record.path


def _closed(closings: "Iterator[CloseResult]", run: str) -> "Iterator[CloseResult]":
    """What came of closing a run; what the system refused is an error like any other, and the next one has its turn."""
    from runcard.files import failure  # noqa: PLC0415

    try:
        yield from closings
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or run), "close") from error


def _is_elsewhere(closing: "CloseResult") -> bool:
    """Whether nobody can tell from here if a run is still at work."""
    from runcard.errors import RuncardError  # noqa: PLC0415
    from runcard.operations.checks.show import ELSEWHERE, show  # noqa: PLC0415

    if closing.status != "running":
        return False
    try:
        return show(closing.path).remark == ELSEWHERE
    except RuncardError:
        return False


def _words(closing: "CloseResult") -> str:
    if closing.closed:
        return f"closed as {closing.status}"
    return f"{closing.status}, left alone: {closing.reason}"
