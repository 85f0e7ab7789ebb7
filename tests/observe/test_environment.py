import ast
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from observe.repositories import Repository
from runcard.errors import MachineError
from runcard.observe.environment import EnvironmentGatherer, environment
from waiting import LIMIT, wait_until

KEYS = [
    "runcard_version",
    "python_version",
    "platform",
    "timezone",
    "git",
    "packages",
    "lockfiles",
    "container",
]


class SlowGit:
    """A git that waits until it may go on, where its arguments have a word."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sign = folder / "go on"

    def path(self, word: str) -> str:
        """The variable PATH with this git on it."""
        self._folder.mkdir()
        wait = f"until [ -e '{self._sign}' ]; do sleep 0.05; done"
        script = f'case "$*" in *{word}*) {wait};; esac\nexec {shutil.which("git")} "$@"\n'
        (self._folder / "git").write_text(f"#!/bin/sh\n{script}")
        (self._folder / "git").chmod(0o755)
        return f"{self._folder}:{os.environ['PATH']}"

    def go_on(self) -> None:
        self._sign.touch()


@pytest.fixture
def slow_git(tmp_path: Path) -> Iterator[SlowGit]:
    git = SlowGit(tmp_path / "bin")
    yield git
    git.go_on()


def python(code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """A program of its own, that must end well and say nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", code],
        env=os.environ | variables,
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done


