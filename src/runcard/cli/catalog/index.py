"""runcard index"""

from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, json_option, progress_option
from runcard.cli.printing import complain, say_done, say_json

if TYPE_CHECKING:
    from runcard.catalog.filling import FillResult


@click.command("index")
@click.argument("roots", nargs=-1, metavar="[ROOT]...", type=PATH)
@click.option("--rebuild", is_flag=True, help="Start with an empty catalog.")
@progress_option
@json_option
def command(roots: tuple[str, ...], rebuild: bool, shows_progress: bool, as_json: bool) -> int:
    """Bring the catalog up to date: read every record that changed, in all known stores, or in those at and below ROOT; and the
    test plans of projects.

    Usually you need not run this: questions such as `runcard ls` notice new, changed and deleted records by themselves. It
    finds stores that were made elsewhere, and records that were edited by hand. The catalog is only a cache: it can be
    deleted at any time.

    Exit codes: 0 done, 1 no records and no plans found, 2 a store or a project could not be reached.
    """
    from runcard.cli.progress import ReadProgress  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.catalog.index import index  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    line = ReadProgress(everywhere=shows_progress)
    line.begin()
    results = []
    for result in index(roots, rebuild=rebuild, progress=line.advance):
        line.wipe()
        results.append(result)
        if not as_json and result.is_reachable:
            noun = "plan" if result.are_plans else "record"
            found = counted(result.records, noun)
            say_done(f"{printable(result.store)}: {found}, {result.read:,} read, {result.removed:,} removed")
    missing = [result for result in results if not result.is_reachable]
    if as_json:
        stores = [_entry(result) for result in results if not result.are_plans]
        say_json({"stores": stores, "projects": [_entry(result) for result in results if result.are_plans]})
    for result in missing:
        noun = "plans" if result.are_plans else "records"
        complain("Warning", f"{result.store} cannot be reached: its {noun} are kept as they were")
    return ExitCode.WARNINGS if missing else ExitCode.OK


def _entry(result: "FillResult") -> dict[str, object]:
    return {
        "path": result.store,
        "plans" if result.are_plans else "records": result.records,
        "read": result.read,
        "removed": result.removed,
        "reachable": result.is_reachable,
    }
