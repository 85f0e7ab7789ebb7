"""Settings at work: `runcard config`, and the commands and functions that ask for them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from runcard.operations.checks.config_trust import trust_file
from runcard.settings import ALL

PRICES = {
    "source": "our contract",
    "as_of": "2026-01-01",
    "providers": {
        "acme": {"models": [{"model": "m-1", "prices": [{"usd_per_million": {"input": 2, "output": 4}}]}]}
    },
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for setting in ALL:
        for name in setting.variables:
            monkeypatch.delenv(name, raising=False)


def test_config_lists_everything_with_its_origin(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("runcard.toml").write_text('outputs = "runs"\n')
    monkeypatch.setenv("ARTIFACTS_PATTERNS", "*.py,*.md")
    done = cli("config")
    assert (done.code, done.err) == (0, "")
    lines = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}
    assert list(lines) == [setting.key for setting in ALL]
    assert lines["outputs"] == ["runs", "runcard.toml:1"]
    assert lines["artifacts.patterns"] == ["*.py,", "*.md", "ARTIFACTS_PATTERNS"]
    assert lines["limits.size"] == ["64", "MiB", "default"]
    assert max(map(len, done.out.splitlines())) <= 80


def test_config_for_programs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("runcard.toml").write_text('[artifacts]\nfile_mode = "0640"\npatern = 1\n')
    trust_file()
    monkeypatch.setenv("ARTIFACTS_ENABLED", "maybe")
    done = cli("config", "--json")
    assert (done.code, done.err) == (1, "")
    said = json.loads(done.out)
    assert (said["file"], said["trusted"], said["user_file"]) == ("runcard.toml", True, None)
    assert [one["message"] for one in said["warnings"]] == [
        "runcard.toml:3: unknown setting artifacts.patern"
    ]
    found = {one["key"]: one for one in said["settings"]}
    assert found["artifacts.file_mode"]["value"] == "0640"
    assert found["artifacts.file_mode"]["origin"] == {"kind": "file", "name": "runcard.toml", "line": 2}
    assert found["artifacts.enabled"]["origin"] is None
    assert found["artifacts.enabled"]["error"]["message"].startswith(
        "ARTIFACTS_ENABLED is 'maybe'; allowed: true,"
    )
    assert found["limits.depth"]["value"] == 1000


def test_config_says_all_that_is_wrong(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("runcard.toml").write_text("limits.depht = 1\n")
    done = cli("config")
    assert done.code == 2
    assert done.err == (
        "Warning: runcard.toml:1: unknown setting limits.depht\n  hint: did you mean limits.depth?\n"
    )
    monkeypatch.setenv("RUNCARD_LIMITS_DEPTH", "-1")
    monkeypatch.setenv("RUNCARD_MAX_SIZE", "lots")
    done = cli("config")
    assert done.code == 1
    assert [line[:20] for line in done.err.splitlines() if line[0] != " "] == [
        "Error: RUNCARD_MAX_S",
        "Error: RUNCARD_LIMIT",
        "Warning: runcard.tom",
    ]
    assert "limits.depth" not in done.out


def test_a_file_that_is_no_toml_is_an_error(cli: Cli) -> None:
    Path("runcard.toml").write_text("outputs = \n")
    done = cli("config")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: runcard.toml:1: invalid TOML: ")
    assert cli("run", "--", "true").code == 125


def test_a_wrong_setting_is_a_failure_of_runcard_not_of_the_command(cli: Cli) -> None:
    Path("runcard.toml").write_text("outputs = 3\n")
    done = cli("run", "--", "true")
    assert (done.code, done.out) == (125, "")
    assert done.err.startswith("Error: runcard.toml:1: outputs is 3; allowed: a path in quotes")


def test_collecting_tells_of_settings_that_do_not_exist(cli: Cli) -> None:
    Path("runcard.toml").write_text("[artifacts]\npatern = []\ndir = 'kept'\n")
    agent = {"name": "a", "status": "completed", "created_at": "2025-11-06T14:00:00Z"}
    spec = {"team_session_id": "t", "instances": [agent | {"terminated_at": "2025-11-06T14:01:00Z"}]}
    Path("spec.json").write_text(json.dumps(spec))
    done = cli("collect", "spec.json")
    assert done.code == 2
    assert "kept/" in done.out
    assert (
        "Warning: runcard.toml:2: unknown setting artifacts.patern; did you mean artifacts.patterns?"
        in done.err
    )


def test_validate_and_migrate_read_within_the_limits_that_are_set(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("deep.json").write_text('{"execution_summary": [[[]]]}')
    Path("runcard.toml").write_text("limits.depth = 3\n")
    for arguments in (["validate", "deep.json"], ["migrate", "--to", "2.0.0", "deep.json"]):
        assert "[json.too-deep]" in cli(*arguments).err
    Path("runcard.toml").write_text('limits.size = "10 B"\n')
    assert "[encoding.too-big]" in cli("validate", "deep.json").err
    monkeypatch.setenv("RUNCARD_LIMITS_SIZE", "1 KiB")
    assert "[encoding.too-big]" not in cli("validate", "deep.json").err
    monkeypatch.setenv("RUNCARD_LIMITS_SIZE", "much")
    done = cli("validate", "deep.json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: RUNCARD_LIMITS_SIZE is 'much'; allowed: a size of at least 1 byte")


def test_runs_go_where_the_settings_say(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RUNCARD_OUTPUTS", "elsewhere")
    with runcard.record() as run:
        pass
    assert run.path.parent == tmp_path / "elsewhere"
    with runcard.record("outputs") as run:
        pass
    assert run.path.parent == tmp_path / "outputs"
    assert cli("close").out == "elsewhere: no open run\n"
    assert cli("close", "--outputs", "outputs").out == "outputs: no open run\n"


def test_calls_are_priced_by_the_file_that_the_settings_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own.json").write_text(json.dumps(PRICES))
    (tmp_path / "runcard.toml").write_text('prices = "own.json"\n')
    (elsewhere := tmp_path / "elsewhere").mkdir()
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    with runcard.record("outputs", model="m-1", provider="acme", strict=True) as run:
        monkeypatch.chdir(elsewhere)  # where the run was started counts
        run.add_usage(usage)
    costs = runcard.load(run.path / "metadata.json").to_dict()["costs"]
    assert (costs["total_cost_usd"], costs["price_rows"][0]["source"]) == (2, "our contract")


def test_a_price_file_that_is_gone_is_a_warning_and_the_packaged_prices_count(tmp_path: Path) -> None:
    (tmp_path / "runcard.toml").write_text('prices = "gone.json"\n')
    usage = {"input_tokens": 100_000, "output_tokens": 0}
    with runcard.record(model="claude-sonnet-4-5", provider="anthropic") as run:
        with pytest.warns(runcard.RuncardWarning, match=r"recording failed: .*gone\.json"):
            run.add_usage(usage)
        run.add_usage(usage)
    assert runcard.load(run.path / "metadata.json").to_dict()["costs"]["total_cost_usd"] == 0.6


@pytest.mark.parametrize(
    "command",
    [["close"], ["ledger"], ["archive", "--older-than", "1d"], ["prune", "--older-than", "1d", "--dry-run"]],
)
def test_a_key_that_does_not_exist_is_told_where_the_settings_decide(cli: Cli, command: list[str]) -> None:
    with runcard.record(strict=True):
        pass
    good = cli(*command)
    assert (good.code, good.err) == (0, "")
    Path("runcard.toml").write_text('output = "runs"\n')
    done = cli(*command)
    assert (done.code, done.out) == (2, good.out)
    assert done.err == ("Warning: runcard.toml:1: unknown setting output\n  hint: did you mean outputs?\n")
    quiet = {"close": ["close", "outputs/none"], "ledger": ["ledger", "outputs"]}.get(command[0])
    assert quiet is None or "setting" not in cli(*quiet).err


def test_a_key_that_does_not_exist_is_told_by_the_run_it_may_have_led_astray(tmp_path: Path) -> None:
    Path("runcard.toml").write_text('output = "runs"\n')
    done = subprocess.run(
        [sys.executable, "-m", "runcard", "run", "--", sys.executable, "-c", "exit(3)"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 3
    told = "runcard.toml:1: unknown setting output; did you mean outputs?"
    assert f"Warning: {told}\n" in done.stderr
    (document,) = (tmp_path / "outputs").glob("2*/metadata.json")
    assert [(one["type"], one["message"]) for one in json.loads(document.read_bytes())["warnings"]] == [
        ("settings", told)
    ]
