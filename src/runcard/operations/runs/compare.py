"""Compare two runs: which of their files are the same, and how cost, tokens and time changed.

Files are compared by the digests in each run's SHA256SUMS; their bytes are only read to show how texts differ. The files that
runcard itself wrote always differ, and are ignored.
"""

import difflib
import os
from dataclasses import dataclass
from typing import NamedTuple

from runcard import checksums
from runcard.documents.run.fields import RunFields
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import json_name, printable, read_stream
from runcard.operations.checks.show import ShownRun, show
from runcard.store import layout
from runcard.store.record import Record

_LARGEST_DIFF = 1 << 20  # bytes of a text that is compared line by line


class FigureChange(NamedTuple):
    """A figure before and now; None is unknown."""

    name: str
    before: float | int | None
    now: float | int | None


class FileDifference(NamedTuple):
    """A file that both runs have, with different contents."""

    path: str
    diff: tuple[str, ...]  # lines, if both are texts of a moderate size


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What is the same in two runs, and what is not."""

    old: ShownRun
    new: ShownRun
    same: tuple[str, ...]
    differing: tuple[FileDifference, ...]
    gone: tuple[str, ...]  # only in the old one
    added: tuple[str, ...]  # only in the new one
    moved: tuple[FigureChange, ...]

    @property
    def identical(self) -> bool:
        """Whether all outputs are the same, and the command ended in the same way."""
        ended = [RunFields(run.document).exit_code for run in (self.old, self.new)]
        return not (self.differing or self.gone or self.added) and ended[0] == ended[1]

    def to_dict(self) -> JsonObject:
        return {
            "old": {"path": printable(self.old.path), "run_id": _id(self.old), "status": self.old.status},
            "new": {"path": printable(self.new.path), "run_id": _id(self.new), "status": self.new.status},
            "identical": self.identical,
            "outputs": {
                "same": [json_name(path).text for path in self.same],
                "differing": [
                    {"path": json_name(file.path).text, "diff": list(file.diff)} for file in self.differing
                ],
                "gone": [json_name(path).text for path in self.gone],
                "added": [json_name(path).text for path in self.added],
            },
            "moved": {figure.name: {"before": figure.before, "now": figure.now} for figure in self.moved},
        }


def compare(old: str | os.PathLike[str] | Record, new: str | os.PathLike[str] | Record) -> RunComparison:
    """Compare two closed runs."""
    before, now = show(old), show(new)
    ours, theirs = _digests(before), _digests(now)
    both = [path for path in ours if path in theirs]
    return RunComparison(
        before,
        now,
        tuple(path for path in both if ours[path] == theirs[path]),
        tuple(
            FileDifference(path, _diff(before.record, now.record, path))
            for path in both
            if ours[path] != theirs[path]
        ),
        tuple(path for path in ours if path not in theirs),
        tuple(path for path in theirs if path not in ours),
        _figure_changes(before.document, now.document),
    )


def _digests(run: ShownRun) -> dict[str, str]:
    """The digest of each output, in the order of the paths."""
    data = run.record.read(layout.CHECKSUMS)
    if data is None:
        raise StoreError(
            f"{printable(run.path)} has no {layout.CHECKSUMS}: it is not closed",
            hint="close it with `runcard close`",
        )
    outputs = {path for path, _ in run.files}
    return {path: digest.hex for path, digest in checksums.read(data).items() if path in outputs}


def _diff(old: Record, new: Record, path: str) -> tuple[str, ...]:
    texts = [_text(run, path) for run in (old, new)]
    if texts[0] is None or texts[1] is None:
        return ()
    lines = difflib.unified_diff(
        texts[0].splitlines(), texts[1].splitlines(), "before", "now", n=1, lineterm=""
    )
    return tuple(lines)[2:]  # without the file names


def _text(run: Record, path: str) -> str | None:
    try:
        file = run.open(path)
        if file is None:
            return None
        with file:
            data = read_stream(file, _LARGEST_DIFF)
        return None if len(data) > _LARGEST_DIFF else data.decode()
    except (RuncardError, UnicodeDecodeError):
        return None


def _figure_changes(old: JsonObject, new: JsonObject) -> tuple[FigureChange, ...]:
    figures = (
        ("cost_usd", "costs", "total_cost_usd"),
        ("input_tokens", "costs", "input_tokens"),
        ("output_tokens", "costs", "output_tokens"),
        ("duration_seconds", "generation", "duration_seconds"),
        ("exit_code", "generation", "exit_code"),
    )
    return tuple(
        FigureChange(name, old[section].get(key), new[section].get(key)) for name, section, key in figures
    )


def _id(run: ShownRun) -> str | None:
    return RunFields(run.document).run_id
