"""Which requests are model calls, and which parts of them make up the prompt.

Each vendor's table of calls is in its own module (`anthropic_openai`, `google`, `google_interactions`). Some requests
cost money in ways that are not understood here (images, sound, batches): these are only reported as not recorded.
All other requests (lists of models, uploads, counting of tokens) are ignored.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runcard.encoding import JsonObject
from runcard.observe.meter.routes import METER, true_url, upstreams_in


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One way to call a model."""

    name: str
    path: re.Pattern[str]  # matches the end of the request's path
    prompt: tuple[str, ...]  # the fields of the request that the model reads

    def prompt_of(self, body: Mapping[str, Any]) -> JsonObject:
        """The fields of the prompt that are present, as they were sent."""
        return {name: body[name] for name in self.prompt if body.get(name) is not None}


_UNRECORDED = re.compile(
    r"/(batches|videos|realtime/[a-z_]+|images/[a-z]+|audio/[a-z]+)$"
    r"|:(predict|predictLongRunning|embedContent|batchEmbedContents|batchGenerateContent|asyncBatchEmbedContent)$"
)
# The headers in which vendors name a request, in their replies.
_REQUEST_ID = ("request-id", "x-request-id", "x-goog-request-id", "apim-request-id", "x-amzn-requestid")
_LONGEST_ID = 200  # characters
_HOSTS = {
    "amazonaws.com": "aws",
    "anthropic.com": "anthropic",
    "azure.com": "azure",
    "cerebras.ai": "cerebras",
    "chatgpt.com": "openai",
    "cohere.com": "cohere",
    "deepseek.com": "deepseek",
    "fireworks.ai": "fireworks",
    "googleapis.com": "google",
    "groq.com": "groq",
    "mistral.ai": "mistral",
    "moonshot.ai": "moonshotai",
    "openai.com": "openai",
    "openrouter.ai": "openrouter",
    "perplexity.ai": "perplexity",
    "together.ai": "together",
    "together.xyz": "together",
    "voyageai.com": "voyageai",
    "x.ai": "x-ai",
}


# Hosts of a vendor that process requests in one region, which may cost more. The global host is not one of them.
_REGIONAL = re.compile(
    r"[^.]+\.api\.(openai\.com|x\.ai)|[a-z0-9-]+-aiplatform\.googleapis\.com|aiplatform\.[a-z]+\.rep\.googleapis\.com"
)


def find_endpoint(endpoints: tuple[Endpoint, ...], method: str, path: str) -> Endpoint | None:
    """The endpoint that a request calls; None when it is not a model call."""
    if method.lower() != "post":
        return None
    bare = path.partition("?")[0]
    return next((endpoint for endpoint in endpoints if endpoint.path.search(bare)), None)


def unrecorded_kind(method: str, path: str) -> str | None:
    """The kind of a model call that is not recorded, such as `batches`; None for other requests."""
    match = _UNRECORDED.search(path.partition("?")[0]) if method.lower() == "post" else None
    return match and (match[1] or match[2])


def provider_at(url: str) -> str | None:
    """The provider behind a URL; None for a proxy, a local server and any host that is not listed."""
    host = _host(url)
    return next((name for end, name in _HOSTS.items() if host == end or host.endswith(f".{end}")), None)


def regional_host(url: str) -> str | None:
    """The host of a URL, if it is a vendor's host for one region."""
    host = _host(url)
    return host if _REGIONAL.fullmatch(host) else None


def request_id(headers: Mapping[str, str]) -> str | None:
    """The id that the vendor gave to a request, in the headers of its reply."""
    value = next((value for name in _REQUEST_ID if (value := headers.get(name))), None)
    return value if isinstance(value, str) and len(value) <= _LONGEST_ID else None


def _host(url: str) -> str:
    """The host of a URL; for a program under `runcard run`, the one that the meter sends its requests on to."""
    return urlsplit(true_url(url, upstreams_in(os.environ.get(METER)))).hostname or ""
