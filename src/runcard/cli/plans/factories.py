"""runcard plan factories"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import many_options, root_option

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.factories import FactoryList


@click.command("factories", short_help="List the factories of a project with their traits.")
@click.argument("directories", nargs=-1, metavar="[DIR]...", type=PATH)
@click.option(
    "--all", "in_detail", is_flag=True, help="Also list parents, classes, aliases and other traits."
)
@root_option
@many_options("directories", None)
def command(directories: tuple[str, ...], in_detail: bool, root: str | None, batch: "Batch") -> int:
    """List the factories of the project, or below each DIR, with the file and the traits of each.

    Factories are read from the places that factory_bot uses: spec/factories, test/factories, spec/factories.rb and
    test/factories.rb, of the project and of its engines.

    Exit codes: 0 success, 1 nothing could be read, 2 a part is unreadable, a name is defined twice, or there are no
    factories.
    """
    from runcard.operations.plans.factories import default_path, list_factories  # noqa: PLC0415

    batch.each(
        directories or [default_path(root)],
        lambda directory: list_factories(directory, root=root, in_detail=in_detail),
        lambda _, factory_list: _show(factory_list),
    )
    return batch.finish()


def _show(factory_list: "FactoryList") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    names = max(map(len, factory_list.factories), default=0)
    files = max((len(factory["file"]) for factory in factory_list.factories.values()), default=0)
    shared: list[str] = []
    for name, factory in factory_list.factories.items():
        say(f"{name:<{names}}  {factory['file']:<{files}}  {', '.join(factory['traits'])}".rstrip())
        shared = factory.pop("global_traits", [])
        for key in [key for key in factory if key not in {"file", "traits"} and factory[key]]:
            value = factory[key]
            say(f"  {key.replace('_', ' ')}: {value if isinstance(value, str) else ', '.join(value)}")
    if shared:
        say(f"traits of all factories: {', '.join(shared)}")
