"""A test that leaves something behind fails, and the next one finds a clean process."""

import os
import re
from pathlib import Path

import pytest

LEAKS = """
import os, subprocess, sys, tempfile, threading
import pytest

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
kept = []

def test_process():
    kept.append(subprocess.Popen(SLEEP))

def test_process_of_a_process():
    code = f"import subprocess; subprocess.Popen({SLEEP!r})"
    subprocess.run([sys.executable, "-c", code], check=True)

def test_thread():
    threading.Thread(target=threading.Event().wait, name="waiting", daemon=True).start()

def test_open_file():
    kept.append(open(os.devnull))

def test_environment():
    os.environ["ADDED"] = "1"
    os.environ.pop("REMOVED")

def test_working_directory(tmp_path):
    os.chdir(tmp_path)

def test_file_here():
    open("result.txt", "w").close()
"""
CLEAN = """
import os, pathlib, subprocess, sys, tempfile, threading

def test_that_cleans_up(monkeypatch, tmp_path, home):
    monkeypatch.setenv("ADDED", "1")
    monkeypatch.chdir(tmp_path)
    thread = threading.Thread(target=print)
    thread.start()
    thread.join()
    with open("result.txt", "w"), tempfile.NamedTemporaryFile() as file:
        subprocess.run([sys.executable, "-c", ""], check=True, stdout=file)
    os.close(tempfile.mkstemp()[0])

def test_folders(tmp_path, home):
    assert "ADDED" not in os.environ
    assert os.environ["REMOVED"] == "no"
    assert os.environ["TMPDIR"] == tempfile.gettempdir()
    folders = [tmp_path, home, pathlib.Path(tempfile.gettempdir())]
    assert [os.listdir(folder) for folder in folders] == [[], [], []]
    assert len({folder.parent for folder in folders}) == 1
    assert pathlib.Path.home() == home
"""


@pytest.fixture
def isolated(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("REMOVED", "no")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest("def pytest_configure():\n    import isolation\n    isolation._GRACE = 0.1\n")
    return pytester


def test_what_is_left_behind_is_named(isolated: pytest.Pytester) -> None:
    isolated.makepyfile(LEAKS)
    done = isolated.runpytest_subprocess("-p", "isolation", "-p", "no:cacheprovider", "--tb=short")
    done.assert_outcomes(passed=7, errors=7)
    for test, left in (
        ("process", "the process *time.sleep(600)*"),
        ("process_of_a_process", "the process *time.sleep(600)*"),
        ("thread", "the thread waiting"),
        ("open_file", "the open file *: /dev/null"),
        ("environment", "the environment variable ADDED=1; the environment variable REMOVED=None"),
        ("working_directory", "the working directory */work"),
        ("file_here", "result.txt in the working directory"),
    ):
        done.stdout.fnmatch_lines([f"* ERROR at teardown of test_{test} *", f"left behind: {left}"])


def test_a_test_that_cleans_up_passes_and_has_folders_of_its_own(isolated: pytest.Pytester) -> None:
    isolated.makepyfile(CLEAN)
    done = isolated.runpytest_subprocess("-p", "isolation", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=2)


def test_processes_with_small_files_write_no_bytecode() -> None:
    """Python does not see that a limit has cut off a module: the next process could not load it ("marshal data too short")."""
    limit = "setrlimit(resource.RLIMIT_" + "FSIZE"
    texts = {path: path.read_text() for path in Path(__file__).parent.rglob("*.py")}
    limited = {path for path, text in texts.items() if limit in text}
    assert limited
    assert {path for path in limited if not re.search("(?i)dont_?write_?bytecode", texts[path])} == set()
