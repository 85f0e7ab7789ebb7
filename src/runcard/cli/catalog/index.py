"""runcard index"""

from typing import TYPE_CHECKING

import click

from runcard.cli.cluster_options import cluster_options
from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, json_option, progress_option
from runcard.cli.printing import complain, say_done, say_json

if TYPE_CHECKING:
    from runcard.catalog.filling import FillResult
    from runcard.operations.catalog.watch_index import IndexEvent


@click.command("index")
@click.argument("roots", nargs=-1, metavar="[ROOT]...", type=PATH)
@click.option("--rebuild", is_flag=True, help="Start with an empty catalog.")
@click.option(
    "--watch",
    is_flag=True,
    help="Stay, and read what changes until Ctrl-C; with --json, a line for each change.",
)
@progress_option
@json_option
@cluster_options
def command(roots: tuple[str, ...], rebuild: bool, watch: bool, shows_progress: bool, as_json: bool) -> int:
    """Bring the catalog up to date: read every record that changed, in all known stores, or in those at and below ROOT; and the
    test plans of projects.

    ROOT can be the URL of a folder of archives in object storage, such as s3://BUCKET/FOLDER.

    Usually you need not run this: questions such as `runcard ls` notice new, changed and deleted records by themselves. It
    finds stores that were made elsewhere, and records that were edited by hand. The catalog is only a cache: it can be
    deleted at any time.

    With --watch it stays, looks every two seconds and prints what changed. Ctrl-C or SIGTERM ends it, with exit code 0.

    Exit codes: 0 done, 1 no records and no plans found, 2 a store or a project could not be reached.
    """
    from runcard.cli.progress import ReadProgress  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.catalog.index import index  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    if watch:
        return _watch(roots, rebuild=rebuild, as_json=as_json)
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


def _watch(roots: tuple[str, ...], *, rebuild: bool, as_json: bool) -> int:
    """Until Ctrl-C or SIGTERM, which both end it well: a catalog that is half filled is filled on the next time."""
    import signal  # noqa: PLC0415

    from runcard.operations.catalog.index import index  # noqa: PLC0415
    from runcard.operations.catalog.watch_index import IndexEvent, watch_index  # noqa: PLC0415

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        if rebuild:
            for result in index(roots, rebuild=True):
                _print_event(IndexEvent(result), as_json=as_json)
        for event in watch_index(roots):
            _print_event(event, as_json=as_json)
    except KeyboardInterrupt:
        pass
    return ExitCode.OK


def _print_event(event: "IndexEvent", *, as_json: bool) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415

    from runcard.documents.times import format_time_ms  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    now = datetime.now(UTC)
    if as_json:
        say_json({"time": format_time_ms(now), **event.to_dict()}, on_one_line=True)
        return
    result = event.result
    if result is None:
        complain("Warning", event.problem or "")
        return
    noun = "plan" if result.are_plans else "record"
    found = f"{counted(result.records, noun)}, {result.read:,} read, {result.removed:,} removed"
    state = found if result.is_reachable else f"cannot be reached: its {noun}s are kept as they were"
    say_done(f"{now.astimezone():%H:%M:%S} {result.store}: {state}")


def _entry(result: "FillResult") -> dict[str, object]:
    return {
        "path": result.store,
        "plans" if result.are_plans else "records": result.records,
        "read": result.read,
        "removed": result.removed,
        "reachable": result.is_reachable,
    }
