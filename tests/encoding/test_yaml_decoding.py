"""Reading YAML: what it means, what is refused, under which rule, and where."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runcard.encoding import BOM, Limits, as_text
from runcard.encoding.yaml import decode_yaml, is_simple, locate_yaml, reader, yaml_1_1_type
from runcard.encoding.yaml.composer import compose
from runcard.encoding.yaml.nodes import to_data
from runcard.errors import EncodingError


def slowly(data: bytes, limits: Limits | None = None) -> object:
    """What the slow road makes of it, which the fast one spares plain documents."""
    limits = limits or Limits()
    return to_data(compose(as_text(data, limits), limits))


def decoded(text: str) -> object:
    """What both roads read, which must be the same."""
    value = decode_yaml(text.encode())
    assert repr(value) == repr(slowly(text.encode()))
    return value


def refused(data: bytes, limits: Limits | None = None) -> EncodingError:
    with pytest.raises(EncodingError) as found:
        decode_yaml(data, limits or Limits())
    return found.value


def refusal(data: str | bytes, limits: Limits | None = None) -> tuple[str, int | None, int | None]:
    error = refused(data.encode() if isinstance(data, str) else data, limits)
    assert error.hint, "what is refused says how to mend it"
    return error.rule, error.line, error.column


MEANING: dict[str, object] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "nULL": "nULL",
    "true": True,
    "FALSE": False,
    "yes": "yes",
    "off": "off",
    "y": "y",
    "12": 12,
    "+12": 12,
    "-0": 0,
    "0x1F": 31,
    "-0x10": -16,
    "0o17": 15,
    "0b101": 5,
    "0x": "0x",
    "0o8": "0o8",
    "0777": "0777",
    "00": "00",
    "08": "08",
    "1_000": "1_000",
    "1,000": "1,000",
    "12:30:45": "12:30:45",
    "1.5": 1.5,
    "1e3": 1000.0,
    ".5": 0.5,
    "5.": 5.0,
    "-.5": -0.5,
    "1.5.2": "1.5.2",
    "inf": "inf",
    "nan": "nan",
    "2026-11-15": "2026-11-15",
    "2026-11-15T10:00:00Z": "2026-11-15T10:00:00Z",
    "'12'": "12",
    '"null"': "null",
    "=": "=",
    ":symbol": ":symbol",
    "18446744073709551616": 2**64,
    "-9223372036854775809": -(2**63) - 1,
    "0xFFFFFFFFFFFFFFFFFF": 2**72 - 1,
    "1e308": 1e308,
}


@pytest.mark.parametrize("scalar", MEANING)
def test_plain_scalars_are_read_by_yaml_1_2(scalar: str) -> None:
    expected = MEANING[scalar]
    for text, value in ((f"a: {scalar}\n", {"a": expected}), (f"- {scalar}\n", [expected])):
        found = decoded(text)
        assert found == value
        assert repr(found) == repr(value)  # 1, 1.0 and true are three


DOCUMENTS: dict[str, tuple[str, object]] = {
    "nothing at all": ("", None),
    "only a comment": ("# nothing\n", None),
    "only a document marker": ("---\n", None),
    "a list": ("- 1\n- b\n", [1, "b"]),
    "one document with its marks": ("---\na: 1\n...\n", {"a": 1}),
    "brackets": ("a: {b: [1, 'x'], \"c\":2}", {"a": {"b": [1, "x"], "c": 2}}),
    "a tab after a colon": ("a:\t1", {"a": 1}),
    "literal text": ("a: |\n  x\n   y\n", {"a": "x\n y\n"}),
    "folded text": ("a: >-\n  x\n  y\n", {"a": "x y"}),
    "lines of another system": ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
    "all alphabets": ("ключ: 中文 \U0001f600", {"ключ": "中文 \U0001f600"}),
    "an explicit key": ("? a\n: b", {"a": "b"}),
    "an alias": ("a: &x [1, {b: 2}]\nc: *x\n", {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}),
    "an alias of text": ("a: &x yes\nb: *x", {"a": "yes", "b": "yes"}),
    "an alias as a key": ("&k a: {*k : 1}", {"a": {"a": 1}}),
    "an anchor used anew": ("- &x 1\n- &x 2\n- *x", [1, 2, 2]),
    "a merge": ("d: &d {a: 1, b: 2}\ne:\n  <<: *d\n  b: 3", {"d": {"a": 1, "b": 2}, "e": {"b": 3, "a": 1}}),
    "a merge of several, the first wins": (
        "- &p {a: 1}\n- &q {a: 2, b: 2}\n- <<: [*p, *q]\n  c: 3",
        [{"a": 1}, {"a": 2, "b": 2}, {"c": 3, "a": 1, "b": 2}],
    ),
    "a quoted merge key is a key": ("'<<': {a: 1}", {"<<": {"a": 1}}),
    "tags that only say what plain data is": (
        "{a: !!str 1, b: !!int 2, c: !!float 3, d: !!map {}, e: !!seq [], f: ! 4, g: !!null '', h: !!bool true}",
        {"a": "1", "b": 2, "c": 3, "d": {}, "e": [], "f": "4", "g": None, "h": True},
    ),
    "a directive": ("%YAML 1.1\n---\na: 1", {"a": 1}),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_becomes_plain_data(name: str) -> None:
    text, value = DOCUMENTS[name]
    assert decoded(text) == value


def test_an_alias_is_a_copy() -> None:
    value = decode_yaml(b"a: &x [1]\nb: *x\n")
    value["a"].append(2)
    assert value["b"] == [1]


REFUSED: dict[str, tuple[str, tuple[str, int, int]]] = {
    "a key twice": ("a: 1\nb: 2\na: 3\n", ("yaml.duplicate-key", 3, 1)),
    "a key twice, in other quotes": ("{a: 1, 'a': 2}", ("yaml.duplicate-key", 1, 8)),
    "two merges": ("<<: {a: 1}\n<<: {b: 1}", ("yaml.duplicate-key", 2, 1)),
    "a number as a key": ("a:\n  1: x", ("yaml.key", 2, 3)),
    "a word as a key that is none": ("true: x", ("yaml.key", 1, 1)),
    "nothing as a key": ("? \n: x", ("yaml.key", 1, 2)),
    "a list as a key": ("[a]: 1", ("yaml.key", 1, 1)),
    "a map as a key": ("? {a: 1}\n: 1", ("yaml.key", 1, 3)),
    "an alias of a list as a key": ("a: &x [1]\n*x : 1", ("yaml.key", 2, 1)),
    "not a number": ("a: .nan", ("yaml.not-finite", 1, 4)),
    "infinity": ("a:\n- -.Inf", ("yaml.not-finite", 2, 3)),
    "beyond the largest number": ("a: 1e400", ("yaml.not-finite", 1, 4)),
    "beyond the largest number, written out": (f"a: {'9' * 400}.5", ("yaml.not-finite", 1, 4)),
    "too many digits": (f"a: {'9' * 4301}", ("yaml.too-many-digits", 1, 4)),
    "too many digits, in base 16": (f"a: 0x{'f' * 4000}", ("yaml.too-many-digits", 1, 4)),
    "very many digits, in base 2": (f"a: 0b{'1' * 100_000}", ("yaml.too-many-digits", 1, 4)),
    "a tag of Ruby": ("a: !ruby/object:Gem::Installer {}", ("yaml.tag", 1, 4)),
    "a tag of Python": ("a: !!python/object/apply:os.system [ls]", ("yaml.tag", 1, 4)),
    "a tag for a set": ("!!set {a, b}", ("yaml.tag", 1, 1)),
    "a tag for bytes": ("a: !!binary aGk=", ("yaml.tag", 1, 4)),
    "a tag that is not true": ("a: !!int x", ("yaml.tag", 1, 4)),
    "a boolean said to be a number": ("a: !!int true", ("yaml.tag", 1, 4)),
    "an unknown alias": ("a: *b", ("yaml.alias", 1, 4)),
    "a list that holds itself": ("a: &a\n- *a", ("yaml.alias", 2, 3)),
    "a merge with itself": ("a: &a\n  <<: *a", ("yaml.alias", 2, 7)),
    "a merge with text": ("<<: x", ("yaml.merge", 1, 5)),
    "a merge with a list of text": ("<<: [x]", ("yaml.merge", 1, 5)),
    "two documents": ("a: 1\n---\nb: 2\n", ("yaml.documents", 2, 1)),
    "a tab as indentation": ("a:\n\tb: 1", ("yaml.syntax", 2, 1)),
    "an open bracket": ("a: [1, 2", ("yaml.syntax", 1, 9)),
    "an open quote": ('a: "x\n', ("yaml.syntax", 2, 1)),
    "two colons": ("a: b: c", ("yaml.syntax", 1, 5)),
    "wrong indentation": ("a:\n  b: 1\n c: 2", ("yaml.syntax", 3, 2)),
    "NUL": ("a: x\0y", ("yaml.syntax", 1, 5)),
    "an escape sequence": ("a: \x1b[31m", ("yaml.syntax", 1, 4)),
    "half of a surrogate pair": ('a: "\\ud800"', ("yaml.syntax", 1, 7)),
    "an unknown escape": ('a: "\\q"', ("yaml.syntax", 1, 5)),
    "a reserved character": ("a: @x", ("yaml.syntax", 1, 4)),
    "a version from the future": ("%YAML 3.0\n---\na: 1", ("yaml.syntax", 1, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_where(name: str) -> None:
    text, expected = REFUSED[name]
    assert refusal(text) == expected


ENCODINGS = {
    "UTF-16 with its mark": ("a: é".encode("utf-16"), "UTF-16"),
    "UTF-16 without": ("a: 1".encode("utf-16-le"), "UTF-16"),
    "UTF-16, the other way round": ("a: 1".encode("utf-16-be"), "UTF-16"),
    "Latin-1": ("a: é".encode("latin-1"), "0xe9"),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_other_encodings_are_refused_by_name(name: str) -> None:
    data, said = ENCODINGS[name]
    error = refused(data)
    assert error.rule == "encoding.utf-8"
    assert said in error.message
    assert error.hint == "save the file as UTF-8"


def test_a_byte_order_mark_is_passed_over() -> None:
    assert decode_yaml(BOM + b"a: 1") == {"a": 1}
    assert refusal(BOM + b"a: [") == ("yaml.syntax", 1, 5)


def bomb(levels: int) -> bytes:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


def test_aliases_are_bounded() -> None:
    """A few hundred bytes may stand for billions of values."""
    assert len(decode_yaml(bomb(5))["l4"]) == 10
    error = refused(bomb(9))
    assert (error.rule, error.line) == ("yaml.alias", 6)
    assert "1,000,000" in error.message
    assert refusal(b"a: &a [1, 2]\nb: *a", Limits(expansion=2)) == ("yaml.alias", 2, 4)
    assert decode_yaml(b"a: &a [1, 2]\nb: *a", Limits(expansion=3)) == {"a": [1, 2], "b": [1, 2]}


def test_merged_values_are_bounded() -> None:
    base = "base: &base {" + ", ".join(f"k{n}: {n}" for n in range(1000)) + "}\n"
    text = base + "".join(f"m{n}: {{<<: *base}}\n" for n in range(1100))
    assert refusal(text)[0] == "yaml.alias"


DEEP = {
    "lists in brackets": ("[" * 100_000, 1001),
    "maps in brackets": ("{a: " * 100_000, 4001),
    "lists": ("- " * 100_000, 2001),
    "closed lists": ("[" * 50_000 + "]" * 50_000, 1001),
}


@pytest.mark.parametrize("name", DEEP)
def test_very_deep_nesting_is_refused_quickly(name: str) -> None:
    text, column = DEEP[name]
    assert refusal(text) == ("yaml.too-deep", 1, column)


@pytest.mark.parametrize("levels", [100, 127, 128, 129, 500, 1000])
def test_nesting_up_to_the_limit_is_read(levels: int) -> None:
    value = decode_yaml(b"[" * levels + b"]" * levels)
    for _ in range(levels - 1):
        (value,) = value
    assert value == []


@pytest.mark.long
def test_a_great_many_values_far_down_are_refused() -> None:
    """Each of them costs a look at every bracket around it."""
    assert refusal("[" * 900 + "1," * 60_000 + "]" * 900)[:2] == ("yaml.too-deep", 1)
    assert len(decode_yaml(b"[" * 3 + b"1," * 300_000 + b"]" * 3)[0][0]) == 300_000


@pytest.mark.parametrize(
    "text", ["[" * 40 + "]" * 40, "- '[[['\n" * 50, "- []\n" * 50, "- [{}, [{}]]\n" * 50]
)
def test_brackets_of_any_kind_are_read_the_same_on_both_roads(text: str) -> None:
    assert decoded(text) is not None


def test_maps_by_indentation_are_read_up_to_the_limit() -> None:
    text = "".join(f"{' ' * n}a:\n" for n in range(1001))
    assert refusal(text) == ("yaml.too-deep", 1001, 1001)
    assert decode_yaml("".join(f"{' ' * n}a:\n" for n in range(1000)).encode()) is not None


def test_an_alias_counts_the_levels_of_its_anchor() -> None:
    assert refusal("a: &a [[1]]\nb: [[*a]]", Limits(depth=4)) == ("yaml.too-deep", 2, 6)
    assert decode_yaml(b"a: &a [[1]]\nb: [*a]", Limits(depth=4)) == {"a": [[1]], "b": [[[1]]]}


def test_the_limits_are_the_callers() -> None:
    assert refusal("[[[1]]]", Limits(depth=2)) == ("yaml.too-deep", 1, 3)
    assert refusal("1234", Limits(digits=3)) == ("yaml.too-many-digits", 1, 1)
    assert decode_yaml(b"123", Limits(digits=3)) == 123
    assert refused(b"12345", Limits(size=4)).rule == "encoding.too-big"


@pytest.mark.parametrize(
    "number", ["9" * 30, "1e999", "-1.5E+400", "0x" + "f" * 20, "0o" + "7" * 40, "9" * 400 + "."]
)
@pytest.mark.parametrize(
    "place", ["{}", "- {}\n", "a: {} # x", "[1,{}]", '{{"a":{}}}', "{{a: {}, b: 1}}", "a:\n  {}", "---\n{}"]
)
def test_a_long_number_is_not_rounded_wherever_it_stands(number: str, place: str) -> None:
    text = place.format(number).encode()
    try:
        expected: object = slowly(text)
    except EncodingError as error:
        expected = error.rule
    try:
        found: object = decode_yaml(text)
    except EncodingError as error:
        found = error.rule
    assert found == expected


def test_integers_are_exact() -> None:
    digits = "9" * 4300
    assert decode_yaml(f"a: {digits}".encode()) == {"a": int(digits)}
    assert decode_yaml(f"a: 1{'0' * 50}".encode()) == {"a": 10**50}
    assert refusal("1" * 5000, Limits(digits=10_000))[0] == "yaml.too-many-digits"  # Python itself refuses
    assert sys.get_int_max_str_digits() < 5000


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_a_scalar_of_ten_megabytes(quote: str) -> None:
    scalar = "x " * 5_000_000 + "x"
    assert decode_yaml(f"a: {quote}{scalar}{quote}\n".encode()) == {"a": scalar}


def test_a_literal_of_ten_megabytes_beside_an_anchor() -> None:
    assert decode_yaml(b"b: &b 1\na: |\n" + b"  some text\n" * 1_000_000)["a"].count("\n") == 1_000_000


_PIECES = [
    "a",
    "b",
    "- ",
    "-",
    ": ",
    ":",
    "\n",
    "\n  ",
    "\n    ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ",",
    "'",
    '"',
    "#",
    " ",
    "1",
    "0",
    "777",
    "_",
    "1.5",
    "1e3",
    ".5",
    "e5",
    "+",
    ".inf",
    ".nan",
    "0x1F",
    "true",
    "no",
    "null",
    "~",
    "? ",
    "é",
    "\u2028",
    "\x85",
    "\t",
    "\r",
    "---",
    "...",
    "2026-11-15",
    "12:30",
    "\\n",
    "\\",
    "=",
    "@",
    "%",
    "&x ",
    "*x",
    "!!str ",
    "!x ",
    "<<: ",
    "\x00",
    "\ufeff",
    ">-\n",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*_PIECES, "|", "|\n"]), max_size=14).map("".join))
@example("\ufeff---\n")
def test_both_roads_agree_about_any_text(text: str) -> None:
    """The fast road is a short cut: it never reads what the slow one refuses, or reads it differently."""
    try:
        expected: object = repr(slowly(text.encode()))
    except EncodingError as error:
        expected = (error.rule, error.message, error.line, error.column)
    try:
        found: object = repr(decode_yaml(text.encode()))
    except EncodingError as error:
        found = (error.rule, error.message, error.line, error.column)
    assert found == expected


_LINES = [
    "a: 1",
    "a: b",
    "b:",
    "- a",
    "- a: 1",
    "-",
    "- - b",
    "  c: |",
    "  c: |-",
    "    text",
    "      more",
    "  d: 'it''s'",
    '  d: "x\\n\\u00e9"',
    "  e: [a, 'b', 1.5, {c: d}]",
    "  e: {a: [1, 2], b: c}",
    "  f: 08",
    "  f: _0",
    "  f: 0b8ec853214d2402b1443b4a6c8e8cc5",
    "  f: 0b101010101010101010101010101010101",
    "  f: 12e4567890123456789012345678901234",
    "  f: 2026-11-15",
    "  f: 2026-11-15 10:00:00.5 +01:00",
    "  f: 12 apples # c",
    "  f: ::A::B",
    "  yes: no",
    "  true: null",
    "  g: ~",
    "  g: -0",
    "  g: word:",
    "text",
    "# comment",
    "  # comment",
    " ",
    "",
    "---",
    "...",
]


@settings(max_examples=600, deadline=None)
@given(
    lines=st.lists(st.sampled_from(_LINES), max_size=6),
    newline=st.sampled_from(["\n", "\r\n"]),
    end=st.sampled_from(["", "\n"]),
)
@example(lines=["  c: |", "    text", "    text"], newline="\n", end="")  # parsers differ about its end
@example(lines=["a: 1", "a: b"], newline="\n", end="\n")
def test_both_roads_agree_about_lines_that_are_simple_one_by_one(
    lines: list[str], newline: str, end: str
) -> None:
    test_both_roads_agree_about_any_text.hypothesis.inner_test(newline.join(lines) + end)  # type: ignore[attr-defined]


CORPUS = Path(__file__).parents[1] / "corpus"


def test_without_the_fast_parser_everything_is_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of the corpus, valid or not: the same data, or the same error at the same place."""
    files = [path.read_bytes() for path in CORPUS.rglob("*.y*ml")]
    assert len(files) > 100
    assert sum(is_simple(data.decode(errors="replace")) for data in files) > len(files) // 2
    fast = [_outcome(data) for data in files]
    monkeypatch.setattr(reader, "loads", None)
    assert [_outcome(data) for data in files] == fast


