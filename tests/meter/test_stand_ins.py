"""Known programs that a script starts are metered: stand-ins for them are first in PATH, and change nothing else."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meter.agents import agent_environment
from meter.records import RUNCARD, TIMEOUT, MeteredRun, run_metered
from meter.scripted_upstream import ScriptedUpstream
from runcard.observe.meter.program_folder import ProgramFolder, programs_in, without_stand_ins
from runcard.observe.meter.routes import Route, Routes
from runcard.store.runs import config_file
from waiting import wait_until

ECHO = Path(__file__).with_name("echo_program.py")
PRETEND = Path(__file__).with_name("pretend_agent.py")
KEY = {"CODEX_API_KEY": "x"}


def install(folder: Path, *names: str, program: Path = ECHO) -> Path:
    """Programs under the names of agents, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(program))} "$@"\n')
        path.chmod(0o755)
    return folder


def environment(folder: Path, *names: str, **variables: str) -> dict[str, str]:
    """That of a user who has some programs, and no others of these names."""
    programs = install(folder / "bin", *names)
    return agent_environment(folder) | {"PATH": f"{programs}:/usr/bin:/bin"} | variables


def run_script(folder: Path, script: str, env: dict[str, str], *options: str) -> MeteredRun:
    """Run a shell script under the meter."""
    return run_metered(["sh", "-c", script], env, folder / "work", options=options)


def started(run: MeteredRun) -> list[dict[str, Any]]:
    """How each program was started."""
    return [json.loads(line) for line in run.out.splitlines() if line.startswith("{")]


def test_codex_in_a_script_calls_the_relay(tmp_path: Path) -> None:
    """It reads no variable, so it went around the meter in every script."""
    run = run_script(
        tmp_path, "codex exec 'say hello'; codex exec again", environment(tmp_path, "codex", **KEY)
    )
    first, second = started(run)
    option, value, *rest = first["arguments"]
    assert (option, rest) == ("-c", ["exec", "say hello"])
    assert value.startswith('openai_base_url="http://127.0.0.1:')
    assert second["arguments"] == ["-c", value, "exec", "again"]
    assert "CODEX_HOME" not in first["variables"]


def test_each_program_is_adapted_in_its_own_folder(tmp_path: Path) -> None:
    """A base URL in a project that the script changes to is known to the relay, too."""
    other = tmp_path / "other"
    (other / ".claude").mkdir(parents=True)
    (other / ".claude/settings.json").write_text(
        '{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example/v1"}}'
    )
    script = f"cd {other}; claude -p x"
    run = run_script(tmp_path, script, environment(tmp_path, "claude"))
    (start,) = started(run)
    settings = json.loads(start["arguments"][start["arguments"].index("--settings") + 1])
    url = settings["env"]["ANTHROPIC_BASE_URL"]
    relay, _, route = url.removesuffix("/v1").rpartition("/")
    assert json.loads(start["variables"]["RUNCARD_METER"])[f"{relay}/{route}"] == "https://gateway.example"
    assert route.startswith("anthropic-")
    assert "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL" not in start["variables"]


