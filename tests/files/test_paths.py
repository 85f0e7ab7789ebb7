"""Paths and ids from documents."""

import os
from pathlib import Path

import pytest

from runcard.errors import StoreError
from runcard.files import check_relative, is_safe_id, resolve_below


@pytest.mark.parametrize(
    "path", ["a", "a/b", "...", "..a/b..", "a b", "-", "C:\\x", "\\..\\x", "日本", "a\nb", "~/x"]
)
def test_plain_relative_paths_are_good(path: str) -> None:
    assert check_relative(path) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("//host/x", "absolute"),
        ("..", "contains '..'"),
        ("../x", "contains '..'"),
        ("a/../../x", "contains '..'"),
        ("a/..", "contains '..'"),
        ("a\0b", "NUL"),
        (".", "empty or '.' part"),
        ("./a", "empty or '.' part"),
        ("a/./b", "empty or '.' part"),
        ("a//b", "empty or '.' part"),
        ("a/", "empty or '.' part"),
    ],
)
def test_hostile_paths_are_refused_with_a_reason(path: str, reason: str) -> None:
    assert reason in (check_relative(path) or "")


@pytest.mark.parametrize("text", ["a", "A1", "0", "run-1_x.y", "a" * 128])
def test_ids_that_may_become_names(text: str) -> None:
    assert is_safe_id(text)


@pytest.mark.parametrize(
    "text", ["", ".", "..", ".a", "-a", "_a", "a/b", "a\n", "a b", "é", "a" * 129, "a\0"]
)
def test_ids_that_may_not(text: str) -> None:
    assert not is_safe_id(text)


def test_a_file_below_the_root_is_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").touch()
    assert resolve_below(tmp_path, "sub/file") == os.path.realpath(tmp_path / "sub" / "file")


def test_the_root_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "link").symlink_to("real")
    assert resolve_below(tmp_path / "link", "file") == os.path.realpath(tmp_path / "real" / "file")


@pytest.mark.parametrize("target", ["inner", "sub/../inner", "{root}/inner"])
def test_links_that_stay_inside_are_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "inner").touch()
    (tmp_path / "link").symlink_to(target.format(root=tmp_path))
    assert resolve_below(tmp_path, "link") == os.path.realpath(tmp_path / "inner")


@pytest.mark.parametrize("target", ["/etc", "..", "../outside", "sub/../../outside", "{root}-outside"])
def test_links_that_lead_out_are_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    for outside in (tmp_path / "outside", tmp_path / "root-outside"):
        outside.mkdir()
    (root / "link").symlink_to(target.format(root=root))
    with pytest.raises(StoreError, match="leads out"):
        resolve_below(root, "link")


def test_a_link_on_the_way_that_leads_out_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").touch()
    (root / "way").symlink_to("../outside")
    with pytest.raises(StoreError, match="leads out"):
        resolve_below(root, "way/file")


def test_a_hostile_path_is_refused_before_anything_is_looked_up(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"contains '[.][.]'"):
        resolve_below(tmp_path / "nowhere", "../file")


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nothing")
    for name in ("nothing", "dangling", "no/where"):
        with pytest.raises(FileNotFoundError):
            resolve_below(tmp_path, name)


def test_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        resolve_below(tmp_path, "a")
