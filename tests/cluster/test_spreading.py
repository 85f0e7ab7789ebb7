"""Work on a cluster: one result for each item, in order, whatever happens to workers and scheduler."""

import os
import pickle
from functools import partial
from pathlib import Path

import pytest

from cluster.dask_processes import DaskProcesses
from cluster.shard_work import doubled, here, nothing, nowhere, pid_of
from conftest import Cli
from runcard.errors import ClusterError, EncodingError, RuncardError
from runcard.parallel import cluster, shard
from runcard.parallel.cluster import use_cluster
from runcard.parallel.current_cluster import current_cluster
from runcard.parallel.forks import work_in_order
from runcard.parallel.shard import ItemPlace, ShardItems, run_shard

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


def test_the_scheduler_may_be_restarted_and_one_that_stays_away_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = DaskProcesses(tmp_path_factory.mktemp("dask"))
    try:
        own.start()
        with use_cluster(address=own.address):
            results = work_in_order(range(60), pid_of, place=here)
            found = [next(results)]
            own.stop()
            own.start()
            found += [next(results) for _ in range(30)]
            own.stop()
            monkeypatch.setattr(cluster, "_PATIENCE", 1)
            with pytest.raises(ClusterError, match="no scheduler answers at tcp://"):
                found += results
    finally:
        own.stop()
    assert [number for number, _ in found] == list(range(len(found)))
    assert len(found) < 60
    assert os.getpid() not in {pid for _, pid in found}


def test_a_worker_that_sees_other_files_or_has_another_runcard_is_not_believed(
    dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with use_cluster(address=dask.address):
        with pytest.raises(ClusterError, match="does not have the same /proc/self"):
            list(work_in_order(range(2), pid_of, place=nowhere))
        monkeypatch.setattr(shard, "_VERSION", "runcard 0 on Python 2.7")
        with pytest.raises(ClusterError, match=r"and this is runcard 0 on Python 2\.7"):
            list(work_in_order(range(2), pid_of, place=here))
    call = ShardItems(pid_of, [1], ItemPlace(".", 0), "/no/such/folder").to_bytes()
    with pytest.raises(ClusterError, match="does not have the same /no/such/folder"):
        run_shard(call)


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
        (["--cluster", "nonsense"], 1, "no scheduler answers at nonsense"),
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
