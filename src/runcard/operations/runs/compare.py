"""Compare two runs: which of their files are the same, and how settings, models, cost, tokens and time changed.

Files are compared by the digests in each run's SHA256SUMS; their bytes are only read to show how texts differ. The files that
runcard itself wrote always differ, and are ignored.
"""

import difflib
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

from runcard import checksums
from runcard.documents.run.fields import RunFields, model_breakdown
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import json_name, printable, read_stream
from runcard.operations.checks.show import ShownRun, show_run
from runcard.store import layout
from runcard.store.record import Record

_LARGEST_DIFF = 1 << 20  # bytes of a text that is compared line by line


class FigureChange(NamedTuple):
    """A figure before and now; None is unknown."""

    name: str
    before: float | int | None
    now: float | int | None


class SettingChange(NamedTuple):
    """A value of the configuration before and now; None is absent or unknown."""

    name: str
    before: Any
    now: Any


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
    settings: tuple[SettingChange, ...]  # those that differ

    @property
    def identical(self) -> bool:
        """Whether all outputs are the same, and both runs ended in the same way."""
        ends = [(run.status, RunFields(run.document).exit_code) for run in (self.old, self.new)]
        return not (self.differing or self.gone or self.added) and ends[0] == ends[1]

    @property
    def models(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The models that were called, before and now."""
        return _models(self.old.document), _models(self.new.document)

    @property
    def is_same(self) -> bool:
        """Whether the runs are identical, with the same configuration and the same models."""
        before, now = self.models
        return self.identical and not self.settings and sorted(before) == sorted(now)

    @property
    def has_newly_failed(self) -> bool:
        return self.new.status != "completed" and self.old.status == "completed"

    def to_dict(self) -> JsonObject:
        return {
            "old": run_reference(self.old),
            "new": run_reference(self.new),
            "identical": self.identical,
            "outputs": {
                "same": [json_name(path).text for path in self.same],
                "differing": [
                    {"path": json_name(file.path).text, "diff": list(file.diff)} for file in self.differing
                ],
                "gone": [json_name(path).text for path in self.gone],
                "added": [json_name(path).text for path in self.added],
            },
            "configuration": {
                change.name: {"before": change.before, "now": change.now} for change in self.settings
            },
            "models": dict(zip(("before", "now"), map(list, self.models), strict=True)),
            "moved": {figure.name: {"before": figure.before, "now": figure.now} for figure in self.moved},
        }


def compare(old: str | os.PathLike[str] | Record, new: str | os.PathLike[str] | Record) -> RunComparison:
    """Compare two closed runs."""
    before, now = show_run(old), show_run(new)
    ours, theirs = _digests(before), _digests(now)
    both = [path for path in ours if path in theirs]
    return RunComparison(
        before,
        now,
        tuple(path for path in both if ours[path] == theirs[path]),
        tuple(
            FileDifference(path, text_diff(before.record, path, now.record, path))
            for path in both
            if ours[path] != theirs[path]
        ),
        tuple(path for path in ours if path not in theirs),
        tuple(path for path in theirs if path not in ours),
        _figure_changes(before.document, now.document),
        _setting_changes(before.document["configuration"] or {}, now.document["configuration"] or {}),
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


def text_diff(old: Record, old_path: str, new: Record, new_path: str) -> tuple[str, ...]:
    """How two files differ, line by line; nothing unless both are texts of a moderate size."""
    texts = [_text(old, old_path), _text(new, new_path)]
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


def _setting_changes(old: JsonObject, new: JsonObject) -> tuple[SettingChange, ...]:
    changes = (SettingChange(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new]))
    return tuple(change for change in changes if change.before != change.now)


def _models(document: JsonObject) -> tuple[str, ...]:
    names = [part.get("model") for part in model_breakdown(document)]
    return tuple(dict.fromkeys(str(name) for name in names if name is not None))


def run_reference(run: ShownRun) -> JsonObject:
    """How a report in JSON names a run."""
    return {
        "path": printable(run.path),
        "run_id": RunFields(run.document).run_id,
        "status": run.status,
    }
