"""Where a program runs: several processes, runs inside runs, HTTP proxies, certificates of one's own."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from meter.certificates import make_authority
from meter.forward_proxy import forward_proxy
from meter.records import RUNCARD, MeteredRun, assert_equals, finish_run, run_metered
from meter.scripted_upstream import ScriptedUpstream, scripted_upstream
from meter.test_sdk_calls import run_program, sdk_command, sdk_environment

_REQUESTS = Path(__file__).with_name("plain_requests.py")
_CALLS = [sys.executable, str(_REQUESTS), "call", "call", "call"]
_PROXIES = {"NO_PROXY": "", "no_proxy": ""}


@pytest.mark.long
def test_several_processes_share_one_meter(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    ways = ["anthropic_three", "openai_chat_stream", "gemini_generate", "openai_response"]
    run = run_program(tmp_path, upstream.url, "processes", *ways)
    assert run.code == 0, run.err
    assert len(upstream.calls) == 6
    assert_equals(run, upstream)
    assert run.document["configuration"]["model"] is None  # several: the list is in the breakdown
    assert len(run.document["token_usage"]["breakdown_by_model"]) == 3


def test_one_model_fills_the_configuration(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    run = run_metered(_CALLS, sdk_environment(tmp_path, upstream.url), tmp_path / "work")
    assert run.document["configuration"]["model"] == "claude-sonnet-5"
    assert "claude-sonnet-5" in (run.path / "README.md").read_text()


def test_a_run_inside_a_run_is_metered_once(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """By the inner one: each call is in one record."""
    command = [*RUNCARD, "run", "--outputs", "inner", "--", *_CALLS]
    outer = run_metered(command, sdk_environment(tmp_path, upstream.url), tmp_path / "work")
    assert outer.code == 0, outer.err
    assert len(upstream.calls) == 3
    (document,) = (tmp_path / "work" / "inner").glob("*/metadata.json")
    assert_equals(MeteredRun(0, "", "", document.parent), upstream)
    assert outer.calls == []
    assert outer.document["costs"]["total_cost_usd"] is None


def test_a_run_of_the_program_itself_inside_a_run(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """The meter belongs to the outer run; the watched client to the run that the program opened."""
    run = run_program(tmp_path, upstream.url, "openai_mixed", "watch", "record")
    assert run.code == 0, run.err
    assert_equals(run, upstream)
    (document,) = (tmp_path / "work" / "own-outputs").glob("*/metadata.json")
    inner = MeteredRun(0, "", "", document.parent)
    assert [call["response_id"] for call in inner.calls] == [call.response_id for call in upstream.calls]
    assert inner.document["performance"]["calls"] == 3


@pytest.mark.long
@pytest.mark.parametrize("credentials", [None, "user:p%40ss"])
def test_an_http_proxy_is_used(upstream: ScriptedUpstream, tmp_path: Path, credentials: str | None) -> None:
    plain = credentials and credentials.replace("%40", "@")
    with forward_proxy(upstream, {"models.example"}, credentials=plain) as proxy:
        user = f"{credentials}@" if credentials else ""
        url = f"http://{user}127.0.0.1:{proxy.server_address[1]}"
        variables = {**_PROXIES, "HTTP_PROXY": url, "http_proxy": url}
        run = run_program(tmp_path, "http://models.example", "openai_mixed", **variables)
        assert run.code == 0, run.err
        assert set(proxy.targets) == {"models.example"}
        assert proxy.refused == []
    assert len(upstream.calls) == 3
    assert_equals(run, upstream)


def test_no_proxy_is_respected(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    with forward_proxy(upstream, set()) as proxy:
        variables = {"HTTP_PROXY": proxy.url, "http_proxy": proxy.url, "NO_PROXY": "127.0.0.1"}
        run = run_program(tmp_path, upstream.url, "openai_chat", **variables)
        assert run.code == 0, run.err
        assert (proxy.targets, proxy.refused) == ([], [])
    assert_equals(run, upstream)


def test_an_https_upstream_with_an_authority_of_ones_own(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "ca")
    with scripted_upstream(tls=authority.context) as upstream:
        env = sdk_environment(tmp_path, upstream.url) | {"SSL_CERT_FILE": str(authority.ca_file)}
        run = run_metered(_CALLS, env, tmp_path / "work")
        assert run.code == 0, run.err
        assert len(upstream.calls) == 3
        assert_equals(run, upstream)


def test_an_upstream_that_cannot_be_trusted_gets_no_request(tmp_path: Path) -> None:
    """The program sees a failed connection, as it does without the meter. The record says so."""
    authority = make_authority(tmp_path / "ca")
    with scripted_upstream(tls=authority.context) as upstream:
        run = run_program(tmp_path, upstream.url, "openai_chat", "expect-error", "once")
        assert upstream.requests == []
    assert run.out.strip() == "APIConnectionError", (run.out, run.err)
    assert run.document["costs"]["total_cost_usd"] is None
    assert {json.dumps(call.get("tokens") or {}) for call in run.calls} <= {"{}"}


@pytest.mark.long
@pytest.mark.parametrize("way", ["anthropic_stream", "openai_response", "gemini_generate"])
def test_a_provider_is_reached_by_https_through_a_proxy(tmp_path: Path, way: str) -> None:
    """No URL of the user's own: the provider is called by its name, and the record names it."""
    authority = make_authority(tmp_path / "ca")
    host, provider = {
        "anthropic_stream": ("api.anthropic.com", "anthropic"),
        "openai_response": ("api.openai.com", "openai"),
        "gemini_generate": ("generativelanguage.googleapis.com", "google"),
    }[way]
    with (
        scripted_upstream(tls=authority.context) as upstream,
        forward_proxy(upstream, {host}, credentials="user:secret") as proxy,
    ):
        env = sdk_environment(tmp_path, "") | {
            **_PROXIES,
            "HTTPS_PROXY": proxy.url,
            "SSL_CERT_FILE": str(authority.ca_file),
        }
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            del env[name]
        run = run_metered(sdk_command(way), env, tmp_path / "work")
        assert run.code == 0, run.err
        assert (proxy.targets, proxy.refused) == ([host], [])
        assert len(upstream.calls) == 1
        assert_equals(run, upstream)
    assert run.document["configuration"]["provider"] == provider
    assert b"user:secret" not in b"".join(path.read_bytes() for path in run.path.glob("*.json*"))


