"""What pytest calls when `--runcard` is given.

Each attempt to run a test has a log of its own, from the setup of its fixtures to the end of their teardown. What happens while
tests are collected, and after the last test, has one too. With pytest-xdist the workers record; their figures reach the
process that reports through the tests' reports.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError
from runcard.files import json_name
from runcard.pytest_plugin.audit_events import AuditListener, listen
from runcard.pytest_plugin.budget import budget_of, violation
from runcard.pytest_plugin.call_log import CallLog, Surroundings
from runcard.pytest_plugin.summary import summary_lines, write_json
from runcard.recording.current_run import begin_runs_on_demand
from runcard.recording.events import call_observers
from runcard.recording.load_modules import load_modules
from runcard.settings import OUTPUTS, read_settings
from runcard.settings.apply import configured_prices, signing_settings, use_masking_settings

if TYPE_CHECKING:
    from runcard.pytest_plugin.budget import CallBudget

COLLECTION, SESSION_END = "(collection)", "(after the last test)"

_FIGURES = "runcard"  # the attribute of a report, and the key of a worker's output
_RUN_DIR = "RUNCARD_RUN_DIR"


def register(config: pytest.Config) -> None:
    """Register the hooks: those that report, and, where tests run, those that record."""
    is_worker = hasattr(config, "workerinput")
    has_workers = not is_worker and getattr(config.option, "dist", "no") != "no"
    try:
        if not is_worker:  # first, so that it reports what the other one records at the end
            config.pluginmanager.register(CallReportHooks(config), "runcard-report")
        if not has_workers or config.option.collectonly:
            config.pluginmanager.register(CallRecorderHooks(config), "runcard-recorder")
    except RuncardError as error:
        raise pytest.UsageError(f"--runcard: {error}") from error


class CallRecorderHooks:
    """Records the model calls of each test, and compares them with its budget."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        directory = str(config.invocation_params.dir)
        settings = read_settings(directory=directory)
        outputs = config.option.runcard_outputs or settings[OUTPUTS]
        use_masking_settings()
        load_modules()
        self._folder = tempfile.mkdtemp(prefix="runcard-pytest-")
        main = getattr(config, "workerinput", {}).get("mainargv")  # in a worker of pytest-xdist
        self._surroundings = Surroundings(
            os.path.join(directory, outputs),
            configured_prices(directory),
            os.path.join(self._folder, "run"),
            None if main is None else [json_name(str(argument)).text for argument in main],
            signing_settings(settings),
        )
        self._log: CallLog | None = None
        self._budget: CallBudget | None = None
        self._run_dir = os.environ.get(_RUN_DIR)
        self._outside: list[JsonObject] = []  # the figures of what belongs to no test

    # The session.

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        os.environ[_RUN_DIR] = self._surroundings.link
        call_observers.append(self._observe)
        begin_runs_on_demand(self._begin)
        listen(AuditListener(self._note_start, self._note_host))

    def pytest_unconfigure(self) -> None:
        listen(None)
        begin_runs_on_demand(None)
        if self._observe in call_observers:
            call_observers.remove(self._observe)
        if self._run_dir is not None:
            os.environ[_RUN_DIR] = self._run_dir
        elif os.environ.get(_RUN_DIR) == self._surroundings.link:
            del os.environ[_RUN_DIR]
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self) -> Any:  # noqa: ANN401 - a Run, or None
        return None if self._log is None else self._log.begin()

    def _note_start(self, words: list[str]) -> None:
        """A process is about to be started: it may make a call, and then it finds the run."""
        if self._log is not None:
            self._log.begin()
            self._log.note_start(words)

    def _note_host(self, host: str) -> None:
        if self._log is not None:
            self._log.note_host(host)

    def _observe(self, *event: Any) -> None:  # noqa: ANN401 - as `call_observers` has it
        if self._log is not None:
            self._log.observe(*event)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        with self._outside_tests(COLLECTION):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, Any]:
        """A test that was interrupted has no teardown phase: its log ends here, and later calls are in another."""
        if self._log is not None:
            self._add_outside(self._log.finish("interrupted"))
        with self._outside_tests(SESSION_END):
            result = yield
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_FIGURES] = self._outside
        return result

    @contextlib.contextmanager
    def _outside_tests(self, name: str) -> Generator[None]:
        log = self._log = CallLog(name, self._surroundings)
        try:
            yield
        finally:
            self._add_outside(log.finish("passed"))
            self._log = None

    def _add_outside(self, figures: JsonObject | None) -> None:
        if figures is not None:
            self._outside.append(figures)
            report = self._config.pluginmanager.get_plugin("runcard-report")
            if report is not None:
                report.add(figures)

    # One test.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._log, self._budget = CallLog(item.nodeid, self._surroundings), None
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """A test that is over its budget fails, unless it failed already."""
        log = self._log
        if log is None:
            return (yield)
        log.phase = "call"
        message = None
        try:
            self._budget = budget_of(item)  # fixtures may have added the marker
        except UsageError as error:
            message = f"{error}\nhint: {error.hint}"
        if message is not None:  # here, so that the report has no second error
            pytest.fail(message, pytrace=False)
        result = yield
        if self._budget is not None and not log.has_open_calls:
            self._check_budget(log.figures())
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        log = self._log
        if log is None:
            return (yield)
        log.phase = "teardown"
        outcome = "failed"
        try:
            result = yield
            if log.outcome == "passed":
                log.end_calls()
                self._check_budget(
                    log.figures()
                )  # once more: calls of the teardown, and streams that were open
            outcome = log.outcome
        except (KeyboardInterrupt, pytest.exit.Exception):
            outcome = "interrupted"
            raise
        except BaseException as error:
            log.add_failure(error)
            raise
        finally:
            figures = log.finish(outcome)
            self._log = None
            setattr(item, f"_{_FIGURES}", figures)
            _set_properties(item, figures)
        return result

    def _check_budget(self, figures: JsonObject | None) -> None:
        if self._budget is not None and figures is not None and (message := violation(self._budget, figures)):
            pytest.fail(message, pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        report = yield
        if self._log is not None and report.outcome == "failed" and call.excinfo is not None:
            self._log.add_failure(call.excinfo.value)
        if report.when == "teardown":
            setattr(report, _FIGURES, item.__dict__.pop(f"_{_FIGURES}", None))
        elif self._log is not None and report.outcome != "passed":
            self._log.outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        return report


def _set_properties(item: pytest.Item, figures: JsonObject | None) -> None:
    """What reports in JUnit's format have of a test; of the last attempt, if there were several."""
    item.user_properties[:] = [pair for pair in item.user_properties if not pair[0].startswith("runcard_")]
    if figures is None:
        return
    tokens = figures["tokens"]
    values = {
        "calls": figures["calls"],
        "failed_calls": figures["failed_calls"] or None,
        "input_tokens": _or_unknown(tokens["input"]),
        "output_tokens": _or_unknown(tokens["output"]),
        "token_source": figures["token_source"],
        "cost_usd": _or_unknown(figures["cost_usd"]),
        "known_cost_usd": figures["known_cost_usd"] if figures["cost_usd"] is None else None,
        "records": ", ".join(figures["records"]) or None,
    }
    item.user_properties += [
        (f"runcard_{name}", value) for name, value in values.items() if value is not None
    ]


def _or_unknown(value: object) -> object:
    return "unknown" if value is None else value


class CallReportHooks:
    """Reports the figures of all tests at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._tests: list[JsonObject] = []
        self._attempts: dict[str, int] = {}
        self._error: str | None = None
        name = config.option.runcard_json
        self._json = None if name is None else os.path.join(config.invocation_params.dir, name)
        if self._json is not None and not os.path.isdir(os.path.dirname(self._json)):
            raise pytest.UsageError(f"--runcard-json: {os.path.dirname(self._json)} is not a directory")

    def add(self, figures: JsonObject) -> None:
        attempt = self._attempts[figures["test"]] = self._attempts.get(figures["test"], 0) + 1
        self._tests.append(figures | ({"attempt": attempt} if attempt > 1 else {}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        figures = getattr(report, _FIGURES, None)
        if figures is not None:
            self.add(figures)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - of pytest-xdist, which need not be installed
        for figures in getattr(node, "workeroutput", {}).get(_FIGURES, ()):
            self.add(figures)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        result = yield
        if self._json is not None:
            try:
                write_json(self._json, self._tests)
            except (OSError, RuncardError) as error:
                self._error = f"Error: --runcard-json: {error}"
                session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR
        return result

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        lines = summary_lines(self._tests, with_all=config.get_verbosity() > 0)
        lines += [self._error] if self._error else []
        if lines:
            terminalreporter.section("model calls (runcard)")
            for line in lines:
                terminalreporter.write_line(line)
