"""runcard export"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, RECORD, json_option, output_option
from runcard.cli.printing import complain, say, say_json


@click.command("export")
@click.argument("run", metavar="RUN", type=RECORD)
@click.option(
    "--to", "form", type=click.Choice(["bundle"]), default="bundle", help="Format. Default: bundle."
)
@output_option("FILE", "New file to write. Default: RUN.tar.gz in the current directory.")
@click.option(
    "--with",
    "including",
    metavar="PATH",
    type=PATH,
    multiple=True,
    help="Also pack this file or folder, if the run names it. Repeatable.",
)
@json_option
def command(run: str, form: str, output: str | None, including: tuple[str, ...], as_json: bool) -> int:
    """Pack RUN into a bundle that others can run again, and print its path.

    RUN is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).

    A bundle is a .tar.gz file with the run, its inputs and the programs that its command names. Call this command from
    the directory in which the run was recorded.

    Left out, with a warning: inputs that changed or are gone, inputs outside the current directory, and the programs
    of a run that you did not record on this machine. --with packs the latter two.

    Exit codes: 0 packed, 1 the run fails verification, 2 packed with warnings.
    """
    from runcard.operations.runs.export_bundle import export_bundle  # noqa: PLC0415

    path, warnings = export_bundle(run, output, including=including)
    if as_json:
        say_json({"path": path, "form": form, "warnings": warnings})
    else:
        say(path)
    for warning in warnings:
        complain("Warning", warning)
    return ExitCode.WARNINGS if warnings else ExitCode.OK
