"""The limits of reading a document: a hostile one must not cost much."""

from sys import maxsize
from typing import NamedTuple


class Limits(NamedTuple):
    """The limits of reading one document."""

    size: int = 64 * 1024 * 1024  # bytes
    depth: int = 1_000  # nested lists and objects
    digits: int = 4_300  # of one integer; Python's own default limit
    expansion: int = 1_000_000  # values that all aliases of one YAML document expand to


DEFAULT = Limits()
# For data that was accepted before.
NONE = Limits(size=maxsize, depth=maxsize, digits=maxsize, expansion=maxsize)
