"""Repositories that try to have a program of theirs run.

Each trap is first shown to work on a plain git, in a copy; then the same repository is looked at by runcard.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from observe.repositories import Repository, run_git
from runcard.observe.git import git

Trap = Callable[[Repository, str], None]


def script(repository: Repository, marker: str, then: str = "cat") -> str:
    """A program inside the repository that leaves a mark beside it."""
    program = repository.write(".git/trap.sh", f"#!/bin/sh\ntouch {marker}\nexec {then}\n")
    program.chmod(0o755)
    return str(program)


def file_system_monitor(repository: Repository, marker: str) -> None:
    repository.git("config", "core.fsmonitor", script(repository, marker, "false"))


def hooks(repository: Repository, marker: str) -> None:
    hook = repository.path / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    shutil.copy(script(repository, marker, "true"), hook)


def hooks_elsewhere(repository: Repository, marker: str) -> None:
    hooks(repository, marker)
    (repository.path / ".git/hooks").rename(repository.path / "hooks")
    repository.git("config", "core.hooksPath", "hooks")


def external_diff(repository: Repository, marker: str) -> None:
    repository.git("config", "diff.external", script(repository, marker, "true"))


def diff_driver(repository: Repository, marker: str) -> None:
    repository.commit({".gitattributes": "* diff=evil\n"})
    repository.git("config", "diff.evil.command", script(repository, marker, "true"))


def text_converter(repository: Repository, marker: str) -> None:
    repository.commit({".gitattributes": "* diff=evil\n"})
    repository.git("config", "diff.evil.textconv", script(repository, marker))


def clean_filter(repository: Repository, marker: str) -> None:
    repository.commit({".gitattributes": "* filter=evil\n"})
    repository.git("config", "filter.evil.clean", script(repository, marker))


def required_filter(repository: Repository, marker: str) -> None:
    clean_filter(repository, marker)
    repository.git("config", "filter.evil.required", "true")


def filter_process(repository: Repository, marker: str) -> None:
    repository.commit({".gitattributes": "* filter=Evil.Name\n"})
    repository.git("config", "filter.Evil.Name.process", script(repository, marker, "false"))


def filter_of_an_included_file(repository: Repository, marker: str) -> None:
    repository.write(".git/info/attributes", "* filter=evil\n")
    repository.write(".git/more", f'[filter "evil"]\n\tclean = {script(repository, marker)}\n')
    repository.git("config", "include.path", "more")


def filter_with_a_name_that_cannot_be_given(repository: Repository, marker: str) -> None:
    repository.commit({".gitattributes": "* filter=a=b\n"})
    program = script(repository, marker)
    with (repository.path / ".git/config").open("a") as config:
        config.write(f'[filter "a=b"]\n\tclean = {program}\n')


def lazy_fetch(repository: Repository, marker: str) -> None:
    """A partial clone that lacks an object, and says how to get it."""
    blob = repository.git("rev-parse", "HEAD:a.txt").strip()
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(repository.path),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": script(repository, marker, "false"),
    }.items():
        repository.git("config", name, value)
    (repository.path / ".git/objects" / blob[:2] / blob[2:]).unlink()


TRAPS = [
    file_system_monitor,
    hooks,
    hooks_elsewhere,
    external_diff,
    diff_driver,
    text_converter,
    clean_filter,
    required_filter,
    filter_process,
    filter_of_an_included_file,
    filter_with_a_name_that_cannot_be_given,
    lazy_fetch,
]


def plain_git(path: Path) -> None:
    for command in (["status"], ["diff", "HEAD"]):
        with contextlib.suppress(subprocess.CalledProcessError):
            run_git(path, *command)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
def test_no_program_of_a_repository_is_run(trap: Trap, repository: Repository, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    repository.commit({"b.txt": "b\n", "c.txt": "c\n"})
    repository.age_index()
    trap(repository, str(marker))
    for name in ("a.txt", "c.txt"):
        repository.write(name, "changed\n")
    (repository.path / "b.txt").touch()
    marker.unlink(missing_ok=True)
    shutil.copytree(repository.path, tmp_path / "copy", symlinks=True)

    found = git(repository.path)
    assert not marker.exists()
    assert found is not None
    assert found["commit"] == repository.head
    assert found["branch"] == "main"

    plain_git(tmp_path / "copy")
    assert marker.exists(), "this trap catches nobody"


@pytest.mark.parametrize(
    "setting", ["core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv"]
)
def test_a_trap_changes_nothing_of_what_is_seen(setting: str, repository: Repository, tmp_path: Path) -> None:
    repository.commit({".gitattributes": "* diff=evil\n"})
    repository.write("a.txt", "changed\n")
    before = git(repository.path)
    repository.git("config", setting, script(repository, str(tmp_path / "marker"), "true"))
    assert git(repository.path) == before
    assert not (tmp_path / "marker").exists()


def test_a_filter_of_a_submodule_is_not_run(repository: Repository, tmp_path: Path) -> None:
    outer = Repository(tmp_path / "outer")
    outer.git("submodule", "--quiet", "add", str(repository.path), "inner")
    outer.commit()
    inner = Repository(outer.path / "inner")
    inner.commit({".gitattributes": "* filter=evil\n"})
    outer.commit({"b.txt": "x\n"})
    program = outer.write("trap.sh", f"#!/bin/sh\ntouch {tmp_path}/marker\nexec cat\n")
    program.chmod(0o755)
    inner.git("config", "filter.evil.clean", str(program))
    (outer.path / "inner/a.txt").touch()
    found = git(outer.path)
    assert not (tmp_path / "marker").exists()
    assert found is not None
    assert found["diff_sha256"] is None or found["dirty"]
    plain_git(outer.path)
    assert (tmp_path / "marker").exists(), "this trap catches nobody"


def test_a_folder_that_looks_like_a_repository_is_none(tmp_path: Path) -> None:
    bare = Repository(tmp_path / "bare", "--bare")
    bare.git("config", "core.bare", "false")
    bare.git("config", "core.worktree", str(tmp_path))
    bare.git("config", "core.fsmonitor", f"touch {tmp_path}/marker; false")
    assert git(bare.path) is None
    assert not (tmp_path / "marker").exists()


class TestFilters:
    """Filters that are no trap: large files that are kept elsewhere, for example. They are not run either."""

    @pytest.fixture
    def filtered(self, repository: Repository) -> Repository:
        repository.git("config", "filter.large.clean", "tr a-z A-Z")
        repository.git("config", "filter.large.smudge", "tr A-Z a-z")
        repository.git("config", "filter.large.required", "true")
        repository.commit({".gitattributes": "*.bin filter=large\n", "x.bin": "data\n"})
        repository.age_index()
        return repository

    def test_files_that_git_knows_to_be_untouched_are_clean(self, filtered: Repository) -> None:
        assert filtered.git("show", "HEAD:x.bin") == "DATA\n"
        assert (git(filtered.path) or {})["dirty"] is False

    def test_of_a_touched_file_nobody_can_tell(self, filtered: Repository) -> None:
        (filtered.path / "x.bin").touch()
        found = git(filtered.path)
        assert found is not None
        assert (found["dirty"], found["diff_sha256"]) == (None, None)

    def test_other_changes_are_seen_but_have_no_digest(self, filtered: Repository) -> None:
        (filtered.path / "x.bin").touch()
        filtered.write("a.txt", "changed\n")
        found = git(filtered.path)
        assert found is not None
        assert (found["dirty"], found["diff_sha256"]) == (True, None)

    def test_changes_of_files_without_a_filter_have_a_digest(self, filtered: Repository) -> None:
        filtered.write("a.txt", "changed\n")
        found = git(filtered.path)
        assert found is not None
        assert found["dirty"] is True
        assert found["diff_sha256"] is not None

    def test_a_filter_for_all_repositories_of_the_user_is_known_too(self, repository: Repository) -> None:
        marker = os.path.join(os.environ["HOME"], "marker")
        Path(os.environ["HOME"], ".gitconfig").write_text(f'[filter "lfs"]\n\tprocess = touch {marker}\n')
        repository.commit({".gitattributes": "*.bin filter=lfs\n"})
        repository.write("a.bin")
        found = git(repository.path)
        assert found is not None
        assert found["dirty"] is True
        assert not os.path.exists(marker)
