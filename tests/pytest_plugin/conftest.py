"""Projects with tests that call models, run by pytest itself; the models are a server of this machine."""

import gc
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import runcard
import runcard.pytest_plugin.hooks
from observe.clients import replies
from observe.clients.server import Answer, ModelServer, serving
from runcard.recording.load_modules import load_modules

COST = 0.0045  # of one call: 1,000 tokens of $3 a million, and 100 of $15
USAGE = {"input_tokens": 1000, "output_tokens": 100}

CONFTEST = """\
import os
import anthropic
import pytest

@pytest.fixture
def claude():
    with anthropic.Anthropic(api_key="k", base_url=os.environ["MODEL_URL"], max_retries=0) as client:
        yield client

@pytest.fixture
def ask(claude):
    def call(**more):
        message = {"role": "user", "content": "What does the fox do?"}
        return claude.messages.create(model="claude-latest", max_tokens=9, messages=[message], **more)
    return call
"""

Report = dict[str, Any]
_UNUSED = ("cacheprovider", "randomly", "schemathesis")  # plugins


class _ImportedModules:
    """What pytester restores after a session inside a test: only modules of the test's project are forgotten.

    pytester itself forgets all that were imported there. A library that is imported in parts would then exist twice.
    """

    def __init__(self, preserve: object = None) -> None:
        del preserve
        self._before = dict(sys.modules)

    def restore(self) -> None:
        for name in sys.modules.keys() - self._before.keys():
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(os.getcwd()):
                del sys.modules[name]
        sys.modules.update(self._before)


@pytest.fixture(autouse=True)
def _keep_imported_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("_pytest.pytester.SysModulesSnapshot", _ImportedModules)


@pytest.fixture(scope="session")
def one_server() -> Iterator[ModelServer]:
    """It comes with the modules that most sessions inside a test use."""
    for name in ("anthropic", "openai", "google.genai"):
        import_module(name)
    load_modules()
    for public in ("load", "verify", "watch"):
        getattr(runcard, public)
    gc.collect()
    gc.freeze()  # a session inside a test collects garbage several times: not in these modules
    with serving() as found:
        yield found


def answers(count: int = 60, **changes: Any) -> list[Answer]:
    """Replies with ids of their own."""
    usual = {"model": "claude-sonnet-4-5", "usage": USAGE, **changes}
    return [Answer(replies.message(id=f"msg_{os.urandom(4).hex()}", **usual)) for _ in range(count)]


@pytest.fixture
def server(one_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    monkeypatch.setenv("MODEL_URL", one_server.url)
    one_server.asked.clear()
    one_server.says(*answers())
    return one_server


class Project:
    """A project with tests; `run` runs them."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self._json = self.path / "figures.json"

    def run(self, source: str, *arguments: str, apart: bool = False) -> pytest.RunResult:
        """Run a file of tests with `--runcard`; `apart`: in a process of its own."""
        self.pytester.makepyfile(test_it=source)
        without = [word for name in _UNUSED for word in ("-p", f"no:{name}")]
        options = ["--runcard", f"--runcard-json={self._json}", *without, *arguments]
        run = self.pytester.runpytest_subprocess if apart else self.pytester.runpytest_inprocess
        return run(*options)

    @property
    def report(self) -> Report:
        found: Report = json.loads(self._json.read_bytes())
        return found

    @property
    def tests(self) -> dict[str, Report]:
        """The figures by the name of the test."""
        return {test["test"].rpartition("::")[2]: test for test in self.report["tests"]}

    @property
    def records(self) -> list[Report]:
        """The documents of all runs in the store."""
        paths = sorted((self.path / "outputs").glob("2*/metadata.json"))
        return [runcard.load(path).to_dict() for path in paths]


@pytest.fixture
def project(server: ModelServer, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in [name for name in os.environ if name.startswith(("RUNCARD_", "TRACEPARENT"))]:
        monkeypatch.delenv(name)
    assert server.url
    pytester.makeconftest(CONFTEST)
    return Project(pytester)


def store_names(store: Path) -> list[str]:
    """What is in a store besides what is its own."""
    return sorted(path.name for path in store.iterdir() if path.name != ".runcard") if store.exists() else []
