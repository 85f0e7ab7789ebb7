"""`runcard run --output`: files that a command writes elsewhere become part of the record."""

import os
import signal
import socket
from pathlib import Path

import pytest

from child_process.commands import Done, Runner, document, is_intact, runs
from files.small_disk import small_disk
from files.unprivileged import as_nobody, everybodys_directory
from runcard.operations.runs.close import close
from runcard.operations.runs.rerun import plan_rerun
from runcard.store import layout
from runcard.store.runs import output_copies
from waiting import wait_until


def copies(done: Done) -> dict[str, bytes]:
    """The files below `outputs/` of the run."""
    return copies_in(done.run)


def copies_in(run: Path) -> dict[str, bytes]:
    folder = run / "outputs"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def shell(runner: Runner, script: str, *patterns: str, code: int = 0) -> Done:
    options = [word for pattern in patterns for word in ("--output", pattern)]
    done = runner(*options, "--", "sh", "-c", script)
    assert done.code == code, done.err
    assert is_intact(done.run)
    return done


def messages(done: Done) -> list[str]:
    """The warnings about output files: the same on stderr and in the document."""
    found = [warning["message"] for warning in done.document["warnings"] if warning["type"] == "output-file"]
    shown = [line for line in done.err.decode().splitlines() if line.startswith("Warning: --output")]
    assert [f"Warning: {message}" for message in found] == shown
    return found


def test_new_and_changed_files_are_copied_and_others_are_not(runner: Runner) -> None:
    place = runner.place
    (place / "results").mkdir()
    for name in ("old.json", "grown.json", "same-size.json", "touched.txt"):
        (place / "results" / name).write_text("1")
    script = (
        "cd results; echo 22 > grown.json; printf 2 > same-size.json; echo 3 > new.json; echo 4 > new.txt"
    )
    done = shell(runner, script, "results/*.json")
    assert copies(done) == {
        "results/grown.json": b"22\n",
        "results/same-size.json": b"2",
        "results/new.json": b"3\n",
    }
    assert messages(done) == []
    assert b"outputs/results/new.json" in (done.run / "SHA256SUMS").read_bytes()
    assert done.document["reproduce"] == {"outputs": ["results/*.json"]}


def test_a_file_with_restored_times_is_noticed(runner: Runner) -> None:
    (runner.place / "a.json").write_text("1")
    done = shell(runner, "cp -p a.json b; printf 2 > a.json; touch -r b a.json", "a.json")
    assert copies(done) == {"a.json": b"2"}


def test_a_file_that_is_replaced_by_another_is_copied(runner: Runner) -> None:
    (runner.place / "a.json").write_text("1")
    assert copies(shell(runner, "printf 2 > b; mv b a.json", "a.json")) == {"a.json": b"2"}


def test_a_folder_stands_for_the_files_below_it(runner: Runner) -> None:
    script = "mkdir -p r/x/.hidden; echo 1 > r/a; echo 2 > r/x/b; echo 3 > r/x/.hidden/c; echo 4 > r/.d"
    assert copies(shell(runner, script, "r")) == {"r/a": b"1\n", "r/x/b": b"2\n"}


def test_patterns_may_overlap(runner: Runner) -> None:
    done = shell(runner, "mkdir r; echo 1 > r/a.json", "r", "**/*.json", "r/a.json", "./r/../r/a.json")
    assert copies(done) == {"r/a.json": b"1\n"}
    assert messages(done) == []


