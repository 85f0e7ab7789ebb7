"""Masking a stream: nothing slips through between two pieces, and what is held back stays small."""

from random import Random

import pytest

from masking.corpus_lines import read
from runcard.masking import Masker, mask_bytes
from runcard.masking.matches import AHEAD, BEHIND
from runcard.masking.private_keys import WINDOW

KEY = b"sk-ant-api03-" + b"a1B2-c3D4_" * 9 + b"AA"
BLOCK = b"-----BEGIN PRIVATE KEY-----\n" + (b"a1B2" * 16 + b"\n") * 20 + b"-----END PRIVATE KEY-----"
MOST_HELD = BEHIND + 5 * AHEAD + WINDOW + 128 * 1024


def fed(parts: list[bytes]) -> bytes:
    masker = Masker()
    return b"".join(map(masker.feed, parts)) + masker.flush()


def pieces(raw: bytes, random: Random) -> list[bytes]:
    parts, at = [], 0
    while at < len(raw):
        size = random.choice([1, 3, 17, 100, 1000, 5000])
        parts.append(raw[at : at + size])
        at += size
    return parts


@pytest.mark.parametrize("at", range(0, len(KEY) + 6, 3))
def test_a_key_across_a_border_is_found(at: int) -> None:
    raw = b"key: " + KEY + b" and more\n"
    assert fed([raw[:at], raw[at:]]) == b"key: [masked:anthropic-key] and more\n"


@pytest.mark.parametrize("at", range(0, len(BLOCK), 97))
def test_a_key_block_across_a_border_is_found(at: int) -> None:
    raw = b"a\n" + BLOCK + b"\nb\n"
    assert fed([raw[:at], raw[at:]]) == b"a\n[masked:private-key]\nb\n"


def test_a_finished_line_comes_out_at_once() -> None:
    masker = Masker()
    assert masker.feed(b"one\ntwo") == b"one\n"
    assert masker.feed(b" three\rfour") == b"two three\r"
    assert masker.flush() == b"four"


def test_a_block_is_waited_for_and_what_stands_before_it_is_not() -> None:
    masker = Masker()
    assert masker.feed(b"one\n" + BLOCK[:300] + b"\n") == b"one\n"
    assert masker.feed(BLOCK[300:-5] + b"\n") == b""
    assert masker.feed(b"lost\n" * 40).startswith(b"[masked:private-key]\n-----END PRIVATE KEY\nlost\n")


def test_a_block_comes_out_with_its_last_line() -> None:
    masker = Masker()
    assert masker.feed(BLOCK[:900]) == b""
    assert masker.feed(BLOCK[900:] + b"\ntwo") == b"[masked:private-key]\n"
    assert masker.feed(b'"' + BLOCK.replace(b"\n", b'",\n"') + b'"\n') == b'two"'
    assert masker.flush() == b'[masked:private-key]"\n'


def test_a_block_that_never_ends_is_not_waited_for_forever() -> None:
    masker = Masker()
    out = masker.feed(b"-----BEGIN PRIVATE KEY-----\n" + b"a line of a log\n" * 3000)
    assert out.startswith(b"-----BEGIN PRIVATE KEY-----\na line")


def test_after_flush_a_new_text_begins() -> None:
    masker = Masker()
    masker.feed(b"password=")
    masker.flush()
    assert masker.feed(b"hunter2\n") == b"hunter2\n"
    masker.feed(b"token=" + KEY)
    masker.flush()
    assert masker.feed(b"hunter2\n") == b"hunter2\n"
    assert masker.counts == {"anthropic-key": 1}


@pytest.mark.parametrize(
    ("begin", "unit", "end", "shown"),
    [
        (b"key ", b"sk-ant-", b" x", b"key [masked:anthropic-key] x"),
        (b"token=", b"a1b2c3d4", b",x", b"token=[masked:named-secret],x"),
        (b'"password": "', b'a1_b\\\\\\"', b'", x', b'"password": "[masked:password]", x'),
        (b'\\"password\\": \\"', b"a1_b\\\\", b'\\", x', b'\\"password\\": \\"[masked:password]\\", x'),
        (b"Cookie: a=", b"b; c=d", b"\nx", b"Cookie: [masked:cookie]\nx"),
        (b"", b"a", b"", b"a" * 100_000),
    ],
    ids=["prefix", "bare", "quoted", "quoted twice", "header", "nothing"],
)
def test_a_secret_without_end_is_swallowed_in_little_memory(
    begin: bytes, unit: bytes, end: bytes, shown: bytes
) -> None:
    masker, out, most = Masker(), [], 0
    for part in [begin, *[unit * (1000 // len(unit))] * 100, end]:
        out.append(masker.feed(part))
        most = max(most, len(masker._text))
    out.append(masker.flush())
    assert b"".join(out)[: len(shown)] == shown
    assert most < 64 * 1024


def test_memory_does_not_grow_with_the_stream() -> None:
    masker, random = Masker(), Random(1)  # noqa: S311
    texts = [line.text for line in read("secrets") + read("innocent")]
    for _ in range(300):
        masker.feed("".join(random.choices(texts, k=30)).encode())
        assert len(masker._text) < MOST_HELD


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("glue", [" ", "\n", ",", ""])
def test_long_lines_are_masked_alike_however_they_are_cut(seed: int, glue: str) -> None:
    random = Random(seed)  # noqa: S311
    texts = [line.text for line in read("secrets") + read("innocent")]
    chosen = [
        random.choice([one, one.replace("\n", " "), "x" * 3000]) for one in random.choices(texts, k=150)
    ]
    raw = glue.join(chosen).encode()
    assert fed(pieces(raw, random)) == mask_bytes(raw).value
