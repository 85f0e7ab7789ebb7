"""The input files of a run: their paths, sizes and digests when it started.

Paths below the directory in which the run started are recorded relative to it, others as absolute paths. Nothing is
copied. `input_patterns` finds the files that a pattern matches.

Invariant: an entry has the size and the digest of the same contents. A file that cannot be read, or is being written, is
named in a warning and left out.
"""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import decode_name, encode_name, json_name
from runcard.observe.paths import absolute_path, display_path

if TYPE_CHECKING:
    from runcard.observe.input_patterns import InputFile

Progress = Callable[[int, int], object]  # files and bytes so far


class _Input(NamedTuple):
    """A file to be hashed: its real path, and its size and time before."""

    real: str
    size: int
    modified: int


def inputs(
    patterns: Iterable[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
) -> tuple[list[JsonObject], list[str]]:
    """The files that paths and patterns match, as entries of `data_sources.files`, and warnings.

    Each is `path`, `bytes` and `sha256`, with `path_base64` for a name that is not UTF-8; they are sorted by the bytes of
    their paths, and none comes twice.
    """
    texts = [os.fspath(pattern) for pattern in patterns]
    if not texts:
        return [], []
    from runcard.observe.input_patterns import find_files  # noqa: PLC0415 - most programs have no inputs

    warnings: list[str] = []
    paths = _InputPaths(absolute_path(directory))
    files: dict[str, _Input] = {}
    for pattern in texts:
        for file in find_files(pattern, paths.directory, warnings.append):
            files.setdefault(paths.recorded(file.path), paths.real(file))
    digests = _hashed(files, warnings, progress)
    entries = [_entry(path, files[path].size, digests[path]) for path in sorted(digests, key=encode_name)]
    return entries, list(dict.fromkeys(warnings))


class InputWatch:
    """Inputs as they were when a run started, to be compared when it has ended."""

    def __init__(self, entries: Iterable[JsonObject], directory: str | os.PathLike[str]) -> None:
        self._directory = absolute_path(directory)
        self._initial = {path: (self._status(path), sha256) for path, sha256 in map(_recorded, entries)}

    def changes(self) -> list[str]:
        """A message for each input that vanished or changed; those with another size or time are hashed again."""
        now = {path: self._status(path) for path in self._initial}
        suspects = [path for path, (before, _) in self._initial.items() if now[path] not in {before, None}]
        hexes, _ = hash_all({self._real(path) for path in suspects})
        gone = [
            f"the input {display_path(path)} vanished during the run" for path in now if now[path] is None
        ]
        changed = [path for path in suspects if hexes.get(self._real(path)) != self._initial[path][1]]
        return gone + [f"the input {display_path(path)} was changed during the run" for path in changed]

    def _status(self, path: str) -> tuple[int, ...] | None:
        try:
            status = os.stat(self._real(path))
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _real(self, path: str) -> str:
        return os.path.join(self._directory, os.fsdecode(encode_name(path)))


class _InputPaths:
    """Paths as they are recorded. Real paths of folders are cached: resolving takes longer than hashing a small file."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._real_folders: dict[str, str] = {}
        self._bases = (_with_slash(directory), _with_slash(_real(directory)))

    def recorded(self, path: str) -> str:
        """A path as the record names it."""
        if ".." not in path.split("/"):  # after a link, only the system can resolve `..`
            plain = os.path.normpath(path)
            if plain.startswith(self._bases[0]):
                return _name(plain.removeprefix(self._bases[0]))
        else:
            plain = self._resolve_folder(path)
        real = self._resolve_folder(path)
        return _name(real.removeprefix(self._bases[1]) if real.startswith(self._bases[1]) else plain)

    def real(self, file: "InputFile") -> _Input:
        path = _real(file.path) if file.is_link else self._resolve_folder(file.path)
        return _Input(path, file.status.st_size, file.status.st_mtime_ns)

    def _resolve_folder(self, path: str) -> str:
        """The path with every link but a last one resolved."""
        folder, name = os.path.split(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = _real(folder)
        return os.path.join(self._real_folders[folder], name)


def _hashed(files: dict[str, _Input], warnings: list[str], progress: Progress | None) -> dict[str, str]:
    """The digest of each file that could be read and stayed as it was meanwhile."""
    hexes, problems = hash_all({file.real for file in files.values()}, progress)
    digests: dict[str, str] = {}
    for path, file in files.items():
        if file.real not in hexes:
            warnings.append(f"the input {display_path(path)} is left out: {problems[file.real]}")
        elif not _is_unchanged(file):
            warnings.append(f"the input {display_path(path)} is left out: it changed while it was read")
        else:
            digests[path] = hexes[file.real]
    return digests


def hash_all(files: set[str], progress: Progress | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """The digests of files by their real paths, and a message for each file without one."""
    if not files:
        return {}, {}
    from runcard.checksums import hash_files  # noqa: PLC0415

    root = _readable(os.path.commonpath([os.path.dirname(file) for file in files]))
    names = {_name(file.removeprefix(_with_slash(root))): file for file in sorted(files)}
    problems: dict[str, str] = {}

    def on_error(name: str, error: RuncardError) -> None:
        problems[names[name]] = error.message

    try:
        listing = hash_files(root, names, progress=progress, on_error=on_error)
    except RuncardError as error:  # the folder that all of them are in
        return {}, dict.fromkeys(files, error.message)
    return {names[name]: digest.hex for name, digest in listing.items()}, problems


def _readable(folder: str) -> str:
    """This folder, or the next one above that can be opened: a file can be readable in a folder that is not."""
    while not os.access(folder, os.R_OK) and folder != "/":
        folder = os.path.dirname(folder)
    return folder


def _is_unchanged(file: _Input) -> bool:
    try:
        status = os.stat(file.real)
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (file.size, file.modified)


def _entry(path: str, size: int, digest: str) -> JsonObject:
    text, base64 = json_name(path)
    name = {"path": text} if base64 is None else {"path": text, "path_base64": base64}
    return {**name, "bytes": size, "sha256": digest}


def _recorded(entry: JsonObject) -> tuple[str, str]:
    """The path of an entry in runcard's form, and its digest."""
    if "path_base64" not in entry:
        return entry["path"], entry["sha256"]
    from base64 import b64decode  # noqa: PLC0415 - hardly any name needs it

    return decode_name(b64decode(entry["path_base64"])), entry["sha256"]


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:  # a relative one, when the current directory is gone
        return path


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else path + "/"


def _name(path: str) -> str:
    """A path in runcard's form: its bytes as UTF-8, in every locale."""
    return decode_name(os.fsencode(path))
