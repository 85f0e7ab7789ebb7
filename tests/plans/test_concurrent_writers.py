"""Concurrent agents lose nothing; a killed writer leaves the old plan."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plans.projects import RubyProject
from plans.test_writing import WRITTEN_BY_HAND
from runcard.encoding.yaml import decode_yaml

TIMEOUT = 120

_MARKER = """
import sys, runcard
source, agent, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(times):
    runcard.open_plan(source).mark(agent, warnings=[f"{agent} {number}"], values={agent.replace("-", "_") + f"_{number}": number})
"""

_WRITER = """
import sys, runcard
from runcard.errors import StoreError
source, agent, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
done = refused = 0
while done < times:
    plan = runcard.open_plan(source)
    data = plan.to_dict()
    data["automation"].setdefault("warnings", []).append(f"{agent} {done}")
    try:
        plan.write(agent, data)
        done += 1
    except StoreError:
        refused += 1
"""

_ANALYZER = """
import sys
from runcard.operations.plans.analyze import analyze_source
from runcard.plans.plan_files import MethodRef
source, method = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
analyze_source(source, MethodRef(method=method), write=True)
"""

_ENDLESS = """
import sys, runcard
source = sys.argv[1]
number = 0
while True:
    runcard.open_plan(source).mark("architect", values={"architect_text": f"{number} " * 20000})
    number += 1
    print(number, flush=True)
"""


def started(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def exit_codes_at_once(processes: list[subprocess.Popen[str]]) -> list[int]:
    """Let all of them begin when each one is ready."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=TIMEOUT)
    return [process.returncode for process in processes]


@pytest.mark.parametrize("code", [_MARKER, _WRITER], ids=["marks", "writes"])
def test_agents_that_write_at_once_lose_nothing(project: RubyProject, code: str) -> None:
    project.write(WRITTEN_BY_HAND)
    agents, times = ("architect", "implementer", "factory-optimizer"), 8
    processes = [started(code, str(project.source), agent, str(times)) for agent in agents]
    assert exit_codes_at_once(processes) == [0, 0, 0]
    said = project.read()["automation"]["warnings"]
    assert sorted(said) == sorted(f"{agent} {number}" for agent in agents for number in range(times))
    for agent in agents:  # each one's own in their order
        own = [text for text in said if text.startswith(f"{agent} ")]
        assert own == [f"{agent} {number}" for number in range(times)]


def test_methods_that_are_analyzed_at_once_have_a_plan_each(project: RubyProject) -> None:
    """All of them find the documented name free, and only one can have it."""
    methods = ["one", "two", "three", "four"]
    text = "".join(f"  def {name}(x) = x ? 1 : 2\n" for name in methods)
    project.source.write_text(f"class Billing::Invoice\n{text}end\n")
    processes = [started(_ANALYZER, str(project.source), name) for name in methods]
    assert exit_codes_at_once(processes) == [0, 0, 0, 0]
    found = [_read(project.folder / name)["target"]["method"] for name in os.listdir(project.folder)]
    assert sorted(found) == sorted(methods)
    assert project.plan.exists()


def test_a_writer_that_is_killed_leaves_a_whole_plan(project: RubyProject) -> None:
    project.write(WRITTEN_BY_HAND)
    for attempt in range(4):
        process = started(_ENDLESS, str(project.source))
        assert process.stdout is not None
        assert process.stdout.readline()
        time.sleep(0.003 * attempt)  # at another moment of the next write
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT)
        process.stdout.close()
        assert process.stdin is not None
        process.stdin.close()
        words = _read(project.plan)["automation"]["architect_text"].split()
        assert len(words) == 20000
        assert len(set(words)) == 1
    done = started(_MARKER, str(project.source), "polisher", "1")
    done.communicate("go\n", timeout=TIMEOUT)  # no lock is left behind
    assert done.returncode == 0
    left = [name for name in os.listdir(project.folder) if not name.endswith(".tmp")]
    assert left == [project.plan.name]


def _read(path: Path) -> dict[str, dict[str, str]]:
    data: dict[str, dict[str, str]] = decode_yaml(path.read_bytes())
    return data
