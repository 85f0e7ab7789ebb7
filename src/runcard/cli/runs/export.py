"""runcard export"""

import click

from runcard.cli.options import PATH, json_option, output_option


@click.command("export", short_help="Pack a run for others.")
@click.argument("run", metavar="RUN", type=PATH)
@click.option("--to", "form", type=click.Choice(["bundle"]), required=True, help="What to make of it.")
@output_option("FILE", "A new file; RUN.tar.gz here unless given.")
@click.option(
    "--with",
    "including",
    metavar="PATH",
    type=PATH,
    multiple=True,
    help="Also pack this file, or the files below this folder, if the run names them. May be repeated.",
)
@json_option
def command(run: str, form: str, output: str | None, including: tuple[str, ...], as_json: bool) -> int:
    """Pack RUN for somebody else, and print the path of what was made.

    A bundle is one .tar.gz of the run with its inputs and the files that its command names: enough to run it again
    elsewhere. Call it from the directory in which the run was made.

    Left out with a warning: inputs that changed or are gone, inputs outside of the current directory, and, unless you
    recorded the run on this machine, the files that its command names. --with packs the latter two.

    Exit codes: 0 done, 1 the run is not what it was, 2 done with warnings.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.runs.export_bundle import export_bundle  # noqa: PLC0415

    path, warnings = export_bundle(run, output, including=including)
    if as_json:
        say_json({"path": path, "form": form, "warnings": warnings})
    else:
        say(path)
    for warning in warnings:
        complain("Warning", warning)
    return ExitCode.WARNINGS if warnings else ExitCode.OK
