"""Prepare a command's output for its log: mask secrets, and undo the terminal's line ends."""

from runcard.masking import Masker


class OutputFilters:
    """Makes a filter for each stream, and counts what they masked."""

    def __init__(self, *, keep_secrets: bool, from_terminal: bool) -> None:
        self._keep_secrets = keep_secrets
        self._from_terminal = from_terminal
        self._maskers: list[Masker] = []

    def make(self) -> "_StreamFilter":
        """A filter for one stream."""
        masker = None if self._keep_secrets else Masker()
        if masker is not None:
            self._maskers.append(masker)
        return _StreamFilter(masker, from_terminal=self._from_terminal)

    @property
    def counts(self) -> dict[str, int]:
        """How often each rule masked something."""
        total: dict[str, int] = {}
        for masker in self._maskers:
            for rule, count in masker.counts.items():
                total[rule] = total.get(rule, 0) + count
        return total


class _StreamFilter:
    """A terminal writes CR LF where the command wrote LF: the log has what the command wrote."""

    def __init__(self, masker: Masker | None, *, from_terminal: bool) -> None:
        self._masker = masker
        self._from_terminal = from_terminal
        self._pending = b""  # a CR that may be the first half of a line end

    def feed(self, data: bytes) -> bytes:
        if self._from_terminal:
            data = (self._pending + data).replace(b"\r\n", b"\n")
            self._pending = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(b"\r")
        return data if self._masker is None else self._masker.feed(data)

    def flush(self) -> bytes:
        if self._masker is None:
            return self._pending
        return self._masker.feed(self._pending) + self._masker.flush()
