"""How much a reader takes before it refuses: a hostile document must cost little."""

from sys import maxsize
from typing import NamedTuple


class Limits(NamedTuple):
    """The limits of reading one document."""

    size: int = 64 * 1024 * 1024  # bytes
    depth: int = 1_000  # nested lists and objects
    digits: int = 4_300  # of one integer; Python itself refuses more unless told otherwise
    expansion: int = 1_000_000  # values that the aliases of one YAML document stand for, all together


DEFAULT = Limits()
NONE = Limits(
    size=maxsize, depth=maxsize, digits=maxsize, expansion=maxsize
)  # for what was accepted once already
