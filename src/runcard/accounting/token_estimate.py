"""Counting the tokens of a text locally: an estimate, since vendors count in their own way.

Only OpenAI's tokenizers are available offline. For models of other vendors they are an approximation, so a count always goes
with the name of its tokenizer and is never mixed with what a vendor reported.

The tokenizers come with the extra `tokens`; without it nothing is counted.
"""

import re
from functools import cache
from typing import Any

from runcard.extras import missing_modules

_DEFAULT = "o200k_base"
_OLDER = "cl100k_base"
_OLDER_MODELS = re.compile(r"(?:.*/)?(?:gpt-4(?!o|\.\d)|gpt-3\.5|text-embedding-)")


def can_count() -> bool:
    """Whether the extra `tokens` is installed."""
    return not missing_modules("tokens")


def tokenizer_for(model: str | None) -> str:
    """The tokenizer that is closest to a model's own."""
    return _OLDER if model and _OLDER_MODELS.match(model.lower()) else _DEFAULT


def count_tokens(text: str, tokenizer: str) -> int:
    """The tokens of a plain text; control tokens in it count as text."""
    return len(_load(tokenizer).encode_ordinary(text))


@cache
def _load(tokenizer: str) -> Any:  # noqa: ANN401 - a class of the extra's
    from splintr import Tokenizer  # noqa: PLC0415 - takes a quarter of a second to load

    return Tokenizer.from_pretrained(tokenizer)
