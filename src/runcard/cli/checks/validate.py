"""runcard validate"""

from runcard.cli import declare
from runcard.cli.exit_codes import ExitCode
from runcard.cli.printing import finding_line, say_json


@declare.command("validate")
@declare.argument("paths", nargs=-1, required=True, metavar="PATH...", type="PATH_OR_DASH")
@declare.kind_option
@declare.json_option
@declare.option("--strict", is_flag=True, help="Treat warnings as errors.")
@declare.option(
    "--root", metavar="DIR", type="PATH", help="Project in which to look up the targets of test plans."
)
def command(paths: tuple[str, ...], kind: str | None, as_json: bool, strict: bool, root: str | None) -> int:
    """Check every document at PATH: a file, a folder, or - for standard input.

    The kind and the version of a document are detected from its content. In a folder, only the documents of runcard
    are checked; other files are skipped. The documents of a record are also found by its id, a prefix of its id, its
    name, or @latest (@latest~1 is the one before).

    Exit codes: 0 valid, 1 errors found, 2 warnings.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.operations.checks.validate import summary, validate  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    batch = Batch("documents", None, as_json=as_json)
    results = []
    limits = read_settings().limits
    for checked in batch.over(validate(*paths, kind=kind, strict=strict, limits=limits, root=root)):
        results.append(checked)
        report = checked.report
        if report.valid:
            batch.done(f"{checked.path}: valid {report.kind} {report.version or '(unversioned)'}")
        for finding in report.errors:
            batch.complain(finding_line(finding, checked.path), finding.hint)
        for finding in report.warnings:
            batch.warn(finding_line(finding, checked.path), finding.hint)
    if not as_json:
        return batch.finish()
    say_json(summary(results))
    if not all(checked.report.valid for checked in results):
        return ExitCode.FAILED
    return ExitCode.WARNINGS if any(checked.report.findings for checked in results) else ExitCode.OK
