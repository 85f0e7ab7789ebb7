"""runcard rerun"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, RECORD, json_option, yes_option
from runcard.cli.printing import complain, say, say_json
from runcard.errors import UsageError

if TYPE_CHECKING:
    from runcard.encoding import JsonObject
    from runcard.operations.runs.compare import RunComparison
    from runcard.operations.runs.rerun import RerunPlan, RerunResult

_LONG = 1000  # characters: more may have scrolled out of sight


@click.command("rerun")
@click.argument("run", metavar="RUN", type=RECORD)
@click.option(
    "--outputs",
    metavar="DIR",
    type=PATH,
    help="Store of the new run. Default: that of RUN, or the setting `outputs` if RUN is not your own.",
)
@click.option("--dry-run", is_flag=True, help="Show the command and what has changed since, and run nothing.")
@click.option(
    "--all",
    "compare_all",
    is_flag=True,
    help="Run a program that recorded several runs, and compare each of them.",
)
@yes_option
@json_option
def command(run: str, outputs: str | None, dry_run: bool, compare_all: bool, yes: bool, as_json: bool) -> int:
    """Run the command of RUN again in this directory, and compare the results.

    RUN is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).

    Shows first what has changed since (inputs, git commit, packages) and the command. Asks for confirmation if RUN fails
    verification, or if you did not record it on this machine; then only its command and inputs are used. From your own
    records the configuration, labels and experiment are used too. The report lists identical and different outputs,
    and how configuration, models, cost, tokens and time changed.

    A run that a program recorded with `runcard.record` is compared with its counterpart among the runs that the program
    records now. If the program recorded several runs, it records all of them again, so rerun asks first; or pass --yes to
    compare only RUN, or --all to compare every run. A command that someone else recorded still needs --yes.

    Exit codes: 0 identical, 1 not run or not recorded, or it failed and had not failed before, 2 something differs,
    64 confirmation needed: pass --yes.
    """
    from runcard.operations.runs.rerun import plan_rerun, rerun_directory  # noqa: PLC0415

    if (directory := rerun_directory(run)) is not None:
        run = os.path.abspath(run) if os.path.exists(run) else run
        os.chdir(directory)
        _tell(f"running in {directory}, where it ran before: the current directory is the record itself")
    plan = plan_rerun(run, outputs=outputs)
    for difference in plan.differences:
        complain("Warning", difference.message())
    if plan.trust.damage is not None:
        complain("Warning", f"{plan.path} fails verification: {plan.trust.damage}")
    if dry_run:
        _show_plan(plan, as_json=as_json)
        return ExitCode.WARNINGS if _is_changed(plan) else ExitCode.OK
    _announce(plan)
    needs_answer = not plan.trust.is_trusted or (plan.repeats_others and not compare_all)
    if needs_answer and not yes and not _is_agreed(plan):
        return ExitCode.FAILED
    is_damaged = False
    for path, damage in plan.damaged_runs() if compare_all else ():
        complain("Warning", f"{path} fails verification: {damage}")
        is_damaged = True
    with _output_aside(wanted=as_json):
        result = plan.rerun(compare_all=compare_all)
    _show_problems(plan, result)
    _show_result(plan, result, as_json=as_json)
    return _exit_code(plan, result, is_changed=is_damaged or _is_changed(plan))


def _show_problems(plan: "RerunPlan", result: "RerunResult") -> None:
    for warning in result.command.warnings:
        complain("Warning", warning)
    for problem in (*result.command.problems, *result.failures):
        complain("Error", problem.message, hint=problem.hint)
    if result.comparison is None and plan.program.position is not None and not result.failures:
        now = "no run" if not result.recorded else "no counterpart of this run"
        complain(
            "Error",
            f"the program recorded {now}: there is nothing to compare",
            hint="did it end early, or has it changed? see its output",
        )


def _exit_code(plan: "RerunPlan", result: "RerunResult", *, is_changed: bool) -> ExitCode:
    comparison, code = result.comparison, result.command.code
    if comparison is None or result.failures:
        return ExitCode.FAILED
    comparisons = [comparison, *result.others]
    before = comparison.old.document["generation"].get("exit_code")
    has_failed_before = comparison.old.status != "completed" and plan.program.position is not None
    if code not in {0, before} and not has_failed_before:
        return ExitCode.FAILED
    if any(each.has_newly_failed for each in comparisons):
        return ExitCode.FAILED
    is_same = all(each.is_same for each in comparisons) and not result.gone and not result.added
    return ExitCode.OK if is_same and not is_changed else ExitCode.WARNINGS


def _is_changed(plan: "RerunPlan") -> bool:
    return bool(plan.differences) or plan.trust.damage is not None


def _tell(text: str) -> None:
    """Print a line to stderr that is not a warning."""
    from runcard.files import printable  # noqa: PLC0415

    click.echo(f"runcard: {printable(text)}", err=True)


def _command_line(plan: "RerunPlan") -> str:
    from runcard.views.formats import command_line  # noqa: PLC0415

    return command_line(plan.command)


def _announce(plan: "RerunPlan") -> None:
    """Show the command on stderr, how many runs it makes, and what is not taken from a record that is not trusted."""
    if not plan.trust.is_own:
        _tell("cannot tell that you recorded this run here: it was moved, changed, or made by someone else")
    if not plan.trust.is_trusted:
        _tell("only its command and inputs are used")
    _tell(f"command: {_command_line(plan)}")
    position = plan.program.position
    if position is None and plan.program.runs:
        _tell(f"it recorded {_program_runs(plan)} and will record them again")
    elif position is not None and plan.repeats_others:
        _tell(
            f"it recorded {_program_runs(plan)} and will record all of them again; this is number {position + 1}"
        )


def _program_runs(plan: "RerunPlan") -> str:
    """How many runs the program recorded, and what they cost."""
    from runcard.views.formats import cost_or_known, counted  # noqa: PLC0415

    program = plan.program
    cost = cost_or_known(program.cost_usd, program.known_cost_usd)
    return f"{counted(len(program.runs), 'run')} (last cost {cost})"


def _is_agreed(plan: "RerunPlan") -> bool:
    """Ask whether to run a stranger's command, or a program that makes other runs, too; UsageError without a terminal."""
    from runcard.cli.confirm import can_ask, is_agreed  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    count = f"all {len(plan.program.runs):,} runs" if plan.repeats_others else "this command"
    if not can_ask() and not plan.trust.is_trusted:
        raise UsageError(
            f"{printable(plan.path)} is not trusted, and there is no terminal to confirm on",
            hint="read the command; to run it, pass --yes",
        )
    if not can_ask():
        raise UsageError(
            f"the program will record {count} again, and there is no terminal to confirm on",
            hint="pass --yes to compare only this run, or --all to compare every run",
        )
    length = len(_command_line(plan))
    size = f" of {length:,} characters" if length > _LONG else ""
    if plan.repeats_others:
        question = f"Record {count} again, with this command{size}, in {os.getcwd()}?"
    else:
        question = f"Run this command{size} in {os.getcwd()}?"
    return is_agreed(question, otherwise="nothing was run")


