"""The options for copying a workspace, and the size limits that follow from them."""

from dataclasses import dataclass
from threading import Lock

GIB = 1024**3
MAX_FILE_SIZE = 4 * GIB
MAX_SIZE = 100 * GIB

_UNITS = ((GIB, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRules:
    """Which files are copied, and how; the defaults are those of `runcard collect`.

    `include` and `exclude` are patterns in `.gitignore` syntax. `max_size` limits all files of a session together, of
    which `used` bytes are stored already. None means no limit. With `scan`, a text file that contains a private key or a
    vendor's key is not stored, and configurations are stored with their secrets masked; with `mask`, all text files are. `kept_mode` are the
    permission bits that a copy keeps. Directories in `skip`, such as the store itself, are never entered, whatever path
    leads to them.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gitignore: bool = False
    max_file_size: int | None = MAX_FILE_SIZE
    max_size: int | None = MAX_SIZE
    used: int = 0
    mask: bool = False
    scan: bool = True
    kept_mode: int = 0o700
    skip: tuple[str, ...] = ()


class SizeLimits:
    """The size limits of one copy, and the bytes that are left; any thread may use it."""

    def __init__(self, rules: CopyRules) -> None:
        self._max_file_size, self._max_size = rules.max_file_size, rules.max_size
        self._left = 0 if rules.max_size is None else rules.max_size - rules.used
        self._lock = Lock()

    def reserve(self, size: int) -> bool:
        """Take this many bytes of those that are left; False, and none, when there are not enough."""
        with self._lock:
            if self._max_size is None:
                return True
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        with self._lock:
            self._left += size

    def reserve_file(self, size: int, reserved: int = 0) -> str | None:
        """Reserve the bytes of a file, of which `reserved` are so already; the reason when it is too large."""
        if self._max_file_size is not None and size > self._max_file_size:
            return f"larger than {size_text(self._max_file_size)}"
        if size > reserved and not self.reserve(size - reserved):
            return f"beyond the limit of {size_text(self._max_size or 0)} in all"
        return None


def size_text(size: int) -> str:
    """A limit for people: `4 GiB`, or in bytes when it is not a round number."""
    for unit, name in _UNITS:
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} bytes"
