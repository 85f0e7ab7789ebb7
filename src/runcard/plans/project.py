"""The project that a source belongs to, and the folder of its plans.

The root is the nearest directory above the source with `.git` (a directory, or the file of a worktree) or a `Gemfile`.
Links are resolved first, so that a source has one project wherever it is named from. Without a project, the directory of
the source is the root, and plans are stored in the system's temporary directory.
"""

import os
import stat
from dataclasses import dataclass

from runcard.errors import StoreError
from runcard.files import printable

FOLDER = "rspec_claude_metadata"

_MAX_GEMFILE = 1 << 20
_MARKERS = (".git", "Gemfile")


@dataclass(frozen=True, slots=True)
class Project:
    """The root of a project, and whether it has a `.git` or `Gemfile`."""

    root: str  # a real path
    is_marked: bool = True

    @property
    def folder(self) -> str:
        """The folder of the plans; it need not exist."""
        if self.is_marked:
            return os.path.join(self.root, "tmp", FOLDER)
        from tempfile import gettempdir  # noqa: PLC0415 - rarely needed, and slow to import

        return os.path.join(gettempdir(), f"{os.path.basename(self.root) or 'root'}_{FOLDER}")


def project_at(directory: str) -> Project | None:
    """The project that contains a directory; None if there is none."""
    return _marked_above(os.path.realpath(directory))


def _marked_above(at: str) -> Project | None:
    """The nearest marked directory at a real path or above it."""
    while True:
        if is_marked(at):
            return Project(at)
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def is_marked(directory: str) -> bool:
    """Whether a directory is the root of a project."""
    return any(os.path.lexists(f"{directory}/{marker}") for marker in _MARKERS)


def has_minitest_only(project: Project) -> bool:
    """Whether a project has tests for Minitest and none for RSpec."""
    root = project.root
    if not os.path.isdir(f"{root}/test") or any(
        os.path.lexists(f"{root}/{name}") for name in ("spec", ".rspec")
    ):
        return False
    try:
        with open(f"{root}/Gemfile", encoding="utf-8", errors="replace") as gemfile:
            return "rspec" not in gemfile.read(_MAX_GEMFILE)
    except OSError:
        return True


def given_project(root: str) -> Project:
    """The project at the root that the user passed."""
    if not os.path.isdir(root):
        raise StoreError(
            f"the root {printable(root)} is not a directory", hint="pass the root of the project"
        )
    return Project(os.path.realpath(root))


def project_of(source: str, root: str | None = None) -> tuple[Project, str]:
    """The project of a source and the source's path in it, with `/`.

    A relative source is resolved in the current directory first, then below the given `root`.
    """
    if root is None:
        real = os.path.realpath(source)
        own = os.path.dirname(real)
        project = _marked_above(own) or Project(own, is_marked=False)
    else:
        project = given_project(root)
        here = os.path.lexists(source)
        real = os.path.realpath(source if here else os.path.join(project.root, source))
    inside = os.path.relpath(real, project.root)
    if inside == os.curdir or inside.startswith(os.pardir + os.sep):
        raise StoreError(
            f"{printable(source)} is not a file below the root {printable(project.root)}",
            hint="pass a source of this project, or another --root",
        )
    return project, inside


def check_folder(project: Project) -> None:
    """Refuse a folder that is behind a link out of the project, or that other users can write to.

    The temporary directory is writable for everyone, so a folder there must belong to the user alone.
    """
    if project.is_marked:
        check_inside(project, project.folder)
        return
    folder = project.folder
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        problem = "is not a directory"
    elif status.st_uid != os.geteuid():
        problem = "is owned by another user"
    elif status.st_mode & 0o022:
        problem = "is writable by other users"
    else:
        return
    raise StoreError(
        f"{printable(folder)} {problem}: plans in it cannot be trusted",
        hint="remove it, or add a Gemfile or a git repository to the project",
    )


def check_inside(project: Project, path: str) -> None:
    """Refuse a path that a symbolic link leads out of the project; a cloned repository can contain such links."""
    real = os.path.realpath(path)
    if not project.is_marked or os.path.commonpath([project.root, real]) == project.root:
        return
    raise StoreError(
        f"{printable(path)} leads out of the project through a symbolic link to {printable(real)}",
        hint="replace the link by a real directory or file, or remove it if it is not yours",
    )


def make_folder(project: Project) -> None:
    """Create the folder of a project's plans; in the temporary directory, for this user alone."""
    if project.is_marked:
        check_inside(project, project.folder)
        os.makedirs(project.folder, exist_ok=True)
        return
    try:
        os.mkdir(project.folder, 0o700)
    except FileExistsError:
        check_folder(project)
