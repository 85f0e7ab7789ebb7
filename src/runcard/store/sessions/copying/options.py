"""What the user decides about copying, and the limits when nobody decides."""

from dataclasses import dataclass

GIB = 1024**3
MAX_FILE_SIZE = 4 * GIB
MAX_SIZE = 100 * GIB

_UNITS = ((GIB, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRules:
    """Which files are copied, and how; the defaults are those of `runcard collect`.

    `include` and `exclude` are patterns in the syntax of `.gitignore`. `max_size` is the limit for all files of a session
    together, of which `used` bytes are taken already. None is no limit. With `scan`, a text file that contains a private
    key or a vendor's key is not stored; with `mask`, text files are stored without their secrets. `kept_mode` are the
    permission bits that a copy keeps of its source. Directories in `skip` are never entered, by whatever path they are
    found: the store itself, for one.
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


def size_text(size: int) -> str:
    """A limit in words: `4 GiB`, or in bytes when it is no round number."""
    for unit, name in _UNITS:
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} bytes"
