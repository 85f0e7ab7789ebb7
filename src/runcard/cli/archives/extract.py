"""runcard extract"""

import click

from runcard.cli.options import PATH, json_option, output_option


@click.command("extract", short_help="Take files out of an archive.")
@click.argument("archive", metavar="ARCHIVE", type=PATH)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@output_option("DIR", "The directory they go below; this one unless given.", default=".")
@json_option
def command(archive: str, paths: tuple[str, ...], output: str, as_json: bool) -> int:
    """Write the files and folders at PATH in the archived record, without unpacking the rest, and print their paths.

    ARCHIVE is a .tar.gz, or the name or id of an archived record. PATH is relative to the record, as in
    `instances/lead-1/output.log`, and stays so below DIR. Each file is compared with the record's list of checksums.
    Nothing is overwritten.

    Exit codes: 0 written, 1 not there, or not what was archived.
    """
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
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
