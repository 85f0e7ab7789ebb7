"""What programs get so that they call the relay, and what is left as it is."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from meter.agents import chatgpt_login
from runcard.observe.meter.adapters import Adaptation, adapt, without_outer_meter
from runcard.observe.meter.adapters.settings_files import parse_settings
from runcard.observe.meter.routes import METER, Routes

BASE = "http://127.0.0.1:4711/00112233445566778899aabbccddeeff"
OWN = "https://gateway.example/v1"


def adapted(folder: Path, command: str | list[str], program: str = "", **environment: str) -> Adaptation:
    """A command in a folder of its own, with a home of its own."""
    home, work = folder / "home", folder / "work"
    for path in (home, work):
        path.mkdir(parents=True, exist_ok=True)

    def write_private(data: bytes) -> str:
        path = folder / "private"
        path.write_bytes(data)
        return str(path)

    arguments = shlex.split(command) if isinstance(command, str) else command
    given = {"HOME": str(home), **environment}
    adaptation = Adaptation(arguments, given, Routes(BASE), str(work), write_private)
    adapt(adaptation, program or arguments[0])
    return adaptation


def upstreams(adaptation: Adaptation) -> set[str]:
    return set(adaptation.routes.upstreams.values())


def relay_of(adaptation: Adaptation, url: str) -> str:
    """The URL of the relay that leads to a base URL; it is one of those that were made."""
    before = adaptation.routes.upstreams
    relay = adaptation.routes.url("unheard-of", url)
    assert adaptation.routes.upstreams == before
    return relay


def write(path: Path, text: str | Mapping[str, object]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(path)


# Any program.


def test_every_program_gets_the_variables_of_libraries(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "./generate.sh --fast")
    assert adaptation.arguments == ["./generate.sh", "--fast"]
    assert adaptation.variables == {
        "ANTHROPIC_BASE_URL": f"{BASE}/anthropic",
        "OPENAI_BASE_URL": f"{BASE}/openai/v1",
        "GOOGLE_GEMINI_BASE_URL": f"{BASE}/google",
        "GROQ_BASE_URL": f"{BASE}/groq",
        "CEREBRAS_BASE_URL": f"{BASE}/cerebras",
        "MISTRAL_BASE_URL": f"{BASE}/mistral",
        "GEMINI_API_BASE": f"{BASE}/google",
        "GROQ_API_BASE": f"{BASE}/groq",
        "CEREBRAS_API_BASE": f"{BASE}/cerebras",
        "MISTRAL_API_BASE": f"{BASE}/mistral",
        "MISTRAL_AZURE_API_BASE": f"{BASE}/mistral",
        "XAI_API_BASE": f"{BASE}/xai",
        "OPENROUTER_API_BASE": f"{BASE}/openrouter",
        "DEEPSEEK_API_BASE": f"{BASE}/deepseek",
        "FIREWORKS_API_BASE": f"{BASE}/fireworks",
        "TOGETHER_AI_API_BASE": f"{BASE}/together",
        "PERPLEXITY_API_BASE": f"{BASE}/perplexity",
        "MOONSHOT_API_BASE": f"{BASE}/moonshot",
        "ENABLE_TOOL_SEARCH": "true",
        "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL": "1",
    }
    assert (adaptation.client, adaptation.gaps) == (None, [])


def test_a_url_of_the_user_is_where_the_relay_sends_on_to(tmp_path: Path) -> None:
    adaptation = adapted(
        tmp_path, "true", OPENAI_BASE_URL=OWN, OPENAI_API_BASE=OWN, ANTHROPIC_BASE_URL="http://localhost:1/a/"
    )
    variables = adaptation.variables
    assert variables["OPENAI_BASE_URL"] == variables["OPENAI_API_BASE"] == f"{BASE}/openai/v1"
    assert variables["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic/a/"
    assert {"https://gateway.example", "http://localhost:1"} <= upstreams(adaptation)


def test_at_a_foreign_host_claude_code_is_told_nothing(tmp_path: Path) -> None:
    """Without the meter its tool search would be off as well."""
    variables = adapted(tmp_path, "true", ANTHROPIC_BASE_URL=OWN).variables
    assert "ENABLE_TOOL_SEARCH" not in variables
    assert "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL" not in variables


def test_tool_search_stays_as_the_user_has_set_it(tmp_path: Path) -> None:
    assert "ENABLE_TOOL_SEARCH" not in adapted(tmp_path, "true", ENABLE_TOOL_SEARCH="false").variables


def test_an_unusable_url_is_left_alone_and_listed(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "true", OPENAI_BASE_URL="gateway.example/v1")
    assert "OPENAI_BASE_URL" not in adaptation.variables
    (gap,) = adaptation.gaps
    assert gap.reason == "OPENAI_BASE_URL is left as it is: it is not an http or https URL"


@pytest.mark.parametrize("name", ["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION"])
def test_with_azure_the_variable_of_openai_is_not_set(tmp_path: Path, name: str) -> None:
    """Clients for Azure would call OpenAI instead, or refuse to start."""
    adaptation = adapted(tmp_path, "true", **{name: "x"})
    assert "OPENAI_BASE_URL" not in adaptation.variables
    assert [gap.reason.split()[0] for gap in adaptation.gaps] == [name]
    assert "OPENAI_BASE_URL" in adapted(tmp_path, "true", OPENAI_BASE_URL=OWN, **{name: "x"}).variables


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"HTTPS_PROXY": "http://p:1"}, {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}),
        (
            {"all_proxy": "http://p:1", "no_proxy": "a.example"},
            {"NO_PROXY": "a.example,127.0.0.1", "no_proxy": "a.example,127.0.0.1"},
        ),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "*"}, {}),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "a, 127.0.0.1"}, {}),
    ],
)
def test_the_relay_is_called_without_a_proxy(
    tmp_path: Path, given: dict[str, str], expected: dict[str, str]
) -> None:
    variables = adapted(tmp_path, "true", **given).variables
    assert {name: value for name, value in variables.items() if name.lower() == "no_proxy"} == expected


def test_the_relay_of_an_enclosing_run_is_passed_by() -> None:
    outer = {f"{BASE}/x": "https://gateway.example"}
    environment = {
        METER: json.dumps(outer),
        "OPENAI_BASE_URL": f"{BASE}/x/v1",
        "A": "b",
        "URL": "http://other",
    }
    expected = {"OPENAI_BASE_URL": OWN, "A": "b", "URL": "http://other"}
    assert without_outer_meter(environment) == expected


# Finding a known program.


@pytest.mark.parametrize(
    ("command", "client"),
    [
        ("claude -p hello", "Claude Code"),
        ("/usr/local/bin/claude", "Claude Code"),
        ("env claude", "Claude Code"),
        ("env -u X -C /tmp A=1 B=2 claude -p x", "Claude Code"),
        ("timeout -k 5 60 nice -n 3 claude", "Claude Code"),
        ("npx claude", "Claude Code"),
        ("npx -y @anthropic-ai/claude-code@2.1.197 -p x", "Claude Code"),
        ("npx --yes --package x @openai/codex exec x", "Codex"),
        ("pnpm dlx @google/gemini-cli@latest", "Gemini CLI"),
        ("npm exec -- opencode-ai run x", "OpenCode"),
        ("bunx opencode-ai", "OpenCode"),
        ("node --import x /lib/node_modules/@google/gemini-cli/bundle/gemini.js", "Gemini CLI"),
        ("node /lib/node_modules/@anthropic-ai/claude-code/cli.js -p x", "Claude Code"),
        ("bun x codex", "Codex"),
        ("nohup codex exec x", "Codex"),
        ("codex.exe", "Codex"),
        ("python claude.py", None),
        ("echo claude", None),
        ("sh -c 'claude -p x'", None),
        ("node app.js claude", None),
        ("npx create-app gemini", None),
        ("./claude.sh", None),
        ("env claude-squad", None),
        ("env", None),
        ("npx", None),
        ("timeout 5", None),
    ],
)
def test_a_known_program_is_found(tmp_path: Path, command: str, client: str | None) -> None:
    assert adapted(tmp_path, command).client == client


@pytest.mark.parametrize(
    "target",
    [
        "share/claude/versions/2.1.197",
        "lib/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
        "bin/claude",
    ],
)
def test_a_known_program_is_found_behind_a_link(tmp_path: Path, target: str) -> None:
    file = tmp_path / target
    write(file, "")
    (tmp_path / "cc").symlink_to(file)
    assert adapted(tmp_path, "cc -p x", program=str(tmp_path / "cc")).client == "Claude Code"


def test_what_env_sets_is_the_users_and_is_replaced_in_the_command(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, f"env A=1 ANTHROPIC_BASE_URL={OWN} claude -p x")
    assert adaptation.arguments == [
        "env",
        "A=1",
        f"ANTHROPIC_BASE_URL={BASE}/anthropic/v1",
        "claude",
        "-p",
        "x",
    ]
    assert "https://gateway.example" in upstreams(adaptation)


@pytest.mark.parametrize("option", ["-i", "-", "--ignore-environment"])
def test_env_that_removes_everything_gets_the_variables_as_words(tmp_path: Path, option: str) -> None:
    adaptation = adapted(tmp_path, f"env {option} A=1 claude -p x", ANTHROPIC_BASE_URL=OWN)
    assert adaptation.arguments[:3] == ["env", option, "A=1"]
    assert adaptation.arguments[-3:] == ["claude", "-p", "x"]
    assert f"ANTHROPIC_BASE_URL={BASE}/anthropic" in adaptation.arguments
    assert "https://gateway.example" not in upstreams(adaptation)


def test_env_that_removes_the_url_of_the_user(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "env -u ANTHROPIC_BASE_URL claude", ANTHROPIC_BASE_URL=OWN)
    assert adaptation.arguments == [
        *("env", "-u", "ANTHROPIC_BASE_URL"),
        *(f"ANTHROPIC_BASE_URL={BASE}/anthropic", "claude"),
    ]
    assert "https://gateway.example" not in upstreams(adaptation)


# Claude Code.


def claude_settings(*arguments: str) -> dict[str, object]:
    """The settings in the arguments."""
    value = arguments[arguments.index("--settings") + 1]
    settings: dict[str, object] = json.loads(value if value.startswith("{") else Path(value).read_text())
    return settings


def test_claude_code_without_settings_needs_variables_only(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "claude -p hello")
    assert adaptation.arguments == ["claude", "-p", "hello"]
    assert adaptation.variables["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"
    assert (adaptation.gaps, adaptation.expects_calls) == ([], True)


@pytest.mark.parametrize(
    "file",
    [
        "home/.claude/settings.json",
        "work/.claude/settings.json",
        "work/.claude/settings.local.json",
        "home/.claude.json",
    ],
)
def test_a_url_in_the_settings_of_claude_code(tmp_path: Path, file: str) -> None:
    path = write(tmp_path / file, {"env": {"ANTHROPIC_BASE_URL": OWN}, "model": "opus"})
    before = Path(path).read_bytes()
    adaptation = adapted(tmp_path, "claude -p hello")
    assert claude_settings(*adaptation.arguments) == {
        "env": {"ANTHROPIC_BASE_URL": relay_of(adaptation, OWN)}
    }
    assert adaptation.arguments[-2:] == ["-p", "hello"]
    assert "ENABLE_TOOL_SEARCH" not in adaptation.variables  # it is off there without the meter, too
    assert Path(path).read_bytes() == before


def test_the_last_of_the_settings_of_claude_code_wins(tmp_path: Path) -> None:
    for number, file in enumerate(
        [
            "home/.claude.json",
            "home/.claude/settings.json",
            "work/.claude/settings.json",
            "work/.claude/settings.local.json",
        ]
    ):
        write(tmp_path / file, {"env": {"ANTHROPIC_BASE_URL": f"https://{number}.example"}})
        adaptation = adapted(tmp_path, "claude -p x", ANTHROPIC_BASE_URL=OWN)
        assert adaptation.variables["ANTHROPIC_BASE_URL"] == relay_of(adaptation, f"https://{number}.example")


def test_only_the_settings_that_claude_code_loads_count(tmp_path: Path) -> None:
    write(tmp_path / "work/.claude/settings.json", {"env": {"ANTHROPIC_BASE_URL": OWN}})
    assert adapted(tmp_path, "claude --setting-sources user -p x").arguments[1] == "--setting-sources"
    own = tmp_path / "config"
    write(own / "settings.json", {"env": {"ANTHROPIC_BASE_URL": "https://own.example"}})
    adaptation = adapted(tmp_path, "claude --setting-sources=user,local -p x", CLAUDE_CONFIG_DIR=str(own))
    assert adaptation.variables["ANTHROPIC_BASE_URL"] == relay_of(adaptation, "https://own.example")


@pytest.mark.parametrize("form", ["--settings {}", "--settings={}"])
def test_settings_that_the_user_passes_are_merged(tmp_path: Path, form: str) -> None:
    own = {"env": {"ANTHROPIC_BASE_URL": OWN, "A": "b"}, "model": "opus"}
    words = form.split(" ")
    adaptation = adapted(
        tmp_path, ["claude", *(word.replace("{}", json.dumps(own)) for word in words), "-p", "x"]
    )
    arguments = [part for word in adaptation.arguments for part in word.split("=", 1)]
    assert adaptation.arguments[0] == "claude"
    assert len(adaptation.arguments) == 3 + len(words)
    settings = claude_settings(*arguments)
    assert settings == own | {"env": {"ANTHROPIC_BASE_URL": relay_of(adaptation, OWN), "A": "b"}}


def test_what_is_in_a_settings_file_of_the_user_is_not_shown_in_the_arguments(tmp_path: Path) -> None:
    """Other users can see the arguments of a process."""
    path = write(
        tmp_path / "own.json", {"env": {"ANTHROPIC_BASE_URL": OWN, "ANTHROPIC_AUTH_TOKEN": "secret"}}
    )
    adaptation = adapted(tmp_path, ["claude", "--settings", path, "-p", "x"])
    assert "secret" not in str(adaptation.arguments)
    assert adaptation.arguments[2] == str(tmp_path / "private")
    settings = claude_settings(*adaptation.arguments)
    assert settings["env"] == {
        "ANTHROPIC_BASE_URL": relay_of(adaptation, OWN),
        "ANTHROPIC_AUTH_TOKEN": "secret",
    }
    assert "secret" in Path(path).read_text()


def test_the_url_of_a_project_that_is_not_trusted_gets_no_request(tmp_path: Path) -> None:
    """Claude Code uses it only after the user has agreed; and it sends the key of the user."""
    write(tmp_path / "work/.claude/settings.json", {"env": {"ANTHROPIC_BASE_URL": "https://evil.example"}})
    adaptation = adapted(tmp_path, "claude")
    assert "https://evil.example" not in upstreams(adaptation)
    assert "does not trust the project yet" in adaptation.gaps[0].reason
    trusted = {"projects": {str(tmp_path): {"hasTrustDialogAccepted": True}}}
    write(tmp_path / "home/.claude.json", trusted)
    adaptation = adapted(tmp_path, "claude")
    assert "https://evil.example" in upstreams(adaptation)
    assert adaptation.gaps == []


@pytest.mark.parametrize(
    "name",
    [
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
        "CLAUDE_CODE_USE_MANTLE",
    ],
)
@pytest.mark.parametrize("is_in_settings", [False, True])
def test_the_meter_stays_out_of_other_clouds(tmp_path: Path, name: str, *, is_in_settings: bool) -> None:
    if is_in_settings:
        write(tmp_path / "home/.claude/settings.json", {"env": {name: "1"}})
    adaptation = adapted(tmp_path, "claude -p x", **({} if is_in_settings else {name: "true"}))
    assert adaptation.arguments == ["claude", "-p", "x"]
    assert adaptation.gaps[0].reason.startswith(f"{name} sends the calls of Claude Code to ")
    assert not any("BEDROCK" in variable for variable in adaptation.variables)


def test_foundry_with_a_url_is_metered(tmp_path: Path) -> None:
    url = "https://me.services.ai.azure.com/anthropic"
    environment = {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_BASE_URL": url}
    adaptation = adapted(tmp_path, "claude -p x", **environment)
    assert adaptation.variables["ANTHROPIC_FOUNDRY_BASE_URL"] == relay_of(adaptation, url)
    assert adaptation.gaps == []


def test_managed_settings_cannot_be_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runcard.observe.meter.adapters.claude_code._MANAGED", str(tmp_path / "managed"))
    write(tmp_path / "managed/managed-settings.d/10.json", {"env": {"ANTHROPIC_BASE_URL": OWN}})
    adaptation = adapted(tmp_path, "claude -p x")
    assert adaptation.arguments == ["claude", "-p", "x"]
    assert "managed-settings" not in str(adaptation.variables)
    assert "set ANTHROPIC_BASE_URL: its calls do not pass the meter" in adaptation.gaps[0].reason


def test_proxies_in_the_settings_of_claude_code(tmp_path: Path) -> None:
    """They are used by the relay, and not for the relay."""
    proxies = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "a.example"}
    write(tmp_path / "home/.claude/settings.json", {"env": proxies})
    adaptation = adapted(tmp_path, "claude -p x")
    assert claude_settings(*adaptation.arguments) == {"env": {"NO_PROXY": "a.example,127.0.0.1"}}
    assert adaptation.upstream_environment["HTTPS_PROXY"] == "http://proxy:3128"
    assert adaptation.upstream_environment["NO_PROXY"] == "a.example"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"env": 1}', '{"env": {"ANTHROPIC_BASE_URL": 7}}', "\x00", '{"env":' * 5000]
)
def test_settings_that_cannot_be_read_change_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path / "home/.claude/settings.json", text)
    write(tmp_path / "home/.claude.json", text)
    assert adapted(tmp_path, "claude -p x").arguments == ["claude", "-p", "x"]


@pytest.mark.parametrize("text", ["/* ", '\\"', '"\\', "// ", ", "])
def test_a_settings_file_that_never_ends_a_text_is_read_in_one_go(tmp_path: Path, text: str) -> None:
    """Reading it again from each beginning would take days."""
    write(tmp_path / "work/.claude/settings.json", "{" + text * (4 << 20))
    assert adapted(tmp_path, "claude -p x").arguments == ["claude", "-p", "x"]


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ('{"env": {"A": "/* \\" // "}, /* , */ } // x', True),
        ('{"env": {"A": "/* \\" // ",},}', True),
        ('{"env": {"A": "/* \\" // "}} /* x', False),
        ('{"env": {"A": "/* \\" // "}} /*/', False),
        ('{"env": {"A": "/* \\" // "}} "', False),
    ],
)
def test_comments_and_commas_in_settings(text: str, *, is_read: bool) -> None:
    assert parse_settings(text.encode()) == ({"env": {"A": '/* " // '}} if is_read else {})


def test_a_settings_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "home/.claude").mkdir(parents=True)
    os.mkfifo(tmp_path / "home/.claude/settings.json")
    assert adapted(tmp_path, "claude -p x").arguments == ["claude", "-p", "x"]


@pytest.mark.parametrize(
    "command", ["claude --version", "codex login", "gemini --help", "opencode auth list"]
)
def test_some_commands_call_no_model(tmp_path: Path, command: str) -> None:
    assert not adapted(tmp_path, command).expects_calls


# Codex.


def test_codex_with_a_key(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "codex exec --json hello", CODEX_API_KEY="x")
    url = relay_of(adaptation, "https://api.openai.com/v1")
    assert adaptation.arguments == ["codex", "-c", f'openai_base_url="{url}"', "exec", "--json", "hello"]


@pytest.mark.parametrize("plan", ["free", "go", "plus", "pro"])
def test_codex_with_a_login_of_chatgpt(tmp_path: Path, plan: str) -> None:
    path = write(tmp_path / "home/.codex/auth.json", chatgpt_login(plan))
    text = Path(path).read_text()
    adaptation = adapted(tmp_path, "codex exec x")
    url = relay_of(adaptation, "https://chatgpt.com/backend-api/codex")
    assert adaptation.arguments == ["codex", "-c", f'openai_base_url="{url}"', "exec", "x"]
    assert (adaptation.gaps, Path(path).read_text()) == ([], text)


@pytest.mark.parametrize("login", [{"auth_mode": "apikey", "OPENAI_API_KEY": "x"}, {"OPENAI_API_KEY": "x"}])
def test_codex_with_a_key_in_its_login(tmp_path: Path, login: dict[str, object]) -> None:
    write(tmp_path / "home/.codex/auth.json", login)
    adaptation = adapted(tmp_path, "codex exec x")
    assert adaptation.arguments[2] == f'openai_base_url="{relay_of(adaptation, "https://api.openai.com/v1")}"'


@pytest.mark.parametrize(
    "login",
    [
        {"auth_mode": "chatgpt", "tokens": {}},
        {"OPENAI_API_KEY": None, "tokens": {"id_token": "x"}},
        *(chatgpt_login(plan) for plan in ("team", "business", "enterprise", "edu", "new", "")),
        {**chatgpt_login("plus"), "auth_mode": "chatgptAuthTokens"},
        {"auth_mode": "chatgpt", "tokens": {"id_token": "a.!!!.b"}},
        {"auth_mode": "chatgpt", "tokens": {"id_token": "a.W10.b"}},
        None,
    ],
)
def test_codex_is_left_alone_where_the_server_chooses_the_host(
    tmp_path: Path, login: dict[str, object] | None
) -> None:
    if login is None:
        write(tmp_path / "home/.codex/config.toml", 'cli_auth_credentials_store = "keyring"')
    else:
        write(tmp_path / "home/.codex/auth.json", login)
    adaptation = adapted(tmp_path, "codex exec x")
    assert adaptation.arguments == ["codex", "exec", "x"]
    assert adaptation.gaps[0].reason.startswith(
        "Codex is logged in with ChatGPT for a workspace, where the server chooses the host"
    )
    write(tmp_path / "home/.codex/config.toml", f'openai_base_url = "{OWN}"')
    assert "https://gateway.example" in upstreams(adapted(tmp_path, "codex exec x"))


@pytest.mark.parametrize("place", ["config", "profile", "profile file", "option", "long option"])
def test_a_url_of_the_user_in_codex(tmp_path: Path, place: str) -> None:
    line, options = f'openai_base_url = "{OWN}"', []
    home = tmp_path / "home/.codex"
    match place:
        case "config":
            write(home / "config.toml", line)
        case "profile":
            write(home / "config.toml", f'openai_base_url = "https://x.example"\n[profiles.work]\n{line}')
            options = ["-p", "work"]
        case "profile file":
            write(home / "work.config.toml", line)
            options = ["--profile=work"]
        case "option":
            options = ["-c", f"openai_base_url={OWN}"]
        case _:
            options = [f'--config=openai_base_url="{OWN}"']
    adaptation = adapted(tmp_path, ["codex", "exec", *options, "x"])
    kept = [] if "option" in place else options
    url = relay_of(adaptation, OWN)
    assert adaptation.arguments == ["codex", "-c", f'openai_base_url="{url}"', "exec", *kept, "x"]


def test_the_provider_that_the_user_chose_in_codex(tmp_path: Path) -> None:
    text = f'model_provider = "my.own"\n[model_providers."my.own"]\nbase_url = "{OWN}"\nenv_key = "KEY"'
    path = write(tmp_path / "home/.codex/config.toml", text)
    adaptation = adapted(tmp_path, "codex exec x")
    url = relay_of(adaptation, OWN)
    assert adaptation.arguments[2] == f'model_providers."my.own".base_url="{url}"'
    assert Path(path).read_text() == text


def test_a_provider_in_the_options_of_codex(tmp_path: Path) -> None:
    table = f'model_providers.own={{name="own",base_url="{OWN}",wire_api="responses"}}'
    words = ["codex", "exec", "-c", table, "-c", 'model_provider="own"', "x"]
    adaptation = adapted(tmp_path, words)
    assert f'model_providers.own.base_url="{relay_of(adaptation, OWN)}"' in adaptation.arguments
    position = [i for i, word in enumerate(adaptation.arguments) if "base_url" in word]
    assert position == sorted(position)
    assert adaptation.arguments.index(table) < position[-1]  # the last one wins


def test_codex_still_recognizes_azure(tmp_path: Path) -> None:
    """It looks for names of Azure's hosts in the base URL."""
    url = "https://me.openai.azure.com/openai/v1"
    text = f'model_provider = "az"\n[model_providers.az]\nbase_url = "{url}"'
    write(tmp_path / "home/.codex/config.toml", text)
    assert "openai.azure." in adapted(tmp_path, "codex exec x").arguments[2]