def test_the_keys_are_those_of_the_document(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    repository.commit({"uv.lock": "x\n"})
    facts = environment(repository.path)
    assert list(facts) == KEYS
    assert facts["runcard_version"] == runcard.__version__
    assert facts["python_version"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["platform"] == sys.platform
    assert facts["timezone"] == "Europe/Berlin"
    assert facts["git"] == {"commit": repository.head, "branch": "main", "dirty": False, "diff_sha256": None}
    assert facts["packages"]["pytest"] == pytest.__version__
    assert list(facts["lockfiles"]) == ["uv.lock"]
    json.dumps(facts).encode()


def test_a_document_with_it_is_valid(repository: Repository) -> None:
    repository.write("untracked")
    document = {
        "metadata_version": "1.0",
        "generation": dict.fromkeys(
            ["experiment_id", "run_id", "timestamp_start", "timestamp_end", "duration_seconds"]
        ),
        "configuration": {"model": None, "provider": None},
        "data_sources": {"files": [], "total_tokens": None},
        "environment": environment(repository.path),
        "costs": dict.fromkeys(["input_tokens", "output_tokens", "total_cost_usd"]),
        "checksums": dict.fromkeys(["config", "data", "output"]),
    }
    (repository.path / "metadata.json").write_text(json.dumps(document))
    assert runcard.load(str(repository.path / "metadata.json")) is not None


def test_the_store_of_the_run_is_no_change(repository: Repository) -> None:
    repository.write("outputs/run/metadata.json")
    assert environment(repository.path)["git"]["dirty"] is True
    assert environment(repository.path, ignore=["outputs"])["git"]["dirty"] is False


def test_a_world_without_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    facts = environment(tmp_path / "gone")
    assert list(facts) == KEYS
    assert facts["git"] is None
    assert facts["lockfiles"] is None
    assert environment("nul\0byte")["lockfiles"] is None


def test_a_deleted_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert environment(".")["git"] is None


def test_where_nothing_can_be_opened_the_rest_is_unknown() -> None:
    code = """
import resource
from runcard.observe.environment import EnvironmentGatherer
before = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
facts = EnvironmentGatherer(".").result(30)
resource.setrlimit(resource.RLIMIT_NOFILE, before)  # who measures coverage writes at the end
print(facts)
"""
    facts = ast.literal_eval(python(code).stdout)
    assert list(facts) == KEYS
    assert facts["platform"] == sys.platform
    assert facts["packages"] is None


class TestBackground:
    def test_it_gathers_the_same(self, repository: Repository) -> None:
        repository.write("untracked")
        assert EnvironmentGatherer(repository.path).result(30) == environment(repository.path)

    def test_it_looks_at_the_world_as_it_was(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(repository.path)
        monkeypatch.setenv("TZ", "Europe/Berlin")
        background = EnvironmentGatherer(".")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("TZ", "Asia/Kolkata")
        facts = background.result(30)
        assert facts["git"]["branch"] == "main"
        assert facts["timezone"] == "Europe/Berlin"

    @pytest.mark.parametrize(
        ("word", "known"), [("rev-parse", None), ("status", "commit"), ("ls-files", "dirty")]
    )
    def test_a_slow_git_holds_nobody_up(
        self,
        word: str,
        known: str | None,
        repository: Repository,
        slow_git: SlowGit,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        repository.write("untracked")
        monkeypatch.setenv("PATH", slow_git.path(word))
        background = EnvironmentGatherer(repository.path)
        if known:
            wait_until(lambda: (background.result(0.05)["git"] or {}).get(known), f"{known} of git")
        facts = background.result(0.05)
        assert list(facts) == KEYS
        assert (facts["git"] is None) == (known is None)
        if known:
            assert facts["packages"]["pytest"] == pytest.__version__
            assert facts["git"][known]
            assert facts["git"]["diff_sha256"] is None

    def test_it_tells_when_all_is_known(self, repository: Repository) -> None:
        heard: list[dict[str, Any]] = []
        background = EnvironmentGatherer(repository.path, on_complete=heard.append)
        assert background.result(30) == environment(repository.path)
        assert heard == [background.result()]
        assert background.delivered

    def test_who_asked_too_early_is_told_nothing_more(
        self, repository: Repository, slow_git: SlowGit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Or a record would say first all, and then the less that was known when its owner asked."""
        heard: list[dict[str, Any]] = []
        monkeypatch.setenv("PATH", slow_git.path("rev-parse"))
        background = EnvironmentGatherer(repository.path, on_complete=heard.append)
        assert background.result(0.1)["git"] is None
        slow_git.go_on()
        assert background.result(60)["git"]["branch"] == "main"
        assert heard == []
        assert not background.delivered

    def test_who_cannot_listen_can_still_ask(self, repository: Repository) -> None:
        def full(_: dict[str, Any]) -> None:
            raise MachineError("the disk is full")

        background = EnvironmentGatherer(repository.path, on_complete=full)
        assert background.result(30)["git"]["branch"] == "main"
        assert not background.delivered

    def test_a_result_does_not_change_later(self, repository: Repository) -> None:
        background = EnvironmentGatherer(repository.path)
        facts = background.result(30)
        facts["git"] = None
        assert background.result()["git"] is not None

    def test_without_a_thread_the_quick_facts_are_there(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        facts = EnvironmentGatherer(repository.path).result()
        assert facts["packages"]["pytest"] == pytest.__version__
        assert facts["git"] is None

    @pytest.mark.parametrize(
        "ending", ["pass", "background.result(0.05)", "import os; os._exit(0)", "raise SystemExit(0)"]
    )
    def test_a_program_ends_at_once_and_in_silence(
        self, ending: str, repository: Repository, slow_git: SlowGit
    ) -> None:
        """Though git works on."""
        python(
            "from runcard.observe import background_thread\n"
            "from runcard.observe.environment import EnvironmentGatherer\n"
            "background_thread.PATIENCE = 0.1\n"
            f"background = EnvironmentGatherer({str(repository.path)!r})\n{ending}",
            PATH=slow_git.path("status"),
        )

    def test_it_can_be_made_while_the_interpreter_ends(self, repository: Repository) -> None:
        done = python(
            "import atexit\nfrom runcard.observe.environment import EnvironmentGatherer\n"
            f"atexit.register(lambda: print(EnvironmentGatherer({str(repository.path)!r}).result()['platform']))"
        )
        assert done.stdout == f"{sys.platform}\n"

    def test_a_forked_child_gets_what_was_known(self, repository: Repository, slow_git: SlowGit) -> None:
        done = python(
            "import os, warnings\nfrom runcard.observe.environment import EnvironmentGatherer\n"
            "warnings.simplefilter('ignore')\n"
            f"background = EnvironmentGatherer({str(repository.path)!r})\n"
            "while not background.result(0.05)['git']: pass\n"
            "if os.fork() == 0:\n"
            "    facts = background.result(1000)\n"
            "    print(facts['platform'], facts['git']['dirty'], flush=True)\n"
            "    os._exit(0)\n"
            "os.wait()\n",
            PATH=slow_git.path("status"),
        )
        assert done.stdout == f"{sys.platform} None\n"


def test_importing_it_is_cheap() -> None:
    code = (
        "import sys, runcard.observe.environment, runcard.observe.clock, runcard.observe.ids, runcard.observe.process\n"
        "print(sorted({'subprocess', 'platform', 'importlib.metadata', 'socket', 'hashlib', 'tempfile', 'inspect',"
        " 'runcard.checksums', 'runcard.observe.git'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(Path(runcard.__file__).parents[1])!r})\n{code}",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[]\n"
