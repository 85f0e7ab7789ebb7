"""The command that installs an extra: pasted into a shell, it works, however runcard was installed."""

import json
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest

from new_shell import typed
from runcard import extras

ROOT = Path(__file__).parents[1]
EDITABLE = {"url": "file:///src/a%20b", "dir_info": {"editable": True}}
GIT = {"url": "https://example.org/r.git", "vcs_info": {"vcs": "git", "commit_id": "4be1"}}


class Distribution(NamedTuple):
    """The metadata of runcard, installed from elsewhere."""

    origin: str | None
    requires: list[str] | None = metadata.requires("runcard")

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.origin


def installed(monkeypatch: pytest.MonkeyPatch, origin: object) -> None:
    text = None if origin is None else json.dumps(origin)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Distribution(text))


def prefix(monkeypatch: pytest.MonkeyPatch, folder: Path, *files: str) -> None:
    for name in files:
        (folder / name).touch()
    monkeypatch.setattr(sys, "prefix", str(folder))


def test_a_folder_is_installed_from_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a {b}").mkdir()
    origin = {"url": f"file://{tmp_path}/a%20%7Bb%7D", "dir_info": {}}
    installed(monkeypatch, origin)
    python = shlex.quote(sys.executable)
    assert extras.install_command("web") == f"{python} -m pip install '{tmp_path}/a {{b}}[web]'"
    installed(monkeypatch, origin | {"dir_info": {"editable": True}})
    assert extras.install_command("web") == f"{python} -m pip install --editable '{tmp_path}/a {{b}}[web]'"


@pytest.mark.parametrize("origin", [None, EDITABLE], ids=["no origin", "a folder that is gone"])
def test_without_its_origin_the_packages_are_named(monkeypatch: pytest.MonkeyPatch, origin: object) -> None:
    installed(monkeypatch, origin)
    *start, first, second = shlex.split(extras.install_command("ruby"))
    names = {first.partition(">")[0], second.partition(">")[0]}
    assert start == [sys.executable, "-m", "pip", "install"]
    assert names == {"tree-sitter", "tree-sitter-ruby"}


def test_a_source_that_was_never_installed_is_named_as_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> Distribution:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.distribution", nothing)
    assert shlex.split(extras.install_command("web"))[-1] == "runcard[web]"


def test_a_commit_and_an_archive_are_installed_from_again(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, GIT)
    wanted = "runcard[sign] @ git+https://example.org/r.git@4be1"
    assert shlex.split(extras.install_command("sign"))[-1] == wanted
    installed(monkeypatch, {"url": "https://example.org/r.whl", "archive_info": {}})
    assert shlex.split(extras.install_command("sign"))[-1] == "runcard[sign] @ https://example.org/r.whl"


def test_a_tool_that_manages_the_environment_is_told_of_all_extras(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, GIT)
    monkeypatch.setattr(extras, "MODULES", {"sign": ("os",), "mcp": ("no_such",), "web": ("no.such",)})
    prefix(monkeypatch, tmp_path, "pipx_metadata.json")
    wanted = "'runcard[sign,web] @ git+https://example.org/r.git@4be1'"
    assert extras.install_command("web") == f"pipx install --force {wanted}"
    (tmp_path / "pipx_metadata.json").rename(tmp_path / "uv-receipt.toml")
    assert extras.install_command("web") == f"uv tool install --force {wanted}"


def test_an_environment_without_pip_gets_the_packages_from_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    assert extras.pip_command("pandas") == f"uv pip install --python {shlex.quote(sys.executable)} pandas"


def test_the_error_names_the_package_and_the_extra() -> None:
    error = extras.missing_package("the page needs", "uvicorn", "web")
    assert error.message == "the page needs the package uvicorn, which is not installed"
    assert error.hint == f"install the extra web: {extras.install_command('web')}"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", ["install", "install --editable"])
def test_the_printed_command_installs_the_extra(tmp_path: Path, home: Path, how: str) -> None:
    clone, environment = tmp_path / "a clone", tmp_path / "an environment"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    binaries = shlex.quote(str(environment / "bin"))
    typed(f"{binaries}/python -m pip {how} {shlex.quote(str(clone))}", home, home)
    refused = typed(f"{binaries}/runcard keygen --output key.pem", home, home, code=1)
    [hint] = [line for line in refused.splitlines() if "hint: " in line]
    typed(hint.partition("install the extra sign: ")[2], home, home)
    typed(f"{binaries}/runcard keygen --output key.pem", home, home)
    origin = typed(f"{binaries}/python -c 'import runcard; print(runcard.__file__)'", home, home)
    assert origin.startswith(str(clone)) == ("--editable" in how)
