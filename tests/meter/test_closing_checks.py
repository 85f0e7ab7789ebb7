"""What a record says about calls that the meter did not see, and the options of the meter."""

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meter.agents import agent_environment
from meter.records import RUNCARD, TIMEOUT, MeteredRun, run_metered
from meter.scripted_upstream import ScriptedUpstream
from observe.clients import replies
from observe.clients.server import serving
from runcard.operations.runs.metering import MeterOptions
from runcard.operations.runs.run import run as run_command

PRETEND = Path(__file__).with_name("pretend_agent.py")


def run_agent(
    folder: Path, name: str, plan: dict[str, object], *words: str, url: str = "", **variables: str
) -> MeteredRun:
    """Run a program under the name of an agent."""
    options = [word for word in words if word.startswith("--runcard=")]
    program = folder / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {PRETEND} "$@"\n')
    program.chmod(0o755)
    env = agent_environment(folder) | {
        "PLAN": json.dumps(plan),
        **({"ANTHROPIC_BASE_URL": url} if url else {}),
    }
    env["PATH"] = f"{program.parent}:{env['PATH']}"
    command = [name, *(word for word in words if word not in options)]
    given = [part for word in options for part in word.removeprefix("--runcard=").split()]
    return run_metered(command, env | variables, folder / "work", options=given)


def printed(run: MeteredRun) -> dict[str, Any]:
    """The arguments and variables of the program."""
    assert run.code == 0, run.err
    return dict(json.loads(run.out))


def gaps(run: MeteredRun) -> list[tuple[str, int | None]]:
    found = [event["payload"] for event in run.events if event["event"] == "usage.incomplete"]
    return [(payload["reason"], payload["calls"]) for payload in found]


def warnings_of(run: MeteredRun) -> list[str]:
    return [line.removeprefix("Warning: ") for line in run.err.splitlines() if line.startswith("Warning: ")]


def test_a_command_without_model_calls_gets_no_warning(tmp_path: Path) -> None:
    run = run_metered(["true"], agent_environment(tmp_path), tmp_path / "work")
    assert (run.document["warnings"], gaps(run), warnings_of(run)) == ([], [], [])
    assert run.document["costs"]["total_cost_usd"] is None


def test_settings_that_no_variable_can_hold_do_not_stop_the_command(tmp_path: Path) -> None:
    settings = {"env": {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "a\0b"}}
    agent_environment(tmp_path)
    (tmp_path / "home/.claude").mkdir(exist_ok=True)
    (tmp_path / "home/.claude/settings.json").write_text(json.dumps(settings))
    run = run_agent(tmp_path, "claude", {}, "-p", "x")
    assert printed(run)["arguments"] == ["-p", "x"]
    (warning,) = warnings_of(run)
    assert warning.startswith("model calls are not metered: a settings file of the command has")


def test_no_meter_changes_nothing(tmp_path: Path) -> None:
    run = run_agent(tmp_path, "claude", {}, "--runcard=--no-meter", "-p", "x")
    seen = printed(run)
    assert seen["arguments"] == ["-p", "x"]
    added = {
        name for name in seen["variables"] if "BASE_URL" in name or "METER" in name or "PROXY" in name.upper()
    }
    assert added == set()
    assert warnings_of(run) == []


