"""The user's own settings file, and the files of projects that the user trusts."""

import json
import os
from pathlib import Path

import pytest

from conftest import Cli
from runcard.errors import RuncardError
from runcard.settings import ARTIFACTS_DIR, ARTIFACTS_FILE_MODE, LIMITS_DEPTH, OUTPUTS, read_settings


@pytest.fixture
def own(home: Path) -> Path:
    """Where the user's own settings are; the file does not exist yet."""
    path = home / ".config" / "runcard" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.usefixtures("here")
def test_the_users_file_counts_after_the_projects_and_before_the_default(own: Path) -> None:
    own.write_text('outputs = "mine"\n[artifacts]\ndir = "/data/sessions"\nfile_mode = "0640"\n')
    Path("runcard.toml").write_text('outputs = "theirs"\n')
    settings = read_settings()
    assert settings.find(OUTPUTS) == ("theirs", ("file", "runcard.toml", 1))
    assert settings.find(ARTIFACTS_DIR) == ("/data/sessions", ("user-file", str(own), 3))
    assert settings[ARTIFACTS_FILE_MODE] == 0o640
    assert settings[LIMITS_DEPTH] == 1000
    assert read_settings(environ={"RUNCARD_OUTPUTS": "x", **os.environ})[OUTPUTS] == "x"


def test_a_relative_path_in_it_is_seen_from_where_the_command_runs(own: Path, cli: Cli, here: Path) -> None:
    own.write_text('outputs = "runs"\n')
    assert cli("run", "--quiet", "--", "true").code == 0
    assert (here / "runs").is_dir()


@pytest.mark.usefixtures("here")
def test_what_is_wrong_with_it_is_reported(own: Path, cli: Cli) -> None:
    own.write_text("output = 1\nlimits.depth = 0\n")
    done = cli("config")
    assert done.code == 1
    assert f"Error: {own}:2: limits.depth is 0; allowed: " in done.err
    assert f"Warning: {own}:1: unknown setting output\n  hint: did you mean outputs?\n" in done.err
    own.write_text("[")
    with pytest.raises(RuncardError, match="invalid TOML"):
        read_settings()[OUTPUTS]


@pytest.mark.usefixtures("here")
@pytest.mark.needs("root")
def test_a_file_that_belongs_to_somebody_else_is_an_error(
    own: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_text('outputs = "x"\n')
    os.chown(own, 65534, 65534)
    assert "belongs to another user" in cli("config").err
    monkeypatch.setenv("XDG_CONFIG_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(own.parent.parent.parent))
    assert "belongs to another user" in cli("config").err


def test_trust_shows_what_it_allows_and_can_be_listed_and_revoked(cli: Cli, here: Path) -> None:
    assert cli("config", "trust").code == 1
    path = here / "runcard.toml"
    path.write_text('outputs = "runs"\n[artifacts]\nfile_mode = "0644"\nenabled = false\n')
    before = json.loads(cli("config", "--json").out)
    mode = next(one for one in before["settings"] if one["key"] == "artifacts.file_mode")
    assert (before["trusted"], mode["value"], mode["refused"]) == (
        False,
        "0600",
        {"value": "0644", "origin": {"kind": "file", "name": "runcard.toml", "line": 3}},
    )
    assert cli("config", "trust").out == (
        f"{path} is now trusted\n  artifacts.enabled = false\n  artifacts.file_mode = 0644\n"
    )
    done = cli("config")
    assert (done.code, done.err) == (0, "")
    assert cli("config", "trust").out.startswith(f"{path} was already trusted\n")
    data = json.loads(cli("config", "trust", "--json").out)
    assert (data["path"], data["new"], len(data["sha256"])) == (str(path), False, 64)
    assert data["allowed"][1] == {"key": "artifacts.file_mode", "value": "0644"}
    assert cli("config", "trust", "--list").out == f"{path}\n"
    assert json.loads(cli("config", "trust", "--list", "--json").out) == {
        "files": [{"path": str(path), "sha256": data["sha256"], "state": "trusted"}]
    }
    path.write_text('outputs = "elsewhere"\n')
    assert cli("config", "trust", "--list").out == f"{path} (changed since: not trusted)\n"
    path.unlink()
    assert cli("config", "trust", "--list").out == f"{path} (no longer there)\n"
    assert cli("config", "trust", "--revoke", path).out == f"{path} is no longer trusted\n"
    assert cli("config", "trust", "--list").out == ""
    assert cli("config", "trust", "--revoke", path).code == 1
    assert cli("config", "trust", "--list", "--revoke").code == 64


def test_a_file_or_its_folder_can_be_named(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "project").mkdir()
    path = here / "project" / "pyproject.toml"
    path.write_text("[project]\n")
    assert cli("config", "trust", "project").err.startswith(
        "Error: there is no settings file of a project at project"
    )
    path.write_text("[tool.runcard]\nlimits.depth = 2000\n")
    assert cli("config", "trust", "project").out == f"{path} is now trusted\n  limits.depth = 2000\n"
    assert cli("config", "trust", path).out.startswith(f"{path} was already trusted")
    assert cli("config", "trust", "project/runcard.toml").code == 1
    monkeypatch.chdir(here / "project")
    assert read_settings()[LIMITS_DEPTH] == 2000
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    assert cli("config", "trust").err.startswith("Error: ")


def test_a_warning_goes_away_where_an_option_or_a_variable_decides(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "runcard.toml").write_text('outputs = "/elsewhere"\n')
    refused = cli("ledger")
    assert "outputs is ignored" in refused.err
    cli("run", "--quiet", "--", "true")
    assert cli("ledger").code == 2
    assert (cli("ledger", "outputs").code, cli("close", "--outputs", "outputs").code) == (0, 0)
    monkeypatch.setenv("RUNCARD_OUTPUTS", "outputs")
    assert cli("ledger").code == 0
