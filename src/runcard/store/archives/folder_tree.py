"""The folders that the paths of an archive need, whether it lists them or not.

Invariant: no path is below a file or a link, and a few long names cannot stand for folders without number.
"""

from collections.abc import Callable

from runcard.files import FileKind
from runcard.store.archives.limits import MOST_NAMES, TooMuchError


class FolderTree:
    """The folders so far; `kind` says what the archive has at a path."""

    def __init__(self, kind: Callable[[str], FileKind | None]) -> None:
        self._kind = kind
        self._folders = {""}
        self._name_bytes = 0

    def has_room(self, path: str, kind: FileKind) -> bool:
        """Whether all parents of a path are folders, and the path is not one of them; the parents are noted."""
        if kind is not FileKind.DIRECTORY and path in self._folders:
            return False
        above = path.rpartition("/")[0]
        while above not in self._folders:
            if self._kind(above) not in {None, FileKind.DIRECTORY}:
                return False
            self._folders.add(above)
            self.count(len(above))
            above = above.rpartition("/")[0]
        return True

    def count(self, size: int) -> None:
        """Count the bytes of a name that is held; raises TooMuchError when they are too many."""
        self._name_bytes += size
        if self._name_bytes > MOST_NAMES:
            raise TooMuchError(f"more than {MOST_NAMES:,} bytes of names of links and folders")
