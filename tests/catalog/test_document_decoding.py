"""The fast decoder of the catalog gives what the strict reader gives, and refuses what that one refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.catalog import document_decoding
from runcard.catalog.document_decoding import decode_document
from runcard.encoding import Limits, decode_json
from runcard.errors import EncodingError

pytestmark = pytest.mark.file_only

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)
SPACES = st.sampled_from(["", " ", "\n", "\t", "\r\n"])
PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " :",
        '"a"',
        '"a":1',
        '"a" :1',
        '"\\":"',
        '"b:"',
        "1",
        "1e5",
        "-0",
        "0.10",
        "null",
        "NaN",
        "\\",
        '"\\u0022:"',
        '"\\u003a"',
        '"a":":",',
        '"\\ud800"',
        '"\\u0000"',
        '"é"',
        "\n",
        "\ufeff",
        "9" * 30,
    ]
)


def outcome(data: bytes, decode: object) -> object:
    try:
        value = decode(data, Limits())  # type: ignore[operator]
    except EncodingError as error:
        return error.rule, str(error)
    return json.dumps(value), repr(value)


@given(JSON, SPACES, SPACES, st.booleans())
def test_same_value(value: object, before: str, after: str, is_ascii: bool) -> None:  # noqa: FBT001
    text = json.dumps(value, separators=(f"{before},", f"{before}:{after}"), ensure_ascii=is_ascii)
    data = text.encode("utf-8", "surrogatepass")
    assert outcome(data, decode_document) == outcome(data, decode_json)


@given(st.lists(PIECES, max_size=12))
def test_same_outcome_of_any_text(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    assert outcome(data, decode_document) == outcome(data, decode_json)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a" :1,"a":2}',
        '{"b":"\\":","a"\n:1,"a":2}',
        '[{"x":{"k":1,"k":1}}]',
        '{"a":' * 1001 + "1" + "}" * 1001,
        "[" * 1001 + "]" * 1001,
        "9" * 4301,
        "-" + "9" * 4300,
        "1e999",
        '"\x01"',
        "",
    ],
)
def test_same_error(text: str) -> None:
    assert outcome(text.encode(), decode_document) == outcome(text.encode(), decode_json)


def test_a_plain_document_needs_no_strict_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_decoding, "decode_json", None)
    assert decode_document(b'{"a": {"b" : [1, "x: y"]}}\n', Limits()) == {"a": {"b": [1, "x: y"]}}