def test_the_meter_stays_out_of_bedrock_in_codex(tmp_path: Path) -> None:
    write(tmp_path / "home/.codex/config.toml", 'model_provider = "amazon-bedrock"')
    adaptation = adapted(tmp_path, "codex exec x")
    assert adaptation.arguments == ["codex", "exec", "x"]
    assert "a signature covers the host" in adaptation.gaps[0].reason


def test_models_on_this_machine_are_left_alone(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "codex exec --oss x")
    assert (adaptation.arguments, adaptation.expects_calls) == (["codex", "exec", "--oss", "x"], False)


def test_the_configuration_of_a_project_counts_only_if_it_is_trusted(tmp_path: Path) -> None:
    write(tmp_path / "work/.codex/config.toml", f'openai_base_url = "{OWN}"')
    assert "https://gateway.example" not in upstreams(adapted(tmp_path, "codex exec x"))
    trust = f'[projects."{tmp_path / "work"}"]\ntrust_level = "trusted"'
    write(tmp_path / "home/.codex/config.toml", trust)
    assert "https://gateway.example" in upstreams(adapted(tmp_path, "codex exec x"))


# Gemini CLI.


LOGIN = {"security": {"auth": {"selectedType": "gemini-api-key"}}}


def test_gemini_cli_with_a_login_needs_the_variable_only(tmp_path: Path) -> None:
    write(
        tmp_path / "home/.gemini/settings.json",
        '{"security": {"auth": {"selectedType": "gemini-api-key",}}} // mine',
    )
    adaptation = adapted(tmp_path, "gemini -p x", GEMINI_API_KEY="x")
    assert adaptation.variables["GOOGLE_GEMINI_BASE_URL"] == f"{BASE}/google"
    assert adaptation.gaps == []


