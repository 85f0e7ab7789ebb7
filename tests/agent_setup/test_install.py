"""`runcard install` and `uninstall`: the settings files of agent tools, with every other byte kept."""

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.agent_setup import hook_note
from runcard.agent_setup.tools import OWN_MARK
from runcard.cli.agents.setup_options import TOOLS as IN_HELP
from runcard.encoding.json.jsonc import parse_jsonc
from runcard.operations.agents.install import TOOLS, carry_out, plan_install, plan_uninstall

JSON_FILES = {
    "claude-code": (".claude/settings.json", ".mcp.json"),
    "gemini": (".gemini/settings.json",),
    "opencode": ("opencode.json",),
    "cursor": (".cursor/mcp.json",),
    "codex": (".codex/hooks.json",),
}
TEXTS = {
    "empty": b"",
    "only a line end": b"\n",
    "empty object": b"{}",
    "compact": b'{"theme":"dark","mcpServers":{"other":{"command":"x"}}}',
    "indented by four": b'{\n    "theme": "dark",\n    "hooks": {}\n}\n',
    "tabs, CRLF and a byte order mark": b'\xef\xbb\xbf{\r\n\t"theme": "dark",\r\n\t"mcpServers": {\r\n\t}\r\n}\r\n',
    "comments": b'// mine\n{\n  "theme": "dark", // why\n  /* x */ "hooks": {"Stop": [/* none */]},\n  // end\n}',
    "hooks of others": b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}\n',
    "umlauts": '{\n  "name": "Zoë \\u00fc"\n}'.encode(),
}
TOML_TEXTS = {
    "empty": b"",
    "settings": b'# mine\nmodel = "gpt-5" # why\n\n[mcp_servers.other]\ncommand = "x"\n',
    "no line end": b'model = "gpt-5"',
    "CRLF": b'model = "gpt-5"\r\n[tui]\r\nx = 1\r\n',
    "byte order mark": b'\xef\xbb\xbfmodel = "gpt-5"\n',
    "dates": b"checked = 2026-01-01T00:00:00Z\nday = 2026-01-01\n",
}


@pytest.fixture(autouse=True)
def _folders(here: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:  # noqa: ARG001
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)