def test_calls_by_a_url_that_only_a_script_knows_are_metered(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    env = environment(tmp_path, ANTHROPIC_BASE_URL="http://127.0.0.1:9", PLAN='{"calls": 1}')
    install(tmp_path / "bin", "claude", program=PRETEND)
    run = run_script(tmp_path, f"ANTHROPIC_BASE_URL={upstream.url} claude -p x >{tmp_path}/out", env)
    assert run.code == 0, run.err
    assert [call["response_id"] for call in run.metered] == [call.response_id for call in upstream.calls]
    assert len(upstream.calls) == 1


def test_what_a_script_sets_itself_is_not_taken_back(tmp_path: Path) -> None:
    env = environment(tmp_path, "gemini", OPENAI_BASE_URL="https://one.example/v1")
    run = run_script(tmp_path, "export OPENAI_BASE_URL=https://two.example/v1; gemini", env)
    (start,) = started(run)
    leads = json.loads(start["variables"]["RUNCARD_METER"])
    relay = start["variables"]["OPENAI_BASE_URL"].removesuffix("/v1")
    assert leads[relay] == "https://two.example"
    assert "GOOGLE_GEMINI_BASE_URL" not in start["variables"]  # it has no login: it would refuse to start


def test_arguments_streams_and_exit_codes_are_kept(tmp_path: Path) -> None:
    env = environment(tmp_path, "codex", **KEY)
    script = (
        "printf 'two\\nlines' | codex exec --read '' 'a  b' \"it's\" '$HOME' '*'; echo \"code $?\";"
        'codex exec --exit 7; echo "code $?"; codex exec --kill; echo "code $?"'
    )
    run = run_script(tmp_path, script, env)
    first = started(run)[0]
    assert first["arguments"][2:] == ["exec", "--read", "", "a  b", "it's", "$HOME", "*"]
    assert first["input"] == "two\nlines"
    assert [line for line in run.out.splitlines() if line.startswith("code")] == [
        "code 0",
        "code 7",
        f"code {128 + signal.SIGTERM}",
    ]


def test_the_program_has_the_process_of_its_caller(tmp_path: Path) -> None:
    """So a script can wait for it and signal it."""
    program = (
        "import os, subprocess; p = subprocess.Popen(['codex']); print('pid', p.pid, flush=True); p.wait()"
    )
    env = environment(tmp_path, "codex", **KEY)
    run = run_metered([sys.executable, "-c", program], env, tmp_path / "work")
    (start,) = started(run)
    assert f"pid {start['pid']}" in run.out.splitlines()


def test_a_closed_pipe_ends_the_program(tmp_path: Path) -> None:
    """Python ignores SIGPIPE, and the program must not."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "codex").write_text("#!/bin/sh\nwhile :; do echo y || exit 3; done\n")
    (folder / "codex").chmod(0o755)
    env = agent_environment(tmp_path) | {"PATH": f"{folder}:/usr/bin:/bin"}
    run = run_metered(["bash", "-c", "codex | head -1; echo ${PIPESTATUS[0]}"], env, tmp_path / "work")
    assert run.out.split() == ["y", str(128 + signal.SIGPIPE)]


def test_a_program_that_is_not_installed_is_not_there(tmp_path: Path) -> None:
    """Scripts ask for it, and take another one."""
    env = environment(tmp_path, "claude")
    run = run_script(tmp_path, "command -v codex || echo none; codex exec; echo $?; command -v claude", env)
    none, code, path = run.out.splitlines()
    assert (none, code) == ("none", "127")
    assert os.path.basename(path) == "claude"


def test_a_program_that_is_removed_is_not_found(tmp_path: Path) -> None:
    env = environment(tmp_path, "codex")
    run = run_script(tmp_path, f"rm {tmp_path}/bin/codex; codex exec; echo $?", env)
    assert run.out == "127\n"
    assert "codex: command not found" in run.err


def test_no_known_program_no_folder(tmp_path: Path) -> None:
    env = environment(tmp_path)
    run = run_script(tmp_path, 'echo "$PATH"', env)
    assert run.out == env["PATH"] + "\n"


def test_without_the_meter_there_are_no_stand_ins(tmp_path: Path) -> None:
    env = environment(tmp_path, "codex", **KEY)
    run = run_script(tmp_path, "codex exec", env, "--no-meter")
    assert started(run)[0]["arguments"] == ["exec"]
    assert started(run)[0]["variables"]["PATH"] == env["PATH"]


@pytest.mark.parametrize("how", ['exec "$next" "$@"', '"$next" "$@"', 'sh -c \'"$next" "$@"; :\' x "$@"'])
def test_a_wrapper_that_looks_for_the_program_behind_it(tmp_path: Path, how: str) -> None:
    """It finds the stand-in first, which must not run the wrapper again."""
    env = environment(tmp_path, "codex", **KEY)
    wrapper = tmp_path / "wrappers/codex"
    wrapper.parent.mkdir()
    find = f"export next=$(which -a codex | grep -v '^{wrapper.parent}/' | head -n 1)"
    wrapper.write_text(f"#!/bin/sh\n{find}\n{how}\n")
    wrapper.chmod(0o755)
    env["PATH"] = f"{wrapper.parent}:{env['PATH']}"
    run = run_script(tmp_path, "codex exec x", env)
    (start,) = started(run)
    assert start["arguments"][2:] == ["exec", "x"]
    assert start["arguments"][1].count("127.0.0.1") == 1


def test_a_program_that_runs_itself_is_metered_in_both(tmp_path: Path) -> None:
    """An agent that starts another one of its kind."""
    folder = install(tmp_path / "real", "codex")
    outer = tmp_path / "bin/codex"
    outer.parent.mkdir()
    outer.write_text(f'#!/bin/sh\n[ "$3" = inner ] || codex inner\nexec {folder}/codex "$@"\n')
    outer.chmod(0o755)
    env = agent_environment(tmp_path) | {"PATH": f"{outer.parent}:/usr/bin:/bin"} | KEY
    run = run_script(tmp_path, "codex exec x", env)
    assert [start["arguments"][2] for start in started(run)] == ["inner", "exec"]


@pytest.mark.parametrize("is_removed", [False, True])
def test_without_runcard_the_program_still_runs(tmp_path: Path, *, is_removed: bool) -> None:
    """The command may install another version, or remove the environment that runcard is in."""
    env = environment(tmp_path, "codex", **KEY)
    stand_ins = tmp_path / "stand-ins"
    stand_ins.mkdir()
    folder = ProgramFolder(str(stand_ins))
    assert folder.write_stand_ins(["codex"])
    path = stand_ins / "codex"
    if is_removed:
        path.write_text(path.read_text().replace("runcard.observe", "runcard_is_gone.observe"))
    done = subprocess.run(
        [path, "exec", "x"], env=env, capture_output=True, text=True, timeout=TIMEOUT, check=True
    )
    assert json.loads(done.stdout)["arguments"] == ["exec", "x"]  # there is no meter
    assert done.stderr == ""


def test_an_interpreter_with_a_space_in_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "my python's" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {os.path.realpath(sys.executable)} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    stand_ins = tmp_path / "a folder"
    stand_ins.mkdir()
    ProgramFolder(str(stand_ins)).write_stand_ins(["codex"])
    env = environment(tmp_path, "codex")
    command = [str(stand_ins / "codex"), "a b", "", "'"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    assert json.loads(done.stdout)["arguments"] == ["a b", "", "'"]


def test_a_run_inside_a_run_has_its_own_meter(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """The stand-ins of the outer one would lead to its relay."""
    env = environment(tmp_path, PLAN='{"calls": 1}', ANTHROPIC_BASE_URL=upstream.url)
    install(tmp_path / "bin", "claude", program=PRETEND)
    inner = shlex.join([*RUNCARD, "run", "--outputs", str(tmp_path / "inner"), "--", "claude", "-p", "x"])
    outer = run_script(tmp_path, f"{inner} >{tmp_path}/out; echo ended", env)
    assert outer.out == "ended\n", outer.err
    (path,) = (tmp_path / "inner").glob("*/metadata.json")
    assert len(upstream.calls) == 1
    assert len(MeteredRun(0, "", "", path.parent).metered) == 1
    assert outer.metered == []
    variables = json.loads((tmp_path / "out").read_text())["variables"]
    assert variables["PATH"].count("runcard-programs-") == 1


def test_a_reason_that_a_script_meets_is_in_the_record(tmp_path: Path) -> None:
    config = tmp_path / "home/.codex/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('model_provider = "amazon-bedrock"')
    run = run_script(tmp_path, "codex exec x; codex exec y; codex --version", environment(tmp_path, "codex"))
    gaps = [event["payload"]["reason"] for event in run.events if event["event"] == "usage.incomplete"]
    assert len(gaps) == 1
    assert gaps[0].startswith("Codex calls Amazon Bedrock")
    assert config.read_text() == 'model_provider = "amazon-bedrock"'


def test_proxies_in_the_settings_of_a_program_are_for_its_calls_only(tmp_path: Path) -> None:
    (tmp_path / "home/.claude").mkdir(parents=True)
    proxy = {"HTTPS_PROXY": "http://proxy.example:3128"}
    (tmp_path / "home/.claude/settings.json").write_text(json.dumps({"env": proxy}))
    script = 'claude -p x; for f in "${PATH%%:*}"/route-*; do cat "$f"; echo; done'
    first, *routes = started(run_script(tmp_path, script, environment(tmp_path, "claude")))
    assert {"upstream": "https://api.anthropic.com", "network": proxy} in routes
    assert "HTTPS_PROXY" not in first["variables"]


def test_the_folder_is_gone_after_the_run(tmp_path: Path) -> None:
    run = run_script(tmp_path, 'ls -l -d "${PATH%%:*}"; command -v codex', environment(tmp_path, "codex"))
    mode, path = run.out.splitlines()
    assert mode.startswith("drwx------")
    assert not os.path.exists(path)


def test_the_folder_of_a_run_that_was_killed_is_removed_when_it_is_closed(tmp_path: Path) -> None:
    env = environment(tmp_path, "codex")
    command = [*RUNCARD, "run", "--", "sh", "-c", f"command -v codex >{tmp_path}/where; exec sleep 60"]
    process = subprocess.Popen(command, env=env, cwd=tmp_path / "work", stderr=subprocess.DEVNULL)
    where = tmp_path / "where"
    wait_until(lambda: where.exists() and where.read_text().endswith("\n"))
    process.kill()
    process.wait()
    folder = Path(where.read_text()).parent
    assert folder.is_dir()
    closing = [*RUNCARD, "close"]
    subprocess.run(closing, env=env, cwd=tmp_path / "work", check=False, capture_output=True, timeout=TIMEOUT)
    assert not folder.exists()


def test_a_place_that_runs_no_programs_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory of the machine may be mounted `noexec`."""
    tried: list[str] = []

    def fill(path: str) -> bool:
        tried.append(path)
        return len(tried) == 2

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "a"))
    monkeypatch.setattr(config_file, "_TEMPORARY", (str(tmp_path / "b"),))
    made = config_file.make_program_folder("run-1", fill)
    assert made == tried[1]
    assert not os.path.exists(tried[0])
    config_file.remove_config("run-1")
    assert not os.path.exists(made)


