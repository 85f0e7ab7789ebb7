"""The real coding agents under `runcard run`: they do what they do without it, and the record has every call to the token.

Each agent runs twice against the scripted upstream, without the meter and with it: what reaches the upstream is the same.
One run serves several tests.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from meter.agents import (
    Invocation,
    Outcome,
    chatgpt_login,
    claude_code,
    codex,
    gemini_cli,
    opencode,
    run_agent,
)
from meter.certificates import make_authority
from meter.forward_proxy import forward_proxy
from meter.records import RUNCARD, TIMEOUT, MeteredRun, assert_equals, run_metered
from meter.scripted_upstream import LoggedRequest, ScriptedUpstream, Step, scripted_upstream
from meter.vendor_replies import SentCall, Tool

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

MCP_SERVER = Path(__file__).with_name("mcp_server.py")
BASH: Tool = ("Bash", {"command": "echo hello", "description": "Say hello"})

# What differs between any two runs of an agent: ids, a check sum over them, and the folders of the test.
_UNIQUE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|[0-9a-f]{64}|\bcch=[0-9a-f]+|\bses_[0-9A-Za-z]+|\b(plain|meter)[/-](work|home)|PGID: [0-9]+|_[0-9]{13}_"
)


@dataclass(frozen=True)
class Comparison:
    """One agent without the meter and with it."""

    plain: Outcome
    plain_requests: list[LoggedRequest]
    run: MeteredRun
    requests: list[LoggedRequest]
    calls: list[SentCall]
    upstream: ScriptedUpstream

    def assert_same_requests(self) -> None:
        """Each request of the agent reaches the upstream as it is: its line, the names of its headers, its body."""
        assert_same(self.requests, self.plain_requests)


def assert_same(requests: list[LoggedRequest], others: list[LoggedRequest]) -> None:
    pairs = zip(*(sorted(map(_comparable, some)) for some in (requests, others)), strict=True)
    for one, other in pairs:
        assert one[:-1] == other[:-1]
        first, second = one[-1], other[-1]
        at = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
        assert first == second, (first[at - 50 : at + 50], second[at - 50 : at + 50])
    assert requests


def _comparable(request: LoggedRequest) -> tuple[object, object, object, str]:
    names = [name for name, _ in request.headers]
    body = _UNIQUE.sub("", json.dumps(request.body, sort_keys=True))
    return f"{request.method} {request.path}", names, request.tools, body


def compare(
    upstream: ScriptedUpstream, invoke: Callable[[Path], Invocation], folder: Path, *steps: Step
) -> Comparison:
    """Run an agent twice, with the same steps."""
    outcomes: list[Outcome] = []
    upstream.plan(*(Step(**vars(step)) for step in steps))
    outcomes.append(run_agent(invoke(folder / "plain")))
    requests = upstream.requests
    upstream.clear()
    upstream.plan(*(Step(**vars(step)) for step in steps))
    invocation = invoke(folder / "meter")
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    return Comparison(outcomes[0], requests, run, upstream.requests, upstream.calls, upstream)


def _model_requests(requests: list[LoggedRequest]) -> list[LoggedRequest]:
    return [request for request in requests if request.path.partition("?")[0].endswith("/messages")]


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    """Claude Code as most have it: no URL of their own, here behind a company's proxy; with an MCP server of 60 tools."""
    folder = tmp_path_factory.mktemp("claude")
    authority = make_authority(folder / "ca")
    server = {"command": sys.executable, "args": [str(MCP_SERVER)]}
    options = ("--mcp-config", json.dumps({"mcpServers": {"sixty": server}}), "--strict-mcp-config")
    with (
        scripted_upstream(tls=authority.context) as upstream,
        forward_proxy(upstream, {"api.anthropic.com"}) as proxy,
    ):

        def invoke(home: Path) -> Invocation:
            invocation = claude_code(home, "", *options)
            del invocation.env["ANTHROPIC_BASE_URL"]
            invocation.env.update({"HTTPS_PROXY": proxy.url, "NODE_EXTRA_CA_CERTS": str(authority.ca_file)})
            return invocation

        yield compare(upstream, invoke, folder, Step(tool=BASH))