def test_gemini_cli_without_a_login_is_left_alone(tmp_path: Path) -> None:
    """It would refuse to start: a base URL in the environment changes how it logs in."""
    adaptation = adapted(tmp_path, "gemini -p x", GEMINI_API_KEY="x")
    assert "GOOGLE_GEMINI_BASE_URL" not in adaptation.variables
    assert [gap.reason.partition(",")[0] for gap in adaptation.gaps] == [
        "Gemini CLI has no login in its settings"
    ]


def test_a_script_may_run_gemini_cli(tmp_path: Path) -> None:
    write(tmp_path / "bin/gemini", "")
    path = str(tmp_path / "bin")
    assert "GOOGLE_GEMINI_BASE_URL" not in adapted(tmp_path, "./script.sh", PATH=path).variables
    assert adapted(tmp_path, "./script.sh", PATH=path).gaps == []
    assert len(adapted(tmp_path, "./script.sh", PATH=path, GEMINI_API_KEY="x").gaps) == 1
    assert len(adapted(tmp_path, "gemini", PATH=path, GEMINI_API_KEY="x").gaps) == 1
    program = adapted(tmp_path, "python ask.py", PATH=path, GEMINI_API_KEY="x")
    assert ("GOOGLE_GEMINI_BASE_URL" in program.variables, program.gaps) == (True, [])
    write(tmp_path / "home/.gemini/settings.json", LOGIN)
    assert "GOOGLE_GEMINI_BASE_URL" in adapted(tmp_path, "./script.sh", PATH=path).variables


