"""One exchange as the relay reports it: whatever the observer does, the bytes are passed on."""

from collections.abc import Callable
from typing import Any

from runcard.observe.meter.exchange import ExchangeObserver, Failure, ResponseHead

_LONGEST_WAITING = 1 << 20  # bytes of a request


class ExchangeReport:
    """Calls the observer of one exchange, until it ends or raises."""

    def __init__(
        self,
        make_observer: Callable[[], ExchangeObserver | None],
        method: bytes,
        add_problem: Callable[[str], None],
        *,
        proposes_upgrade: bool = False,
        is_deferred: bool = False,
    ) -> None:
        """A deferred observer is made with the reply: to make the first one takes long, as modules are loaded for it."""
        self.method = method
        self.proposes_upgrade = proposes_upgrade
        self.is_switched = False  # to another protocol
        self._make_observer = make_observer
        self._observer: ExchangeObserver | None = None
        self._is_open = False
        self._waiting: list[bytes | None] = []  # pieces of the request, and None for its end
        self._add_problem = add_problem
        if not is_deferred:
            self.open()

    def open(self) -> None:
        """Make the observer now, and report what has waited for it."""
        if self._is_open:
            return
        self._is_open = True
        self._observer = self._guarded(self._make_observer)
        for piece in self._waiting:
            if piece is None:
                self._report("request_end")
            else:
                self._report("request_body", piece)
        self._waiting = []

    def request_body(self, pieces: list[bytes]) -> None:
        if self._is_open:
            self._report_pieces("request_body", pieces)
            return
        self._waiting += pieces
        if sum(len(piece or b"") for piece in self._waiting) > _LONGEST_WAITING:
            self.open()

    def request_end(self) -> None:
        if self._is_open:
            self._report("request_end")
        else:
            self._waiting.append(None)

    def reply(self, head: ResponseHead) -> None:
        self.open()
        self._report("reply", head)

    def reply_body(self, pieces: list[bytes]) -> None:
        self._report_pieces("reply_body", pieces)

    def from_program(self, data: bytes) -> None:
        self._report("from_program", data)

    def from_upstream(self, data: bytes) -> None:
        self._report("from_upstream", data)

    def end(self) -> None:
        self._report("end")
        self._observer = None

    def fail(self, failure: Failure, message: str) -> None:
        self.open()
        self._report("fail", failure, message)
        self._observer = None

    def _report_pieces(self, name: str, pieces: list[bytes]) -> None:
        if pieces and self._observer is not None:
            self._report(name, pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def _report(self, name: str, *arguments: object) -> None:
        if self._observer is not None:
            self._guarded(getattr(self._observer, name), *arguments)

    def _guarded(self, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - what it returns
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not reach the program
            self._observer = None
            self._add_problem(f"a call could not be read: {type(error).__name__}: {error}")
            return None