class TestClaudeCode:
    def test_it_ends_as_it_does_without_the_meter(self, claude: Comparison) -> None:
        assert (claude.run.code, claude.plain.code) == (0, 0), claude.run.err
        replies = [json.loads(out)["result"] for out in (claude.run.out, claude.plain.out)]
        assert replies[0] == replies[1] == "The quick brown fox."

    def test_its_requests_are_the_same_with_60_mcp_tools(self, claude: Comparison) -> None:
        """Pointed at a foreign host, it would send 84 tools, and use a more expensive model for titles."""
        requests, without = _model_requests(claude.requests), _model_requests(claude.plain_requests)
        assert_same(requests, without)
        assert sorted(request.size for request in requests) == sorted(request.size for request in without)
        assert sorted(len(request.tools) for request in requests) == [0, 9, 9]

    def test_the_record_has_every_call(self, claude: Comparison) -> None:
        assert len(claude.calls) == 3
        assert_equals(claude.run, claude.upstream)
        models = {call.model for call in claude.calls}
        assert len(models) == 2  # one for titles

    def test_the_provider_is_that_behind_the_meter(self, claude: Comparison) -> None:
        assert claude.run.document["configuration"]["provider"] == "anthropic"
        assert {call["provider"] for call in claude.run.metered} == {"anthropic"}
        (endpoint,) = {call["endpoint"] for call in claude.run.metered}
        assert endpoint == "api.anthropic.com/v1/messages"

    def test_the_record_names_the_session(self, claude: Comparison) -> None:
        session = json.loads(claude.run.out)["session_id"]
        assert {call["client_session"] for call in claude.run.metered} == {session}

    def test_no_key_is_in_the_record(self, claude: Comparison) -> None:
        for path in claude.run.path.rglob("*"):
            if path.is_file():
                assert b"sk-test-" not in path.read_bytes(), path

    def test_no_prompt_is_in_the_journal(self, claude: Comparison) -> None:
        """Neither the user's words nor the vendor's."""
        journal = (claude.run.path / "experiment.jsonl").read_text()
        assert "You are" not in journal
        assert max(map(len, journal.splitlines())) < 20_000


def test_claude_code_with_a_sub_agent(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    task = {
        "description": "greet",
        "prompt": "Say hi.",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    upstream.plan(
        Step(tool=("Agent", task)),
        Step(tool=BASH, when=lambda request: request.header("x-claude-code-agent-id") is not None),
    )
    invocation = claude_code(tmp_path, upstream.url)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert len(upstream.calls) == 5
    assert_equals(run, upstream)
    sent = {call.response_id: call.request.header("x-claude-code-agent-id") for call in upstream.calls}
    assert {call["response_id"]: call.get("agent") for call in run.metered} == sent
    assert len([agent for agent in sent.values() if agent]) == 2


def test_claude_code_with_a_url_in_its_settings(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """Its settings have precedence over the environment. The file stays as it is."""
    invocation = claude_code(tmp_path, "http://127.0.0.1:9")
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    text = json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.url}})
    settings.write_text(text)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert len(upstream.calls) == 2
    assert_equals(run, upstream)
    assert settings.read_text() == text


