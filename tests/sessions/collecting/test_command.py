"""`runcard collect` as people start it: what it prints, where, and with which exit code."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.command import runcard_on_terminal
from conftest import Cli, Outcome
from files.unprivileged import everybodys_directory
from runcard.cli.progress import CopyProgress
from runcard.operations.sessions.assembly import CollectionProgress
from runcard.parallel.progress import Amount
from sessions.collecting.teams import (
    COORDINATOR,
    assert_tidy,
    document,
    instance,
    lay_out,
    sessions,
    team,
    write_spec,
)

SHAPE = {"status", "team_session_id", "artifacts_path", "instances_count", "instances", "summary"}
FAILURE = {"status", "team_session_id", "artifacts_path", "instances_count", "error"}


def collected(done: Outcome) -> Path:
    (line,) = done.out.splitlines()
    return Path(line)


def test_it_prints_the_directory_and_nothing_else(cli: Cli, here: Path, spec: Path) -> None:
    done = cli("collect", spec)
    assert done.code == 0
    session = collected(done)
    assert session.is_absolute()
    assert session.parent == here / "artifacts"
    assert_tidy(here / "artifacts")
    assert cli("validate", session).code == 0
    verified = cli("verify", here / "artifacts")
    assert (verified.code, verified.err) == (0, "")
    assert "intact, complete" in verified.out


def test_what_was_excluded_and_masked_is_counted_on_stderr(cli: Cli, here: Path, spec: Path) -> None:
    assert cli("collect", spec).err == "excluded: 2 paths (.env)\nmasked: 1 secret in 1 file\n"
    assert cli("collect", spec, "--again", "--json").err == ""
    assert cli("collect", spec, "--again", "--quiet").err == ""
    assert cli("collect", spec, "--metadata-only").err == ""
    for number in range(12):
        (here / "workspaces/coordinator" / f"x{number:02}").write_text("")
    excludes = [f"--exclude=x{number:02}" for number in range(12)]
    lines = cli("collect", spec, "--no-transcripts", "--exclude=!.env", *excludes).err.splitlines()
    assert lines == ["excluded: 12 paths (x00, x01, x02, x03, x04, x05, x06, x07, …)"]


def test_json_is_the_shape_of_the_documented_tool(cli: Cli, spec: Path) -> None:
    done = cli("collect", spec, "--json")
    said = json.loads(done.out)
    assert set(said) == SHAPE
    data = document(Path(said["artifacts_path"]))
    assert (said["status"], said["instances_count"]) == ("success", 2)
    assert said["instances"][0] == {
        name: data["instances"][0][name]
        for name in (
            *("instance_id", "name", "role", "model", "status", "created_at", "terminated_at"),
            *("execution_time_seconds", "tokens_used", "cost", "parent_instance_id", "children_count"),
        )
    }
    assert set(said["summary"]) == {
        *("total_instances", "total_tokens", "total_cost", "execution_start", "execution_end"),
        *("total_execution_time_seconds", "all_completed", "errors"),
    }


def test_what_was_left_out_is_a_warning_each_and_exit_code_2(cli: Cli, here: Path, spec: Path) -> None:
    write_spec(here, team(COORDINATOR, instance("ghost", workspace="nowhere", output="no.log")))
    done = cli("collect", spec)
    assert done.code == 2
    assert done.err.splitlines() == [
        "excluded: 1 path (.env)",
        "masked: 1 secret in 1 file",
        "Warning: ghost: the workspace was not stored: it does not exist",
        f"Warning: ghost: {here / 'no.log'} was not stored: the file does not exist",
    ]
    said = json.loads(cli("collect", spec, "--json").out)
    assert said["status"] == "success"
    assert len(said["summary"]["errors"]) == 2


def test_a_bad_spec_is_exit_code_1_with_all_findings_and_nothing_on_stdout(cli: Cli, here: Path) -> None:
    write_spec(here, team(instance(status="done", cost="much")))
    done = cli("collect", "spec.json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: spec.json:6:17: /instances/0/status: 'done' is not one of ")
    assert "Error: spec.json:9:15: /instances/0/cost: 'much' is not of type 'number'" in done.err
    assert not (here / "artifacts").exists()
    said = json.loads(cli("collect", "spec.json", "--json").out)
    assert set(said) == FAILURE | {"findings"}
    assert [found["path"] for found in said["findings"]] == ["/instances/0/status", "/instances/0/cost"]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"team_session_id": "x", "instances": []}, "No instances found for team session 'x'"),
        ({"team_session_id": "", "instances": [instance()]}, "Team session ID cannot be empty"),
    ],
)
def test_the_documented_words_for_failures(cli: Cli, spec: dict[str, Any], error: str) -> None:
    done = cli("collect", "-", "--json", stdin=json.dumps(spec).encode())
    assert done.code == 1
    said = json.loads(done.out)
    told = {key: value for key, value in said.items() if key != "findings"}
    assert told == {
        "status": "error",
        "team_session_id": spec["team_session_id"],
        "artifacts_path": None,
        "instances_count": 0,
        "error": error,
    }


def test_a_store_that_cannot_be_written_is_told_in_the_documented_words(
    cli: Cli, here: Path, spec: Path
) -> None:
    (here / "taken").write_text("a file")
    done = cli("collect", spec, "--artifacts", here / "taken" / "x", "--json")
    assert (done.code, json.loads(done.out)["error"]) == (
        1,
        "Failed to create artifacts directory: Not a directory",
    )
    assert json.loads(done.out)["team_session_id"] == "research-team-001"


def test_the_template_is_a_spec_that_can_be_collected(cli: Cli, here: Path) -> None:
    done = cli("collect", "--template")
    assert done.code == 0
    (here / "spec.yaml").write_text(done.out)
    done = cli("collect", here / "spec.yaml")
    assert (done.code, done.err) == (0, "")
    assert sessions(here / "artifacts")[0].name.endswith("-research-team-001")


def test_usage(cli: Cli) -> None:
    assert cli("collect").code == 64
    assert cli("collect", "a", "b").code == 64
    assert cli("collect", "a", "--schema", "3.0.0").code == 64
    assert cli("collect", "a", "--max-size", "much").code == 64
    assert cli("collect", "nowhere.yaml").code == 1


class TestSettings:
    def test_off_means_nothing_a_warning_and_exit_code_2(
        self, cli: Cli, here: Path, spec: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("PRESERVE_ARTIFACTS", "ARTIFACTS_ENABLED"):
            monkeypatch.setenv(name, "false")
            done = cli("collect", spec)
            assert (done.code, done.out) == (2, "")
            assert done.err.startswith(f"Warning: nothing was collected: disabled by {name}")
        assert not (here / "artifacts").exists()
        assert set(json.loads(cli("collect", spec, "--json").out)) == FAILURE

    def test_options_count_before_variables_and_these_before_a_file(
        self, cli: Cli, here: Path, spec: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (here / "runcard.toml").write_text('[artifacts]\ndir = "from-file"\npatterns = ["*.md"]\n')
        assert collected(cli("collect", spec)).parent.name == "from-file"
        monkeypatch.setenv("ARTIFACTS_DIR", "from-env")
        assert collected(cli("collect", spec)).parent.name == "from-env"
        session = collected(cli("collect", spec, "--artifacts", "given"))
        assert session.parent.name == "given"
        stored = (session / "instances/coordinator-1/workspace").iterdir()
        assert [path.name for path in stored if not path.is_symlink()] == ["report.md"]

    def test_patterns_and_limits(self, cli: Cli, here: Path, spec: Path) -> None:
        workspace = here / "workspaces" / "coordinator"
        (workspace / "big.bin").write_bytes(bytes(3000))
        done = cli("collect", spec, "--max-file-size", "2kB", "--exclude", "sub/")
        assert done.code == 2
        assert "big.bin was not stored: " in done.err
        session = collected(done)
        stored = {path.name for path in (session / "instances/coordinator-1/workspace").iterdir()}
        assert stored == {"report.md", "latest"}
        audit = document(session)["audit"]
        assert {"pattern": "sub/", "count": 2} in audit["excluded"]
        assert (audit["options"]["max_file_size"], audit["options"]["exclude"]) == (2000, ["sub/"])
        assert [omission["path"] for omission in audit["omissions"]] == ["big.bin"]

    def test_all_that_is_copied_counts_together(self, cli: Cli, here: Path, spec: Path) -> None:
        for name in ("coordinator", "researcher"):
            (here / "workspaces" / name / "half").write_bytes(bytes(600))
        done = cli("collect", spec, "--max-size", "1000")
        assert done.code == 2
        assert len(list(collected(done).rglob("half"))) == 1

    def test_a_wrong_value_names_its_place(
        self, cli: Cli, spec: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RUNCARD_MAX_SIZE", "lots")
        done = cli("collect", spec)
        assert done.code == 1
        assert done.err.startswith("Error: RUNCARD_MAX_SIZE is 'lots'; allowed: ")
        wrong = cli("collect", spec, "--max-size", "1GB", "--exclude", "[a")
        assert (wrong.code, wrong.err[:6]) == (64, "Error:")

    def test_a_credential_comes_back_only_by_its_name(self, cli: Cli, here: Path, spec: Path) -> None:
        by_wildcard = collected(cli("collect", spec, "--exclude", "!*.env", "--exclude", "!.e*"))
        assert not list(by_wildcard.rglob(".env"))
        by_name = collected(cli("collect", spec, "--exclude", "!.env", "--artifacts", here / "b"))
        assert len(list(by_name.rglob(".env"))) == 2


def test_secrets_are_kept_for_those_who_must(cli: Cli, spec: Path) -> None:
    session = collected(cli("collect", spec, "--keep-secrets"))
    assert "sk-ant-" in (session / "instances/coordinator-1/output.log").read_text()
    data = document(session)
    assert data["audit"]["options"]["keep_secrets"] is True
    assert data["audit"]["redactions"] == []


def test_on_a_terminal_a_bar_shows_files_bytes_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("runcard.cli.progress.time.monotonic", lambda: clock[0])
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", shown)
    bar = CopyProgress()
    for moment, advance in (
        (5.0, CollectionProgress("one", 1, 2, Amount(3, 2000))),
        (10.0, CollectionProgress("one", 1, 2, Amount(10, 2_000_000, 40, 4_000_000))),
        (20.0, CollectionProgress("two\x1b", 2, 2, Amount(0, 0, 0, 0))),
        (20.01, CollectionProgress("too soon", 2, 2, Amount(1, 1, 1, 1))),
    ):
        clock[0] = moment
        bar.advance(advance)
    bar.wipe()
    assert shown.getvalue().split("\r\x1b[K") == [
        "",
        "2.0 kB: one (1 of 2), 3 files",
        "██████████░░░░░░░░░░  50% 2.0 MB of 4.0 MB, 400.0 kB/s, 5 s left: one (1 of 2), 10 files",
        "0 B: two\\x1b (2 of 2), 0 files",
        "",
    ]


def test_a_real_terminal_gets_the_directory(spec: Path) -> None:
    code, seen = runcard_on_terminal("collect", str(spec))
    assert code == 0
    assert any(
        line.endswith("-research-team-001") for line in seen.splitlines()
    )  # after a bar, if it took long


_AS_USER = """
import os, sys
import runcard
spec, store = sys.argv[1:]
runcard.collect(spec, artifacts=store + "-of-root")  # all modules are loaded by somebody who may
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    result = runcard.collect(spec, artifacts=store)
    print(*result.omissions, sep="\\n")
except runcard.RuncardError as error:
    print(error.message)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with everybodys_directory() as folder:
        yield folder


@pytest.mark.needs("root")
def test_an_ordinary_user_is_told_what_cannot_be_read_and_where_nothing_can_be_written(place: Path) -> None:
    spec = lay_out(place)
    closed = place / "workspaces" / "coordinator" / "report.md"
    closed.chmod(0o600)
    (place / "workspaces" / "researcher" / "sub").chmod(0o700)
    (place / "logs" / "coordinator.log").chmod(0o600)

    def as_user(store: Path) -> list[str]:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", _AS_USER, spec, store],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env=env,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    (place / "closed").mkdir(0o755)
    assert as_user(place / "closed" / "artifacts") == [
        "Failed to create artifacts directory: Permission denied"
    ]
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    said = as_user(place / "open" / "artifacts")
    assert said == [
        "coordinator: report.md was not stored: cannot be read: Permission denied",
        f"coordinator: {place}/logs/coordinator.log was not stored: cannot be read: Permission denied",
        "researcher: sub was not stored: cannot be read: Permission denied",
    ]
    assert_tidy(place / "open" / "artifacts")
