"""Compare two runs: which of their files are the same, and how cost, tokens and time changed.

Files are compared by the digests in each run's SHA256SUMS; their bytes are only read to show how texts differ. The files that
runcard itself wrote always differ, and are ignored.
"""

import difflib
import os
from dataclasses import dataclass
from typing import NamedTuple

from runcard import checksums
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import json_name, printable, read_regular
from runcard.operations.checks.show import Shown, show
from runcard.store import layout

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

    old: Shown
    new: Shown
    same: tuple[str, ...]
    differing: tuple[FileDifference, ...]
    gone: tuple[str, ...]  # only in the old one
    added: tuple[str, ...]  # only in the new one
    moved: tuple[FigureChange, ...]

    @property
    def identical(self) -> bool:
        """Whether all outputs are the same, and the command ended in the same way."""
        ended = [run.document["generation"].get("exit_code") for run in (self.old, self.new)]
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


def compare(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> RunComparison:
    """Compare two closed runs."""
    before, now = show(old), show(new)
    ours, theirs = _digests(before), _digests(now)
    both = [path for path in ours if path in theirs]
    return RunComparison(
        before,
        now,
        tuple(path for path in both if ours[path] == theirs[path]),
        tuple(
            FileDifference(path, _diff(before.path, now.path, path))
            for path in both
            if ours[path] != theirs[path]
        ),
        tuple(path for path in ours if path not in theirs),
        tuple(path for path in theirs if path not in ours),
        _figure_changes(before.document, now.document),
    )


def _digests(run: Shown) -> dict[str, str]:
    """The digest of each output, in the order of the paths."""
    path = os.path.join(run.path, layout.CHECKSUMS)
    data = read_regular(path) if layout.may_be_file(path) else None
    if data is None:
        raise StoreError(
            f"{printable(run.path)} has no {layout.CHECKSUMS}: it is not closed",
            hint="close it with `runcard close`",
        )
    outputs = {path for path, _ in run.files}
    return {path: digest.hex for path, digest in checksums.read(data).items() if path in outputs}


def _diff(old: str, new: str, path: str) -> tuple[str, ...]:
    texts = [_text(os.path.join(run, path)) for run in (old, new)]
    if texts[0] is None or texts[1] is None:
        return ()
    lines = difflib.unified_diff(
        texts[0].splitlines(), texts[1].splitlines(), "before", "now", n=1, lineterm=""
    )
    return tuple(lines)[2:]  # without the file names


def _text(path: str) -> str | None:
    try:
        if os.path.getsize(path) > _LARGEST_DIFF:
            return None
        data = read_regular(path)
        return None if data is None else data.decode()
    except (OSError, UnicodeDecodeError):
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


def _id(run: Shown) -> str | None:
    run_id: str | None = run.document["generation"]["run_id"]
    return run_id
