"""runcard export"""

import click

from runcard.cli.options import PATH, json_option, output_option


@click.command("export", short_help="Pack a run for others.")
@click.argument("run", metavar="RUN", type=PATH)
@click.option("--to", "form", type=click.Choice(["bundle"]), required=True, help="What to make of it.")
@output_option("FILE", "A new file; RUN.tar.gz here unless given.")
@json_option
def command(run: str, form: str, output: str | None, as_json: bool) -> int:
    """Pack RUN for somebody else, and print the path of what was made.

    A bundle is one .tar.gz of the run with its inputs and the files that its command names: enough to run it again
    elsewhere. Call it from the directory in which the run was made.

    Exit codes: 0 done, 1 the run or an input is not what it was.
    """
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
    from runcard.operations.bundle import export_bundle  # noqa: PLC0415

    path = export_bundle(run, output)
    if as_json:
        say_json({"path": path, "form": form})
    else:
        say(path)
    return 0
