"""runcard demo"""

import click

from runcard.cli.options import PATH


@click.command("demo")
@click.argument("folder", metavar="[FOLDER]", required=False, type=PATH)
@click.option("--examples", is_flag=True, help="Copy the example documents and programs to FOLDER instead.")
def command(folder: str | None, examples: bool) -> int:
    """Record, show and verify a small run; then change one byte and verify again.

    Works in the new directory FOLDER; by default in the current directory if it is empty, else in runcard-demo. A
    scripted model on this machine answers, so no network and no key is needed. The files are kept for you to explore.

    Exit codes: 0 success, 1 a step failed.
    """
    from runcard.cli.demo.tour import copy_examples, run_tour  # noqa: PLC0415

    return copy_examples(folder) if examples else run_tour(folder)