def _show_result(plan: "RerunPlan", result: "RerunResult", *, as_json: bool) -> None:
    if as_json:
        say_json(_json_report(plan, result))
        return
    comparisons = [each for each in (result.comparison, *result.others) if each is not None]
    comparisons.sort(key=lambda each: each.old.document["generation"]["timestamp_start"] or "")
    for line in (*chain(*map(_report, comparisons)), *_program_report(plan, result)):
        say(line)


def _json_report(plan: "RerunPlan", result: "RerunResult") -> "JsonObject":
    """The comparison of the run itself, with everything else beside it."""
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.runs.compare import run_reference  # noqa: PLC0415

    if result.comparison is None:
        comparison = {"old": run_reference(plan.old), "new": None, "identical": False}
    else:
        comparison = result.comparison.to_dict()
    return {
        **comparison,
        "differences": [difference._asdict() for difference in plan.differences],
        "command": {"path": printable(result.command.path), "exit_code": result.command.code},
        "program_runs": {
            "before": len(plan.program.runs),
            "now": result.recorded,
            "gone": [printable(path) for path in result.gone],
            "added": [printable(path) for path in result.added],
        },
        "others": [other.to_dict() for other in result.others],
    }


def _program_report(plan: "RerunPlan", result: "RerunResult") -> Iterator[str]:
    """Where the record of the command is, and how many runs the command recorded itself."""
    from runcard.views import run_comparison as view  # noqa: PLC0415

    before = len(plan.program.runs)
    if plan.program.position is not None:
        yield ""
        yield f"This rerun has a record of its own, with the output of the program: {result.command.path}"
        if result.command.code:
            yield f"Exit code of the program: {result.command.code}"
    if before or result.recorded:
        yield f"Runs of the program: {before:,} before, {result.recorded:,} now"
        yield from view.output_list("gone", [os.path.abspath(path) for path in result.gone])
        yield from view.output_list("new", [os.path.abspath(path) for path in result.added])


def _show_plan(plan: "RerunPlan", *, as_json: bool) -> None:
    if as_json:
        say_json(plan.to_dict())
        return
    say(f"would run   {_command_line(plan)}")
    say(f"in          {os.getcwd()}")
    say(f"into        {plan.outputs}")
    say(f"inputs      {len(plan.inputs):,}")
    say(f"differences {len(plan.differences):,}")
    if plan.program.position is not None or plan.program.runs:
        asks = ": asks first, or needs --yes or --all" if plan.repeats_others else ""
        say(f"records     {_program_runs(plan)}{asks}")
    say(f"trusted     {'yes' if plan.trust.is_trusted else 'no: asks first, or needs --yes'}")


def _report(comparison: "RunComparison") -> Iterator[str]:
    from runcard.views import run_comparison as view  # noqa: PLC0415

    yield ""
    yield f"Before  {os.path.abspath(comparison.old.path)}"
    yield f"Now     {os.path.abspath(comparison.new.path)}"
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
    settings = view.setting_lines(comparison.settings, comparison.models)
    if settings:
        yield ""
        yield "Configuration"
        yield from settings
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