def test_a_route_that_is_not_one_leads_nowhere(tmp_path: Path) -> None:
    folder = ProgramFolder(str(tmp_path))
    routes = Routes("http://127.0.0.1:1/x")
    routes.find_other = folder.find_route
    folder.add_route(Route("own-1", "https://a.example", (("HTTPS_PROXY", "http://p"),)))
    assert routes.find("own-1") == Route("own-1", "https://a.example", (("HTTPS_PROXY", "http://p"),))
    (tmp_path / "secret").write_text('{"upstream": "https://evil.example", "network": null}')
    for text in (
        "",
        "{}",
        "[]",
        '{"upstream": "file:///etc", "network": null}',
        '{"upstream": 1, "network": 2}',
    ):
        (tmp_path / "route-bad").write_text(text)
        assert routes.find("bad") is None
    assert routes.find("../secret") is None
    assert routes.find("x/../../secret") is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin"),
        ("/dev/shm/runcard-programs-run-1:/usr/bin", "/usr/bin"),  # noqa: S108
        ("", ""),
        (":/bin", ":/bin"),
    ],
)
def test_stand_ins_of_enclosing_runs_are_left_out(path: str, expected: str) -> None:
    assert without_stand_ins(path) == expected


def test_the_names_that_are_looked_for(tmp_path: Path) -> None:
    install(tmp_path / "a", "opencode", "claude")
    (tmp_path / "a/codex").write_text("not executable")
    assert programs_in(f"{tmp_path}/a::/nowhere") == ["claude", "opencode"]
