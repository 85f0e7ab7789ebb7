"""Files that changed in the working directory and are not in the record are named on one line."""

import os
from pathlib import Path

import pytest

from child_process.commands import Done, Runner
from files.unprivileged import as_nobody, everybodys_directory
from runcard.observe import changed_files
from runcard.observe.changed_files import ChangeSearch


def note(done: Done) -> str | None:
    """What the line says; it comes before the path of the record."""
    *before, last = done.err.decode().splitlines()
    assert last.startswith("runcard: /")
    found = [line for line in before if line.startswith("Note: ")]
    assert len(found) <= 1
    return found[0].removeprefix("Note: ") if found else None


def shell(runner: Runner, script: str, *options: str) -> Done:
    return runner(*options, "--", "sh", "-c", script)


def test_changed_files_are_named(runner: Runner) -> None:
    for name in ("old.txt", "changed.txt"):
        (runner.place / name).write_text("1")
    done = shell(runner, "echo 2 > changed.txt; mkdir d; echo 3 > d/new.txt; rm -f gone; echo 1 > x; rm x")
    assert (
        note(done)
        == "2 changed files are not part of this record: changed.txt, d/new.txt; pass --output changed.txt --output d/new.txt"
    )
    assert done.document["warnings"] == []
    assert done.code == 0


def test_one_file_is_named_in_the_singular(runner: Runner) -> None:
    done = shell(runner, "echo 1 > result.json; exit 3")
    assert (done.code, note(done)) == (
        3,
        "1 changed file is not part of this record: result.json; pass --output result.json",
    )


def test_the_first_of_many_are_named(runner: Runner) -> None:
    done = shell(runner, "for n in a b c d e; do echo 1 > $n; done")
    assert (
        note(done)
        == "5 changed files are not part of this record: a, b, c, …; pass --output with a path, a directory or a quoted pattern"
    )


def test_nothing_is_said_if_nothing_changed(runner: Runner) -> None:
    (runner.place / "old.txt").write_text("1")
    assert note(shell(runner, "cat old.txt; echo 1 > $RUNCARD_RUN_DIR/a.txt")) is None


def test_nothing_is_said_with_quiet(runner: Runner) -> None:
    assert shell(runner, "echo 1 > a", "--quiet").err == b""


def test_with_output_only_the_other_files_are_named(runner: Runner) -> None:
    options = ("--output", "results", "--output", "*.json")
    script = "mkdir -p results; echo 1 > results/a; echo 1 > $(printf 'b\\377.json')"
    assert note(shell(runner, script, *options)) is None
    done = shell(runner, f"{script}; echo 1 > 'my log.txt'", *options)
    assert note(done) == "1 changed file is not part of this record: my log.txt; pass --output 'my log.txt'"


def test_the_advice_for_a_name_that_is_a_pattern_is_general(runner: Runner) -> None:
    done = shell(runner, "echo 1 > 'a[1].txt'")
    assert note(done) == (
        "1 changed file is not part of this record: a[1].txt; pass --output with a path, a directory or a quoted pattern"
    )


def test_hidden_and_generated_files_environments_and_records_are_left_out(runner: Runner) -> None:
    folders = ".git .venv .hidden node_modules __pycache__ env outputs/2026-01-01_000000 sub/.cache"
    script = f"for d in {folders}; do mkdir -p $d; echo 1 > $d/file; done; echo 1 > .dot"
    script += "; touch env/pyvenv.cfg; cd outputs/2026-01-01_000000; touch metadata.json SHA256SUMS"
    assert note(shell(runner, script)) is None


def test_a_file_of_the_user_in_the_folder_of_the_store_is_named(runner: Runner) -> None:
    done = shell(runner, "echo 1 > outputs/result.json")
    assert (
        note(done)
        == "1 changed file is not part of this record: outputs/result.json; pass --output outputs/result.json"
    )


def test_the_file_that_the_output_goes_to_is_left_out(runner: Runner) -> None:
    script = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], stdout=open('out.txt', 'w'), stderr=open('err.txt', 'w')))"
    done = runner("--quiet", "--", "python3", "-c", script, "runcard", "run", "--", "sh", "-c", "echo 1")
    assert done.code == 0
    (line,) = (runner.place / "err.txt").read_text().splitlines()
    assert line.startswith("runcard: ")


def test_names_of_any_bytes_are_escaped(runner: Runner) -> None:
    done = runner.python(r"for n in (b'a\nb', b'\x1b[31m', b'\xff'): open(n, 'w')")
    assert (
        note(done)
        == r"3 changed files are not part of this record: \x1b[31m, a\nb, \xff; pass --output with a path, a directory or a quoted pattern"
    )


