"""`runcard demo`: a newcomer's first minute, in an empty folder, with no network and no API keys."""

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from runcard.extras import install_command
from web.page_server import PageServer

VENDOR = "anthropic"


def demo(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("RUNCARD_", "ANTHROPIC_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "runcard", "demo", *arguments],
        cwd=folder,
        env=own | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def document(folder: Path) -> dict[str, object]:
    [path] = folder.glob("outputs/2*/metadata.json")
    read: dict[str, object] = json.loads(path.read_text())
    return read


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder in which the tour was made, and what it printed."""
    folder = tmp_path_factory.mktemp("tour")
    return folder, demo(folder)


@pytest.fixture
def without_vendor(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PYTHONPATH for somebody who has installed nothing but runcard; the vendor's library takes long to import."""
    folder = tmp_path_factory.mktemp("hidden")
    (folder / f"{VENDOR}.py").write_text("raise ImportError\n")
    return str(folder)


def test_the_tour_goes_from_a_record_to_a_forgery_that_is_found(
    tour: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = tour
    assert done.returncode == 0, done.stdout
    commands = [line for line in done.stdout.splitlines() if line.startswith("$ ")]
    assert [command.split()[1:3] for command in commands[:4]] == [
        ["runcard", "run"],
        ["runcard", "show"],
        ["runcard", "verify"],
        ["cp", "-r"],
    ]
    assert "intact, complete" in done.stdout
    assert "personas/ada.json: the file was changed [changed]" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith("$")) <= 130
    told = document(folder)
    assert told["costs"]["total_cost_usd"] > 0  # type: ignore[index]
    assert told["costs"]["token_source"] == "reported"  # type: ignore[index]  # noqa: S105 - where they come from
    assert told["token_usage"]["breakdown_by_model"][0]["calls"] == 2  # type: ignore[index]


def test_what_it_tells_to_type_works(tour: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = tour
    [check] = re.findall(r"^\$ (\(cd outputs.*\))   #", done.stdout, re.MULTILINE)
    checked = subprocess.run(["bash", "-c", check], cwd=folder, capture_output=True, text=True, check=True)
    assert "personas/ada.json: OK" in checked.stdout


def test_what_it_made_up_is_in_no_sum_of_the_user(tmp_path: Path) -> None:
    """Its store is not among those of the user, and neither is its catalog."""
    (tmp_path / "home").mkdir()
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": ""}
    assert demo(tmp_path, "there", **home).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "runcard", "ls"],
        cwd=tmp_path,
        env=os.environ | home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr.startswith("no records yet")) == ("", True)


def test_it_ends_with_the_page(tour: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = tour
    last = done.stdout.splitlines()[-1]
    assert last.endswith(" serve   # the page: these records in your browser")
    program = last.removeprefix("$ ").partition(" serve ")[0]
    assert program.startswith("RUNCARD_CATALOG=catalog.db ")  # the user's own has none of it
    with PageServer(folder, program=["env", *shlex.split(program)]) as server:
        asked = Request(f"{server.url}/api/runs", headers={"authorization": f"Bearer {server.token}"})  # noqa: S310 - on this machine
        answer = urlopen(asked)  # noqa: S310
        assert json.load(answer)["total"] == 2  # with the forged one
        answer.close()


def test_without_the_packages_of_the_page_it_says_how_to_install_them(
    tmp_path: Path, without_vendor: str
) -> None:
    Path(without_vendor, "sitecustomize.py").write_text("import sys\nsys.modules['uvicorn'] = None\n")
    done = demo(tmp_path, PYTHONPATH=without_vendor)
    install, serve = done.stdout.splitlines()[-2:]
    assert install == f"$ {install_command('web')}   # what the page needs"
    assert serve.endswith(" serve   # the page: these records in your browser")


def test_it_works_without_the_vendors_library(tmp_path: Path, without_vendor: str) -> None:
    done = demo(tmp_path, "there", PYTHONPATH=without_vendor)
    assert done.returncode == 0, done.stdout
    assert document(tmp_path / "there")["costs"]["total_cost_usd"] > 0  # type: ignore[index]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = demo(tmp_path, ".")
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "Error: . is not empty")
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_without_a_name_it_makes_a_folder_beside_what_is_there(tmp_path: Path, without_vendor: str) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = demo(tmp_path, PYTHONPATH=without_vendor)
    assert done.returncode == 0, done.stdout
    assert sorted(os.listdir(tmp_path)) == ["mine.txt", "runcard-demo"]
    assert "$ cd runcard-demo" in done.stdout


def test_on_a_terminal_it_has_colours(tmp_path: Path, without_vendor: str) -> None:
    master, slave = pty.openpty()
    own = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    child = subprocess.Popen(
        [sys.executable, "-m", "runcard", "demo"],
        cwd=tmp_path,
        env=own | {"TERM": "xterm", "COLUMNS": "80", "PYTHONPATH": without_vendor},
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    seen = bytearray()
    with contextlib.suppress(OSError):  # what Linux says when nobody is at the other end any more
        while data := os.read(master, 65536):
            seen += data
    os.close(master)
    assert child.wait(60) == 0, seen.decode()
    assert b"\x1b[1m" in seen


def test_the_examples_are_copied(tmp_path: Path) -> None:
    done = demo(tmp_path, "--examples")
    assert done.returncode == 0, done.stdout
    there = Path(__file__).parents[2] / "examples"
    names = sorted(path.name for path in there.iterdir() if path.is_file())
    checks = sorted(path.name for path in (there / "verify-run").iterdir() if path.is_file())
    assert {"check_signature.sh", "verify_run.mjs"} <= set(checks)
    assert done.stdout.splitlines() == [
        *(f"runcard-examples/{name}" for name in names),
        *(f"runcard-examples/verify-run/{name}" for name in checks),
    ]
    assert (tmp_path / "runcard-examples/team.json").read_bytes() == (there / "team.json").read_bytes()
    assert demo(tmp_path, "--examples").returncode == 1  # nothing is overwritten


def test_the_examples_of_an_installed_package_are_copied_without_the_cache_of_pip(tmp_path: Path) -> None:
    project = Path(__file__).parents[2]
    installed = tmp_path / "site/runcard"
    shutil.copytree(project / "examples", installed / "examples")
    (installed / "examples/__pycache__").mkdir(exist_ok=True)
    (installed / "examples/__pycache__/check_journal.cpython-311.pyc").touch()
    for part in (project / "src/runcard").iterdir():
        (installed / part.name).symlink_to(part)
    done = demo(tmp_path, "--examples", PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 0, done.stdout
    assert "runcard-examples/check_journal.py" in done.stdout.splitlines()
    assert "__pycache__" not in done.stdout
    assert not (tmp_path / "runcard-examples/__pycache__").exists()
