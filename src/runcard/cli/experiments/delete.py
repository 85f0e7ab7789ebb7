"""runcard experiment delete"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import json_option, yes_option

if TYPE_CHECKING:
    from runcard.operations.experiments.delete import ExperimentContents


@click.command("delete", short_help="Delete an experiment and its runs.")
@click.argument("name", metavar="NAME")
@yes_option
@json_option
def command(name: str, yes: bool, as_json: bool) -> int:
    """Delete experiments/NAME with everything in it, its runs included, for good.

    A tombstone for the experiment and one for each of its runs stay in experiments/.runcard. A run that is at work stops
    the deletion; one that was killed half-way is finished by calling it again. Links are removed, and what they lead to
    stays.

    Exit codes: 0 deleted, 1 not deleted, 64 without --yes where nobody can be asked.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.experiments.delete import delete, examine  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    doomed = examine(name)
    if doomed is not None and not yes and not _is_agreed(doomed):
        complain("Error", "nothing was deleted")
        return ExitCode.FAILED
    deleted = delete(name)
    if as_json:
        say_json({"name": deleted.name, "deleted": True, "runs": deleted.runs})
    else:
        say(
            f"deleted {deleted.name} and its {counted(deleted.runs, 'run')}"
            if deleted.runs
            else f"deleted {name}"
        )
    return ExitCode.OK


def _is_agreed(doomed: "ExperimentContents") -> bool:
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.views.formats import byte_size, counted  # noqa: PLC0415

    held = f"{counted(doomed.runs, 'run')}, {counted(doomed.files, 'file')}, {byte_size(doomed.bytes)}"
    return is_agreed(f"Delete {doomed.path} for good ({held})?", doing=f"delete {printable(doomed.path)}")
