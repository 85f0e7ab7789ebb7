"""Reading JSON: what is refused, under which rule, and where."""

import json
import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoding import plain_data
from encoding.plain_data import deep_in_the_stack, innermost
from runcard.encoding import BOM, Limits, as_text, decode_json
from runcard.encoding.json.strict_parser import StrictParser
from runcard.errors import EncodingError


def strictly(data: bytes, limits: Limits | None = None) -> object:
    """What the slow road makes of it, which the fast one spares good documents."""
    limits = limits or Limits()
    return StrictParser(as_text(data, limits), limits).read()


def refusal(data: bytes, limits: Limits | None = None) -> tuple[str, int | None, int | None]:
    """How both roads refuse it, which must be the same."""
    with pytest.raises(EncodingError) as refused:
        decode_json(data, limits or Limits())
    with pytest.raises(EncodingError) as again:
        strictly(data, limits)
    error = refused.value
    assert (error.rule, error.message, error.line, error.column) == (
        again.value.rule,
        again.value.message,
        again.value.line,
        again.value.column,
    )
    return error.rule, error.line, error.column


SYNTAX = {
    "nothing at all": (b"", 1, 1),
    "only blanks": (b" \n ", 2, 2),
    "only a byte order mark": (BOM, 1, 1),
    "a second byte order mark": (BOM + BOM + b"1", 1, 1),
    "an open object": (b"{", 1, 2),
    "an open list": (b"[", 1, 2),
    "a key alone": (b'{"a"', 1, 5),
    "a key and a colon": (b'{"a":', 1, 6),
    "a member and no end": (b'{"a":1', 1, 7),
    "a member and a comma": (b'{"a":1,', 1, 8),
    "an element and no end": (b"[1", 1, 3),
    "an element and a comma": (b"[1,", 1, 4),
    "an open string": (b'["abc', 1, 2),
    "a string that ends in a backslash": (b'"abc\\', 1, 5),
    "half an escape": (b'"\\u12', 1, 2),
    "half a word": (b"tru", 1, 1),
    "half a number": (b"[1,\n-", 2, 1),
    "half a fraction": (b"1.", 1, 1),
    "half an exponent": (b"1e+", 1, 1),
    "something after the end": (b"{} x", 1, 4),
    "a second document": (b"{}\n{}", 2, 1),
    "a bracket too many": (b"[]]", 1, 3),
    "the wrong bracket": (b"[1}", 1, 3),
    "the wrong brace": (b'{"a":1]', 1, 7),
    "a comma before the end of a list": (b"[1,]", 1, 4),
    "a comma before the end of an object": (b'{"a":1,}', 1, 8),
    "a comma at the beginning": (b"[,1]", 1, 2),
    "no comma": (b"[1 2]", 1, 4),
    "no colon": (b'{"a" 1}', 1, 6),
    "a key without quotes": (b"{a:1}", 1, 2),
    "a number as key": (b"{1:1}", 1, 2),
    "single quotes": (b"['a']", 1, 2),
    "a comment": (b"[1, // one\n2]", 1, 5),
    "True": (b"[True]", 1, 2),
    "undefined": (b"[undefined]", 1, 2),
    "a leading zero": (b"[01]", 1, 2),
    "a plus": (b"[+1]", 1, 2),
    "a bare point": (b"[.5]", 1, 2),
    "hexadecimal": (b"[0x10]", 1, 2),
    "underscores": (b"[1_000]", 1, 2),
    "foreign digits": ("[\u0661]".encode(), 1, 2),
    "a minus alone": (b"[-]", 1, 2),
    "a NUL": (b"[1\0]", 1, 3),
    "a NUL after the end": (b"[1]\0", 1, 4),
    "a NUL in a string": (b'["a\0"]', 1, 4),
    "a tab in a string": (b'["a\tb"]', 1, 4),
    "a line break in a string": (b'["a\nb"]', 1, 4),
    "a unit separator in a key": (b'{"\x1f":1}', 1, 3),
    "an unknown escape": (b'["a\\x41"]', 1, 4),
    "an escaped line break": (b'["a\\\nb"]', 1, 4),
    "letters in an escape": (b'["\\u12g4"]', 1, 3),
    "a vertical tab between values": (b"[1,\x0b2]", 1, 4),
    "a no-break space between values": ("[1,\u00a02]".encode(), 1, 4),
    "far down": (b'{\r\n  "a": [\r\n    1,\r\n    x\r\n  ]\r\n}', 4, 5),
    "behind wide characters": ('["\u4e2d\U0001f600", x]'.encode(), 1, 8),
}


