"""How much an archive may hold, so that a hostile one cannot fill the memory or keep a command busy."""

from typing import NamedTuple

from runcard.errors import StoreError

MOST_MEMBERS = 1_000_000  # unless the listing of the record names more files
MORE_THAN_LISTED = 100_000  # directories, links and the like beside the files that it lists
SHORTEST_LINE = 68  # bytes of a listing about one file
LARGEST_DOCUMENT = 1 << 29  # bytes of a journal or a listing
MOST_DOCUMENTS = 1 << 30  # bytes of all of them
MOST_NAMES = (
    1 << 28
)  # bytes of the links' targets, and of folders that stand there only as a part of other names
MOST_EXTRA = 1 << 31  # bytes of the records that hold long names
LONGEST_PATH = 1 << 14  # four times as long as Linux takes in one piece
LONGEST_TARGET = 4095  # bytes that Linux takes
MOST_FAULTS = 1000  # that are listed


class ArchiveLimits(NamedTuple):
    """The limits that the caller sets."""

    bytes: int | None
    members: int
    can_grow: bool  # whether a listing of more files allows more members


class TooMuchError(StoreError):
    """An archive holds more than it may."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the archive is refused: it holds {what}",
            hint="`artifacts.max_size` in the settings allows more bytes",
        )
        self.what = what
