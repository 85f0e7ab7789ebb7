"""runcard restore"""

from runcard.cli import declare
from runcard.cli.printing import say, say_json


@declare.command("restore")
@declare.argument("archive", metavar="ARCHIVE", type="RECORD")
@declare.option(
    "--to", metavar="DIR", type="PATH", help="Restore into this directory. Default: the store of the record."
)
@declare.option(
    "--force", is_flag=True, help="Also restore a record that was changed before it was archived."
)
@declare.progress_option
@declare.json_option
def command(archive: str, to: str | None, force: bool, shows_progress: bool, as_json: bool) -> int:
    """Unpack ARCHIVE into the store of its record, and print the path of the record. The archive is kept.

    ARCHIVE is a .tar.gz file, its URL in object storage, or an archived record by its path, its id, a prefix of its id, its name, or @latest. An
    archive that no store lists needs --to. Everything is checked before it is written; nothing is overwritten. Paths
    and links that lead out of the record are refused.

    Exit codes: 0 restored, 1 not restored.
    """
    from runcard.cli.progress import ByteProgress  # noqa: PLC0415
    from runcard.operations.archives.restore import restore  # noqa: PLC0415
    from runcard.operations.checks.measure import measure  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    bar = ByteProgress(lambda: measure([archive]), passes=2, everywhere=shows_progress)
    limits = read_settings().limits
    (restored,) = bar.over(
        restore(word, to=to, force=force, limits=limits, progress=bar.advance) for word in (archive,)
    )
    if as_json:
        say_json(restored.to_dict())
    else:
        say(restored.record_path)
    return 0