@pytest.mark.parametrize(("data", "line", "column"), SYNTAX.values(), ids=SYNTAX)
def test_what_is_no_json_is_refused_where_it_stops_being_json(data: bytes, line: int, column: int) -> None:
    assert refusal(data) == ("json.syntax", line, column)


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, (data, *_) in SYNTAX.items()])
def test_the_standard_library_refuses_the_same(data: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(data.removeprefix(BOM).decode())


@pytest.mark.parametrize("end", range(1, 60))
def test_a_document_cut_anywhere_is_refused(end: int) -> None:
    whole = b'{"a": [1.5e3, true, null, "x\\u00e9\\n"], "b\\"": {"c": false}}'
    assert len(whole) == 60
    rule, line, column = refusal(whole[:end])
    assert (rule, line) == ("json.syntax", 1)
    assert column is not None
    assert column <= end + 1


DUPLICATES = {
    "side by side": (b'{"a":1,"a":1}', 1, 8),
    "far apart": (b'{"a": 1,\n "b": {},\n "a": 2}', 3, 2),
    "inside": (b'{"x": [{"k": 1, "k": 2}]}', 1, 17),
    "one of them escaped": (b'{"a":1, "\\u0061":2}', 1, 9),
    "the empty key": (b'{"":1,"":2}', 1, 7),
    "the first of two faults": (b'{"a":1,"a":2,"b":NaN}', 1, 8),
}


@pytest.mark.parametrize(("data", "line", "column"), DUPLICATES.values(), ids=DUPLICATES)
def test_a_key_that_stands_twice_is_refused_at_its_second_place(data: bytes, line: int, column: int) -> None:
    assert refusal(data) == ("json.duplicate-key", line, column)


def test_the_same_key_in_two_objects_is_no_duplicate() -> None:
    assert decode_json(b'[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]


NOT_FINITE = {
    "NaN": (b"[NaN]", 1, 2),
    "Infinity": (b"[1,\n Infinity]", 2, 2),
    "-Infinity": (b"-Infinity", 1, 1),
    "nan in lower case": (b"nan", 1, 1),
    "inf": (b"[-inf]", 1, 2),
    "1e999": (b'{"a": 1e999}', 1, 7),
    "-1e999": (b"-1e999", 1, 1),
    "1.8e308": (b"1.8e308", 1, 1),
    "very many digits before a point": (b"1" * 400 + b".0", 1, 1),
}


@pytest.mark.parametrize(("data", "line", "column"), NOT_FINITE.values(), ids=NOT_FINITE)
def test_numbers_that_are_not_finite_are_refused(data: bytes, line: int, column: int) -> None:
    assert refusal(data) == ("json.not-finite", line, column)


@pytest.mark.parametrize("text", ["1.7976931348623157e308", "-1.7976931348623157e308", "1e-999", "5e-324"])
def test_numbers_at_the_edge_of_floats_are_read(text: str) -> None:
    assert decode_json(text.encode()) == strictly(text.encode()) == float(text)


SURROGATES = {
    "a high half": (rb'"\ud83d"', 2),
    "a low half": (rb'"\ude00"', 2),
    "in upper case": (rb'"\uD83D"', 2),
    "the lowest": (rb'"\ud800"', 2),
    "the highest": (rb'"\udfff"', 2),
    "behind text": (rb'"abc\ud83d"', 5),
    "before text": (rb'"\ud83dabc"', 2),
    "before another escape": (rb'"\ud83d\n"', 2),
    "two high halves": (rb'"\ud83d\ud83d"', 2),
    "the halves exchanged": (rb'"\ude00\ud83d"', 2),
    "behind a pair": (rb'"\ud83d\ude00\ude00"', 14),
    "behind two pairs": (rb'"\ud83d\ude00\ud83d\ude00\ud83d"', 26),
    "before a pair": (rb'"\ud83d\ud83d\ude00"', 2),
    "behind an escaped backslash": (rb'"\\\ud83d"', 4),
    "behind an escaped backslash and what looks like a half": (rb'"\\ud83d\ude00"', 9),
    "behind an escaped quote": (rb'"\"\ud83d"', 4),
    "in a key": (rb'{"\ud83d": 1}', 3),
    "in a value": (rb'{"a": "\ud83d"}', 8),
    "in the second string": (rb'["\ud83d\ude00", "\ud83d"]', 19),
}


@pytest.mark.parametrize(("data", "column"), SURROGATES.values(), ids=SURROGATES)
def test_half_a_surrogate_pair_is_refused_where_it_stands(data: bytes, column: int) -> None:
    assert refusal(data) == ("json.lone-surrogate", 1, column)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\uD83D\uDE00"', "\U0001f600"),
        (rb'"\\ud83d"', "\\ud83d"),
        (rb'"\\\ud83d\ude00\\ude00"', "\\\U0001f600\\ude00"),
        (rb'"\ud7ff\ue000"', "\ud7ff\ue000"),
    ],
)
def test_whole_pairs_and_what_only_looks_like_halves_are_read(data: bytes, value: str) -> None:
    assert decode_json(data) == strictly(data) == value


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"k":', b"}"), (b'[{"k":', b"}]")])
def test_a_thousand_levels_are_read_and_one_more_is_refused(opening: bytes, closing: bytes) -> None:
    levels = opening.count(b"[") + opening.count(b"{")
    good = opening * (1000 // levels) + b"7" + closing * (1000 // levels)
    assert innermost(deep_in_the_stack(lambda: decode_json(good))) == 7
    rule, line, column = refusal(b" " + good.replace(b"7", b"[7]"))
    assert (rule, line) == ("json.too-deep", 1)
    assert column == 2 + len(opening) * (1000 // levels)


@pytest.mark.parametrize("ended", [True, False])
def test_a_hundred_thousand_levels_are_refused_at_once(ended: bool) -> None:  # noqa: FBT001
    data = b"[" * 100_000 + b"]" * 100_000 * ended
    began = time.monotonic()
    assert refusal(data) == ("json.too-deep", 1, 1001)
    assert time.monotonic() - began < 60


def test_many_flat_lists_are_not_deep() -> None:
    data = b"[" + b",".join([b"[[1],{}]"] * 5000) + b"]"
    assert decode_json(data) == [[[1], {}]] * 5000


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_the_depth_can_be_set(depth: int) -> None:
    limits = Limits(depth=depth)
    assert innermost(decode_json(b"[" * depth + b"1" + b"]" * depth, limits)) == 1
    assert refusal(b"[" * (depth + 1) + b"1" + b"]" * (depth + 1), limits) == ("json.too-deep", 1, depth + 1)


def test_a_document_of_exactly_the_size_is_read_and_one_byte_more_is_refused() -> None:
    assert decode_json(b'"1234"', Limits(size=6)) == "1234"
    with pytest.raises(EncodingError, match=r"\b6\b.*limit|limit.*\b6\b") as refused:
        decode_json(b'"12345"', Limits(size=6))
    assert refused.value.rule == "encoding.too-big"


def test_the_limits_are_those_that_are_documented() -> None:
    assert Limits() == Limits(size=64 * 1024 * 1024, depth=1_000, digits=4_300)


@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_of_4300_digits_are_read_and_of_4301_refused(sign: str) -> None:
    digits = sign + "9" * 4300
    assert decode_json(digits.encode()) == strictly(digits.encode()) == int(digits)
    assert refusal(f"[\n {digits}9]".encode()) == ("json.too-many-digits", 2, 2)
    with pytest.raises(EncodingError, match=r"of 5,000 digits; the limit is 4,300"):
        decode_json(f"{sign}{'1' * 5000}".encode())


def test_the_number_of_digits_can_be_lowered() -> None:
    limits = Limits(digits=3)
    assert decode_json(b"[999, -999]", limits) == [999, -999]
    assert refusal(b"[999, -1000]", limits) == ("json.too-many-digits", 1, 7)


def test_more_digits_than_python_reads_are_refused_whatever_the_limit_says() -> None:
    assert refusal(b"1" * 5000, Limits(digits=10_000)) == ("json.too-many-digits", 1, 1)
    with pytest.raises(EncodingError, match=r"the limit is 4,300"):
        decode_json(b"1" * 5000, Limits(digits=10_000))


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decode_json(BOM + b' {"a": 1}') == {"a": 1}
    assert refusal(BOM + b"[x]") == ("json.syntax", 1, 2)


TEXT = '{"name": "caf\u00e9",\r\n "x": 1}'
NOT_UTF8 = {
    "UTF-16, little end first": (TEXT.encode("utf-16-le"), "UTF-16", 1, 1),
    "UTF-16, big end first": (TEXT.encode("utf-16-be"), "UTF-16", 1, 1),
    "UTF-16, little end first, marked": (b"\xff\xfe" + TEXT.encode("utf-16-le"), "UTF-16", 1, 1),
    "UTF-16, big end first, marked": (b"\xfe\xff" + TEXT.encode("utf-16-be"), "UTF-16", 1, 1),
    "UTF-16 that is only ASCII": ("[1]".encode("utf-16-le"), "UTF-16", 1, 1),
    "Latin-1": (TEXT.encode("latin-1"), "byte 0xe9", 1, 14),
    "Latin-1 behind a mark": (BOM + TEXT.encode("latin-1"), "byte 0xe9", 1, 14),
    "Latin-1 on the second line": (b'{"a": 1,\r\n "b": "\xe9"}', "byte 0xe9", 2, 8),
    "behind wide characters": ('["\u4e2d'.encode() + b'\xff"]', "byte 0xff", 1, 4),
    "half a character": ('"\u4e2d'.encode()[:-1], "byte 0xe4", 1, 2),
    "a character in too many bytes": (b'"\xc0\xaf"', "byte 0xc0", 1, 2),
    "a surrogate": (b'"\xed\xa0\x80"', "byte 0xed", 1, 2),
    "beyond Unicode": (b'"\xf5\x80\x80\x80"', "byte 0xf5", 1, 2),
    "a program": (b"\x7fELF\x02\x01\x01\0\0\0\0\xff", "binary", 1, 12),
    "UTF-32": ("[1]\u00ff".encode("utf-32-le") + b"\xff", "UTF-16", 1, 1),
}


@pytest.mark.parametrize(("data", "what", "line", "column"), NOT_UTF8.values(), ids=NOT_UTF8)
def test_what_is_not_utf_8_is_refused_by_its_name(data: bytes, what: str, line: int, column: int) -> None:
    assert refusal(data) == ("encoding.utf-8", line, column)
    with pytest.raises(EncodingError, match=what):
        decode_json(data)


@pytest.mark.long
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(lambda: b'"' + b"a" * 10_000_000 + b'"', id="text"),
        pytest.param(lambda: b'"' + rb"\n" * 5_000_000 + b'"', id="escapes"),
        pytest.param(lambda: b'"' + rb"\ud83d\ude00" * 830_000 + b'"', id="pairs"),
        pytest.param(lambda: b"1." + b"1" * 10_000_000, id="fraction"),
        pytest.param(lambda: b" " * 10_000_000 + b"1", id="blanks"),
    ],
)
def test_ten_megabytes_of_one_value_are_read_quickly(data: Callable[[], bytes]) -> None:
    text, began = data(), time.monotonic()
    assert decode_json(text)
    assert time.monotonic() - began < 60


@pytest.mark.long
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(lambda: b'"' + b"a" * 10_000_000, id="open text"),
        pytest.param(lambda: b'"' + rb"\ud83d\ude00" * 830_000 + rb'\ud83d"', id="a half behind many pairs"),
        pytest.param(lambda: b"1" * 10_000_000, id="integer"),
        pytest.param(lambda: b"1e" + b"1" * 10_000_000, id="exponent"),
        pytest.param(lambda: b"x" * 10_000_000, id="word"),
        pytest.param(lambda: b"-" * 10_000_000, id="signs"),
        pytest.param(lambda: b"[" * 10_000_000, id="brackets"),
        pytest.param(lambda: b'"' + b"\\" * 10_000_001, id="backslashes"),
    ],
)
def test_ten_megabytes_of_nonsense_are_refused_quickly_and_briefly(data: Callable[[], bytes]) -> None:
    text, began = data(), time.monotonic()
    with pytest.raises(EncodingError) as refused:
        decode_json(text)
    assert time.monotonic() - began < 60
    assert len(refused.value.message) < 200


