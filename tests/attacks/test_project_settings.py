"""A `runcard.toml` or `pyproject.toml` that came with a repository: it may restrict, and may not loosen anything."""

import json
import os
import stat
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import runcard as library
from attacks.command_server import runcard
from runcard.files.user_folders import make_own_folder
from runcard.settings import ALL


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the SPEC of a session whose workspace has a credential."""
    for name in [variable for setting in ALL for variable in setting.variables]:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "clone"
    (workspace := folder / "work").mkdir(parents=True)
    (workspace / ".env").write_text("AWS_SECRET=hunter2\n")
    (workspace / "report.md").write_text("done\n")
    times = {"created_at": "2025-11-06T14:00:00Z", "terminated_at": "2025-11-06T14:01:00Z"}
    agent = {"name": "a", "status": "completed", "workspace": "work", **times}
    (folder / "spec.json").write_text(json.dumps({"team_session_id": "t", "instances": [agent]}))
    return folder


def configure(clone: Path, text: str, *, project: bool = False) -> None:
    """Write the settings of a repository, in either of the two files."""
    if project:
        tables = text.replace("[artifacts]", "[tool.runcard.artifacts]")
        (clone / "pyproject.toml").write_text(f"[tool.runcard]\n{tables}")
    else:
        (clone / "runcard.toml").write_text(text)


def collect(clone: Path, *options: str) -> CompletedProcess[str]:
    return runcard(clone, "collect", "spec.json", *options)


def session_of(done: CompletedProcess[str]) -> Path:
    return Path(done.stdout.strip())


def is_warned(done: CompletedProcess[str], key: str) -> bool:
    """Whether a warning names the key and how to allow it."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("Warning: ") and f" {key} " in line]
    return len(lines) == 1 and "`runcard config trust`" in done.stderr


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("where", ["absolute", "above", "link"])
def test_sessions_are_not_sent_out_of_the_repository(
    clone: Path, tmp_path: Path, where: str, *, project: bool
) -> None:
    (outside := tmp_path / "outside").mkdir()
    (clone / "link").symlink_to(outside)
    place = {"absolute": str(outside), "above": "../outside", "link": "link/deep"}[where]
    configure(clone, f'[artifacts]\ndir = "{place}"\n', project=project)
    done = collect(clone)
    assert done.returncode == 2
    assert is_warned(done, "artifacts.dir")
    assert session_of(done).parent == clone / "artifacts"
    assert os.listdir(outside) == []


def test_runs_are_not_sent_out_of_the_repository(clone: Path, tmp_path: Path) -> None:
    configure(clone, f'outputs = "{tmp_path}/outside"\n')
    done = runcard(clone, "run", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert is_warned(done, "outputs")
    [run] = (clone / "outputs").glob("2*")
    assert "is ignored" in json.loads((run / "metadata.json").read_text())["warnings"][0]["message"]
    assert not (tmp_path / "outside").exists()


def test_runs_recorded_from_python_are_not_sent_out_of_the_repository(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(clone, f'outputs = "{tmp_path}/outside"\nprices = "/dev/zero"\n')
    monkeypatch.chdir(clone)
    with (
        pytest.warns(library.RuncardWarning, match="outputs is ignored"),
        pytest.warns(library.RuncardWarning, match="prices is ignored"),
        library.record(model="claude-sonnet-4-5", provider="anthropic") as run,
    ):
        run.add_usage({"input_tokens": 1, "output_tokens": 1})
    assert run.path.parent == clone / "outputs"
    assert not (tmp_path / "outside").exists()


def test_credentials_are_not_brought_back(clone: Path) -> None:
    configure(clone, '[artifacts]\nexclude_patterns = ["!.env"]\n')
    done = collect(clone)
    assert done.returncode == 2
    assert is_warned(done, "artifacts.exclude_patterns")
    kept = [path.name for path in session_of(done).rglob("*")]
    assert "report.md" in kept
    assert ".env" not in kept


def test_permissions_are_not_opened(clone: Path) -> None:
    configure(clone, '[artifacts]\ndirectory_mode = "0777"\nfile_mode = "0666"\n')
    done = collect(clone)
    assert done.returncode == 2
    assert is_warned(done, "artifacts.directory_mode")
    assert is_warned(done, "artifacts.file_mode")
    session = session_of(done)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (session, session / "metadata.json")}
    assert modes == {0o700, 0o600}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enabled", "false"),
        ("metadata_only", "true"),
        ("no_transcripts", "true"),
        ("mask_workspaces", "true"),
        ("max_size_gb", "1"),
        ("max_file_size", '"none"'),
        ("max_size", '"1 TiB"'),
    ],
)
def test_nothing_is_switched_off_and_no_limit_is_raised(clone: Path, key: str, value: str) -> None:
    configure(clone, f"[artifacts]\n{key} = {value}\n")
    done = collect(clone)
    assert done.returncode == 2
    assert is_warned(done, f"artifacts.{key}")
    assert (session_of(done) / "instances").is_dir()
    assert [path.name for path in session_of(done).rglob("report.md")] == ["report.md"]