def test_long_names_are_cut(runner: Runner) -> None:
    done = runner.python("open('x' * 200, 'w')")
    assert (
        note(done)
        == f"1 changed file is not part of this record: {'x' * 80}…; pass --output with a path, a directory or a quoted pattern"
    )


def test_links_and_special_files_are_not_counted(runner: Runner) -> None:
    assert note(shell(runner, "ln -s /etc/passwd a; mkfifo b; mkdir c")) is None


def test_a_file_with_an_old_time_that_is_new_here_is_named(runner: Runner) -> None:
    done = shell(runner, "cp -p /etc/passwd copied")
    assert note(done) == "1 changed file is not part of this record: copied; pass --output copied"


def test_a_working_directory_that_the_command_removes_is_no_problem(runner: Runner) -> None:
    (runner.place / "work").mkdir()
    script = "cd work && runcard run --outputs ../o -- sh -c 'cd ..; rmdir work'"
    done = runner("--quiet", "--", "sh", "-c", script)
    assert done.code == 0
    assert b"Note" not in done.err


def make_tree(place: Path, folders: int, files: int) -> os.stat_result:
    """A new directory of a run, and then files."""
    new = place / "new"
    new.mkdir()
    status = new.stat()
    for folder in range(folders):
        (place / f"d{folder}").mkdir()
        for file in range(files):
            (place / f"d{folder}" / f"f{file}").touch()
    return status


def search(place: Path, new: os.stat_result, seconds: float) -> changed_files.ChangedFiles:
    return ChangeSearch(str(place), new, skip=(), is_own=lambda _: False).run(seconds)


def test_all_files_are_found_within_the_limits(tmp_path: Path) -> None:
    found = search(tmp_path, make_tree(tmp_path, 20, 20), 60)
    assert (len(found.paths), found.is_complete) == (400, True)


def test_a_search_ends_at_the_limit_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = make_tree(tmp_path, 5, 10)
    monkeypatch.setattr(changed_files, "_MOST_ENTRIES", 20)
    found = search(tmp_path, new, 60)
    assert (len(found.paths), found.is_complete) == (10, False)  # 6 folders, and the files of the first


def test_a_search_ends_when_its_time_is_over(tmp_path: Path) -> None:
    found = search(tmp_path, make_tree(tmp_path, 5, 10), 0)
    assert found == ([], False)


def test_a_search_that_was_cut_says_at_least(runner: Runner) -> None:
    code = """
import sys
from runcard.observe import changed_files
changed_files._MOST_ENTRIES = 7
sys.argv = ["runcard", "run", "--", "sh", "-c", "mkdir d; touch a b c d/e d/f d/g d/h"]
from runcard.cli.main import main
main()
"""
    done = runner("--quiet", "--", "python3", "-c", code)
    assert (
        b"Note: at least 3 changed files are not part of this record: a, b, c; pass --output a --output b --output c\n"
        in done.err
    )


def test_a_folder_that_cannot_be_read_makes_the_search_incomplete() -> None:
    with everybodys_directory() as place:
        make_tree(place, 2, 1)
        (place / "d0").chmod(0)
        found = as_nobody(
            place,
            "print(*ChangeSearch(root, os.stat(root + '/new'), skip=(), is_own=lambda _: False).run(60))",
            "from runcard.observe.changed_files import ChangeSearch",
        )
    assert found == "['d1/f0'] False\n"


def test_another_file_system_is_not_searched(tmp_path: Path) -> None:
    new = os.stat(tmp_path)
    found = ChangeSearch("/", new, skip=(), is_own=lambda _: False).run(0.5)
    assert not [path for path in found.paths if path.startswith(("proc/", "sys/", "dev/"))]


def test_an_experiment_without_a_folder_is_pointed_out_where_others_have_one(runner: Runner) -> None:
    (runner.place / "experiments/personas").mkdir(parents=True)
    done = shell(runner, "true", "--experiment", "persona")
    assert (
        note(done)
        == "there is no folder experiments/persona, so only the name is recorded; did you mean personas?"
    )
    done = shell(runner, "true", "--experiment", "other")
    assert note(done) == "there is no folder experiments/other, so only the name is recorded"
    assert shell(runner, "true", "--experiment", "persona", "--quiet").err == b""
    done = shell(runner, "echo began >&2", "--experiment", "persona")
    assert done.err.startswith(b"Note: there is no folder")  # before the command starts


def test_a_name_alone_is_enough_where_no_experiment_has_a_folder(runner: Runner) -> None:
    assert note(shell(runner, "true", "--experiment", "persona")) is None