def _outcome(data: bytes) -> object:
    try:
        return repr(decode_yaml(data))
    except EncodingError as error:
        return (error.rule, error.message, error.line, error.column)


def test_the_fast_parser_may_be_absent() -> None:
    """As on a Python for which it has no wheel yet."""
    program = "import sys; sys.modules['yaml_rs'] = None; from runcard.cli.main import main; sys.exit(main())"
    for path in ("valid/testplan-2.0/every-addition.yml", "invalid/yaml.duplicate-key.yml"):
        with_it, without = (
            subprocess.run(
                [sys.executable, *start, "validate", str(CORPUS / path)], capture_output=True, check=False
            )
            for start in (["-m", "runcard"], ["-c", program])
        )
        assert (without.returncode, without.stdout, without.stderr) == (
            with_it.returncode,
            with_it.stdout,
            with_it.stderr,
        )


def test_where_values_stand() -> None:
    text = "# a plan\nstates: [yes, 'no', 0777]\nempty:\nlist:\n  - name: é\n    level: 1 # one\n"
    places = locate_yaml(
        text,
        ["", "/states/0", "/states/1", "/states/2", "/empty", "/list/0/name", "/list/0/level", "/list/7/x"],
    )
    assert places == {
        "": (2, 1, None),
        "/states/0": (2, 10, "yes"),
        "/states/1": (2, 15, None),
        "/states/2": (2, 21, "0777"),
        "/empty": (3, 7, ""),
        "/list/0/name": (5, 11, "é"),
        "/list/0/level": (6, 12, "1"),
        "/list/7/x": (5, 3, None),
    }


