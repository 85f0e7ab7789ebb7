"""The directories and links of a copy.

A directory is made with all its owner's rights. The permissions and times of its source are given to it at the very
end, when nothing is written into it any more.

Invariant: what the system refuses is raised as OSError, or returned where the thing itself is there.
"""

import os

from runcard.files import encode_name
from runcard.store.sessions.copying.omission_reasons import incomplete
from runcard.store.sessions.copying.results import Omission
from runcard.store.sessions.copying.worker import Folder


class Tree:
    """The target; with `lazy`, directories are made only when something is put into them."""

    def __init__(self, root: int, kept_mode: int, *, lazy: bool) -> None:
        self._folder = Folder(root)
        self._kept_mode, self._lazy = kept_mode, lazy
        self._made = {""}
        self._seen: dict[str, tuple[int, int, int]] = {}  # mode, time of access, time of modification

    def close(self) -> None:
        self._folder.close()

    def note(self, path: str, status: os.stat_result, *, wanted: bool) -> None:
        """A directory of the source, as it was found; one that is not wanted itself may still have to be made."""
        self._seen[path] = (status.st_mode, status.st_atime_ns, status.st_mtime_ns)
        if wanted and not self._lazy:
            self.ensure(path)

    def ensure(self, path: str) -> None:
        """Make a directory, and those above it, unless it is there."""
        missing = []
        while path not in self._made:
            missing.append(path)
            path = path.rpartition("/")[0]
        for path in reversed(missing):
            parent, _, name = path.rpartition("/")
            os.mkdir(encode_name(name), 0o700, dir_fd=self._folder.enter(encode_name(parent)))
            self._made.add(path)

    def link(self, folder: str, name: str, target: bytes, status: os.stat_result) -> str | None:
        """Make a symbolic link with the times of its source; what is missing of it, if anything."""
        self.ensure(folder)
        where, raw = self._folder.enter(encode_name(folder)), encode_name(name)
        os.symlink(target, raw, dir_fd=where)
        try:
            times = (status.st_atime_ns, status.st_mtime_ns)
            os.utime(raw, ns=times, dir_fd=where, follow_symlinks=False)
        except OSError as error:
            return incomplete(error, "times")
        return None

    def finish(self) -> list[Omission]:
        """Give the directories the times and permissions of their sources; those for which that failed."""
        omissions: list[Omission] = []
        seen = {path: each for path, each in self._seen.items() if path in self._made}
        for path, (_, accessed, modified) in seen.items():
            try:
                os.utime(b".", ns=(accessed, modified), dir_fd=self._folder.enter(encode_name(path)))
            except OSError as error:
                omissions.append(Omission(path or ".", incomplete(error, "times"), is_stored=True))
        # From the inside out: a directory may forbid its owner to enter.
        for path, (mode, _, _) in reversed(seen.items()):
            if mode & self._kept_mode != 0o700:
                try:
                    os.chmod(b".", mode & self._kept_mode, dir_fd=self._folder.enter(encode_name(path)))
                except OSError as error:
                    omissions.append(Omission(path or ".", incomplete(error, "permissions"), is_stored=True))
        return omissions