@pytest.mark.parametrize("login", ["vertex-ai", "oauth-personal", "compute-default-credentials"])
def test_other_logins_of_gemini_cli_are_gaps(tmp_path: Path, login: str) -> None:
    write(tmp_path / "home/.gemini/settings.json", LOGIN)
    write(tmp_path / "work/.gemini/settings.json", {"security": {"auth": {"selectedType": login}}})
    adaptation = adapted(tmp_path, "gemini -p x")
    assert "GOOGLE_GEMINI_BASE_URL" not in adaptation.variables
    assert adaptation.gaps[0].reason.startswith("Gemini CLI logs in with ")


def test_a_url_of_the_user_for_gemini_cli(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "gemini -p x", GOOGLE_GEMINI_BASE_URL=OWN)
    assert adaptation.variables["GOOGLE_GEMINI_BASE_URL"] == relay_of(adaptation, OWN)


def test_a_url_in_the_env_file_of_the_user_is_used(tmp_path: Path) -> None:
    write(tmp_path / "home/.gemini/.env", f"export GOOGLE_GEMINI_BASE_URL='{OWN}' # mine\nGEMINI_API_KEY=x")
    adaptation = adapted(tmp_path, "gemini -p x")
    assert adaptation.variables["GOOGLE_GEMINI_BASE_URL"] == relay_of(adaptation, OWN)


