"""Counting the tokens of a text on this machine: an estimate, since no vendor says beforehand how it will count.

OpenAI's tokenizers are the ones that can be had without a network. For the models of other vendors they are a good guess
at best, so a count always goes with the name of its tokenizer and is never taken for what a provider reported.

The tokenizers come with the extra `tokens`; without it nothing is counted.
"""

import importlib.util
import re
from functools import cache
from typing import Any

_USUAL = "o200k_base"
_OLDER = "cl100k_base"
_OLDER_MODELS = re.compile(r"(?:.*/)?(?:gpt-4(?!o|\.\d)|gpt-3\.5|text-embedding-)")


def can_count() -> bool:
    """Whether the extra `tokens` is installed."""
    return importlib.util.find_spec("splintr") is not None


def tokenizer_for(model: str | None) -> str:
    """The tokenizer that comes nearest to a model's own."""
    return _OLDER if model and _OLDER_MODELS.match(model.lower()) else _USUAL


def count_tokens(text: str, tokenizer: str) -> int:
    """The tokens of a plain text: what looks like a control token in it is text, too."""
    return len(_load(tokenizer).encode_ordinary(text))


@cache
def _load(tokenizer: str) -> Any:  # noqa: ANN401 - a class of the extra's
    from splintr import Tokenizer  # noqa: PLC0415 - a quarter of a second, and most programs need none

    return Tokenizer.from_pretrained(tokenizer)
