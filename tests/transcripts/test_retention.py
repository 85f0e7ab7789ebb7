"""When agent tools delete their sessions: their defaults, their settings, and settings that are hostile."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runcard.transcripts.retention import Retention, retention

CLAUDE, GEMINI = "claude-code", "gemini"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a tool in a home."""
    folder = tmp_path / "home" / ".tool"
    folder.mkdir(parents=True)
    return folder


def put(folder: Path, data: object, name: str = "settings.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def of_claude(root: Path, *projects: Path) -> Retention:
    return retention(CLAUDE, str(root), map(str, projects), {})


def of_gemini(root: Path, *projects: Path, **environ: str) -> Retention:
    return retention(GEMINI, str(root), map(str, projects), environ)


@pytest.mark.parametrize("tool", ["codex", "opencode"])
def test_some_tools_delete_nothing(tool: str, root: Path) -> None:
    assert retention(tool, str(root), [], {}) == Retention("never")


def test_claude_code_keeps_sessions_for_30_days(root: Path) -> None:
    assert of_claude(root) == Retention("age", 30)


def test_the_user_can_set_another_period(root: Path) -> None:
    path = put(root, {"cleanupPeriodDays": 365})
    assert of_claude(root) == Retention("age", 365, str(path))


def test_a_shorter_period_of_one_project_counts_for_all(root: Path, tmp_path: Path) -> None:
    """The cleanup is one of all projects, with the settings of the project that Claude Code is started in."""
    put(root, {"cleanupPeriodDays": 365})
    long, short = tmp_path / "long", tmp_path / "short"
    put(long / ".claude", {"cleanupPeriodDays": 1000})
    path = put(short / ".claude", {"cleanupPeriodDays": 5})
    period = of_claude(root, long, short)
    assert (period.days, period.source) == (5, str(path))
    assert "all projects" in str(period.note)


def test_local_settings_of_a_project_win_over_shared_ones(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "p" / ".claude", {"cleanupPeriodDays": 5})
    put(tmp_path / "p" / ".claude", {"cleanupPeriodDays": 20}, "settings.local.json")
    assert of_claude(root, tmp_path / "p").days == 20


@pytest.mark.parametrize("value", [0, -1, 1.5, "30", None, True, [], {}])
def test_a_period_that_is_not_valid_is_unknown(value: Any, root: Path) -> None:
    """0 deleted everything once, and is refused today."""
    path = put(root, {"cleanupPeriodDays": value})
    period = of_claude(root)
    assert (period.kind, period.days, period.source) == ("unknown", None, str(path))
    assert json.dumps(value) in str(period.note)


def test_a_period_without_end_is_a_long_one(root: Path) -> None:
    put(root, '{"cleanupPeriodDays": 1' + "0" * 300 + "}")
    assert of_claude(root).days == 10**7


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", "nul", "[" * 100_000, '{"cleanupPeriodDays": 1' + "0" * 5000 + "}", " " * (2 << 20)],
)
def test_a_file_that_is_no_settings_file_leaves_the_default(text: str, root: Path) -> None:
    put(root, text)
    assert of_claude(root) == Retention("age", 30)


def test_settings_may_have_comments(root: Path) -> None:
    put(root, '\ufeff{// days\n"a": "// no comment", /* also */ "cleanupPeriodDays": 3 /* end */}')
    assert of_claude(root).days == 3


@pytest.mark.parametrize("text", ["/*" * 500_000, '"' + r"\"" * 500_000, "/" * 1_000_000])
def test_many_comments_that_do_not_end_take_no_time(text: str, root: Path) -> None:
    put(root, text)
    assert of_claude(root) == Retention("age", 30)


def test_nothing_but_regular_files_is_read(root: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "settings.json")
    (tmp_path / "p" / ".claude" / "settings.json").mkdir(parents=True)
    assert of_claude(root, tmp_path / "p", tmp_path / "missing") == Retention("age", 30)


def test_gemini_keeps_sessions_for_30_days(root: Path) -> None:
    assert of_gemini(root) == Retention("age", 30)


@pytest.mark.parametrize(("age", "days"), [("24h", 1), ("7d", 7), ("2w", 14), ("1m", 30)])
def test_the_period_of_gemini(age: str, days: float, root: Path) -> None:
    path = put(root, {"general": {"sessionRetention": {"maxAge": age}}})
    assert of_gemini(root) == Retention("age", days, str(path))


def test_gemini_can_be_told_to_keep_all_sessions(root: Path) -> None:
    put(root, {"general": {"sessionRetention": {"enabled": False}}})
    assert of_gemini(root).kind == "never"


def test_gemini_can_keep_a_number_of_sessions(root: Path) -> None:
    put(root, {"general": {"sessionRetention": {"maxCount": 20}}})
    period = of_gemini(root)
    assert (period.days, period.most) == (30, 20)


@pytest.mark.parametrize(
    "own",
    [{"maxAge": "x"}, {"maxAge": "0d"}, {"maxAge": 5}, {"maxCount": 0}, {"maxCount": "2"}, {"enabled": "no"}],
)
def test_a_retention_of_gemini_that_is_not_valid_is_unknown(own: object, root: Path) -> None:
    put(root, {"general": {"sessionRetention": own}})
    assert of_gemini(root).kind == "unknown"


@pytest.mark.parametrize("data", [{"general": []}, {"general": {"sessionRetention": 5}}, {"general": None}])
def test_other_types_in_the_settings_of_gemini_leave_the_default(data: object, root: Path) -> None:
    put(root, data)
    assert of_gemini(root) == Retention("age", 30)


def test_the_settings_of_the_system_win(root: Path, tmp_path: Path) -> None:
    put(root, {"general": {"sessionRetention": {"maxAge": "90d"}}})
    put(tmp_path / "p" / ".gemini", {"general": {"sessionRetention": {"maxAge": "9d"}}})
    assert of_gemini(root, tmp_path / "p").days == 9
    system = put(tmp_path / "etc", {"general": {"sessionRetention": {"maxAge": "50d"}}})
    assert of_gemini(root, tmp_path / "p", GEMINI_CLI_SYSTEM_SETTINGS_PATH=str(system)).days == 50
