"""What `pytest --runcard` reports and records of each test."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import runcard
from observe.clients import replies
from observe.clients.server import Answer, ModelServer
from pytest_plugin.conftest import CONFTEST, COST, Project, answers, store_names
from runcard.pytest_plugin import summary
from runcard.recording import current_run

TWO_CALLS = """
def test_two(ask):
    ask(); ask()

def test_none():
    pass

def test_one(ask):
    ask()
"""


def test_each_test_that_calls_a_model_is_in_the_report(project: Project) -> None:
    result = project.run(TWO_CALLS, "--junitxml=junit.xml")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*= model calls (runcard) =*",
            "* cost  input  output  calls  test",
            " $0.009  2,000     200      2  test_it.py::test_two",
            "$0.0045  1,000     100      1  test_it.py::test_one",
            "total: $0.0135, 3 calls in 2 tests",
            "2 records in outputs",
        ]
    )
    assert project.report["totals"]["cost_usd"] == 0.0135
    assert list(project.tests) == ["test_two", "test_one"]
    two = project.tests["test_two"]
    assert (two["calls"], two["tokens"]["input"], two["tokens"]["output"]) == (2, 2000, 200)
    assert (two["cost_usd"], two["at_least"], two["models"]) == (2 * COST, False, ["claude-sonnet-4-5"])
    properties = {
        case.attrib["name"]: {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")}
        for case in ET.parse(project.path / "junit.xml").iter("testcase")  # noqa: S314 - pytest wrote it
    }
    assert properties["test_none"] == {}
    assert properties["test_two"] == {
        "runcard_calls": "2",
        "runcard_input_tokens": "2000",
        "runcard_output_tokens": "200",
        "runcard_token_source": "reported",
        "runcard_cost_usd": "0.009",
        "runcard_records": two["records"][0],
    }


def test_each_test_that_calls_a_model_has_a_record(project: Project) -> None:
    project.run(TWO_CALLS)
    labels = [record["generation"]["labels"] for record in project.records]
    assert labels == [
        {"test": "test_it.py::test_two", "outcome": "passed"},
        {"test": "test_it.py::test_one", "outcome": "passed"},
    ]
    assert [record["costs"]["total_cost_usd"] for record in project.records] == [2 * COST, COST]
    verified = list(runcard.verify(project.path / "outputs"))
    assert {(each.verdict.intact, each.verdict.complete) for each in verified} == {(True, True)}


def test_tests_without_calls_leave_nothing(project: Project) -> None:
    source = "import subprocess\ndef test_process(): subprocess.run(['true'])\ndef test_none(): pass"
    result = project.run(source)
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*model calls*")
    assert store_names(project.path / "outputs") == []
    opened = project.path / "outputs" / ".runcard" / "open"
    assert not opened.exists() or list(opened.iterdir()) == []
    assert project.report["tests"] == []
    assert project.report["totals"]["cost_usd"] is None


def test_the_store_is_chosen_at_the_start(project: Project) -> None:
    """Also if a test changes the directory, or there is another file of settings."""
    (project.path / "runcard.toml").write_text('outputs = "kept"\n')
    source = """
def test_elsewhere(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runcard.toml").write_text("outputs = [")
    ask()
"""
    project.run(source).assert_outcomes(passed=1)
    assert len(store_names(project.path / "kept")) == 1
    project.run(source, "--runcard-outputs=given").assert_outcomes(passed=1)
    assert len(store_names(project.path / "given")) == 1


def test_all_clients_are_watched_sync_and_async_and_in_threads(project: Project, server: ModelServer) -> None:
    server.says(
        replies.message(),
        replies.message(id="msg_2"),
        replies.completion(),
        replies.generated(),
        Answer(events=replies.message_events()),
    )
    source = """
import os, threading
import anthropic, openai, pytest
from google import genai
URL = os.environ["MODEL_URL"]
MESSAGES = [{"role": "user", "content": "What does the fox do?"}]

@pytest.fixture(params=["asyncio"])
def anyio_backend(request):
    return request.param

@pytest.mark.anyio
async def test_async():
    async with anthropic.AsyncAnthropic(api_key="k", base_url=URL) as client:
        await client.messages.create(model="m", max_tokens=9, messages=MESSAGES)

def test_thread(ask):
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

def test_openai():
    with openai.OpenAI(api_key="k", base_url=URL + "/v1") as client:
        client.with_options(timeout=9).chat.completions.create(model="m", messages=MESSAGES)

def test_google():
    with genai.Client(api_key="k", http_options={"base_url": URL}) as client:
        client.models.generate_content(model="gemini-latest", contents="What?")

def test_stream(ask):
    list(ask(stream=True))
"""
    project.run(source, "-W", "ignore::DeprecationWarning").assert_outcomes(passed=5)
    calls = {name.partition("[")[0]: test["calls"] for name, test in project.tests.items()}
    assert calls == dict.fromkeys(
        ["test_async", "test_thread", "test_openai", "test_google", "test_stream"], 1
    )
    assert {test["token_source"] for test in project.tests.values()} == {"reported"}


def test_calls_of_fixtures_belong_to_the_test_in_which_they_happen(project: Project) -> None:
    source = """
import os, anthropic, pytest

def call(client):
    client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}])

