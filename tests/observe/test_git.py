import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from observe.repositories import Repository, run_git
from runcard.observe.git import changes, command, git

RECIPE = re.search(r"\n    (\{ git diff.*?\} \| sha256sum)\n", changes.__doc__ or "", re.DOTALL)


def recipe(repository: Repository) -> str:
    """What the shell makes of the recipe in the documentation."""
    assert RECIPE is not None
    printed = subprocess.run(
        ["bash", "-ec", RECIPE[1]], cwd=repository.path, check=True, capture_output=True, text=True
    )
    return printed.stdout.split()[0]


def test_a_clean_work_tree(repository: Repository) -> None:
    clean = {"commit": repository.head, "branch": "main", "dirty": False, "diff_sha256": None}
    assert git(repository.path) == clean
    (repository.path / "inner").mkdir()
    assert git(repository.path / "inner") == clean


def test_outside_a_repository_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert git(tmp_path) is None
    assert git(tmp_path / "gone") is None
    assert git("\0") is None


def test_inside_the_repository_s_own_folder_there_is_no_work_tree(repository: Repository) -> None:
    assert git(repository.path / ".git") is None


def test_before_the_first_commit(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "new")
    assert git(repository.path) == {"commit": None, "branch": "main", "dirty": False, "diff_sha256": None}
    repository.write("a.txt")
    found = git(repository.path)
    assert found is not None
    assert found["dirty"] is True
    untracked = found["diff_sha256"]
    repository.git("add", "a.txt")
    staged = git(repository.path)
    assert staged is not None
    assert staged["dirty"] is True
    assert re.fullmatch("[0-9a-f]{64}", staged["diff_sha256"])
    assert staged["diff_sha256"] != untracked