def test_an_alias_stands_where_it_is_written_and_says_what_its_anchor_says() -> None:
    places = locate_yaml("a: &x no\nb: *x\nc/d: {<<: {k: off}}\n", ["/a", "/b", "/c~1d/k"])
    assert places == {"/a": (1, 4, "no"), "/b": (2, 4, "no"), "/c~1d/k": (3, 15, "off")}


READINGS = {
    "boolean": ["yes", "No", "ON", "off", "true", "FALSE", "y", "N"],
    "null": ["null", "~", "NULL", ""],
    "octal": ["0777", "-01", "0_7"],
    "integer": ["1", "1_000", "1,000", "+5", "0x1F", "0b1", "08"],
    "sexagesimal": ["12:30", "12:30:45", "1:2.5"],
    "number": ["1.5", "1e3", ".5", "5.", "-.inf", ".NaN", "1_0.5", "-1.5e-3"],
    "date": ["2026-11-15", "2026-1-5"],
    "timestamp": ["2026-11-15T10:00:00Z", "2026-11-15 10:00:00 +1", "2026-11-15t10:00:00.5+01:00"],
    "symbol": [":name"],
    "merge": ["<<", "="],
    "text": [
        "card",
        "yes please",
        "1st",
        "v1.0",
        "-",
        "+",
        ".",
        "1.2.3",
        "e5",
        "truely",
        "2026-11",
        "_1",
        "-e3",
        "+.",
    ],
}


