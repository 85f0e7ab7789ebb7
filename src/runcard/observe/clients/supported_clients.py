"""Which clients can be watched.

A client is recognized by the names of its classes and their modules, so that no vendor's package has to be installed. A
subclass is watched like its base, whether it is the vendor's own for another cloud or the user's.
"""

from typing import Any

from runcard.observe.clients import anthropic_openai, google
from runcard.observe.clients.call import FindListener

SUPPORTED = "anthropic.Anthropic, openai.OpenAI, their async and cloud variants, and google.genai.Client"

_GOOGLE = {("google.genai.client", "Client"), ("google.genai.client", "AsyncClient")}


def attach(client: Any, listener: FindListener) -> None:
    """Report the calls of a client to a listener, which is looked up for each call; raises TypeError for other objects."""
    for kind in type(client).__mro__:
        endpoints = anthropic_openai.ENDPOINTS.get(kind.__module__)
        if endpoints is not None and kind.__name__ in {"SyncAPIClient", "AsyncAPIClient"}:
            is_async = kind.__name__ == "AsyncAPIClient"
            anthropic_openai.watch(client, endpoints, listener, is_async=is_async)
            return
        if (kind.__module__, kind.__name__) in _GOOGLE:
            google.watch(client, listener)
            return
    raise TypeError(
        f"a {type(client).__module__}.{type(client).__qualname__} cannot be watched; supported: {SUPPORTED}"
    )
