"""runcard demo"""

import click

from runcard.cli.options import PATH


@click.command("demo", short_help="A guided first run, without network and keys.")
@click.argument("folder", metavar="[FOLDER]", required=False, type=PATH)
def command(folder: str | None) -> int:
    """Record, show and verify a small generation, and then change one byte of it.

    It works in FOLDER, which is made; without FOLDER in the current directory, if that is empty, or else in runcard-demo
    below it. A scripted model on this machine answers, so that no network and no key is needed. What it makes stays
    there for you to play with.

    Exit codes: 0 all went as it should, 1 it did not.
    """
    from runcard.cli.demo.story import tell  # noqa: PLC0415

    return tell(folder)
