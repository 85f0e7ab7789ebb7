"""runcard import-bundle"""

import click

from runcard.cli.options import PATH, Size, json_option


@click.command("import-bundle", short_help="Open a bundle that somebody packed.")
@click.argument("bundle", metavar="BUNDLE", type=PATH)
@click.argument("folder", metavar="[FOLDER]", required=False, type=PATH)
@click.option("--max-size", type=Size(), help="Refuse more than this; 10 GiB unless given.")
@click.option(
    "--max-files",
    type=click.IntRange(min=1),
    metavar="N",
    help="Refuse more files than this; 100,000 unless given.",
)
@json_option
def command(
    bundle: str, folder: str | None, max_size: int | None, max_files: int | None, as_json: bool
) -> int:
    """Open BUNDLE into a new FOLDER, named like its run unless given, and print the path of the run.

    Everything is checked before anything is written: the run, its inputs, that no name or link leads out of FOLDER, and
    that there is no file that other programs obey, such as .git or .envrc. Nothing is overwritten. Then `cd FOLDER` and
    `runcard rerun` run it again.

    Exit codes: 0 done, 1 refused, 2 done with warnings.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
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
