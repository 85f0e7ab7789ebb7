"""A section that many documents repeat is parsed and written once, and nothing else changes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yaml_rs import loads

from encoding.plain_data import texts, values
from runcard.encoding.yaml import decode_yaml, encode_yaml, reader
from runcard.errors import EncodingError

KEY = "factories_detected"
FACTORIES = {
    f"thing_{n}": {"file": f"spec/factories/thing_{n}.rb", "traits": ["paid", "'no'", "off"]}
    for n in range(30)
}
SECTION = encode_yaml({KEY: FACTORIES}).decode()
LINES = SECTION.removeprefix(f"{KEY}:\n")


def result(text: str, **options: Any) -> Any:
    """The data in their order, or the error with its position."""
    try:
        data = decode_yaml(text.encode(), **options)
    except EncodingError as error:
        return (error.rule, error.line, error.column, error.message)
    return repr(data)


TEXTS = {
    "in the middle": f"a: 1\n{SECTION}b: 2\n",
    "last": f"a: 1\n{SECTION}",
    "first": SECTION,
    "without a newline at the end": f"a: 1\n{SECTION}".rstrip(),
    "after a start mark and comments": f"---\n# one\n\n# two\na: 1\n{SECTION}b: 2\n",
    "with a comment in it": f"a: 1\n{SECTION}# comment\n  more: {{file: x}}\nb: 2\n",
    "with empty lines": f"a: 1\n\n{SECTION}\n\nb: 2\n",
    "before a mark of the end": f"a: 1\n{SECTION}...\nb: 2\n",
    "before a second document": f"a: 1\n{SECTION}---\nb: 2\n",
    "twice": f"a: 1\n{SECTION}b: 2\n{SECTION}",
    "and its key again": f"a: 1\n{SECTION}{KEY}: 2\n",
    "a key before it twice": f"a: 1\na: 2\n{SECTION}",
    "in a text in quotes": f'a: "x\n{SECTION}y"\nb: 2\n',
    "in a text in single quotes": f"a: 'x\n{SECTION.replace(chr(39), '')}y'\nb: 2\n",
    "in a block text": f"--- |\na: 1\n{SECTION}b: 2\n",
    "in brackets": f"{{a: 1,\n{SECTION}}}\n",
    "in inner brackets": f"a: {{\n{SECTION}}}\nb: 2\n",
    "before an element": f"a: 1\n{SECTION}- b\n",
    "before a lost value": f"a: 1\n{SECTION}: b\n",
    "before a tab": f"a: 1\n{SECTION}\tb: 2\n",
    "below an open quote": f"a: 1\n{SECTION}  open: 'x\nb: 2'\nc: 3\n",
    "with another line break": f"a: 1\n{SECTION.rstrip()}\n  x: 1\x85b: 2\nc: 3\n",
    "after a comment with another line break": f"# \r{{a: 1,\n{SECTION}}}\n",
    "with an anchor": f"a: &x 1\n{SECTION}b: *x\n",
    "with an anchor in it": f"a: 1\n{KEY}:\n  x: &x\n    file: y\n{LINES}b: *x\n",
    "with a tag in it": f"a: 1\n{KEY}:\n  x: !!str 1\n{LINES}b: 2\n",
    "with a merge key in it": f"a: 1\n{KEY}:\n  x: {{<<: {{a: 1}}}}\n{LINES}b: 2\n",
    "with a number beyond 64 bits": f"a: 1\n{KEY}:\n  x: 123456789012345678901234567890\n{LINES}b: 2\n",
    "with a key that is no text": f"a: 1\n{KEY}:\n  1: x\n{LINES}b: 2\n",
    "with a key twice in it": f"a: 1\n{SECTION}  thing_3: x\nb: 2\n",
    "with a list": f"a: 1\n{KEY}:\n- x\n{SECTION}",
    "with a text that is the marker": f"{KEY}: runcard-repeated-section\na: 'x\n{SECTION.replace(chr(39), '')}'\n",
    "with the marker elsewhere": f"a: runcard-repeated-section\n{SECTION}b: 2\n",
    "with Windows line ends": f"a: 1\n{SECTION}b: 2\n".replace("\n", "\r\n"),
    "not closed": f"a: 1\n{SECTION}b: [\n",
    "with a byte order mark in it": f"a: 1\n{SECTION}  x: \ufeffy\nb: 2\n",
    "of texts that keep their line ends": f"a: 1\n{SECTION}  x: |+\n    y\n\n\nb: 2\n",
    "before a question mark": f"a: 1\n{SECTION}? b\n: 2\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_data_and_the_errors_are_the_same(text: str) -> None:
    assert result(text, repeated=KEY) == result(text)
    assert result(text, repeated=KEY) == result(text), "the second time as well"


sections = values | values.map(lambda value: {**FACTORIES, "x": value})


@given(st.dictionaries(texts, values, max_size=4), sections)
def test_any_document_is_written_and_read_the_same(data: dict[str, Any], section: Any) -> None:
    data |= {KEY: section}
    written = encode_yaml(data, repeated=KEY)
    assert written == encode_yaml(data)
    assert repr(decode_yaml(written, repeated=KEY)) == repr(decode_yaml(written))


@pytest.mark.parametrize(
    "value", [object(), float("nan"), {"x": {1, 2}}, 10**5000], ids=["object", "nan", "set", "digits"]
)
def test_data_that_is_not_plain_is_refused_the_same(value: Any) -> None:
    data = {"a": 1, KEY: {**FACTORIES, "x": [value]}}
    with pytest.raises(EncodingError) as expected:
        encode_yaml(data)
    with pytest.raises(EncodingError) as error:
        encode_yaml(data, repeated=KEY)
    assert (error.value.rule, error.value.message) == (expected.value.rule, expected.value.message)


def test_true_is_not_one() -> None:
    """Equal data of different types have different texts."""
    for value in (1, True, 1.0, "1"):
        data = {KEY: {**FACTORIES, "x": value}}
        assert encode_yaml(data, repeated=KEY) == encode_yaml(data)


def test_a_result_can_be_changed_without_changing_another() -> None:
    text = f"a: 1\n{SECTION}".encode()
    first = decode_yaml(text, repeated=KEY)
    first[KEY]["thing_1"]["traits"].append("changed")
    assert decode_yaml(text, repeated=KEY)[KEY] == FACTORIES
    data: dict[str, Any] = {"a": 1, KEY: dict(FACTORIES)}
    encode_yaml(data, repeated=KEY)
    data[KEY]["new"] = {"file": "x"}
    assert b"new:" in encode_yaml(data, repeated=KEY)


def test_the_section_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counting_loads(text: str, **options: Any) -> Any:
        parsed.append(text)
        return loads(text, **options)

    monkeypatch.setattr(reader, "loads", counting_loads)
    section = SECTION.replace("thing", "part")  # not in the cache yet
    for number in range(10):
        assert decode_yaml(f"a: {number}\n{section}b: 2\n".encode(), repeated=KEY)["a"] == number
    assert sum("part_1:" in text for text in parsed) == 1
    assert len(parsed) == 11
