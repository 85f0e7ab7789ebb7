import os
import sys
from pathlib import Path

import pytest

from runcard.observe.packages import packages


def folder(path: Path, *entries: str) -> str:
    for entry in entries:
        (path / entry).mkdir(parents=True)
    return str(path)


def test_names_are_normalised_and_sorted(tmp_path: Path) -> None:
    place = folder(
        tmp_path / "site",
        *("PyYAML-6.0.3.dist-info", "ruamel.yaml-0.18.dist-info", "charset_normalizer-3.5.2.dist-info"),
        *(
            "zope__interface-1!2.0+local.1.dist-info",
            "anthropic-0.80.0.dist-info",
            "foo-bar-1.0rc1.dist-info",
        ),
    )
    assert packages([place]) == {
        "anthropic": "0.80.0",
        "charset-normalizer": "3.5.2",
        "foo-bar": "1.0rc1",
        "pyyaml": "6.0.3",
        "ruamel-yaml": "0.18",
        "zope-interface": "1!2.0+local.1",
    }
    assert list(packages([place])) == sorted(packages([place]))


def test_older_forms_are_read_too(tmp_path: Path) -> None:
    place = folder(
        tmp_path / "site",
        *("six-1.16.0.egg-info", "numpy-1.26-py3.11.egg-info", "lxml-5.0-py3.11-linux-x86_64.egg-info"),
    )
    egg = folder(tmp_path / "old-2.0-py3.11.egg", "EGG-INFO")
    assert packages([place, egg]) == {"lxml": "5.0", "numpy": "1.26", "old": "2.0", "six": "1.16.0"}


def test_an_egg_that_is_not_on_the_path_is_not_there(tmp_path: Path) -> None:
    assert packages([folder(tmp_path, "old-2.0-py3.11.egg")]) == {}


def test_the_first_on_the_path_wins(tmp_path: Path) -> None:
    first, second = (
        folder(tmp_path / "1", "x-2.0.dist-info"),
        folder(tmp_path / "2", "X-1.0.dist-info", "y-1.dist-info"),
    )
    assert packages([first, second, first]) == {"x": "2.0", "y": "1"}
    assert packages([second, first]) == {"x": "1.0", "y": "1"}


def test_two_versions_in_one_place_are_none(tmp_path: Path) -> None:
    place = folder(tmp_path / "1", "x-1.0.dist-info", "x-2.0.dist-info", "x-3.0.dist-info")
    assert packages([place, folder(tmp_path / "2", "x-4.0.dist-info")]) == {"x": None}


def test_an_editable_installation_is_asked_for_its_version(tmp_path: Path) -> None:
    place = folder(tmp_path, "my_tool.egg-info", "other.dist-info")
    (tmp_path / "my_tool.egg-info/PKG-INFO").write_text(
        "Metadata-Version: 2.1\nName: My.Tool\nVersion: 1.2\n\nVersion: 9\n"
    )
    (tmp_path / "other.dist-info/METADATA").write_text("Name:other\r\nVersion:\t3\r\n")
    (tmp_path / "single.egg-info").write_text("Name: single\nVersion: 4-beta\n")
    assert packages([place]) == {"my-tool": "1.2", "other": "3", "single": "4-beta"}


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "Name: x\n",
        "Version: 1\n",
        "Name: x y\nVersion: 1\n",
        "Name: x\nVersion: \x1b[2J\n",
        "Name: x\n\nVersion: 1\n",
    ],
)
def test_what_states_no_name_and_version_is_left_out(metadata: str, tmp_path: Path) -> None:
    place = folder(tmp_path, "x.dist-info")
    (tmp_path / "x.dist-info/METADATA").write_text(metadata)
    assert packages([place]) == {}


def test_leftovers_and_strangers_are_left_out(tmp_path: Path) -> None:
    place = folder(tmp_path, "~ip-23.0.dist-info", "plain", "a-b-c", "empty.dist-info", "x-\udcff.dist-info")
    assert packages([place]) == {}


def test_paths_that_are_no_folders_are_passed_over(tmp_path: Path) -> None:
    archive = tmp_path / "python311.zip"
    archive.write_bytes(b"PK")
    assert packages([str(archive), str(tmp_path / "gone"), "nul\0byte"]) == {}


def test_what_is_no_text_is_passed_over_as_imports_do(tmp_path: Path) -> None:
    folder(tmp_path, "x-1.0.dist-info")
    assert packages([tmp_path, None, bytes(tmp_path)]) == {}


def test_this_interpreter_has_pytest() -> None:
    assert packages(sys.path)["pytest"] == pytest.__version__


def test_an_empty_entry_means_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder(tmp_path, "x-1.0.dist-info"))
    assert packages([""]) == {"x": "1.0"}


def test_a_folder_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that records many runs has the same packages in most of them."""
    monkeypatch.setattr("runcard.observe.packages._UNSETTLED", -3600.0)  # the folder is new
    reads: list[str] = []
    list_names = os.listdir

    def counted(place: str) -> list[str]:
        reads.append(place)
        return list_names(place)

    monkeypatch.setattr(os, "listdir", counted)
    place = folder(tmp_path / "site", "one-1.0.dist-info")
    os.utime(place, (1, 1))
    assert [packages([place]), packages([place])] == [{"one": "1.0"}] * 2
    assert reads == [place]
    (tmp_path / "site/one-1.0.dist-info").rename(tmp_path / "site/one-2.0.dist-info")
    assert packages([place]) == {"one": "2.0"}
    assert reads == [place, place]


def test_a_folder_that_has_just_changed_is_read_each_time(tmp_path: Path) -> None:
    """A second change can come so soon that it gets the same time."""
    place = folder(tmp_path / "site", "one-1.0.dist-info")
    before = os.stat(place)
    assert packages([place]) == {"one": "1.0"}
    (tmp_path / "site/one-1.0.dist-info").rename(tmp_path / "site/one-2.0.dist-info")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert packages([place]) == {"one": "2.0"}


def test_a_version_in_a_file_is_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file can change without a change of its folder."""
    monkeypatch.setattr("runcard.observe.packages._UNSETTLED", -3600.0)
    place = folder(tmp_path / "site", "one.egg-info")
    for version in ("1.0", "2.0"):
        (tmp_path / "site/one.egg-info/PKG-INFO").write_text(f"Name: one\nVersion: {version}\n")
        assert packages([place]) == {"one": version}
