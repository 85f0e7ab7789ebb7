"""The errors of somebody's first day: each hint that names a command names one that works when it is pasted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.command import TIMEOUT, environment
from cli.commands import commands_in
from conftest import Cli
from docs import pretend_claude
from runcard.extras import install_hint
from runs.runs import record_one

BIN = Path(sys.executable).parent
HIDDEN = "import sys\nfor name in {modules!r}: sys.modules[name] = None\n"  # as if they were not installed


def typed(command: str, folder: Path, *, without: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit code of a shell for a command, and all that was printed; there is no terminal."""
    folder.mkdir(exist_ok=True)
    hidden = folder.parent / "hidden"
    hidden.mkdir(exist_ok=True)
    (hidden / "sitecustomize.py").write_text(HIDDEN.format(modules=without))
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment({"PATH": f"{BIN}:{os.defpath}", "PYTHONPATH": str(hidden)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert "Traceback" not in done.stdout
    return done.returncode, done.stdout


def named(printed: str) -> list[str]:
    """The commands that the hints and remarks in an output name."""
    return [word for line in printed.splitlines() for word in commands_in(line.removeprefix("  hint: "))]


@pytest.fixture
def records(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What stands for a record in a command: one in an archive, one that is there, and a copy that was changed."""
    folder = tmp_path / "my place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert cli("archive", record_one(folder / "outputs")).code == 0
    run = record_one(folder / "outputs")
    shutil.copytree(run, folder / "outputs/a copy", symlinks=True)
    (folder / "outputs/a copy/notes.txt").write_text("three\n")
    [archive] = folder.glob("outputs/archive/*/*.tar.gz")
    shutil.copy(archive, tmp_path / f"{archive.name}")
    assert cli("keygen", "--output", tmp_path / "key.pem").code == 0
    return {
        "RUN": f"outputs/{run.name}",
        "ARCHIVED": str(archive.relative_to(folder)),
        "CHANGED": "'outputs/a copy'",
        "ELSEWHERE": f"../{archive.name}",
    }


@pytest.mark.parametrize(
    ("command", "code", "wanted"),
    [
        ("ls", 0, ["run -- echo hello", "demo"]),
        ("ls runs", 0, ["run -- echo hello"]),
        ("ls sessions", 0, ["import claude-code --all"]),
        ("ls plans", 0, ["plan pipeline --help"]),
        ("ls experiments", 0, ["experiment create personas"]),
        ("ls nosuch", 64, ["show nosuch"]),
        ("experiment list", 0, ["experiment create personas"]),
        ("experiment show nosuch", 1, ["experiment list"]),
        ("costs", 0, ["costs --source all"]),
        ("import claude-code --session nosuch", 1, ["costs --source claude-code --by session"]),
        ("show @latest", 1, ["ls"]),
        ("show nosuch", 1, ["ls"]),
        ("rerun nosuch", 1, ["ls"]),
        ("verify nosuch", 1, ["ls"]),
        ("show", 64, ["show --help"]),
        ("run", 64, ["run --help"]),
        ("run --nosuch x", 64, ["run --help"]),
        ("shwo", 64, ["--help"]),
        ("show --jsn x", 64, ["show --help"]),
        ("keygen", 64, ["keygen --help"]),
        ("sign nosuch", 64, ["keygen --output runcard.pem"]),
        ("collect", 64, ["collect --template"]),
        ("config trust", 1, ["config"]),
        ("log-metric accuracy 0.9", 1, ["run -- runcard log-metric accuracy 0.9"]),
        ("session log a", 1, ["session start team-1"]),
        ("archive", 64, ["archive --older-than 30d"]),
        ("query", 64, ["query 'SELECT model, sum(cost_usd) FROM v1_counted_usage GROUP BY model'"]),
        ("query nosuch", 64, ["query --views"]),
        ("whence", 64, ["whence --help"]),
        ("demo /etc/hostname", 1, ["demo runcard-demo-2"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_in_an_empty_folder(tmp_path: Path, home: Path, command: str, code: int, wanted: list[str]) -> None:
    pretend_claude.write_session(home)
    folder = tmp_path / "empty"
    done, printed = typed(f"runcard {command}", folder)
    assert (done, named(printed)) == (code, wanted), printed
    for hinted in wanted:
        again, answer = typed(f"runcard {hinted}", folder)
        assert again == (1 if hinted == "show nosuch" else 0), answer


@pytest.mark.parametrize(
    ("command", "code", "wanted", "then"),
    [
        ("show RUN/notes.txt", 1, "show RUN", 0),
        ("verify RUN/notes.txt", 1, "show RUN", 0),
        ("close ARCHIVED", 1, "show ARCHIVED", 0),
        ("amend RUN note", 64, "amend RUN note 'checked by hand'", 0),
        ("amend RUN tag", 64, "amend RUN tag reviewed", 0),
        ("restore ELSEWHERE", 64, "restore ELSEWHERE --to restored", 0),
        ("archive CHANGED", 1, "verify CHANGED", 1),
        ("sign --key ../key.pem CHANGED", 1, "verify CHANGED", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_in_a_folder_with_records(
    records: dict[str, str], command: str, code: int, wanted: str, then: int
) -> None:
    for word, path in records.items():
        command, wanted = command.replace(word, path), wanted.replace(word, path)
    done, printed = typed(f"runcard {command}", Path.cwd())
    printed = printed.replace(f"{Path.cwd()}/", "")
    assert (done, named(printed)) == (code, [wanted]), printed
    again, answer = typed(f"runcard {wanted}", Path.cwd())
    assert again == then, answer


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [
        ("serve", "uvicorn", "web"),
        ("export RUN --to html", "jinja2", "web"),
        ("mcp --http", "mcp", "mcp"),
        ("keygen --output other.pem", "cryptography", "sign"),
        ("plan targets a.rb", "tree_sitter", "ruby"),
        ("export runs --to parquet -o runs.parquet", "pyarrow", "arrow"),
        ("verify outputs --workers 2", "distributed", "cluster"),
        ("archive RUN --to s3://bucket", "obstore", "s3"),
    ],
)
def test_without_an_extra(records: dict[str, str], command: str, module: str, extra: str) -> None:
    Path("a.rb").write_text("class A\nend\n")
    done, printed = typed(f"runcard {command.replace('RUN', records['RUN'])}", Path.cwd(), without=(module,))
    assert done == 1
    assert f"  hint: {install_hint(extra)}\n" in printed


def test_a_missing_extra_changes_no_verdict(records: dict[str, str]) -> None:
    verified = f"runcard verify {records['RUN']}"
    assert typed(verified, Path.cwd(), without=("cryptography",)) == typed(verified, Path.cwd())