def test_a_detached_head_has_no_branch(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--detach")
    assert git(repository.path) == {
        "commit": repository.head,
        "branch": None,
        "dirty": False,
        "diff_sha256": None,
    }


@pytest.mark.parametrize("branch", ["feature/x", "ünïcode", "HEAD2"])
def test_branches_have_any_name(branch: str, repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", branch)
    assert (git(repository.path) or {})["branch"] == branch


def test_a_branch_that_is_not_utf8_is_escaped(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "caf\udce9")
    assert (git(repository.path) or {})["branch"] == r"caf\xe9"


def test_a_repository_of_sha256_has_longer_ids(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "long", "--object-format=sha256")
    repository.write("a.txt")
    repository.git("add", "a.txt")
    unborn = git(repository.path)
    assert unborn is not None
    assert unborn["diff_sha256"] is not None
    commit = repository.commit()
    assert len(commit) == 64
    assert (git(repository.path) or {})["commit"] == commit


@pytest.mark.parametrize(
    "name", ["b.txt", "-n", "with blank", "new\nline", "back\\slash", 'quo"te', b"caf\xe9", "ünï", "-"]
)
def test_an_untracked_file_makes_it_dirty(name: str | bytes, repository: Repository) -> None:
    repository.write(name, b"\0\xff data")
    found = git(repository.path)
    assert found is not None
    assert found["dirty"] is True
    if name != "-":  # which sha256sum takes for standard input
        assert found["diff_sha256"] == recipe(repository)


def test_ignored_files_do_not(repository: Repository) -> None:
    repository.commit({".gitignore": "*.log\n"})
    repository.write("x.log")
    assert (git(repository.path) or {})["dirty"] is False


def test_a_changed_file_makes_it_dirty(repository: Repository) -> None:
    repository.write("a.txt", "two\n")
    found = git(repository.path)
    assert found is not None
    assert found["dirty"] is True
    assert found["diff_sha256"] == recipe(repository)


def test_the_recipe_holds_for_all_kinds_of_changes(repository: Repository) -> None:
    texts = {f"{number}.txt": "".join(f"{line}\n" for line in range(60)) for number in range(12)}
    repository.commit(
        texts
        | {"bin": "\0" * 3000, "blank": "a\n\nb\n", "odd\tname\\": "x\n", "mode": "x\n", "staged": "x\n"}
    )
    repository.write("0.txt", texts["0.txt"].replace("30\n", "thirty\n").replace("5\n", "five\n"))
    repository.write("bin", os.urandom(5000))
    repository.write("blank", "a\n\nc\n")
    repository.write("odd\tname\\", "y")
    (repository.path / "mode").chmod(0o755)
    (repository.path / "1.txt").unlink()
    (repository.path / "2.txt").rename(repository.path / "renamed.txt")
    repository.git("mv", "3.txt", "moved.txt")
    repository.write("staged", "y\n")
    repository.git("add", "staged")
    repository.write("staged", "z\n")
    repository.write("new/intended")
    repository.git("add", "--intent-to-add", "new/intended")
    repository.write("new/untracked")
    (repository.path / "4.txt").unlink()
    (repository.path / "4.txt").mkdir()
    repository.write("4.txt/inner")
    found = git(repository.path / "new")
    assert found is not None
    assert found["dirty"] is True
    assert found["diff_sha256"] == recipe(repository)


def test_a_change_that_was_staged_and_taken_back_is_a_change(repository: Repository) -> None:
    repository.write("a.txt", "two\n")
    repository.git("add", "a.txt")
    repository.write("a.txt", "one\n")
    found = git(repository.path)
    assert found is not None
    assert found["dirty"] is True
    assert found["diff_sha256"] == sha256(b"").hexdigest()


CONFIGURATION = {
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.renames": "copies",
    "diff.context": "9",
    "diff.interHunkContext": "20",
    "diff.algorithm": "patience",
    "diff.indentHeuristic": "false",
    "diff.suppressBlankEmpty": "true",
    "diff.relative": "true",
    "diff.submodule": "log",
    "diff.wsErrorHighlight": "all",
    "diff.colorMoved": "zebra",
    "color.ui": "always",
    "core.quotePath": "false",
    "core.abbrev": "7",
    "core.pager": "false",
    "status.showUntrackedFiles": "no",
    "status.relativePaths": "true",
    "status.renames": "copies",
    "diff.orderFile": "{order}",
}


def test_what_is_configured_changes_nothing(repository: Repository, tmp_path: Path) -> None:
    lines = "".join(f"{line}\n\n" for line in range(40))
    repository.commit({"inner/a.txt": lines, "z.py": f"def f():\n    pass\n{lines}", "ü.txt": "x\n"})
    repository.write("inner/a.txt", lines.replace("5\n", "five\n"))
    repository.write("ü.txt", "y\n")
    repository.write("untracked")
    (repository.path / "z.py").rename(repository.path / "b.py")
    repository.git("add", "b.py", "z.py")
    before = git(repository.path / "inner")
    (tmp_path / "order").write_text("z.py\n")
    for name, value in CONFIGURATION.items():
        repository.git("config", name, value.format(order=tmp_path / "order"))
    assert git(repository.path / "inner", timeout=60) == before
    assert before is not None
    assert before["diff_sha256"] is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_DIR", "/nowhere"),
        ("GIT_WORK_TREE", "/"),
        ("GIT_INDEX_FILE", "/nowhere/index"),
        ("GIT_OBJECT_DIRECTORY", "/nowhere"),
        ("GIT_EXTERNAL_DIFF", "/bin/false"),
        ("GIT_DIFF_OPTS", "-u0"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_NAMESPACE", "x"),
        ("GIT_CONFIG_PARAMETERS", "'color.ui=always'"),
        ("LC_ALL", "de_DE.UTF-8"),
    ],
)
def test_variables_meant_for_another_git_do_not_mislead(
    name: str, value: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("a.txt", "two\n")
    before = git(repository.path)
    monkeypatch.setenv(name, value)
    assert git(repository.path) == before
    assert before is not None
    assert before["commit"] is not None


def test_nothing_is_written_to_the_repository(repository: Repository) -> None:
    repository.commit({f"{number}.txt": "x\n" for number in range(5)})
    repository.age_index()
    for number in range(4):
        (repository.path / f"{number}.txt").touch()
    repository.write("4.txt", "y\n")
    index = repository.path / ".git/index"
    before = (index.stat().st_ino, index.stat().st_mtime_ns, index.read_bytes())
    found = git(repository.path)
    assert before == (index.stat().st_ino, index.stat().st_mtime_ns, index.read_bytes())
    assert found is not None
    assert found["dirty"] is True
    assert found["diff_sha256"] == recipe(repository)
    assert before[0] != index.stat().st_ino  # a plain `git diff` has written it


def test_a_touched_but_unchanged_file_is_no_change(repository: Repository) -> None:
    repository.age_index()
    index = (repository.path / ".git/index").stat()
    (repository.path / "a.txt").touch()
    assert (git(repository.path) or {})["dirty"] is False
    assert (repository.path / ".git/index").stat().st_mtime_ns == index.st_mtime_ns


def test_the_lock_of_another_git_is_no_hindrance(repository: Repository) -> None:
    repository.write("a.txt", "two\n")
    repository.write(".git/index.lock", "")
    found = git(repository.path)
    assert found is not None
    assert found["diff_sha256"] is not None


def test_a_link_counts_with_its_target(repository: Repository) -> None:
    (repository.path / "link").symlink_to("no/where")
    listed = f"{sha256(b'no/where').hexdigest()}  link\n"
    assert (git(repository.path) or {})["diff_sha256"] == sha256(listed.encode()).hexdigest()


def test_what_is_left_out_makes_nothing_dirty(repository: Repository) -> None:
    repository.commit({"outputs/kept.txt": "x\n", "src/a.py": "x\n"})
    repository.write("outputs/kept.txt", "y\n")
    repository.write("outputs/run/metadata.json")
    outputs = [str(repository.path / "outputs")]
    assert (git(repository.path) or {})["dirty"] is True
    assert (git(repository.path, ignore=outputs) or {})["dirty"] is False
    assert (git(repository.path / "src", ignore=["../outputs"]) or {})["dirty"] is False
    assert (git(repository.path, ignore=[*outputs, "/somewhere/else", repository.path]) or {})[
        "dirty"
    ] is False
    repository.write("src/a.py", "y\n")
    repository.write("other")
    found = git(repository.path, ignore=outputs)
    assert found is not None
    assert found["dirty"] is True
    shutil.rmtree(repository.path / "outputs/run")
    repository.git("checkout", "outputs")
    assert found["diff_sha256"] == recipe(repository)


def test_what_is_left_out_is_a_path_and_no_pattern(repository: Repository) -> None:
    repository.write("out*/x")
    repository.write("outputs/x")
    assert (git(repository.path, ignore=["out*"]) or {})["dirty"] is True
    shutil.rmtree(repository.path / "outputs")
    assert (git(repository.path, ignore=["out*"]) or {})["dirty"] is False


def test_a_worktree_has_a_branch_of_its_own(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side/a.txt").write_text("two\n")
    found = git(tmp_path / "side")
    assert found is not None
    assert (found["branch"], found["dirty"]) == ("side", True)
    assert (git(repository.path) or {})["dirty"] is False


class TestSubmodules:
    @pytest.fixture
    def outer(self, repository: Repository, tmp_path: Path) -> Repository:
        outer = Repository(tmp_path / "outer")
        outer.git("submodule", "--quiet", "add", str(repository.path), "libs/inner")
        outer.commit()
        return outer

    @pytest.fixture
    def inner(self, outer: Repository) -> Repository:
        return Repository(outer.path / "libs/inner")

    def test_all_clean(self, outer: Repository) -> None:
        assert (git(outer.path) or {})["dirty"] is False

    def test_a_directory_inside_belongs_to_the_submodule(
        self, outer: Repository, repository: Repository
    ) -> None:
        found = git(outer.path / "libs/inner")
        assert found is not None
        assert found["commit"] == repository.head != outer.head

    def test_another_commit_is_a_change(self, outer: Repository, inner: Repository) -> None:
        inner.commit({"b.txt": "x\n"})
        found = git(outer.path)
        assert found is not None
        assert found["dirty"] is True
        assert found["diff_sha256"] == recipe(outer)

    def test_changes_inside_are_changes(self, outer: Repository, inner: Repository) -> None:
        inner.write("a.txt", "two\n")
        of_inner, of_outer = git(inner.path), git(outer.path)
        assert of_inner is not None
        assert of_outer is not None
        assert of_outer["dirty"] is True
        listed = f"{of_inner['diff_sha256']}  libs/inner/\n"
        assert of_outer["diff_sha256"] == sha256(listed.encode()).hexdigest()

    def test_changes_inside_that_cannot_be_told(
        self, outer: Repository, inner: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inner.write("large", "x" * 100)
        monkeypatch.setattr(changes, "MAX_BYTES", 50)
        found = git(outer.path)
        assert found is not None
        assert (found["dirty"], found["diff_sha256"]) == (True, None)

    def test_one_that_cannot_be_examined_may_be_anything(self, outer: Repository, inner: Repository) -> None:
        with (outer.path / ".git/modules/libs/inner/config").open("a") as config:
            config.write('[filter "a=b"]\n\tclean = cat\n')
        assert (git(inner.path) or {})["dirty"] is None
        assert (git(outer.path) or {})["dirty"] is None
        outer.write("untracked")
        found = git(outer.path)
        assert found is not None
        assert (found["dirty"], found["diff_sha256"]) == (True, None)

    def test_one_that_is_not_checked_out_is_clean(self, outer: Repository) -> None:
        outer.git("submodule", "--quiet", "deinit", "--force", "libs/inner")
        assert (git(outer.path) or {})["dirty"] is False

    def test_a_broken_one_is_passed_over(self, outer: Repository) -> None:
        (outer.path / "libs/inner/.git").write_text("gitdir: /nowhere\n")
        assert (git(outer.path) or {})["dirty"] in {False, None}

    def test_hostile_paths_lead_nowhere(self, repository: Repository, tmp_path: Path) -> None:
        other = Repository(tmp_path / "other")
        other.write("untracked")
        (repository.path / "link").symlink_to(other.path)
        modules = "".join(
            f'[submodule "{number}"]\n\tpath = {path}\n'
            for number, path in enumerate(["../other", "/etc", ".", "link", str(other.path), "gone", ".git"])
        )
        repository.commit({".gitmodules": modules})
        assert (git(repository.path) or {})["dirty"] is False

    def test_an_empty_list_of_them(self, repository: Repository) -> None:
        repository.commit({".gitmodules": "# none\n"})
        assert (git(repository.path) or {})["dirty"] is False

    def test_a_list_that_cannot_be_read(self, repository: Repository) -> None:
        repository.commit({".gitmodules": "[broken\n"})
        assert (git(repository.path) or {})["dirty"] is None

    def test_a_list_that_is_no_file(self, repository: Repository) -> None:
        os.mkfifo(repository.path / ".gitmodules")
        assert (git(repository.path, timeout=3) or {})["dirty"] is False


def test_a_repository_inside_that_git_does_not_know_has_no_digest(repository: Repository) -> None:
    Repository(repository.path / "nested").commit()
    found = git(repository.path)
    assert found is not None
    assert (found["dirty"], found["diff_sha256"]) == (True, None)


@pytest.mark.parametrize("most", [100, pytest.param(changes.MAX_FILES, marks=pytest.mark.long)])
def test_as_many_untracked_files_as_are_hashed_and_one(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(changes, "MAX_FILES", most)
    (repository.path / "many").mkdir()
    for number in range(most):
        (repository.path / "many" / f"{number}.txt").write_text(str(number))
    found = git(repository.path, timeout=60)
    assert found is not None
    assert found["diff_sha256"] == recipe(repository)
    repository.write("one-more")
    beyond = git(repository.path, timeout=60)
    assert beyond is not None
    assert (beyond["dirty"], beyond["diff_sha256"]) == (True, None)


@pytest.mark.parametrize(("limit", "most"), [("MAX_DIFF", 100), ("MAX_PATHS", 4), ("MAX_BYTES", 5)])
def test_beyond_a_limit_there_is_no_digest(
    limit: str, most: int, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("a.txt", "two\n" * 10_000)
    repository.write("untracked", "123456")
    monkeypatch.setattr(changes, limit, most)
    found = git(repository.path)
    assert found is not None
    assert (found["dirty"], found["diff_sha256"]) == (True, None)


def test_a_large_diff_is_hashed_as_it_comes(repository: Repository) -> None:
    repository.write("a.txt", "".join(f"{number} some text\n" for number in range(300_000)))
    assert (git(repository.path, timeout=60) or {})["diff_sha256"] == recipe(repository)


def test_a_file_that_vanishes_meanwhile_leaves_no_digest(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("untracked")
    monkeypatch.setattr(changes, "_hash", lambda *_: os.lstat("/nowhere"))
    found = git(repository.path)
    assert found is not None
    assert (found["dirty"], found["diff_sha256"]) == (True, None)


class TestBroken:
    def test_a_broken_index(self, repository: Repository) -> None:
        repository.write(".git/index", "garbage")
        assert git(repository.path) == {
            "commit": repository.head,
            "branch": "main",
            "dirty": None,
            "diff_sha256": None,
        }

    def test_a_broken_head(self, repository: Repository) -> None:
        repository.write(".git/HEAD", "garbage")
        assert git(repository.path) is None

    def test_a_branch_that_is_garbage(self, repository: Repository) -> None:
        repository.write(".git/refs/heads/main", "garbage\n")
        assert (git(repository.path) or {})["commit"] is None

    def test_a_broken_configuration(self, repository: Repository) -> None:
        repository.write(".git/config", "[broken\n")
        assert git(repository.path) is None

    def test_an_object_that_is_lost(self, repository: Repository) -> None:
        commit = repository.head
        shutil.rmtree(repository.path / ".git/objects" / commit[:2])
        found = git(repository.path)
        assert found is not None
        assert found["commit"] == commit
        assert found["diff_sha256"] is None

    def test_a_name_with_a_newline_is_more_than_git_can_say(self, tmp_path: Path) -> None:
        repository = Repository(tmp_path / "new\nline")
        repository.commit()
        assert git(repository.path) is None


class TestOwners:
    @pytest.mark.needs("root")
    def test_a_repository_of_somebody_else_is_not_looked_at(self, repository: Repository) -> None:
        for path in (repository.path, repository.path / ".git", repository.path / ".git/config"):
            os.chown(path, 65534, 65534)
        assert git(repository.path) is None

    @pytest.mark.needs("root")
    def test_unless_the_user_trusts_it(self, repository: Repository) -> None:
        os.chown(repository.path, 65534, 65534)
        os.chown(repository.path / ".git", 65534, 65534)
        Path(os.environ["HOME"], ".gitconfig").write_text(f"[safe]\n\tdirectory = {repository.path}\n")
        assert (git(repository.path) or {})["branch"] == "main"


def stand_in(folder: Path, script: str) -> str:
    """A folder for the path with a git of our own."""
    folder.mkdir()
    program = folder / "git"
    program.write_text(f"#!/bin/sh\nreal={shutil.which('git')}\n{script}\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


class TestPrograms:
    def test_without_git_there_is_nothing_to_tell(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(repository.path))
        assert git(repository.path) is None
        monkeypatch.setenv("PATH", "")
        assert git(repository.path) is None

    def test_a_git_that_is_no_program(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = stand_in(tmp_path / "bin", "")
        (tmp_path / "bin/git").write_bytes(b"\x7fELF nonsense")
        monkeypatch.setenv("PATH", path)
        assert git(repository.path) is None

    def test_a_folder_that_is_not_absolute_is_passed_over(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stand_in(tmp_path / "bin", f"touch {tmp_path}/marker")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PATH", f"bin::{os.environ['PATH']}")
        assert (git(repository.path) or {})["branch"] == "main"
        assert not (tmp_path / "marker").exists()

    def test_a_git_that_hangs_is_given_up(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And killed: no test may leave a process behind."""
        monkeypatch.setenv("PATH", stand_in(tmp_path / "bin", "exec sleep 600"))
        assert git(repository.path, timeout=0.3) is None

    def test_a_git_that_closes_its_output_and_hangs_is_given_up(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", stand_in(tmp_path / "bin", "exec >&-; exec sleep 600"))
        assert git(repository.path, timeout=0.3) is None

    def test_a_git_that_never_stops_talking_is_given_up(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", stand_in(tmp_path / "bin", "exec yes"))
        assert git(repository.path, timeout=60) is None

    def test_a_git_that_talks_nonsense_is_not_believed(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", stand_in(tmp_path / "bin", "printf 'a\\nb\\nc\\nd\\n'"))
        assert git(repository.path) is None

    def test_what_was_known_before_the_time_was_over_is_kept(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = 'case "$*" in *status*) exec sleep 600;; esac; exec "$real" "$@"'
        monkeypatch.setenv("PATH", stand_in(tmp_path / "bin", slow))
        blocks = command._blocks

        def blocks_of(process: "subprocess.Popen[bytes]", deadline: float) -> Iterator[bytes]:
            """The time is over when everything else is known."""
            is_status = isinstance(process.args, tuple) and "status" in process.args
            return blocks(process, time.monotonic() if is_status else deadline)

        monkeypatch.setattr(command, "_blocks", blocks_of)
        found = git(repository.path, timeout=60)
        assert found == {"commit": repository.head, "branch": "main", "dirty": None, "diff_sha256": None}

    def test_hashing_ends_when_the_time_is_over(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        late = command.Git(b"/", {}, deadline=0.0)
        with pytest.raises(command.GitError):
            late.check_time()
        repository.write("untracked")
        monkeypatch.setattr(command.Git, "check_time", lambda _, check=late.check_time: check())
        found = git(repository.path)
        assert found is not None
        assert (found["dirty"], found["diff_sha256"]) == (True, None)

    def test_without_a_process_there_is_nothing_to_tell(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise RuntimeError("can't fork at interpreter shutdown")

        monkeypatch.setattr(subprocess, "Popen", refuse)
        assert git(repository.path) is None

    def test_a_deleted_directory_is_no_hindrance(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        assert (git(repository.path) or {})["branch"] == "main"
        assert git(".") is None


def test_a_shallow_clone_is_a_repository(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"b.txt": "x\n"})
    run_git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository.path}", "shallow")
    assert git(tmp_path / "shallow") == git(repository.path)
