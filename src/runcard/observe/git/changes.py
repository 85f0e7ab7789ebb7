r"""The digest of the uncommitted changes of a work tree.

Commit and digest together identify the files exactly. The recipe, as shell commands in the top directory of the work tree,
with a configuration that does not change what git prints:

    { git diff HEAD --binary --full-index --no-renames --no-color --no-ext-diff --no-textconv \
          --ignore-submodules=dirty --submodule=short
      git ls-files -z --others --exclude-standard | LC_ALL=C sort -z | xargs -0 -r sha256sum --
    } | sha256sum

Before the first commit the empty tree takes the place of HEAD. A symbolic link counts with its target as contents. A
submodule with uncommitted changes is listed among the files, with a `/` after its path and its own digest by this recipe.
The diff of a binary file is the output of git's `--binary`, which depends on the compression library.

Invariant: beyond the limits below there is no digest, and the work stays bounded in time and memory.
"""

import os
from hashlib import sha256
from stat import S_ISLNK, S_ISREG

from runcard.digests import sha256_bytes, sha256_descriptor
from runcard.files import decode_name
from runcard.observe.git.command import GitError
from runcard.observe.git.worktree import WorkTreeStatus

MAX_DIFF = 64 << 20  # bytes that git prints
MAX_PATHS = 1 << 20  # bytes of the paths of changed files, which are passed on the command line
MAX_FILES = 10_000  # untracked
MAX_BYTES = 256 << 20  # in untracked files

_DIFF = (
    *("diff", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--ignore-submodules=dirty", "--submodule=short"),
    # The rest overrides what may be configured.
    *("--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0", "--no-relative"),
    *("--diff-algorithm=myers", "--indent-heuristic", "--ws-error-highlight=none", "-O/dev/null"),
)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def diff_sha256(status: WorkTreeStatus) -> str | None:
    """The digest as bare hex; None for a clean work tree, and where it is unknown or too much work."""
    if not status.is_dirty:
        return None
    try:
        return _digest(status)
    except (GitError, OSError):
        return None


def _digest(status: WorkTreeStatus) -> str:
    if status.filtered:
        raise GitError("the output of a filter is unknown")
    from runcard.checksums import Listing  # noqa: PLC0415 - imports more than a clean work tree needs

    hasher = sha256()
    if status.tracked:
        for block in status.git.blocks(*_diff_command(status), limit=MAX_DIFF):
            hasher.update(block)
    untracked = {
        decode_name(path): digest for path, digest in (_untracked(status) | _submodules(status)).items()
    }
    hasher.update(Listing.from_hex(untracked).to_bytes())
    return hasher.hexdigest()


def _diff_command(status: WorkTreeStatus) -> tuple[bytes | str, ...]:
    """The changed paths are named: otherwise git would check all files and update its index."""
    if sum(map(len, status.tracked)) > MAX_PATHS:
        raise GitError("too many changed files")
    base = status.tree.commit or status.git.read("hash-object", "-t", "tree", os.devnull).strip()
    return ("--literal-pathspecs", *_DIFF, base, "--", *status.tracked)


def _untracked(status: WorkTreeStatus) -> dict[bytes, str]:
    if not status.has_untracked:
        return {}
    printed = status.git.read("ls-files", "-z", "--others", "--exclude-standard", *status.tree.pathspecs)
    paths = printed.split(b"\0")[:-1]
    if len(paths) > MAX_FILES:
        raise GitError("too many untracked files")
    digests: dict[bytes, str] = {}
    left = MAX_BYTES
    for path in paths:
        digests[path], size = _hash(status, os.path.join(status.tree.top, path), left)
        left -= size
    return digests


def _hash(status: WorkTreeStatus, path: bytes, most: int) -> tuple[str, int]:
    if S_ISLNK(os.lstat(path).st_mode):
        target = os.readlink(path)
        return sha256_bytes(target).hex, len(target)
    descriptor = os.open(path, _FLAGS)
    try:
        file = os.fstat(descriptor)
        if not S_ISREG(file.st_mode) or file.st_size > most:
            raise GitError("not a file that can be hashed")
        digest = sha256_descriptor(descriptor, on_block=lambda _: status.git.check_time())
        return digest.hex, file.st_size
    finally:
        os.close(descriptor)


def _submodules(status: WorkTreeStatus) -> dict[bytes, str]:
    digests: dict[bytes, str] = {}
    for path, module in status.submodules.items():
        if module is None or module.is_dirty is not False:
            digest = None if module is None else diff_sha256(module)
            if digest is None:
                raise GitError("the changes of a submodule have no digest")
            digests[path + b"/"] = digest
    return digests
