"""runcard diff"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import RECORD, json_option
from runcard.cli.printing import complain, say_json, say_text


@click.command("diff")
@click.argument("old", metavar="A", type=RECORD)
@click.argument("new", metavar="B", type=RECORD)
@json_option
def command(old: str, new: str, as_json: bool) -> int:
    """Show how the records A and B differ: two runs, two sessions, their archives, or bundles.

    A and B are paths, ids, prefixes of ids, names, or @latest (@latest~1 is the one before). Configuration, packages, code, inputs,
    outputs, metrics, tokens, cost and the team are compared; of outputs that are texts, the lines. Ids and times differ in any two
    records: they are shown with other differences, but do not count as any. Records that seem to be the same are also verified.

    Exit codes: 0 the same (nothing is printed), 1 different or damaged, 64 not comparable.
    """
    from runcard.operations.checks.diff import diff  # noqa: PLC0415
    from runcard.views.record_diff import change_lines, diff_heading, file_lines  # noqa: PLC0415

    found = diff(old, new)
    if as_json:
        say_json(found.to_dict())
    elif not found.identical and not found.damaged:
        lines = [
            *diff_heading(found.old, found.new),
            *change_lines(found.changes, found.at_least),
            *file_lines("inputs", found.inputs),
            *file_lines("outputs", found.outputs),
            *change_lines(found.times),
        ]
        say_text("\n".join(lines))
    for path, reason in found.damaged:
        complain("Warning", f"{path} fails verification: {reason}", hint=f"runcard verify {path}")
    return ExitCode.OK if found.identical else ExitCode.FAILED
