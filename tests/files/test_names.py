"""How names are shown on a terminal and in JSON."""

import json
from base64 import b64decode
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.files import decode_name, encode_name, file_type, json_name, printable

RAW_NAMES = st.binary(min_size=1, max_size=40).map(lambda raw: raw.replace(b"\0", b"0"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name-1.txt", "plain name-1.txt"),
        ("café 日本 🎉 ñ", "café 日本 🎉 ñ"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x00\x7f\x85\x9b", r"\x00\x7f\x85\x9b"),
        ("gpj.\u202eexe", r"gpj.\u202eexe"),
        ("\u200e\u200f\u061c\u2066\u2069", r"\u200e\u200f\u061c\u2066\u2069"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("a\u200bb\u200d\u2060\ufeff", r"a\u200bb\u200d\u2060\ufeff"),
        ("a\U000e0041b", r"a\U000e0041b"),
        (decode_name(b"caf\xe9"), r"caf\xe9"),
        ("lone \ud800", r"lone \ud800"),
    ],
)
def test_what_must_not_reach_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters()))
@settings(deadline=None)
def test_what_is_shown_is_on_one_line_and_can_be_encoded(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown


def test_a_utf8_name_is_itself_in_json() -> None:
    assert json_name("dir/日本 \\x1b\n.txt") == ("dir/日本 \\x1b\n.txt", None)


def test_a_name_that_is_not_utf8_is_escaped_and_has_its_bytes_beside() -> None:
    raw = b"caf\xe9\\xe9 \xc3\xa9"
    name = json_name(decode_name(raw))
    assert name.text == r"caf\xe9\\xe9 é"
    assert name.base64 is not None
    assert b64decode(name.base64) == raw


@given(RAW_NAMES)
@settings(deadline=None)
def test_json_can_hold_every_name(raw: bytes) -> None:
    name = json_name(decode_name(raw))
    assert json.loads(json.dumps(name.text).encode("utf-8")) == name.text
    name.text.encode("utf-8")
    assert (b64decode(name.base64) if name.base64 else name.text.encode()) == raw


@given(RAW_NAMES, RAW_NAMES)
@settings(deadline=None)
def test_two_names_are_never_the_same_in_json(one: bytes, other: bytes) -> None:
    assert (json_name(decode_name(one)) == json_name(decode_name(other))) == (one == other)


@given(RAW_NAMES)
@settings(deadline=None)
def test_the_escaped_text_alone_tells_the_bytes_of_a_broken_name(raw: bytes) -> None:
    name = json_name(decode_name(raw + b"\xff"))
    parts = name.text.encode("utf-8").split(rb"\\")
    assert b"\\".join(_unescape(part) for part in parts) == raw + b"\xff"


def _unescape(part: bytes) -> bytes:
    head, *rest = part.split(rb"\x")
    return head + b"".join(bytes([int(piece[:2], 16)]) + piece[2:] for piece in rest)


@given(RAW_NAMES)
@settings(deadline=None)
def test_names_keep_their_bytes(raw: bytes) -> None:
    assert encode_name(decode_name(raw)) == raw


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("a/b.PY", ".py"),
        ("archive.tar.gz", ".gz"),
        ("a.b/Makefile", ""),
        (".env", ""),
        (".env.local", ".local"),
        ("ends.", ""),
        ("", ""),
    ],
)
def test_the_type_of_a_file_is_its_last_suffix(path: str, type_: str) -> None:
    assert file_type(path) == type_ == PurePosixPath(path).suffix.lower()


def test_a_type_that_is_not_utf_8_can_be_written() -> None:
    assert file_type("x.\udcff") == ".\\xff"
    assert file_type("y.É") == ".é"
