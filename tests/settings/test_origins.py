"""Which of several values counts, and where it is said to come from."""

import os
from pathlib import Path
from typing import Any

import pytest

from runcard.errors import RuncardError
from runcard.operations.checks.config_trust import trust_file
from runcard.settings import (
    ARTIFACTS_DIR,
    ARTIFACTS_ENABLED,
    ARTIFACTS_EXCLUDE_PATTERNS,
    ARTIFACTS_GITIGNORE,
    ARTIFACTS_PATTERNS,
    LIMITS_DEPTH,
    OUTPUTS,
    Setting,
    Settings,
    SettingsError,
    read_settings,
)


def here(folder: Path, **environ: str) -> Settings:
    return read_settings(directory=str(folder), environ=environ)


def origin(settings: Settings, setting: Setting[str] = ARTIFACTS_DIR) -> tuple[str, str]:
    value, where = settings.find(setting)
    return value, str(where)


def test_an_option_over_the_environment_over_a_file_over_the_default(tmp_path: Path) -> None:
    assert origin(here(tmp_path)) == ("artifacts", "default")
    (tmp_path / "runcard.toml").write_text('# mine\n[artifacts]\ndir = "from-file"\n')
    assert origin(here(tmp_path)) == ("from-file", "runcard.toml:3")
    environ = {"ARTIFACTS_DIR": "from-variable"}
    assert origin(here(tmp_path, **environ)) == ("from-variable", "ARTIFACTS_DIR")
    settings = read_settings({ARTIFACTS_DIR: "from-option"}, directory=str(tmp_path), environ=environ)
    assert origin(settings) == ("from-option", "--artifacts")


def test_an_option_that_was_not_given_says_nothing(tmp_path: Path) -> None:
    options: dict[Setting[Any], object] = {
        ARTIFACTS_DIR: None,
        ARTIFACTS_PATTERNS: (),
        ARTIFACTS_GITIGNORE: None,
    }
    environ = {"ARTIFACTS_DIR": "x", "ARTIFACTS_PATTERNS": "*.py", "RUNCARD_GITIGNORE": "yes"}
    settings = read_settings(options, directory=str(tmp_path), environ=environ)
    assert [settings[setting] for setting in options] == ["x", ("*.py",), True]
    given: dict[Setting[Any], object] = {ARTIFACTS_PATTERNS: ("*.md", "[a]"), ARTIFACTS_GITIGNORE: False}
    settings = read_settings(given, directory=str(tmp_path), environ={"RUNCARD_GITIGNORE": "yes"})
    assert [settings[setting] for setting in given] == [("*.md", "[a]"), False]


@pytest.mark.parametrize("text", ["", "none", "NULL"])
def test_a_variable_that_says_nothing_leaves_it_to_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "runcard.toml").write_text('outputs = "mine"\n')
    assert here(tmp_path, RUNCARD_OUTPUTS=text)[OUTPUTS] == "mine"


def test_a_setting_may_have_a_second_variable(tmp_path: Path) -> None:
    assert here(tmp_path, PRESERVE_ARTIFACTS="no")[ARTIFACTS_ENABLED] is False
    assert here(tmp_path, PRESERVE_ARTIFACTS="no", ARTIFACTS_ENABLED="yes")[ARTIFACTS_ENABLED] is True
    assert here(tmp_path, ARTIFACT_PATTERNS="*.py")[ARTIFACTS_PATTERNS] == ("*.py",)


def test_the_file_of_the_nearest_directory_upwards_counts(tmp_path: Path) -> None:
    (inner := tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "runcard.toml").write_text('outputs = "o"\nlimits.depth = 7\n')
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "runcard-fan"\n')
    settings = here(inner)
    assert origin(settings, OUTPUTS) == (str(tmp_path / "o"), f"{tmp_path / 'runcard.toml'}:1")
    assert settings.limits.depth == 7
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\n[tool.runcard.artifacts]\ndir = "p"\n')
    settings = here(inner)
    assert settings[OUTPUTS] == "outputs"
    assert origin(settings) == (str(tmp_path / "a" / "p"), f"{tmp_path / 'a' / 'pyproject.toml'}:3")
    assert list(settings.warnings()) == []


def test_where_a_directory_has_both_its_own_file_counts_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "runcard.toml").write_text('outputs = "mine"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.runcard]\noutputs = "theirs"\n')
    settings = here(tmp_path)
    assert settings[OUTPUTS] == "mine"
    ((message, _),) = settings.warnings()
    assert message == "runcard.toml is used; [tool.runcard] in pyproject.toml is ignored"


