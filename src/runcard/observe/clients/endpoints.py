"""Which requests are calls of a model, and which parts of them make up the prompt.

Of requests that cost money in ways that are not understood here (images, sound, batches) it is known only that they are
such. Everything else that a client sends (lists of models, uploads, counting of tokens) passes unseen.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runcard.encoding import JsonObject


@dataclass(frozen=True, slots=True)
class Api:
    """One way to call a model."""

    name: str
    path: re.Pattern[str]  # how the path of its requests ends
    prompt: tuple[str, ...]  # the parts of a request that the model reads

    def prompt_of(self, body: Mapping[str, Any]) -> JsonObject:
        """What the model is given to read: the parts that there are, as they were sent."""
        return {name: body[name] for name in self.prompt if body.get(name) is not None}


ANTHROPIC = (
    Api("messages", re.compile(r"/messages$"), ("system", "messages", "tools")),
    Api("complete", re.compile(r"/complete$"), ("prompt",)),
)
OPENAI = (
    Api("chat", re.compile(r"/chat/completions$"), ("messages", "tools", "functions", "response_format")),
    Api("responses", re.compile(r"/responses$"), ("instructions", "prompt", "input", "tools", "text")),
    Api("completions", re.compile(r"(?<!chat)/completions$"), ("prompt", "suffix")),
    Api("embeddings", re.compile(r"/embeddings$"), ("input",)),
)
GOOGLE = (
    Api(
        "generateContent",
        re.compile(r":(streamG|g)enerateContent$"),
        ("systemInstruction", "contents", "tools", "cachedContent"),
    ),
)

INTERACTIONS = (
    Api(
        "interactions",
        re.compile(r"/interactions$"),
        ("system_instruction", "input", "tools", "previous_interaction_id"),
    ),
)

_OVERLOOKED = re.compile(
    r"/(batches|videos|realtime/[a-z_]+|images/[a-z]+|audio/[a-z]+)$"
    r"|:(predict|predictLongRunning|embedContent|batchEmbedContents|batchGenerateContent|asyncBatchEmbedContent)$"
)
_HOSTS = {
    "amazonaws.com": "aws",
    "anthropic.com": "anthropic",
    "azure.com": "azure",
    "cerebras.ai": "cerebras",
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


def find(apis: tuple[Api, ...], method: str, path: str) -> Api | None:
    """The API that a request calls, if it calls a model at all."""
    if method.lower() != "post":
        return None
    bare = path.partition("?")[0]
    return next((api for api in apis if api.path.search(bare)), None)


def unrecorded_api(method: str, path: str) -> str | None:
    """In which way a request calls a model, when it is one that is not recorded."""
    found = _OVERLOOKED.search(path.partition("?")[0]) if method.lower() == "post" else None
    return found and (found[1] or found[2])


def provider_at(address: str) -> str | None:
    """Who answers at this address; None for a proxy, a local server and everybody else who is not listed."""
    host = urlsplit(address).hostname or ""
    return next((name for end, name in _HOSTS.items() if host == end or host.endswith(f".{end}")), None)
