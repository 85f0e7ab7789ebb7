"""Writing JSON: the readable form, and the canonical one that digests are made of."""

import json
import struct
from enum import IntEnum, StrEnum
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from encoding.plain_data import deep_in_the_stack, exactly, innermost, nested, simple_values, values
from runcard.encoding import both_forms, canonical_json, decode_json, decode_json_line, encode_json
from runcard.encoding.json.writer import COMPACT, Layout
from runcard.errors import EncodingError


@settings(deadline=None, max_examples=80)
@given(values)
def test_what_is_written_is_read_back(value: object) -> None:
    assert repr(decode_json(encode_json(value))) == repr(value)


@settings(deadline=None, max_examples=80)
@given(values)
def test_the_readable_form_is_that_of_the_standard_library(value: object) -> None:
    assert encode_json(value).decode() == json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def test_minus_zero_keeps_its_sign() -> None:
    assert repr(decode_json(encode_json([-0.0, 0.0]))) == "[-0.0, 0.0]"


def test_tuples_are_written_as_lists_and_enums_as_what_they_are() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Number(IntEnum):
        ONE = 1

    assert decode_json(encode_json({"a": (1, ()), "b": Colour.RED, "c": Number.ONE})) == {
        "a": [1, []],
        "b": "red",
        "c": 1,
    }


REFUSED: dict[str, tuple[Any, str, str]] = {
    "NaN": ([float("nan")], "json.not-finite", "nan is not a JSON number, at /0"),
    "infinity": ({"a": float("-inf")}, "json.not-finite", "-inf is not a JSON number, at /a"),
    "bytes": ({"a/b": {"c": b"x"}}, "json.not-plain", "bytes is not plain data, at /a~1b/c"),
    "a set": ({1}, "json.not-plain", "set is not plain data, at the root"),
    "a number as key": ({"a": {1: 2}}, "json.not-plain", "a key must be text, found 1 (int)"),
    "None as key": ({None: 2}, "json.not-plain", "a key must be text, found None (NoneType)"),
    "half a pair": (["\ud83d"], "json.lone-surrogate", "'\\ud83d' is a lone surrogate"),
    "half a pair in a key": ({"\udc80": 1}, "json.lone-surrogate", "'\\udc80' is a lone surrogate"),
    "too many digits": ([10**4300], "json.too-many-digits", "an integer of too many digits, at /0"),
}


