"""One call of a model, from its beginning to its end.

Whoever sees a part of it says so: `sending` for each attempt, `replying` when a reply begins, `feed` for its bytes or `add`
for its events, `read` when all are there; then `returned`, `end`, `close` or `fail`. The first of these that leaves nothing
to wait for settles the call: what was seen goes to its listener, once. What comes later changes nothing.

Invariants: a call is told of once; nothing that goes wrong here reaches the user's code, unless they asked for strictness.
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
from runcard.accounting.vendors.streams import StreamedReply
from runcard.encoding import JsonObject
from runcard.errors import RuncardWarning
from runcard.observe.clients.endpoints import Api, find, unrecorded_api
from runcard.observe.clients.reply_stream import (
    DONE,
    AmazonStream,
    EventStream,
    JsonReply,
    MalformedError,
    decoded,
)
from runcard.observe.clients.reply_text import ReplyText

if TYPE_CHECKING:
    from contextvars import Token

Rest = ParamSpec("Rest")


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What was seen of one call."""

    api: str
    requested_model: str | None
    provider: str | None
    prompt: Mapping[str, Any] | None  # the parts of the request that the model reads
    reply: Mapping[str, Any] | None  # as its vendor shapes it, or what the events of a stream make up
    content: Any  # the words of the reply, when they are kept
    streamed: bool
    reply_began: bool  # whether a good reply began to come
    complete: bool  # whether it came to its end
    latency: float
    first_token: float | None
    retries: int
    error: Mapping[str, Any] | None


class CallListener(Protocol):
    """Who is told of calls."""

    @property
    def strict(self) -> bool: ...  # a failure to record is the user's trouble
    @property
    def keep_content(self) -> bool: ...
    def unrecorded(self, way: str) -> None: ...
    def call_started(self, call: "ModelCall") -> None: ...
    def call_finished(self, call: "ModelCall", seen: CallFacts) -> None: ...


FindListener = Callable[[], CallListener | None]


