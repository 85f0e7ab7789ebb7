"""runcard plan extract"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import many_options, root_option

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.extract import SpecStructure


@click.command("extract", short_help="Print the structure of spec files.")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...", type=PATH)
@root_option
@many_options("specs", "spec")
def command(specs: tuple[str, ...], root: str | None, batch: "Batch") -> int:
    """Print the structure of each SPEC: its describes, contexts, examples, lets and hooks, with line numbers.

    Exit codes: 0 success, 1 a file is unreadable, 2 a part of a file is unreadable, or it has no examples.
    """
    from runcard.operations.plans.extract import extract  # noqa: PLC0415

    batch.each(specs, lambda spec: extract(spec, root=root), _show)
    return batch.finish()


def _show(path: str, structure: "SpecStructure") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for part in structure.spec.walk():
        indent = "  " * (part.depth - part.is_group)
        say(f"{path}:{part.line}: {indent}{part.word} {part.name}".rstrip())
