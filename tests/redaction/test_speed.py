"""Masking comes to an end on hostile text, and importing it is cheap. `bench/masking.py` measures how fast it is."""

import subprocess
import sys

import pytest

from runcard.redaction import mask_bytes

MEGABYTE = 1_000_000

HOSTILE = {
    "a": b"a",
    "=": b"=",
    "sk-": b"sk-",
    "BEGIN": b"-----BEGIN",
    "eyJ": b"eyJ",
    "-": b"-",
    '"': b'"',
    "\\": b"\\",
    ":": b":",
    "@": b"@",
    "sk-ant-": b"sk-ant-",
    ".eyJ": b".eyJ",
    "password=": b"password=",
    "key=": b"key=",
    "://a:": b"://a:",
    "lines": b"\n",
}
DENSE = {
    "a secret each 15 bytes": b"password=abc123 ",
    "a quote without an end": b"password: '",
    "headers of keys without keys": b"-----BEGIN PRIVATE KEY-----",
    "options": b" -u a:b --token x",
}


def of_size(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


@pytest.mark.parametrize("name", [*HOSTILE, *DENSE])
def test_hostile_text_comes_to_an_end(name: str) -> None:
    """A pattern that looks back over all it has read would not be done with a megabyte in this lifetime."""
    raw = of_size((HOSTILE | DENSE)[name], MEGABYTE if name in HOSTILE else MEGABYTE // 10)
    masked = mask_bytes(raw).value
    assert mask_bytes(masked).value == masked


def test_ten_megabytes_on_one_line_are_masked() -> None:
    raw = b"a" * 10 * MEGABYTE + b" password=hunter2"
    assert mask_bytes(raw).counts == {"password": 1}


def test_importing_compiles_no_pattern() -> None:
    code = (
        "import re, typing, enum, functools, itertools\n"
        "made = []\n"
        "compile = re._compiler.compile\n"
        "re._compiler.compile = lambda pattern, *rest: made.append(pattern) or compile(pattern, *rest)\n"
        "import runcard.redaction\n"
        "assert not made, made\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
