"""Writing YAML: what is written reads back as the same, here and for readers of YAML 1.1."""

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings

from encoding.plain_data import deep_in_the_stack, exactly, innermost, values
from runcard.encoding.yaml import decode_yaml, encode_yaml
from runcard.encoding.yaml.writer import flow
from runcard.errors import EncodingError

PLAN = {
    "format_version": "2.0",
    "analyzer": {"completed": True, "timestamp": "2026-11-15T10:00:00Z", "source_file_mtime": 1699351530},
    "target": {"class": "Billing::Invoice", "method": "total", "file": "app/models/invoice.rb"},
    "characteristics": [
        {"name": "paid", "states": ["yes", "no"], "default": None, "level": 1, "note": "a: b"},
        {"name": "kind", "states": ["0777", "1_000", "2026-11-15", "x"], "setup": {"type": "factory"}},
    ],
    "matrix": [[1, 2.5], [], {}, [[True]], [["a b"], {"c": []}]],
    "warnings": ["Factory trait :premium not found", "it's\tme", "two\nlines"],
    "factories_detected": {},
}

TEXT = """\
format_version: '2.0'
analyzer:
  completed: true
  timestamp: '2026-11-15T10:00:00Z'
  source_file_mtime: 1699351530
target:
  class: 'Billing::Invoice'
  method: total
  file: app/models/invoice.rb
characteristics:
  - name: paid
    states: ['yes', 'no']
    default: null
    level: 1
    note: 'a: b'
  - name: kind
    states: ['0777', '1_000', '2026-11-15', x]
    setup:
      type: factory
matrix:
  - [1, 2.5]
  - []
  - {}
  - - [true]
  - - - a b
    - c: []
warnings:
  - 'Factory trait :premium not found'
  - "it's\\tme"
  - "two\\nlines"
factories_detected: {}
"""


def test_a_document_in_block_style() -> None:
    assert encode_yaml(PLAN).decode() == TEXT
    assert decode_yaml(TEXT.encode()) == PLAN


def test_a_long_list_stands_line_by_line() -> None:
    words = [f"some_long_word_{n}" for n in range(6)]
    assert encode_yaml({"a": words}) == b"a:\n" + b"".join(f"  - {word}\n".encode() for word in words)
    assert encode_yaml({"a": words[:4]}) == f"a: [{', '.join(words[:4])}]\n".encode()


@pytest.mark.parametrize("value", [None, True, 5, 2.5, "x", "", [], {}, ["a"], "a\nb"])
def test_a_document_of_one_value(value: object) -> None:
    assert decode_yaml(encode_yaml(value)) == value


@settings(deadline=None)
@given(values)
@example({"\x85": "\u2028\u2029\ufeff\x7f\x00\ufffe"})
@example(
    [[[]], {"a": [{}]}, 1e16, 1e-7, -0.0, 5e-324, "- x", "#", " x ", "x:", "? x", "<<", "%a", "...", "---"]
)
def test_what_is_written_reads_back_as_the_same(value: Any) -> None:
    text = encode_yaml(value)
    assert exactly(decode_yaml(text)) == exactly(value)
    assert exactly(decode_yaml(f"[{flow(value)}]".encode())) == exactly([value])


@pytest.mark.parametrize(
    "text", ["1" * 500_000 + "x", "1:" * 250_000, "1_" * 250_000, "a b " * 125_000, "0." * 250_000]
)
def test_a_long_text_that_is_nearly_something_else_is_written_quickly(text: str) -> None:
    assert decode_yaml(encode_yaml({"a": text, "b": [text]})) == {"a": text, "b": [text]}


def test_a_key_may_be_long() -> None:
    value = {"x" * 3000: {"y z" * 2000: [1]}, "z": 1}
    assert decode_yaml(encode_yaml(value)) == value


@settings(deadline=None)
@given(values)
@example(
    ["y", "n", "ON", "1:30", "0o7", "0b1", "1e3", "1.e5", ".5", "+.inf", "=", "<<", "~", "2026-1-1", "0x_1"]
)
def test_readers_of_yaml_1_1_read_the_same(value: Any) -> None:
    found = yaml.load(encode_yaml(value), yaml.CSafeLoader)
    assert exactly(found) == exactly(value)


def test_nesting_costs_no_stack() -> None:
    value: Any = "core"
    for _ in range(500):
        value = [{"k": value}]
    for read in (lambda: decode_yaml(encode_yaml(value)), lambda: decode_yaml(flow(value).encode())):
        assert innermost(deep_in_the_stack(read)) == "core"


REFUSED: dict[str, tuple[object, str, str]] = {
    "not a number": ({"a": [float("nan")]}, "json.not-finite", "/a/0"),
    "an object": ({"a": object()}, "json.not-plain", "/a"),
    "a key that is not text": ({1: 2}, "json.not-plain", "1"),
    "half of a surrogate pair": (["\ud800"], "json.lone-surrogate", ""),
    "more digits than Python writes": ([10**5000], "json.too-many-digits", "/0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_plain_data_is_not_is_refused(name: str) -> None:
    value, rule, said = REFUSED[name]
    with pytest.raises(EncodingError) as refused:
        encode_yaml(value)
    assert refused.value.rule == rule
    assert said in refused.value.message


def test_a_container_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["a"] = [value]
    with pytest.raises(EncodingError, match="contains itself, at /a/0"):
        encode_yaml(value)
