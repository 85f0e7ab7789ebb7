"""What a value may look like, in the environment, in a file, on the command line."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runcard.cli.exit_codes import ExitCode, code_for_error
from runcard.operations.checks.config_trust import trust_file
from runcard.settings import (
    ALL,
    ARTIFACTS_DIR,
    ARTIFACTS_ENABLED,
    ARTIFACTS_EXCLUDE_PATTERNS,
    ARTIFACTS_FILE_MODE,
    ARTIFACTS_MAX_FILE_SIZE,
    ARTIFACTS_MAX_SIZE,
    ARTIFACTS_PATTERNS,
    LIMITS_DEPTH,
    LIMITS_SIZE,
    OUTPUTS,
    PRICES,
    Setting,
    SettingsError,
    read_settings,
)


def of_variable(setting: Setting[Any], text: str, folder: Path) -> Any:
    return read_settings(environ={setting.variables[0]: text}, directory=str(folder))[setting]


def of_file(setting: Setting[Any], value: str, folder: Path) -> Any:
    (folder / "runcard.toml").write_text(f"{setting.key} = {value}\n")
    with suppress(SettingsError):  # which values count from a file that is not trusted is tested elsewhere
        trust_file(str(folder))
    return read_settings(environ={}, directory=str(folder))[setting]


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        *[(ARTIFACTS_ENABLED, word, True) for word in ("true", "1", "yes", "on", "TRUE", " On ")],
        *[(ARTIFACTS_ENABLED, word, False) for word in ("false", "0", "no", "off", "False")],
        (ARTIFACTS_DIR, "/srv/a b", "/srv/a b"),
        (ARTIFACTS_PATTERNS, "*.py, **/*.md ,!x?", ("*.py", "**/*.md", "!x?")),
        (ARTIFACTS_PATTERNS, '["*.py", "a,b"]', ("*.py", "a,b")),
        (ARTIFACTS_PATTERNS, "[abc]*.py,*.md", ("[abc]*.py", "*.md")),
        (ARTIFACTS_PATTERNS, "[1]", ("[1]",)),
        (ARTIFACTS_PATTERNS, "[]", ()),
        (ARTIFACTS_PATTERNS, "", ()),
        (ARTIFACTS_PATTERNS, "null", ()),
        (ARTIFACTS_PATTERNS, r"\[x", (r"\[x",)),
        (ARTIFACTS_MAX_SIZE, "1000", 1000),
        (ARTIFACTS_MAX_SIZE, "4GiB", 4 * 2**30),
        (ARTIFACTS_MAX_SIZE, "1.5 GB", 1_500_000_000),
        (ARTIFACTS_MAX_SIZE, "2 tb", 2 * 10**12),
        (ARTIFACTS_MAX_SIZE, "none", None),
        (ARTIFACTS_MAX_SIZE, "", None),
        (ARTIFACTS_FILE_MODE, "0640", 0o640),
        (ARTIFACTS_FILE_MODE, "600", 0o600),
        (LIMITS_DEPTH, "20", 20),
        (LIMITS_SIZE, "1 KiB", 1024),
        (PRICES, "none", None),
    ],
)
def test_a_variable(setting: Setting[Any], text: str, value: object, tmp_path: Path) -> None:
    assert of_variable(setting, text, tmp_path) == value


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (ARTIFACTS_ENABLED, "false", False),
        (ARTIFACTS_PATTERNS, '["*.py", "a,b"]', ("*.py", "a,b")),
        (ARTIFACTS_MAX_FILE_SIZE, '"1 MiB"', 2**20),
        (ARTIFACTS_MAX_FILE_SIZE, "1_000", 1000),
        (ARTIFACTS_MAX_FILE_SIZE, '"none"', None),
        (ARTIFACTS_FILE_MODE, '"0660"', 0o660),
        (LIMITS_DEPTH, "20", 20),
    ],
)
def test_a_value_in_a_file(setting: Setting[Any], text: str, value: object, tmp_path: Path) -> None:
    assert of_file(setting, text, tmp_path) == value


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (ARTIFACTS_ENABLED, "maybe"),
        (ARTIFACTS_ENABLED, "2"),
        (ARTIFACTS_DIR, "a\0b"),
        (ARTIFACTS_PATTERNS, "a,,b"),
        (ARTIFACTS_PATTERNS, "[abc"),
        (ARTIFACTS_PATTERNS, "x\\"),
        (ARTIFACTS_PATTERNS, "!"),
        (ARTIFACTS_MAX_SIZE, "0"),
        (ARTIFACTS_MAX_SIZE, "-1"),
        (ARTIFACTS_MAX_SIZE, "1 iB"),
        (ARTIFACTS_MAX_SIZE, "lots"),
        (ARTIFACTS_FILE_MODE, "0888"),
        (ARTIFACTS_FILE_MODE, "0400"),
        (LIMITS_DEPTH, "0"),
        (LIMITS_DEPTH, "1.5"),
    ],
)
def test_a_wrong_value_names_the_variable_the_value_and_what_is_allowed(
    setting: Setting[Any], text: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        of_variable(setting, text, tmp_path)
    error = caught.value
    assert error.message.startswith(f"{setting.variables[0]} is '")
    assert text.replace("\0", "\\x00") in error.message
    assert error.message.endswith(f"allowed: {setting.value_type.allowed}")
    assert error.hint is not None
    assert "unset it for the default" in error.hint
    assert code_for_error(error) is ExitCode.FAILED


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (ARTIFACTS_ENABLED, '"true"'),
        (ARTIFACTS_ENABLED, "1"),
        (ARTIFACTS_DIR, "3"),
        (ARTIFACTS_DIR, '""'),
        (ARTIFACTS_EXCLUDE_PATTERNS, '"*.py"'),
        (ARTIFACTS_EXCLUDE_PATTERNS, "[1]"),
        (ARTIFACTS_MAX_SIZE, "true"),
        (ARTIFACTS_MAX_SIZE, "1.5"),
        (ARTIFACTS_FILE_MODE, "0o600"),
        (LIMITS_DEPTH, '"20"'),
        (PRICES, "{}"),
    ],
)
def test_a_wrong_value_in_a_file_names_the_line(setting: Setting[Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=rf"^runcard\.toml:1: {setting.key} is .*; allowed: ") as caught:
        of_file(setting, text, tmp_path)
    assert code_for_error(caught.value) is ExitCode.FAILED


def test_a_wrong_option_is_wrong_usage() -> None:
    with pytest.raises(SettingsError, match=r"^--max-size is 'lots'; allowed: ") as caught:
        read_settings({ARTIFACTS_MAX_SIZE: "lots"}, environ={})[ARTIFACTS_MAX_SIZE]
    assert code_for_error(caught.value) is ExitCode.USAGE


def test_every_default_is_a_value_that_could_be_written(tmp_path: Path) -> None:
    for setting in ALL:
        shown = setting.value_type.show(setting.default)
        assert of_variable(setting, shown, tmp_path) == setting.default


def test_a_directory_must_be_one_before_anything_is_written_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        settings = read_settings(environ={"ARTIFACTS_DIR": str(path)}, directory=str(tmp_path))
        assert settings[ARTIFACTS_DIR] == str(path)
        with pytest.raises(
            SettingsError, match=r"^ARTIFACTS_DIR is '.*': .*file is not a directory; allowed: a path"
        ):
            settings.checked(ARTIFACTS_DIR)
    good = read_settings(environ={"RUNCARD_OUTPUTS": str(tmp_path / "new" / "er")})
    assert good.checked(OUTPUTS) == str(tmp_path / "new" / "er")


def test_a_price_file_must_be_there_before_it_is_read(tmp_path: Path) -> None:
    settings = read_settings(environ={"RUNCARD_PRICES": str(tmp_path / "gone.json")})
    with pytest.raises(SettingsError, match="not a readable file"):
        settings.checked(PRICES)
