"""Skipped tests: one line for each reason at the end of a run. With `--no-skips`, as CI uses it, they make the run fail."""

from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail if a test is skipped")


def _reasons(config: pytest.Config) -> Counter[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    is_worker = hasattr(session.config, "workerinput")
    if not is_worker and session.config.getoption("--no-skips") and _reasons(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    config = terminalreporter.config
    for reason, count in sorted(_reasons(config).items()):
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)
    if config.getoption("--no-skips") and _reasons(config):
        terminalreporter.write_line("Error: tests were skipped, and --no-skips is given", red=True)