@pytest.fixture(scope="module")
def shared():
    with anthropic.Anthropic(api_key="k", base_url=os.environ["MODEL_URL"]) as client:
        call(client)
        yield client
        call(client)

def test_first(shared): pass

@pytest.mark.parametrize("number", [1, 2])
def test_second(shared, number): call(shared)
"""
    result = project.run(source)
    assert {name: test["phases"] for name, test in project.tests.items()} == {
        "test_first": {"setup": 1},
        "test_second[1]": {"call": 1},
        "test_second[2]": {"call": 1, "teardown": 1},
    }
    result.stdout.fnmatch_lines(["*test_it.py::test_first (1 in setup)", "total: $0.018, 4 calls in 3 tests"])


def test_calls_outside_of_tests_are_reported_as_such(project: Project) -> None:
    source = """
import os, anthropic, pytest

def call():
    with anthropic.Anthropic(api_key="k", base_url=os.environ["MODEL_URL"]) as client:
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}])
call()

@pytest.fixture(scope="session")
def shared():
    yield
    call()

def test_first(shared): assert False
def test_second(shared): pass
"""
    project.run(source, "-x").assert_outcomes(failed=1)
    names = [(test["test"], test["outcome"], test["calls"]) for test in project.report["tests"]]
    assert names[0] == ("(collection)", "passed", 1)
    assert {name for name, _, _ in names[1:]} <= {"(after the last test)", "test_it.py::test_first"}
    assert project.report["totals"]["calls"] == 2


def test_the_outcome_is_in_the_report_and_the_record(project: Project) -> None:
    source = """
import pytest
def test_failing(ask): ask(); assert False
def test_skipping(ask): ask(); pytest.skip("enough")
@pytest.mark.xfail
def test_known(ask): ask(); assert False
@pytest.fixture
def broken(ask): yield; ask(); raise ValueError
def test_ending(broken): pass
"""
    result = project.run(source)
    result.assert_outcomes(failed=1, skipped=1, xfailed=1, passed=1, errors=1)
    outcomes = {name: test["outcome"] for name, test in project.tests.items()}
    expected = {
        "test_failing": "failed",
        "test_skipping": "skipped",
        "test_known": "xfailed",
        "test_ending": "failed",
    }
    assert outcomes == expected
    generations = [record["generation"] for record in project.records]
    assert [(each["labels"]["outcome"], each["status"]) for each in generations] == [
        ("failed", "failed"),
        ("skipped", "completed"),
        ("xfailed", "completed"),
        ("failed", "failed"),
    ]


def test_why_a_test_failed_is_in_its_record_without_what_models_said(project: Project) -> None:
    source = """
import pytest
def test_asserting(ask): assert ask().content[0].text == "other"
def test_raising(ask): ask(); raise ValueError
def test_failing(ask): ask(); pytest.fail("too slow")
@pytest.mark.xfail
def test_known(ask): ask(); raise ValueError("known")
def test_skipping(ask): ask(); pytest.skip("enough")
@pytest.fixture
def begun(ask): ask(); raise OSError("no disk")
def test_beginning(begun): pass
@pytest.fixture
def broken(ask): yield; ask(); raise OSError("no end")
def test_ending(broken): pass
@pytest.mark.llm_budget(tokens=1)
def test_spending(ask): ask()
"""
    project.run(source)
    errors = {
        record["generation"]["labels"]["test"].rpartition("_")[2]: [
            (error["type"], error["message"].partition(":")[0]) for error in record["errors"]
        ]
        for record in project.records
    }
    assert errors == {
        "asserting": [("AssertionError", "an assertion failed")],
        "raising": [("ValueError", "ValueError")],
        "failing": [("Failed", "too slow")],
        "known": [],
        "skipping": [],
        "beginning": [("OSError", "no disk")],
        "ending": [("OSError", "no end")],
        "spending": [("Failed", "llm_budget")],
    }


def test_each_attempt_of_a_test_has_its_own_figures(project: Project) -> None:
    """Plugins that repeat tests call the runner again."""
    project.pytester.makeconftest(
        CONFTEST
        + """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(2):
        runtestprotocol(item, nextitem=nextitem)
    return True