def test_prompts_and_replies_are_kept_only_on_request_and_masked(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    env, command = sdk_environment(tmp_path, upstream.url), [sys.executable, str(_REQUESTS), "secret"]
    journals = []
    for options in ([], ["--keep-content"]):
        run = run_metered(command, env, tmp_path / "work", options=options)
        assert run.code == 0, run.err
        journals.append((run.path / "experiment.jsonl").read_text())
    texts = ("My password is", "The quick brown fox.")
    assert [[text in journal for text in texts] for journal in journals] == [[False, False], [True, True]]
    assert not any("ghp_" in journal for journal in journals)


def test_without_the_meter_command_and_environment_are_those_of_the_user(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    env = sdk_environment(tmp_path, upstream.url)
    run = run_metered(["env", "-0"], env, tmp_path / "work", options=["--no-meter"])
    given = dict(item.split("=", 1) for item in run.out.split("\0") if item)
    own = {name for name in given if name == "TRACEPARENT" or name.startswith("RUNCARD_")}
    assert {name: value for name, value in given.items() if name not in own} == {
        name: value for name, value in env.items() if name not in own
    }
    assert "RUNCARD_METER" not in given


def test_a_process_that_is_left_running_cannot_call_and_the_user_is_warned(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """The relay ends with the command."""
    env = sdk_environment(tmp_path, upstream.url)
    call = shlex.join([sys.executable, str(_REQUESTS), "call"])
    late = f"while ! test -e {tmp_path}/closed; do sleep 0.05; done; {call}; echo $? > {tmp_path}/code"
    script = f"{call}; ({late}) > {tmp_path}/late 2>&1 &"
    run = run_metered(["sh", "-c", script], env, tmp_path / "work")
    (tmp_path / "closed").touch()
    upstream.wait_for(lambda: (tmp_path / "code").exists() and (tmp_path / "code").read_text() != "")
    assert "ConnectionRefusedError" in (tmp_path / "late").read_text()
    assert len(upstream.calls) == len(run.metered) == 1
    assert "model calls from there fail now: pass --no-meter to let them work" in run.err


def test_more_connections_than_files_are_a_warning_that_names_the_limit(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    env = sdk_environment(tmp_path, upstream.url)
    program = (
        "import os, socket, time, urllib.parse\n"
        "url = urllib.parse.urlsplit(os.environ['ANTHROPIC_BASE_URL'])\n"
        "sockets = [socket.create_connection((url.hostname, url.port)) for _ in range(30)]\n"
        "while len(os.listdir(f'/proc/{os.getppid()}/fd')) < 34: time.sleep(0.01)\n"
    )
    limited = f'ulimit -n 34; exec "$@" -- {sys.executable} -c "$PROGRAM"'
    command = ["sh", "-c", limited, "sh", *RUNCARD, "run"]
    run = finish_run(command, env | {"PROGRAM": program}, tmp_path / "work")
    assert run.code == 0, run.err
    assert "too many connections at once for the limit of open files (ulimit -n)" in run.err
    assert run.document["costs"]["total_cost_usd"] is None
