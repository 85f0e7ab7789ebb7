import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from runcard.files import is_safe_id
from runcard.observe.ids import new_id

FORM = re.compile("(exp|run)-[a-z0-9]{16,}")

MANY_PROCESSES = """
import os, sys
from runcard.observe.ids import new_id
new_id("run")  # the row has begun, and no child may go on with it
pipes = []
for _ in range(50):
    reader, writer = os.pipe()
    if os.fork() == 0:
        with open(writer, "w") as out:
            out.writelines(new_id("run") + "\\n" for _ in range(200))
        os._exit(0)
    os.close(writer)
    pipes.append(reader)
sys.stdout.writelines(new_id("run") + "\\n" for _ in range(200))
for reader in pipes:
    with open(reader) as ids:
        sys.stdout.write(ids.read())
"""


def test_an_id_has_its_prefix_and_may_become_a_name() -> None:
    for prefix in ("exp", "run"):
        made = new_id(prefix)
        assert FORM.fullmatch(made)
        assert made.startswith(f"{prefix}-")
        assert is_safe_id(made)


def test_ids_sort_by_the_time_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    early, later = new_id("run"), time.time_ns() + 3_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert early < new_id("run")


def test_ids_of_one_millisecond_are_unique_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    made = [new_id("run") for _ in range(10_000)]
    assert made == sorted(set(made))


def test_a_clock_that_is_set_back_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    before, now = new_id("run"), time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 10**12)
    assert before < new_id("run")


def test_even_the_last_id_of_a_millisecond_has_a_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns() + 10**9
    monkeypatch.setattr(time, "time_ns", lambda: now)
    monkeypatch.setattr(os, "urandom", lambda count: b"\xff" * count)
    first, second = new_id("run"), new_id("run")
    assert first.endswith("zzzzzzzzzzzz")
    assert first < second
    assert len(first) == len(second)


def test_threads_share_one_row() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [
            made for row in pool.map(lambda _: [new_id("run") for _ in range(500)], range(8)) for made in row
        ]
    assert len(set(made)) == 4000


def test_fifty_processes_never_make_the_same_id() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", MANY_PROCESSES], check=True, capture_output=True, text=True
    )
    made = printed.stdout.split()
    assert len(made) == 51 * 200
    assert len(set(made)) == len(made)
    assert all(FORM.fullmatch(one) for one in made)
