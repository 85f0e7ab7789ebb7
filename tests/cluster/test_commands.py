"""The same output, the same exit code and the same files, on one machine and on a cluster."""

import os
import shutil
from pathlib import Path

import pytest

from cluster.dask_processes import DaskProcesses
from cluster.mixed_store import make_project
from conftest import Cli, Outcome
from isolation import set_user_folders
from runcard.catalog import filling
from runcard.extras import install_hint
from runcard.operations.checks.verify import verify
from runcard.parallel import cluster
from runcard.parallel.cluster import WorkerCluster, use_cluster
from runcard.parallel.current_cluster import current_cluster

FORMS = pytest.mark.parametrize("form", [["--json"], []], ids=["json", "text"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project and the home of its user, made once."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        set_user_folders(patch, folder / "home")
        (folder / "project").mkdir()
        patch.chdir(folder / "project")
        make_project(folder / "project")
    return folder


@pytest.fixture
def project(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    set_user_folders(monkeypatch, made / "home")
    monkeypatch.chdir(made / "project")
    monkeypatch.setattr(filling, "_BATCH", 2)  # records that a worker reads at once
    return made / "project"


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the shards that were given to workers."""
    sizes: list[int] = []
    submit = WorkerCluster._submit

    def counted(self: WorkerCluster, shard: cluster._Shard) -> object:
        sizes.extend([len(shard.items)] * (shard.call is not None))
        return submit(self, shard)

    monkeypatch.setattr(WorkerCluster, "_submit", counted)
    return sizes


def test_without_dask_nothing_is_said_about_the_records(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    done = cli("verify", project / "outputs", "--workers", "2")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "Error: --workers and --cluster need the package distributed, which is not installed\n"
        f"  hint: {install_hint('cluster')}\n"
    )


@FORMS
@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "outputs", "artifacts", "."],
        ["verify", "old", "outputs/archive"],
        ["verify", "*records*", "nothing-here"],
        ["costs", "--by", "model"],
        ["costs", "--source", "claude-code", "transcripts"],
        ["index", "--rebuild"],
        ["index", "."],
        ["export", "runs", "--to", "jsonl"],
        ["export", "calls", "--to", "csv"],
        ["export", "*good*", "--to", "in-toto"],
        ["export", "*good*", "--to", "otlp"],
        ["export", "*records*", "--to", "in-toto"],
    ],
    ids=" ".join,
)
def test_a_command_says_the_same(
    cli: Cli,
    dask: DaskProcesses,
    project: Path,
    shards: list[int],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    form: list[str],
) -> None:
    words = [word for argument in arguments for word in _expanded(project, argument)]
    if "--to" in words:
        form = ["--output", "written", *form] if form else []

    def call(*options: str) -> tuple[Outcome, bytes | None]:
        monkeypatch.setenv("RUNCARD_CATALOG", str(project / "catalog.db"))
        (project / "catalog.db").unlink(missing_ok=True)
        done = cli(*words, *form, *options)
        target = project / "written"
        data = target.read_bytes() if target.exists() else None
        target.unlink(missing_ok=True)
        return done, data

    alone, spread = call(), call("--cluster", dask.address)
    assert spread == alone
    assert alone[0].code != 64, alone[0].err
    assert len(shards) > 1


def _expanded(project: Path, word: str) -> list[str]:
    """`*records*` are all records and archives by their paths, `*good*` those that can be exported."""
    records = sorted(os.path.relpath(path.parent, project) for path in project.glob("outputs/2*/SHA256SUMS"))
    archives = sorted(os.path.relpath(path, project) for path in project.glob("outputs/archive/*/*.tar.gz"))
    if word == "*records*":
        return [*records, *archives]
    if word == "*good*":
        return [*records[-3:], archives[-1]]
    return [word]


@FORMS
def test_migrate_says_and_does_the_same(
    cli: Cli,
    dask: DaskProcesses,
    project: Path,
    shards: list[int],
    tmp_path: Path,
    form: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = []
    folder = tmp_path / "work"
    for options in ((), ("--cluster", dask.address)):
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(project / "old", folder / "old", symlinks=True)
        monkeypatch.chdir(folder)
        names = sorted(os.listdir("old"))
        sessions = [str(path) for path in Path("old/sessions").glob("2*")]
        paths = [f"old/{name}" for name in names if name != "sessions"]
        again = ["old/team-0.json", "no-such-file.json", *sessions, *sessions]
        done = cli("migrate", *paths, *again, *form, *options)
        files = {path.relative_to(folder): path.is_file() for path in folder.rglob("*")}
        results.append((done, files))
        assert cli("validate", "old/team-0.json", "old/run-1").code in {0, 2}
    assert results[0] == results[1]
    assert results[0][0].code == 1
    assert len(shards) > 1


@pytest.mark.usefixtures("project")
def test_verify_loses_no_record_when_a_worker_is_killed(
    dask: DaskProcesses, shards: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_SHARD_ITEMS", 1)
    alone = list(verify("outputs", "artifacts"))
    with use_cluster(address=dask.address):
        results = verify("outputs", "artifacts")
        spread = [next(results)]
        own = current_cluster()
        assert own is not None
        pids = own.connect().run(os.getpid)
        os.kill(min(pids.values()), 9)
        spread += results
    assert spread == alone
    assert len(shards) > 4


@pytest.mark.usefixtures("project")
def test_workers_of_our_own_say_the_same_and_are_gone_at_the_end(cli: Cli, shards: list[int]) -> None:
    alone = cli("verify", "outputs", "--json")
    assert cli("verify", "outputs", "--json", "--workers", "2") == alone
    assert shards
    assert cli("export", "x", "--to", "bundle", "--workers", "2").code == 64