def put(name: str, data: bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def tree(folder: Path = Path()) -> dict[str, bytes | None]:
    """All files and folders below a folder."""
    found = sorted(folder.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}


def data_of(path: Path) -> Any:
    text = path.read_bytes().decode("utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else parse_jsonc(text).data if text.strip() else {}


def test_the_tools_in_the_help_are_those_of_the_operation() -> None:
    assert IN_HELP == TOOLS


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("tool", JSON_FILES)
def test_a_json_file_keeps_its_data_and_uninstall_restores_its_bytes(cli: Cli, tool: str, name: str) -> None:
    for file in JSON_FILES[tool]:
        put(file, TEXTS[name])
    before = tree()
    assert cli("install", tool, "--yes").code == 0
    for file in JSON_FILES[tool]:
        old, new = (
            parse_jsonc(TEXTS[name].decode("utf-8-sig")).data if TEXTS[name].strip() else {},
            data_of(Path(file)),
        )
        assert new.get("theme") == old.get("theme")
        assert list(new)[: len(old)] == list(old)
        comments = [line for line in TEXTS[name].split(b"\n") if line.strip().startswith(b"//")]
        assert [
            line for line in Path(file).read_bytes().split(b"\n") if line.strip().startswith(b"//")
        ] == comments
    installed = tree()
    assert cli("install", tool, "--yes").out.endswith("already installed\n")
    assert tree() == installed
    assert cli("uninstall", tool, "--yes").code == 0
    assert tree() == before


@pytest.mark.parametrize("name", TOML_TEXTS)
def test_a_toml_file_keeps_its_data_and_uninstall_restores_its_bytes(cli: Cli, name: str) -> None:
    path = put(".codex/config.toml", TOML_TEXTS[name])
    before, old = tree(), data_of(path)
    assert cli("install", "codex", "--mcp", "--yes").code == 0
    new = data_of(path)
    assert path.read_bytes().startswith(TOML_TEXTS[name])
    server = new["mcp_servers"].pop("runcard")
    assert server["args"] == ["mcp"]
    assert os.access(server["command"], os.X_OK)
    assert {key: value for key, value in new.items() if value} == old
    assert cli("install", "codex", "--mcp", "--yes").out.endswith("already installed\n")
    assert cli("uninstall", "codex", "--yes").code == 0
    assert tree() == before


@pytest.mark.parametrize("tool", TOOLS)
def test_without_files_all_is_made_and_removed_again(cli: Cli, tool: str, home: Path) -> None:
    for options in ((), ("--user",)):
        where = home if options else Path()
        before = tree(where)
        outcome = cli("install", tool, "--yes", *options)
        assert outcome.code == 0, outcome.err
        made = {path for path in tree(where).keys() - before.keys() if ".local/state" not in path}
        assert made
        assert cli("uninstall", tool, "--yes", *options).code == 0
        left = {path for path in tree(where).keys() - before.keys() if ".local" not in path}
        assert left == set()


def test_what_is_added_is_what_the_tools_read(cli: Cli) -> None:
    assert cli("install", *TOOLS, "--yes").code == 0
    claude = data_of(Path(".claude/settings.json"))["hooks"]
    assert list(claude) == ["SessionStart", "Stop", "SubagentStop", "SessionEnd"]
    (group,) = claude["Stop"]
    (handler,) = group["hooks"]
    assert handler["type"] == "command"
    assert handler["command"].endswith("hook_note.py claude-code Stop 2>/dev/null || :")
    assert data_of(Path(".mcp.json"))["mcpServers"]["runcard"]["args"] == ["mcp"]
    assert list(data_of(Path(".gemini/settings.json"))["hooks"]) == [
        "SessionStart",
        "AfterAgent",
        "SessionEnd",
    ]
    assert data_of(Path("opencode.json"))["mcp"]["runcard"]["command"][1:] == ["mcp"]
    (plugin,) = data_of(Path("opencode.json"))["plugin"]
    assert plugin[0].startswith("file:///")
    assert plugin[0].endswith("/runcard/agent_setup/opencode_plugin.js")
    assert plugin[1]["command"][-1].endswith("hook_note.py")
    assert not Path(".opencode").exists()


def test_one_part_can_be_added_and_removed_without_the_other(cli: Cli) -> None:
    put(".gemini/settings.json", TEXTS["comments"])
    before = tree()
    assert cli("install", "gemini", "--hooks", "--yes").code == 0
    only_hooks = tree()
    assert cli("install", "gemini", "--mcp", "--yes").code == 0
    data = data_of(Path(".gemini/settings.json"))
    assert "runcard" in data["mcpServers"]
    assert "AfterAgent" in data["hooks"]
    assert cli("uninstall", "gemini", "--mcp", "--yes").code == 0
    assert tree() == only_hooks
    assert cli("uninstall", "gemini", "--hooks", "--yes").code == 0
    assert tree() == before


def test_allow_write_is_passed_on_and_can_be_changed(cli: Cli) -> None:
    assert cli("install", "cursor", "--yes", "--allow-write").code == 0
    assert data_of(Path(".cursor/mcp.json"))["mcpServers"]["runcard"]["args"] == ["mcp", "--allow-write"]
    assert cli("install", "cursor", "--yes").code == 0
    assert data_of(Path(".cursor/mcp.json"))["mcpServers"]["runcard"]["args"] == ["mcp"]
    assert cli("uninstall", "cursor", "--yes").code == 0
    assert tree() == {}


def test_a_dry_run_shows_the_difference_and_writes_nothing(cli: Cli, home: Path) -> None:
    put(".claude/settings.json", TEXTS["indented by four"])
    before, state = tree(), tree(home)
    outcome = cli("install", "claude-code", "--dry-run")
    assert outcome.code == 0
    assert "+++ " in outcome.out
    assert '+        "Stop": [' in outcome.out
    assert outcome.out.endswith("Nothing was written (--dry-run).\n")
    assert (tree(), tree(home)) == (before, state)


def test_without_a_terminal_and_without_yes_nothing_is_written(cli: Cli) -> None:
    outcome = cli("install", "claude-code")
    assert outcome.code == 64
    assert "pass --yes" in outcome.err
    assert "+++ " in outcome.out
    assert tree() == {}


def test_the_difference_shows_no_secrets(cli: Cli) -> None:
    secret = "sk-ant-api03-" + "k7Wq" * 23 + "AA"
    put(".claude/settings.json", json.dumps({"env": {"ANTHROPIC_API_KEY": secret}}).encode())
    for options in ((), ("--json",)):
        outcome = cli("install", "claude-code", "--dry-run", *options)
        assert secret not in outcome.out
        assert "[masked:" in outcome.out


def _link(path: Path) -> None:
    path.rename("elsewhere.json")
    path.symlink_to(Path("elsewhere.json").absolute())


def _folder_link(path: Path) -> None:
    path.parent.rename("elsewhere")
    path.parent.symlink_to(Path("elsewhere").absolute())


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "broken": (lambda path: path.write_bytes(b'{"a": 1'), "is broken: line 1"),
    "not UTF-8": (lambda path: path.write_bytes(b'{"a": "\xff"}'), "is broken: it is not UTF-8"),
    "a list": (lambda path: path.write_bytes(b"[]"), "is broken: it is not an object"),
    "hooks that are a text": (lambda path: path.write_bytes(b'{"hooks": "x"}'), "hooks is not an object"),
    "an event that is a text": (
        lambda path: path.write_bytes(b'{"hooks": {"Stop": "x"}}'),
        "hooks.Stop is not a list",
    ),
    "a link": (_link, "is a symbolic link to"),
    "in a folder that is a link": (_folder_link, "is a symbolic link: nothing was written"),
    "read-only": (lambda path: path.chmod(0o400), "is read-only: nothing was written"),
    "a folder": (_directory, "is a directory, not a file"),
    "huge": (lambda path: path.write_bytes(b" " * (17 << 20) + b"{}"), "is larger than 16 MB"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_changed_is_left_alone(cli: Cli, name: str) -> None:
    path = put(".claude/settings.json", b"{}\n")
    make, message = BAD[name]
    make(path)
    before = tree()
    outcome = cli("install", "claude-code", "--yes")
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") <= 2
    assert tree() == before


@pytest.mark.needs("root")
def test_a_file_of_another_user_is_left_alone(cli: Cli) -> None:
    path = put(".claude/settings.json", b"{}\n")
    os.chown(path, 12345, 12345)
    outcome = cli("install", "claude-code", "--yes")
    assert (outcome.code, path.read_bytes()) == (1, b"{}\n")
    assert "belongs to another user" in outcome.err


def test_a_file_that_is_edited_meanwhile_is_left_alone() -> None:
    path = put(".claude/settings.json", b'{"a": 1}\n')
    plans = [plan_install("cursor"), plan_install("claude-code")]
    path.write_bytes(b'{"a": 2}\n')
    with pytest.raises(Exception, match="was changed meanwhile: nothing was written"):
        carry_out(plans)
    assert tree() == {".claude": None, ".claude/settings.json": b'{"a": 2}\n'}


def test_no_file_is_touched_if_another_one_was_changed_meanwhile() -> None:
    """A process that wrote the first and put it back would take away what a second `install` has found in it."""
    path = put(".claude/settings.json", b'{"a": 1}\n')
    plans = [plan_install("claude-code")]
    assert len(plans[0].changes) == 2
    put(".mcp.json", b"{}\n")
    before = path.stat()
    with pytest.raises(Exception, match="was changed meanwhile: nothing was written"):
        carry_out(plans)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_several_processes_install_at_once(tmp_path: Path) -> None:
    path = put(".claude/settings.json", b'{"a": 1}\n')
    for _ in range(3):
        command = [sys.executable, "-m", "runcard", "install", "claude-code", "--yes"]
        several = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)
        ]
        for process in several:
            process.communicate()
        assert 0 in [process.returncode for process in several]
        assert b"hook_note" in path.read_bytes()
        assert b"runcard" in (tmp_path / ".mcp.json").read_bytes()
        done = subprocess.run([*command[:3], "uninstall", "claude-code", "--yes"], check=False)
        assert (done.returncode, path.read_bytes()) == (0, b'{"a": 1}\n')


def test_a_file_that_becomes_a_link_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = put(".claude/settings.json", b"{}\n")
    plans = [plan_install("claude-code")]
    _link(path)
    with pytest.raises(Exception, match="symbolic link"):
        carry_out(plans)
    assert (tmp_path / "elsewhere.json").read_bytes() == b"{}\n"


def test_another_server_of_the_same_name_is_kept(cli: Cli) -> None:
    for tool, name, text in (
        ("cursor", ".cursor/mcp.json", b'{"mcpServers": {"runcard": {"url": "http://x"}}}'),
        ("codex", ".codex/config.toml", b'[mcp_servers.runcard]\nurl = "http://x"\n'),
    ):
        path = put(name, text)
        outcome = cli("install", tool, "--mcp", "--yes")
        assert (outcome.code, path.read_bytes()) == (1, text)
        assert "another MCP server called runcard" in outcome.err
        assert cli("uninstall", tool, "--mcp", "--yes").code == 0
        assert path.read_bytes() == text


def test_a_plugin_that_is_not_ours_is_kept(cli: Cli) -> None:
    path = put(".opencode/plugins/runcard.js", b"export const mine = 1\n")
    settings = put("opencode.json", b'{"plugin": ["mine", ["./runcard.js", {}]]}\n')
    assert cli("install", "opencode", "--yes").code == 0
    assert data_of(settings)["plugin"][:2] == ["mine", ["./runcard.js", {}]]
    assert cli("uninstall", "opencode", "--yes").code == 0
    assert path.read_bytes() == b"export const mine = 1\n"
    assert settings.read_bytes() == b'{"plugin": ["mine", ["./runcard.js", {}]]}\n'


def installed_hooks(cli: Cli) -> list[str]:
    """The files with hooks, as `doctor` sees them."""
    setups = json.loads(cli("doctor", "--json").out)["installed"]
    return [os.path.relpath(setup["path"]) for setup in setups if setup["part"] == "hooks"]


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_the_plugin_of_an_earlier_version_is_taken_away(cli: Cli, verb: str) -> None:
    """It was a file in the project. OpenCode runs it until then."""
    old = put(".opencode/plugins/runcard.js", f"{OWN_MARK}\nexport const x = 1\n".encode())
    other = put(".opencode/plugins/mine.js", b"export const mine = 1\n")
    assert installed_hooks(cli) == [".opencode/plugins/runcard.js"]
    assert cli(verb, "opencode", "--hooks", "--yes").code == 0
    assert (old.exists(), other.exists()) == (False, True)
    assert installed_hooks(cli) == (["opencode.json"] if verb == "install" else [])


def test_doctor_says_that_the_plugin_is_gone(cli: Cli) -> None:
    """As after runcard was moved."""
    cli("install", "opencode", "--hooks", "--yes")
    settings = Path("opencode.json")
    settings.write_text(settings.read_text().replace("file:///", "file:///an%20old/place/"))
    (setup,) = json.loads(cli("doctor", "--json").out)["installed"]
    assert setup["missing"].startswith("/an old/place/")
    assert cli("install", "opencode", "--hooks", "--yes").code == 0
    (setup,) = json.loads(cli("doctor", "--json").out)["installed"]
    assert setup["missing"] is None


def test_servers_in_one_line_of_toml_are_left_alone(cli: Cli) -> None:
    text = b'mcp_servers = { other = { command = "x" } }\n'
    path = put(".codex/config.toml", text)
    outcome = cli("install", "codex", "--mcp", "--yes")
    assert (outcome.code, path.read_bytes()) == (1, text)
    assert "cannot be added to" in outcome.err


@pytest.mark.parametrize("has_note", [True, False])
def test_after_other_changes_only_ours_is_removed(cli: Cli, home: Path, *, has_note: bool) -> None:
    path = put(".claude/settings.json", TEXTS["hooks of others"])
    toml = put(".codex/config.toml", b'model = "a"\n')
    assert cli("install", "claude-code", "codex", "--yes").code == 0
    text = path.read_text().rstrip().removesuffix("}") + ', "theme": "dark" /* new */}\n'
    path.write_text(text.replace('"say done"', '"say done now"'))
    toml.write_text(toml.read_text().replace('"a"', '"b"') + '\n[mcp_servers.new]\ncommand = "y"\n')
    if not has_note:
        for file in (home / ".local/state/runcard/agent_setup").iterdir():
            file.unlink()
    assert cli("uninstall", "claude-code", "codex", "--yes").code == 0
    expected = (
        TEXTS["hooks of others"].decode().rstrip().removesuffix("}").replace("say done", "say done now")
    )
    assert path.read_text() == expected + ', "theme": "dark" /* new */}\n'
    assert toml.read_text() == 'model = "b"\n\n[mcp_servers.new]\ncommand = "y"\n'


def test_hooks_of_an_older_installation_are_replaced(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(".claude/settings.json", TEXTS["comments"])
    with monkeypatch.context() as patch:
        patch.setattr(hook_note, "__file__", "/old/runcard/agent_setup/hook_note.py")
        assert cli("install", "claude-code", "--yes").code == 0
    assert cli("install", "claude-code", "--yes").code == 0
    assert "/old/" not in path.read_text()
    assert len(data_of(path)["hooks"]["Stop"]) == 1
    assert cli("uninstall", "claude-code", "--yes").code == 0
    assert path.read_bytes() == TEXTS["comments"]


def test_cursor_has_no_hooks_and_says_so(cli: Cli) -> None:
    outcome = cli("install", "cursor", "--hooks", "--yes")
    assert outcome.code == 64
    assert "Cursor: its sessions cannot be imported yet" in outcome.err
    assert "runcard install cursor --mcp" in outcome.err
    assert tree() == {}


def test_the_programs_are_those_in_use(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "runcard"
    done = subprocess.run(
        [program, "install", "cursor", "--yes", "--json"], cwd=tmp_path, capture_output=True, check=True
    )
    server = data_of(tmp_path / ".cursor/mcp.json")["mcpServers"]["runcard"]
    assert server == {"command": str(program), "args": ["mcp"]}
    assert json.loads(done.stdout)["written"] == [str(tmp_path / ".cursor/mcp.json")]


def test_a_new_file_with_logins_is_private(home: Path) -> None:
    carry_out([plan_install("claude-code", scope="user")])
    assert (home / ".claude.json").stat().st_mode & 0o777 == 0o600
    carry_out([plan_uninstall("claude-code", scope="user")])
    assert not (home / ".claude.json").exists()


def test_settings_with_comments_are_ignored_by_claude_code(cli: Cli) -> None:
    put(".claude/settings.json", TEXTS["comments"])
    done = cli("install", "claude-code", "--hooks", "--yes")
    assert done.code == 0
    reason = (
        f"Claude Code ignores {Path('.claude/settings.json').absolute()}: it has comments or trailing commas"
    )
    assert reason in done.err
    report = cli("doctor")
    assert report.code == 2
    assert "(IGNORED, see below)" in " ".join(report.out.split())
    assert reason in report.err
    put(".claude/settings.json", b"{}")
    assert reason not in cli("install", "claude-code", "--hooks", "--yes").err


@pytest.mark.parametrize(
    ("rules", "is_trusted"),
    [
        ({}, False),
        ({".": "TRUST_FOLDER"}, True),
        ({"..": "TRUST_FOLDER"}, True),
        ({"..": "TRUST_FOLDER", ".": "DO_NOT_TRUST"}, False),
        ({"./x": "TRUST_PARENT"}, True),
        ({"../elsewhere": "TRUST_FOLDER"}, False),
    ],
)
def test_gemini_cli_ignores_the_settings_of_a_folder_that_it_does_not_trust(
    home: Path, monkeypatch: pytest.MonkeyPatch, rules: dict[str, str], *, is_trusted: bool
) -> None:
    monkeypatch.delenv("GEMINI_CLI_TRUST_WORKSPACE", raising=False)
    (home / ".gemini").mkdir()
    known = {os.path.normpath(Path.cwd() / path): level for path, level in rules.items()}
    (home / ".gemini/trustedFolders.json").write_text(json.dumps(known))
    remarks = plan_install("gemini", parts=("hooks",)).remarks
    assert [remark.partition(":")[0] for remark in remarks] == (
        [] if is_trusted else [f"Gemini CLI ignores {Path('.gemini/settings.json').absolute()}"]
    )
    (home / ".gemini/settings.json").write_text('{"security": {"folderTrust": {"enabled": false}}}')
    assert plan_install("gemini", parts=("hooks",)).remarks == []
    assert plan_install("gemini", parts=("hooks",), scope="user").remarks == []


def test_doctor_says_whether_a_hook_has_run(cli: Cli, home: Path) -> None:
    assert cli("install", "claude-code", "--hooks", "--yes").code == 0
    assert "(none has run yet)" in " ".join(cli("doctor").out.split())
    notes = home / ".local/state/runcard/hooks"
    notes.mkdir(parents=True)
    now = time.time()
    (notes / "claude-code-s.note").write_text(f"tool claude-code\nsession s\nevent Stop\ntime {now!r}\n")
    report = json.loads(cli("doctor", "--json").out)
    assert [each["last_event"][:10] for each in report["installed"]] == [
        time.strftime("%Y-%m-%d", time.gmtime(now))
    ]
    assert "(none has run yet)" not in " ".join(cli("doctor").out.split())