def test_an_env_file_with_empty_values_and_many_empty_lines(tmp_path: Path) -> None:
    """Nothing reaches into the next line but a text between quotes."""
    text = "\n" * (1 << 20) + f"GEMINI_API_KEY=\nGOOGLE_GEMINI_BASE_URL={OWN}\n"
    write(tmp_path / "home/.gemini/.env", text)
    adaptation = adapted(tmp_path, "gemini -p x")
    assert adaptation.variables["GOOGLE_GEMINI_BASE_URL"] == relay_of(adaptation, OWN)


def test_a_url_in_the_env_file_of_a_project_gets_no_request_from_us(tmp_path: Path) -> None:
    write(tmp_path / "home/.gemini/settings.json", LOGIN)
    write(tmp_path / "work/.env", "GOOGLE_GEMINI_BASE_URL=https://evil.example")
    adaptation = adapted(tmp_path, "gemini -p x", GEMINI_API_KEY="x")
    assert "https://evil.example" not in upstreams(adaptation)
    assert "GOOGLE_GEMINI_BASE_URL" not in adaptation.variables
    assert adaptation.gaps[0].reason.startswith("GOOGLE_GEMINI_BASE_URL is set in .env")


# OpenCode.


def opencode_content(adaptation: Adaptation) -> dict[str, object]:
    content: dict[str, object] = json.loads(adaptation.variables["OPENCODE_CONFIG_CONTENT"])
    return content


