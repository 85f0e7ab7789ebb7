"""A disk that fills up, collections side by side, workspaces that change or are hostile: real files and processes."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from files.small_disk import small_disk
from runcard.errors import MachineError, StoreError
from runcard.store import layout
from runcard.store.remove_tree import remove_tree
from runcard.store.sessions.directory import Modes, SessionDirectory
from runs.harness import environment, in_memory
from sessions.collecting.teams import (
    assert_tidy,
    assert_whole,
    document,
    instance,
    sessions,
    state,
    team,
    write_spec,
)

COLLECT = "import sys, runcard; print(runcard.collect(sys.argv[1], artifacts=sys.argv[2]).path)"
COLLECT_AGAIN = COLLECT.replace("[2])", "[2], again=True)")


def program(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


# A full disk


@pytest.fixture
def small(here: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    with small_disk(here / "small", "1m") as target:
        yield target


@pytest.mark.parametrize("large", ["one file", "many files", "transcript"])
def test_a_disk_that_fills_up_leaves_the_source_alone_and_nothing_half_made(
    here: Path, spec: Path, small: Path, large: str
) -> None:
    workspace = here / "workspaces" / "researcher"
    if large == "one file":
        (workspace / "large").write_bytes(os.urandom(3 << 20))
    elif large == "many files":
        for number in range(400):
            (workspace / f"{number}").write_bytes(bytes(5000))
    else:
        (here / "logs" / "researcher.log").write_bytes(b"line\n" * 500_000)
    before = state(here / "workspaces")
    with pytest.raises(MachineError, match="No space left on device"):
        runcard.collect(spec, artifacts=small / "artifacts")
    assert state(here / "workspaces") == before
    assert sessions(small / "artifacts") == []
    assert list((small / "artifacts" / ".open").iterdir()) == []
    remove_tree(str(workspace))
    (here / "logs" / "researcher.log").write_text("short\n")
    assert runcard.collect(spec, artifacts=small / "artifacts").remarks == ()
    assert_tidy(small / "artifacts")


def test_whatever_room_is_left_the_store_holds_whole_sessions_only(spec: Path, small: Path) -> None:
    """The disk is full at another place each time, down to the ledger, which comes last."""
    store, filler = small / "artifacts", small / "filler"
    refused = 0
    for kilobytes in range(0, 90, 6):
        free = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
        filler.write_bytes(bytes(max(0, free - kilobytes * 1024)))
        try:
            runcard.collect(spec, artifacts=store)
        except runcard.RuncardError:
            refused += 1
        filler.unlink()
        for session in sessions(store):
            assert_whole(session)
    assert refused > 2
    runcard.collect(spec, artifacts=store)
    assert_tidy(store)


def test_a_ledger_that_cannot_be_written_is_a_remark_and_made_good_later(here: Path, spec: Path) -> None:
    store = here / "artifacts"
    runcard.collect(spec)
    (ledger,) = (store / ".runcard").glob("ledger-*")
    ledger.rename(ledger.with_suffix(".aside"))
    ledger.symlink_to("nowhere")  # which nobody opens for writing
    late = runcard.collect(spec, again=True)
    assert "the next collection adds it" in late.remarks[0]
    assert_whole(late.path)
    ledger.unlink()
    ledger.with_suffix(".aside").rename(ledger)
    assert runcard.collect(spec, again=True).remarks == (f"finished an interrupted collection: {late.path}",)
    assert_tidy(store)


# Side by side


def test_collections_of_one_session_at_once_get_a_second_each(here: Path, spec: Path) -> None:
    store = here / "artifacts"
    crowd = [program(COLLECT_AGAIN, spec, store) for _ in range(3)]
    said = [process.communicate(timeout=240) for process in crowd]
    assert [process.returncode for process in crowd] == [0] * 3, said
    assert sorted(out.strip() for out, _ in said) == [str(path) for path in sessions(store)]
    assert len(sessions(store)) == 3
    assert_tidy(store)


def test_collections_of_the_same_content_at_once_are_one_session(here: Path, spec: Path) -> None:
    store = here / "artifacts"
    crowd = [program(COLLECT, spec, store) for _ in range(3)]
    said = [process.communicate(timeout=240) for process in crowd]
    assert [process.returncode for process in crowd] == [0] * 3, said
    (session,) = sessions(store)
    assert {out.strip() for out, _ in said} == {str(session)}
    assert_tidy(store)


def test_a_living_collection_is_nobodys_leftover(here: Path) -> None:
    spec, store = team(instance()), str(here / "artifacts")
    moment = runcard.collect(spec).document.created_at
    assert moment is not None
    with SessionDirectory(store, "other-team", moment, Modes()) as living:
        living.write("instances/a/metadata.json", b"{}")
        assert runcard.collect(spec, again=True).remarks == ()
        assert os.path.isdir(living.path)
    assert not os.path.exists(living.path)  # what was not completed is removed by its owner


def test_what_is_not_a_collections_is_left_alone(here: Path) -> None:
    """A session that is being recorded, foreign files and links lie in the same folder."""
    spec = team(instance())
    session = runcard.collect(spec).path
    place = here / "artifacts" / ".open"
    (place / "trap.01234567").symlink_to(session)
    (place / "live-team.0123abcd").mkdir()
    (place / "live-team.0123abcd" / "other.jsonl").write_text("{}\n")
    (place / "recorded-team.0123abcd").mkdir()
    (place / "recorded-team.0123abcd" / "audit.jsonl").write_text('{"seq":1,"event":"session.started"}\n')
    (place / "live-team").mkdir()
    (place / "live-team" / "session.json").write_text("{}")
    (place / "note.01234567").write_text("a file")
    (place / "link.01234567").symlink_to(here)
    before = state(place)
    assert runcard.collect(spec, again=True).remarks == ()
    assert state(place) == before
    assert_whole(session)


def test_a_name_that_somebody_takes_meanwhile_is_not_replaced(here: Path, spec: Path) -> None:
    def take(_: Any) -> None:
        (place,) = (here / "artifacts" / ".open").iterdir()
        (here / "artifacts" / str(layout.collected_name(str(place)))).mkdir(exist_ok=True)

    with pytest.raises(StoreError, match="was created by another program meanwhile"):
        runcard.collect(spec, progress=take)
    assert list((here / "artifacts" / ".open").iterdir()) == []
    (taken,) = sessions(here / "artifacts")
    assert list(taken.iterdir()) == []


# Workspaces that change


def test_a_workspace_that_changes_all_the_time_is_collected_with_remarks(here: Path) -> None:
    workspace = here / "w"
    workspace.mkdir()
    for number in range(60):
        (workspace / f"{number:03}.txt").write_text("x" * 100_000)
    stop = threading.Event()

    def stir() -> None:
        number = 0
        while not stop.is_set():
            path = workspace / f"{number % 60:03}.txt"
            match number % 4:
                case 0:
                    path.write_text("y" * 150_000)
                case 1:
                    path.unlink(missing_ok=True)
                case 2:
                    path.open("a").close()
                    os.truncate(path, 10)
                case _:
                    path.unlink(missing_ok=True)
                    os.mkfifo(path)
            number += 7

    thread = threading.Thread(target=stir)
    thread.start()
    try:
        for _ in range(3):
            result = runcard.collect(team(instance(instance_id="a", workspace=str(workspace))))
            assert_whole(result.path)
            stored = list((result.path / "instances/a/workspace").iterdir())
            assert all(path.is_file() and not path.is_symlink() for path in stored)
    finally:
        stop.set()
        thread.join()
    assert_tidy(here / "artifacts")


def test_a_transcript_that_grows_is_kept_as_far_as_it_went(here: Path) -> None:
    log = here / "log"
    log.write_text("line\n" * 1_000_000)
    writing = program(
        "import sys\nwith open(sys.argv[1], 'a', buffering=1) as f:\n while True: f.write('more\\n'); print('go', flush=True)",
        log,
    )
    try:
        assert writing.stdout is not None
        writing.stdout.readline()
        result = runcard.collect(team(instance(instance_id="a", output=str(log))))
    finally:
        writing.kill()
        writing.communicate()
    assert_whole(result.path)
    data = document(result.path, "instances/a/metadata.json")
    assert data["output"]["lines"] >= 1_000_000
    assert "changed while it was copied" in result.omissions[0]


# Hostile ones


def test_a_hostile_workspace_is_stored_as_far_as_it_can_be(here: Path) -> None:
    workspace = here / "w"
    workspace.mkdir()
    (workspace / "good.txt").write_text("good")
    raw = os.fsencode(workspace)
    for name in (b"not-utf8-\xff.txt", b"new\nline", b"back\\slash", b"x" * 255, b"\x1b[31mred", b"-"):
        with open(os.path.join(raw, name), "wb") as file:
            file.write(b"stored")
    os.mkfifo(workspace / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(workspace / "s"))
    (workspace / "inside").symlink_to("good.txt")
    (workspace / "out").symlink_to("/etc/passwd")
    (workspace / "up").symlink_to("../outside")
    (workspace / "loop").symlink_to("loop")
    os.link(workspace / "good.txt", workspace / "hard")
    (workspace / "sparse").touch()
    os.truncate(workspace / "sparse", 8 << 40)
    spec = write_spec(here, team(instance("a|b\n\x1b[31m`c`", instance_id="a", workspace="w")))
    result = runcard.collect(spec)
    listener.close()
    assert_tidy(here / "artifacts")
    data = result.document.to_dict()
    assert {omission["path"] for omission in data["audit"]["omissions"]} == {
        "fifo",
        "s",
        "out",
        "up",
        "sparse",
    }
    assert {link["path"].rpartition("/")[2] for link in data["symlinks"]} == {"inside", "loop"}
    stored = result.path / "instances" / "a" / "workspace"
    assert (stored / "good.txt").read_text() == "good"
    assert len(list(stored.iterdir())) == 10
    assert "\x1b" not in (result.path / "summary.md").read_text()


def test_a_workspace_that_holds_the_store_itself(here: Path) -> None:
    (here / "f.txt").write_text("f")
    spec = team(instance(instance_id="a", workspace=str(here)))
    for _ in range(2):
        stored = runcard.collect(spec).path / "instances" / "a" / "workspace"
        assert [path.name for path in stored.iterdir()] == ["f.txt"]
    assert_tidy(here / "artifacts")


def test_an_empty_workspace_and_one_that_is_a_file(here: Path) -> None:
    (here / "empty").mkdir()
    (here / "file").write_text("no directory")
    result = runcard.collect(
        team(
            instance("a", instance_id="a", workspace=str(here / "empty")),
            instance("b", instance_id="b", workspace=str(here / "file"), output=str(here / "empty")),
        )
    )
    data = document(result.path, "instances/a/metadata.json")
    assert (data["workspace"]["files_count"], data["workspace"]["file_types"]) == (0, {})
    assert result.omissions[0] == "b: the workspace was not stored: it is not a directory"
    assert len(result.omissions) == 2
    assert_tidy(here / "artifacts")


def test_fifos_are_never_opened(here: Path) -> None:
    os.mkfifo(here / "fifo")
    result = runcard.collect(team(instance(output=str(here / "fifo"))))
    assert "a FIFO, not a file" in result.omissions[0]


def test_a_tree_of_any_depth_is_removed() -> None:
    with in_memory() as place:
        (place / "top").mkdir()
        folder = os.open(place / "top", os.O_RDONLY)
        for _ in range(1100):  # deeper than Python recurses, longer than a path may be
            os.mkdir("directory", dir_fd=folder)
            inner = os.open("directory", os.O_RDONLY, dir_fd=folder)
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o400, dir_fd=inner))
            os.symlink("/", "link", dir_fd=inner)
            os.fchmod(folder, 0o500)
            os.close(folder)
            folder = inner
        os.close(folder)
        remove_tree(str(place / "top"))
        assert list(place.iterdir()) == []


def test_leftovers_are_named(spec: Path, here: Path) -> None:
    dies = "import os, sys, runcard\nruncard.collect(sys.argv[1], progress=lambda _: os.kill(os.getpid(), 9))"
    with program(dies, spec) as process:
        assert process.wait(timeout=120) == -9
    (place,) = (here / "artifacts" / ".open").iterdir()
    (here / "artifacts" / str(layout.collected_name(str(place)))).mkdir()  # which some file systems need
    result = runcard.collect(spec)
    assert result.remarks == (f"removed an interrupted collection: {place}",)
    assert_tidy(here / "artifacts")
