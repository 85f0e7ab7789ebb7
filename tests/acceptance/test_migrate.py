"""`runcard migrate` through the real command: streams, many at once, and being killed on the way."""

import json
import os
import subprocess
import sys
import time

import pytest

from acceptance.command import RUNCARD, TIMEOUT, environment, runcard
from checks import samples
from conftest import Put

_TEAM = samples.written(samples.team())


def test_a_document_goes_up_and_down_and_has_its_old_bytes(put: Put) -> None:
    path = put("x.json", _TEAM)
    up = runcard("migrate", path, "--to", "2.0.0")
    assert (up.code, up.err) == (0, b"")
    assert up.text == f"{path}: team 1.0.0 → 2.0.0, original kept as {path}.bak\n"
    down = runcard("migrate", path, "--to", "1.0.0")
    assert down.code == 2
    assert down.text == f"{path}: team 2.0.0 → 1.0.0, original kept as {path}.bak.2\n"
    assert down.messages == f"Warning: {path}: dropped /origin, which team 1.0.0 does not have\n"
    assert path.read_bytes() == _TEAM


def test_a_pipeline_of_migrations_gives_the_first_bytes_back() -> None:
    up = runcard("migrate", "-", "--to", "2.0.0", stdin=_TEAM)
    assert (up.code, up.err) == (0, b"")
    assert json.loads(up.out)["version"] == "2.0.0"
    down = runcard("migrate", "-", "--to", "1.0.0", stdin=up.out)
    assert (down.code, down.out) == (2, _TEAM)


def test_an_older_shape_needs_the_zone_of_its_time(put: Put) -> None:
    path = put("x.json", samples.flat())
    done = runcard("migrate", path, "--to", "1.0", "--timezone", "Mars/Olympus")
    assert (done.code, done.out) == (64, b"")
    done = runcard("migrate", path, "--to", "1.0", "--timezone", "Asia/Kolkata")
    assert (done.code, done.err) == (0, b"")
    assert json.loads(path.read_bytes())["generation"]["timestamp_end"] == "2024-05-01T04:30:00Z"


def test_many_with_one_bad_among_them_migrates_the_good_ones(put: Put) -> None:
    good, bad, also = put("a.json", _TEAM), put("b.json", b"{"), put("c.json", samples.instance())
    done = runcard("migrate", good, bad, also, "--to", "2.0.0", "--no-backup")
    assert done.code == 1
    assert done.text.splitlines() == [
        f"{good}: team 1.0.0 → 2.0.0",
        f"{also}: instance 1.0.0 → 2.0.0",
    ]
    assert done.messages.startswith(f"Error: {bad}:1:2: ")
    assert bad.read_bytes() == b"{"


def test_many_migrations_of_one_document_at_once_leave_one_whole_document(put: Put) -> None:
    path = put("x.json", _TEAM)
    command = (*RUNCARD, "migrate", str(path), "--to", "2.0.0")
    crowd = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        for _ in range(6)
    ]
    ends = [(*process.communicate(timeout=TIMEOUT), process.returncode) for process in crowd]
    assert [(err, code) for _, err, code in ends] == [(b"", 0)] * 6
    said = sorted(out.decode() for out, _, _ in ends)
    assert said == sorted(
        [f"{path}: team 1.0.0 → 2.0.0, original kept as {path}.bak\n"] + [f"{path}: already team 2.0.0\n"] * 5
    )
    assert sorted(os.listdir(path.parent)) == ["x.json", "x.json.bak"]
    assert path.with_name("x.json.bak").read_bytes() == _TEAM
    assert runcard("validate", path).code == 0


_BACK_AND_FORTH = """\
import sys
from runcard import migrate
print("ready", flush=True)
while True:
    for version in ("2.0.0", "1.0.0"):
        migrate(sys.argv[1], version, backup=False)
"""


@pytest.mark.long
def test_a_migration_that_is_killed_leaves_the_old_or_the_new_document(put: Put) -> None:
    path = put("x.json", samples.big_team(300))
    old = path.read_bytes()
    whole = {old, runcard("migrate", path, "--to", "2.0.0", "--output", "-").out}
    for delay in range(5, 65, 5):
        process = subprocess.Popen(
            [sys.executable, "-c", _BACK_AND_FORTH, path],
            stdout=subprocess.PIPE,
            env=environment(),
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            end = time.monotonic() + delay / 1000
            while time.monotonic() < end:
                assert path.read_bytes() in whole
        finally:
            process.kill()
            process.communicate(timeout=TIMEOUT)
        assert path.read_bytes() in whole
        strays = [name for name in os.listdir(path.parent) if name != "x.json"]
        assert all(name.startswith(".x.json.") and name.endswith(".tmp") for name in strays)
        path.write_bytes(old)
    assert runcard("validate", path.parent).text == f"{path}: valid team 1.0.0\n"