@pytest.mark.parametrize(
    "text",
    [
        'artifacts.dir = "x"',
        'artifacts = { dir = "x", enabled = true }',
        '[artifacts]\n"dir" = "x"',
        "\ufeff[ artifacts ]\n dir='x'",
    ],
)
def test_a_key_is_found_however_toml_writes_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "runcard.toml").write_text(text)
    assert origin(here(tmp_path)) == ("x", f"runcard.toml:{len(text.splitlines())}")


def test_an_unknown_key_is_a_warning_with_what_may_be_meant(tmp_path: Path) -> None:
    (tmp_path / "runcard.toml").write_text(
        '[artifacts]\npattern = ["*"]\nretention_days = 30\ncompress = true\nmax_size_gb = 5\n'
        "exclude-patterns = []\n\n[palette]\n\n[limits]\nsise = 1\n"
    )
    assert list(here(tmp_path).warnings()) == [
        ("runcard.toml:2: unknown setting artifacts.pattern", "did you mean artifacts.patterns?"),
        (
            "runcard.toml:6: unknown setting artifacts.exclude-patterns",
            "did you mean artifacts.exclude_patterns?",
        ),
        ("runcard.toml:8: unknown setting palette", "run `runcard config` for a list of all settings"),
        ("runcard.toml:11: unknown setting limits.sise", "did you mean limits.size?"),
    ]


def test_a_wrong_value_hurts_only_those_who_ask_for_it(tmp_path: Path) -> None:
    (tmp_path / "runcard.toml").write_text("limits.depth = 0\n")
    settings = here(tmp_path)
    assert settings[OUTPUTS] == "outputs"
    with pytest.raises(SettingsError, match=r"^runcard\.toml:1: limits\.depth is 0"):
        settings[LIMITS_DEPTH]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a = \n", r"runcard\.toml:1: invalid TOML: "),
        (b"a = 1\na = 2\n", r"runcard\.toml:2: invalid TOML: "),
        (b"\xff", "is not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_toml_is_an_error_that_names_it(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "runcard.toml").write_bytes(data)
    with pytest.raises(RuncardError, match=message):
        here(tmp_path)


def test_what_is_no_file_is_no_file_of_settings(tmp_path: Path) -> None:
    (tmp_path / "runcard.toml").mkdir()
    os.mkfifo(tmp_path / "pyproject.toml")
    assert here(tmp_path).file is None


def test_a_project_that_is_no_toml_hurts_only_when_it_speaks_of_us(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("{{ runcard }}\n")
    assert here(tmp_path).file is None
    (tmp_path / "pyproject.toml").write_text("[tool.runcard]\noutputs = \n")
    with pytest.raises(RuncardError, match=r"pyproject\.toml:2: invalid TOML"):
        here(tmp_path)
    (tmp_path / "pyproject.toml").write_bytes(b"runcard \xff")
    assert here(tmp_path).file is None


@pytest.mark.needs("root")
def test_a_file_that_a_stranger_left_in_a_public_place_does_not_count(tmp_path: Path) -> None:
    for name, text in (
        ("runcard.toml", 'outputs = "x"\n'),
        ("pyproject.toml", '[tool.runcard]\noutputs = "x"\n'),
    ):
        (tmp_path / name).write_text(text)
        os.chown(tmp_path / name, 65534, 65534)
        assert here(tmp_path)[OUTPUTS] == "x"  # in a private directory, somebody meant it
        tmp_path.chmod(0o1777)
        assert here(tmp_path).file is None
        os.chown(tmp_path / name, 0, 0)
        assert here(tmp_path)[OUTPUTS] == "x"
        (tmp_path / name).unlink()
        tmp_path.chmod(0o700)


def test_a_home_directory_and_a_list_of_excludes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    (tmp_path / "runcard.toml").write_text(
        'outputs = "~/runs"\n[artifacts]\nexclude_patterns = [\n  "*.bin", # big\n  "[a]=b",\n]\n'
    )
    trust_file(str(tmp_path))
    settings = here(tmp_path)
    assert settings[OUTPUTS] == "/home/me/runs"
    assert settings[ARTIFACTS_EXCLUDE_PATTERNS] == ("*.bin", "[a]=b")
