"""runcard plan diff"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import many_options, root_option, target_options
from runcard.encoding import JsonObject

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.diff import DiffResult
    from runcard.plans.diff import FieldChange
    from runcard.plans.plan_files import MethodRef


@click.command("diff", short_help="Show what changed between two plans.")
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="[NEW]", required=False, type=PATH)
@target_options()
@root_option
@many_options("plans", "new", with_progress=False)
def command(old: str, new: str | None, method_ref: "MethodRef", root: str | None, batch: "Batch") -> int:
    """Show what changed from the plan OLD to the plan NEW: characteristics, states and dependencies.

    Both are plans, or sources with a plan. Without NEW, compare the plan with its source as it is now. If nothing
    changed, stdout stays empty.

    Exit codes: 0 success, changed or not, 1 error, 2 warnings.
    """
    from runcard.operations.plans.diff import compare_plans, compare_with_source  # noqa: PLC0415

    def work(_: str) -> "DiffResult":
        if new is None:
            return compare_with_source(old, root=root, method_ref=method_ref)
        return compare_plans(old, new, root=root)

    batch.each([new or old], work, lambda _, result: _show(result))
    return batch.finish()


def _show(result: "DiffResult") -> None:
    from runcard.cli.printing import say, say_note  # noqa: PLC0415

    diff = result.diff
    if diff.is_same:
        say_note("no differences")
    for change in diff.target_changes:
        say(f"~ {_change_text(change)}")
    for sign, characteristics in (("-", diff.removed), ("+", diff.added)):
        for characteristic in characteristics:
            say(
                f"{sign} {characteristic['name']}: {', '.join(characteristic['states'])}{_parent(characteristic)}"
            )
    for name, changes in diff.changed.items():
        for change in changes:
            say(f"~ {name}: {_change_text(change)}")


def _parent(characteristic: JsonObject) -> str:
    if characteristic["depends_on"] is None:
        return ""
    when = characteristic["when_parent"]
    return f" (when {characteristic['depends_on']} is {when if isinstance(when, str) else ' or '.join(when)})"


def _change_text(change: "FieldChange") -> str:
    if change.field == "states":
        removed = [f"-{state}" for state in change.old if state not in change.new]
        added = [f"+{state}" for state in change.new if state not in change.old]
        return f"states {' '.join(removed + added) or 'in another order'}"
    return f"{change.field} {_value(change.old)} → {_value(change.new)}"


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
