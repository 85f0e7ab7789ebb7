"""`runcard run --witness proxy`: connections to providers that go around the meter make the totals lower bounds."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from meter.certificates import make_authority
from meter.forward_proxy import ForwardProxy, forward_proxy
from meter.records import RUNCARD, TIMEOUT, MeteredRun, finish_run, run_metered
from meter.scripted_upstream import ScriptedUpstream, scripted_upstream
from meter.test_closing_checks import gaps, warnings_of
from meter.test_sdk_calls import sdk_environment
from runcard.cli.runs.run_arguments import carry_out, parse
from waiting import wait_until

PROGRAM = Path(__file__).with_name("around_program.py")
HOST, CONSOLE = "api.anthropic.com", "console.anthropic.com"
WITNESS = ("--witness", "proxy")
GAP = (f"connections to {HOST} did not pass the meter", None)


class Provider:
    """A provider by its true name: a TLS server behind the HTTP proxy of the user."""

    def __init__(self, folder: Path, upstream: ScriptedUpstream, proxy: ForwardProxy, ca_file: Path) -> None:
        self.folder, self.upstream, self.proxy = folder, upstream, proxy
        env = sdk_environment(folder, "")
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            del env[name]
        self.env = env | {"HTTPS_PROXY": proxy.url, "SSL_CERT_FILE": str(ca_file)}

    def run(self, *ways: str, options: tuple[str, ...] = WITNESS, **variables: str) -> MeteredRun:
        done = run_metered(command(*ways), self.env | variables, self.folder / "work", options=options)
        assert (done.code, done.out.splitlines()[-1:]) == (0, ["done"]), done.err
        return done


def command(*ways: str) -> list[str]:
    return [sys.executable, str(PROGRAM), *ways]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    with _provider(tmp_path) as found:
        yield found


@contextmanager
def _provider(folder: Path) -> Iterator[Provider]:
    authority = make_authority(folder / "ca")
    with (
        scripted_upstream(tls=authority.context) as upstream,
        forward_proxy(upstream, {HOST, CONSOLE}, credentials="user:secret") as proxy,
    ):
        yield Provider(folder, upstream, proxy, authority.ca_file)


def connections(run: MeteredRun) -> dict[str, int]:
    section = run.document["witness"]
    assert section["source"] == "proxy"
    return {row["host"]: row["connections"] for row in section["connections"]}


def shown(run: MeteredRun) -> dict[str, str]:
    """The lines of `runcard show`, by their first word."""
    done = subprocess.run([*RUNCARD, "show", str(run.path)], capture_output=True, text=True, check=True)
    words = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.startswith("  ")]
    return {pair[0]: pair[1] for pair in words if len(pair) == 2}


@pytest.mark.parametrize("way", ["urllib", "keep-alive", "sdk"])
def test_a_connection_around_the_meter_makes_the_totals_lower_bounds(way: str, provider: Provider) -> None:
    run = provider.run("metered", way)
    assert connections(run) == {HOST: 1}
    assert gaps(run) == [GAP]
    assert [call["response_id"] for call in run.metered] == [provider.upstream.calls[0].response_id]
    costs = run.document["costs"]
    assert (costs["total_cost_usd"], costs["known_cost_usd"] > 0) == (None, True)
    (warning,) = warnings_of(run)
    assert warning.startswith(f"a connection to {HOST} did not pass the meter; a program that has")
    assert "runcard: 1 model call, ≥ $" in run.err
    screen = shown(run)
    assert screen["total"].startswith("≥ $")
    assert (screen["missing"], screen["witness"]) == (
        GAP[0],
        f"1 connection to {HOST} did not pass the meter",
    )
    assert "**Witness**: 1 connection" in (run.path / "README.md").read_text()
    assert b"user:secret" not in b"".join(path.read_bytes() for path in run.path.glob("*.json*"))


def test_connections_are_counted_and_calls_are_not(provider: Provider) -> None:
    run = provider.run("urllib", "keep-alive", "urllib")
    assert len(provider.upstream.calls) == 4
    assert (connections(run), gaps(run)) == ({HOST: 3}, [GAP])
    assert run.calls == []
    assert run.document["costs"]["total_cost_usd"] is None
    assert warnings_of(run)[0].startswith(f"3 connections to {HOST} did not pass the meter; ")
    assert shown(run)["witness"] == f"3 connections to {HOST} did not pass the meter"


def test_what_passes_the_meter_is_not_counted(provider: Provider) -> None:
    run = provider.run("metered", "metered")
    assert len(run.metered) == 2
    assert (connections(run), gaps(run), warnings_of(run)) == ({}, [], [])
    assert run.document["costs"]["total_cost_usd"] > 0
    assert provider.proxy.targets == [HOST, HOST]
    assert shown(run)["witness"] == "no connection to a model provider around the meter"


def test_other_hosts_of_a_vendor_are_reached_and_not_counted(provider: Provider) -> None:
    run = provider.run("elsewhere")
    assert provider.proxy.targets == [CONSOLE]
    assert (connections(run), gaps(run), warnings_of(run)) == ({}, [], [])


def test_without_the_option_nothing_is_set(provider: Provider) -> None:
    run = provider.run("urllib", options=())
    assert "witness" not in run.document
    assert (gaps(run), provider.proxy.targets) == ([], [HOST])


def test_the_host_of_a_base_url_of_the_users_own_is_a_providers(provider: Provider) -> None:
    run = provider.run("elsewhere", ANTHROPIC_BASE_URL=f"https://{CONSOLE}")
    assert connections(run) == {CONSOLE: 1}


def test_a_run_inside_goes_past_the_proxy_of_the_run_around_it(provider: Provider) -> None:
    for options in ((), WITNESS):
        inner = [*RUNCARD, "run", "--outputs", "inner", *options, "--", *command("metered", "urllib")]
        outer = run_metered(inner, provider.env, provider.folder / "work", options=WITNESS)
        assert outer.code == 0, outer.err
        assert (connections(outer), gaps(outer), outer.calls) == ({}, [], [])
        path = max((provider.folder / "work/inner").glob("*/metadata.json")).parent
        found = MeteredRun(0, "", "", path)
        assert len(found.metered) == 1
        assert gaps(found) == ([GAP] if options else [])
        assert provider.proxy.targets == [HOST, HOST]
        provider.proxy.targets.clear()


def test_an_agent_that_a_script_starts_has_the_proxy(provider: Provider) -> None:
    agent = provider.folder / "bin/claude"
    agent.parent.mkdir()
    agent.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} "$@"\n')
    agent.chmod(0o755)
    env = provider.env | {"PATH": f"{agent.parent}:{provider.env['PATH']}"}
    for script, expected in (
        ("claude urllib metered", {HOST: 1}),
        ("SSL_CERT_DIR=/ claude urllib", {HOST: 1}),
        (f"https_proxy={provider.proxy.url} HTTPS_PROXY=$https_proxy claude urllib", {}),
    ):
        run = run_metered(["sh", "-c", script], env, provider.folder / "work", options=WITNESS)
        assert (run.code, connections(run)) == (0, expected), run.err
    assert provider.proxy.targets == [HOST] * 4


def test_a_run_that_is_killed_has_the_connection_in_its_record(provider: Provider) -> None:
    arguments = [*RUNCARD, "run", *WITNESS, "--", *command("urllib", "wait")]
    process = subprocess.Popen(
        arguments, env=provider.env, cwd=provider.folder / "work", stdout=subprocess.PIPE
    )
    try:
        journals = (provider.folder / "records").glob
        wait_until(
            lambda: any(GAP[0].encode() in path.read_bytes() for path in journals("*/experiment.jsonl"))
        )
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=TIMEOUT)
    close = subprocess.run([*RUNCARD, "close"], env=provider.env, cwd=provider.folder / "work", check=False)
    assert close.returncode == 0
    (document,) = (provider.folder / "records").glob("*/metadata.json")
    rows = json.loads(document.read_bytes())["token_usage"]["incomplete"]
    assert [(row["reason"], row["calls"]) for row in rows] == [GAP]


@pytest.mark.parametrize("exempt", ["anthropic.com", "*"])
def test_hosts_that_go_past_every_proxy_are_named(exempt: str, tmp_path: Path) -> None:
    env = sdk_environment(tmp_path, "") | {"no_proxy": exempt}
    run = run_metered(["true"], env, tmp_path / "work", options=WITNESS)
    (warning,) = warnings_of(run)
    hosts = HOST if exempt != "*" else f"{HOST}, api.cerebras.ai, api.deepseek.com, …"
    assert warning == f"--witness proxy does not see connections to {hosts}: NO_PROXY names them"


def variables(run: MeteredRun) -> dict[str, str]:
    found = dict(item.split("=", 1) for item in run.out.split("\0") if item)
    return {name: value for name, value in found.items() if "PROXY" in name.upper()}


def test_the_variables_of_the_command(tmp_path: Path) -> None:
    env = sdk_environment(tmp_path, "http://127.0.0.1:9")
    set_here = variables(run_metered(["env", "-0"], env, tmp_path / "work", options=WITNESS))
    inner = set_here.pop("RUNCARD_WITNESS_PROXY")
    assert set_here.keys() == {"HTTPS_PROXY", "https_proxy", "WSS_PROXY", "wss_proxy", "NO_PROXY", "no_proxy"}
    assert json.loads(inner) == {"set": set_here, "before": {}}
    assert set_here["NO_PROXY"] == set_here["no_proxy"] == "127.0.0.1"
    assert len({url for name, url in set_here.items() if name.upper() != "NO_PROXY"}) == 1
    own = {"ALL_PROXY": "socks5h://127.0.0.1:9", "no_proxy": "a.example"}
    with_own = variables(run_metered(["env", "-0"], env | own, tmp_path / "work", options=WITNESS))
    assert (with_own["ALL_PROXY"], with_own["no_proxy"]) == (own["ALL_PROXY"], "a.example,127.0.0.1")
    nested = [*RUNCARD, "run", "--outputs", "inner", "--", "env", "-0"]
    assert variables(run_metered(nested, env | own, tmp_path / "work", options=WITNESS)) == {
        **own,
        "NO_PROXY": "a.example,127.0.0.1",
        "no_proxy": "a.example,127.0.0.1",
    }


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("url", ["socks4://127.0.0.1:1080", "http://[::1", "http://127.0.0.1:99999"])
def test_a_proxy_that_cannot_be_chained_is_refused(
    name: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for other in ("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(other, raising=False)
        monkeypatch.delenv(other.lower(), raising=False)
    monkeypatch.setenv(name, url)
    store = tmp_path / "outputs"
    parsed: Any = parse([*WITNESS, "--outputs", str(store), "--", "echo", "started"])
    assert carry_out(**parsed) == 64
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "Error: --witness proxy: the URL of the proxy in the environment is not valid" in captured.err
    assert "hint: correct HTTPS_PROXY or ALL_PROXY: http, https and socks5 are supported" in captured.err
    assert not store.exists()


def test_processes_that_are_left_running_are_warned_about(tmp_path: Path) -> None:
    env = sdk_environment(tmp_path, "http://127.0.0.1:9")
    script = 'sh -c "while ! test -e closed; do sleep 0.05; done" > /dev/null 2>&1 &'
    run = run_metered(["sh", "-c", script], env, tmp_path / "work", options=WITNESS)
    (tmp_path / "work/closed").touch()
    assert "https connections and model calls from there fail now" in run.err


def test_more_connections_than_files_do_not_end_the_proxy(provider: Provider) -> None:
    """The program gets a failure for some, and what it needs later."""
    program = (
        "import os, socket, sys, time, urllib.parse\n"
        "url = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])\n"
        "sockets = [socket.create_connection((url.hostname, url.port)) for _ in range(30)]\n"
        "while len(os.listdir(f'/proc/{os.getppid()}/fd')) < 34: time.sleep(0.01)\n"
        "for one in sockets: one.close()\n"
        f"sys.argv = ['', 'urllib']; exec(open({str(PROGRAM)!r}).read())\n"
    )
    limited = f'ulimit -n 34; exec "$@" -- {sys.executable} -c "$PROGRAM"'
    arguments = ["sh", "-c", limited, "sh", *RUNCARD, "run", *WITNESS]
    run = finish_run(arguments, provider.env | {"PROGRAM": program}, provider.folder / "work")
    assert (run.code, run.out) == (0, "done\n"), run.err
    reasons = [reason for reason, _ in gaps(run)]
    assert GAP[0] in reasons
    assert any("limit of open files" in reason for reason in reasons)
