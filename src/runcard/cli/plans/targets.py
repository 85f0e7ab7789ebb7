"""runcard plan targets"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import many_options, root_option

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.targets import TargetList


@click.command("targets", short_help="List the methods in Ruby files.")
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...", type=PATH)
@root_option
@many_options("files", "source")
def command(files: tuple[str, ...], root: str | None, batch: "Batch") -> int:
    """List the methods that each Ruby FILE, or each one below DIR, defines, as Class#method or Class.method.

    Private and protected methods are marked: plan skeleton tests them through the public methods that call them.

    Exit codes: 0 success, 1 a file is unreadable, 2 a part of a file is unreadable.
    """
    from runcard.operations.plans.targets import list_targets, ruby_files  # noqa: PLC0415

    batch.each(list(ruby_files(files)), lambda file: list_targets(file, root=root), _show)
    return batch.finish()


def _show(path: str, target_list: "TargetList") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    targets = target_list.targets.all()
    for target in targets:
        visibility = "" if target.visibility == "public" else f" ({target.visibility})"
        say(f"{path}:{target.line}: {target}{visibility}")
    if not targets:
        say(f"{path}: no methods")
