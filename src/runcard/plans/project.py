"""Which project a source belongs to, and the folder where its plans lie.

The root is the nearest directory above the source that has `.git` (a directory, or the file of a worktree) or a
`Gemfile`. Links are resolved first, so that a source has one project however and from wherever it is named. A source
without a project has its own directory for a root, and its plans lie in the system's temporary directory.
"""

import os
import stat
from dataclasses import dataclass

from runcard.errors import StoreError
from runcard.files import printable

FOLDER = "rspec_claude_metadata"

_MARKS = (".git", "Gemfile")


@dataclass(frozen=True, slots=True)
class Project:
    """A root, and whether something there says that it is one."""

    root: str  # a real path
    is_marked: bool = True

    @property
    def folder(self) -> str:
        """Where the plans lie, whether it is there already or not."""
        if self.is_marked:
            return os.path.join(self.root, "tmp", FOLDER)
        from tempfile import gettempdir  # noqa: PLC0415 - rarely needed, and slow to import

        return os.path.join(gettempdir(), f"{os.path.basename(self.root) or 'root'}_{FOLDER}")


def project_at(directory: str) -> Project | None:
    """The project that a directory lies in; None when it lies in none."""
    return _marked_above(os.path.realpath(directory))


def _marked_above(at: str) -> Project | None:
    """The nearest marked directory at a real path or above it."""
    while True:
        if any(os.path.lexists(f"{at}/{mark}") for mark in _MARKS):
            return Project(at)
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def given_project(root: str) -> Project:
    """The project that the user named."""
    if not os.path.isdir(root):
        raise StoreError(
            f"the root {printable(root)} is not a directory", hint="name the root of the project"
        )
    return Project(os.path.realpath(root))


def project_of(source: str, root: str | None = None) -> tuple[Project, str]:
    """The project of a source and the source's path in it, with `/`.

    A relative source is looked for here first, then below a `root` that was named.
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
            hint="name a source of this project, or another --root",
        )
    return project, inside


def check_folder(project: Project) -> None:
    """Refuse a folder that is not where it seems to be: behind a link out of the project, or another user's.

    In the temporary directory everybody may write, so a folder there must be the user's alone.
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
        what = "is not a directory"
    elif status.st_uid != os.geteuid():
        what = "is owned by another user"
    elif status.st_mode & 0o022:
        what = "can be written to by other users"
    else:
        return
    raise StoreError(
        f"{printable(folder)} {what}: plans in it are not to be trusted",
        hint="remove it, or make the project known with a Gemfile or a git repository",
    )


def check_inside(project: Project, path: str) -> None:
    """Refuse a path in a project that a symbolic link leads out of it; a cloned repository can hold such links."""
    real = os.path.realpath(path)
    if not project.is_marked or os.path.commonpath([project.root, real]) == project.root:
        return
    raise StoreError(
        f"{printable(path)} leads out of the project through a symbolic link, to {printable(real)}",
        hint="remove the link if you did not put it there, or put a real directory or file in its place",
    )


def make_folder(project: Project) -> None:
    """Make the folder of a project's plans; one in the temporary directory is the user's alone."""
    if project.is_marked:
        check_inside(project, project.folder)
        os.makedirs(project.folder, exist_ok=True)
        return
    try:
        os.mkdir(project.folder, 0o700)
    except FileExistsError:
        check_folder(project)