def test_claude_code_with_a_url_in_the_settings_of_the_project(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    invocation = claude_code(tmp_path, "http://127.0.0.1:9")
    settings = tmp_path / "work" / ".claude" / "settings.local.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.url}}))
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert len(upstream.calls) == 2
    assert_equals(run, upstream)


def test_claude_code_tries_again(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """After 429 and 529. The failed attempts are no part of the totals, and each names the one before it."""

    def is_main(request: LoggedRequest) -> bool:
        return bool(request.tools)

    upstream.plan(
        Step(status=429, headers={"retry-after": "0"}, when=is_main), Step(status=529, when=is_main)
    )
    invocation = claude_code(tmp_path, upstream.url)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert sorted(call.status for call in upstream.calls) == [200, 200, 429, 529]
    assert_equals(run, upstream)
    by_status = {call["status"]: call for call in run.metered if call.get("request", {}).get("tools")}
    assert by_status[529]["retry_of"] == by_status[429]["call_id"]
    assert by_status[200]["retry_of"] == by_status[529]["call_id"]


def test_claude_code_is_cancelled(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """Ctrl-C in the middle of a reply: what was billed until then is partial, and the cost is not known as a whole."""
    upstream.plan(Step(fault="stall", when=lambda request: bool(request.tools)))
    invocation = claude_code(tmp_path, upstream.url)
    process = subprocess.Popen(
        [*RUNCARD, "run", "--", *invocation.command],
        env=invocation.env,
        cwd=invocation.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    upstream.wait_for(lambda: {call.token_source for call in upstream.calls} == {"reported", "partial"})
    subprocess.run(["kill", "-INT", "--", f"-{process.pid}"], check=True)
    _, err = process.communicate(timeout=TIMEOUT)
    (path,) = (tmp_path / "records").glob("*/metadata.json")
    run = MeteredRun(process.returncode, "", err.decode(), path.parent)
    document = run.document
    assert_equals(run, upstream)
    costs = document["costs"]
    assert (costs["total_cost_usd"], costs["token_source"]) == (None, "partial")


@pytest.fixture(scope="module")
def codex_by_websocket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    with scripted_upstream() as upstream:
        step = Step(tool=("exec_command", {"cmd": "echo hello"}))
        invoke = lambda folder: codex(folder, upstream.url)  # noqa: E731
        yield compare(upstream, invoke, tmp_path_factory.mktemp("codex"), step)


class TestCodexByWebSocket:
    def test_it_connects_at_once_and_ends_the_same(self, codex_by_websocket: Comparison) -> None:
        assert codex_by_websocket.run.code == 0, codex_by_websocket.run.err
        outputs = (codex_by_websocket.run.out, codex_by_websocket.plain.out)
        assert outputs[0].count('"type":"error"') == outputs[1].count('"type":"error"')
        upgrades = [request for request in codex_by_websocket.requests if request.method == "GET"]
        assert len(upgrades) == 1

    def test_its_messages_are_the_same(self, codex_by_websocket: Comparison) -> None:
        for requests in (codex_by_websocket.requests, codex_by_websocket.plain_requests):
            assert [request.method for request in requests] == ["GET", "WEBSOCKET", "WEBSOCKET"]
        pairs = zip(codex_by_websocket.requests, codex_by_websocket.plain_requests, strict=True)
        assert all([name for name, _ in a.headers] == [name for name, _ in b.headers] for a, b in pairs)

    def test_the_record_has_every_call_and_not_the_warm_up(self, codex_by_websocket: Comparison) -> None:
        assert codex_by_websocket.upstream.warm_ups == 1
        assert len(codex_by_websocket.calls) == 2
        assert_equals(codex_by_websocket.run, codex_by_websocket.upstream)

    def test_the_record_names_the_session(self, codex_by_websocket: Comparison) -> None:
        thread = json.loads(codex_by_websocket.run.out.splitlines()[0])["thread_id"]
        assert {call["client_session"] for call in codex_by_websocket.run.metered} == {thread}


def test_codex_at_openai_itself(tmp_path: Path) -> None:
    """Without a URL of the user's own: a WebSocket over TLS, through a proxy."""
    authority = make_authority(tmp_path / "ca")
    with (
        scripted_upstream(tls=authority.context) as upstream,
        forward_proxy(upstream, {"api.openai.com", "chatgpt.com"}) as proxy,
    ):
        invocation = codex(tmp_path, None)
        variables = {"HTTPS_PROXY": proxy.url, "CODEX_CA_CERTIFICATE": str(authority.ca_file)}
        run = run_metered(invocation.command, invocation.env | variables, invocation.cwd)
        assert run.code == 0, run.err
        assert upstream.warm_ups == len(upstream.calls) == 1
        assert_equals(run, upstream)
    assert run.document["configuration"] == {"model": "gpt-5", "provider": "openai"}


@pytest.fixture(scope="module")
def codex_with_chatgpt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    """Codex with the login that most have, at chatgpt.com, through a proxy."""
    folder = tmp_path_factory.mktemp("chatgpt")
    authority = make_authority(folder / "ca")
    with (
        scripted_upstream(tls=authority.context) as upstream,
        forward_proxy(upstream, {"chatgpt.com"}) as proxy,
    ):

        def invoke(home: Path) -> Invocation:
            invocation = codex(home, None)
            login = home / "home/.codex/auth.json"
            login.parent.mkdir(parents=True)
            login.write_text(json.dumps(chatgpt_login("pro")))
            for name in ("CODEX_API_KEY", "OWN_KEY"):
                del invocation.env[name]
            variables = {"HTTPS_PROXY": proxy.url, "CODEX_CA_CERTIFICATE": str(authority.ca_file)}
            return Invocation(invocation.command, invocation.env | variables, invocation.cwd)

        yield compare(upstream, invoke, folder, Step(tool=("exec_command", {"cmd": "echo hello"})))


class TestCodexWithChatGpt:
    def test_the_record_has_every_call(self, codex_with_chatgpt: Comparison) -> None:
        assert codex_with_chatgpt.run.code == 0, codex_with_chatgpt.run.err
        assert len(codex_with_chatgpt.calls) == 2
        assert_equals(codex_with_chatgpt.run, codex_with_chatgpt.upstream)
        assert {call["endpoint"] for call in codex_with_chatgpt.run.metered} == {
            "chatgpt.com/backend-api/codex/responses"
        }
        assert codex_with_chatgpt.run.document["configuration"]["provider"] == "openai"
        assert codex_with_chatgpt.run.document["warnings"] == []

    def test_its_calls_are_the_same(self, codex_with_chatgpt: Comparison) -> None:
        some, others = (
            [request for request in requests if request.path.endswith("/codex/responses")]
            for requests in (codex_with_chatgpt.requests, codex_with_chatgpt.plain_requests)
        )
        assert [request.method for request in some] == ["GET", "WEBSOCKET", "WEBSOCKET"]
        pairs = zip(some, others, strict=True)
        assert all([name for name, _ in a.headers] == [name for name, _ in b.headers] for a, b in pairs)

    def test_no_part_of_the_login_is_in_the_record(self, codex_with_chatgpt: Comparison) -> None:
        login = json.dumps(chatgpt_login("pro"))
        tokens = re.findall(r"[A-Za-z0-9_-]{8,}", login)
        secrets = {token.encode() for token in tokens} - {b"auth_mode", b"id_token", b"last_refresh"}
        for path in codex_with_chatgpt.run.path.rglob("*"):
            data = path.read_bytes() if path.is_file() else b""
            assert not [secret for secret in secrets if len(secret) > 20 and secret in data], path
            assert b"rt_0123456789" not in data
            assert b"account-1" not in data
            assert b"anna@example.org" not in data


def test_codex_in_a_workspace_that_chooses_the_host(tmp_path: Path) -> None:
    """Its calls may have to stay in a region: they go where the server says, and the record says that they are missing."""
    authority = make_authority(tmp_path / "ca")
    with (
        scripted_upstream(tls=authority.context) as upstream,
        forward_proxy(upstream, {"chatgpt.com", "api.openai.com"}) as proxy,
    ):
        upstream.workspace_origin = "https://api.openai.com"
        invocation = codex(tmp_path, None)
        (tmp_path / "home/.codex").mkdir(parents=True)
        (tmp_path / "home/.codex/auth.json").write_text(json.dumps(chatgpt_login("team")))
        variables = {"HTTPS_PROXY": proxy.url, "CODEX_CA_CERTIFICATE": str(authority.ca_file)}
        given = {k: v for k, v in invocation.env.items() if k not in {"CODEX_API_KEY", "OWN_KEY"}}
        run = run_metered(invocation.command, given | variables, invocation.cwd)
        assert run.code == 0, run.err
        assert (len(upstream.calls), "api.openai.com" in proxy.targets) == (1, True)
    missing = [event["payload"] for event in run.events if event["event"] == "usage.incomplete"]
    assert [payload["calls"] for payload in missing] == [1, None]
    assert "a session file of Codex has a call that did not pass the meter" in missing[0]["reason"]
    assert run.document["costs"]["total_cost_usd"] is None


def test_codex_connects_again_after_a_cut(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """What the first call used is not known, so the cost is not."""
    upstream.plan(Step(fault="cut"))
    invocation = codex(tmp_path, upstream.url)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert [call.token_source for call in upstream.calls] == ["partial", "reported"]
    assert_equals(run, upstream)


def test_codex_is_refused_on_an_open_connection(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """An error in place of a reply: nothing was used."""
    upstream.plan(Step(status=429))
    invocation = codex(tmp_path, upstream.url)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 1
    assert [call.status for call in upstream.calls] == [429]
    assert_equals(run, upstream)


def test_codex_with_a_provider_of_the_user(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    upstream.plan(Step(tool=("exec_command", {"cmd": "echo hello"})))
    invocation = codex(tmp_path, upstream.url, provider=True)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert len(upstream.calls) == 2
    assert_equals(run, upstream)


def test_codex_falls_back_where_the_upgrade_is_refused(tmp_path: Path) -> None:
    with scripted_upstream(websocket=False) as upstream:
        invocation = codex(tmp_path, upstream.url)
        run = run_metered(invocation.command, invocation.env, invocation.cwd)
        assert run.code == 0, run.err
        refused = [request for request in upstream.requests if request.method == "GET"]
        assert len(refused) == 7  # as many as without the meter
        assert len(upstream.calls) == 1
        assert_equals(run, upstream)


@pytest.fixture(scope="module")
def gemini(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    with scripted_upstream() as upstream:
        step = Step(tool=("run_shell_command", {"command": "echo hello"}))
        invoke = lambda folder: gemini_cli(folder, upstream.url)  # noqa: E731
        yield compare(upstream, invoke, tmp_path_factory.mktemp("gemini"), step)


def test_gemini_cli(gemini: Comparison) -> None:
    assert gemini.run.code == 0, gemini.run.err
    assert json.loads(gemini.run.out)["response"] == json.loads(gemini.plain.out)["response"]
    gemini.assert_same_requests()
    assert len(gemini.calls) == 2
    assert_equals(gemini.run, gemini.upstream)


@pytest.fixture(scope="module")
def open_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    with scripted_upstream() as upstream:
        step = Step(tool=("bash", {"command": "echo hello", "description": "Say hello"}))
        invoke = lambda folder: opencode(folder, upstream.url)  # noqa: E731
        yield compare(upstream, invoke, tmp_path_factory.mktemp("opencode"), step)


def test_opencode(open_code: Comparison) -> None:
    """Its URL is in its settings. Its own database has two calls, the wire three: one is for a title."""
    assert open_code.run.code == 0, open_code.run.err
    before = [
        [request for request in requests if "tool_result" not in json.dumps(request.body)]
        for requests in (open_code.requests, open_code.plain_requests)
    ]
    assert_same(*before)  # what follows depends on the time that the tool took
    assert len(open_code.calls) == 3
    assert_equals(open_code.run, open_code.upstream)
