"""runcard experiment delete"""

from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import json_option, yes_option
from runcard.cli.printing import say_done, say_json

if TYPE_CHECKING:
    from runcard.operations.experiments.delete import ExperimentContents


@click.command("delete")
@click.argument("name", metavar="NAME")
@yes_option
@json_option
def command(name: str, yes: bool, as_json: bool) -> int:
    """Permanently delete experiments/NAME and everything in it, including its runs.

    The ledger in experiments/.runcard keeps an entry for the experiment and for each run. Nothing is deleted while a
    run is still running. To finish an interrupted deletion, run the command again. Links are removed, their targets are
    kept.

    Exit codes: 0 deleted, 1 not deleted, 64 confirmation needed: pass --yes.
    """
    from runcard.operations.experiments.delete import delete_experiment, examine  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    doomed = examine(name)
    if doomed is not None and not yes and not _is_agreed(doomed):
        return ExitCode.FAILED
    deleted = delete_experiment(name)
    if as_json:
        say_json({"name": deleted.name, "deleted": True, "runs": deleted.runs})
    else:
        say_done(
            f"deleted {deleted.name} and its {counted(deleted.runs, 'run')}"
            if deleted.runs
            else f"deleted {name}"
        )
    return ExitCode.OK


def _is_agreed(doomed: "ExperimentContents") -> bool:
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415
    from runcard.views.formats import byte_size, counted  # noqa: PLC0415

    contents = f"{counted(doomed.runs, 'run')}, {counted(doomed.files, 'file')}, {byte_size(doomed.bytes)}"
    return is_agreed(f"Permanently delete {doomed.path} ({contents})?", otherwise="nothing was deleted")
