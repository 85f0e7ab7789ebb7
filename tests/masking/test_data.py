"""Masking of configurations, payloads and environments."""

from typing import Any

import pytest

from runcard.masking import mask_data, mask_environment

KEY = "sk-ant-api03-" + "a1B2-c3D4_" * 9 + "AA"

CASES: dict[str, tuple[Any, Any]] = {
    "a secret key": ({"password": "a"}, {"password": "[masked:password]"}),
    "any style": (
        {"dbPassword": "a", "X-API-Key": "b"},
        {"dbPassword": "[masked:password]", "X-API-Key": "[masked:named-secret]"},
    ),
    "the prefix says more than the key": ({"api_key": KEY}, {"api_key": "[masked:anthropic-key]"}),
    "a secret in a text": ({"note": f"use {KEY}"}, {"note": "use [masked:anthropic-key]"}),
    "a secret in a text under a secret key": (
        {"secret": f"use {KEY}"},
        {"secret": "[masked:named-secret]"},
    ),
    "numbers": (
        {"max_tokens": 4096, "password": 123, "token": 1.5, "session_tokens": 4096, "api_keys": 2000},
        {"max_tokens": 4096, "password": 123, "token": 1.5, "session_tokens": 4096, "api_keys": 2000},
    ),
    "a password of digits": (
        {"password": 12345678, "nested": {"api_key": 31415}},
        {"password": "[masked:password]", "nested": {"api_key": "[masked:named-secret]"}},
    ),
    "nothing": (
        {"password": "", "token": None, "secret": True},
        {"password": "", "token": None, "secret": True},
    ),
    "a list under a secret key": (
        {"api_keys": ["abc", "def"]},
        {"api_keys": ["[masked:named-secret]"] * 2},
    ),
    "a dict under a secret key": (
        {"credentials": {"user": "bob", "mail": "q1w2e3r4t5", "type": "q1w2e3r4t5"}},
        {"credentials": {"user": "bob", "mail": "[masked:named-secret]", "type": "q1w2e3r4t5"}},
    ),
    "whatever lies in a dict of secrets": (
        {"secrets": {"db": "b", "file": "x", "deeper": {"region": "eu-west-1", "key_x": "q1w2e3r4t5y6"}}},
        {
            "secrets": {
                "db": "[masked:named-secret]",
                "file": "x",
                "deeper": {"region": "eu-west-1", "key_x": "[masked:named-secret]"},
            }
        },
    ),
    "a token of any form": (
        {"token": "tok123", "service_token": "my-words", "eos_token": "</s>", "tokenizer": "o200k_base"},
        {
            "token": "[masked:named-secret]",
            "service_token": "[masked:named-secret]",
            "eos_token": "</s>",
            "tokenizer": "o200k_base",
        },
    ),
    "a name in a value": (
        [{"name": "API_KEY", "value": "abc"}],
        [{"name": "API_KEY", "value": "[masked:named-secret]"}],
    ),
    "a key in a value": ([{"key": "x", "value": "abc"}, {"name": "API_KEY", "value": 1}],) * 2,
    "a command": (["tool", "--api-key", "abc"], ["tool", "--api-key", "[masked:named-secret]"]),
    "a list of words": (["token", "abc", "x=1"], ["token", "abc", "x=1"]),
    "a tuple": (("a", 1, KEY), ["a", 1, "[masked:anthropic-key]"]),
    "a header": ({"Authorization": "Bearer abc123"}, {"Authorization": "Bearer [masked:bearer-token]"}),
    "a header with more": (
        {"Authorization": f"Bearer abc123 {KEY}"},
        {"Authorization": "Bearer [masked:bearer-token] [masked:anthropic-key]"},
    ),
    "a header without a scheme": ({"Authorization": "abc"}, {"Authorization": "[masked:authorization]"}),
    "a cookie": ({"Cookie": "a=b; c=d"}, {"Cookie": "[masked:cookie]"}),
    "a cookie that is set": ({"Set-Cookie": "a=b; Path=/"}, {"Set-Cookie": "a=[masked:cookie]; Path=/"}),
    "no cookie": ({"cookies": "yes"}, {"cookies": "yes"}),
    "an address": ({"dsn": "postgres://a:b@c/d"}, {"dsn": "postgres://a:[masked:url-password]@c/d"}),
    "an address with a secret user": (
        {"dsn": "https://abc@sentry.example/1"},
        {"dsn": "[masked:named-secret]"},
    ),
    "an address without any": ({"dsn": "sqlite:///x.db"}, {"dsn": "sqlite:///x.db"}),
    "a connection string": (
        {"connection_string": "Server=x;Password=abc;A=b"},
        {"connection_string": "Server=x;Password=[masked:password];A=b"},
    ),
    "a word of a model": ({"token": " the", "logprob": -0.1}, {"token": " the", "logprob": -0.1}),
    "keys that are no text": ({1: KEY, None: "a"}, {1: "[masked:anthropic-key]", None: "a"}),
    "a secret as a key": (
        {KEY: 1, KEY[:-1]: 2},
        {"[masked:anthropic-key]": 1, "[masked:anthropic-key] (2)": 2},
    ),
    "a text alone": ("password=hunter2", "password=[masked:password]"),
    "empty": ({}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_data_is_shown_with_marks_in_place_of_secrets(name: str) -> None:
    given, shown = CASES[name]
    assert mask_data(given).value == shown


def test_what_was_masked_is_counted() -> None:
    masked = mask_data({"a": [KEY, {"password": "abc"}], "b": f"{KEY} {KEY}", KEY: 1})
    assert masked.counts == {"anthropic-key": 4, "password": 1}
    assert mask_data({"a": 1}).counts == {}


def test_order_stays() -> None:
    given = {"z": {"b": 1, "a": 2}, "password": "x", "a": [1, 2]}
    assert list(mask_data(given).value) == list(given)


def test_deep_data_costs_no_recursion() -> None:
    deep: Any = {"password": "hunter2"}
    for _ in range(5_000):
        deep = [{"a": deep}]
    masked = mask_data(deep)
    assert masked.counts == {"password": 1}
    inner = masked.value
    while isinstance(inner, list):
        inner = inner[0]["a"]
    assert inner == {"password": "[masked:password]"}


def test_a_huge_value_is_judged_by_its_beginning() -> None:
    assert mask_data({"secret": "x9" * 1_000_000}).value == {"secret": "[masked:named-secret]"}


def test_an_environment_is_a_sure_place() -> None:
    variables = {
        "PATH": "/usr/bin",
        "PWD": "/srv/tmpA1b2",
        "TOKEN": "abc",
        "DB_PASSWORD": "123",
        "HF_HOME": "/data",
        "DATABASE_URL": "postgres://a:b@c/d",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/Bob/Key.json",
        "TOKENIZERS_PARALLELISM": "false",
        "LESS": f"-R {KEY}",
        "API_KEY": "${OTHER}",
    }
    masked = mask_environment(variables)
    assert masked.value == variables | {
        "TOKEN": "[masked:named-secret]",
        "DB_PASSWORD": "[masked:password]",
        "DATABASE_URL": "postgres://a:[masked:url-password]@c/d",
        "LESS": "-R [masked:anthropic-key]",
    }
    assert masked.counts == {"named-secret": 1, "password": 1, "url-password": 1, "anthropic-key": 1}
