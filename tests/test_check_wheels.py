"""`scripts/check_wheels.py` with a package index of three projects: what would be compiled is found, and is an error if promised."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parents[1] / "scripts" / "check_wheels.py"
ALL = (
    "manylinux_2_17_x86_64",
    "manylinux_2_28_aarch64",
    "musllinux_1_2_x86_64",
    "musllinux_1_1_aarch64",
    "macosx_10_9_x86_64",
    "macosx_11_0_arm64",
)
PYTHONS = ("311", "312", "313", "314", "315")


def wheels(
    name: str, version: str, pythons: tuple[str, ...] = PYTHONS, systems: tuple[str, ...] = ALL
) -> str:
    names = (f"{name}-{version}-cp{short}-cp{short}-{system}.whl" for short in pythons for system in systems)
    return "".join(f'<a href="../../{file}">{file}</a>\n' for file in names)


def sdist(name: str, version: str, attributes: str = "") -> str:
    return f'<a href="../../{name}-{version}.tar.gz" {attributes}>{name}-{version}.tar.gz</a>\n'


class Index:
    """A package index in files, and a project with requirements from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages: dict[str, str] = {}

    def check(
        self, requirements: list[str], pins: str, *promised: str, url: str = ""
    ) -> tuple[int, str, str]:
        for name, page in self.pages.items():
            path = self.folder / "simple" / name / "index.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"<!DOCTYPE html><html><body>{page}</body></html>")
        classifiers = [f"Programming Language :: Python :: {python}" for python in promised]
        (self.folder / "pyproject.toml").write_text(
            f"[project]\ndependencies = {requirements!r}\nclassifiers = {classifiers!r}\n"
        )
        (self.folder / "constraints.txt").write_text(f"# pins\n{pins}")
        settings = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        settings |= {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": url or (self.folder / "simple").as_uri(),
        }
        done = subprocess.run(
            [sys.executable, SCRIPT, self.folder], capture_output=True, text=True, env=settings, check=False
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path)
    index.pages = {
        "compiled": sdist("compiled", "1.0") + wheels("compiled", "1.0"),
        "pure": '<a href="../../pure-2.0-py3-none-any.whl">pure-2.0-py3-none-any.whl</a>',
    }
    return index


@contextmanager
def served(folder: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/simple"
        finally:
            server.shutdown()
            thread.join()


def test_wheels_for_every_target(index: Index) -> None:
    done = index.check(["compiled>=1", "pure"], "compiled==1.0\npure==2.0\n", "3.11", "3.14")
    assert done == (
        0,
        (
            "                                      3.11  3.12  3.13  3.14  3.15\n"
            "compiled 1.0  newest, oldest, pinned  6/6   6/6   6/6   6/6   6/6\n"
            "pure 2.0      newest, oldest, pinned  6/6   6/6   6/6   6/6   6/6\n"
            "Python 3.12 is not in the classifiers, but every wheel exists.\n"
            "Python 3.13 is not in the classifiers, but every wheel exists.\n"
            "Python 3.15 is not in the classifiers, but every wheel exists.\n"
        ),
        "",
    )


def test_the_index_is_the_one_of_pip(index: Index) -> None:
    with served(index.folder) as url:
        code, _, _ = index.check(["compiled"], "compiled==1.0\n", "3.11", url=url)
    assert code == 0


def test_a_missing_wheel_is_an_error_only_for_a_promised_python(index: Index) -> None:
    index.pages["compiled"] = wheels("compiled", "1.0", PYTHONS[:-1], ALL[1:]) + sdist("compiled", "1.0")
    code, out, err = index.check(["compiled"], "compiled==1.0\n", "3.12")
    assert code == 1
    assert err == "Error: Python 3.12: no wheel of compiled 1.0 (glibc x86_64)\n"
    assert "Python 3.11 is not in the classifiers: no wheel of compiled 1.0 (glibc x86_64)\n" in out
    assert " 5/6   5/6   5/6   5/6   0/6\n" in out
    assert index.check(["compiled"], "compiled==1.0\n")[0] == 0


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (sdist("compiled", "2.0"), "Warning: Python 3.11: no wheel of compiled 2.0 ("),
        (sdist("compiled", "2.0", 'data-yanked="broken"'), ""),
        (sdist("compiled", "2.0", 'data-requires-python="&gt;=3.15"'), ""),
        (sdist("compiled", "2.0rc1"), ""),
    ],
    ids=["newer", "yanked", "for another Python", "a release candidate"],
)
def test_a_release_after_the_pinned_one_is_a_warning(index: Index, page: str, said: str) -> None:
    """pip takes the newest release even without a wheel."""
    index.pages["compiled"] += page
    code, _, err = index.check(["compiled"], "compiled==1.0\n", "3.11")
    assert (code, err.partition("glibc")[0]) == (0, said)


def test_the_oldest_release_that_is_allowed_needs_a_wheel_for_the_oldest_python(index: Index) -> None:
    index.pages["compiled"] += sdist("compiled", "0.9")
    pins = "compiled==1.0\n"
    assert "compiled 0.9 (glibc" in index.check(["compiled"], pins, "3.11")[2]
    assert index.check(["compiled>=1"], pins, "3.11")[0] == 0
    assert index.check(["compiled"], pins, "3.12")[0] == 0


def test_a_marker_excludes_a_python_or_a_platform(index: Index) -> None:
    index.pages["compiled"] = wheels("compiled", "1.0", PYTHONS[:3], ALL[:4])
    marker = "python_version < '3.14' and sys_platform == 'linux'"
    code, out, _ = index.check([f"compiled; {marker}"], "compiled==1.0\n", "3.11", "3.15")
    assert (code, "4/4   4/4   4/4   -     -\n" in out) == (0, True)


def test_a_pin_that_is_not_allowed_is_an_error(index: Index) -> None:
    assert index.check(["compiled>=1"], "compiled==0.5\n")[::2] == (
        1,
        "Error: constraints.txt has compiled==0.5, which is not compiled>=1\n",
    )
