"""Finding secrets that are certain by their form, in texts that are otherwise left as they are."""

import random
import re
import string
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from runcard.masking.rules import KEY_PREFIXES, KeyPrefix
from runcard.masking.secret_scanner import SecretScanner, scan_patterns, secret_in

op: Any = import_module("re._constants")  # private, and so without types
_parser: Any = import_module("re._parser")

PEM_BODY = b"\n".join([b"MIIEpAIBAAKCAQEAqKpRgnn6yq2k8Zt0vW3nXyBq7Lr1DfHs5Jm9TcGuEwPxVbRa"] * 20)
KEY = b"sk-ant-api03-" + b"Zq7" * 30
PEM = b"-----BEGIN RSA PRIVATE KEY-----\n" + PEM_BODY + b"\n-----END RSA PRIVATE KEY-----\n"


@cache
def sample(prefix: KeyPrefix) -> bytes:
    """A text with a secret as the table describes it."""
    outside = next(char for char in " ?9&" + string.ascii_letters if not re.match(f"[{prefix.edge}]", char))
    # Some secrets begin before the literal that gives them away.
    before = next(iter(getattr(prefix, "before", ())), "")
    for seed in range(1000):
        chance = random.Random(f"{prefix.literal}{seed}")  # noqa: S311 - the same text each time
        body = _made(_parser.parse(prefix.body), chance)
        if re.match(prefix.body, f"{body} "):
            lead = _made(_parser.parse(before), chance)
            return f"see {outside}{lead}{prefix.literal}{body} there\n".encode()
    raise AssertionError(prefix)


def _made(tokens: Any, chance: random.Random) -> str:
    """A text that a pattern matches."""
    return "".join(_piece(kind, value, chance) for kind, value in tokens)


def _piece(kind: Any, value: Any, chance: random.Random) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.IN:
        return chance.choice([char for char in string.printable if _is_in(value, ord(char))])
    if kind in {op.MAX_REPEAT, op.POSSESSIVE_REPEAT}:
        return "".join(_made(value[2], chance) for _ in range(max(value[0], 1)))
    if kind is op.SUBPATTERN:
        return _made(value[3], chance)
    if kind is op.BRANCH:
        return _made(value[1][0], chance)
    assert kind in {op.ASSERT, op.ASSERT_NOT}, kind  # `sample` tries until they hold
    return ""


def _is_in(parts: Any, code: int) -> bool:
    return any(code == value if kind is op.LITERAL else value[0] <= code <= value[1] for kind, value in parts)


@pytest.mark.parametrize("prefix", KEY_PREFIXES, ids=lambda prefix: prefix.literal)
class TestPrefixes:
    def test_every_prefix_of_the_table_is_found(self, prefix: KeyPrefix) -> None:
        assert secret_in(sample(prefix)) == prefix.rule

    def test_a_first_look_finds_it_as_well(self, prefix: KeyPrefix) -> None:
        assert any(pattern.search(sample(prefix)) for pattern in scan_patterns())


@pytest.mark.parametrize(
    "text",
    [
        b"-----BEGIN PRIVATE KEY-----\n" + PEM_BODY + b"\n-----END PRIVATE KEY-----",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + PEM_BODY + b"\n-----END OPENSSH PRIVATE KEY-----",
        b'{"private_key": "-----BEGIN PRIVATE KEY-----\\n' + PEM_BODY.replace(b"\n", b"\\n") + b'\\n"}',
        b"    -----BEGIN EC PRIVATE KEY-----\n" + PEM_BODY,
    ],
)
def test_private_keys_are_found(text: bytes) -> None:
    assert secret_in(text) == "private-key"
    assert any(pattern.search(text) for pattern in scan_patterns())


@pytest.mark.parametrize(
    "text",
    [
        b"aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        b"export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        b"ANTHROPIC_API_KEY=sk-ant-your-api-key-goes-here",
        b"OPENAI_API_KEY=sk-...",
        b"if line.startswith('-----BEGIN PRIVATE KEY-----'): pass",
        b"-----BEGIN CERTIFICATE-----\n" + PEM_BODY + b"\n-----END CERTIFICATE-----",
        b"-----BEGIN PUBLIC KEY-----\n" + PEM_BODY + b"\n-----END PUBLIC KEY-----",
        b'"integrity": "sha512-' + b"a8Zk" * 21 + b'=="',
        b"password = hunter2-and-more",
        b"from huggingface_hub import hf_hub_download; task-scheduler, sk-learn",
        b"",
    ],
)
def test_innocent_texts_are_left_alone(text: bytes) -> None:
    assert secret_in(text) is None


class TestPieces:
    def test_how_the_text_is_cut_does_not_matter(self) -> None:
        for secret, rule in ((KEY, "anthropic-key"), (PEM, "private-key")):
            text = b"filler " * 3000 + b"\n" + secret + b"\n" + b"more " * 2000
            for size in (100, 1000, 4096, 7001, len(text)):
                assert scanned(text, size) == rule, size

    def test_it_is_found_at_every_distance_from_a_border(self) -> None:
        for before in range(len(KEY) + 4):
            text = b"x " * 4000 + b" " * before + KEY + b"\n"
            assert scanned(text, 8000 + len(KEY)) == "anthropic-key", before

    def test_half_a_word_at_a_border_is_no_key(self) -> None:
        """An AWS key has 16 characters behind its prefix; in a longer word it is none."""
        word = b"AKIA" + b"A7" * 30
        for cut in range(1, len(word)):
            scanner = SecretScanner()
            text = b"y " * 9000 + word
            at = len(text) - cut
            assert (scanner.feed(text[:at]), scanner.feed(text[at:]), scanner.flush()) == (None, None, None)

    def test_what_is_held_back_stays_small(self) -> None:
        scanner = SecretScanner()
        for _ in range(200):
            assert scanner.feed(b"word " * 20_000) is None
            assert len(scanner._text) < 8192
        assert scanner.feed(b"-----BEGIN RSA PRIVATE KEY-----\n" + b"?" * 200_000) is None
        assert len(scanner._text) < 8192


def scanned(text: bytes, size: int) -> str | None:
    scanner = SecretScanner()
    for at in range(0, len(text), size):
        if rule := scanner.feed(text[at : at + size]):
            return rule
    return scanner.flush()
