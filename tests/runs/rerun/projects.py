"""A small project whose program makes files, and the commands that a person would type in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PROGRAM = """
import os, pathlib, sys
made = pathlib.Path(os.environ["RUNCARD_RUN_DIR"])
text = pathlib.Path("in/a.md").read_text()
(made / "same.txt").write_text("the same\\n")
(made / "copy.txt").write_text(f"first\\n{text}last\\n")
print("printed", len(text))
sys.exit(int(os.environ.get("FAIL", "0")))
"""


def once(project: Path, name: str, record: Callable[[], object]) -> None:
    """Record in a new project, or put back what was recorded at that place for another test: a record has paths in it."""
    kept, home = project.parent / name, Path(os.environ["HOME"])
    if kept.exists():
        shutil.rmtree(project)
        shutil.rmtree(home)
        copies = [(kept / "project", project), (kept / "home", home)]
    else:
        record()
        kept.mkdir()
        copies = [(project, kept / "project"), (home, kept / "home")]
    for source, target in copies:
        subprocess.run(["cp", "-a", source, target], check=True)


def make_project(folder: Path) -> None:
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.md").write_text("hello\n")
    (folder / "make.py").write_text(PROGRAM)


def runcard(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("RUNCARD_", "TRACEPARENT"))
    }
    return subprocess.run(
        [sys.executable, "-m", "runcard", *arguments],
        cwd=folder,
        env=own | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def record(folder: Path, *options: str, **variables: str) -> Path:
    """Run the program of a project; the directory of the run."""
    done = runcard(
        folder, "run", "--input", "in/*.md", *options, "--", sys.executable, "make.py", **variables
    )
    *_, line = [line for line in done.stderr.splitlines() if line.startswith("runcard: ")]
    return Path(line.removeprefix("runcard: "))
