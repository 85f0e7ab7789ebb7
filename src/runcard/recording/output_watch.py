"""Find the files that a command writes outside its run directory, by the patterns of `runcard run --output`.

A pattern is written as for inputs (see `input_patterns`). The files that match are looked up before the command starts and
when it has ended: one that is new, or has another size, time or inode, was written meanwhile.

Symbolic links in the part of a pattern without wildcards are followed as they were before the command started. Below, and
where the command made them, they are not followed: the command must not choose which other files become part of the record.

Invariant: a match that was written is a file to copy or an omission; a pattern without one has a warning.
"""

import os
from collections.abc import Iterable, Iterator
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple

from runcard.files import decode_name, type_name
from runcard.files.globs import has_wildcard
from runcard.observe.input_patterns import directories_below, entries_of, expand
from runcard.observe.paths import display_path
from runcard.store import layout
from runcard.store.runs.output_copies import OutputFile, OutputFolder

_FileState = tuple[int, ...]


class _OutputMatch(NamedTuple):
    """A path that matches a pattern."""

    path: str
    status: os.stat_result
    is_named: bool  # by its full path, without wildcards


class _OutputPattern(NamedTuple):
    """A pattern: the folder that it starts in, and what follows."""

    text: str
    folder: OutputFolder
    rest: list[str]  # names, of which some have wildcards; empty for all files of the folder


class ChangedOutputs(NamedTuple):
    """The files to copy, matches that are not copied with the reason, and warnings."""

    files: list[OutputFile]
    omissions: dict[str, str]
    warnings: list[str]


class OutputWatch:
    """The files that match some patterns before a command starts, to be compared when it has ended."""

    def __init__(self, patterns: Iterable[str], directory: str) -> None:
        self._directory = directory
        self._real_directory = os.path.realpath(directory)
        self._patterns = [self._split(pattern) for pattern in patterns]
        self._before = {
            match.path: _state(match.status) for pattern in self._patterns for match in _matches(pattern, [])
        }

    def changed(self) -> ChangedOutputs:
        """The files that were created or changed since."""
        files: dict[str, OutputFile] = {}
        omissions: dict[str, str] = {}
        warnings: list[str] = []
        for pattern in self._patterns:
            matches = sorted(_matches(pattern, warnings), key=lambda match: match.path)
            written = [match for match in matches if self._before.get(match.path) != _state(match.status)]
            for match in written:
                file = OutputFile(pattern.folder, _relative(pattern.folder.path, match.path), match.is_named)
                if obstacle := _obstacle(match):
                    omissions[file.name] = obstacle
                elif file.name not in files or match.is_named:
                    files[file.name] = file
            if not written:
                reason = "no file that matches was created or changed" if matches else "no file matches"
                warnings.append(f"--output {display_path(pattern.text)}: {reason}")
        return ChangedOutputs(list(files.values()), omissions, list(dict.fromkeys(warnings)))

    def _split(self, text: str) -> _OutputPattern:
        """Find the folder that a pattern starts in: the longest part without wildcards that is a directory now."""
        expanded = os.path.expanduser(text)
        start, parts, count = self._start(expanded)
        if ".." in parts[count:]:
            start, parts, count = self._start(os.path.normpath(expanded))
        path = os.path.join(start, *parts[:count])
        return _OutputPattern(text, OutputFolder(os.path.realpath(path), self._name(path)), parts[count:])

    def _start(self, text: str) -> tuple[str, list[str], int]:
        """Where a path or pattern starts, its names, and how many of these lead to a directory."""
        start = "/" if os.path.isabs(text) else self._directory
        parts = [part for part in text.split("/") if part not in {"", "."}]
        count = 0
        while count < len(parts) and os.path.isdir(os.path.join(start, *parts[: count + 1])):
            count += 1
        return start, parts, count

    def _name(self, path: str) -> str:
        """The name of a folder in the record: relative to the working directory where it is below that."""
        real = os.path.realpath(path)
        plain = real if ".." in path.split("/") else os.path.normpath(path)
        for inner, base in ((plain, self._directory), (real, self._real_directory)):
            if inner == base:
                return ""
            if inner.startswith(os.path.join(base, "")):
                return _decoded(inner.removeprefix(os.path.join(base, "")))
        return layout.ABSOLUTE_COPIES + _decoded(plain).rstrip("/")


def _matches(pattern: _OutputPattern, problems: list[str]) -> Iterator[_OutputMatch]:
    """What matches a pattern, links and special files included; records are not searched."""
    top = pattern.folder.path
    is_literal = not any(map(has_wildcard, pattern.rest))
    exact = os.path.join(top, *pattern.rest)
    paths = [exact] if is_literal or os.path.lexists(exact) else expand(top, pattern.rest, problems.append)
    own_folders: dict[str, bool] = {}
    for path in paths:
        status = _lstat(path)
        if status is None or _is_in_record(top, os.path.dirname(path), own_folders):
            continue
        if S_ISDIR(status.st_mode):
            yield from _files_below(top, path, own_folders, problems)
        else:
            yield _OutputMatch(path, status, is_named=path == exact)


def _files_below(
    top: str, folder: str, own_folders: dict[str, bool], problems: list[str]
) -> Iterator[_OutputMatch]:
    for inner in directories_below(folder, "**", problems.append):
        if _is_in_record(top, inner, own_folders):
            continue
        for entry in entries_of(inner, problems.append):
            if entry.name.startswith("."):
                continue
            status = _lstat(entry.path)
            if status is not None and not S_ISDIR(status.st_mode):
                yield _OutputMatch(entry.path, status, is_named=False)


def _is_in_record(top: str, folder: str, own_folders: dict[str, bool]) -> bool:
    """Whether a folder is in a record, or in a folder of archives, below the folder of a pattern."""
    while folder != top and folder.startswith(os.path.join(top, "")):
        if folder not in own_folders:
            own_folders[folder] = layout.has_own_files([entry.name for entry in entries_of(folder, str)])
        if own_folders[folder]:
            return True
        folder = os.path.dirname(folder)
    return False


def _obstacle(match: _OutputMatch) -> str | None:
    """Why a match is not copied, if it is not a regular file or only a link leads to it."""
    mode = match.status.st_mode
    if S_ISLNK(mode):
        return "a symbolic link, not copied: name the file itself"
    if not S_ISREG(mode):
        return f"a {type_name(mode)}, not copied"
    folder = os.path.dirname(match.path)
    if os.path.realpath(folder) != folder:
        return "behind a symbolic link, not copied: name its folder"
    return None


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _state(status: os.stat_result) -> _FileState:
    return (
        *(status.st_dev, status.st_ino, status.st_mode, status.st_size),
        *(status.st_mtime_ns, status.st_ctime_ns),
    )


def _relative(top: str, path: str) -> str:
    return _decoded(path.removeprefix(os.path.join(top, "")))


def _decoded(path: str) -> str:
    """A path in runcard's form: its bytes as UTF-8, in every locale."""
    return decode_name(os.fsencode(path))
