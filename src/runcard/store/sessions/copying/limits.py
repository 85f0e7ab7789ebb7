"""How much may be stored: in one file, and in all of them together."""

from threading import Lock

from runcard.store.sessions.copying.options import CopyRules, size_text


class Limits:
    """The limits of one copy, and what is left of them; any thread may ask."""

    def __init__(self, rules: CopyRules) -> None:
        self._largest, self._most = rules.max_file_size, rules.max_size
        self._left = 0 if rules.max_size is None else rules.max_size - rules.used
        self._lock = Lock()

    def take(self, size: int) -> bool:
        """Take so many bytes of what is left, or none when there are not enough."""
        with self._lock:
            if self._most is None:
                return True
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        with self._lock:
            self._left += size

    def refuse(self, size: int, taken: int = 0) -> str | None:
        """Why a file of this size is not stored, or None, when it is taken; `taken` bytes of it are so already."""
        if self._largest is not None and size > self._largest:
            return f"larger than {size_text(self._largest)}"
        if size > taken and not self.take(size - taken):
            return f"beyond the limit of {size_text(self._most or 0)} in all"
        return None
