"""What a command printed, made fit for its log: without secrets, and with the line ends that the command wrote."""

from runcard.masking import Masker


class Printed:
    """The filters of all streams, and what they masked."""

    def __init__(self, *, keep_secrets: bool, from_terminal: bool) -> None:
        self._keep_secrets = keep_secrets
        self._from_terminal = from_terminal
        self._maskers: list[Masker] = []

    def filter(self) -> "_Filter":
        """A filter for a stream."""
        masker = None if self._keep_secrets else Masker()
        if masker is not None:
            self._maskers.append(masker)
        return _Filter(masker, from_terminal=self._from_terminal)

    @property
    def counts(self) -> dict[str, int]:
        """How often each rule masked something."""
        total: dict[str, int] = {}
        for masker in self._maskers:
            for rule, count in masker.counts.items():
                total[rule] = total.get(rule, 0) + count
        return total


class _Filter:
    """A terminal ends lines with CR LF where the command wrote LF: in the log they are what they were."""

    def __init__(self, masker: Masker | None, *, from_terminal: bool) -> None:
        self._masker = masker
        self._from_terminal = from_terminal
        self._held = b""  # a CR, which may be the first half of a line end

    def feed(self, data: bytes) -> bytes:
        if self._from_terminal:
            data = (self._held + data).replace(b"\r\n", b"\n")
            self._held = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(b"\r")
        return data if self._masker is None else self._masker.feed(data)

    def flush(self) -> bytes:
        if self._masker is None:
            return self._held
        return self._masker.feed(self._held) + self._masker.flush()