def test_sessions_are_not_deleted_because_a_repository_says_so(clone: Path) -> None:
    session = session_of(collect(clone))
    configure(clone, "[artifacts]\nretention_days = 1\nmax_size_gb = 1\n")
    done = runcard(clone, "prune", "--retention", "--yes")
    assert done.returncode not in {0, 2}
    assert is_warned(done, "artifacts.retention_days")
    assert done.stderr.startswith("Error: ")
    assert session.is_dir()


@pytest.mark.parametrize("command", [["validate"], ["show"], ["verify"]])
def test_limits_of_reading_are_not_raised(clone: Path, command: list[str]) -> None:
    session = session_of(collect(clone))
    configure(clone, 'limits.size = "1 TiB"\n')
    done = runcard(clone, *command, session)
    assert done.returncode == 2
    assert is_warned(done, "limits.size")


def test_the_users_own_restrictions_stay(clone: Path, home: Path) -> None:
    own = home / ".config" / "runcard" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(
        '[artifacts]\ngitignore = true\nexclude_patterns = ["private*"]\npatterns = ["*.md", "*.txt"]\n'
    )
    (clone / "work" / "private.md").write_text("mine\n")
    (clone / "work" / "ignored.md").write_text("mine\n")
    (clone / "work" / "code.py").write_text("mine\n")
    (clone / "work" / ".gitignore").write_text("ignored.md\n")
    configure(clone, '[artifacts]\ngitignore = false\nexclude_patterns = ["*.bin"]\npatterns = ["*"]\n')
    done = collect(clone)
    assert done.returncode == 2
    for key in ("gitignore", "exclude_patterns", "patterns"):
        assert is_warned(done, f"artifacts.{key}")
    assert [path.name for path in (session_of(done) / "instances").rglob("workspace/*")] == ["report.md"]


def test_masking_patterns_of_all_places_add_up(clone: Path, home: Path) -> None:
    own = home / ".config" / "runcard" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[masking]\npatterns = [{name = "acme", pattern = "acme_[a-z0-9]{20}"}]\n')
    configure(clone, '[masking]\npatterns = [{name = "other", pattern = "other_[0-9]{9}"}]\n')
    variables = {"RUNCARD_MASKING_PATTERNS": '[{"name": "third", "pattern": "third_[0-9]{9}"}]'}
    text = "acme_" + "a1" * 10 + " other_123456789 third_123456789"
    assert runcard(clone, "run", "--", "echo", text, variables=variables).returncode == 0
    (log,) = clone.glob("outputs/*/output.log")
    assert log.read_text() == "[masked:acme] [masked:other] [masked:third]\n"


def test_a_repository_may_restrict(clone: Path) -> None:
    text = (
        '[artifacts]\ndir = "sessions"\npatterns = ["*.md"]\nexclude_patterns = ["x"]\ngitignore = true\n'
        'max_size = "1 GB"\nfile_mode = "0600"\ncompress = false\nenabled = true\n'
    )
    configure(clone, f'outputs = "runs"\nlimits.depth = 99\n{text}')
    done = collect(clone)
    assert (done.returncode, done.stderr) == (0, "excluded: 1 path (.env)\n")
    assert session_of(done).parent == clone / "sessions"


def test_trust_is_for_one_content_at_one_path(clone: Path, tmp_path: Path) -> None:
    configure(clone, f'[artifacts]\ndir = "{tmp_path}/outside"\n')
    trusted = runcard(clone, "config", "trust")
    assert trusted.returncode == 0
    assert f"  artifacts.dir = {tmp_path}/outside\n" in trusted.stdout
    assert session_of(collect(clone)).parent == tmp_path / "outside"
    with (clone / "runcard.toml").open("a") as file:
        file.write('file_mode = "0666"\n')
    assert session_of(collect(clone)).parent == clone / "artifacts"
    runcard(tmp_path, "config", "trust", clone)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "runcard.toml").write_bytes((clone / "runcard.toml").read_bytes())
    (copy / "link.toml").symlink_to(clone / "runcard.toml")
    assert runcard(copy, "config").returncode == 2
    (copy / "runcard.toml").unlink()
    (copy / "link.toml").rename(copy / "runcard.toml")
    assert runcard(copy, "config").returncode == 2
    assert runcard(clone, "config").returncode == 0
    assert runcard(clone, "config", "trust", "--revoke").returncode == 0
    assert runcard(clone, "config").returncode == 2


