"""runcard close"""

import os
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH, json_option

if TYPE_CHECKING:
    from runcard.operations.close import Closing


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

    Exit codes: 0 done, 1 a run could not be closed.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode, RuncardError, StoreError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.close import close, dead_runs  # noqa: PLC0415
    from runcard.settings import OUTPUTS, read_settings  # noqa: PLC0415
    from runcard.store.no_record import no_record  # noqa: PLC0415

    outputs = read_settings({OUTPUTS: outputs})[OUTPUTS]
    if not runs and not os.path.isdir(outputs):
        raise StoreError(
            f"{printable(outputs)} does not exist", hint="name the store with --outputs, or a RUN"
        )
    code, said = ExitCode.OK, []
    for run in runs or dead_runs(outputs):
        try:
            if not os.path.exists(run):
                raise no_record(run)
            (closing,) = close(run)
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
        if not as_json:
            say(f"{closing.path}: {_words(closing)}")
    if as_json:
        say_json({"runs": said})
    elif not said:
        say(f"{outputs}: no run is open")
    return code


def _words(closing: "Closing") -> str:
    if closing.closed:
        return f"closed as {closing.status}"
    return f"{closing.status}, left alone: {closing.reason}"
