import json
from pathlib import Path

import pytest

from runcard.observe.program_distribution import distribution_of


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The libraries of an environment with scripts."""
    (tmp_path / "bin").mkdir()
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    return site


def install(site: Path, name: str, version: str, *files: str) -> None:
    """A distribution that lists these files, by their paths as its RECORD has them."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("".join(f"{file},sha256=x,1\n" for file in files))
    for file in files:
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/usr/bin/python3\n")


def install_editable(site: Path, name: str, version: str, project: Path, **direct_url: object) -> None:
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    origin = {"url": project.as_uri(), "dir_info": {"editable": True}, **direct_url}
    (info / "direct_url.json").write_text(json.dumps(origin))
    project.mkdir(parents=True, exist_ok=True)


def test_a_module_belongs_to_the_distribution_that_lists_it(site: Path) -> None:
    install(site, "persona", "0.9.0", "persona/__init__.py", "persona/generate.py")
    install(site, "persona_tools", "3.1", "persona/tools.py", "helpers.py")
    assert distribution_of(str(site / "persona/generate.py"), [str(site)]) == ("persona", "0.9.0")
    assert distribution_of(str(site / "persona/tools.py"), [str(site)]) == ("persona_tools", "3.1")
    assert distribution_of(str(site / "helpers.py"), ["", str(site)]) == ("persona_tools", "3.1")


def test_a_module_that_no_distribution_lists_belongs_to_none(site: Path) -> None:
    install(site, "persona", "0.9.0", "persona/__init__.py")
    assert distribution_of(str(site / "persona/__init__"), [str(site)]) is None
    assert distribution_of(str(site / "ersona/__init__.py"), [str(site)]) is None
    assert distribution_of(str(site / "other.py"), [str(site)]) is None
    assert distribution_of(str(site.parent / "generate.py"), [str(site), str(site.parent)]) is None


def test_a_module_that_two_distributions_list_belongs_to_none(site: Path) -> None:
    install(site, "persona", "0.9.0", "persona.py")
    install(site, "persona", "0.8.0", "persona.py")
    assert distribution_of(str(site / "persona.py"), [str(site)]) is None


def test_a_script_belongs_to_the_distribution_of_its_environment(site: Path, tmp_path: Path) -> None:
    install(site, "persona_cli", "2.0", "../../../bin/persona")
    link = tmp_path / "elsewhere" / "bin" / "persona"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "bin" / "persona")
    assert distribution_of(str(tmp_path / "bin" / "persona"), []) == ("persona_cli", "2.0")
    assert distribution_of(str(link), []) == ("persona_cli", "2.0")


def test_a_script_that_no_distribution_brought_belongs_to_none(site: Path, tmp_path: Path) -> None:
    install(site, "persona", "2.0", "../../../bin/persona")
    (tmp_path / "bin" / "other").touch()
    (tmp_path / "bin" / "gone").symlink_to("nowhere")
    for name in ("other", "gone", "absent"):
        assert distribution_of(str(tmp_path / "bin" / name), [str(site)]) is None


def test_a_file_of_an_editable_project_belongs_to_the_innermost_one(site: Path, tmp_path: Path) -> None:
    outer, inner = tmp_path / "my work", tmp_path / "my work" / "packages" / "persona"
    install_editable(site, "everything", "1.0", outer)
    install_editable(site, "persona", "0.9.0", inner)
    path = [str(inner / "src"), str(site)]
    assert distribution_of(str(inner / "src" / "persona" / "cli.py"), path) == ("persona", "0.9.0")
    assert distribution_of(str(outer / "generate.py"), path) == ("everything", "1.0")
    assert distribution_of(str(tmp_path / "my works" / "generate.py"), path) is None


@pytest.mark.parametrize(
    "direct_url",
    [
        {"dir_info": {}},
        {"dir_info": {"editable": 1}},
        {"dir_info": []},
        {"url": "https://x/y"},
        {"url": "file:///"},
        {"url": 1},
    ],
)
def test_a_project_that_is_not_installed_in_place_has_no_files(
    site: Path, tmp_path: Path, direct_url: dict[str, object]
) -> None:
    install_editable(site, "persona", "0.9.0", tmp_path / "project", **direct_url)
    assert distribution_of(str(tmp_path / "project" / "cli.py"), [str(site)]) is None


def test_libraries_inside_an_editable_project_are_not_its_own(site: Path, tmp_path: Path) -> None:
    install_editable(site, "persona", "0.9.0", tmp_path)
    install(site, "other", "4", "other.py")
    (site / "loose.py").touch()
    path = [str(tmp_path), str(site)]
    assert distribution_of(str(site / "other.py"), path) == ("other", "4")
    assert distribution_of(str(site / "loose.py"), path) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff"])
def test_a_broken_note_about_an_installation_says_nothing(site: Path, tmp_path: Path, data: bytes) -> None:
    install_editable(site, "persona", "0.9.0", tmp_path / "project")
    (site / "persona-0.9.0.dist-info" / "direct_url.json").write_bytes(data)
    assert distribution_of(str(tmp_path / "project" / "cli.py"), [str(site)]) is None
