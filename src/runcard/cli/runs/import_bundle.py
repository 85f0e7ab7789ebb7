"""runcard import-bundle"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, Size, json_option
from runcard.cli.printing import complain, say, say_json


@click.command("import-bundle")
@click.argument("bundle", metavar="BUNDLE", type=PATH)
@click.argument("folder", metavar="[FOLDER]", required=False, type=PATH)
@click.option("--max-size", type=Size(), help="Refuse a larger bundle. Default: 10 GiB.")
@click.option(
    "--max-files",
    type=click.IntRange(min=1),
    metavar="N",
    help="Refuse more files. Default: 100,000.",
)
@json_option
def command(
    bundle: str, folder: str | None, max_size: int | None, max_files: int | None, as_json: bool
) -> int:
    """Unpack BUNDLE into a new FOLDER, and print the path of the run. FOLDER is named like the run by default.

    Everything is checked before it is written: the run and its inputs must be unchanged, no path or link may lead out
    of FOLDER, and files that configure other programs, such as .git or .envrc, are refused. Nothing is overwritten. To
    run it again: `cd FOLDER` and `runcard rerun @latest`.

    Exit codes: 0 unpacked, 1 refused, 2 unpacked with warnings.
    """
    from runcard.operations.runs.import_bundle import import_bundle  # noqa: PLC0415
    from runcard.store.archives.bundles.result import MAX_FILES, MAX_SIZE  # noqa: PLC0415

    path, remarks = import_bundle(
        bundle, folder, max_size=max_size or MAX_SIZE, max_files=max_files or MAX_FILES
    )
    if as_json:
        say_json({"path": path, "warnings": remarks})
    else:
        say(path)
    for remark in remarks:
        complain("Warning", remark)
    return ExitCode.WARNINGS if remarks else ExitCode.OK
