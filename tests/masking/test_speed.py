"""Masking comes to an end on hostile text, and importing it is cheap. `bench/masking.py` measures how fast it is."""

import subprocess
import sys
from collections.abc import Callable
from time import process_time

import pytest

from runcard.masking import Masker, assignments, mask_bytes, secret_values, value_checks
from runcard.masking.assignments import AssignmentSearch

MEGABYTE = 1_000_000

HOSTILE = (
    *(
        b"a",
        b"=",
        b'"',
        b"'\"`",
        b'\\"',
        b"\\",
        b":",
        b"@",
        b"_",
        b".",
        b"-",
        b"A",
        b"/",
        b"\n",
        b"key=",
        b"?key=",
        b"token=",
    ),
    *(
        b"password ",
        b"password=",
        b'password="',
        b"password: '",
        b"password is ",
        b"define('PASSWORD', '",
        b"<password>",
    ),
    *(
        b"sk-",
        b"sk-ant-",
        b"ghp_",
        b"xoxb-",
        b"AKIA",
        b"8Q~",
        b"1//0",
        b".atlasv1.",
        b"ntn_1",
        b"eyJ",
        b"neyJ",
        b".eyJ",
    ),
    *(
        b"://",
        b"://a:",
        b"-----BEGIN ",
        b"-----BEGIN PRIVATE KEY-----\n",
        b"PuTTY-User-Key-File-2: ",
        b"LS0tLS1CRUdJTiB",
    ),
    *(b"Private-MAC: ", b"Authorization: ", b"Cookie: a=", b"Bearer ", b" -u a:", b"--token ", b"[masked:"),
    *(b"password=abc123 ", b"curl -u a:b ", b"-----BEGIN PRIVATE KEY-----"),
)
SIZE = 60_000
MOST = (
    3.5  # times as long for twice the text; a search that goes over everything again takes four times as long
)
TRIES = 4


def of_size(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


def seconds(raw: bytes) -> float:
    began = process_time()
    mask_bytes(raw)
    return process_time() - began


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_twice_the_hostile_text_takes_about_twice_the_time(unit: bytes) -> None:
    """Absolute times say nothing on a busy machine; and the best of some tries counts, since it may be busy only now."""
    mask_bytes(of_size(unit, 1000))  # patterns are compiled
    ratios = []
    for _ in range(TRIES):
        ratios.append(seconds(of_size(unit, 2 * SIZE)) / max(seconds(of_size(unit, SIZE)), 0.002))
        if ratios[-1] < MOST:
            return
    pytest.fail(f"twice the text takes {min(ratios):.1f} times as long")


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_masking_hostile_text_twice_changes_nothing_more(unit: bytes) -> None:
    masked = mask_bytes(of_size(unit, SIZE)).value
    assert mask_bytes(masked).value == masked


class Calls:
    """Counts the calls of a function."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function, self.count = function, 0

    def __call__(self, *arguments: object) -> object:
        self.count += 1
        return self._function(*arguments)


@pytest.fixture
def names_read(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls(assignments._name)
    monkeypatch.setattr(assignments, "_name", calls)
    return calls


@pytest.fixture
def values_checked(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls(secret_values.secret_rule)
    monkeypatch.setattr(value_checks, "secret_rule", calls)
    return calls


@pytest.mark.parametrize("unit", [b"password=abc123\n", b"token: 'q1w2e3r4t5y6',", b'{"api_key":"q1w2e3r4"}'])
def test_a_name_that_repeats_is_read_once(unit: bytes, names_read: Calls) -> None:
    assert sum(mask_bytes(unit * 2000).counts.values()) == 2000
    assert names_read.count < 20


def test_a_name_is_read_once_whatever_its_values_are(names_read: Calls, values_checked: Calls) -> None:
    """Values of letters and digits need no long check."""
    lines = b"".join(b"DB_PASSWORD=q1w2e3r4%d\n" % number for number in range(5000))
    assert mask_bytes(lines).counts == {"password": 5000}
    assert names_read.count < 20
    assert values_checked.count == 0


def test_a_value_that_repeats_is_checked_once(values_checked: Calls) -> None:
    lines = b"DB_PASSWORD=changeme\nAPI_KEY=a-b_c!\n" * 2000
    assert mask_bytes(lines).counts == {"named-secret": 2000}
    assert values_checked.count < 20


@pytest.mark.parametrize("unit", [b"Cookie: a=", b";Cookie: a=b", b"Authorization: Digest q1w2e3r4 "])
def test_a_header_inside_a_header_is_not_checked(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one goes to the end of the line, and all others are in it."""
    calls = Calls(assignments._check_header)
    monkeypatch.setattr(assignments, "_check_header", calls)
    text = unit * 5000
    assert mask_bytes(text).counts in ({"cookie": 1}, {"authorization": 1})
    assert 0 < calls.count < 20


@pytest.mark.long
def test_memory_for_names_and_values_is_bounded() -> None:
    masker = Masker()
    for number in range(20_000):
        masker.feed(b"NAME%d_PASSWORD=a-%d\nDB_PASSWORD=b-%d\n" % (number, number, number))
    assert len(masker._assignments._places) <= assignments._MOST_PLACES


def test_short_values_in_code_are_no_candidates() -> None:
    """They are the most frequent ones in minified code: `re` rejects them."""
    code = b"t.token:a.x,n.auth===b.c)credentials:d}"
    assert not [match for pattern in assignments.patterns() for match in pattern.finditer(code)]


def test_a_name_with_two_secret_words_is_checked_once() -> None:
    text = b"\nmy SECRET_KEY=q1w2e3r4t5\n"
    assert len(AssignmentSearch().find(text, text.lower(), 0)) == 1
    assert mask_bytes(text).counts == {"named-secret": 1}


def test_ten_megabytes_on_one_line_are_masked() -> None:
    raw = b"a" * 10 * MEGABYTE + b" password=hunter2"
    assert mask_bytes(raw).counts == {"password": 1}


def test_importing_compiles_no_pattern() -> None:
    code = (
        "import re, typing, enum, functools, itertools\n"
        "made = []\n"
        "compile = re._compiler.compile\n"
        "re._compiler.compile = lambda pattern, *rest: made.append(pattern) or compile(pattern, *rest)\n"
        "import runcard.masking\n"
        "assert not made, made\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def seconds_in_yaml(unit: bytes) -> float:
    masker, began = Masker(file_name="database.yml"), process_time()
    masker.feed(of_size(unit, SIZE))
    masker.flush()
    return process_time() - began


def test_values_that_are_maps_are_not_read_to_the_end_of_the_line() -> None:
    """In a line of such names, that would be all of the line for each of them."""
    ratios = []
    for _ in range(TRIES):
        ratios.append(seconds_in_yaml(b"{password: ") / max(seconds_in_yaml(b"{password: x, "), 0.002))
        if ratios[-1] < 6:
            return
    pytest.fail(f"it takes {min(ratios):.0f} times as long as for words")
