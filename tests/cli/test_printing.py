"""How things look: harmless, and coloured only on a terminal."""

import io
import json
import sys

import click
import pytest

from runcard.cli.printing import colour, complain, say, say_json

_HOSTILE = "a\x1b[31m\x07\x7f\x9b1m\u061c\u200b\u200f\u2028\u202e\u2066\u206f\ufeff\U000e0041z"


def _seen(text: str) -> set[str]:
    return {character for character in text if not character.isprintable() and character != "\n"}


def test_lines_and_messages_show_hostile_characters_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    say(_HOSTILE + "\n")
    complain("Error", _HOSTILE + "\nError: forged", hint=_HOSTILE)
    out, err = capsys.readouterr()
    assert _seen(out + err) == set()
    assert out.count("\n") == 1
    assert err.count("\n") == 2
    assert r"a\x1b[31m" in out


def test_json_escapes_hostile_characters_and_stays_the_same_data(capsys: pytest.CaptureFixture[str]) -> None:
    data = {_HOSTILE: [_HOSTILE, "é→😀"]}
    say_json(data)
    out = capsys.readouterr().out
    assert _seen(out) == set()
    assert "é→😀" in out
    assert json.loads(out) == data


def test_json_is_printed_whatever_bytes_a_name_has(capsys: pytest.CaptureFixture[str]) -> None:
    say_json({"path": "caf\udce9", "all": ["a", "\udcff"], "count": 1})
    assert json.loads(capsys.readouterr().out) == {"path": r"caf\xe9", "all": ["a", r"\xff"], "count": 1}


def test_a_terminal_that_can_show_text_only_gets_text_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    complain("Error", "something")
    assert capsys.readouterr().err == "Error: something\n"


def test_a_label_is_coloured_only_for_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    complain("Warning", "look")
    assert capsys.readouterr().err == f"{click.style('Warning:', fg='yellow', bold=True)} look\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    complain("Warning", "look")
    assert capsys.readouterr().err == "Warning: look\n"


@pytest.mark.parametrize(("value", "wanted"), [(None, None), ("", None), ("1", False), ("0", False)])
def test_no_color_switches_colours_off_when_it_is_not_empty(
    monkeypatch: pytest.MonkeyPatch, value: str | None, *, wanted: bool | None
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    assert colour() is wanted


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, None),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, None),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
    ids=str,
)
def test_force_color_asks_for_colours_and_no_color_wins(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], *, wanted: bool | None
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert colour() is wanted


def test_text_is_written_in_utf_8_where_the_encoding_has_no_other_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    say("é→")
    assert raw.getvalue() == "é→\n".encode()
