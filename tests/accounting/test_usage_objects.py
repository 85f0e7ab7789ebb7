"""Replies as objects: those of the vendors' own libraries, and anything that looks like them."""

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from accounting.replies import ANTHROPIC, CHAT, GEMINI, RESPONSE, Reply
from runcard import accounting
from runcard.accounting import Tokens, read_usage
from runcard.accounting.vendors.reply_fields import as_mapping
from runcard.errors import UsageError


def same_as_plain(found: Any, reply: Reply) -> None:
    assert read_usage(found) == read_usage(reply)
    key = "usage_metadata" if hasattr(found, "usage_metadata") else "usage"
    assert read_usage(getattr(found, key)).tokens == read_usage(reply).tokens
    assert read_usage(found.model_dump()) == read_usage(reply)
    assert read_usage(json.loads(found.model_dump_json())) == read_usage(reply)


def test_a_message_of_anthropic() -> None:
    types = import_module("anthropic.types")
    same_as_plain(types.Message(**ANTHROPIC), ANTHROPIC)
    bare = read_usage(types.Usage(input_tokens=3, output_tokens=2))
    assert (bare.provider, bare.source, bare.tokens) == ("anthropic", "reported", Tokens(3, 2))


def test_the_events_of_an_anthropic_stream() -> None:
    types = import_module("anthropic.types")
    start = types.RawMessageStartEvent(
        type="message_start", message=types.Message(**{**ANTHROPIC, "stop_reason": None})
    )
    assert read_usage(start).source == "partial"
    end = types.RawMessageDeltaEvent(
        type="message_delta", delta={"stop_reason": "end_turn"}, usage={"input_tokens": 4, "output_tokens": 9}
    )
    found = read_usage(end)
    assert (found.source, found.stop_reason, found.tokens) == ("reported", "end_turn", Tokens(4, 9))


def test_a_beta_message_of_anthropic_with_calls_inside() -> None:
    types = import_module("anthropic.types.beta")
    entry = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 7, "input_tokens": 5}
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "iterations": [{"type": "compaction", "output_tokens": 3, **entry}],
    }
    found = read_usage(types.BetaMessage(**{**ANTHROPIC, "usage": usage}))
    assert [call.tokens for call in found.also] == [Tokens(12, 3, 7, 0, 0)]


def test_a_chat_completion_of_openai() -> None:
    types = import_module("openai.types.chat")
    same_as_plain(types.ChatCompletion(**CHAT), CHAT)


def test_a_response_of_openai() -> None:
    types = import_module("openai.types.responses")
    same_as_plain(types.Response(**RESPONSE), RESPONSE)
    event = types.ResponseCompletedEvent(
        type="response.completed", sequence_number=1, response=types.Response(**RESPONSE)
    )
    assert read_usage(event) == read_usage(RESPONSE)


def test_a_reply_of_google_genai() -> None:
    types = import_module("google.genai.types")
    found = types.GenerateContentResponse(**GEMINI)
    same_as_plain(found, GEMINI)
    assert read_usage(found.to_json_dict()) == read_usage(GEMINI)
    assert read_usage(found.model_dump(by_alias=True)) == read_usage(GEMINI)


@dataclass
class Details:
    cached_tokens: int


@dataclass
class Counts:
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: Details


class Slotted:
    """Says what it holds only when asked."""

    __slots__ = ("_said",)

    def __init__(self, said: Reply) -> None:
        self._said = said

    def to_dict(self) -> Reply:
        return self._said


class Modelled(SimpleNamespace):
    """Looks like a pydantic model: some fields are its own, some came unasked."""

    __pydantic_fields_set__: frozenset[str] = frozenset()

    @property
    def __pydantic_extra__(self) -> Reply:
        return {"completion_tokens": 5}

    def model_dump(self) -> Reply:
        raise AssertionError("the text of a reply need not be copied to find its counts")


@pytest.mark.parametrize(
    "usage",
    [
        Counts(10, 5, Details(3)),
        SimpleNamespace(
            prompt_tokens=10, completion_tokens=5, prompt_tokens_details=SimpleNamespace(cached_tokens=3)
        ),
        Slotted({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}),
        Modelled(prompt_tokens=10, prompt_tokens_details=Details(3)),
    ],
    ids=lambda usage: type(usage).__name__,
)
def test_anything_with_fields_is_read(usage: object) -> None:
    assert read_usage(usage).tokens == Tokens(10, 5, 3)
    assert read_usage(SimpleNamespace(usage=usage, model="m", object="chat.completion")).model == "m"


def test_an_object_that_answers_to_every_name_is_no_reply() -> None:
    with pytest.raises(UsageError, match="no known token counts"):
        read_usage(Mock())
    assert as_mapping(dict) is None


def test_no_vendor_is_imported_to_read_a_reply() -> None:
    script = (
        "import sys, runcard.accounting as a\n"
        "a.read_usage({'prompt_tokens': 1, 'completion_tokens': 2})\n"
        "a.Prices.packaged().find('gpt-5')\n"
        "print([m for m in ('anthropic', 'openai', 'google', 'pydantic', 'genai_prices') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_importing_reads_no_table_and_loads_next_to_nothing() -> None:
    script = (
        "import sys, runcard; before = set(sys.modules); import runcard.accounting\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['runcard.accounting']\n"


def test_the_names_of_the_package_are_there_when_they_are_asked_for() -> None:
    assert set(accounting.__all__) <= set(dir(accounting))
    assert all(getattr(accounting, name) is not None for name in accounting.__all__)
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        _ = accounting.guess
