"""runcard plan diff"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import many_options, root_option
from runcard.encoding import JsonObject

if TYPE_CHECKING:
    from runcard.cli.many import Many
    from runcard.operations.plans.diff import DiffResult
    from runcard.plans.diff import FieldChange


@click.command("diff", short_help="Say what changed between two plans.")
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@root_option
@many_options("plans", "new", with_progress=False)
def command(old: str, new: str, root: str | None, many: "Many") -> int:
    """Say what changed from the plan OLD to the plan NEW: characteristics, states and dependencies.

    Both are plans, or sources that have one. The same plan prints nothing.

    Exit codes: 0 good, whether they differ or not, 1 error, 2 good with warnings.
    """
    from runcard.operations.plans.diff import compare_plans  # noqa: PLC0415

    many.each([new], lambda _: compare_plans(old, new, root=root), lambda _, result: _show(result))
    return many.finish()


def _show(result: "DiffResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    found = result.diff
    for change in found.about:
        say(f"~ {_told(change)}")
    for sign, ones in (("-", found.removed), ("+", found.added)):
        for one in ones:
            say(f"{sign} {one['name']}: {', '.join(one['states'])}{_place(one)}")
    for name, changes in found.changed.items():
        for change in changes:
            say(f"~ {name}: {_told(change)}")


def _place(one: JsonObject) -> str:
    if one["depends_on"] is None:
        return ""
    when = one["when_parent"]
    return f" (when {one['depends_on']} is {when if isinstance(when, str) else ' or '.join(when)})"


def _told(change: "FieldChange") -> str:
    if change.field == "states":
        gone = [f"-{state}" for state in change.old if state not in change.new]
        come = [f"+{state}" for state in change.new if state not in change.old]
        return f"states {' '.join(gone + come) or 'in another order'}"
    return f"{change.field} {_value(change.old)} → {_value(change.new)}"


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
