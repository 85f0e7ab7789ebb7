"""Writing many plans in one command: their folder is synced once for several of them, and searched once for old files.

Each plan is on disk before it gets its name, so a crash leaves the old plan or the new one. `sync` makes the names durable:
call it before the plans are reported as written.
"""

import os

from runcard.files import Sync, failure, fsync_directory, write_atomic
from runcard.files.temporary_files import remove_temporary_files_for
from runcard.plans.known_projects import note_project
from runcard.plans.project import Project


class PlanWrites:
    """The plans that one command writes."""

    def __init__(self) -> None:
        self._changed: set[str] = set()  # folders to sync
        self._searched: set[str] = set()  # folders in which abandoned temporary files were looked for

    def write(self, path: str, data: bytes, project: Project) -> None:
        """Write a plan of a project."""
        try:
            write_atomic(path, data, sync=Sync.CONTENTS)
        except OSError as error:
            raise failure(error, path, "write") from error
        real = os.path.dirname(os.path.realpath(path))
        self._changed.add(real)
        if real != os.path.realpath(project.folder):
            remove_temporary_files_for(path)
        elif real not in self._searched:
            self._searched.add(real)
            remove_temporary_files_for(path, others=True)
            note_project(project.root)

    def sync(self) -> None:
        """Make all plans written so far durable."""
        for folder in sorted(self._changed):
            try:
                fsync_directory(folder)
            except OSError as error:
                raise failure(error, folder, "sync") from error
            self._changed.discard(folder)