def test_a_list_of_trusted_files_that_somebody_else_wrote_trusts_nothing(
    clone: Path, home: Path, tmp_path: Path
) -> None:
    configure(clone, f'outputs = "{tmp_path}/outside"\n')
    runcard(clone, "config", "trust")
    listed = home / ".local" / "state" / "runcard" / "trusted.json"
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600
    assert runcard(clone, "config").returncode == 0
    if os.geteuid() == 0:
        os.chown(listed, 65534, 65534)
        assert runcard(clone, "config").returncode == 2
        os.chown(listed, 0, 0)
    for damaged in (b"", b"[]", b'{"a": 1}', b"\xff", b"[" * 100_000):
        listed.write_bytes(damaged)
        assert runcard(clone, "config").returncode == 2


@pytest.mark.needs("root")
def test_a_link_that_a_stranger_left_in_a_public_place_does_not_count(clone: Path, tmp_path: Path) -> None:
    """The file is the user's own, of another project; the link to it is not."""
    configure(clone, 'outputs = "mine"\n')
    (public := tmp_path / "public").mkdir()
    public.chmod(0o1777)
    (public / "work").mkdir()
    (public / "runcard.toml").symlink_to(clone / "runcard.toml")
    os.chown(public / "runcard.toml", 65534, 65534, follow_symlinks=False)
    done = runcard(public / "work", "config", "--json")
    assert json.loads(done.stdout)["file"] is None


@pytest.mark.parametrize("name", ["runcard.toml", "pyproject.toml"])
@pytest.mark.parametrize("special", ["fifo", "device", "link to a fifo"])
def test_what_is_no_regular_file_is_passed_over(clone: Path, name: str, special: str) -> None:
    if special == "fifo":
        os.mkfifo(clone / name)
    elif special == "device":
        (clone / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(clone / "fifo")
        (clone / name).symlink_to("fifo")
    assert runcard(clone, "run", "--", "true").returncode == 0


@pytest.mark.parametrize(
    "content",
    [
        b"a = " + b"[" * 100_000,
        b"a = " + b"{a=" * 50_000,
        b".".join([b"a"] * 300_000) + b" = 1\n",
        (b".".join([b"a"] * 500) + b" = 1\n") * 1_000,
        b"limits.depth = " + b"9" * 100_000 + b"\n",
        b"[" + b" " * 500_000 + b"\n",
        b"a" + b" " * 500_000 + b"\n",
        b'x = """\n' + (b" " * 400 + b"\n") * 2_000 + b'"""\n',
        b"".join(b"key%d = 1\n" % number for number in range(60_000)),
        bytes(64 << 20),
    ],
    ids=["lists", "tables", "dotted", "dotted lines", "digits", "header", "key", "lines", "unknown", "large"],
)
def test_a_hostile_file_takes_no_time_and_shows_no_traceback(clone: Path, content: bytes) -> None:
    (clone / "runcard.toml").write_bytes(content)
    done = runcard(clone, "run", "--", sys.executable, "-c", "")
    assert done.returncode in {0, 125}
    assert len(done.stderr) < 10_000


def test_the_messages_show_no_control_characters(clone: Path) -> None:
    configure(clone, 'outputs = "/x\\u001b[2J"\n"\\u001b[31mkey" = 1\n')
    for arguments in (["config"], ["config", "trust"], ["config"], ["run", "--", "true"]):
        done = runcard(clone, *arguments)
        assert "\x1b" not in done.stdout + done.stderr.replace("\x1b[0m", "")


def test_every_setting_says_whether_a_repository_may_set_it() -> None:
    """A setting without a guard is an exception that somebody decided on."""
    assert {setting.key for setting in ALL if setting.guard is None} == {
        "artifacts.compress",
        "artifacts.timeout",
        "export.author",
        "export.license",
        "masking.patterns",
        "plans.format",
        "plans.tags",
    }


def test_the_folder_of_the_key_and_of_what_is_trusted_is_the_users_alone(tmp_path: Path) -> None:
    """A group that may write to it could put a list of trusted files there, which the user has got with a repository."""
    state = tmp_path / "new" / "state" / "runcard"
    before = os.umask(0o002)
    try:
        make_own_folder(str(state / "stores"))
    finally:
        os.umask(before)
    made = (state / "stores", state, state.parent, state.parent.parent)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in made] == [0o700] * 4
