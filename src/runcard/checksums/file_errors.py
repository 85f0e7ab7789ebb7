"""Errors about a file that is to be hashed.

Each error names the file. For other failures of the operating system see `runcard.files.failure`.
"""

from runcard.errors import StoreError
from runcard.files import FileKind, printable


class VanishedError(StoreError):
    """The file, or a directory above it, no longer exists."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{printable(path)} is gone", hint="restore it, or try again when no process removes files there"
        )


class NotRegularError(StoreError):
    """The path is now a link, a directory, a FIFO or a device."""

    def __init__(self, path: str, kind: FileKind) -> None:
        super().__init__(
            f"{printable(path)} is not a regular file ({kind})",
            hint="put the file itself there, and try again",
        )
        self.kind = kind


class UnsteadyError(StoreError):
    """The file was written to while it was read, so that its digest would be meaningless."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{printable(path)} changed while it was read",
            hint="try again when no process writes to it",
        )