@pytest.mark.parametrize("kind", READINGS)
def test_what_older_readers_take_an_unquoted_scalar_for(kind: str) -> None:
    assert {text: yaml_1_1_type(text) for text in READINGS[kind]} == dict.fromkeys(READINGS[kind], kind)


# Lines in which a quote may open or close a text, with marks inside and outside of quotes.
_QUOTES_AND_MARKS = (
    "a",
    "key: ",
    "- ",
    "'",
    "''",
    '"',
    "&b",
    " &b ",
    "*b",
    " *b",
    "!x ",
    " != ",
    "[",
    "]",
    ", ",
    ": ",
    "# ",
    "\n",
    "\n  ",
    "| ",
)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.sampled_from(_QUOTES_AND_MARKS), max_size=14).map("".join))
@example("a: 'x &b *b !c'\nstates: ['a != b', c]\n")
@example("? 'multi\n  key: ' : &b x'\nc: *b\n")
@example("foo['x: &b']\n")
def test_marks_in_quotes_change_nothing(text: str) -> None:
    """The fast path is taken only where it reads the same."""
    try:
        slow = slowly(text.encode())
    except EncodingError:
        with pytest.raises(EncodingError):
            decode_yaml(text.encode())
    else:
        assert repr(decode_yaml(text.encode())) == repr(slow)


def test_a_document_with_marks_in_quotes_takes_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runcard.encoding.yaml.composer.compose", None)
    text = "condition: 'a && !b'\nstates: ['*', x]\n"
    assert decode_yaml(text.encode()) == {"condition": "a && !b", "states": ["*", "x"]}