"""
    )
    result = project.run("def test_it(ask): ask()", "--junitxml=junit.xml")
    assert [(test["calls"], test.get("attempt")) for test in project.report["tests"]] == [(1, None), (1, 2)]
    assert len(project.records) == 2
    result.stdout.fnmatch_lines(["*test_it.py::test_it (attempt 2)"])


def test_failed_calls_are_counted_and_cost_nothing(project: Project, server: ModelServer) -> None:
    server.says(Answer({"type": "error", "error": {"type": "x", "message": "no"}}, status=400))
    source = """
import anthropic, pytest
@pytest.mark.llm_budget(usd=0)
def test_refused(ask):
    with pytest.raises(anthropic.BadRequestError): ask()
"""
    result = project.run(source)
    result.assert_outcomes(passed=1)
    figures = project.tests["test_refused"]
    assert (figures["calls"], figures["failed_calls"], figures["cost_usd"], figures["at_least"]) == (
        0,
        1,
        None,
        False,
    )
    result.stdout.fnmatch_lines(["*–      –       –      0  test_it.py::test_refused (1 failed)"])


def test_an_unknown_price_stays_unknown(project: Project, server: ModelServer) -> None:
    server.says(*answers(1, model="strange"), *answers(1))
    result = project.run("def test_a(ask): ask()\ndef test_b(ask): ask()", "--junitxml=junit.xml")
    result.stdout.fnmatch_lines(
        [
            "$0.0045 *test_it.py::test_b",
            "unknown *test_it.py::test_a",
            "total: ≥ $0.0045 (a part is unknown), 2 calls in 2 tests",
        ]
    )
    assert project.tests["test_a"]["unpriced"] == ["strange"]
    assert project.report["totals"]["cost_usd"] is None
    assert 'name="runcard_cost_usd" value="unknown"' in (project.path / "junit.xml").read_text()


def test_a_run_of_the_test_keeps_its_calls_and_they_are_reported(project: Project) -> None:
    source = """
import runcard
def test_own_run(ask, tmp_path):
    with runcard.record(tmp_path):
        ask()

def test_own_watch(claude, ask):
    runcard.watch(claude, step="draft")
    ask()
    assert runcard.current_run() is not None
"""
    project.run(source).assert_outcomes(passed=2)
    assert {name: test["calls"] for name, test in project.tests.items()} == {
        "test_own_run": 1,
        "test_own_watch": 1,
    }
    own = project.tests["test_own_run"]["records"]
    assert len(own) == 1
    assert Path(own[0]).parent != project.path / "outputs"
    assert [record["generation"]["labels"]["test"] for record in project.records] == [
        "test_it.py::test_own_watch"
    ]
    assert project.records[0]["token_usage"]["breakdown_by_step"][0]["step"] == "draft"


PROCESSES = """
import os, subprocess, sys
CHILD = "import runcard; runcard.current_run().add_usage({'input_tokens': 1000, 'output_tokens': 100}, model='claude-sonnet-4-5')"

def test_child(tmp_path):
    copied = {**os.environ, "OTHER": "1"}
    subprocess.run([sys.executable, "-c", CHILD], check=True, env=copied, cwd=tmp_path)

def test_fork(ask):
    pid = os.fork()
    if pid == 0:
        ask()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

def test_files():
    subprocess.run(["sh", "-c", 'echo made > "$RUNCARD_RUN_DIR/result.txt"'], check=True)
