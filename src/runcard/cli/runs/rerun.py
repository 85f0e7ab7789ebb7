"""runcard rerun"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, json_option, yes_option
from runcard.cli.printing import complain, say, say_json
from runcard.errors import StoreError

if TYPE_CHECKING:
    from runcard.operations.runs.compare import RunComparison
    from runcard.operations.runs.rerun import RerunPlan

_LONG = 1000  # characters: more may have scrolled out of sight


@click.command("rerun")
@click.argument("run", metavar="RUN", type=PATH)
@click.option(
    "--outputs",
    metavar="DIR",
    type=PATH,
    help="Store of the new run. Default: that of RUN, or the setting `outputs` if RUN is not your own.",
)
@click.option("--dry-run", is_flag=True, help="Show the command and what has changed since, and run nothing.")
@yes_option
@json_option
def command(run: str, outputs: str | None, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Run the command of RUN again in this directory, and compare the results.

    RUN is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).

    Shows first what has changed since (inputs, git commit, packages) and the command. Asks for confirmation if RUN fails
    verification, or if you did not record it on this machine; then only its command and inputs are used. From your own
    records the configuration, labels and experiment are used too. The report lists identical and different outputs,
    and how cost, tokens and time changed.

    Exit codes: 0 identical, 1 not run, or it failed and had not failed before, 2 something differs.
    """
    from runcard.operations.runs.rerun import plan_rerun  # noqa: PLC0415

    plan = plan_rerun(run, outputs=outputs)
    for difference in plan.differences:
        complain("Warning", difference.message())
    if plan.trust.damage is not None:
        complain("Warning", f"{plan.path} fails verification: {plan.trust.damage}")
    if dry_run:
        _show_plan(plan, as_json=as_json)
        return ExitCode.WARNINGS if _is_changed(plan) else ExitCode.OK
    _announce(plan)
    if not plan.trust.is_trusted and not yes and not _is_agreed(plan):
        return ExitCode.FAILED
    with _output_aside(wanted=as_json):
        ran, comparison = plan.rerun()
    for warning in ran.warnings:
        complain("Warning", warning)
    for problem in ran.problems:
        complain("Error", problem.message, hint=problem.hint)
    if comparison is None:
        return ExitCode.FAILED
    _show_comparison(comparison, plan, as_json=as_json)
    before = comparison.old.document["generation"].get("exit_code")
    if ran.code not in {0, before}:
        return ExitCode.FAILED
    return ExitCode.OK if comparison.identical and not _is_changed(plan) else ExitCode.WARNINGS


def _is_changed(plan: "RerunPlan") -> bool:
    return bool(plan.differences) or plan.trust.damage is not None


def _command_line(plan: "RerunPlan") -> str:
    import shlex  # noqa: PLC0415

    return shlex.join(plan.command)


def _announce(plan: "RerunPlan") -> None:
    """Show the command on stderr, and what is not taken from a record that is not trusted."""
    from runcard.files import printable  # noqa: PLC0415

    if not plan.trust.is_own:
        click.echo(
            "runcard: cannot tell that you recorded this run here: it was moved, changed, or made by someone else",
            err=True,
        )
    if not plan.trust.is_trusted:
        click.echo("runcard: only its command and inputs are used", err=True)
    click.echo(f"runcard: command: {printable(_command_line(plan))}", err=True)


def _is_agreed(plan: "RerunPlan") -> bool:
    """Ask whether to run a command that a stranger may have written; StoreError without a terminal."""
    from runcard.cli.confirm import can_ask, is_agreed  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    if not can_ask():
        raise StoreError(
            f"{printable(plan.path)} is not trusted, and there is no terminal to confirm on",
            hint="read the command; to run it, pass --yes",
        )
    length = len(_command_line(plan))
    size = f" of {length:,} characters" if length > _LONG else ""
    return is_agreed(f"Run this command{size} in {os.getcwd()}?", otherwise="nothing was run")


def _show_comparison(comparison: "RunComparison", plan: "RerunPlan", *, as_json: bool) -> None:
    if as_json:
        differences = [difference._asdict() for difference in plan.differences]
        say_json({**comparison.to_dict(), "differences": differences})
        return
    for line in _report(comparison):
        say(line)


def _show_plan(plan: "RerunPlan", *, as_json: bool) -> None:
    if as_json:
        say_json(plan.to_dict())
        return
    say(f"would run   {_command_line(plan)}")
    say(f"in          {os.getcwd()}")
    say(f"into        {plan.outputs}")
    say(f"inputs      {len(plan.inputs):,}")
    say(f"differences {len(plan.differences):,}")
    say(f"trusted     {'yes' if plan.trust.is_trusted else 'no: asks first, or needs --yes'}")


def _report(comparison: "RunComparison") -> Iterator[str]:
    from runcard.views import run_comparison as view  # noqa: PLC0415

    yield ""
    yield f"Before  {comparison.old.path}"
    yield f"Now     {comparison.new.path}"
    yield ""
    yield "Outputs"
    listed = [
        *view.output_list("same", comparison.same),
        *view.output_list("gone", comparison.gone),
        *view.output_list("new", comparison.added),
    ]
    yield from listed
    for file in comparison.differing:
        yield from view.output_list("differs", [file.path])
        yield from view.diff_lines(file.diff)
    if not listed and not comparison.differing:
        yield "  none"
    yield ""
    yield "Figures"
    yield from view.figure_table(comparison.moved)


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
