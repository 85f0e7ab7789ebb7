"""Names of providers: as people write them, and as the price table has them.

Only names that are listed here or in a table are known: a proxy with `openai` in its name is not OpenAI.
"""

_ALIASES = {
    "anthropic": ("claude",),
    "aws": ("amazon", "amazon-bedrock", "aws-bedrock", "bedrock", "bedrock-runtime"),
    "azure": (
        "azure-ai",
        "azure-ai-foundry",
        "azure-ai-inference",
        "azure-ai-openai",
        "azure-openai",
        "az-ai-inference",
        "az-ai-openai",
    ),
    "fireworks": ("fireworks-ai",),
    "github-copilot": ("copilot",),
    "google": (
        "gcp-gemini",
        "gcp-gen-ai",
        "gcp-vertex-ai",
        "gemini",
        "google-ai-studio",
        "google-genai",
        "google-generative-ai",
        "google-vertex",
        "vertex",
        "vertex-ai",
        "vertexai",
    ),
    "mistral": ("mistral-ai", "mistralai"),
    "moonshotai": ("kimi", "moonshot", "moonshot-ai"),
    "perplexity": ("perplexity-ai",),
    "together": ("together-ai", "togetherai"),
    "voyageai": ("voyage", "voyage-ai"),
    "x-ai": ("grok", "xai"),
    "zai": ("z-ai",),
    "zhipuai": ("zhipu", "zhipu-ai"),
}
_BY_ALIAS = {alias: provider for provider, aliases in _ALIASES.items() for alias in aliases}
_SEPARATORS = str.maketrans("_. ", "---")


def canonical_name(provider: str) -> str:
    """The canonical name of a provider: `Vertex AI`, `vertex_ai` and `gcp.vertex_ai` are all `google`."""
    name = provider.strip().lower().translate(_SEPARATORS)
    return _BY_ALIAS.get(name, name)
