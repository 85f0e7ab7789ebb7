"""Work on a cluster: one result for each item, in order, whatever happens to workers and scheduler."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import NoReturn

import pytest

from cluster.dask_processes import DaskProcesses
from cluster.shard_work import doubled, here, met, nothing, nowhere, pid_of
from conftest import Cli
from runcard.errors import ClusterError, EncodingError, RuncardError
from runcard.parallel import cluster, shard
from runcard.parallel.cluster import WorkerCluster, use_cluster
from runcard.parallel.current_cluster import current_cluster
from runcard.parallel.forks import work_in_order
from runcard.parallel.shard import ItemPlace, ShardItems

TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.usefixtures("here")


def test_workers_that_die_lose_nothing_and_nothing_counts_twice(dask: DaskProcesses, tmp_path: Path) -> None:
    """7 kills its worker once, 13 kills every one, and 21 raises on workers only."""
    amounts: list[tuple[int, int]] = []
    with use_cluster(address=dask.address):
        work = partial(doubled, caller=os.getpid())
        found = list(work_in_order(range(40), work, lambda *now: amounts.append(now), place=here))
    assert found == [2 * number for number in range(40)]
    assert amounts == [(1, number) for number in range(40)]
    assert current_cluster() is None
    callers = {number: (tmp_path / f"{number}.calls").read_text().split() for number in range(40)}
    assert {pid for pid in callers[13] if pid != str(os.getpid())}
    assert callers[13][-1] == callers[21][-1] == str(os.getpid())
    assert len(callers[7]) > 1


@pytest.mark.long
def test_the_scheduler_may_be_restarted_and_one_that_stays_away_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "dask").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "cluster.harness_restart", tmp_path / "dask"],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    found = told["found"]
    assert told["message"].startswith("no scheduler answers at tcp://")
    assert [number for number, _ in found] == list(range(len(found)))
    assert len(found) < 60
    assert told["pid"] not in {pid for _, pid in found}


def test_a_worker_that_sees_other_files_or_has_another_runcard_is_not_believed(
    dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with use_cluster(address=dask.address):
        with pytest.raises(ClusterError, match="does not have the same /proc/self"):
            list(work_in_order(range(2), pid_of, place=nowhere))
        monkeypatch.setattr(shard, "_VERSION", "runcard 0 on Python 2.7")
        with pytest.raises(ClusterError, match=r"and this is runcard 0 on Python 2\.7"):
            list(work_in_order(range(2), pid_of, place=here))
    call = ShardItems(pid_of, [1], [ItemPlace(".", 0)], "/no/such/folder").to_bytes()
    with pytest.raises(ClusterError, match="does not have the same /no/such/folder"):
        pickle.loads(call)  # noqa: S301 - made here


def test_an_item_that_is_not_what_the_caller_saw_is_left_to_the_caller(tmp_path: Path) -> None:
    """Such as a document that was migrated just before its worker died: it is another file now."""
    places = [ItemPlace(str(tmp_path / name), 0) for name in ("same", "replaced", "removed", "not-there")]
    for place in places[:3]:
        Path(place.path).write_text("first")
    call = ShardItems(nothing, [1, 2, 3, 4], places, os.getcwd()).to_bytes()
    (tmp_path / "new").write_text("second")
    (tmp_path / "new").replace(tmp_path / "replaced")
    (tmp_path / "removed").unlink()
    assert pickle.loads(pickle.loads(call)) == [(None, (0, 0)), None, None, (None, (0, 0))]  # noqa: S301 - made here


def test_objects_of_a_server_do_not_wait_for_each_other() -> None:
    """Each of them needs another one to be under way; files are read one after the other."""
    for path, expected in (("s3://b/x", [(4, (0, 0))] * 8), (".", [None] * 8)):
        call = ShardItems(met, [4] * 8, [ItemPlace(path, 0)] * 8, os.getcwd()).to_bytes()
        assert pickle.loads(pickle.loads(call)) == expected  # noqa: S301 - made here


def test_all_items_of_a_shard_must_be_on_the_worker(tmp_path: Path) -> None:
    """Also if the first one is, and another one is on a disk of the caller."""
    folders = [tmp_path / "shared", tmp_path / "local"]
    for folder in folders:
        folder.mkdir()
        (folder / "run").mkdir()
    places = [ItemPlace(str(folder / "run"), 0) for folder in folders]
    call = ShardItems(nothing, [1, 2], places, os.getcwd()).to_bytes()
    folders[1].rename(tmp_path / "elsewhere")
    with pytest.raises(ClusterError, match=r"does not have the same .*/local"):
        pickle.loads(call)  # noqa: S301 - made here


def test_a_worker_needs_runcard_to_make_a_call_and_not_to_receive_it() -> None:
    """Dask ends a worker that cannot read a message."""
    call = ShardItems(nothing, [1], [ItemPlace(".", 0)], os.getcwd()).to_bytes()
    program = "import pickle, sys; sys.modules['runcard'] = None; pickle.loads(sys.stdin.buffer.read())"
    done = subprocess.run([sys.executable, "-c", program], input=call, capture_output=True, check=False)
    assert done.stderr.splitlines()[-1].startswith(b"ModuleNotFoundError: ")


def test_a_cluster_whose_workers_have_all_just_died_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    own = WorkerCluster(2, None)
    client = SimpleNamespace(nthreads=lambda **_: {}, submit=lambda load, data, **_: _done(load(data)))
    monkeypatch.setattr(own, "connect", lambda: client)
    assert list(own.work_in_order([1, 2, 3], nothing, lambda *_: None, here)) == [None] * 3


def _done(reply: bytes) -> SimpleNamespace:
    """A call that was made."""
    return SimpleNamespace(done=lambda: True, result=lambda: reply, release=lambda: None)


def test_a_scheduler_that_is_silent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one whose machine hangs: the connection stays open, and nothing comes."""

    def nthreads(*, callback_timeout: float) -> NoReturn:
        raise TimeoutError(callback_timeout)

    own = WorkerCluster(None, "tcp://127.0.0.1:1")
    monkeypatch.setattr(own, "connect", lambda: SimpleNamespace(nthreads=nthreads))
    monkeypatch.setattr(cluster, "_LOOK", 0.01)
    monkeypatch.setattr(cluster, "_PATIENCE", 0.05)
    with pytest.raises(ClusterError, match="the scheduler does not answer any more"):
        own._wait(SimpleNamespace(done=lambda: False))
    with pytest.raises(ClusterError, match="the scheduler does not answer any more"):
        cluster._wait_for_workers(own.connect(), own._address)
    idle = SimpleNamespace(nthreads=lambda **_: {})
    with pytest.raises(ClusterError, match=r"the scheduler at tcp://127\.0\.0\.1:1 has no workers"):
        cluster._wait_for_workers(idle, own._address)


