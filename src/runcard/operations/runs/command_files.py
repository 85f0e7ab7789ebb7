"""The files of a command outside its run directory: its configuration, its outputs, and other files that it changes."""

import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.files import decode_name
from runcard.store import layout
from runcard.store.runs import config_file

if TYPE_CHECKING:
    from runcard.observe.changed_files import ChangedFiles, ChangeSearch
    from runcard.recording.output_watch import OutputWatch

_SHORTEST_SEARCH, _LONGEST_SEARCH = 0.02, 1.0  # seconds to look for changed files
_SEARCH_SHARE = 0.05  # of the time that the command took
_MOST_WARNINGS = 20


class CommandFiles:
    """The files of one command: prepare before it starts, and ask when it has ended."""

    def __init__(self, run: str, run_id: str, directory: str) -> None:
        self._run, self._run_id, self._directory = run, run_id, directory
        self._outputs: OutputWatch | None = None
        self._search: ChangeSearch | None = None
        self._matched: set[str] = set()  # names of the files that the output patterns select

    def write_config(self, configuration: JsonObject) -> dict[str, str]:
        """Write the configuration for the command; returns the variable that names it. Raises OSError."""
        return {config_file.VARIABLE: config_file.write_config(self._run_id, configuration)}

    def remove_config(self) -> None:
        config_file.remove_config(self._run_id)

    def watch_outputs(self, patterns: Sequence[str]) -> None:
        """Prepare to copy the files that match the patterns and that the command writes."""
        from runcard.recording.output_watch import OutputWatch  # noqa: PLC0415 - most commands have no patterns

        self._outputs = OutputWatch(patterns, self._directory)

    def copy_outputs(self) -> list[str]:
        """Copy these files into the record; returns warnings."""
        if self._outputs is None:
            return []
        from runcard.store.runs.output_copies import copy_outputs  # noqa: PLC0415

        files, omissions, warnings = self._outputs.changed()
        self._matched = {*omissions, *(file.name for file in files)}
        warnings += copy_outputs(self._run, files, omissions)
        more = len(warnings) - _MOST_WARNINGS
        return [*warnings[:_MOST_WARNINGS], *([f"--output: {more:,} more problems"] if more > 0 else ())]

    def watch_changes(self, new: os.stat_result) -> None:
        """Prepare to find files that the command changes; `new` is the directory of the run, as it was created."""
        from runcard.observe.changed_files import ChangeSearch  # noqa: PLC0415 - not with --quiet
        from runcard.store.default_excludes import GENERATED  # noqa: PLC0415

        with contextlib.suppress(OSError):  # the working directory was removed
            self._search = ChangeSearch(self._directory, new, skip=GENERATED, is_own=layout.has_own_files)

    def changes(self) -> "ChangedFiles | None":
        """The files that changed; a short command is followed by a short search."""
        if self._search is None:
            return None
        wanted = self._search.elapsed * _SEARCH_SHARE
        return self._search.run(min(_LONGEST_SEARCH, max(_SHORTEST_SEARCH, wanted)))

    def unselected(self, changed: "ChangedFiles | None") -> "ChangedFiles | None":
        """Those of the changed files that no output pattern selects; `copy_outputs` has been called."""
        if changed is None or not self._matched:
            return changed
        paths = [path for path in changed.paths if decode_name(os.fsencode(path)) not in self._matched]
        return changed._replace(paths=paths)
