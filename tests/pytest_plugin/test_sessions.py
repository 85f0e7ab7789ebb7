"""The plugin in sessions of their own process: what it imports, workers, interrupts, wrong options."""

import json

import pytest

from pytest_plugin.conftest import COST, Project

MODULES = """
import json, sys, pathlib
def test_modules():
    names = sorted(name for name in sys.modules if name.startswith("runcard"))
    pathlib.Path("modules.json").write_text(json.dumps(names))
"""


def test_without_its_option_it_imports_nothing_and_changes_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        MODULES,
        test_other="""
import os, sys, pytest
@pytest.mark.llm_budget(usd=0)
def test_inert():
    assert "RUNCARD_RUN_DIR" not in os.environ
    assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("runcard")]
""",
    )
    result = pytester.runpytest_subprocess("--strict-markers", "-W", "error")
    result.assert_outcomes(passed=2)
    names = json.loads((pytester.path / "modules.json").read_text())
    assert names == ["runcard", "runcard.pytest_plugin", "runcard.version"]
    assert not (pytester.path / "outputs").exists()


@pytest.mark.parametrize("option", ["--runcard-json=x", "--runcard-outputs=x"])
def test_its_other_options_need_it(pytester: pytest.Pytester, option: str) -> None:
    result = pytester.runpytest_inprocess(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {option[:-2]} needs --runcard"])


def test_wrong_values_are_usage_errors(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--runcard", "--runcard-json=missing/x.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --runcard-json: */missing is not a directory"])
    (pytester.path / "runcard.toml").write_text("outputs = 5\n")
    result = pytester.runpytest_inprocess("--runcard")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --runcard: *outputs*"])


def test_a_file_that_cannot_be_written_fails_the_session(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    (pytester.path / "taken.json").mkdir()
    result = pytester.runpytest_inprocess("--runcard", "--runcard-json=taken.json")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["Error: --runcard-json: *taken.json*"])


@pytest.mark.long
def test_workers_record_and_the_session_reports(project: Project) -> None:
    """The client is imported in the workers, after the plugin."""
    source = """
import os, anthropic, pytest
def call():
    with anthropic.Anthropic(api_key="k", base_url=os.environ["MODEL_URL"]) as client:
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}])
call()
@pytest.mark.parametrize("number", range(4))
@pytest.mark.llm_budget(usd=0.0045)
def test_it(number):
    for _ in range(1 + number // 3): call()
"""
    result = project.run(source, "-n2", "--junitxml=junit.xml", apart=True)
    result.assert_outcomes(passed=3, failed=1)
    assert [test["calls"] for name, test in sorted(project.tests.items()) if "[" in name] == [1, 1, 1, 2]
    assert [test["calls"] for test in project.report["tests"] if test["test"] == "(collection)"] == [1, 1]
    assert project.report["totals"]["cost_usd"] == 7 * COST
    assert len(project.records) == 6
    assert all("-n2" in record["generation"]["command"] for record in project.records)  # what the user ran
    result.stdout.fnmatch_lines(["total: $0.0315, 7 calls in 6 tests"])
    assert (project.path / "junit.xml").read_text().count("runcard_cost_usd") == 4


@pytest.mark.long
def test_an_interrupt_closes_the_record_and_the_report_is_printed(project: Project) -> None:
    source = "def test_it(ask):\n    ask()\n    raise KeyboardInterrupt\ndef test_never(): pass"
    result = project.run(source, apart=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["$0.0045 *test_it.py::test_it (interrupted)", "total: $0.0045, 1 call in 1 test"]
    )
    generation = project.records[0]["generation"]
    assert (generation["status"], generation["labels"]["outcome"]) == ("interrupted", "interrupted")
    assert project.tests["test_it"]["cost_usd"] == COST


def test_a_client_that_cannot_be_watched_is_created_all_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a later version of a vendor's library might be."""

    def fail(*_: object) -> None:
        raise AttributeError("_client")

    monkeypatch.setattr("runcard.operations.runs.watch.attach", fail)
    result = project.run("def test_it(ask): ask()", "-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*RuncardWarning: the calls of a client, Anthropic, are not recorded: AttributeError*"]
    )


def test_a_test_may_end_its_run_or_remove_it(project: Project) -> None:
    source = """
import shutil, runcard
def test_ended(ask): ask(); runcard.current_run().finish()
def test_removed(ask): ask(); shutil.rmtree(runcard.current_run().path)
"""
    project.run(source).assert_outcomes(passed=2)
    assert [test["cost_usd"] for test in project.report["tests"]] == [COST, COST]
