r"""The digest of what a work tree has beyond its commit.

Commit and digest together say exactly which files there were. The recipe, as a shell would follow it in the top
directory of the work tree, with nothing configured that changes what git prints:

    { git diff HEAD --binary --full-index --no-renames --no-color --no-ext-diff --no-textconv \
          --ignore-submodules=dirty --submodule=short
      git ls-files -z --others --exclude-standard | LC_ALL=C sort -z | xargs -0 -r sha256sum --
    } | sha256sum

Before the first commit the empty tree stands in the place of HEAD. A symbolic link counts with its target as contents.
A submodule with changes of its own is listed among the files, with a `/` behind its path and its own digest by this
recipe. The part of a binary file is what git's `--binary` makes of it, which depends on the compression library.

Invariant: beyond the limits below there is no digest, and the work stays bounded in time and memory.
"""

import os
from hashlib import sha256
from stat import S_ISLNK, S_ISREG

from runcard.digests import sha256_bytes, sha256_descriptor
from runcard.files import decode_name
from runcard.observe.git.command import GitError
from runcard.observe.git.worktree import WorkTreeStatus

MOST_DIFF = 64 << 20  # bytes that git prints
MOST_CHANGED = 1 << 20  # bytes of the paths of changed files, since they are given on the command line
MOST_FILES = 10_000  # untracked
MOST_BYTES = 256 << 20  # in untracked files

_DIFF = (
    *("diff", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--ignore-submodules=dirty", "--submodule=short"),
    # The rest only undoes what may be configured.
    *("--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0", "--no-relative"),
    *("--diff-algorithm=myers", "--indent-heuristic", "--ws-error-highlight=none", "-O/dev/null"),
)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def diff_sha256(seen: WorkTreeStatus) -> str | None:
    """The digest as bare hex; None for a clean work tree, and where it cannot be known or is too much work."""
    if not seen.is_dirty:
        return None
    try:
        return _digest(seen)
    except (GitError, OSError):
        return None


def _digest(seen: WorkTreeStatus) -> str:
    if seen.filtered:
        raise GitError("what a filter would make of these files is not known")
    from runcard.checksums import Listing  # noqa: PLC0415 - brings more along than a clean work tree needs

    hasher = sha256()
    if seen.tracked:
        for block in seen.git.blocks(*_diff_command(seen), limit=MOST_DIFF):
            hasher.update(block)
    listed = {decode_name(path): digest for path, digest in (_untracked(seen) | _submodules(seen)).items()}
    hasher.update(Listing.from_hex(listed).to_bytes())
    return hasher.hexdigest()


def _diff_command(seen: WorkTreeStatus) -> tuple[bytes | str, ...]:
    """The changed paths are named: git would otherwise look at all, and write down what it saw in its index."""
    if sum(map(len, seen.tracked)) > MOST_CHANGED:
        raise GitError("too many files have changed")
    base = seen.tree.commit or seen.git.read("hash-object", "-t", "tree", os.devnull).strip()
    return ("--literal-pathspecs", *_DIFF, base, "--", *seen.tracked)


def _untracked(seen: WorkTreeStatus) -> dict[bytes, str]:
    if not seen.has_untracked:
        return {}
    printed = seen.git.read("ls-files", "-z", "--others", "--exclude-standard", *seen.tree.pathspecs)
    paths = printed.split(b"\0")[:-1]
    if len(paths) > MOST_FILES:
        raise GitError("too many files are not tracked")
    digests: dict[bytes, str] = {}
    left = MOST_BYTES
    for path in paths:
        digests[path], size = _hash(seen, os.path.join(seen.tree.top, path), left)
        left -= size
    return digests


def _hash(seen: WorkTreeStatus, path: bytes, most: int) -> tuple[str, int]:
    if S_ISLNK(os.lstat(path).st_mode):
        target = os.readlink(path)
        return sha256_bytes(target).hex, len(target)
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode) or status.st_size > most:
            raise GitError("this is no file that can be hashed")
        digest = sha256_descriptor(descriptor, on_block=lambda _: seen.git.check_time())
        return digest.hex, status.st_size
    finally:
        os.close(descriptor)


def _submodules(seen: WorkTreeStatus) -> dict[bytes, str]:
    digests: dict[bytes, str] = {}
    for path, module in seen.submodules.items():
        if module is None or module.is_dirty is not False:
            digest = None if module is None else diff_sha256(module)
            if digest is None:
                raise GitError("a submodule has changes without a digest")
            digests[path + b"/"] = digest
    return digests
