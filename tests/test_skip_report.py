"""Skipped tests are one line for each reason, and an error where nothing may be skipped."""

import os

import pytest

SKIPPED = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_strace(number):
    pytest.skip("needs strace")

@pytest.mark.skipif(True, reason="needs strace")
def test_marked():
    pass

def test_root():
    pytest.skip("needs root")

def test_good():
    pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_one_line_for_each_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    pytester.makepyfile(SKIPPED)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = ["-p", "xdist", "-p", "skip_report", "-p", "no:cacheprovider", "-n", workers]
    done = pytester.runpytest_subprocess(*options)
    lines = [line for line in done.outlines if "skipped: " in line]
    assert lines == ["1 skipped: needs root", "4 skipped: needs strace"]
    assert done.ret == 0
    done = pytester.runpytest_subprocess(*options, "--no-skips")
    assert "Error: tests were skipped, and --no-skips is given" in done.outlines
    assert done.ret == 1
    done = pytester.runpytest_subprocess(*options, "--no-skips", "-k", "good")
    assert done.ret == 0
