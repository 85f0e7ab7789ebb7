"""The inputs of runs as they are today: `runcard verify --inputs`, and what `runcard show` says of them."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from runcard.documents.run.input_state import InputState
from runcard.observe.input_states import input_states
from runs.runs import read

MIB = 1 << 20


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with three inputs, one of them outside of the directory in which it was started."""
    project = tmp_path / "project"
    (project / "in").mkdir(parents=True)
    for path, text in (("in/a.md", "first"), ("in/b.md", "second"), ("../outside.md", "third")):
        (project / path).write_text(text)
    monkeypatch.chdir(project)
    with runcard.record("outputs", strict=True, inputs=["in/*.md", "../outside.md"]):
        pass
    return project


def run_of(project: Path) -> str:
    (run,) = (path for path in (project / "outputs").iterdir() if path.name != ".runcard")
    return str(run)


def states(run: str) -> dict[str, str]:
    (verified, *_) = runcard.verify(run, inputs=True)
    assert verified.inputs is not None
    return {os.path.basename(one.path): one.state for one in verified.inputs}


def edit(project: Path) -> None:
    (project / "in/a.md").write_text("third")  # of the same length


def remove(project: Path) -> None:
    (project / "in/a.md").unlink()


def remove_folder(project: Path) -> None:
    shutil.rmtree(project / "in")
    (project / "in").touch()


def replace_with_pipe(project: Path) -> None:
    remove(project)
    os.mkfifo(project / "in/a.md")


def replace_with_folder(project: Path) -> None:
    remove(project)
    (project / "in/a.md").mkdir()


def replace_with_loop(project: Path) -> None:
    remove(project)
    (project / "in/a.md").symlink_to("a.md")


def link_elsewhere(project: Path) -> None:
    remove(project)
    (project / "in/a.md").symlink_to("../../outside.md")


def link_to_copy(project: Path) -> None:
    (project / "in/a.md").rename(project.parent / "moved.md")
    (project / "in/a.md").symlink_to("../../moved.md")


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (edit, "changed"),
        (remove, "gone"),
        (remove_folder, "gone"),
        (replace_with_pipe, "unchecked"),
        (replace_with_folder, "unchecked"),
        (replace_with_loop, "unchecked"),
        (link_elsewhere, "changed"),
        (link_to_copy, "equal"),
    ],
)
def test_each_input_is_compared_with_the_file_of_today(
    project: Path, change: Callable[[Path], None], state: str
) -> None:
    run = run_of(project)
    assert states(run) == {"a.md": "equal", "b.md": "equal", "outside.md": "equal"}
    change(project)
    assert states(run)["a.md"] == state
    assert states(run)["outside.md"] == "equal"


def test_the_directory_of_the_start_counts_and_not_the_current_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    assert states(run_of(project))["a.md"] == "equal"


def test_a_project_that_was_moved_keeps_its_inputs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    project.rename(project.parent / "moved")
    assert states(run_of(project.parent / "moved"))["a.md"] == "equal"


def test_without_the_directory_of_the_start_relative_paths_are_unchecked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = project.parent / "x" / "y" / "z" / "copy"
    shutil.copytree(run_of(project), copy)
    monkeypatch.chdir("/")
    shutil.rmtree(project)
    document = read(copy)
    document["generation"]["directory"] = "../../no-such-folder"
    (copy / "metadata.json").write_text(json.dumps(document))
    assert states(str(copy)) == {"a.md": "unchecked", "b.md": "unchecked", "outside.md": "equal"}
    del document["generation"]["directory"]
    (copy / "metadata.json").write_text(json.dumps(document))
    assert states(str(copy))["a.md"] == "unchecked"


def test_a_changed_input_is_a_warning_and_no_change_of_the_record(project: Path, cli: Cli) -> None:
    run = run_of(project)
    good = cli("verify", run, "--inputs")
    assert (good.code, good.out.splitlines()[1]) == (0, "  inputs: 3 equal")
    edit(project)
    (project / "in/b.md").unlink()
    told = cli("verify", run, "--inputs")
    assert told.code == 2
    assert told.out.splitlines()[:2] == [
        f"{run}: intact, complete, not signed, not time-stamped",
        "  inputs: 1 changed, 1 equal, 1 gone",
    ]
    assert (
        f"Warning: {run}: the input in/a.md is not the file that was read: its content was changed"
        in told.out
    )
    assert f"Warning: {run}: the input in/b.md is gone" in told.out
    assert cli("verify", run).code == 0
    assert "inputs" not in cli("verify", run).out


def test_a_changed_record_is_an_error_beside_its_inputs(project: Path, cli: Cli) -> None:
    run = run_of(project)
    Path(run, "README.md").write_text("other")
    edit(project)
    told = cli("verify", run, "--inputs")
    assert told.code == 1
    assert "inputs: 1 changed, 2 equal" in told.out


def test_programs_get_the_state_of_each_input(project: Path, cli: Cli) -> None:
    run = run_of(project)
    assert cli("verify", run, "--inputs", "--json").code == 0
    edit(project)
    told = cli("verify", run, "--inputs", "--json")
    assert told.code == 2
    (record,) = json.loads(told.out)["records"]
    by_path = {one.pop("path"): one for one in record["inputs"]}
    assert by_path["in/a.md"] == {
        "state": "changed",
        "expected": digest(b"first"),
        "found": digest(b"third"),
    }
    assert by_path["in/b.md"]["state"] == "equal"
    assert (record["intact"], record["complete"]) == (True, True)
    assert "inputs" not in json.loads(cli("verify", run, "--json").out)["records"][0]


