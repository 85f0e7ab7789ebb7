import os
import socket
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from runcard.checksums import hash_files
from runcard.errors import StoreError
from runcard.observe.inputs import inputs


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The directory that a run starts in."""
    for name in (
        "interviews/a.md",
        "interviews/b.md",
        "interviews/notes.txt",
        "interviews/more/deep/c.md",
        "top.md",
    ):
        write(tmp_path / "project" / name)
    return tmp_path / "project"


def write(path: Path, text: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.fsencode(path.name) if text is None else text.encode())
    return path


def paths(patterns: list[str], directory: Path) -> list[str]:
    found, warnings = inputs(patterns, directory)
    assert warnings == []
    return [file["path"] for file in found]


def warnings_of(patterns: list[str], directory: Path) -> list[str]:
    return inputs(patterns, directory)[1]


def entry(path: str, contents: bytes) -> dict[str, Any]:
    return {"path": path, "bytes": len(contents), "sha256": sha256(contents).hexdigest()}


def test_an_entry_has_path_size_and_digest(project: Path) -> None:
    assert inputs(["interviews/a.md"], project) == ([entry("interviews/a.md", b"a.md")], [])


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("interviews/*.md", ["interviews/a.md", "interviews/b.md"]),
        ("interviews/?.md", ["interviews/a.md", "interviews/b.md"]),
        ("interviews/[!a].md", ["interviews/b.md"]),
        ("*/a.md", ["interviews/a.md"]),
        ("**/*.md", ["interviews/a.md", "interviews/b.md", "interviews/more/deep/c.md", "top.md"]),
        ("**/deep/*", ["interviews/more/deep/c.md"]),
        ("interviews/**/*.md", ["interviews/a.md", "interviews/b.md", "interviews/more/deep/c.md"]),
        ("interviews/**/**/c.md", ["interviews/more/deep/c.md"]),
        ("interviews/more/**", ["interviews/more/deep/c.md"]),
        ("interviews/m*", ["interviews/more/deep/c.md"]),
        ("interviews/m*/", ["interviews/more/deep/c.md"]),
        ("interviews/more", ["interviews/more/deep/c.md"]),
        ("./interviews//a.md", ["interviews/a.md"]),
        ("interviews/../top.md", ["top.md"]),
        ("interviews/../*.md", ["top.md"]),
        (
            ".",
            [
                "interviews/a.md",
                "interviews/b.md",
                "interviews/more/deep/c.md",
                "interviews/notes.txt",
                "top.md",
            ],
        ),
    ],
)
def test_patterns_find_files(pattern: str, found: list[str], project: Path) -> None:
    assert paths([pattern], project) == found


def test_a_file_is_listed_once(project: Path) -> None:
    assert paths(["top.md", "*.md", str(project / "top.md"), "./top.md"], project) == ["top.md"]


def test_the_order_is_that_of_the_bytes(project: Path) -> None:
    for name in ("o/a.b", "o/a/b", "o/a", "o/ä", "o/Z"):
        write(project / (name + "_" if name == "o/a" else name))
    found = paths(["o"], project)
    assert found == sorted(found, key=lambda path: path.encode())
    assert len(found) == 5


def test_elsewhere_paths_are_absolute(project: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside/x.md")
    for pattern in (
        str(outside),
        "../outside/x.md",
        str(tmp_path / "outside/*.md"),
        str(tmp_path / "outside"),
    ):
        assert paths([pattern], project) == [str(outside)]


def test_an_absolute_path_below_is_recorded_relative(project: Path, tmp_path: Path) -> None:
    assert paths([str(project / "top.md")], project) == ["top.md"]
    (tmp_path / "alias").symlink_to(project)
    assert paths([str(project / "top.md")], tmp_path / "alias") == ["top.md"]
    assert paths([str(tmp_path / "alias/top.md")], project) == ["top.md"]
    assert paths([str(tmp_path / "alias/../project/interviews/a.md")], project) == ["interviews/a.md"]


def test_the_root_is_a_directory_as_well(project: Path) -> None:
    assert paths([str(project / "top.md")], Path("/")) == [str(project / "top.md")[1:]]


def test_the_home_is_expanded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project / "interviews"))
    assert paths(["~/a.md", "~/more/**/*.md"], project) == ["interviews/a.md", "interviews/more/deep/c.md"]


def test_paths_and_objects_that_are_paths(project: Path) -> None:
    found, _ = inputs([project / "top.md", Path("interviews/a.md")], str(project))
    assert [file["path"] for file in found] == ["interviews/a.md", "top.md"]


def test_hidden_files_only_when_named(project: Path) -> None:
    for name in (".hidden", "interviews/.x.md", ".git/config", "interviews/.cache/y.md"):
        write(project / name)
    assert paths(["**/*.md"], project) == [
        "interviews/a.md",
        "interviews/b.md",
        "interviews/more/deep/c.md",
        "top.md",
    ]
    assert ".hidden" not in paths(["."], project)
    assert paths([".hidden"], project) == [".hidden"]
    assert paths(["interviews/.*.md"], project) == ["interviews/.x.md"]
    assert paths([".git"], project) == [".git/config"]
    assert paths(["interviews/.cache/*"], project) == ["interviews/.cache/y.md"]


def test_a_name_with_the_characters_of_a_pattern_is_meant_itself(project: Path) -> None:
    for name in ("data[1].txt", "data1.txt", "what?.md", "*"):
        write(project / name)
    assert paths(["data[1].txt"], project) == ["data[1].txt"]
    assert paths(["what?.md", "*"], project) == ["*", "what?.md"]
    assert paths(["data[[]1].txt"], project) == ["data[1].txt"]


def test_names_that_are_not_utf8(project: Path) -> None:
    raw = b"caf\xe9\n.md"
    write(project / os.fsdecode(raw), "x")
    for pattern in ("caf*", os.fsdecode(raw)):
        found, warnings = inputs([pattern], project)
        assert warnings == []
        assert found == [
            {
                "path": "caf\\xe9\n.md",
                "path_base64": b64encode(raw).decode(),
                "bytes": 1,
                "sha256": sha256(b"x").hexdigest(),
            }
        ]


@pytest.mark.parametrize(
    "pattern",
    [
        "gone.md",
        "gone/*.md",
        "*.gone",
        "top.md/*",
        "top.md/**/x",
        "interviews/a.md/x",
        "",
        "nul\0byte",
        "[",
        "**/gone",
        "~nobody-has-this-name/x",
    ],
)
def test_a_pattern_without_a_match_is_a_warning(pattern: str, project: Path) -> None:
    found, warnings = inputs([pattern, "top.md"], project)
    assert [file["path"] for file in found] == ["top.md"]
    assert len(warnings) == 1
    assert warnings[0].startswith("no file matches")
    assert "\0" not in warnings[0]


def test_an_empty_directory_has_no_files_and_that_is_a_warning(project: Path) -> None:
    (project / "empty").mkdir()
    assert warnings_of(["empty"], project) == ["no file matches empty"]


def test_a_warning_cannot_steer_a_terminal(project: Path) -> None:
    (warning,) = warnings_of(["\x1b[2J*"], project)
    assert warning == r"no file matches \x1b[2J*"


class TestLinks:
    def test_a_named_link_is_followed(self, project: Path, tmp_path: Path) -> None:
        write(tmp_path / "store/object", "data")
        (project / "link.md").symlink_to("../store/object")
        (project / "over").symlink_to("link.md")
        assert inputs(["link.md", "ov*"], project) == (
            [entry("link.md", b"data"), entry("over", b"data")],
            [],
        )

    def test_a_named_link_to_a_directory_is_followed(self, project: Path, tmp_path: Path) -> None:
        write(tmp_path / "store/x.md")
        (project / "data").symlink_to("../store")
        assert paths(["data"], project) == ["data/x.md"]
        assert paths(["data/*.md"], project) == ["data/x.md"]

    def test_links_below_a_directory_are_not(self, project: Path) -> None:
        (project / "interviews/link.md").symlink_to("../top.md")
        (warning,) = warnings_of(["interviews"], project)
        assert warning.startswith(f"1 symbolic link below {project}/interviews not followed")
        assert f"{project}/interviews/link.md" in warning
        (project / "interviews/loop").symlink_to("..")
        found, (warning,) = inputs(["interviews"], project)
        assert len(found) == 4
        assert warning.startswith("2 symbolic links below")

    def test_nothing_loops(self, project: Path) -> None:
        (project / "interviews/loop").symlink_to(".")
        (project / "self").symlink_to("self")
        found, warnings = inputs(["**/*.md", "interviews/*", "self", "self/*"], project)
        assert len(found) == 5
        assert warnings == [
            f"{project}/interviews/loop is a symbolic link to a directory and was not followed",
            f"cannot read {project}/self: Too many levels of symbolic links",
            f"cannot read the directory {project}/self: Too many levels of symbolic links",
        ]

    def test_a_link_to_nothing_is_a_warning(self, project: Path) -> None:
        (project / "broken").symlink_to("gone")
        (warning,) = warnings_of(["broken", "top.md"], project)
        assert warning == f"cannot read {project}/broken: No such file or directory"


class TestOddFiles:
    def test_what_is_no_regular_file_is_left_out(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.mkfifo(project / "interviews/fifo")
        monkeypatch.chdir(project / "interviews")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
        found, warnings = inputs(["interviews", "interviews/fifo", "interviews/s*"], project)
        assert len(found) == 4
        assert sorted(warnings) == [
            f"{project}/interviews/fifo is not a regular file and was left out",
            f"{project}/interviews/socket is not a regular file and was left out",
        ]

    def test_a_device_is_not_read(self, project: Path) -> None:
        assert warnings_of(["/dev/zero"], project) == ["/dev/zero is not a regular file and was left out"]

    def test_a_directory_that_cannot_be_read_is_named(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.scandir

        def refuse(path: str) -> Any:
            if path.endswith("deep"):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, "scandir", refuse)
        found, warnings = inputs(["interviews", "**/*.md"], project)
        assert len(found) == 4
        assert warnings == [f"cannot read the directory {project}/interviews/more/deep: Permission denied"]

    def test_a_file_that_cannot_be_read_is_named(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.geteuid() == 0:
            monkeypatch.setattr("runcard.checksums.hash_files", refusing_hash("a.md"))
        else:
            (project / "interviews/a.md").chmod(0)
        found, (warning,) = inputs(["interviews/*.md"], project)
        assert [file["path"] for file in found] == ["interviews/b.md"]
        assert warning.startswith("the input interviews/a.md is left out: ")

    def test_a_folder_that_cannot_be_listed_does_not_hide_its_files(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.access
        monkeypatch.setattr(
            os, "access", lambda path, mode: path != str(project / "interviews") and real(path, mode)
        )
        assert paths(["interviews/a.md"], project) == ["interviews/a.md"]

    def test_a_folder_that_is_lost_meanwhile_takes_its_files_along(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lose(*_: object, **__: object) -> None:
            raise StoreError("it is gone")

        monkeypatch.setattr("runcard.checksums.hash_files", lose)
        assert inputs(["top.md"], project) == ([], ["the input top.md is left out: it is gone"])

    @pytest.mark.parametrize("change", ["write", "remove"])
    def test_a_file_that_changes_meanwhile_is_left_out(
        self, change: str, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def hash_and_change(*arguments: Any, **options: Any) -> Any:
            digests = hash_files(*arguments, **options)
            write(project / "top.md", "longer than before") if change == "write" else (
                project / "top.md"
            ).unlink()
            return digests

        monkeypatch.setattr("runcard.checksums.hash_files", hash_and_change)
        found, (warning,) = inputs(["*.md", "interviews/a.md"], project)
        assert [file["path"] for file in found] == ["interviews/a.md"]
        assert warning == "the input top.md is left out: it changed while it was read"

    @pytest.mark.parametrize("pattern", ["*.md", "."])
    def test_a_file_that_vanishes_at_once_is_a_warning(
        self, pattern: str, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.lstat

        def vanish(path: str) -> os.stat_result:
            return real("/nowhere" if path.endswith("top.md") else path)

        monkeypatch.setattr(os, "lstat", vanish)
        found, warnings = inputs([pattern, "interviews/a.md"], project)
        assert "top.md" not in [file["path"] for file in found]
        assert [warning.split(": ")[1] for warning in warnings] == ["No such file or directory"]


def refusing_hash(name: str) -> Any:
    def refuse(root: str, names: Any, *, on_error: Any, **options: Any) -> Any:
        on_error(name, StoreError(f"cannot read the file {name}"))
        return hash_files(root, [one for one in names if one != name], on_error=on_error, **options)

    return refuse


def test_a_deleted_directory_matches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert warnings_of(["*.md"], Path()) == ["no file matches *.md"]


def test_progress_is_told(project: Path) -> None:
    told: list[tuple[int, int]] = []
    inputs(["interviews"], project, progress=lambda files, size: told.append((files, size)))
    assert told[-1] == (4, 4 + 4 + 9 + 4)


def test_many_files(project: Path) -> None:
    for number in range(500):
        write(project / f"many/{number % 7}/{number}.txt")
    assert len(paths(["many/**/*.txt"], project)) == 500
