"""A temporary file without a name, for what would take too much memory.

No other program can open it, and it disappears with the process. It is in the directory for temporary files (`TMPDIR`).
"""

import os


def unnamed_file() -> int:
    """The descriptor of a new file, to read and to write."""
    import tempfile  # noqa: PLC0415 - it takes long to load, and little data needs no file

    with tempfile.TemporaryFile(prefix="runcard-") as file:
        return os.dup(file.fileno())


def write_at(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    """Write all of the data at an offset."""
    rest = memoryview(data)
    while rest:
        count = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[count:], offset + count
