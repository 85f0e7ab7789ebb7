"""`pytest --runcard`: what each test asked of models, and what it cost.

pytest loads this module in every project that has runcard installed. So it imports nothing of runcard: without `--runcard` it adds
its options and its marker, and that is all. `hooks` has the rest.

    hooks          what pytest calls when `--runcard` is given
    client_classes every client that is created is watched
    audit_events   notices that a test starts a process, and which hosts it calls
    call_log       the model calls of one test, and its run
    figures        calls, tokens and cost as data, and their totals
    budget         the marker `llm_budget`
    summary        the section at the end of pytest's output, and the file of `--runcard-json`
"""

import pytest

_MARKER = (
    "llm_budget(usd=None, tokens=None): with --runcard, the test fails if its model calls cost or use more"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("runcard", "model calls (runcard)")
    group.addoption(
        "--runcard",
        action="store_true",
        help="record the model calls of each test, and report what they cost",
    )
    group.addoption(
        "--runcard-outputs",
        metavar="DIR",
        help="with --runcard: the store of the records (default: the setting `outputs`)",
    )
    group.addoption(
        "--runcard-json",
        metavar="FILE",
        help="with --runcard: write calls, tokens and cost of each test to FILE",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Watch clients from now on: a conftest.py may create one."""
    if early_config.known_args_namespace.runcard:
        from runcard.pytest_plugin.client_classes import watch_new_clients  # noqa: PLC0415

        early_config.add_cleanup(watch_new_clients())


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    options = config.option
    if options.runcard:
        from runcard.pytest_plugin.hooks import register  # noqa: PLC0415

        register(config)
    elif options.runcard_outputs is not None or options.runcard_json is not None:
        name = "--runcard-json" if options.runcard_outputs is None else "--runcard-outputs"
        raise pytest.UsageError(f"{name} needs --runcard")
