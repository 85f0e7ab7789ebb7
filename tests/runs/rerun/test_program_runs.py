"""Runs that a program recorded itself, run again: each is compared with its counterpart, and nothing is made by surprise."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attacks.test_rerun import on_terminal
from runs.rerun.projects import once, runcard
from runs.runs import read

LOOP = """
import os, signal
import runcard

store = os.environ.get("STORE") or None
for number in range(int(os.environ.get("COUNT", "3"))):
    model = "gpt-4o-mini" if number or "PRICED" in os.environ else "a-model-of-our-own"
    config = {"number": number, "size": os.environ.get("SIZE", "small")}
    with runcard.record(store, model=model, config=config) as run:
        (run.path / "personas.json").write_text(f"[{number}]{os.environ.get('TEXT', '')}\\n")
        run.add_usage({"input_tokens": 1000, "output_tokens": 10})
        if str(number) == os.environ.get("DIE"):
            os.kill(os.getpid(), signal.SIGKILL)
print("printed")
"""


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workshop")


@pytest.fixture
def project(workshop: Path) -> Path:
    """A new project, at the same place for all tests."""
    shutil.rmtree(workshop / "project", ignore_errors=True)
    (workshop / "project").mkdir()
    (workshop / "project" / "loop.py").write_text(LOOP)
    return workshop / "project"


def python(project: Path, *arguments: str, **variables: str) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("RUNCARD_")}
    command = [sys.executable, *(arguments or ["loop.py"])]
    subprocess.run(
        command, cwd=project, env=own | variables, timeout=120, check=True, stdout=subprocess.DEVNULL
    )


def all_runs(store: Path) -> list[Path]:
    runs = [path for path in store.glob("2*") if path.is_dir()]
    return sorted(runs, key=lambda path: read(path)["generation"]["timestamp_start"])


def recorded(project: Path, count: int = 3, store: str = "outputs", **variables: str) -> list[Path]:
    """Run the program; the runs that it recorded."""
    before = set(all_runs(project / store))
    if os.listdir(project) == ["loop.py"] and not variables and (project / "loop.py").read_text() == LOOP:
        once(project, f"runs {count}", lambda: python(project, COUNT=str(count)))
    else:
        python(project, COUNT=str(count), **variables)
    new = [path for path in all_runs(project / store) if path not in before]
    assert len(new) == count
    return new


def report(project: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    done = runcard(project, "rerun", "--json", *arguments, **variables)
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded | {"exit": done.returncode}


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def parents(run: Path) -> list[str]:
    return [relation["id"] for relation in read(run)["relations"] if relation["type"] == "parent"]


def test_the_run_that_the_program_records_is_compared(project: Path) -> None:
    [first] = recorded(project, 1)
    before = contents(first)
    done = runcard(project, "rerun", os.path.relpath(first, project), COUNT="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"runcard: command: {sys.executable} loop.py\n"
    assert "  same     personas.json" in done.stdout.splitlines()
    assert "gone" not in done.stdout
    assert contents(first) == before
    _, command, again = all_runs(project / "outputs")
    assert f"\nBefore  {first}\nNow     {again}\n" in done.stdout
    own = f"This rerun has a record of its own, with the output of the program: {command}"
    assert own in done.stdout.splitlines()
    assert parents(again) == [read(command)["generation"]["run_id"]]
    [origin] = read(command)["relations"]
    assert (origin["type"], origin["id"]) == ("derived-from", read(first)["generation"]["run_id"])
    assert read(command)["configuration"] == {"model": None, "provider": None}


def test_what_the_program_does_differently_is_reported(project: Path) -> None:
    [first] = recorded(project, 1)
    done = runcard(project, "rerun", str(first), COUNT="1", TEXT="!", SIZE="large", PRICED="1")
    assert done.returncode == 2
    for line in (
        "  differs  personas.json",
        "    +[0]!",
        "  size: small → large",
        "  model: a-model-of-our-own → gpt-4o-mini",
        "  models called: a-model-of-our-own → gpt-4o-mini",
    ):
        assert line in done.stdout.splitlines()


def test_only_another_configuration_is_a_difference_too(project: Path) -> None:
    [first] = recorded(project, 1)
    told = report(project, str(first), COUNT="1", SIZE="large")
    assert (told["identical"], told["exit"]) == (True, 2)
    assert told["configuration"] == {"size": {"before": "small", "now": "large"}}
    assert told["models"] == {"before": ["a-model-of-our-own"], "now": ["a-model-of-our-own"]}


@pytest.mark.parametrize(("variables", "cost"), [({"PRICED": "1"}, "$0.000468"), ({}, "≥ $0.000312")])
def test_a_program_that_recorded_several_runs_is_not_run_unasked(
    project: Path, variables: dict[str, str], cost: str
) -> None:
    runs = recorded(project, 3, "outputs", **variables)
    done = runcard(project, "rerun", str(runs[1]))
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.splitlines()[1:] == [
        f"runcard: it recorded 3 runs (last cost {cost}) and will record all of them again; this is number 2",
        "Error: the program will record all 3 runs again, and there is no terminal to confirm on",
        "  hint: pass --yes to compare only this run, or --all to compare every run",
    ]
    assert all_runs(project / "outputs") == runs


def test_a_cost_that_is_not_known_is_not_zero(project: Path) -> None:
    text = LOOP.replace("run.add_usage(", "dict(")
    (project / "loop.py").write_text(text)
    done = runcard(project, "rerun", "--dry-run", str(recorded(project)[0]))
    assert "records     3 runs (last cost unknown): asks first, or needs --yes or --all" in done.stdout


def test_yes_compares_the_run_that_was_named(project: Path) -> None:
    runs = recorded(project)
    told = report(project, "--yes", str(runs[1]))
    assert told["exit"] == 0
    assert told["old"]["path"] == str(runs[1])
    assert read(Path(told["new"]["path"]))["configuration"]["number"] == 1
    assert told["outputs"]["same"] == ["personas.json"]
    assert told["program_runs"] == {"before": 3, "now": 3, "gone": [], "added": []}
    assert told["others"] == []


def test_all_compares_every_run(project: Path) -> None:
    runs = recorded(project)
    told = report(project, "--all", str(runs[1]), TEXT="!")
    assert told["exit"] == 2
    comparisons = [told, *told["others"]]
    assert sorted(each["old"]["path"] for each in comparisons) == sorted(map(str, runs))
    for each in comparisons:
        old, new = (read(Path(each[side]["path"])) for side in ("old", "new"))
        assert old["configuration"] == new["configuration"]
        assert [file["path"] for file in each["outputs"]["differing"]] == ["personas.json"]
    done = runcard(project, "rerun", "--all", str(runs[1]))
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("  same     personas.json") == 3
    assert "Runs of the program: 3 before, 3 now" in done.stdout.splitlines()


def test_all_warns_about_other_runs_that_were_changed(project: Path) -> None:
    runs = recorded(project)
    (runs[2] / "personas.json").write_text("forged")
    done = runcard(project, "rerun", "--all", str(runs[1]))
    assert done.returncode == 2
    assert f"Warning: {runs[2]} fails verification: " in done.stderr


@pytest.mark.parametrize(("answer", "ran"), [(b"n\n", False), (b"y\n", True)])
def test_on_a_terminal_the_user_is_asked_before_several_runs(
    project: Path, answer: bytes, *, ran: bool
) -> None:
    runs = recorded(project)
    code, seen = on_terminal(project, "rerun", str(runs[0]), answer=answer)
    assert f"Record all 3 runs again, with this command, in {project}?" in seen
    assert (code, len(all_runs(project / "outputs"))) == ((0, 7) if ran else (1, 3))


def test_all_does_not_agree_to_a_strangers_command(project: Path, tmp_path: Path) -> None:
    runs = recorded(project)
    shutil.copytree(project, tmp_path / "fork")
    done = runcard(tmp_path / "fork", "rerun", "--all", f"outputs/{runs[0].name}")
    assert done.returncode == 64
    assert done.stderr.endswith("  hint: read the command; to run it, pass --yes\n")
    assert len(all_runs(tmp_path / "fork" / "outputs")) == 3


def test_a_program_that_records_fewer_runs_now(project: Path) -> None:
    runs = recorded(project)
    told = report(project, "--yes", str(runs[0]), COUNT="2")
    assert told["exit"] == 2
    assert told["program_runs"] == {"before": 3, "now": 2, "gone": [str(runs[2])], "added": []}
    missing = runcard(project, "rerun", "--yes", str(runs[2]), COUNT="2")
    assert missing.returncode == 1
    assert "Error: the program recorded no counterpart of this run: " in missing.stderr
    nothing = report(project, "--yes", str(runs[2]), COUNT="0")
    assert (nothing["exit"], nothing["old"]["path"], nothing["new"]) == (1, str(runs[2]), None)


def test_a_program_that_records_more_runs_now(project: Path) -> None:
    runs = recorded(project, 1)
    told = report(project, str(runs[0]), COUNT="3")
    assert (told["exit"], told["program_runs"]["now"]) == (2, 3)
    assert len(told["program_runs"]["added"]) == 2
    assert told["identical"]


def test_a_program_that_dies_half_way(project: Path) -> None:
    runs = recorded(project)
    told = report(project, "--all", str(runs[0]), DIE="1")
    assert told["exit"] == 1
    assert told["command"]["exit_code"] == 137
    assert (told["new"]["status"], told["identical"]) == ("completed", True)
    assert [each["new"]["status"] for each in told["others"]] == ["interrupted"]
    assert told["program_runs"]["gone"] == [str(runs[2])]


def test_the_exit_code_of_a_program_that_fails_after_its_runs_is_shown(project: Path) -> None:
    (run,) = recorded(project, 1)
    with (project / "loop.py").open("a") as program:
        program.write("raise SystemExit(9)\n")
    done = runcard(project, "rerun", str(run), COUNT="1")
    assert done.returncode == 1
    assert "Exit code of the program: 9" in done.stdout.splitlines()


def test_a_run_list_that_is_a_fifo_stops_no_program(project: Path) -> None:
    os.mkfifo(project / "fifo")
    assert len(recorded(project, 1, RUNCARD_RUN_LIST=str(project / "fifo"))) == 1


def test_runs_in_a_store_that_the_program_chose(project: Path) -> None:
    runs = recorded(project, store="other", STORE="other")
    told = report(project, "--yes", str(runs[2]), STORE=str(project / "third"))
    assert told["exit"] == 0
    assert Path(told["new"]["path"]).parent == project / "third"
    assert Path(told["command"]["path"]).parent == project / "other"


def test_the_given_store_is_also_that_of_the_programs_runs(project: Path) -> None:
    [run] = recorded(project, 1)
    told = report(project, "--outputs", "again", str(run), COUNT="1")
    assert Path(told["new"]["path"]).parent == project / "again"
    assert all_runs(project / "outputs") == [run]


def test_an_archived_run_and_its_archived_siblings(project: Path) -> None:
    runs = recorded(project)
    assert runcard(project, "archive", *map(str, runs)).returncode == 0
    refused = runcard(project, "rerun", runs[1].name)
    assert "it recorded 3 runs" in refused.stderr
    assert (told := report(project, "--yes", runs[1].name))["exit"] == 0, told
    assert told["outputs"]["same"] == ["personas.json"]


def test_what_a_rerun_recorded_can_be_run_again(project: Path) -> None:
    [run] = recorded(project, 1)
    told = report(project, str(run), COUNT="1")
    again = report(project, told["new"]["path"], COUNT="1")
    assert (again["exit"], again["program_runs"]["before"]) == (0, 1)
    command = report(project, told["command"]["path"], COUNT="1")
    assert command["old"]["path"] == told["command"]["path"]
    assert command["outputs"]["same"] == ["output.log"]


def test_the_command_around_a_program_is_compared_with_itself(project: Path) -> None:
    runcard(project, "run", "--", sys.executable, "loop.py")
    outer, *inner = all_runs(project / "outputs")
    done = runcard(project, "rerun", str(outer))
    assert done.returncode == 0, done.stderr
    assert "runcard: it recorded 3 runs (last cost ≥ $0.000312) and will record them again" in done.stderr
    assert "  same     output.log" in done.stdout
    assert "personas.json" not in done.stdout
    told = report(project, "--all", str(outer))
    assert sorted(each["old"]["path"] for each in told["others"]) == sorted(map(str, inner))
    assert report(project, "--yes", str(inner[0]))["exit"] == 0


def test_readme_names_the_command_that_works_in_the_directory_of_the_run(project: Path) -> None:
    [run] = recorded(project, 1)
    assert "```console\n$ runcard rerun .\n```" in (run / "README.md").read_text()
    before = contents(run)
    done = runcard(run, "rerun", ".", COUNT="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"runcard: running in {project}, where it ran before: ")
    assert contents(run) == before
    assert len(all_runs(project / "outputs")) == 3


def test_nothing_runs_inside_of_a_record_whose_directory_is_not_known(project: Path, tmp_path: Path) -> None:
    [run] = recorded(project, 1)
    shutil.copytree(run, tmp_path / "copy")
    before = contents(tmp_path / "copy")
    done = runcard(tmp_path / "copy", "rerun", "--yes", ".")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "Error: a command cannot run inside of a record, and where this one ran is not known for certain",
        f"  hint: change to the directory of its program, then: runcard rerun {tmp_path / 'copy'}",
    ]
    assert contents(tmp_path / "copy") == before


def test_an_imported_run_of_a_program(project: Path, tmp_path: Path) -> None:
    runs = recorded(project)
    bundle = ("export", str(runs[1]), "--to", "bundle", "--output", "run.tar.gz")
    assert runcard(project, *bundle).returncode == 0
    path = runcard(tmp_path, "import-bundle", str(project / "run.tar.gz"), "theirs").stdout.strip()
    told = report(tmp_path / "theirs", "--yes", str(tmp_path / path))
    assert (told["identical"], told["program_runs"]["now"]) == (True, 3)
    assert told["configuration"] == {}


WORKERS = """
import multiprocessing, sys
import runcard