"""


def test_processes_that_a_test_starts_find_its_run(project: Project) -> None:
    result = project.run(PROCESSES, "-W", "ignore::DeprecationWarning")
    result.assert_outcomes(passed=3)
    assert {name: test["phases"] for name, test in project.tests.items()} == {
        "test_child": {"other processes": 1},
        "test_fork": {"other processes": 1},
    }
    assert project.report["totals"]["cost_usd"] == 2 * COST
    assert [Path(test["records"][0]).parent.name for test in project.tests.values()] == ["outputs", "outputs"]
    names = {record["generation"]["labels"]["test"] for record in project.records}
    assert "test_it.py::test_files" in names  # it has no call, and a file
    assert len(list((project.path / "outputs").glob("*/result.txt"))) == 1


def test_a_store_that_cannot_be_written_is_reported_and_the_figures_are_there(project: Project) -> None:
    (project.path / "outputs").write_text("a file")
    result = project.run("def test_it(ask): ask()")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Warning: this run is not recorded: cannot create *outputs: File exists"])
    assert project.tests["test_it"]["cost_usd"] == COST
    assert project.tests["test_it"]["records"] == []


def test_the_session_leaves_the_process_as_it_was(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from anthropic import _base_client  # noqa: PLC0415 - skipped where it is not installed

    monkeypatch.setenv("RUNCARD_RUN_DIR", "/outer")
    monkeypatch.setenv("PYTEST_VERSION", pytest.__version__)  # pytest changes these two
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    before = (_base_client.SyncAPIClient.__init__, list(sys.meta_path), dict(os.environ))
    project.run("import subprocess\ndef test_it(ask): ask(); subprocess.run(['true'])").assert_outcomes(
        passed=1
    )
    after = (_base_client.SyncAPIClient.__init__, list(sys.meta_path), dict(os.environ))
    assert after == before
    assert current_run._begin_on_demand is None
    subprocess.run(["true"], check=True)
    assert len(store_names(project.path / "outputs")) == 1


def test_many_tests_are_cut_in_the_report_and_not_in_the_file(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "_MOST_ROWS", 3)
    source = "import pytest\n@pytest.mark.parametrize('n', range(5))\ndef test_it(ask, n): ask()"
    result = project.run(source)
    result.stdout.fnmatch_lines(
        ["and 2 tests more that cost less: -v lists all", "total: $0.0225, 5 calls in 5 tests"]
    )
    assert len(project.report["tests"]) == 5
    assert "lists all" not in project.run(source, "-v").stdout.str()


FORKED = """
import contextlib
import multiprocessing
import socket

def look_up(host):
    with contextlib.suppress(OSError):
        socket.getaddrinfo(host, 443)

def in_another_process(host):
    process = multiprocessing.get_context("fork").Process(target=look_up, args=[host])
    process.start()
    process.join()

def test_other_library():
    in_another_process("api.groq.com")

def test_no_provider():
    in_another_process("localhost")

def test_seen(ask):
    ask()
"""


def test_forked_processes_that_call_models_unseen_make_the_report_incomplete(project: Project) -> None:
    """As a pool of `multiprocessing` on Linux, with LiteLLM. The test after it has nothing to do with it."""
    project.run(FORKED, "-W", "ignore::DeprecationWarning").assert_outcomes(passed=3)
    meter = "`runcard run -- pytest` counts it, for all tests together"
    assert {name: test["incomplete"] for name, test in project.tests.items()} == {
        "test_other_library": [f"api.groq.com was called, and no model call of it was seen: {meter}"],
        "test_seen": [],
    }


UNSEEN = """
import contextlib
import socket
import subprocess
import sys

def test_other_library():
    with contextlib.suppress(OSError):
        socket.getaddrinfo("api.groq.com", 443)

def test_agent():
    subprocess.run(["codex", "-c", "pass"], executable=sys.executable, check=True)

def test_seen(ask):
    ask()
    with contextlib.suppress(OSError):
        socket.getaddrinfo("localhost", 443)
    subprocess.run([sys.executable, "-c", "pass"], check=True)
"""


def test_calls_that_only_a_meter_would_see_make_the_report_incomplete(project: Project) -> None:
    """LiteLLM has clients of its own, and agents are other processes."""
    project.run(UNSEEN).assert_outcomes(passed=3)
    tests = {test["test"].rpartition("::")[2]: test for test in project.report["tests"]}
    meter = "`runcard run -- pytest` counts it, for all tests together"
    reasons = {name: test["incomplete"] for name, test in tests.items()}
    assert reasons == {
        "test_other_library": [f"api.groq.com was called, and no model call of it was seen: {meter}"],
        "test_agent": [f"Codex was started, and its calls are not seen here: {meter}"],
        "test_seen": [],
    }
    assert project.report["totals"]["at_least"] is True
