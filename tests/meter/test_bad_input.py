"""What can go wrong in a metered run. The program gets what it would get without the meter; the record says what is missing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from files.small_disk import small_disk
from meter.records import RUNCARD, TIMEOUT, MeteredRun, assert_equals, run_metered
from meter.scripted_upstream import Fault, ScriptedUpstream, Step
from meter.test_sdk_calls import run_program, sdk_environment

REQUESTS = Path(__file__).with_name("plain_requests.py")


def command(*names: str) -> list[str]:
    return [sys.executable, str(REQUESTS), *names]


def run_requests(folder: Path, url: str, *names: str) -> MeteredRun:
    return run_metered(command(*names), sdk_environment(folder, url), folder / "work")


def run_without_meter(folder: Path, url: str, *names: str) -> str:
    env = sdk_environment(folder, url)
    done = subprocess.run(
        command(*names), env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    return done.stdout


@pytest.mark.parametrize(
    "names",
    [("call", "stream"), ("no-calls",), ("unknown-endpoint",), ("big-header",), ("invalid-json",)],
    ids=lambda names: names[0],
)
def test_the_program_gets_the_same_bytes(
    upstream: ScriptedUpstream, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """Status, reason, headers in their order, and the body."""
    without = run_without_meter(tmp_path / "without", upstream.url, *names)
    upstream.clear()
    run = run_requests(tmp_path, upstream.url, *names)
    assert run.code == 0, run.err
    assert run.out == without
    assert without


def test_requests_that_are_no_calls_are_not_counted(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    run = run_requests(tmp_path, upstream.url, "no-calls")
    assert [request.path for request in upstream.requests] == ["/", "/v1/messages/count_tokens"]
    assert run.calls == []


def test_an_unknown_endpoint_is_passed_on_and_makes_the_cost_unknown(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    run = run_requests(tmp_path, upstream.url, "call", "unknown-endpoint")
    assert [request.path for request in upstream.requests] == ["/v1/messages", "/v1/unheard-of"]
    costs = run.document["costs"]
    assert costs["total_cost_usd"] is None
    assert costs["input_tokens"] == upstream.calls[0].tokens["input"]
    warnings = [warning["message"] for warning in run.document["warnings"]]
    assert any("/v1/unheard-of" in message for message in warnings), warnings


@pytest.mark.parametrize("fault", ["invalid", "cut"])
def test_a_broken_stream_reaches_the_program_as_it_is(
    upstream: ScriptedUpstream, tmp_path: Path, fault: Fault
) -> None:
    upstream.plan(Step(fault=fault, times=2))
    without = run_without_meter(tmp_path / "without", upstream.url, "stream")
    upstream.clear()
    upstream.plan(Step(fault=fault))
    run = run_requests(tmp_path, upstream.url, "stream")
    assert run.out == without
    assert bool(run.code) == (fault == "cut")
    (call,) = run.metered
    (sent,) = upstream.calls
    known = call.get("tokens") or {}
    assert known == {name: sent.tokens[name] for name in known}
    assert call["token_source"] in {"partial", sent.token_source}


@pytest.mark.long
def test_bodies_of_200_mb_take_no_memory(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    upstream.plan(Step(when=lambda request: request.size > 1 << 20), Step(text_bytes=200 << 20))
    env = sdk_environment(tmp_path, upstream.url)
    program = [*RUNCARD, "run", "--", *command("big-request", "stream")]
    # Started by a small process: the peak of a new process begins with that of the one that it was forked from.
    measure = "import os, sys; _, s, u = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0); sys.exit(f'{s} {u.ru_maxrss}')"
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", measure, *program],
            env=env,
            cwd=tmp_path / "work",
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
            check=False,
        )
    status, peak = map(int, done.stderr.split(b"\n")[-2].split())
    assert status == 0, done.stderr
    replies = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert [(reply[0], reply[3] > 200_000_000) for reply in replies] == [(200, False), (200, True)]
    assert upstream.requests[0].size > 200_000_000
    (path,) = (tmp_path / "records").glob("*/metadata.json")
    upstream.calls[0].requested_model = None  # of so large a request, parameters are not read
    assert_equals(MeteredRun(0, "", "", path.parent), upstream)
    assert peak < 160 << 10  # KiB; 64 MiB of a request are kept, to be read at its end


def test_a_client_that_vanishes_leaves_a_partial_call(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """It is killed in the middle of a stream. The run goes on."""
    upstream.plan(Step(fault="stall"))
    script = (
        f'"$@" & pid=$!; while ! test -e {tmp_path}/go; do sleep 0.05; done; kill -9 $pid; wait $pid; exit 0'
    )
    env = sdk_environment(tmp_path, upstream.url)
    process = subprocess.Popen(
        [*RUNCARD, "run", "--", "sh", "-c", script, "sh", *command("stream")], env=env, cwd=tmp_path / "work"
    )
    upstream.wait_for(lambda: [call.token_source for call in upstream.calls] == ["partial"])
    (tmp_path / "go").touch()
    assert process.wait(TIMEOUT) == 0
    (path,) = (tmp_path / "records").glob("*/metadata.json")
    run = MeteredRun(0, "", "", path.parent)
    assert_equals(run, upstream)
    assert run.document["costs"]["total_cost_usd"] is None


def test_the_program_goes_on_with_a_full_disk(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """It gets all replies. Nothing is claimed that could not be written."""
    with small_disk(tmp_path / "small", "512k") as disk:
        env = sdk_environment(tmp_path, upstream.url) | {"RUNCARD_OUTPUTS": str(disk)}
        script = f'dd if=/dev/zero of={disk}/filler bs=4096 2>/dev/null; "$@"'
        program = [*RUNCARD, "run", "--", "sh", "-c", script, "sh", *command(*["call"] * 30)]
        done = subprocess.run(
            program,
            env=env,
            cwd=tmp_path / "work",
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert [json.loads(line)[0] for line in done.stdout.splitlines()] == [200] * 30
        assert len(upstream.calls) == 30
        assert "Traceback" not in done.stderr
        (disk / "filler").unlink()
        subprocess.run([*RUNCARD, "close"], env=env, cwd=disk, check=False, capture_output=True)
        (path,) = disk.glob("*/metadata.json")
        document = json.loads(path.read_text())
        assert document["costs"]["total_cost_usd"] is None
        assert (document.get("performance") or {"calls": 0})["calls"] < 30
        # Which reason there is room for depends on when the disk was full.
        missing = [row["reason"] for row in document["token_usage"]["incomplete"]]
        expected = ("calls could not be recorded", "the end of the run is not recorded")
        assert [reason for reason in missing if reason.startswith(expected)], missing


def test_the_program_goes_on_where_the_journal_cannot_be_written(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """A limit for the size of files, as `ulimit -f` sets it. It would stop the measuring of coverage, too."""
    given = sdk_environment(tmp_path, upstream.url)
    env = {name: value for name, value in given.items() if not name.startswith("COVERAGE")}
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # its modules would be cut off, too
    limited = f"import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)); os.execv(sys.executable, [sys.executable, *{[*RUNCARD[1:], 'run', '--', *command(*['call'] * 30)]!r}])"
    done = subprocess.run(
        [sys.executable, "-c", limited],
        env=env,
        cwd=tmp_path / "work",
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert [json.loads(line)[0] for line in done.stdout.splitlines()] == [200] * 30
    assert "Traceback" not in done.stderr


def test_the_record_of_a_killed_meter_has_what_it_saw(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """`kill -9` of runcard: the program dies with it, and the next command closes the record."""
    env = sdk_environment(tmp_path, upstream.url)
    process = subprocess.Popen(
        [*RUNCARD, "run", "--", *command("calls-forever")],
        env=env,
        cwd=tmp_path / "work",
        stdout=subprocess.PIPE,
    )
    (journal,) = [*_wait_for_journal(upstream, tmp_path)]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT)  # ends: no process has its output any more
    sent = len(upstream.calls)
    done = subprocess.run([*RUNCARD, "close"], env=env, cwd=tmp_path / "work", check=False)
    assert done.returncode == 0
    run = MeteredRun(0, "", "", journal.parent)
    assert run.document["generation"]["status"] == "interrupted"
    assert len(run.metered) >= 5
    assert sent - len(run.metered) in {0, 1}  # the last may have been in progress
    costs, seen = run.document["costs"], upstream.calls[: len(run.metered)]
    assert costs["input_tokens"] == sum(call.tokens["input"] for call in seen)
    assert costs["output_tokens"] == sum(call.tokens["output"] for call in seen)
    assert (costs["total_cost_usd"], costs["token_source"]) == (
        None,
        "partial",
    )  # so the totals are "at least"


def _wait_for_journal(upstream: ScriptedUpstream, folder: Path) -> list[Path]:
    upstream.wait_for(lambda: len(upstream.calls) >= 5)
    paths = list((folder / "records").glob("*/experiment.jsonl"))
    upstream.wait_for(lambda: paths[0].read_text().count('"model.called"') >= 5)
    return paths


def test_an_upstream_that_is_not_there(tmp_path: Path) -> None:
    """The program sees a failed connection; the record has attempts, no tokens and no cost."""
    run = run_program(tmp_path, "http://127.0.0.1:9", "openai_chat", "expect-error", "once")
    assert run.out.strip() == "APIConnectionError", (run.out, run.err)
    assert all(call.get("token_source") is None for call in run.calls)
    assert run.document["costs"]["total_cost_usd"] is None
