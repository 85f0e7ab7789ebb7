"""What is known of a model call on the wire, however it is transported: by HTTP, or as messages of a WebSocket.

While its bytes pass, only what must be read at once is read. The facts are computed when somebody asks for them.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.observe.clients.call import CallFacts, ExchangeFacts
from runcard.observe.clients.endpoints import Endpoint, provider_at, regional_host, request_id
from runcard.observe.clients.reply_reader import MALFORMED, ReplyReader
from runcard.observe.clients.request_parameters import request_parameters
from runcard.observe.meter.callers import caller_of
from runcard.observe.meter.content_coding import CodingError
from runcard.observe.meter.exchange import Failure, RequestHead
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_endpoints import host_of, model_in_path, path_of

if TYPE_CHECKING:
    from runcard.encoding import JsonObject
    from runcard.observe.meter.exchange import ResponseHead

_LONGEST_MESSAGE = 1000  # characters of an error's message
_CANCELLED = (Failure.CLIENT_GONE, Failure.TIMEOUT, Failure.ENDED)
_MESSAGES = {
    Failure.CLIENT_GONE: "the program closed the connection",
    Failure.UNREACHABLE: "the provider cannot be reached",
    Failure.CUT: "the provider closed the connection",
    Failure.TIMEOUT: "the connection timed out",
    Failure.ENDED: "the run ended first",
    Failure.NOT_UNDERSTOOD: "the bytes of the connection are not understood",
}


class FinishedCall(Protocol):
    """A call that is over. Its facts are computed on demand: that may take a while."""

    def facts(self) -> CallFacts: ...


class CallSink(Protocol):
    """Receives the calls that passed the relay, in the relay's thread."""

    @property
    def keep_content(self) -> bool: ...
    def calls_started(self) -> None: ...  # the first call begins
    def call_finished(self, call: FinishedCall) -> None: ...
    def not_understood(self, kind: str) -> None: ...  # something that may have cost
    def unreadable(self, problem: str) -> None: ...  # a part of a call that could not be read


class MemoryBudget:
    """How many bytes may be kept at a time, of all calls together."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.RLock()  # bytes may be given back by a finalizer, in the middle of `take`

    def take(self, size: int) -> bool:
        """Whether there is room for so many bytes more; they are taken."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        with self._lock:
            self._left += size


class CallRegistry(Protocol):
    """Numbers the calls of a run, and recognizes retries."""

    sink: CallSink
    memory: MemoryBudget

    def next_id(self) -> str: ...
    def take_failed(self, request: bytes) -> str | None: ...
    def add_failed(self, request: bytes, call_id: str) -> None: ...


class CallOnWire(ABC):
    """A model call that passes the relay."""

    def __init__(self, calls: CallRegistry, endpoint: Endpoint, route: Route, head: RequestHead) -> None:
        self.calls, self.endpoint, self.route, self.head = calls, endpoint, route, head
        self.path = path_of(head.target)
        self.call_id = calls.next_id()
        self.retry_of: str | None = None
        self.reply_head: ResponseHead | None = None
        self.reader = ReplyReader(self._elapsed, keep_content=calls.sink.keep_content)
        self.streamed = False
        self.is_sent = False  # the request, completely
        self.error: JsonObject | None = None
        self.problem: str | None = None  # why the reply could not be read
        self._may_be_billed = False
        self._latency = 0.0
        self._started = head.arrived or time.monotonic()

    @property
    @abstractmethod
    def request_digest(self) -> bytes:
        """To recognize the same request."""

    @abstractmethod
    def request(self) -> Mapping[str, Any] | None:
        """The request as data; None when it could not be read."""

    def set_failure(self, failure: Failure, message: str) -> None:
        """The call ended before its reply was complete."""
        self.error = {"type": failure.value, "message": (message or _MESSAGES[failure])[:_LONGEST_MESSAGE]}
        is_cancelled = self.is_sent and failure in _CANCELLED and self.reply_head is None
        self._may_be_billed = is_cancelled or failure is Failure.NOT_UNDERSTOOD
        if failure is Failure.NOT_UNDERSTOOD:
            self.problem = self.problem or self.error["message"]

    def set_error(self, error: Mapping[str, Any]) -> None:
        """The provider reported an error."""
        self.error = {**error, "message": str(error["message"])[:_LONGEST_MESSAGE]}
        if error["type"] == MALFORMED:
            self.problem = self.error["message"]

    def give_up(self, error: Exception) -> None:
        """The rest of the call is not read."""
        is_known = isinstance(error, CodingError)
        self.problem = self.problem or (str(error) if is_known else f"{type(error).__name__}: {error}")

    def report(self) -> None:
        """The call is over."""
        self._latency = self._elapsed()
        sink = self.calls.sink
        if self.problem is not None:
            self.error = self.error or {"type": MALFORMED, "message": self.problem[:_LONGEST_MESSAGE]}
            sink.unreadable(f"{self._endpoint_name}: {self.problem}")
        if self.error is not None:
            self.calls.add_failed(self.request_digest, self.call_id)
        sink.call_finished(self)

    def facts(self) -> CallFacts:
        """What was observed."""
        request, reader, head = self.request(), self.reader, self.reply_head
        return CallFacts(
            api=self.endpoint.name,
            requested_model=_requested_model(request, self.path),
            provider=provider_at(self.route.upstream),
            prompt=None if request is None else self.endpoint.prompt_of(request),
            request=None if request is None else request_parameters(request),
            reply=reader.reply,
            content=reader.content,
            streamed=self.streamed or (request or {}).get("stream") is True,
            reply_began=reader.began or self._may_be_billed,
            complete=self.error is None,
            latency=self._latency,
            first_token=reader.first_token,
            retries=0,
            error=self.error,
            regional_host=regional_host(self.route.upstream),
            request_id=None if head is None else request_id(dict(reversed(head.headers))),
            exchange=self._exchange(),
        )

    def _exchange(self) -> ExchangeFacts:
        caller = caller_of(self.head.headers)
        return ExchangeFacts(
            call_id=self.call_id,
            endpoint=self._endpoint_name,
            status=None if self.reply_head is None else self.reply_head.status,
            retry_of=self.retry_of,
            client_session=caller.session,
            agent=caller.agent,
            parent_agent=caller.parent_agent,
        )

    @property
    def _endpoint_name(self) -> str:
        return f"{host_of(self.route.upstream)}{self.path}"

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._started, 6)


def _requested_model(request: Mapping[str, Any] | None, path: str) -> str | None:
    model = ReplyFields(request or {}).text("model", "agent")
    return model.removeprefix("models/") if model else model_in_path(path)
