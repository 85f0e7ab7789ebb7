"""The real coding agents, each with a home of its own, pointed at a scripted upstream. They have no other network to use.

An `Invocation` is what a user would type; `run_agent` runs it as it is, or behind a prefix such as `runcard run --`.
"""

import base64
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from install_tools import CLIENTS

TIMEOUT = 120  # seconds; an agent that takes longer hangs
KEY = "sk-test-0123456789abcdef"  # no real key


@dataclass(frozen=True)
class Invocation:
    """A command, its environment and its directory."""

    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = Path()


@dataclass(frozen=True)
class Outcome:
    """What an agent left behind."""

    code: int
    out: str
    err: str


def run_agent(invocation: Invocation, prefix: Sequence[str] = ()) -> Outcome:
    done = subprocess.run(
        [*prefix, *invocation.command],
        env=invocation.env,
        cwd=invocation.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def agent_environment(folder: Path) -> dict[str, str]:
    """The environment of a user whose home is `folder/home` and who works in `folder/work`."""
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    path = [str(CLIENTS / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("COVERAGE", "LANG", "LC_", "TMPDIR"))
    }
    return {
        **kept,
        "HOME": str(folder / "home"),
        "PATH": os.pathsep.join(path),
        "RUNCARD_OUTPUTS": str(folder / "records"),  # not where the agent works: it may look around
        "TERM": "dumb",
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
        "XDG_STATE_HOME": str(folder / "home" / ".local" / "state"),
    }


def claude_code(folder: Path, url: str, *options: str, prompt: str = "Say hello.") -> Invocation:
    """Claude Code with the URL in its environment."""
    env = agent_environment(folder) | {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "DISABLE_AUTOUPDATER": "1",
    }
    command = ["claude", "-p", prompt, "--output-format", "json", "--allowedTools", "Bash", *options]
    return Invocation(command, env, folder / "work")


def codex(
    folder: Path,
    url: str | None,
    *more: str,
    provider: bool = False,
    model: str = "gpt-5",
    prompt: str = "Say hello.",
) -> Invocation:
    """Codex: by WebSocket at OpenAI's provider, or by SSE at a provider of the user's own; None: at OpenAI itself."""
    env = agent_environment(folder) | {"CODEX_API_KEY": KEY, "OWN_KEY": KEY}
    settings = [f'openai_base_url="{url}/v1"'] if url else []
    if provider:
        table = (
            f'name="own",base_url="{url}/v1",wire_api="responses",env_key="OWN_KEY",supports_websockets=false'
        )
        settings = [f"model_providers.own={{{table}}}", 'model_provider="own"']
    for setting in settings:
        tomllib.loads(setting)
    options = [word for setting in settings for word in ("-c", setting)]
    prompts = [prompt] if prompt else []
    command = ["codex", "exec", "--json", "-m", model, "--skip-git-repo-check", *options, *more, *prompts]
    return Invocation(command, env, folder / "work")


def chatgpt_login(plan: str) -> dict[str, object]:
    """What Codex keeps of a login with ChatGPT, with tokens that nobody has issued."""
    of_user = {"chatgpt_plan_type": plan, "chatgpt_user_id": "user-1", "chatgpt_account_id": "account-1"}
    claims = {"email": "anna@example.org", "exp": 4102444800, "https://api.openai.com/auth": of_user}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in ({"alg": "none"}, claims)]
    token = ".".join(part.rstrip(b"=").decode() for part in parts) + ".c2lnbmF0dXJl"
    names = {"access_token": token, "refresh_token": "rt_0123456789", "account_id": "account-1"}
    refreshed = datetime.now(UTC).isoformat()
    return {"auth_mode": "chatgpt", "tokens": {"id_token": token, **names}, "last_refresh": refreshed}


def gemini_cli(
    folder: Path,
    url: str,
    *options: str,
    model: str | None = "gemini-2.5-pro",
    settings: Mapping[str, object] | None = None,
    prompt: str = "Say hello.",
) -> Invocation:
    """Gemini CLI; without a model its router chooses one."""
    env = agent_environment(folder) | {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    own = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    _write_json(folder / "home" / ".gemini" / "settings.json", {**own, **(settings or {})})
    models = ["-m", model] if model else []
    forms = ["--output-format", "json", "--approval-mode", "yolo"]
    command = ["gemini", *models, *forms, *options, "-p", prompt]
    return Invocation(command, env, folder / "work")


def opencode(
    folder: Path,
    url: str,
    *options: str,
    model: str = "anthropic/claude-sonnet-4-5",
    prompt: str = "Say hello.",
) -> Invocation:
    """OpenCode with the URL in its settings."""
    env = agent_environment(folder) | {
        "ANTHROPIC_API_KEY": KEY,
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }
    settings = {"provider": {"anthropic": {"options": {"baseURL": f"{url}/v1"}}}}
    _write_json(folder / "home" / ".config" / "opencode" / "opencode.json", settings)
    command = ["opencode", "run", "-m", model, "--format", "json", *options, prompt]
    return Invocation(command, env, folder / "work")


def _write_json(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