def test_opencode_needs_variables_only_for_some_providers(tmp_path: Path) -> None:
    adaptation = adapted(tmp_path, "opencode run x", ANTHROPIC_API_KEY="x", OPENAI_API_KEY="x")
    assert "OPENCODE_CONFIG_CONTENT" not in adaptation.variables


@pytest.mark.parametrize(
    "file",
    [
        "home/.config/opencode/opencode.jsonc",
        "work/opencode.json",
        "work/.opencode/opencode.json",
        "own.json",
    ],
)
def test_a_url_in_the_configuration_of_opencode(tmp_path: Path, file: str) -> None:
    options = f'{{"provider": {{"mine": {{"options": {{"baseURL": "{OWN}", "apiKey": "secret"}}}}}}}} // mine'
    path = write(tmp_path / file, options)
    adaptation = adapted(tmp_path, "opencode run x", OPENCODE_CONFIG=str(tmp_path / "own.json"))
    url = relay_of(adaptation, OWN)
    assert opencode_content(adaptation) == {"provider": {"mine": {"options": {"baseURL": url}}}}
    assert Path(path).read_text() == options


def test_content_that_the_user_gave_to_opencode_is_merged(tmp_path: Path) -> None:
    own = {"model": "x/y", "provider": {"x": {"name": "X", "options": {"baseURL": "{env:MY_URL}", "a": 1}}}}
    adaptation = adapted(
        tmp_path, "opencode run x", MY_URL=OWN, OPENCODE_CONFIG_CONTENT=json.dumps(own), GEMINI_API_KEY="x"
    )
    google = relay_of(adaptation, "https://generativelanguage.googleapis.com/v1beta")
    provider = {"name": "X", "options": {"baseURL": relay_of(adaptation, OWN), "a": 1}}
    providers = {"x": provider, "google": {"options": {"baseURL": google}}}
    assert opencode_content(adaptation) == {"model": "x/y", "provider": providers}


