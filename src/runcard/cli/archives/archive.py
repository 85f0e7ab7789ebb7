"""runcard archive"""

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH, Age, artifacts_option, json_option, outputs_option

if TYPE_CHECKING:
    from runcard.operations.archives.archive import Archived


@click.command("archive", short_help="Pack old records into archives.")
@click.argument("records", nargs=-1, metavar="[RECORD]...", type=PATH)
@click.option("--older-than", type=Age(), help="All closed records that began so long ago: 30d, 12h, 2w.")
@click.option(
    "--to", metavar="DIR", type=PATH, help="The folder of archives; `archive` beside the record unless given."
)
@click.option("--force", is_flag=True, help="Archive also what is not what it was when it was closed.")
@outputs_option
@artifacts_option
@json_option
def command(
    records: tuple[str, ...],
    older_than: timedelta | None,
    to: str | None,
    force: bool,
    outputs: str | None,
    artifacts: str | None,
    as_json: bool,
) -> int:
    """Pack closed runs and sessions, those named or those of a certain age, and remove their directories.

    Each becomes a .tar.gz that plain `tar` reads, in the folder `archive` of its store. It is read back, and everything in
    it compared with the record, before the directory goes. `runcard restore` puts a record back.

    Exit codes: 0 archived, 1 a record was not archived, 2 the file of settings has some that do not exist.
    """
    from runcard.cli.printing import complain, complain_of_settings, say, say_json  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.errors import ExitCode, RuncardError, UsageError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.archives.archive import archive, old_records  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings  # noqa: PLC0415

    settings = read_settings({OUTPUTS: outputs, ARTIFACTS_DIR: artifacts})
    if bool(records) == (older_than is not None):
        raise UsageError(
            "name records, or say --older-than", hint="such as: runcard archive --older-than 30d"
        )
    stores = [settings[OUTPUTS], settings[ARTIFACTS_DIR]]
    chosen = records or (old_records(stores, older_than, settings.limits) if older_than is not None else ())
    code, said = ExitCode.OK, []
    progress = Progress("records")
    for record in progress.over(list(chosen)):
        try:
            done = archive(record, to=to, force=force, limits=settings.limits, progress=progress.files)
        except RuncardError as error:
            code = ExitCode.FAILED
            progress.wipe()
            sys.stdout.flush()
            complain("Error", error.message, hint=error.hint)
            said.append({"record": printable(record), "archive": None, "error": error.message})
            continue
        said.append(done.to_dict())
        if not as_json:
            progress.wipe()
            say(_words(done))
    if as_json:
        say_json({"archived": said})
    elif not said:
        say("no record is that old")
    sys.stdout.flush()
    return complain_of_settings(settings, code)


def _words(done: "Archived") -> str:
    from runcard.views.formats import byte_size  # noqa: PLC0415

    whole = "" if done.uncompressed_bytes is None else f"{byte_size(done.uncompressed_bytes)} in "
    return f"{done.archive}: {whole}{byte_size(done.bytes)}"
