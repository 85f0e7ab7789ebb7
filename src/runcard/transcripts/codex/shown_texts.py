"""Texts that are in a file several times, in records of different kinds: each is shown once."""

from typing import Literal

Source = Literal["item", "event", "completed item", "turn end"]
_MOST_TEXTS = 1000  # whose other records may still come
_NOT_IN_ALL = ("[image]", "[audio]")


class ShownTexts:
    """Counts the texts of each source. The n-th time that a source has a text is the n-th time of all of them."""

    def __init__(self) -> None:
        self._counts: dict[int, dict[Source, int]] = {}  # by text

    def is_new(self, source: Source, kind: str, text: str) -> bool:
        """Whether no other source had this text, or not as often."""
        for part in _NOT_IN_ALL:
            text = text.replace(part, " ")
        counts = self._counts.setdefault(hash((kind, *text.split())), {})
        shown = max(counts.values(), default=0)
        counts[source] = counts.get(source, 0) + 1
        if len(self._counts) > _MOST_TEXTS:
            del self._counts[next(iter(self._counts))]
        return counts[source] > shown