def test_a_login_of_opencode_switches_a_provider_on(tmp_path: Path) -> None:
    write(
        tmp_path / "home/.local/share/opencode/auth.json",
        {"groq": {"type": "api", "key": "x"}, "xai": {"type": "oauth"}},
    )
    adaptation = adapted(tmp_path, "opencode run x")
    assert list(opencode_content(adaptation)["provider"]) == ["groq"]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("command", "is_passed_on"),
    [("node", True), ("claude", True), ("gemini", True), ("python", False), ("codex", False)],
)
def test_certificates_are_checked_unless_the_program_runs_in_node(
    tmp_path: Path, command: str, *, is_passed_on: bool
) -> None:
    adaptation = adapted(tmp_path, f"{command} x", NODE_TLS_REJECT_UNAUTHORIZED="0")
    assert ("NODE_TLS_REJECT_UNAUTHORIZED" in adaptation.upstream_environment) is is_passed_on


def test_claude_code_ignores_settings_with_comments(tmp_path: Path) -> None:
    """A base URL in them would send its requests, with their key, where it does not send them."""
    write(tmp_path / "work/.claude/settings.json", f'{{"env": {{"ANTHROPIC_BASE_URL": "{OWN}"}}}} // mine')
    adaptation = adapted(tmp_path, "claude -p x")
    assert adaptation.arguments == ["claude", "-p", "x"]
    assert "https://gateway.example" not in upstreams(adaptation)
