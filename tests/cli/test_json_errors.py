"""With --json, an error is printed as JSON on stdout as well, by commands with and without click."""

import json
from pathlib import Path

import pytest

from runcard.cli.main import main

MISSING = {
    "show": ["show", "--json", "nowhere"],
    "extract": ["extract", "--json", "nowhere", "a"],
    "restore": ["restore", "--json", "nowhere"],
    "ledger": ["ledger", "--json", "nowhere"],
    "amend": ["amend", "--json", "nowhere", "note", "text"],
    "redact": ["redact", "--json", "nowhere", "--file", "a", "--reason", "b", "--yes"],
    "collect": ["collect", "--json", "nowhere.yaml"],
    "in a group": ["experiment", "show", "--json", "nowhere"],
}


@pytest.mark.parametrize("words", MISSING.values(), ids=MISSING)
def test_an_error_is_printed_as_json(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["runcard", *words])
    assert main() == 1
    out, err = capfd.readouterr()
    assert err.startswith("Error: ")
    assert "nowhere" in json.loads(out)["error"]


@pytest.mark.parametrize("name", ["show", "ledger"])
def test_a_wrong_command_line_is_not(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["runcard", name, "nowhere", "--json", "--no-such-option"])
    assert main() == 64
    out, err = capfd.readouterr()
    assert err.startswith("Error: ")
    assert out == ""
