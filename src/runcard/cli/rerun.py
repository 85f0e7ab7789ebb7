"""runcard rerun"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH, json_option

if TYPE_CHECKING:
    from runcard.operations.compare import Comparison
    from runcard.operations.rerun import Plan


@click.command("rerun", short_help="Run a recorded command again and compare.")
@click.argument("run", metavar="RUN", type=PATH)
@click.option(
    "--outputs", metavar="DIR", type=PATH, help="The store of the new run; that of RUN unless given."
)
@click.option(
    "--dry-run", is_flag=True, help="Say what would be done, and what has changed since; do nothing."
)
@json_option
def command(run: str, outputs: str | None, dry_run: bool, as_json: bool) -> int:
    """Run the command of RUN again, with the same configuration, in this directory, and compare.

    First it is said what has changed since: inputs, the git commit, packages. The new run is related to the old one.
    Then: which outputs are identical and which differ, and how cost, tokens and time moved.

    Exit codes: 0 identical, 2 something differs, 1 it could not be run again, or failed and had not failed before.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.rerun import plan_rerun  # noqa: PLC0415

    plan = plan_rerun(run, outputs=outputs)
    for difference in plan.differences:
        complain("Warning", difference.words())
    if dry_run:
        if as_json:
            say_json(plan.to_dict())
        else:
            _show_plan(plan)
        return ExitCode.WARNINGS if plan.differences else ExitCode.OK
    with _output_aside(wanted=as_json):
        ran, comparison = plan.carry_out()
    for warning in ran.warnings:
        complain("Warning", warning)
    for problem in ran.problems:
        complain("Error", problem.message, hint=problem.hint)
    if comparison is None:
        return ExitCode.FAILED
    if as_json:
        said = [difference._asdict() for difference in plan.differences]
        say_json({**comparison.to_dict(), "differences": said})
    else:
        for line in _report(comparison):
            say(line)
    before = comparison.old.document["generation"].get("exit_code")
    if ran.code not in {0, before}:
        return ExitCode.FAILED
    return ExitCode.OK if comparison.identical and not plan.differences else ExitCode.WARNINGS


def _show_plan(plan: "Plan") -> None:
    import shlex  # noqa: PLC0415

    from runcard.cli.printing import say  # noqa: PLC0415

    say(f"would run   {shlex.join(plan.command)}")
    say(f"in          {os.getcwd()}")
    say(f"into        {plan.outputs}")
    say(f"inputs      {len(plan.inputs):,}")
    say(f"differences {len(plan.differences):,}")


def _report(comparison: "Comparison") -> Iterator[str]:
    from runcard.views import comparison as view  # noqa: PLC0415

    yield ""
    yield f"Before  {comparison.old.path}"
    yield f"Now     {comparison.new.path}"
    yield ""
    yield "Outputs"
    listed = [
        *view.outputs("same", comparison.same),
        *view.outputs("gone", comparison.gone),
        *view.outputs("new", comparison.added),
    ]
    yield from listed
    for file in comparison.differing:
        yield from view.outputs("differs", [file.path])
        yield from view.difference(file.diff)
    if not listed and not comparison.differing:
        yield "  none"
    yield ""
    yield "Figures"
    yield from view.figures(comparison.moved)


@contextmanager
def _output_aside(*, wanted: bool) -> Iterator[None]:
    """Let what the command prints go to stderr, so that stdout has our report alone."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
