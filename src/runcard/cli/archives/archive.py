"""runcard archive"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from runcard.cli import declare
from runcard.cli.printing import complain_of_settings, say, say_done
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runcard.cli.batch import Batch
    from runcard.operations.archives.archive import Archived, ArchivePreview


@declare.command("archive")
@declare.argument("records", nargs=-1, metavar="[RECORD]...", type="RECORD")
@declare.option(
    "--older-than", type="AGE", help="Archive closed records whose work ended this long ago: 30d, 12h, 2w."
)
@declare.option(
    "--to",
    metavar="DIR|URL",
    type="PATH",
    help="Folder for the archives, or its URL in object storage, such as s3://BUCKET/FOLDER. Default: `archive` in the store.",
)
@declare.option("--force", is_flag=True, help="Also archive records that fail verification.")
@declare.dry_run_option
@declare.outputs_option
@declare.artifacts_option
@declare.progress_option
@declare.json_option
def command(
    records: tuple[str, ...],
    older_than: timedelta | None,
    outputs: str | None,
    artifacts: str | None,
    dry_run: bool,
    shows_progress: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - as click has them
) -> int:
    """Pack closed runs and sessions into archives, and remove their directories.

    Name each RECORD by its path, its id, a prefix of its id, its name, or as @latest (@latest~1 is the one before); or
    select them by --older-than. Each becomes a .tar.gz file that `tar` can read. The file is read back and compared
    with the record before the directory is removed. `runcard restore` puts a record back.

    --dry-run verifies the records and lists what would be archived, with the unpacked sizes.

    Exit codes: 0 archived, 1 a record was not archived, 2 warnings; the same with --dry-run.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.cli.progress import ByteProgress  # noqa: PLC0415
    from runcard.operations.archives.archive import archive, old_records, preview_archive  # noqa: PLC0415
    from runcard.operations.checks.measure import measure  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings  # noqa: PLC0415
    from runcard.store.remote.urls import check_target  # noqa: PLC0415

    settings = read_settings({OUTPUTS: outputs, ARTIFACTS_DIR: artifacts})
    if bool(records) == (older_than is not None):
        raise UsageError(
            "name records, or pass --older-than", hint="for example: runcard archive --older-than 30d"
        )
    if records and (outputs or artifacts):
        raise UsageError(
            "--outputs and --artifacts only go with --older-than",
            hint=f"name records of another store by their path: {outputs or artifacts}/{records[0]}",
        )
    check_target(options["to"])
    stores = [settings[OUTPUTS], settings[ARTIFACTS_DIR]]
    chosen = list(records if older_than is None else old_records(stores, older_than, settings.limits))
    bar = ByteProgress(lambda: measure(chosen), passes=1 if dry_run else 2, everywhere=shows_progress)
    json_list = "candidates" if dry_run else "archived"
    batch = Batch("records", None, as_json=as_json, progress=bar, json_list=json_list, refusal=_refusal)
    options |= {"limits": settings.limits, "progress": bar.advance}
    totals: JsonObject = {}
    if dry_run:
        totals = _preview(batch, chosen, lambda record: preview_archive(record, **options))
    else:
        batch.each(
            chosen, lambda record: archive(record, **options), lambda _, archived: say_done(_line(archived))
        )
    if not chosen:
        batch.done("nothing to archive: no closed record is that old")
    return complain_of_settings(settings, batch.finish(totals=totals))


def _preview(batch: "Batch", records: list[str], preview: "Callable[[str], ArchivePreview]") -> JsonObject:
    """List what would be archived; returns the totals for JSON."""
    new: dict[str, int] = {}  # the sizes of the records to archive, by path

    def look(record: str) -> "ArchivePreview":
        planned = preview(record)
        if planned.is_new:
            new[planned.record_path] = planned.uncompressed_bytes or 0
        return planned

    batch.each(records, look, lambda _, planned: say(_planned_line(planned)))
    total = sum(new.values())
    if records:
        batch.done(f"{len(new):,} to archive, {_size(total)} unpacked" if new else "nothing to archive")
    return {"dry_run": True, "bytes": total, "archived": []}


def _planned_line(planned: "ArchivePreview") -> str:
    if not planned.is_new:
        return f"already archived: {planned.archive_path}"
    return f"{planned.record_path}: {_size(planned.uncompressed_bytes or 0)}, to {planned.archive_path}"


def _refusal(record: str, error: RuncardError) -> JsonObject:
    from runcard.files import printable  # noqa: PLC0415

    return {"record": printable(record), "archive": None, "error": error.message}


def _line(archived: "Archived") -> str:
    if not archived.is_new:
        return f"already archived: {archived.archive_path}"
    packed = _size(archived.bytes)
    if archived.uncompressed_bytes is None:
        return f"{archived.archive_path}: {packed}"
    return f"{archived.archive_path}: {packed} ({_size(archived.uncompressed_bytes)} unpacked)"


def _size(count: int) -> str:
    from runcard.views.formats import byte_size  # noqa: PLC0415

    return byte_size(count)