def work(number):
    with runcard.record(config={"number": number}) as run:
        (run.path / "personas.json").write_text(f"{number}")

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(work, range(4), 1)
"""


def test_the_runs_of_forked_workers_belong_to_one_program(project: Path) -> None:
    (project / "workers.py").write_text(WORKERS)
    python(project, "workers.py", "fork")
    runs = all_runs(project / "outputs")
    assert "it recorded 4 runs" in runcard(project, "rerun", str(runs[0])).stderr
    told = report(project, "--all", str(runs[0]))
    assert (told["exit"], len(told["others"])) == (0, 3)


def test_the_run_of_a_worker_that_was_not_forked_says_that_it_cannot_be_run(project: Path) -> None:
    (project / "workers.py").write_text(WORKERS)
    python(project, "workers.py", "spawn")
    run = all_runs(project / "outputs")[0]
    done = runcard(project, "rerun", str(run))
    assert done.returncode == 1
    assert "was recorded in a worker process of multiprocessing" in done.stderr
    assert "runcard rerun" not in (run / "README.md").read_text()


def test_a_program_from_standard_input_says_that_it_cannot_be_run(project: Path) -> None:
    code = b"import runcard\nwith runcard.record(): pass\n"
    subprocess.run([sys.executable, "-"], input=code, cwd=project, check=True, timeout=60)
    [run] = all_runs(project / "outputs")
    done = runcard(project, "rerun", str(run))
    assert done.returncode == 1
    assert "there is no file to run" in done.stderr
    assert "runcard rerun" not in (run / "README.md").read_text()


# What Jupyter starts, without Jupyter: a kernel, and the command that runs a notebook in one.
KERNEL = """
import sys, types

