"""Google's Interactions, which `google-genai` calls by other means than the rest of Gemini.

A client makes them when they are first asked for, each time from another place; so they are watched when they are handed
out. All requests pass `do_request`, which sends, tries again and raises: there a call begins and ends.
"""

from collections.abc import Callable
from typing import Any

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients.call import FindListener, ModelCall, begin
from runcard.observe.clients.endpoints import INTERACTIONS, provider_at
from runcard.observe.clients.http_client import watch_sending
from runcard.observe.clients.reply_stream import MalformedError, decoded
from runcard.observe.clients.subclassing import base_of, subclass

_NAME = "interactions"


def exchange(client: Any, listener: FindListener) -> None:
    """Watch what a client has under this name, if its version has it."""
    base = base_of(type(client))
    if not hasattr(base, _NAME):
        return
    own = {"do_request": _request(listener), "do_request_async": _async_request(listener)}

    def interactions(self: Any) -> Any:
        found = getattr(base, _NAME).__get__(self)
        if type(found) is not kinds.get(base_of(type(found))):
            found.__class__ = kinds.setdefault(base_of(type(found)), subclass(base_of(type(found)), own))
        return found

    kinds: dict[type, type] = {}
    client.__class__ = subclass(base, {_NAME: property(interactions)})


def _begun(resource: Any, listener: FindListener, request: Any, *, stream: bool) -> ModelCall | None:
    def facts() -> JsonObject:
        for http in (resource.sdk_configuration.client, resource.sdk_configuration.async_client):
            if http is not None:
                watch_sending(http)
        try:
            body = ReplyFields(as_mapping(decoded(request.content)) or {})
        except MalformedError:
            body = ReplyFields({})
        return {
            "requested_model": body.text("model", "agent"),
            "provider": provider_at(str(request.url)),
            "streamed": stream,
        }

    return begin(listener, INTERACTIONS, request.method, request.url.path, facts)


def _request(listener: FindListener) -> Callable[..., Any]:
    def do_request(self: Any, hook_ctx: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        base = base_of(type(self))
        call = _begun(self, listener, request, stream=bool(kwargs.get("stream")))
        if call is None:
            return base.do_request(self, hook_ctx, request, *args, **kwargs)
        with call:
            response = base.do_request(self, hook_ctx, request, *args, **kwargs)
        call.returned()
        return response

    return do_request


def _async_request(listener: FindListener) -> Callable[..., Any]:
    async def do_request(self: Any, hook_ctx: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        base = base_of(type(self))
        call = _begun(self, listener, request, stream=bool(kwargs.get("stream")))
        if call is None:
            return await base.do_request_async(self, hook_ctx, request, *args, **kwargs)
        with call:
            response = await base.do_request_async(self, hook_ctx, request, *args, **kwargs)
        call.returned()
        return response

    return do_request