def test_the_recorded_command_is_that_of_the_user(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    settings = tmp_path / "home/.claude/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.url}}))
    run = run_agent(tmp_path, "claude", {}, "-p", "x")
    assert printed(run)["arguments"][0] == "--settings"
    assert run.document["generation"]["command"] == ["claude", "-p", "x"]


def test_a_cloud_that_the_meter_stays_out_of(tmp_path: Path) -> None:
    run = run_agent(tmp_path, "claude", {}, "-p", "x", CLAUDE_CODE_USE_BEDROCK="1")
    printed(run)
    reason = "CLAUDE_CODE_USE_BEDROCK sends the calls of Claude Code to Amazon Bedrock, where a signature covers the host"
    assert gaps(run) == [(f"{reason}: they do not pass the meter", None)]
    assert warnings_of(run) == [f"{reason}: they do not pass the meter"]
    assert run.document["costs"]["total_cost_usd"] is None


@pytest.mark.parametrize(
    ("name", "client"), [("codex", "Codex"), ("gemini", "Gemini CLI"), ("opencode", "OpenCode")]
)
def test_an_agent_of_which_no_call_was_seen(tmp_path: Path, name: str, client: str) -> None:
    login = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (tmp_path / "home/.gemini").mkdir(parents=True)
    (tmp_path / "home/.gemini/settings.json").write_text(json.dumps(login))
    run = run_agent(tmp_path, name, {}, "x", GEMINI_API_KEY="x")
    printed(run)
    (warning,) = warnings_of(run)
    assert warning.startswith(f"no model call of {client} passed the meter: what it used is not known")
    assert [entry["type"] for entry in run.document["warnings"]] == ["meter"]
    assert run.document["costs"]["total_cost_usd"] is None
    quiet = run_agent(tmp_path, name, {}, "--version", GEMINI_API_KEY="x")
    assert warnings_of(quiet) == []


def test_a_transcript_with_calls_that_were_all_metered(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    plan: dict[str, object] = {"calls": 2, "transcript": ["call-1", "call-2", "call-2"]}
    run = run_agent(tmp_path, "claude", plan, "-p", "x", url=upstream.url)
    printed(run)
    assert (gaps(run), warnings_of(run)) == ([], [])
    assert run.document["performance"]["calls"] == 2


def test_a_transcript_with_a_call_that_was_not_metered(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    plan: dict[str, object] = {"calls": 2, "transcript": ["call-1", "elsewhere", "call-2"]}
    run = run_agent(tmp_path, "claude", plan, "-p", "x", url=upstream.url)
    printed(run)
    assert gaps(run) == [("a session file of Claude Code has a call that did not pass the meter", 1)]
    assert warnings_of(run)[0].startswith(
        "a session file of Claude Code has a call that did not pass the meter; "
    )


def test_a_transcript_where_no_call_was_metered(tmp_path: Path) -> None:
    """The new session in the folder of this project is that of the run."""
    run = run_agent(tmp_path, "claude", {"transcript": ["a", "b"]}, "-p", "x")
    printed(run)
    assert gaps(run) == [("a session file of Claude Code has 2 calls that did not pass the meter", 2)]
    assert run.document["costs"]["total_cost_usd"] is None


def test_a_new_session_in_the_folder_of_the_run_counts(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    plan: dict[str, object] = {"calls": 1, "transcript": ["a", "b"], "session": "another"}
    run = run_agent(tmp_path, "claude", plan, "-p", "x", url=upstream.url)
    assert gaps(run) == [("a session file of Claude Code has 2 calls that did not pass the meter", 2)]
    elsewhere = run_agent(tmp_path, "claude", plan, "-p", "x", url=upstream.url, SESSION_FOLDER="/elsewhere")
    assert gaps(elsewhere) == []
    assert gaps(run_agent(tmp_path, "other-agent", {"transcript": ["a"]}, "x")) == []


def test_an_unusable_url_with_other_calls(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    run = run_agent(tmp_path, "any", {"calls": 1}, url=upstream.url, OPENAI_BASE_URL="gateway")
    assert printed(run)["variables"]["OPENAI_BASE_URL"] == "gateway"
    assert gaps(run) == [("OPENAI_BASE_URL is left as it is: it is not an http or https URL", None)]
    assert gaps(run_agent(tmp_path, "any", {}, OPENAI_BASE_URL="gateway")) == []


def test_a_private_settings_file_is_gone_after_the_run(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.url}}))
    run = run_agent(tmp_path, "claude", {"calls": 1}, "--settings", str(own), "-p", "x", url=upstream.url)
    path = Path(printed(run)["arguments"][1])
    assert path.name.startswith("runcard-settings-run-")
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--witness jaeger", "--witness jaeger: there is no such witness"),
        ("--no-meter --keep-content", "--keep-content needs the meter"),
        ("--no-meter --witness otlp", "--witness needs the meter"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, options: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from runcard.cli.runs.run_arguments import carry_out, parse  # noqa: PLC0415

    parsed = parse([*options.split(), "--outputs", str(tmp_path / "outputs"), "--", "true"])
    assert parsed is not None
    assert carry_out(**parsed) == 64
    assert f"Error: {message}" in capfd.readouterr().err
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("is_kept", [True, False])
def test_content_is_kept_only_on_demand(upstream: ScriptedUpstream, tmp_path: Path, *, is_kept: bool) -> None:
    option = ["--runcard=--keep-content"] if is_kept else []
    run = run_agent(tmp_path, "any", {"calls": 1}, *option, url=upstream.url)
    (call,) = run.metered
    assert ("content" in call) == is_kept


def test_without_a_socket_the_command_is_run_unmetered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise OSError(99, os.strerror(99))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("runcard.operations.runs.metering.Listener", refuse)
    result = run_command(["sh", "-c", "echo ${OPENAI_BASE_URL-unset}"], outputs=str(tmp_path / "outputs"))
    assert capfd.readouterr().out == f"{os.environ.get('OPENAI_BASE_URL', 'unset')}\n"
    assert (result.code, result.warnings) == (0, [f"model calls are not metered: {os.strerror(99)}"])


def test_an_adapter_that_fails_does_not_stop_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("runcard.operations.runs.metering.adapt", fail)
    result = run_command(["true"], outputs=str(tmp_path / "outputs"), meter=MeterOptions())
    assert (result.code, result.warnings) == (0, ["model calls are not metered: a mistake"])


# A second witness.


def witness(run: MeteredRun) -> dict[str, Any]:
    return dict(run.document["witness"])


def test_a_witness_that_agrees_by_request_id(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    plan: dict[str, object] = {"calls": 1, "reported": ["call-1"]}
    run = run_agent(tmp_path, "claude", plan, "--runcard=--witness otlp", "-p", "x", url=upstream.url)
    printed(run)
    section = witness(run)
    assert (section["reported"], section["metered"], section["without_id"]) == (1, 1, 0)
    assert section["agreeing"] + len(section["differing"]) == 1
    assert (section["only_reported"], section["only_metered"]) == ([], [])


def test_what_only_one_of_both_has_is_listed(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    plan: dict[str, object] = {"calls": 2, "reported": ["call-2", "req_elsewhere"]}
    run = run_agent(tmp_path, "claude", plan, "--runcard=--witness otlp", "-p", "x", url=upstream.url)
    printed(run)
    section = witness(run)
    (first, _) = [call["request_id"] for call in run.metered]
    assert (section["only_reported"], section["only_metered"]) == (["req_elsewhere"], [first])
    assert gaps(run) == [("Claude Code reported a call that did not pass the meter", 1)]
    text = f"1 only in its telemetry: req_elsewhere; 1 only metered: {first}"
    assert text in (run.path / "README.md").read_text().replace("\\", "")


def test_a_program_that_reports_nothing(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    run = run_agent(tmp_path, "claude", {"calls": 1}, "--runcard=--witness otlp", "-p", "x", url=upstream.url)
    assert warnings_of(run) == ["Claude Code reported none of its calls: there is nothing to compare with"]
    assert len(witness(run)["only_metered"]) == 1


def test_a_collector_of_the_user_is_not_taken_away(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    own = {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_LOGS_EXPORTER": "otlp"}
    own["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] = "http://collector:4318/v1/logs"
    run = run_agent(
        tmp_path, "claude", {"calls": 1}, "--runcard=--witness otlp", "-p", url=upstream.url, **own
    )
    variables = printed(run)["variables"]
    assert own.items() <= variables.items()
    assert warnings_of(run) == [
        "Claude Code already exports its events (OTEL_LOGS_EXPORTER): --witness otlp is not used"
    ]
    assert "witness" not in run.document


def test_running_again_follows_no_meter(tmp_path: Path) -> None:
    """A run that was not to be metered is not metered when it is run again."""
    env = agent_environment(tmp_path)
    command = ["sh", "-c", "echo ${RUNCARD_METER+metered}"]
    for options, printed_text in ((["--no-meter"], "\n"), ([], "metered\n")):
        run = run_metered(command, env, tmp_path / "work", options=options)
        assert run.out == printed_text
        again = subprocess.run(
            [*RUNCARD, "rerun", "--json", str(run.path)],
            env=env,
            cwd=tmp_path / "work",
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        assert json.loads(again.stdout)["outputs"]["same"] == ["output.log"], again.stderr


def test_a_provider_that_cannot_be_reached_is_named(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """The program sees a connection that is reset, and might think of the meter."""
    program = (
        "import os, urllib.request\n"
        "url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'\n"
        'data = b\'{"model": "claude-haiku-4-5", "max_tokens": 9, "messages": []}\'\n'
        "try:\n    urllib.request.urlopen(urllib.request.Request(url, data))\n"
        "except OSError:\n    pass\n"
    )
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{taken.getsockname()[1]}"
        env = agent_environment(tmp_path) | {"ANTHROPIC_BASE_URL": f"http://{host}"}
        run = run_metered([sys.executable, "-c", program], env, tmp_path / "work")
    assert warnings_of(run) == [f"no connection to {host}: {os.strerror(errno.ECONNREFUSED)}"]
    assert [warning["message"] for warning in run.document["warnings"]] == warnings_of(run)
    env["ANTHROPIC_BASE_URL"] = upstream.url
    assert warnings_of(run_metered([sys.executable, "-c", program], env, tmp_path / "work")) == []


@pytest.mark.parametrize(
    ("model", "line", "warning"),
    [
        ("claude-haiku-4-5", "1 model call, $", None),
        ("claude-x-9", "1 model call, cost unknown", "claude-x-9"),
    ],
)
def test_the_last_lines_say_what_the_calls_cost(
    upstream: ScriptedUpstream, tmp_path: Path, model: str, line: str, warning: str | None
) -> None:
    program = (
        "import json, os, urllib.request\n"
        "url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'\n"
        f"data = json.dumps({{'model': '{model}', 'max_tokens': 9, 'messages': []}}).encode()\n"
        "urllib.request.urlopen(urllib.request.Request(url, data)).read()\n"
    )
    env = agent_environment(tmp_path) | {"ANTHROPIC_BASE_URL": upstream.url}
    run = run_metered([sys.executable, "-c", program], env, tmp_path / "work")
    *_, cost, path = run.err.splitlines()
    assert cost.startswith(f"runcard: {line}")
    assert path == f"runcard: {run.path}"
    assert [warning is not None and warning in text for text in warnings_of(run)] == [True] * bool(warning)
    quiet = run_metered([sys.executable, "-c", program], env, tmp_path / "work", options=["--quiet"])
    assert "runcard: " not in quiet.err


@pytest.mark.parametrize("path", ["images/generations", "batches", "audio/speech", "embed"])
def test_what_is_not_understood_is_said_on_the_terminal(
    upstream: ScriptedUpstream, tmp_path: Path, path: str
) -> None:
    program = (
        "import os, urllib.request\n"
        f"url = os.environ['OPENAI_BASE_URL'] + '/{path}'\n"
        "urllib.request.urlopen(urllib.request.Request(url, b'{}')).read()\n"
    )
    env = agent_environment(tmp_path) | {"OPENAI_BASE_URL": f"{upstream.url}/v1"}
    run = run_metered([sys.executable, "-c", program], env, tmp_path / "work")
    assert run.code == 0, run.err
    host = upstream.url.partition("//")[2]
    reason = f"POST {host}/v1/{path} is not understood"
    assert warnings_of(run) == [f"{reason}; record what you know of it with run.add_usage"]
    assert gaps(run) == [(reason, 1)]


def test_embeddings_whose_counts_are_not_understood_are_said_on_the_terminal(tmp_path: Path) -> None:
    """Each reason once, however many calls there are."""
    program = (
        "import os, urllib.request\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/embeddings'\n"
        'data = b\'{"model": "text-embedding-3-small", "input": "fox"}\'\n'
        "for _ in range(2):\n    urllib.request.urlopen(urllib.request.Request(url, data)).read()\n"
    )
    reply = replies.embeddings()
    del reply["usage"]
    with serving() as server:
        server.says(reply)
        env = agent_environment(tmp_path) | {"OPENAI_BASE_URL": f"{server.url}/v1"}
        run = run_metered([sys.executable, "-c", program], env, tmp_path / "work")
    assert run.code == 0, run.err
    said = [text for text in warnings_of(run) if "token counts" in text]
    assert len(said) == 1, run.err
    assert said[0].startswith("the token counts of a reply cannot be read: ")
    assert "runcard: 2 model calls, cost unknown" in run.err
    assert [each["message"] for each in run.document["warnings"] if each["type"] == "usage"] == said