class Shell:
    kernel = object()
    user_ns = {}

sys.modules["IPython"] = types.SimpleNamespace(get_ipython=Shell)
exec(open("cells.py").read())
"""


@pytest.fixture
def notebook(project: Path, tmp_path: Path) -> dict[str, str]:
    """A notebook with its kernel; the variables that put `jupyter execute` on the path."""
    (project / "ipykernel_launcher.py").write_text(KERNEL)
    (project / "cells.py").write_text(LOOP)
    (project / "analysis.ipynb").write_text("{}")
    (tmp_path / "bin").mkdir()
    for name in ("jupyter", "jupyter-execute"):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\nexec {sys.executable} -m ipykernel_launcher -f another.json\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "COUNT": "1"}


def record_notebook(project: Path, **variables: str) -> Path:
    python(project, "-m", "ipykernel_launcher", "-f", "kernel.json", COUNT="1", **variables)
    [run] = all_runs(project / "outputs")
    return run


def test_a_notebook_whose_file_is_known_is_run(project: Path, notebook: dict[str, str]) -> None:
    run = record_notebook(project, JPY_SESSION_NAME=str(project / "analysis.ipynb"))
    assert read(run)["generation"]["notebook"] == "analysis.ipynb"
    page = (run / "README.md").read_text()
    assert "$ runcard rerun .\n" in page
    assert "It runs the notebook `analysis.ipynb` with `jupyter execute`" in page
    done = runcard(project, "rerun", str(run), **notebook)
    assert done.returncode == 0, done.stderr
    assert "runcard: command: jupyter execute analysis.ipynb" in done.stderr
    assert "  same     personas.json" in done.stdout
    assert read(all_runs(project / "outputs")[-1])["generation"]["notebook"] == "analysis.ipynb"
    (project / "analysis.ipynb").unlink()
    gone = runcard(project, "rerun", str(run), **notebook)
    assert (gone.returncode, "which is not in this directory" in gone.stderr) == (1, True)


def test_a_notebook_that_cannot_be_run_says_why(project: Path, notebook: dict[str, str]) -> None:
    run = record_notebook(project, JPY_SESSION_NAME="nowhere.ipynb")
    assert "notebook" not in read(run)["generation"]
    assert "which is not known. Run its cells again" in (run / "README.md").read_text()
    done = runcard(project, "rerun", str(run), **notebook)
    assert done.returncode == 1
    assert "was recorded in a notebook whose file is not known" in done.stderr


def test_without_jupyter_a_notebook_is_not_run(project: Path, notebook: dict[str, str]) -> None:
    run = record_notebook(project, JPY_SESSION_NAME=str(project / "analysis.ipynb"))
    done = runcard(project, "rerun", str(run), PATH="/usr/bin:/bin", COUNT=notebook["COUNT"])
    assert done.returncode == 1
    assert "`jupyter execute` is not installed" in done.stderr
