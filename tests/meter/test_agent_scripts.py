"""The four real agents, two at a time, started by a shell script, by make and by a Python program under `runcard run`.

The record has every call that the upstream answered, to the token; no file of the user is written. Where an agent is started so that
it goes around the meter, the total is a lower bound, with the reason.
"""

import json
import shlex
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from install_tools import CLIENTS

from meter.agents import claude_code, codex, gemini_cli, opencode
from meter.records import MeteredRun, assert_equals, run_metered
from meter.scripted_upstream import ScriptedUpstream, Step

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

SETTINGS = (".claude/settings.json", ".codex/config.toml")  # the others add to theirs
PYTHON = """\
import subprocess, sys
for pair in {pairs!r}:
    for process in [subprocess.Popen(words, stdin=subprocess.DEVNULL) for words in pair]:
        assert process.wait() == 0, process.args
"""


def user_of_four_agents(folder: Path, url: str) -> tuple[dict[str, str], list[list[str]]]:
    """An environment in which settings files lead all four around a variable, and their commands."""
    invocations = [
        claude_code(folder, url),
        codex(folder, None),
        gemini_cli(folder, url),
        opencode(folder, url),
    ]
    env = {name: value for invocation in invocations for name, value in invocation.env.items()}
    del env["ANTHROPIC_BASE_URL"]
    home = folder / "home"
    for name in (".claude", ".codex"):
        (home / name).mkdir(exist_ok=True)
    (home / ".claude/settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": url}}))
    (home / ".codex/config.toml").write_text(f'openai_base_url = "{url}/v1"\n')
    return env, [invocation.command for invocation in invocations]


def shell_script(folder: Path, pairs: list[list[list[str]]]) -> list[str]:
    lines = ["set -e"]
    for pair in pairs:
        for number, words in enumerate(pair):
            lines.append(f"{shlex.join(words)} </dev/null & p{number}=$!")
        lines += [f"wait $p{number}" for number in range(len(pair))]
    (folder / "team.sh").write_text("\n".join(lines) + "\n")
    return ["sh", str(folder / "team.sh")]


def makefile(folder: Path, pairs: list[list[list[str]]]) -> list[str]:
    commands = [words for pair in pairs for words in pair]
    names = [f"agent{number}" for number in range(len(commands))]
    rules = [
        f"{name}:\n\t{shlex.join(words).replace('$', '$$')} </dev/null\n"
        for name, words in zip(names, commands, strict=True)
    ]
    (folder / "Makefile").write_text(
        f"all: {' '.join(names)}\n.PHONY: all {' '.join(names)}\n" + "".join(rules)
    )
    return ["make", "-j2", "-f", str(folder / "Makefile")]


def python_program(folder: Path, pairs: list[list[list[str]]]) -> list[str]:
    (folder / "team.py").write_text(PYTHON.format(pairs=pairs))
    return [sys.executable, str(folder / "team.py")]


STARTERS = {"sh": shell_script, "make": makefile, "python": python_program}


def digests(folder: Path) -> dict[str, str]:
    return {name: sha256((folder / "home" / name).read_bytes()).hexdigest() for name in SETTINGS}


@pytest.mark.parametrize("starter", STARTERS)
def test_four_agents_two_at_a_time(upstream: ScriptedUpstream, tmp_path: Path, starter: str) -> None:
    env, (claude, codex_, gemini, opencode_) = user_of_four_agents(tmp_path, upstream.url)
    command = STARTERS[starter](tmp_path, [[claude, codex_], [gemini, opencode_]])
    before = digests(tmp_path)
    run = run_metered(command, env, tmp_path / "work")
    assert run.code == 0, run.err
    assert len(upstream.calls) == 6
    assert_equals(run, upstream)
    assert (run.document["warnings"], digests(tmp_path)) == ([], before)
    assert run.document["costs"]["total_cost_usd"] is not None


def gaps(run: MeteredRun) -> dict[str, int | None]:
    found = [event["payload"] for event in run.events if event["event"] == "usage.incomplete"]
    return {payload["reason"]: payload["calls"] for payload in found}


@pytest.mark.parametrize(
    ("name", "title", "calls"),
    [("claude", "Claude Code", 2), ("codex", "Codex", 1), ("opencode", "OpenCode", 2)],
)
def test_an_agent_that_a_script_starts_by_its_path(
    upstream: ScriptedUpstream, tmp_path: Path, name: str, title: str, calls: int
) -> None:
    """Its calls are not metered; its session file has at least one of them."""
    env, commands = user_of_four_agents(tmp_path, upstream.url)
    (words,) = (words for words in commands if words[0] == name)
    path = str(CLIENTS / "bin" / name)
    run = run_metered(["sh", "-c", shlex.join([path, *words[1:]]) + " </dev/null"], env, tmp_path / "work")
    assert run.code == 0, run.err
    assert len(upstream.calls) == calls
    assert gaps(run) == {f"a session file of {title} has a call that did not pass the meter": 1}
    assert run.document["costs"]["total_cost_usd"] is None


def test_an_agent_that_an_agent_starts(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """Codex, by the tool of Claude Code that runs commands."""
    env, (claude, codex_, *_) = user_of_four_agents(tmp_path, upstream.url)
    inner = {"command": shlex.join(codex_) + " </dev/null", "description": "Ask another agent"}
    upstream.plan(
        Step(
            tool=("Bash", inner),
            when=lambda request: request.path.endswith("/messages?beta=true") and bool(request.tools),
        )
    )
    run = run_metered(claude, env, tmp_path / "work")
    assert run.code == 0, run.err
    assert_equals(run, upstream)
    assert {call.api for call in upstream.calls} == {"messages", "responses"}
    assert run.document["warnings"] == []
