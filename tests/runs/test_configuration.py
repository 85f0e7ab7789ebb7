"""Configurations from files and from the command line."""

from pathlib import Path

import pytest

from runcard.errors import DocumentError, StoreError, UsageError
from runcard.store.runs.configuration import read_configuration


def test_the_last_one_wins_and_objects_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text('{"model": "m", "seed": 1, "deep": {"a": 1, "b": [1]}, "list": [1, 2]}')
    Path("b.yaml").write_text("seed: 2\ndeep:\n  b: [2]\n  yes: no\n")
    Path("c.toml").write_text("list = [3]\nday = 2026-11-15\n[deep]\nc = 1.5\n")
    assignments = [
        "seed=3",
        "deep.d.e=true",
        "text=plain words",
        'quoted="7"',
        "provider=p",
        "none=null",
        "sum=1=1",
    ]
    assert read_configuration(["a.json", "b.yaml", "c.toml"], assignments) == {
        "model": "m",
        "provider": "p",
        "seed": 3,
        "deep": {"a": 1, "b": [2], "yes": "no", "c": 1.5, "d": {"e": True}},
        "list": [3],
        "day": "2026-11-15",
        "text": "plain words",
        "quoted": "7",
        "none": None,
        "sum": "1=1",
    }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"seed: 1\n", "a.json:1:1: "),
        ("a.json", b'{"a": 1,\n "a": 2}', "a.json:2:2: "),
        ("a.json", b"[1, 2]", "a.json: expected an object, found a list"),
        ("a.json", b"", "a.json:1:1: "),
        ("a.yaml", b"a: [1\nb: 2\n", "a.yaml:2:"),
        ("a.yml", b"just words", "a.yml: expected an object, found a text"),
        ("a.toml", b'{"a": 1}', "a.toml:1:1: "),
        ("a.toml", b"a = 1\nb = \n", "a.toml:2:5: "),
        ("a.toml", b"a = [", "a.toml:1:6: "),
        ("a.toml", b"a = '\xff'", "a.toml:1:6: "),
        ("a.toml", b"a = nan", "a.toml"),
    ],
)
def test_a_file_that_is_not_what_its_suffix_says(
    name: str, content: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError) as raised:
        read_configuration([name], [])
    assert raised.value.message.startswith(said)
    assert raised.value.hint


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(StoreError, match="does not exist"):
        read_configuration(["missing.json"], [])


def test_a_file_without_a_suffix_that_says_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="does not exist"):
        read_configuration(["config.ini"], [])
    Path("config.ini").touch()
    with pytest.raises(UsageError, match="unknown suffix"):
        read_configuration(["config.ini"], [])


@pytest.mark.parametrize("text", ["novalue", "=1", ".a=1", "a..b=1", ""])
def test_an_assignment_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="this is not key=value"):
        read_configuration([], [text])


def test_a_file_with_nothing_but_comments_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# nothing yet\n")
    assert read_configuration([str(tmp_path / "a.yaml")], []) == {}
