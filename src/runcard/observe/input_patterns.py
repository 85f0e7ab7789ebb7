"""Finding the input files that a user names: by path, by pattern, or all files of a directory.

A pattern has `*`, `?`, `[…]` in a name, and `**` for any number of directories. A file that exists under the exact text of
a pattern is used itself. Hidden files and directories match only when they are named: by a path, or by a pattern that
starts with a dot at that place. A directory stands for all regular files below it.

Symbolic links are followed where they are named or matched by a pattern. Below a directory they are not followed, and a
pattern does not enter a directory through a link that its last name or `**` matched, so there are no loops.

Invariant: `warn` is called for everything that is named but not found, or found but not readable.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple

from runcard.files import FileKind
from runcard.files.globs import has_wildcard, name_matcher
from runcard.observe.paths import display_path

Warn = Callable[[str], object]


class InputFile(NamedTuple):
    """A regular file, or a link to one; `status` is that of the file."""

    path: str
    status: os.stat_result
    is_link: bool


def find_files(pattern: str, directory: str, warn: Warn) -> list[InputFile]:
    """The files that a pattern matches, relative to an absolute directory; a file may come twice, by different paths."""
    problems: list[str] = []
    paths = list(_paths(pattern, directory, problems.append))
    files = [file for path, is_named in paths for file in _files(path, problems.append, is_named=is_named)]
    for problem in problems if files or problems else [f"no file matches {display_path(pattern)}"]:
        warn(problem)
    return files


def _paths(pattern: str, directory: str, warn: Warn) -> Iterable[tuple[str, bool]]:
    """Paths that exist, and whether the user named each of them in full."""
    if not pattern or "\0" in pattern:
        return
    text = os.path.expanduser(pattern)
    path = os.path.join(directory, text)
    if os.path.lexists(path):
        yield path, True
    elif has_wildcard(text):
        start = "/" if os.path.isabs(text) else directory
        for match in expand(start, [part for part in text.split("/") if part], warn):
            yield match, False


def expand(start: str, parts: list[str], warn: Warn) -> list[str]:
    """The paths that a pattern, split into its names, matches below a directory."""
    if parts[-1] == "**":
        parts = parts[:-1]  # the directories themselves stand for all below them
    paths = [start]
    for part in parts:
        step = _plain if not has_wildcard(part) else directories_below if part == "**" else _matching
        paths = list(dict.fromkeys(match for path in paths for match in step(path, part, warn)))
    return paths


def _plain(folder: str, part: str, _: Warn) -> Iterator[str]:
    path = os.path.join(folder, part)
    if os.path.lexists(path):
        yield path


def _matching(folder: str, part: str, warn: Warn) -> Iterator[str]:
    matches = name_matcher(part)
    for entry in entries_of(folder, warn):
        if matches(entry.name) and (not entry.name.startswith(".") or part.startswith(".")):
            yield entry.path


def directories_below(folder: str, _: str, warn: Warn) -> Iterator[str]:
    """A directory and all below it."""
    pending = [folder] if os.path.isdir(folder) else []
    while pending:
        folder = pending.pop()
        yield folder
        pending += [
            entry.path
            for entry in entries_of(folder, warn)
            if entry.kind is FileKind.DIRECTORY and not entry.name.startswith(".")
        ]


class DirectoryEntry(NamedTuple):
    """An entry of a directory, with its kind."""

    name: str
    path: str
    kind: FileKind


def entries_of(folder: str, warn: Warn) -> list[DirectoryEntry]:
    """The entries of a directory; none if it is gone."""
    try:
        with os.scandir(folder) as entries:
            return [DirectoryEntry(entry.name, entry.path, _kind(entry)) for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        warn(f"cannot read the directory {display_path(folder)}: {error.strerror}")
        return []


def _kind(entry: os.DirEntry[str]) -> FileKind:
    if entry.is_symlink():
        return FileKind.SYMLINK
    if entry.is_dir(follow_symlinks=False):
        return FileKind.DIRECTORY
    return FileKind.FILE if entry.is_file(follow_symlinks=False) else FileKind.OTHER


def _files(path: str, warn: Warn, *, is_named: bool) -> Iterator[InputFile]:
    file = _look(path, warn)
    if file is None:
        return
    if S_ISREG(file.status.st_mode):
        yield file
    elif not S_ISDIR(file.status.st_mode):
        warn(f"{display_path(path)} is not a regular file and was left out")
    elif file.is_link and not is_named:
        warn(f"{display_path(path)} is a symbolic link to a directory and was not followed")
    else:
        yield from _below(path, warn)


def _look(path: str, warn: Warn) -> InputFile | None:
    try:
        status = os.lstat(path)
        if S_ISLNK(status.st_mode):
            return InputFile(path, os.stat(path), is_link=True)
    except OSError as error:
        warn(f"cannot read {display_path(path)}: {error.strerror}")
        return None
    return InputFile(path, status, is_link=False)


def _below(top: str, warn: Warn) -> Iterator[InputFile]:
    links: list[str] = []
    for folder in directories_below(top, "**", warn):
        for entry in entries_of(folder, warn):
            if entry.name.startswith(".") or entry.kind is FileKind.DIRECTORY:
                continue
            if entry.kind is FileKind.FILE:
                if file := _look(entry.path, warn):
                    yield file
            elif entry.kind is FileKind.SYMLINK:
                links.append(entry.path)
            else:
                warn(f"{display_path(entry.path)} is not a regular file and was left out")
    if links:
        count = "1 symbolic link" if len(links) == 1 else f"{len(links)} symbolic links"
        warn(
            f"{count} below {display_path(top)} not followed, the first is {display_path(min(links))}: name the files to record"
        )
