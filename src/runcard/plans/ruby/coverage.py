"""Coverage reports of Ruby: `.resultset.json` of SimpleCov, or the result of Ruby's own `Coverage` as JSON.

Only lines and branches are read. Ruby names a branch by an array, which becomes an odd string in JSON:
`"[:if, 0, 6, 4, 10, 7]"` is the kind, a number, and where it begins and ends. A report says nothing about a source that
has changed since the run; then it is not used.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runcard.encoding import Limits, decode_json
from runcard.errors import DocumentError, RuncardError
from runcard.files import printable, read_file

_MAX_SIZE = 512 * 1024 * 1024  # bytes of a report
_KEY = re.compile(r'\[:"?([a-z&.]{1,10})"?, \d+, (\d{1,9}), (\d{1,9}), (\d{1,9}), (\d{1,9})\]')
_HOW = "pass .resultset.json of SimpleCov, or the result of Ruby's Coverage as JSON"

BranchKey = tuple[str, tuple[int, int, int, int]]  # the kind, first line and column, last line and column


class ArmCount(NamedTuple):
    """How often one way through a branch ran."""

    label: str  # then, else, when, in, body
    times: int


@dataclass(slots=True)
class SourceCoverage:
    """How often the lines and branches of one source ran."""

    lines: list[int | None]
    branches: dict[BranchKey, list[ArmCount]] = field(default_factory=dict)

    def add(self, other: "SourceCoverage") -> None:
        """Add the counts of another run of the same source."""
        self.lines = [_sum(*pair) for pair in zip(self.lines, other.lines, strict=True)]
        for key, arms in other.branches.items():
            known = self.branches.setdefault(key, arms)
            if known is not arms and [arm.label for arm in known] == [arm.label for arm in arms]:
                self.branches[key] = [
                    ArmCount(one.label, one.times + two.times) for one, two in zip(known, arms, strict=True)
                ]


def _sum(one: int | None, two: int | None) -> int | None:
    return one if two is None else two if one is None else one + two


class SourceReport(NamedTuple):
    """What a report says about one source; or why it says nothing."""

    coverage: SourceCoverage | None
    problem: str | None = None
    specs: frozenset[str] = (
        frozenset()
    )  # the specs that the report names, too: Ruby's own does, SimpleCov's not


class _CoverageRun(NamedTuple):
    """The files of one run, and when it ended."""

    files: Mapping[str, object]
    ended: int | None  # seconds


class CoverageReport:
    """A report, read once for many sources."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            data = read_file(path, _MAX_SIZE, only_regular=True)
            self._written = os.stat(path).st_mtime_ns
        except OSError as error:
            raise DocumentError(f"{printable(path)} cannot be read: {error.strerror}", hint=_HOW) from error
        try:
            value = decode_json(data, Limits(size=_MAX_SIZE))
        except RuncardError as error:
            raise DocumentError(
                f"{printable(path)} is not a coverage report: {error.message}", hint=_HOW
            ) from error
        self._runs = list(_runs(value))
        if not self._runs:
            raise DocumentError(f"{printable(path)} is not a coverage report", hint=_HOW)

    def of(self, source: str, root: str, specs: Sequence[str] = ()) -> SourceReport:
        """What the report says about a source of the project at `root`, if neither it nor the specs changed since."""
        try:
            changed = os.stat(source).st_mtime_ns
            specs_changed = max((os.stat(spec).st_mtime_ns for spec in specs), default=changed)
            with open(source, "rb") as file:
                line_count = len(file.read().splitlines())
        except OSError as error:
            return SourceReport(None, f"the source or the spec cannot be read: {error.strerror}")
        found: SourceCoverage | None = None
        problem = "it does not name this source"
        others: set[str] = set()
        for run in self._runs:
            entry = run.files.get(_name_of(source, root, run.files) or "")
            if entry is None:
                continue
            if self._is_older(run, changed):
                problem = "the source has changed since the run"
                continue
            if self._is_older(run, specs_changed):
                problem = "the spec has changed since the run"
                continue
            coverage = _coverage(entry)
            if coverage is None:
                problem = "its counts are not those that Ruby writes"
                continue
            if len(coverage.lines) != line_count:
                problem = "it does not fit the source: another number of lines"
                continue
            others |= {os.path.basename(name) for name in run.files if name.endswith("_spec.rb")}
            if found is None:
                found = coverage
            else:
                found.add(coverage)
        if found is None:
            return SourceReport(None, problem)
        return SourceReport(found, None if found.branches else "it has no branches", frozenset(others))

    def _is_older(self, run: _CoverageRun, changed: int) -> bool:
        """Whether a run ended before a file changed."""
        return changed > self._written or (run.ended is not None and changed >= (run.ended + 1) * 10**9)


def _runs(value: object) -> Iterator[_CoverageRun]:
    """The runs of a report: SimpleCov has one for each command, Ruby's own result is one run."""
    if not isinstance(value, dict):
        return
    for part in value.values():
        if isinstance(part, dict) and isinstance(part.get("coverage"), dict):
            ended = part.get("timestamp")
            yield _CoverageRun(part["coverage"], ended if type(ended) is int else None)
    if value and all(isinstance(part, dict | list) and os.path.isabs(name) for name, part in value.items()):
        yield _CoverageRun(value, None)


def _name_of(source: str, root: str, files: Mapping[str, object]) -> str | None:
    """The name of a source in a report, which may come from another machine: there the project has another root."""
    path = os.path.realpath(source)
    if path in files:
        return path
    inside = os.path.relpath(path, os.path.realpath(root))
    ending = os.sep + inside
    roots = {name.removesuffix(ending) for name in files if name.endswith(ending)}
    if len(roots) != 1:
        return None
    top = roots.pop()
    is_root = all(name.startswith(top + os.sep) for name in files)
    return top + ending if is_root else None


def _coverage(entry: object) -> SourceCoverage | None:
    """The counts of one source; None if they are not what Ruby writes."""
    lines = entry.get("lines") if isinstance(entry, dict) else entry
    if not isinstance(lines, list) or not all(_is_count(line) for line in lines):
        return None
    coverage = SourceCoverage([line if type(line) is int else None for line in lines])
    branches = entry.get("branches") if isinstance(entry, dict) else None
    for name, arms in (branches or {}).items() if isinstance(branches, dict) else ():
        key, counts = _key(name), _arms(arms)
        if key is not None and counts is not None:
            coverage.branches[key] = counts
    return coverage


def _is_count(value: object) -> bool:
    return value in (None, "ignored") or (type(value) is int and value >= 0)


def _key(name: str) -> BranchKey | None:
    match = _KEY.fullmatch(name)
    if match is None:
        return None
    return match[1], (int(match[2]), int(match[3]), int(match[4]), int(match[5]))


def _arms(value: object) -> list[ArmCount] | None:
    if not isinstance(value, dict):
        return None
    arms: list[ArmCount] = []
    for name, count in value.items():
        key = _key(name)
        if key is None or type(count) is not int or count < 0:
            return None
        arms.append(ArmCount(key[0], count))
    return arms
