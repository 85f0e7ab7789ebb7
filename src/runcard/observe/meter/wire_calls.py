"""The observers of exchanges: which requests are observed, and as what."""

from collections import OrderedDict

from runcard.observe.meter.exchange import ExchangeObserver, Failure, RequestHead, ResponseHead
from runcard.observe.meter.responses_socket import ResponsesSocket
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_call import WireCall
from runcard.observe.meter.wire_endpoints import NotUnderstood, classify, is_upgrade
from runcard.observe.meter.wire_facts import CallSink, MemoryBudget

_MOST_BUFFERED = 128 << 20  # bytes of requests that are kept at a time
_ATTEMPTS = 1024  # failed requests that are remembered, to recognize a retry


class WireCalls:
    """Makes the observers of exchanges; numbers the calls, and recognizes retries."""

    def __init__(self, sink: CallSink) -> None:
        self.sink = sink
        self.memory = MemoryBudget(_MOST_BUFFERED)
        self._count = 0
        self._failed: OrderedDict[bytes, str] = OrderedDict()  # call ids by the digest of the request

    def observe(self, route: Route, head: RequestHead) -> ExchangeObserver | None:
        """The observer of a request; None for one that costs nothing."""
        purpose = classify(head, route.upstream)
        if purpose is None:
            return None
        if isinstance(purpose, NotUnderstood):
            return UnknownExchange(self.sink, purpose.kind)
        if is_upgrade(head):
            return ResponsesSocket(self, purpose, route, head)
        return WireCall(self, purpose, route, head)

    def next_id(self) -> str:
        if not self._count:
            self.sink.calls_started()
        self._count += 1
        return f"call-{self._count}"

    def take_failed(self, request: bytes) -> str | None:
        """The failed call before this one with the same request; it is forgotten."""
        return self._failed.pop(request, None)

    def add_failed(self, request: bytes, call_id: str) -> None:
        self._failed[request] = call_id
        if len(self._failed) > _ATTEMPTS:
            self._failed.popitem(last=False)


class UnknownExchange:
    """A request that may cost in a way that is not understood. A refused one costs nothing."""

    def __init__(self, sink: CallSink, kind: str) -> None:
        self._sink, self._kind = sink, kind
        self._status: int | None = None

    def reply(self, head: ResponseHead) -> None:
        self._status = head.status

    def end(self) -> None:
        if self._status is None or self._status < 300:
            self._sink.not_understood(self._kind)

    def fail(self, failure: Failure, message: str) -> None:  # noqa: ARG002 - of the protocol
        if failure is not Failure.UNREACHABLE:
            self.end()

    def request_body(self, piece: bytes) -> None: ...
    def request_end(self) -> None: ...
    def reply_body(self, piece: bytes) -> None: ...
    def from_program(self, data: bytes) -> None: ...
    def from_upstream(self, data: bytes) -> None: ...
