"""The input files of a run: which they are, and what they held when it started.

Paths are recorded relative to the directory that the run started in where they lie below it, and absolute elsewhere.
Nothing is copied. Which files a pattern means is told by `runcard.observe.input_patterns`.

Invariant: an entry has the size and the digest of the same contents. A file for which both cannot be had, because it
cannot be read or is being written to, is named in a warning and left out.
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
    """A file to be hashed: its real path, and what it looked like before."""

    real: str
    size: int
    modified: int


def inputs(
    patterns: Iterable[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
) -> tuple[list[JsonObject], list[str]]:
    """The files that paths and patterns mean, as `data_sources.files` lists them, and warnings in words.

    Each is `path`, `bytes` and `sha256`, with `path_base64` for a name that is not UTF-8; they are sorted by the bytes of
    their paths, and none comes twice.
    """
    wanted = [os.fspath(pattern) for pattern in patterns]
    if not wanted:
        return [], []
    from runcard.observe.input_patterns import find_files  # noqa: PLC0415 - most programs have no inputs

    warnings: list[str] = []
    places = _InputPaths(absolute_path(directory))
    found: dict[str, _Input] = {}
    for pattern in wanted:
        for file in find_files(pattern, places.directory, warnings.append):
            found.setdefault(places.recorded(file.path), places.real(file))
    digests = _hashed(found, warnings, progress)
    paths = sorted(digests, key=encode_name)
    return [_entry(path, found[path].size, digests[path]) for path in paths], list(dict.fromkeys(warnings))


class InputWatch:
    """Inputs as they were when a run began, to be looked at again when it has ended."""

    def __init__(self, entries: Iterable[JsonObject], directory: str | os.PathLike[str]) -> None:
        self._directory = absolute_path(directory)
        self._seen = {path: (self._look(path), sha256) for path, sha256 in map(_recorded, entries)}

    def changes(self) -> list[str]:
        """What has happened to them meanwhile, in words; those that only look different are read again."""
        now = {path: self._look(path) for path in self._seen}
        suspects = [path for path, (before, _) in self._seen.items() if now[path] not in {before, None}]
        hexes, _ = _hash_all({self._real(path) for path in suspects}, None)
        gone = [
            f"the input {display_path(path)} vanished during the run" for path in now if now[path] is None
        ]
        changed = [path for path in suspects if hexes.get(self._real(path)) != self._seen[path][1]]
        return gone + [f"the input {display_path(path)} was changed during the run" for path in changed]

    def _look(self, path: str) -> tuple[int, ...] | None:
        try:
            status = os.stat(self._real(path))
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _real(self, path: str) -> str:
        return os.path.join(self._directory, os.fsdecode(encode_name(path)))


class _InputPaths:
    """Where paths lie. Real paths of folders are kept, because finding them takes longer than hashing a small file."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._real_folders: dict[str, str] = {}
        self._bases = (_with_slash(directory), _with_slash(_real(directory)))

    def recorded(self, path: str) -> str:
        """A path as the record names it."""
        if ".." not in path.split("/"):  # behind a link, only the system knows what `..` is
            plain = os.path.normpath(path)
            if plain.startswith(self._bases[0]):
                return _name(plain.removeprefix(self._bases[0]))
        else:
            plain = self._real_place(path)
        real = self._real_place(path)
        return _name(real.removeprefix(self._bases[1]) if real.startswith(self._bases[1]) else plain)

    def real(self, file: "InputFile") -> _Input:
        path = _real(file.path) if file.is_link else self._real_place(file.path)
        return _Input(path, file.status.st_size, file.status.st_mtime_ns)

    def _real_place(self, path: str) -> str:
        """The path with every link but a last one resolved."""
        folder, name = os.path.split(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = _real(folder)
        return os.path.join(self._real_folders[folder], name)


def _hashed(found: dict[str, _Input], warnings: list[str], progress: Progress | None) -> dict[str, str]:
    """The digest of each file that could be read and stayed as it was meanwhile."""
    hexes, troubles = _hash_all({file.real for file in found.values()}, progress)
    digests: dict[str, str] = {}
    for path, file in found.items():
        if file.real not in hexes:
            warnings.append(f"the input {display_path(path)} is left out: {troubles[file.real]}")
        elif not _is_unchanged(file):
            warnings.append(f"the input {display_path(path)} is left out: it changed while it was read")
        else:
            digests[path] = hexes[file.real]
    return digests


def _hash_all(files: set[str], progress: Progress | None) -> tuple[dict[str, str], dict[str, str]]:
    """The digests of files by their real paths, and what is wrong with those that have none."""
    if not files:
        return {}, {}
    from runcard.checksums import hash_files  # noqa: PLC0415

    root = _readable(os.path.commonpath([os.path.dirname(file) for file in files]))
    names = {_name(file.removeprefix(_with_slash(root))): file for file in sorted(files)}
    troubles: dict[str, str] = {}

    def on_error(name: str, error: RuncardError) -> None:
        troubles[names[name]] = error.message

    try:
        listing = hash_files(root, names, progress=progress, on_error=on_error)
    except RuncardError as error:  # the folder that all of them are in
        return {}, dict.fromkeys(files, error.message)
    return {names[name]: digest.hex for name, digest in listing.items()}, troubles


def _readable(folder: str) -> str:
    """This folder or the next one above that can be opened: to read a file, nobody needs to read its folder."""
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
    """The path of an entry as runcard writes names, and its digest."""
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
    """A path as runcard writes names: its bytes as UTF-8, in every locale."""
    return decode_name(os.fsencode(path))
