"""runcard validate"""

import sys

import click

from runcard.cli.options import PATH, PATH_OR_DASH, json_option, kind_option


@click.command("validate", short_help="Check documents: their schema, then their rules.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PATH_OR_DASH)
@kind_option
@json_option
@click.option("--strict", is_flag=True, help="Take warnings as errors.")
@click.option("--root", metavar="DIR", type=PATH, help="Look for the targets of test plans in this project.")
def command(paths: tuple[str, ...], kind: str | None, as_json: bool, strict: bool, root: str | None) -> int:
    """Check every document at PATH: a file, a folder, or - for standard input.

    The kind and the version of a document are told by its content. In a folder, runs and sessions are asked for their
    own documents only; files that are no documents are passed over.

    Exit codes: 0 all good, 1 something is wrong, 2 good with warnings.
    """
    from runcard.cli.printing import complain_about, say, say_json  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.checks.validate import summary, validate  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    results = []
    progress = Progress("documents")
    limits = read_settings().limits
    for checked in progress.over(validate(*paths, kind=kind, strict=strict, limits=limits, root=root)):
        results.append(checked)
        if checked.report.valid and not as_json:
            report = checked.report
            progress.wipe()
            say(f"{checked.path}: valid {report.kind} {report.version or '(unversioned)'}")
    if as_json:
        say_json(summary(results))
    else:
        # What is wrong comes first, so that the first word on stderr tells the exit code.
        sys.stdout.flush()
        for checked in sorted(results, key=lambda checked: checked.report.valid):
            for found in (*checked.report.errors, *checked.report.warnings):
                complain_about(found, checked.path)
    if not all(checked.report.valid for checked in results):
        return ExitCode.FAILED
    return ExitCode.WARNINGS if any(checked.report.findings for checked in results) else ExitCode.OK
