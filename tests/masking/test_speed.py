"""Masking comes to an end on hostile text, and importing it is cheap. `bench/masking.py` measures how fast it is."""

import subprocess
import sys
from collections.abc import Iterable
from time import process_time

import pytest

from runcard.masking import Masker, mask_bytes
from runcard.masking.assignments import find_assigned
from runcard.masking.matches import SecretCandidate, SecretMatch

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


@pytest.mark.parametrize("unit", [b"password=abc123 ", b"curl -u a:b ", b"token: 'q1w2e3r4t5y6' "], ids=repr)
def test_the_same_text_again_is_judged_once(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the work: only near the edges of the text is each place looked at."""
    judged: list[object] = []
    judge = Masker._match

    def counting(self: Masker, clues: Iterable[SecretCandidate]) -> SecretMatch | None:
        judged.append(clues)
        return judge(self, clues)

    monkeypatch.setattr(Masker, "_match", counting)
    masked = mask_bytes(unit * 2000)
    assert sum(masked.counts.values()) == 2000
    assert len(judged) < 1000


def test_a_name_with_two_secret_words_is_checked_once() -> None:
    text = b"SECRET_KEY=q1w2e3r4t5\n"
    assert len(list(find_assigned(text, text.lower(), 0))) == 1
    assert mask_bytes(text).counts == {"named-secret": 1}


def test_a_file_that_repeats_many_lines_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []
    judge = Masker._match

    def counting(self: Masker, clues: Iterable[SecretCandidate]) -> SecretMatch | None:
        judged.append(clues)
        return judge(self, clues)

    monkeypatch.setattr(Masker, "_match", counting)
    lines = b"".join(b"PASSWORD_%d=q1w2e3r4%d\n" % (number, number) for number in range(50))
    assert sum(mask_bytes(lines * 100).counts.values()) == 5000
    assert len(judged) < 1000


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
