"""runcard run"""

import click

from runcard.cli.options import PATH
from runcard.cli.runs.run_arguments import OPTIONS, Option, carry_out

_ABOUT = """Run COMMAND as if runcard were not there, and record it as a run.

Counts the model calls of COMMAND: models, tokens, cost.

The output of COMMAND is passed on unchanged, and stored without secrets in output.log. COMMAND finds the directory of the
run in RUNCARD_RUN_DIR: files that it writes there are its outputs. It finds its configuration as JSON in the file
RUNCARD_CONFIG. Prints the path of the record to stderr when done.

Exit codes: that of COMMAND; 128+N if signal N killed it, 126 cannot be executed, 127 not found, 125 runcard itself
failed, 64 wrong usage.
"""


def _option(option: Option) -> click.Option:
    names = [*filter(None, (option.short, option.flag)), option.name]
    if option.metavar is None:
        return click.Option(names, is_flag=True, help=option.about)
    kind = PATH if option.metavar in {"DIR", "FILE"} else None
    return click.Option(names, multiple=option.many, metavar=option.metavar, type=kind, help=option.about)


command = click.Command(
    "run",
    callback=carry_out,
    params=[
        click.Argument(
            ["command_line"], nargs=-1, required=True, metavar="[--] COMMAND...", type=click.UNPROCESSED
        ),
        *map(_option, OPTIONS),
    ],
    help=_ABOUT,
    context_settings={"allow_interspersed_args": False},
)
