"""runcard restore"""

import click

from runcard.cli.options import PATH, json_option


@click.command("restore", short_help="Put an archived record back.")
@click.argument("archive", metavar="ARCHIVE", type=PATH)
@click.option("--to", metavar="DIR", type=PATH, help="The directory it goes into; its store unless given.")
@click.option("--force", is_flag=True, help="Restore also a record that was changed before it was archived.")
@json_option
def command(archive: str, to: str | None, force: bool, as_json: bool) -> int:
    """Put the record in ARCHIVE back into its store, and print its path. The archive stays.

    ARCHIVE is a .tar.gz, or the name or id of an archived record. The store is the one that the archive lies in, or the one
    whose ledger has this archive; any other archive needs --to. Everything is checked before anything is written, and
    again while it is; the record has its name only when it is whole. Nothing is ever overwritten, and names, links and
    sizes that lead out or explode are refused.

    Exit codes: 0 restored, 1 not restored.
    """
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.operations.archives.restore import restore  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    progress = Progress("records")
    limits = read_settings().limits
    (restored,) = progress.over(
        restore(one, to=to, force=force, limits=limits, progress=progress.files) for one in (archive,)
    )
    if as_json:
        say_json(restored.to_dict())
    else:
        say(str(restored.path))
    return 0