def test_a_run_without_inputs_and_a_session_say_so(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record("outputs", strict=True) as run:
        pass
    with runcard.Session("team-1", artifacts="artifacts") as session, session.start_instance("writer"):
        pass
    told = cli("verify", str(run.path), "artifacts", "--inputs")
    assert told.code == 0
    assert "  inputs: none recorded" in told.out.splitlines()
    assert "  inputs: a session records none" in told.out.splitlines()


def test_an_archived_run_has_its_inputs_where_they_were(project: Path) -> None:
    runcard.archive(run_of(project))
    (archive,) = (project / "outputs/archive").glob("*/*.tar.gz")
    edit(project)
    assert states(str(archive)) == {"a.md": "changed", "b.md": "equal", "outside.md": "equal"}


@pytest.mark.parametrize(
    "entry",
    [
        {"path": "a.md"},
        {"path": "a.md", "sha256": None},
        {"path": "s3://bucket/a.md", "sha256": digest(b"")},
        {"path": "/dev/zero", "sha256": digest(b"")},
        {"path": "a\0b", "sha256": digest(b"")},
        {"path": "x" * 5000, "sha256": digest(b"")},
        {"path": "a.md", "path_base64": "!", "sha256": digest(b"")},
        {"path": "\ud800", "sha256": digest(b"")},
    ],
)
def test_what_cannot_be_checked_says_why(tmp_path: Path, entry: dict[str, Any]) -> None:
    (tmp_path / "a.md").touch()
    (state,) = input_states([entry], str(tmp_path))
    assert (state.state, state.found) == ("unchecked", None)
    assert state.reason


def test_special_files_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    entries = [{"path": path, "sha256": digest(b"")} for path in ("pipe", "/dev/null", ".")]
    found = [state.reason for state in input_states(entries, str(tmp_path))]
    assert found == ["it is not a regular file"] * 3


def test_a_name_that_is_not_utf_8_is_compared(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.md")).write_text("x")
    entry = {"path": "\\xFF.md", "path_base64": "/y5tZA==", "sha256": digest(b"x")}
    (state,) = input_states([entry], str(tmp_path))
    assert state.state == "equal"


def test_no_more_is_read_than_the_limit(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"12345")
    entries = [{"path": name, "sha256": digest(b"12345")} for name in ("a", "b", "c")]
    found = [state.state for state in input_states(entries, str(tmp_path), limit=10)]
    assert found == ["equal", "equal", "unchecked"]


def test_control_characters_in_a_path_are_escaped() -> None:
    (state,) = input_states([{"path": "a\x1b[2J", "sha256": digest(b"")}], "/")
    assert state.path == "a\\x1b[2J"


def test_show_names_the_inputs_that_are_not_what_was_read(project: Path, cli: Cli) -> None:
    run = run_of(project)
    assert not any(word in cli("show", run).out for word in ("changed since", "gone:", "not checked:"))
    edit(project)
    (project / "in/b.md").unlink()
    os.truncate(project.parent / "outside.md", 65 * MIB)
    told = cli("show", run)
    assert told.code == 0
    assert "  changed since: in/a.md" in told.out.splitlines()
    assert "  gone: in/b.md" in told.out.splitlines()
    assert f"  not checked: {project.parent}/outside.md" in told.out.splitlines()
    data = json.loads(cli("show", run, "--json").out)
    assert [one["state"] for one in data["inputs"]] == ["unchecked", "changed", "gone"]


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, ", and 1 more")])
def test_show_names_a_few_of_many_inputs(project: Path, cli: Cli, count: int, more: str) -> None:
    for number in range(count):
        (project / f"in/{number}.md").touch()
    with runcard.record("outputs", strict=True, inputs=["in/[0-9].md"]) as run:
        pass
    shutil.rmtree(project / "in")
    assert f"  gone: in/0.md, in/1.md, in/2.md{more}" in cli("show", str(run.path)).out.splitlines()


def test_a_state_says_what_it_means() -> None:
    unchecked = InputState("a.md", "unchecked", reason="it cannot be read")
    assert unchecked.describe() == "the input a.md cannot be checked: it cannot be read"


@pytest.mark.skipif(not os.path.exists("/proc/self/pagemap"), reason="only Linux has these files")
def test_files_that_the_kernel_makes_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/pagemap")  # hundreds of terabytes, and its size is 0
    entries = [
        {"path": path, "sha256": "0" * 64} for path in ("/proc/self/pagemap", "link", "/proc/self/maps")
    ]
    found = input_states(entries, str(tmp_path), limit=MIB)
    assert [one.reason for one in found] == ["it is not stored: the kernel makes its content"] * 3


def test_inputs_of_a_document_that_is_not_valid_are_not_said_to_be_none(project: Path, cli: Cli) -> None:
    path = Path(run_of(project), "metadata.json")
    document = json.loads(path.read_bytes())
    del document["data_sources"]["files"][0]["path"]
    path.write_text(json.dumps(document))
    told = cli("verify", "--inputs", run_of(project))
    assert told.code == 1
    assert "inputs:" not in told.out + told.err
    (record,) = json.loads(cli("verify", "--inputs", "--json", run_of(project)).out)["records"]
    assert "inputs" not in record
