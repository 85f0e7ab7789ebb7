"""Two runs side by side, as `runcard rerun` prints them."""

from collections.abc import Sequence
from typing import Protocol

from runcard.files import printable
from runcard.views.formats import duration, money, truncated

_MAX_FILES = 20  # of a kind
_MAX_DIFF = 40  # lines
_LONGEST_VALUE = 120  # characters of a setting


class SettingValues(Protocol):
    """A value of the configuration of the earlier run and of the new one."""

    @property
    def name(self) -> str: ...
    @property
    def before(self) -> object: ...
    @property
    def now(self) -> object: ...


class Figure(Protocol):
    """A number of the earlier run and of the new one."""

    @property
    def name(self) -> str: ...
    @property
    def before(self) -> float | int | None: ...
    @property
    def now(self) -> float | int | None: ...


_LABELS = {
    "cost_usd": "cost",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "duration_seconds": "time",
    "exit_code": "exit code",
}


def figure_table(figures: Sequence[Figure]) -> list[str]:
    """Each figure before and now, with the change where both are known; unknown ones are left out."""
    rows = [
        (
            _LABELS[figure.name],
            _amount(figure.name, figure.before),
            _amount(figure.name, figure.now),
            _change(figure),
        )
        for figure in figures
        if figure.before is not None or figure.now is not None
    ]
    table = [("", "before", "now", ""), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in table
    ]


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    if name == "cost_usd":
        return money(value)
    return duration(value) if name == "duration_seconds" else f"{value:,}"


def _change(figure: Figure) -> str:
    if figure.before is None or figure.now is None:
        return ""
    if figure.before == figure.now:
        return "same"
    if figure.name == "exit_code" or figure.before == 0:
        return "differs"
    return f"{(figure.now - figure.before) / figure.before:+.1%}"


def setting_lines(
    settings: Sequence[SettingValues], models: tuple[Sequence[str], Sequence[str]]
) -> list[str]:
    """The settings that differ, before and now, and the models that were called if they are others."""
    lines = [
        f"  {printable(setting.name)}: {_value(setting.before)} → {_value(setting.now)}"
        for setting in settings[:_MAX_FILES]
    ]
    hidden = len(settings) - _MAX_FILES
    lines += [f"  … and {hidden:,} more"] if hidden > 0 else []
    before, now = (", ".join(map(printable, sorted(names))) or "none" for names in models)
    return [*lines, f"  models called: {before} → {now}"] if before != now else lines


def _value(value: object) -> str:
    return "none" if value is None else printable(truncated(value, _LONGEST_VALUE))


def output_list(label: str, paths: Sequence[str]) -> list[str]:
    """Output files below one label, cut where there are many."""
    hidden = len(paths) - _MAX_FILES
    lines = [f"  {label:<7}  {printable(path)}" for path in paths[:_MAX_FILES]]
    return [*lines, f"  {label:<7}  … and {hidden:,} more"] if hidden > 0 else lines


def diff_lines(lines: Sequence[str]) -> list[str]:
    """The lines of a diff, cut where there are many."""
    hidden = len(lines) - _MAX_DIFF
    shown = [f"    {printable(line)}" for line in lines[:_MAX_DIFF]]
    return [*shown, f"    … and {hidden:,} more lines"] if hidden > 0 else shown
