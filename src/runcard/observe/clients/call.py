"""One model call, from start to end.

The code that observes it reports each step: `sending` for each attempt, `replying` when a reply starts, `feed` for its
bytes or `add` for its events, `read` when all bytes are there; then `returned`, `end`, `close` or `fail`. The first of
these that leaves nothing to wait for finishes the call: its facts go to the listener, once. Later steps are ignored.

Invariants: a call is reported once; no failure in here reaches the user's code, unless the listener is strict.
"""

import contextlib
import functools
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol

from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.encoding import JsonObject
from runcard.errors import RuncardWarning
from runcard.observe.clients.endpoints import Endpoint, find_endpoint, request_id, unrecorded_kind
from runcard.observe.clients.reply_reader import ReplyReader
from runcard.observe.clients.reply_stream import MalformedError, decoded
from runcard.observe.clients.request_parameters import request_parameters

if TYPE_CHECKING:
    from contextvars import Token

Rest = ParamSpec("Rest")


@dataclass(frozen=True, slots=True)
class ExchangeFacts:
    """What only the wire shows of a call."""

    call_id: str  # unique in the run
    endpoint: str  # host and path
    status: int | None  # of the HTTP reply
    retry_of: str | None = None  # the call_id of the failed attempt before it
    client_session: str | None = None
    agent: str | None = None
    parent_agent: str | None = None


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What was observed of one call."""

    api: str
    requested_model: str | None
    provider: str | None
    prompt: Mapping[str, Any] | None  # the parts of the request that the model reads
    request: Mapping[str, Any] | None  # its parameters
    reply: Mapping[str, Any] | None  # in its vendor's format; of a stream, put together from its events
    content: Any  # the text of the reply, when it is kept
    streamed: bool
    reply_began: bool  # whether a successful reply started
    complete: bool  # whether it ended
    latency: float
    first_token: float | None
    retries: int
    error: Mapping[str, Any] | None
    regional_host: str | None  # where the call may cost more than at the vendor's global host
    request_id: str | None = None  # in the headers of the reply
    exchange: ExchangeFacts | None = None  # of a call that was observed on the wire


class CallListener(Protocol):
    """Receives the calls of watched clients."""

    @property
    def strict(self) -> bool: ...  # whether a failure to record is raised
    @property
    def keep_content(self) -> bool: ...
    def unrecorded(self, kind: str) -> None: ...
    def call_started(self, call: "ModelCall") -> None: ...
    def call_finished(self, call: "ModelCall", facts: CallFacts) -> None: ...


FindListener = Callable[[], CallListener | None]


def _guarded(
    step: "Callable[Concatenate[ModelCall, Rest], None]",
) -> "Callable[Concatenate[ModelCall, Rest], None]":
    """A step in the middle of a call. Its failure is a warning: the client would take an exception for its own.

    For a strict listener the exception is raised by the last step.
    """

    @functools.wraps(step)
    def wrapper(self: "ModelCall", /, *args: Rest.args, **kwargs: Rest.kwargs) -> None:
        try:
            step(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the call goes on, whatever goes wrong here
            if self.listener.strict:
                self.failure = self.failure or error
            else:
                _warn(error)

    return wrapper


def _last(
    step: "Callable[Concatenate[ModelCall, Rest], None]",
) -> "Callable[Concatenate[ModelCall, Rest], None]":
    """A step that may finish a call: for a strict listener it raises the first failure."""
    guarded = _guarded(step)

    @functools.wraps(step)
    def raising(self: "ModelCall", /, *args: Rest.args, **kwargs: Rest.kwargs) -> None:
        guarded(self, *args, **kwargs)
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure

    return raising


@dataclass(eq=False, slots=True)
class ModelCall:
    """A call in progress."""

    listener: CallListener
    endpoint: Endpoint
    requested_model: str | None
    provider: str | None
    regional_host: str | None = None
    streamed: bool = False
    body: bytes | str | Mapping[str, Any] | None = None  # of the request
    on_wire: bool = True  # it is observed at the HTTP client
    waiting: bool = False  # for the rest of a reply that the user's code reads
    pulling: bool = False  # its next bytes are being read right now
    failure: Exception | None = None  # to be raised by the last step
    request_id: str | None = None  # of the last attempt
    _attempts: int = 0
    _error: Mapping[str, Any] | None = None  # that the client raised
    _refusal: Mapping[str, Any] | None = None  # of the last attempt that failed
    _reader: ReplyReader = field(init=False)
    _started: float = field(default_factory=time.monotonic)
    _pid: int = field(default_factory=os.getpid)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _finished: bool = False
    _token: "Token[ModelCall | None]" = field(init=False)

    def __post_init__(self) -> None:
        self._reader = ReplyReader(self._elapsed, keep_content=self.listener.keep_content)

    def __enter__(self) -> None:
        """While the client works on the call, it is the `current` one."""
        self._token = current.set(self)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with contextlib.suppress(ValueError):  # a coroutine may be closed in another context
            current.reset(self._token)
        if error is not None:
            self.fail(error)

    @property
    def response_id(self) -> str | None:
        """The id of the reply, once it is known."""
        return self._reader.response_id

    @contextlib.contextmanager
    def pull(self) -> Iterator[None]:
        """While the next bytes are read: a reply that is closed now has ended."""
        self.pulling = True
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        finally:
            self.pulling = False

    @_guarded
    def inspect(self, look: Callable[[], None]) -> None:
        """Look at an object of the client's that may be different from what is expected."""
        look()

    @_guarded
    def sending(self, body: bytes | str | Mapping[str, Any] | None) -> None:
        """An attempt starts; the client retries some failures."""
        self._attempts += 1
        self.body = body if self.body is None else self.body

    @_guarded
    def replying(self, content_type: str) -> None:
        """A successful reply starts; one before it, if any, could not be read."""
        self._error = None
        self._reader.start(content_type, streamed=self.streamed)

    @_guarded
    def headers(self, headers: Mapping[str, str]) -> None:
        """The headers of a reply."""
        self.request_id = request_id(headers)

    @_guarded
    def refused(self, status: int, reason: str) -> None:
        """The reply to an attempt is an error; most clients raise an exception with more details."""
        self._refusal = {"type": "http-error", "message": reason, "status": status}

    @_guarded
    def feed(self, piece: bytes) -> None:
        """Bytes of the reply."""
        if not self._finished:
            self._reader.feed(piece)
            self._finish_complete()

    @_guarded
    def add(self, text: str | bytes | Mapping[str, Any]) -> None:
        """The whole reply, or an event of a stream, from a client that decodes the bytes itself."""
        self._reader.add(text, streamed=self.streamed)
        self._finish_complete()

    @_guarded
    def read(self) -> None:
        """All bytes of the reply have arrived."""
        if not self._finished:
            self._reader.end()
            self._finish_complete()

    def _finish_complete(self) -> None:
        if self._reader.complete and self.waiting:
            self._finish()

    @_last
    def end(self) -> None:
        """The user's code read the reply to its end."""
        if not self._finished:
            self._reader.end()
        self._finish()

    def fail(self, error: BaseException) -> None:
        """The client, or the reading of its reply, raised an exception, which the user gets in any case."""
        self._error = self._error or self._reader.error or _exception_fields(error)
        try:
            self._finish()
        except Exception as failure:  # noqa: BLE001 - the user's exception comes first
            error.add_note(f"runcard could not record this call: {failure}")

    @_last
    def returned(self) -> None:
        """The client returned its result; the user's code reads the rest of the reply, if any."""
        if not self.waiting and not _is_unfinished(self._reader.whole):
            self._finish()

    @_last
    def finish(self, reply: Mapping[str, Any]) -> None:
        """The later reply of a call that went on at the server after it returned."""
        if _is_unfinished(self._reader.whole) and not _is_unfinished(reply):
            self._reader.replace(reply)
            self._finish()

    @_last
    def close(self) -> None:
        """The reply was closed; when that happens while it is read, the reader reports the end."""
        if not self.pulling:
            self._finish()

    @property
    def is_in_progress(self) -> bool:
        """Whether the client still waits for the reply."""
        return not (self._finished or self.waiting or self._reader.whole)

    @_last
    def abandon(self) -> None:
        """The run of the call ends, also if the reply is being read in another thread."""
        self._finish()

    def _finish(self) -> None:
        if self._pid != os.getpid():
            return  # in a forked child: the parent still reads the reply
        with self._lock:
            if self._finished:
                return
            self._finished = True
        self.listener.call_finished(self, self._facts())

    def _facts(self) -> CallFacts:
        request, reader = self._request(), self._reader
        return CallFacts(
            api=self.endpoint.name,
            requested_model=self.requested_model,
            provider=self.provider,
            prompt=None if request is None else self.endpoint.prompt_of(request),
            request=None if request is None else request_parameters(request),
            reply=reader.reply,
            content=reader.content,
            streamed=self.streamed,
            reply_began=reader.began,
            complete=reader.complete,
            latency=self._elapsed(),
            first_token=reader.first_token,
            retries=max(0, self._attempts - 1),
            error=self._error or reader.error or (None if reader.began else self._refusal),
            regional_host=self.regional_host,
            request_id=self.request_id,
        )

    def _request(self) -> Mapping[str, Any] | None:
        body: Any = self.body
        if isinstance(body, bytes | str):
            try:
                body = decoded(body)
            except MalformedError:  # a user can send anything
                return None
        return body if isinstance(body, Mapping) else None

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._started, 6)


