"""How two records differ, for people."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.views.formats import money, money_at_least, truncated
from runcard.views.run_comparison import SettingValues, diff_lines, output_list

_LONGEST_VALUE = 120  # characters
_MOST = 50  # values of a section


class ValueChange(SettingValues, Protocol):
    """A value before and now, and the section that it is shown in."""

    @property
    def section(self) -> str: ...


class DifferingFile(Protocol):
    """A file that both records have."""

    @property
    def path(self) -> str: ...
    @property
    def diff(self) -> Sequence[str]: ...


class DifferingFiles(Protocol):
    """The files of both records."""

    @property
    def differing(self) -> Sequence[DifferingFile]: ...
    @property
    def gone(self) -> Sequence[str]: ...
    @property
    def added(self) -> Sequence[str]: ...


def diff_heading(old: JsonObject, new: JsonObject) -> list[str]:
    """The two records."""
    return [
        f"--- {printable(str(old['id']))}  {old['path']}",
        f"+++ {printable(str(new['id']))}  {new['path']}",
    ]


def change_lines(
    changes: Sequence[ValueChange], at_least: tuple[bool, bool] = (False, False)
) -> Iterator[str]:
    """The values that differ, by section; `at_least` says whose costs are lower bounds."""
    for section, group in groupby(changes, lambda change: change.section):
        members = list(group)
        yield section
        for change in members[:_MOST]:
            name, before, now = change_cells(change, at_least)
            yield f"  {name}: {before} → {now}"
        if len(members) > _MOST:
            yield f"  … and {len(members) - _MOST:,} more"


def change_cells(change: ValueChange, at_least: tuple[bool, bool] = (False, False)) -> tuple[str, str, str]:
    """A value that differs: its name, what it was, what it is now."""
    before, now = (
        _value(change, value, is_at_least=is_least)
        for value, is_least in zip((change.before, change.now), at_least, strict=True)
    )
    return printable(change.name), before, now


def file_lines(title: str, files: DifferingFiles) -> Iterator[str]:
    """The files that differ, with the lines of texts."""
    if not (files.differing or files.gone or files.added):
        return
    yield title
    for differing in files.differing:
        yield from output_list("changed", [differing.path])
        yield from diff_lines(differing.diff)
    yield from output_list("gone", files.gone)
    yield from output_list("new", files.added)


def _value(change: ValueChange, value: object, *, is_at_least: bool) -> str:
    if value is None:
        return "none"
    is_cost = "cost" in change.name.rpartition(": ")[2]
    if is_cost and isinstance(value, int | float) and not isinstance(value, bool):
        is_known_part = change.name.rpartition(": ")[2].startswith("known_")
        if is_known_part and not value:
            return "unknown"
        return money_at_least(value) if is_at_least or is_known_part else money(value)
    return printable(truncated(value, _LONGEST_VALUE))
