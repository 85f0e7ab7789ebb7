"""Where the symbolic links of an archive would lead once it is unpacked.

A link is resolved as the operating system does it: through other links of the same archive, `..` counting from where a
link has led. Names that a file system may take for the same one (`A` and `a`) are taken for the same one here.

Invariant: what `escaping_link` lets pass cannot lead out of the folder that the archive is unpacked into.
"""

from collections.abc import Iterable
from unicodedata import normalize

from runcard.checksums import Symlink

_MOST_HOPS = 40  # as many links as Linux follows for one path
_OUT = None


def escaping_link(links: Iterable[Symlink], folder: str = "") -> Symlink | None:
    """The first link that leads out of a folder of the archive, or that could lead to two places; None for none."""
    targets: dict[str, str] = {}
    all_links = list(links)
    for link in all_links:
        if targets.setdefault(_key(link.path), link.target) != link.target:
            return link
    resolver = _Resolver(targets)
    inside = _key(folder)
    for link in all_links:
        place = resolver.resolve(_key(link.path), 0)
        if place is _OUT or (inside and f"{place}/".find(f"{inside}/") != 0):
            return link
    return None


def _key(path: str) -> str:
    return path if path.isascii() and path.islower() else normalize("NFC", path).casefold()


class _Resolver:
    """Resolves each link once, and remembers where it leads."""

    def __init__(self, targets: dict[str, str]) -> None:
        self._targets = targets
        self._places: dict[str, str | None] = {}

    def resolve(self, link: str, hops: int) -> str | None:
        """The place that a link leads to, which passes through no link; None when that is outside, or nowhere."""
        if link not in self._places:
            target = self._targets[link]
            if hops > _MOST_HOPS or target.startswith("/"):
                return _OUT
            self._places[link] = _OUT  # until it is known: a link that leads to itself leads nowhere
            self._places[link] = self._walk(link.rpartition("/")[0], _key(target), hops + 1)
        return self._places[link]

    def _walk(self, place: str, path: str, hops: int) -> str | None:
        at: str | None = self._entered(place, hops)
        for part in path.split("/"):
            if at is None or (part == ".." and not at):
                return _OUT
            if part == "..":
                at = at.rpartition("/")[0]
            elif part not in {"", "."}:
                at = self._step(at, part, hops)
        return at

    def _entered(self, folder: str, hops: int) -> str | None:
        """A folder of the archive, with the links in its path followed."""
        at: str | None = ""
        for part in folder.split("/") if folder else ():
            at = None if at is None else self._step(at, part, hops)
        return at

    def _step(self, at: str, part: str, hops: int) -> str | None:
        inner = f"{at}/{part}" if at else part
        return self.resolve(inner, hops) if inner in self._targets else inner