@pytest.mark.parametrize(("value", "rule", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("write", [encode_json, canonical_json])
def test_what_json_cannot_say_is_refused_with_its_place(
    write: Any, value: object, rule: str, message: str
) -> None:
    with pytest.raises(EncodingError) as refused:
        write(value)
    assert refused.value.rule == rule
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize("write", [encode_json, canonical_json])
def test_data_that_holds_itself_is_refused(write: Any) -> None:
    ring: dict[str, Any] = {"a": [1]}
    ring["a"].append(ring)
    with pytest.raises(EncodingError, match=r"a container that contains itself, at /a/1") as refused:
        write(ring)
    assert refused.value.rule == "json.not-plain"


def test_data_that_stands_in_two_places_is_written_twice() -> None:
    twice = [1]
    assert decode_json(encode_json([twice, {"a": twice}])) == [[1], {"a": [1]}]


def test_a_layout_says_how_the_text_looks() -> None:
    value = {"a": [1, {}], "b": {"c": None}}
    assert encode_json(value, Layout(indent=None, comma=", ")) == b'{"a": [1, {}], "b": {"c": null}}\n'
    assert encode_json(value, Layout(indent="\t", newline="\r\n", prefix=" ")) == (
        b'{\r\n \t"a": [\r\n \t\t1,\r\n \t\t{}\r\n \t],\r\n \t"b": {\r\n \t\t"c": null\r\n \t}\r\n }\n'
    )


def with_integers_as_text(value: Any) -> Any:
    """The data as RFC 8785 takes them: integers from 2⁵³ up as strings of their digits."""
    if isinstance(value, dict):
        return {key: with_integers_as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_integers_as_text(item) for item in value]
    return str(value) if isinstance(value, int) and abs(value) >= 2**53 else value


def any_beyond_2_53(value: Any) -> bool:
    """Whether there is a float so large that it is written, and so read back, as an integer that is text here."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (isinstance(value, float) and abs(value) >= 2**53) or any(map(any_beyond_2_53, inside))


@settings(deadline=None, max_examples=120)
@given(values | simple_values)
def test_the_canonical_form_is_that_of_rfc_8785(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(with_integers_as_text(value))


@settings(deadline=None, max_examples=120)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_as_rfc_8785_writes_them(number: float) -> None:
    assert canonical_json(number) == rfc8785.dumps(number)
    assert canonical_json({"é": number}) == rfc8785.dumps({"é": number})


@settings(deadline=None, max_examples=50)
@given(values.filter(lambda value: not any_beyond_2_53(value)))
def test_the_canonical_form_can_be_read_and_is_its_own_canonical_form(value: object) -> None:
    canonical = canonical_json(value)
    again = decode_json(canonical)
    assert canonical_json(again) == canonical
    assert rfc8785.dumps(again) == canonical


# Appendix B of RFC 8785.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_the_numbers_of_the_standard_are_written_as_it_says(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number).decode() == text
    assert (
        canonical_json({"é": number}).decode() == f'{{"é":{text}}}'
    )  # which the quick encoder does not take


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2**53 - 1, "9007199254740991"),
        (2**53, '"9007199254740992"'),
        (1 - 2**53, "-9007199254740991"),
        (-(2**53), '"-9007199254740992"'),
        (10**40, f'"{10**40}"'),
        (True, "true"),
        (0, "0"),
        (-1, "-1"),
    ],
)
def test_integers_from_two_to_the_53rd_up_are_strings_of_their_digits(number: int, text: str) -> None:
    assert canonical_json(number).decode() == text


@settings(deadline=None, max_examples=100)
@given(values | simple_values)
def test_the_compact_form_is_the_same_whoever_writes_it(value: object) -> None:
    thorough = Layout(indent=None, colon=":")
    assert thorough == COMPACT
    assert thorough is not COMPACT
    assert encode_json(value, COMPACT) == encode_json(value, thorough)
    assert repr(decode_json(encode_json(value, COMPACT))) == repr(value)


@given(values | simple_values)
def test_both_forms_at_once_are_those_that_are_made_one_by_one(value: object) -> None:
    assert both_forms(value) == (encode_json(value, COMPACT).removesuffix(b"\n"), canonical_json(value))


def test_keys_are_sorted_by_their_utf_16_units() -> None:
    # U+FB33 comes before U+1F600 by code point, and after its surrogates.
    assert canonical_json({"\ufb33": 1, "\U0001f600": 2, "\r": 3, "1": 4, "": 5}).decode() == (
        '{"":5,"\\r":3,"1":4,"\U0001f600":2,"\ufb33":1}'
    )


def test_a_thousand_levels_are_written_from_deep_in_the_stack() -> None:
    value = nested(1000, "x")
    readable = deep_in_the_stack(lambda: encode_json(value))
    canonical = deep_in_the_stack(lambda: canonical_json(value))
    for data in (readable, canonical):
        assert innermost(deep_in_the_stack(lambda data=data: decode_json(data))) == "x"  # type: ignore[misc]
    assert canonical == (b'[{"k":' * 500) + b'"x"' + b"}]" * 500


@settings(deadline=None, max_examples=50)
@given(values)
def test_writing_leaves_the_data_alone(value: object) -> None:
    before = exactly(value)
    encode_json(value)
    canonical_json(value)
    assert exactly(value) == before


@settings(deadline=None, max_examples=80)
@given(values | simple_values, st.booleans())
def test_plain_data_has_the_same_canonical_form(value: object, ensure_ascii: bool) -> None:  # noqa: FBT001
    data = json.dumps(value, ensure_ascii=ensure_ascii).encode()
    line = decode_json_line(data)
    assert repr(line.value) == repr(decode_json(data))
    assert canonical_json(line.value, is_plain=line.is_plain) == canonical_json(decode_json(data))


@pytest.mark.parametrize(
    ("data", "is_plain"),
    [
        (b'{"seq":1,"elapsed":0.5,"tags":["a",null,true]}', True),
        (b'{"n":999999999999999}', True),
        (b'{"n":9007199254740993}', False),
        (b'{"n":1.0}', False),
        (b'{"n":1e300}', False),
        ('{"é":1}'.encode(), False),
        (b'{"\\u00e9":1}', False),
    ],
)
def test_what_is_plain(data: bytes, is_plain: bool) -> None:  # noqa: FBT001
    assert decode_json_line(data).is_plain is is_plain


@pytest.mark.parametrize("data", [b'{"a":1,"a":1}', b'{"a":NaN}', b'{"a":1}}', b"", b'{"a":1e999}'])
def test_a_line_is_read_as_strictly_as_a_document(data: bytes) -> None:
    with pytest.raises(EncodingError):
        decode_json_line(data)
