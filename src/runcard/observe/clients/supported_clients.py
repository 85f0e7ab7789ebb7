"""Which clients can be watched.

A client is known by the names of its classes and of their modules, so that no vendor's package need be there. A subclass, be
it the vendor's own for another cloud or the user's, is watched like its base.
"""

from typing import Any

from runcard.observe.clients import anthropic_openai, google
from runcard.observe.clients.call import FindListener
from runcard.observe.clients.endpoints import ANTHROPIC, OPENAI

SUPPORTED = "anthropic.Anthropic, openai.OpenAI, their async and cloud variants, and google.genai.Client"

_STAINLESS = {"anthropic._base_client": ANTHROPIC, "openai._base_client": OPENAI}
_GOOGLE = {("google.genai.client", "Client"), ("google.genai.client", "AsyncClient")}


def attach(client: Any, listener: FindListener) -> None:
    """Tell whom the listener names, at the time of each call, what the client does; raises TypeError for other objects."""
    for kind in type(client).__mro__:
        apis = _STAINLESS.get(kind.__module__)
        if apis is not None and kind.__name__ in {"SyncAPIClient", "AsyncAPIClient"}:
            anthropic_openai.exchange(client, apis, listener, is_async=kind.__name__ == "AsyncAPIClient")
            return
        if (kind.__module__, kind.__name__) in _GOOGLE:
            google.exchange(client, listener)
            return
    raise TypeError(
        f"a {type(client).__module__}.{type(client).__qualname__} cannot be watched; {SUPPORTED} can"
    )
