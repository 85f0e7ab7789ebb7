"""What `runcard install` and `runcard uninstall` share: their options, and the difference that is shown and confirmed."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import dry_run_option, json_option, yes_option
from runcard.cli.printing import say, say_done, say_json, say_note
from runcard.cli.verbosity import is_quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.agent_setup.tools import Part
    from runcard.operations.agents.install import SetupPlan

TOOLS = ("claude-code", "codex", "gemini", "opencode", "cursor")  # a test compares them with the operation's


def setup_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of both commands."""
    options = (
        click.argument("tools", nargs=-1, required=True, metavar="TOOL...", type=click.Choice(TOOLS)),
        click.option("--hooks", is_flag=True, help="Only the hooks, which import each session."),
        click.option("--mcp", is_flag=True, help="Only the MCP server, `runcard mcp`."),
        click.option(
            "--project",
            "scope",
            flag_value="project",
            default=True,
            help="In the current directory (default).",
        ),
        click.option("--user", "scope", flag_value="user", help="In your home, for all projects."),
        dry_run_option,
        yes_option,
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def named_parts(*, hooks: bool, mcp: bool) -> "tuple[Part, ...]":
    """The parts that the user names; none: all."""
    chosen: tuple[tuple[Part, bool], ...] = (("hooks", hooks), ("mcp", mcp))
    return tuple(part for part, is_named in chosen if is_named)


def show_and_write(
    plans: "Sequence[SetupPlan]",
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    none: str,
    done: str,
    next_step: str | None = None,
) -> int:
    """Show what would change, ask, and write it; the exit code."""
    from runcard.operations.agents.install import carry_out  # noqa: PLC0415

    changes = [change for plan in plans for change in plan.changes if change.is_any]
    if not as_json and (dry_run or not yes or not is_quiet()):
        for line in (line for change in changes for line in change.diff()):
            say(line)
    sys.stdout.flush()
    if changes and not dry_run and not yes and not _is_agreed(len(changes)):
        return ExitCode.FAILED
    written = [] if dry_run else carry_out(plans)
    if as_json:
        say_json({"dry_run": dry_run, "written": written, "tools": [plan.to_dict() for plan in plans]})
        return ExitCode.OK
    if dry_run and changes:
        say_done("Nothing was written (--dry-run).")
    for plan in plans:
        _say_result(plan, written, none, done)
    if written and next_step is not None:
        say_done(next_step)
    return ExitCode.OK


def _is_agreed(count: int) -> bool:
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415

    question = f"Write {'this file' if count == 1 else f'these {count} files'}?"
    return is_agreed(question, otherwise="Nothing was written.", hint="pass --yes, or --dry-run")


def _say_result(plan: "SetupPlan", written: "Sequence[str]", none: str, done: str) -> None:
    if not plan.is_any:
        say_done(f"{plan.title}: {none}")
        return
    for change in plan.changes:
        if change.path in written:
            say_done(f"{plan.title}: {done} {change.path}")
    for remark in plan.remarks:
        say_note(remark)