def test_a_file_outside_of_the_working_directory_is_kept_below_its_absolute_path(
    runner: Runner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = shell(
        runner, f"echo 1 > {elsewhere}/r.json; echo 2 > here.json", f"{elsewhere}/*.json", "here.json"
    )
    assert copies(done) == {f"absolute{elsewhere}/r.json": b"1\n", "here.json": b"2\n"}


def test_a_path_that_leads_up_and_back_is_relative(runner: Runner) -> None:
    name = runner.place.name
    assert copies(shell(runner, "echo 1 > a", f"../{name}/a", f"{runner.place}/a")) == {"a": b"1\n"}


def test_links_that_the_user_names_are_followed(
    runner: Runner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    (runner.place / "results").symlink_to(scratch)
    done = shell(
        runner, "echo 1 > results/a.json; mkdir results/x; echo 2 > results/x/b.json", "results/**/*.json"
    )
    assert copies(done) == {"results/a.json": b"1\n", "results/x/b.json": b"2\n"}


def test_other_links_are_not_followed(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("secret")
    (secret / "key.json").write_text("secret")
    script = f"mkdir r; ln -s {secret}/key.json r/link.json; ln -s {secret} r/folder; mkfifo r/pipe.json; echo 1 > r/a.json; touch {secret}/key.json"
    done = shell(runner, script, "r/*.json", "r/folder/*.json", "r/*/key.json")
    assert copies(done) == {"r/a.json": b"1\n"}
    assert messages(done) == [
        "--output: r/link.json: a symbolic link, not copied: name the file itself",
        "--output: r/pipe.json: a FIFO, not copied",
        "--output: r/folder/key.json: behind a symbolic link, not copied: name its folder",
    ]


def test_a_folder_that_the_command_replaces_by_a_link_is_not_followed(
    runner: Runner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("secret")
    (secret / "a.json").write_text("secret")
    (runner.place / "r").mkdir()
    done = shell(runner, f"rmdir r; ln -s {secret} r; touch {secret}/a.json", "r/*.json")
    assert copies(done) == {}
    assert len(messages(done)) == 1


def test_a_socket_is_named(runner: Runner) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        done = runner.python(
            "import socket; socket.socket(socket.AF_UNIX).bind('s')",
            options=["--output", "s", "--output", "n"],
        )
        server.close()
    assert messages(done) == ["--output n: no file matches", "--output: s: a socket, not copied"]


def test_a_pattern_that_selects_nothing_is_a_warning(runner: Runner) -> None:
    (runner.place / "old.json").write_text("1")
    done = shell(runner, "exit 3", "*.txt", "old.json", "\x1b[31m*", code=3)
    assert messages(done) == [
        "--output *.txt: no file matches",
        "--output old.json: no file that matches was created or changed",
        "--output \\x1b[31m*: no file matches",
    ]


def test_credentials_are_copied_only_when_they_are_named(runner: Runner) -> None:
    script = "mkdir -p c/.ssh c/__pycache__; for f in c/.env c/a.pem c/.ssh/id c/__pycache__/a.pyc c/ok; do echo 1 > $f; done"
    done = shell(runner, script, "c/*", "c/.*", "c/.ssh/*", "c/__pycache__/*")
    assert copies(done) == {"c/ok": b"1\n"}
    (message,) = messages(done)
    names, _, reason = message.removeprefix("--output: ").partition(": ")
    assert sorted(names.split(", ")) == ["c/.env", "c/.ssh/id", "c/a.pem"]
    assert reason == "may hold credentials, not copied: name the file itself"


def test_a_credential_that_is_named_is_copied(runner: Runner) -> None:
    done = shell(runner, "echo A=1 > .env; echo 1 > a.pem", ".env", "*.pem")
    assert copies(done) == {".env": b"A=1\n"}
    assert messages(done) == ["--output: a.pem: may hold credentials, not copied: name the file itself"]


def test_what_the_command_wrote_to_the_record_is_not_replaced(runner: Runner) -> None:
    script = (
        'mkdir "$RUNCARD_RUN_DIR/outputs"; echo own > "$RUNCARD_RUN_DIR/outputs/a"; echo 1 > a; echo 2 > b'
    )
    done = shell(runner, script, "a", "b")
    assert copies(done) == {"a": b"own\n", "b": b"2\n"}
    assert messages(done) == ["--output: a: not copied: the record has a file of this name"]


@pytest.mark.parametrize("what", ["ln -s {elsewhere}", "touch"])
def test_a_link_or_a_file_in_the_place_of_the_folder_is_not_written_to(
    runner: Runner, tmp_path_factory: pytest.TempPathFactory, what: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    script = f'{what.format(elsewhere=elsewhere)} "$RUNCARD_RUN_DIR/outputs"; echo 1 > a'
    done = shell(runner, script, "a")
    assert list(elsewhere.iterdir()) == []
    (message,) = messages(done)
    assert message.startswith("--output: a: not copied: ")


def test_records_are_not_copied_into_records(runner: Runner) -> None:
    shell(runner, "echo 1 > $RUNCARD_RUN_DIR/old.txt", "none")
    done = runner(
        "--output", "**", "--", "sh", "-c", "echo 1 > $RUNCARD_RUN_DIR/mine.txt; echo 2 > outputs/beside.txt"
    )
    assert copies_in(runs(runner.place)[1]) == {"outputs/beside.txt": b"2\n"}
    assert b"Warning" not in done.err


def test_names_of_any_bytes_are_copied_and_escaped(runner: Runner) -> None:
    code = r"""
import os
for name in (b"new\nline", b"esc\x1b[31m", b"latin-\xe9", "ümlaut".encode(), b"[x]", b"-dash"):
    open(b"r" + name, "wb").write(name)
os.symlink("x", b"rl\x1b[2J")
"""
    done = runner.python(code, options=["--output", "r*", "--output", "r[x]"])
    assert done.code == 0
    names = sorted(os.listdir(os.fsencode(done.run / "outputs")))
    assert names == sorted(
        [b"rnew\nline", b"resc\x1b[31m", b"rlatin-\xe9", "rümlaut".encode(), b"r[x]", b"r-dash"]
    )
    assert messages(done) == ["--output: rl\\x1b[2J: a symbolic link, not copied: name the file itself"]
    assert b"\x1b" not in done.err
    assert is_intact(done.run)


@pytest.mark.long
def test_thousands_of_files_are_copied(runner: Runner) -> None:
    code = "import os\nfor n in range(3000):\n os.makedirs(f'r/{n % 10}', exist_ok=True); open(f'r/{n % 10}/{n}', 'w').write(str(n))"
    done = runner.python(code, options=["--output", "r"])
    assert len(copies(done)) == 3000
    assert copies(done)["r/7/2997"] == b"2997"


def test_the_mode_of_a_file_is_kept_and_set_id_bits_are_not(runner: Runner) -> None:
    done = shell(runner, "echo 1 > a; chmod 4755 a; echo 1 > b; chmod 640 b", "a", "b")
    modes = [(done.run / "outputs" / name).stat().st_mode & 0o7777 for name in ("a", "b")]
    assert modes == [0o755, 0o640]


def test_a_file_that_cannot_be_read_is_named() -> None:
    code = """
os.makedirs("outputs/run")
watch = OutputWatch(["a", "b"], root)
for name in ("a", "b"):
    with open(name, "w") as file:
        file.write(name)
os.chmod("a", 0)
changed = watch.changed()
print(copy_outputs(os.path.join(root, "outputs", "run"), changed.files, changed.omissions))
print(os.listdir("outputs/run/outputs"))
"""
    with everybodys_directory() as place:
        said = as_nobody(
            place,
            code,
            "from runcard.recording.output_watch import OutputWatch\n"
            "from runcard.store.runs.output_copies import copy_outputs",
        )
    assert said.splitlines() == ["['--output: a: cannot be read: Permission denied']", "['b']"]


def test_a_file_that_is_too_large_is_named(runner: Runner) -> None:
    done = shell(runner, "truncate -s 5G large; echo 1 > small", "large", "small")
    assert copies(done) == {"small": b"1\n"}
    assert messages(done) == ["--output: large: larger than 4 GiB"]


def test_a_command_that_was_not_run_has_no_outputs(runner: Runner) -> None:
    done = runner("--output", "a", "--", "no-such-command")
    assert done.code == 127
    assert messages(done) == []


def test_an_empty_pattern_is_refused(runner: Runner) -> None:
    done = runner("--output", "", "--", "true")
    assert (done.code, runs(runner.place)) == (64, [])


def test_two_runs_at_once_in_one_directory(runner: Runner) -> None:
    script = "echo $0 > $0.json; touch $0.ready; while [ ! -e go ]; do sleep 0.01; done"
    with (
        runner.started("--output", "a.json", "--", "sh", "-c", script, "a") as first,
        runner.started("--output", "*.json", "--", "sh", "-c", script, "b") as second,
    ):
        wait_until(lambda: (runner.place / "a.ready").exists() and (runner.place / "b.ready").exists())
        (runner.place / "go").touch()
        assert (first.wait(60), second.wait(60)) == (0, 0)
    found = {document(run)["generation"]["command"][-1]: run for run in runs(runner.place)}
    assert copies_in(found["a"]) == {"a.json": b"a\n"}
    assert "b.json" in copies_in(found["b"])  # "a.json" too, if that was written later than `b` was started
    assert all(map(is_intact, found.values()))


def test_a_killed_run_leaves_no_half_copies(runner: Runner) -> None:
    with runner.started("--output", "a", "--", "sh", "-c", "touch started; sleep 60") as process:
        wait_until((runner.place / "started").exists)
        (run,) = runs(runner.place)
        # What a process leaves that is killed while it copies.
        aside = Path(layout.copied_aside(str(run)))
        (aside / "0").mkdir(parents=True)
        (aside / "0" / "a").write_text("half")
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert [result.closed for result in close(store=runner.place / "outputs")] == [True]
    assert not aside.exists()
    assert not (run / "outputs").exists()
    assert is_intact(run)


def test_a_full_disk_costs_the_copies_and_not_the_record(runner: Runner) -> None:
    with small_disk(runner.place / "full", "4m") as store:
        done = runner(
            *("--outputs", str(store), "--output", "big", "--output", "small", "--"),
            *("sh", "-c", "echo 1 > small; head -c 8000000 /dev/urandom > big; exit 5"),
        )
        assert done.code == 5
        (run,) = runs(runner.place, "full")
        assert not (run / "outputs").exists()
        assert b"Warning: the files of --output were not copied: " in done.err
        assert is_intact(run)


def test_patterns_that_are_too_long_for_the_record_are_not_recorded_in_part(runner: Runner) -> None:
    patterns = [f"{number}{'x' * 100_000}" for number in range(6)]
    options = [word for pattern in patterns for word in ("--output", pattern)]
    done = runner(*options, "--", "true")
    assert "reproduce" not in done.document
    assert "truncated" in done.warnings
    assert is_intact(done.run)


def test_running_again_copies_the_same_files(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    done = shell(runner, "echo 1 > a.json; date +%N > b.json", "*.json")
    monkeypatch.chdir(runner.place)
    monkeypatch.setenv("HOME", str(runner.place))
    plan = plan_rerun(done.run)
    assert plan.trust.is_trusted
    rerun = plan.rerun()
    assert sorted(copies_in(Path(rerun.command.path))) == ["a.json", "b.json"]
    assert rerun.comparison is not None
    assert "outputs/a.json" in rerun.comparison.same
    assert [file.path for file in rerun.comparison.differing] == ["outputs/b.json"]


def test_the_names_that_a_warning_lists_are_limited() -> None:
    names = [f"n{number}" for number in range(12)]
    warnings = output_copies.copy_outputs("/no/such/run", [], dict.fromkeys(names, "not copied"))
    assert warnings == ["--output: n0, n1, n2, n3, n4 and 7 more: not copied"]
