"""The figures of all tests: for people, at the end of pytest's output, and for programs, as a file."""

import os
from collections.abc import Sequence

from runcard.encoding import JsonObject, encode_json
from runcard.files import printable, write_atomic
from runcard.pytest_plugin.figures import total_figures
from runcard.version import __version__
from runcard.views.formats import counted, money, money_at_least, token_count
from runcard.views.table import table_lines

_MOST_ROWS = 25  # tests that are listed, unless pytest is asked for more
_HEADING = ("cost", "input", "output", "calls", "test")
_NUMBERS = (True, True, True, True, False)


def summary_lines(tests: Sequence[JsonObject], *, with_all: bool) -> list[str]:
    """The tests that called a model, the most expensive first, and their totals; empty if none did."""
    if not tests:
        return []
    ordered = sorted(tests, key=lambda test: (-(test["known_cost_usd"] or 0), test["test"]))
    shown = ordered if with_all else ordered[:_MOST_ROWS]
    rows = [(_cost(test), *_tokens(test), _calls(test), _name(test)) for test in shown]
    lines = table_lines(_HEADING, rows, _NUMBERS, None)
    if hidden := len(ordered) - len(shown):
        lines.append(f"and {counted(hidden, 'test')} more that cost less: -v lists all")
    return [*lines, *_totals(tests)]


def _cost(figures: JsonObject) -> str:
    """`$0.25`, `≥ $0.25`, `about $0.25` for an estimate, `unknown`; `–` without an answered call."""
    if not figures["calls"] and not figures["at_least"]:
        return "–"
    cost, known = figures["cost_usd"], figures["known_cost_usd"]
    if cost is None:
        return money_at_least(known) if known else "unknown"
    return ("about " if figures["estimated"] else "") + money(cost)


def _tokens(figures: JsonObject) -> tuple[str, str]:
    if not figures["calls"] and not figures["at_least"]:
        return "–", "–"
    mark = "≥ " if figures["incomplete"] else "about " if figures["estimated"] else ""
    counts = (figures["tokens"]["input"], figures["tokens"]["output"])
    return (_count(counts[0], mark), _count(counts[1], mark))


def _count(count: int | None, mark: str) -> str:
    return token_count(count) if count is None else mark + token_count(count)


def _calls(figures: JsonObject) -> str:
    return f"{figures['calls']:,}"


def _name(figures: JsonObject) -> str:
    """The name of a test, and what is unusual about it."""
    phases: JsonObject = figures["phases"]
    remarks = [f"attempt {figures['attempt']}"] if "attempt" in figures else []
    if figures["outcome"] != "passed":
        remarks.append(figures["outcome"])
    if figures["failed_calls"]:
        remarks.append(f"{figures['failed_calls']:,} failed")
    remarks += [
        f"{phases[name]:,} in {name}" for name in ("setup", "teardown", "other processes") if name in phases
    ]
    return printable(figures["test"]) + (f" ({', '.join(remarks)})" if remarks else "")


def _totals(tests: Sequence[JsonObject]) -> list[str]:
    total = total_figures(tests)
    cost = _cost(total)
    doubt = " (a part is unknown)" if total["at_least"] and total["known_cost_usd"] else ""
    lines = [f"total: {cost}{doubt}, {counted(total['calls'], 'call')} in {counted(total['tests'], 'test')}"]
    reasons = dict.fromkeys(reason for test in tests for reason in test["incomplete"])
    lines += [f"incomplete: {printable(reason)}" for reason in reasons]
    warnings = dict.fromkeys(warning for test in tests for warning in test["warnings"])
    lines += [f"Warning: {printable(warning)}" for warning in warnings]
    records = dict.fromkeys(path for test in tests for path in test["records"])
    stores = dict.fromkeys(os.path.dirname(path) for path in records)
    if records:
        where = ", ".join(printable(_shown(store)) for store in stores)
        lines.append(f"{counted(len(records), 'record')} in {where}")
    return lines


def _shown(path: str) -> str:
    """A path below the current directory as a relative one."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def write_json(path: str, tests: Sequence[JsonObject]) -> None:
    """Write the figures of all tests, in the order in which they ran, and their totals."""
    data = {
        "producer": {"name": "runcard", "version": __version__},
        "totals": total_figures(tests),
        "tests": list(tests),
    }
    write_atomic(path, encode_json(data) + b"\n")
