"""The hosts at which vendors answer model calls. Their other hosts, for logins, telemetry or documentation, are not among them."""

import re

_HOSTS = re.compile(
    r"api\.(anthropic|openai|cohere|deepseek|voyageai)\.com|api\.(groq|together|mistral|cerebras|fireworks|perplexity|moonshot|x|z|cohere)\.ai"
    r"|[^.]+\.api\.(openai\.com|x\.ai)|api\.together\.xyz|api\.moonshot\.cn|codestral\.mistral\.ai|openrouter\.ai|opencode\.ai"
    r"|chatgpt\.com|api\.githubcopilot\.com|api\.[a-z]+\.githubcopilot\.com|models\.github\.ai"
    r"|generativelanguage\.googleapis\.com|cloudcode-pa\.googleapis\.com"
    r"|([a-z0-9-]+-)?aiplatform\.googleapis\.com|aiplatform\.[a-z0-9-]+\.rep\.googleapis\.com"
    r"|bedrock-(runtime|runtime-fips|agent-runtime|mantle)\.[a-z0-9-]+\.(amazonaws\.com(\.cn)?|api\.aws)"
    r"|[^.]+\.(openai|services\.ai|cognitiveservices|models\.ai)\.azure\.com|models\.inference\.ai\.azure\.com"
    r"|dashscope(-intl|-us)?\.aliyuncs\.com|integrate\.api\.nvidia\.com|router\.huggingface\.co|api\.replicate\.com|api\.deepinfra\.com"
)


def is_model_host(host: str) -> bool:
    """Whether this is a known host of a provider; in lower case, without a dot at the end."""
    return _HOSTS.fullmatch(host) is not None
