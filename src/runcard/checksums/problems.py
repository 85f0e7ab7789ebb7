"""What can be wrong with a file that is to be hashed.

Each error names the file. What the operating system refuses for other reasons is told by `runcard.files.failure`.
"""

from runcard.errors import StoreError
from runcard.files import FileKind, printable


class VanishedError(StoreError):
    """The file, or a directory above it, is not there any more."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{printable(path)} is gone", hint="put it back, or try again when nothing removes files there"
        )


class NotRegularError(StoreError):
    """Something else has the file's name: a link, a directory, a FIFO, a device."""

    def __init__(self, path: str, kind: FileKind) -> None:
        super().__init__(
            f"{printable(path)} is no regular file ({kind})", hint="put the file itself there, and try again"
        )
        self.kind = kind


class UnsteadyError(StoreError):
    """The file was written to while it was read, so no digest of it would mean anything."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{printable(path)} changed while it was read",
            hint="try again when nothing writes to it any more",
        )