current: ContextVar[ModelCall | None] = ContextVar("runcard_call", default=None)


def start_call(
    find_listener: FindListener,
    endpoints: tuple[Endpoint, ...],
    method: str,
    path: str,
    facts: Callable[[], JsonObject],
) -> ModelCall | None:
    """The call that this request makes; None when it is not a model call, or there is no listener."""
    listener = None
    try:
        endpoint = find_endpoint(endpoints, method, path)
        unrecorded = unrecorded_kind(method, path) if endpoint is None else None
        listener = find_listener() if endpoint or unrecorded else None
        if listener is not None and unrecorded is not None:
            listener.unrecorded(unrecorded)
        if listener is None or endpoint is None:
            return None
        call = ModelCall(listener, endpoint, **facts())
        listener.call_started(call)
    except Exception as error:
        if listener is not None and listener.strict:
            raise
        _warn(error)
        return None
    return call


def _warn(error: Exception) -> None:
    warnings.warn(f"a model call could not be recorded: {error!r}", RuncardWarning, stacklevel=4)


def _is_unfinished(reply: Mapping[str, Any] | None) -> bool:
    return reply is not None and ReplyFields(reply).text("status") in {"queued", "in_progress"}


def _exception_fields(error: BaseException) -> JsonObject:
    fields: JsonObject = {"type": type(error).__name__, "message": _message(error)}
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return fields | ({"status": status} if isinstance(status, int) else {})


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception of the user's that cannot be printed
        return ""
