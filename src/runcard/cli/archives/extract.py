"""runcard extract"""

from runcard.cli import declare
from runcard.cli.printing import say, say_json


@declare.command("extract")
@declare.argument("archive", metavar="ARCHIVE", type="RECORD")
@declare.argument("paths", nargs=-1, required=True, metavar="PATH...")
@declare.option(
    "--output",
    "-o",
    metavar="DIR",
    type="PATH_OR_DASH",
    default=".",
    help="Directory to write to. Default: the current one.",
)
@declare.json_option
def command(archive: str, paths: tuple[str, ...], output: str, as_json: bool) -> int:
    """Extract the files and folders PATH from ARCHIVE without unpacking the rest, and print their paths.

    ARCHIVE is a .tar.gz file, its URL in object storage, or an archived record by its path, its id, a prefix of its id, its name, or @latest.
    PATH is relative to the record, such as `instances/lead-1/output.log`, and is kept below DIR. Each file is checked
    against the checksums of the record. Nothing is overwritten. `runcard show ARCHIVE` lists the files.

    Exit codes: 0 extracted, 1 not found, or changed since it was archived.
    """
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.archives.extract import extract  # noqa: PLC0415

    written = []
    for path in extract(archive, paths, output):
        written.append(printable(path))
        if not as_json:
            say(path)
    if as_json:
        say_json({"files": written})
    return 0