def test_a_message_shows_control_characters_escaped() -> None:
    for data in (b"[\x1b[2J]", '["\\\u202e"]'.encode(), b'{"\x1b":1}', '{"k\u202e":1,"k\u202e":2}'.encode()):
        with pytest.raises(EncodingError) as refused:
            decode_json(data)
        assert refused.value.message.isprintable()


def test_an_unfinished_document_says_since_when_it_is_open() -> None:
    with pytest.raises(EncodingError, match=r"open since line 2, column 6") as refused:
        decode_json(b'{"a": 1,\n"b": [1,\n2')
    assert (refused.value.line, refused.value.column) == (3, 2)


tokens = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"', '""', '"a"', '"a":', "\\", "true", "false", "null", "NaN"),
        *("0", "1", "-", "01", "1.5", "1e5", "1e999", "-0", "Infinity", " ", "\n", "\r\n", "\t", "\0"),
        *(r'"\ud83d"', r'"\ud83d\ude00"', r'"\u0061"', r'"\x"', '"\t"', "é", "\ufeff", "\u2028"),
    ]
)
json_like = st.lists(tokens, max_size=12).map("".join)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A good text with a few of its characters taken out, doubled or replaced."""
    text = plain_data.spelled(draw(plain_data.values), draw(plain_data.randoms)).text
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(tokens | st.just("")) + text[at + draw(st.integers(0, 2)) :]
    return text


@settings(deadline=None, max_examples=150)
@given(json_like | damaged() | st.text(max_size=10))
def test_both_roads_agree_with_each_other_and_with_the_standard_library(text: str) -> None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    try:
        value = decode_json(data)
    except EncodingError:
        rule, _, _ = refusal(data)
        if rule in {"json.syntax", "encoding.utf-8"}:
            with pytest.raises(json.JSONDecodeError):
                json.loads(text.removeprefix("\ufeff"))
    else:
        expected = json.loads(text.removeprefix("\ufeff"))
        assert repr(value) == repr(strictly(data)) == repr(expected)


@settings(deadline=None, max_examples=100)
@given(plain_data.values, plain_data.randoms)
def test_every_spelling_of_a_value_is_read_as_that_value(value: object, random: Random) -> None:
    data = plain_data.spelled(value, random).text.encode()
    assert repr(decode_json(data)) == repr(strictly(data)) == repr(value)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=30))
def test_any_bytes_are_read_or_refused_with_a_place(data: bytes) -> None:
    try:
        decode_json(data)
    except EncodingError as error:
        line, column = error.line, error.column
    else:
        line, column = 1, 1
    assert line is not None
    assert 1 <= line <= data.count(b"\n") + 1
    assert column is not None
    assert 1 <= column <= len(data) + 1
