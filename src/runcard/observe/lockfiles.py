"""Lock files of package managers, by their digests.

They are searched in an absolute directory and in each one above it, up to the root of its repository: the nearest directory
with a `.git`. Paths are relative to that root, or to the directory itself outside a repository. Only regular files count;
their contents are not interpreted.

Invariant: a lock file that exists but cannot be hashed is listed with None.
"""

import os
from collections.abc import Iterator
from stat import S_ISREG

from runcard.digests import sha256_descriptor
from runcard.files import decode_name, json_name
from runcard.observe.paths import repository_root

MAX_SIZE = 64 << 20  # bytes
_NAMES = {
    *("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "pylock.toml", "conda-lock.yml", "pixi.lock"),
    *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"),
    *("Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock", "flake.lock", "mix.lock", "deno.lock"),
}
_PATTERNS = (("requirements", ".txt"), ("pylock.", ".toml"))  # start and end of a name
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def lockfiles(directory: str) -> dict[str, str | None] | None:
    """The SHA-256 of each lock file, as bare hex, by its path; None when the directory cannot be read."""
    root = repository_root(directory) or directory
    digests: dict[str, str | None] = {}
    for folder in _upwards(directory, root):
        names = _names(folder)
        if names is None and folder == directory:
            return None
        for name in filter(_is_lockfile, names or ()):
            path = os.path.join(folder, name)
            if _is_regular(path):
                digests[_text(os.path.relpath(path, root))] = _sha256(path)
    return dict(sorted(digests.items()))


def _upwards(directory: str, root: str) -> Iterator[str]:
    while directory != root:
        yield directory
        directory = os.path.dirname(directory)
    yield root


def _names(folder: str) -> list[str] | None:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):  # ValueError: no path can have a NUL
        return None


def _is_lockfile(name: str) -> bool:
    return name in _NAMES or any(name.startswith(begin) and name.endswith(end) for begin, end in _PATTERNS)


def _is_regular(path: str) -> bool:
    try:
        return S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _sha256(path: str) -> str | None:
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            status = os.fstat(descriptor)
            usable = S_ISREG(status.st_mode) and status.st_size <= MAX_SIZE
            return sha256_descriptor(descriptor).hex if usable else None
        finally:
            os.close(descriptor)
    except OSError:
        return None


def _text(path: str) -> str:
    return json_name(decode_name(os.fsencode(path))).text
