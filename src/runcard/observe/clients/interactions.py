"""Google's Interactions, which `google-genai` calls by other means than the rest of Gemini.

A client makes them when they are first asked for, each time from another place; so they are watched when they are handed
out. All requests pass `do_request`, which sends, tries again and raises: there a call begins and ends.
"""

from collections.abc import Callable
from typing import Any

from runcard.accounting.vendors.fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients.call import Call, Find, begin
from runcard.observe.clients.endpoints import INTERACTIONS, provider_at
from runcard.observe.clients.http import watch_sending
from runcard.observe.clients.reply_stream import MalformedError, decoded
from runcard.observe.clients.subclassing import base_of, subclass

_NAME = "interactions"


def exchange(client: Any, keeper: Find) -> None:  # noqa: ANN401
    """Watch what a client has under this name, if its version has it."""
    base = base_of(type(client))
    if not hasattr(base, _NAME):
        return
    own = {"do_request": _request(keeper), "do_request_async": _async_request(keeper)}

    def interactions(self: Any) -> Any:  # noqa: ANN401
        found = getattr(base, _NAME).__get__(self)
        if type(found) is not kinds.get(base_of(type(found))):
            found.__class__ = kinds.setdefault(base_of(type(found)), subclass(base_of(type(found)), own))
        return found

    kinds: dict[type, type] = {}
    client.__class__ = subclass(base, {_NAME: property(interactions)})


def _begun(resource: Any, keeper: Find, request: Any, *, stream: bool) -> Call | None:  # noqa: ANN401
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

    return begin(keeper, INTERACTIONS, request.method, request.url.path, facts)


def _request(keeper: Find) -> Callable[..., Any]:
    def do_request(self: Any, hook_ctx: Any, request: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        base = base_of(type(self))
        call = _begun(self, keeper, request, stream=bool(kwargs.get("stream")))
        if call is None:
            return base.do_request(self, hook_ctx, request, *args, **kwargs)
        with call:
            response = base.do_request(self, hook_ctx, request, *args, **kwargs)
        call.returned()
        return response

    return do_request


def _async_request(keeper: Find) -> Callable[..., Any]:
    async def do_request(self: Any, hook_ctx: Any, request: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        base = base_of(type(self))
        call = _begun(self, keeper, request, stream=bool(kwargs.get("stream")))
        if call is None:
            return await base.do_request_async(self, hook_ctx, request, *args, **kwargs)
        with call:
            response = await base.do_request_async(self, hook_ctx, request, *args, **kwargs)
        call.returned()
        return response

    return do_request