def unseen(
    step: "Callable[Concatenate[ModelCall, Rest], None]",
) -> "Callable[Concatenate[ModelCall, Rest], None]":
    """A step in the middle of a call, whose failure is a warning: the client would take an exception for one of its own.

    Where it should raise, it is kept for the last step.
    """

    @functools.wraps(step)
    def guarded(self: "ModelCall", /, *args: Rest.args, **kwargs: Rest.kwargs) -> None:
        try:
            step(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the call goes on, whatever goes wrong here
            if self.listener.strict:
                self.trouble = self.trouble or error
            else:
                _warn(error)

    return guarded


def last(
    step: "Callable[Concatenate[ModelCall, Rest], None]",
) -> "Callable[Concatenate[ModelCall, Rest], None]":
    """A step that may end a call: what went wrong until then is raised where it should be."""
    guarded = unseen(step)

    @functools.wraps(step)
    def raising(self: "ModelCall", /, *args: Rest.args, **kwargs: Rest.kwargs) -> None:
        guarded(self, *args, **kwargs)
        trouble, self.trouble = self.trouble, None
        if trouble is not None:
            raise trouble

    return raising


@dataclass(eq=False, slots=True)
class ModelCall:
    """A call on its way."""

    listener: CallListener
    api: Api
    requested_model: str | None
    provider: str | None
    streamed: bool = False
    body: bytes | str | Mapping[str, Any] | None = None  # of the request
    on_wire: bool = True  # it is seen at the HTTP client
    waiting: bool = False  # for the rest of a reply that somebody else reads
    pulling: bool = False  # its next bytes are being read right now
    trouble: Exception | None = None  # that is to be raised in the end
    _attempts: int = 0
    _begun: bool = False
    _complete: bool = False
    _error: Mapping[str, Any] | None = None
    _refusal: Mapping[str, Any] | None = None  # by the last attempt that was
    _first: float | None = None
    _wire: EventStream | AmazonStream | JsonReply | None = None
    _reply: Mapping[str, Any] | None = None
    _stream: StreamedReply = field(default_factory=StreamedReply)
    _words: ReplyText = field(init=False)
    _started: float = field(default_factory=time.monotonic)
    _pid: int = field(default_factory=os.getpid)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _told: bool = False
    _token: "Token[ModelCall | None]" = field(init=False)

    def __post_init__(self) -> None:
        self._words = ReplyText(kept=self.listener.keep_content)

    def __enter__(self) -> None:
        """While the client works on the call, it can be found by what the client uses."""
        self._token = current.set(self)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with contextlib.suppress(ValueError):  # a coroutine may be closed in another context than it began in
            current.reset(self._token)
        if error is not None:
            self.fail(error)

    @property
    def response_id(self) -> str | None:
        """The id of the reply, once it is known."""
        reply = ReplyFields(self._reply or self._stream.reply)
        return reply.text("id", "responseId", "response_id")

    @contextlib.contextmanager
    def pull(self) -> Iterator[None]:
        """While the next bytes are read: whoever closes the reply now does so because it came to an end."""
        self.pulling = True
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        finally:
            self.pulling = False

    @unseen
    def look(self, at: Callable[[], None]) -> None:
        """Look at something of the client's that may not be what it is expected to be."""
        at()

    @unseen
    def sending(self, body: bytes | str | Mapping[str, Any] | None) -> None:
        """An attempt begins; the client makes another when it fails in a way that may pass."""
        self._attempts += 1
        self.body = body if self.body is None else self.body

    @unseen
    def replying(self, content_type: str) -> None:
        """A good reply begins; one before it, if any, could not be read."""
        self._begun, self._complete, self._error = True, False, None
        if "amazon.eventstream" in content_type:
            self._wire = AmazonStream()
        elif "event-stream" in content_type or (self.streamed and "json" not in content_type):
            self._wire = EventStream()
        else:
            self._wire = JsonReply()

    @unseen
    def refused(self, status: int, reason: str) -> None:
        """The reply to an attempt is no good; most clients raise an exception that says more."""
        self._refusal = {"type": "http-error", "message": reason, "status": status}

    @unseen
    def feed(self, piece: bytes) -> None:
        """Bytes of the reply."""
        if self._wire is not None and not self._told:
            self._take(self._wire.feed(piece))

    @unseen
    def add(self, text: str | bytes | Mapping[str, Any]) -> None:
        """The whole reply, or an event of a stream, from a client that has taken the bytes apart itself."""
        self._begun = True
        self._take(iter([text]))

    def _take(self, pieces: Iterator[Any]) -> None:
        try:
            for piece in pieces:
                self._event(decoded(piece) if isinstance(piece, bytes | str) and piece != DONE else piece)
        except MalformedError as error:
            self._error = self._error or {"type": "malformed-reply", "message": str(error)}

    def _event(self, event: Any) -> None:
        if event == DONE:
            self._complete = True
        elif not isinstance(event, Mapping):
            return
        elif isinstance(self._wire, EventStream | AmazonStream) or (self._wire is None and self.streamed):
            self._stream.add(ReplyFields(event))
            if self._words.add(event) and self._first is None:
                self._first = self._elapsed()
            self._complete = self._complete or self._stream.complete
            if self._stream.error is not None:
                self._error = self._error or _told_error(self._stream.error)
        else:
            self._reply, self._complete = event, True
            self._words.whole(event)
            if isinstance(error := event.get("error"), Mapping):
                self._error = self._error or _told_error(ReplyFields(error))
        if self._complete and self.waiting:
            self._settle()

    @unseen
    def read(self) -> None:
        """All bytes of the reply are there."""
        if self._wire is not None and not self._told:
            self._take(self._wire.end())

    @last
    def end(self) -> None:
        """Whoever read the reply came to its end."""
        if self._wire is not None and not self._told:
            self._take(self._wire.end())
        self._settle()

    def fail(self, error: BaseException) -> None:
        """The client, or the reading of its reply, raised an exception: it passes, whatever becomes of the record."""
        self._error = self._error or _raised(error)
        try:
            self._settle()
        except Exception as trouble:  # noqa: BLE001 - the user's own exception goes before it
            error.add_note(f"runcard could not record this call: {trouble}")

    @last
    def returned(self) -> None:
        """The client handed its result over; what is still to come of it is somebody else's to read."""
        if not self.waiting and not _is_unfinished(self._reply):
            self._settle()

    @last
    def finish(self, reply: Mapping[str, Any]) -> None:
        """The reply as it is later, of a call that goes on at the server after it returned."""
        if _is_unfinished(self._reply) and not _is_unfinished(reply):
            self._reply = reply
            self._settle()

    @last
    def close(self) -> None:
        """Nobody will read further; also said when somebody is in the middle of it, who then says so."""
        if not self.pulling:
            self._settle()

    def _settle(self) -> None:
        if self._pid != os.getpid():
            return  # a forked child lets go of what its parent is still reading
        with self._turn:
            if self._told:
                return
            self._told = True
        self.listener.call_finished(self, self._seen())

    def _seen(self) -> CallFacts:
        return CallFacts(
            api=self.api.name,
            requested_model=self.requested_model,
            provider=self.provider,
            prompt=self._prompt(),
            reply=self._reply or self._stream.reply or None,
            content=self._words.content,
            streamed=self.streamed,
            reply_began=self._begun,
            complete=self._complete,
            latency=self._elapsed(),
            first_token=self._first,
            retries=max(0, self._attempts - 1),
            error=self._error or (None if self._begun else self._refusal),
        )

    def _prompt(self) -> JsonObject | None:
        body: Any = self.body
        if isinstance(body, bytes | str):
            try:
                body = decoded(body)
            except MalformedError:  # not ours to judge: a user can send anything
                return None
        return self.api.prompt_of(body) if isinstance(body, Mapping) else None

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._started, 6)


current: ContextVar[ModelCall | None] = ContextVar("runcard_call", default=None)


def begin(
    listener: FindListener, apis: tuple[Api, ...], method: str, path: str, facts: Callable[[], JsonObject]
) -> ModelCall | None:
    """The call that this request is, with these facts; None when it is none, or nobody keeps it."""
    kept = None
    try:
        api = find(apis, method, path)
        way = unrecorded_api(method, path) if api is None else None
        kept = listener() if api or way else None
        if kept is not None and way is not None:
            kept.unrecorded(way)
        if kept is None or api is None:
            return None
        call = ModelCall(kept, api, **facts())
        kept.call_started(call)
    except Exception as error:
        if kept is not None and kept.strict:
            raise
        _warn(error)
        return None
    return call


def _warn(error: Exception) -> None:
    said = f"a call of a model could not be recorded: {error!r}"
    warnings.warn(said, RuncardWarning, stacklevel=4)


def _is_unfinished(reply: Mapping[str, Any] | None) -> bool:
    return reply is not None and ReplyFields(reply).text("status") in {"queued", "in_progress"}


def _raised(error: BaseException) -> JsonObject:
    said: JsonObject = {"type": type(error).__name__, "message": _text(error)}
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return said | ({"status": status} if isinstance(status, int) else {})


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception of somebody else's that cannot even be printed
        return ""


def _told_error(error: ReplyFields) -> JsonObject:
    kind = error.text("type", "status", "code") or "error"
    return {"type": kind, "message": error.text("message") or ""}