def test_an_interrupt_reaches_the_command_and_not_its_workers() -> None:
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with cluster._no_interrupts():
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"True\n"
    with pytest.raises(KeyboardInterrupt), cluster._no_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "http"])
def test_another_program_at_the_address_is_not_waited_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, greeting: bytes
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT", 0.5)
    accepted: list[socket.socket] = []

    def answer() -> None:
        accepted.append(server.accept()[0])
        accepted[0].sendall(greeting)

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        Thread(target=answer, daemon=True).start()
        done = cli("index", "--cluster", f"tcp://127.0.0.1:{port}")
    accepted[0].close()
    assert (done.code, done.out) == (1, "")
    assert f"no scheduler answers at tcp://127.0.0.1:{port}" in done.err
    assert "Traceback" not in done.err


def test_shards_have_about_the_same_size_and_what_only_the_caller_can_do_is_alone() -> None:
    sizes = [1, 1, cluster.SHARD_BYTES, 1, None, *[1] * 200]

    def place(size: int | None) -> ItemPlace | None:
        return None if size is None else ItemPlace(".", size)

    shards = list(cluster._shards(sizes, nothing, place, 1))
    assert [len(each.items) for each in shards] == [2, 1, 1, 1, *[51] * 3, 47]
    assert [index for each in shards for index in each.items] == list(range(len(sizes)))
    assert [each.call is None for each in shards] == [False, False, False, True, *[False] * 4]


@pytest.mark.parametrize(
    "error",
    [
        ClusterError("m", hint="h"),
        EncodingError("json.syntax", "m", line=1, column=2, hint="h"),
        RuncardError("m"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_reach_another_process_as_they_are(error: RuncardError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    assert (type(copy), copy.args, vars(copy)) == (type(error), error.args, vars(error))


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--cluster", "tcp://127.0.0.1:1"], 1, "no scheduler answers at tcp://127.0.0.1:1"),
        (["--cluster", "tls://127.0.0.1:1"], 1, "the certificates in Dask's TLS settings"),
        (["--cluster", "nonsense"], 64, "--cluster is not the address of a Dask scheduler"),
        (["--cluster", "tcp://127.0.0.1"], 64, "--cluster is not the address of a Dask scheduler"),
        (["--cluster", "tcp://127.0.0.1:87860"], 64, "--cluster is not the address of a Dask scheduler"),
        (["--cluster", "http://127.0.0.1:8787"], 64, "--cluster is not the address of a Dask scheduler"),
        (["--cluster", "tcp://user:secret@127.0.0.1:1"], 64, "--cluster is not the address of a Dask"),
        (["--cluster", "tcp://127.0.0.1:1", "--workers", "2"], 64, "--workers contradicts --cluster"),
        (["--workers", "0"], 64, "0 is not in the range"),
    ],
)
def test_a_cluster_that_is_not_there_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, message: str
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT", 0.5)
    done = cli("index", *options)
    assert done.code == code
    assert message in done.err
    assert not done.out
    assert "Traceback" not in done.err
    assert "secret" not in done.err
