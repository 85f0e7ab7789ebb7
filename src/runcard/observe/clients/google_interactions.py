"""Google's Interactions API, which `google-genai` calls in another way than the rest of Gemini.

A client creates the `interactions` object on access, so that is when it is watched. All requests pass `do_request`, which
sends, retries and raises: a call starts and ends there.
"""

import re
from collections.abc import Callable
from typing import Any

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients.call import FindListener, ModelCall, start_call
from runcard.observe.clients.endpoints import Endpoint, provider_at
from runcard.observe.clients.http_client import watch_sending
from runcard.observe.clients.reply_stream import MalformedError, decoded
from runcard.observe.clients.subclassing import base_of, subclass

INTERACTIONS = (
    Endpoint(
        "interactions",
        re.compile(r"/interactions$"),
        ("system_instruction", "input", "tools", "previous_interaction_id"),
    ),
)
_NAME = "interactions"


def watch(client: Any, listener: FindListener) -> None:
    """Watch the `interactions` of a client, if its version has them."""
    base = base_of(type(client))
    if not hasattr(base, _NAME):
        return
    members = {"do_request": _request(listener), "do_request_async": _async_request(listener)}

    def interactions(self: Any) -> Any:
        resource = getattr(base, _NAME).__get__(self)
        if type(resource) is not kinds.get(base_of(type(resource))):
            resource.__class__ = kinds.setdefault(
                base_of(type(resource)), subclass(base_of(type(resource)), members)
            )
        return resource

    kinds: dict[type, type] = {}
    client.__class__ = subclass(base, {_NAME: property(interactions)})


def _start_call(resource: Any, listener: FindListener, request: Any, *, stream: bool) -> ModelCall | None:
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

    return start_call(listener, INTERACTIONS, request.method, request.url.path, facts)


def _request(listener: FindListener) -> Callable[..., Any]:
    def do_request(self: Any, hook_ctx: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        base = base_of(type(self))
        call = _start_call(self, listener, request, stream=bool(kwargs.get("stream")))
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
        call = _start_call(self, listener, request, stream=bool(kwargs.get("stream")))
        if call is None:
            return await base.do_request_async(self, hook_ctx, request, *args, **kwargs)
        with call:
            response = await base.do_request_async(self, hook_ctx, request, *args, **kwargs)
        call.returned()
        return response

    return do_request
