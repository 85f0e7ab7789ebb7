"""Spread work on many items, such as the records of a store, over the processes of a Dask cluster.

`use_cluster` names the cluster; everything inside it that calls `work_in_order` uses it. Items are sent in shards of about the
same size, a few for each worker at a time. A worker reads the files itself and replies with results only, so neither the
scheduler nor this process holds what records consist of.

Invariants: there is one result for each item, in the order of the items. A shard whose worker dies is given to another
worker, and in the end is done here; so is an item whose work raises, and the error is raised as usual. The first reply about
a shard counts, and there is only one. Dask is imported when a cluster is used, not before.
"""

import os
import pickle
import re
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeAlias, TypeVar

from runcard.errors import ClusterError, RuncardError, UsageError
from runcard.extras import missing_package
from runcard.parallel.current_cluster import CURRENT
from runcard.parallel.progress import Progress
from runcard.parallel.shard import ItemPlace, ShardItems

T = TypeVar("T")
R = TypeVar("R")
Client: TypeAlias = Any  # of Dask, which has no types for them
Future: TypeAlias = Any

SHARD_BYTES = 64 << 20  # of the items of a shard, if it has more than one
_SHARD_ITEMS = 64
_SHARDS_EACH = 4  # that a worker is given, or whose results wait for their turn
_CONNECT = 10  # seconds to wait for a scheduler
_PATIENCE = 60  # seconds to wait for one that was lost or is silent, or for a worker while there is none
_LOOK = 5  # seconds between two looks at the workers
_POLL = 0.01  # seconds between two looks at a result
_RECONNECTIONS = 3  # to a scheduler that was lost
_ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):(?P<port>[0-9]{1,5})", re.ASCII)


@contextmanager
def use_cluster(*, workers: int | None = None, address: str | None = None) -> Iterator[None]:
    """Spread work over this many processes on this machine, or over the workers of the scheduler at an address.

    Without both, nothing changes. Raises ClusterError if there is no scheduler at the address, and MachineError without
    Dask: before any work, which would take that for a fault of what it works on.
    """
    if workers is not None and address is not None:
        raise UsageError("--workers contradicts --cluster", hint="pass one of them")
    if workers is None and address is None:
        yield
        return
    if find_spec("distributed") is None:
        raise _no_dask()
    if address is not None:
        _check_address(address)
    cluster = WorkerCluster(workers, address)
    token = CURRENT.set(cluster)
    try:
        if address is not None:
            cluster.connect()
        yield
    finally:
        CURRENT.reset(token)
        cluster.close()


class _Shard(NamedTuple):
    """Some items in a row, with the data of the call that works on them; None: it is to be made here."""

    items: range
    call: bytes | None


class _LostCall:
    """A call that could not be sent: it has no result, and nothing to release."""

    def release(self) -> None:
        """There is nothing to release."""


class WorkerCluster:
    """The workers of a scheduler: one that is there already, or one of our own, which starts with the first work."""

    def __init__(self, workers: int | None, address: str | None) -> None:
        self._workers, self._address = workers, address
        self._own: Any = None  # a LocalCluster
        # The variables that Dask sets in this process for its workers, with their values before.
        self._environment: dict[str, str | None] = {}
        self._client: Client | None = None
        self._numbers = count()
        self._left = _RECONNECTIONS

    # The connection.

    def connect(self, *, again: bool = False) -> Client:
        """The client of the scheduler, which is started or connected to if that was not done before."""
        if self._client is None:
            distributed = _distributed()
            if self._address is None:
                self._start_own(distributed)
            self._client = self._connected(distributed, _PATIENCE if again else _CONNECT)
        return self._client

    def _start_own(self, distributed: Any) -> None:  # noqa: ANN401 - Dask has no types
        import dask  # noqa: PLC0415 - see above

        before = dict(os.environ)
        try:
            with _no_interrupts(), dask.config.set({"distributed.worker.profile.enabled": False}):
                self._own = distributed.LocalCluster(
                    n_workers=self._workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=_SILENT,
                )
        except (OSError, RuntimeError, TimeoutError) as error:
            raise ClusterError(
                f"the workers do not start: {error}", hint="pass a smaller number, or leave out --workers"
            ) from error
        finally:
            changed = (name for name, value in os.environ.items() if before.get(name) != value)
            self._environment = {name: before.get(name) for name in changed}

    def _connected(self, distributed: Any, patience: float) -> Client:  # noqa: ANN401 - see above
        try:
            if self._own is None:
                _greet(distributed, self._address, patience)
            client: Client = distributed.Client(
                self._own or self._address, timeout=patience, set_as_default=False
            )
        except Exception as error:  # Dask raises whatever another program at this port made it stumble over
            raise ClusterError(
                f"no scheduler answers at {self._address}", hint=_connection_hint(self._address)
            ) from error
        try:
            _wait_for_workers(client, self._address)
        except BaseException:
            with suppress(OSError, RuntimeError):
                client.close(timeout=_LOOK)
            raise
        return client

    def _reconnect(self) -> None:
        """Connect again to a scheduler that was lost; raises ClusterError if it stays away."""
        self._disconnect()
        if self._own is not None or not self._left:
            raise ClusterError("the connection to the scheduler was lost", hint=_AGAIN)
        self._left -= 1
        self.connect(again=True)

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(OSError, RuntimeError, TimeoutError):
                client.close(timeout=_LOOK)

    def close(self) -> None:
        """Disconnect; workers of our own are ended."""
        self._disconnect()
        own, self._own = self._own, None
        if own is not None:
            with suppress(OSError, RuntimeError, TimeoutError):
                own.close()
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._environment = {}

    # The work.

    def work_in_order(
        self,
        items: Sequence[T],
        work: Callable[[T, Progress], R],
        progress: Progress,
        place: Callable[[T], ItemPlace | None],
    ) -> Iterator[R]:
        """Do the work for all items and yield the results in their order; it must be possible to pickle `work`.

        `place` says where an item is and how large; None for one that must be worked on by this process.
        """
        self.connect()
        workers = self._count_workers() or 1  # all of them may have just died
        waiting: deque[tuple[_Shard, Future]] = deque()
        try:
            for shard in _shards(items, work, place, workers):
                waiting.append((shard, self._submit(shard)))
                if len(waiting) >= _SHARDS_EACH * workers:
                    yield from self._results(waiting, items, work, progress)
            while waiting:
                yield from self._results(waiting, items, work, progress)
        finally:
            for _, future in waiting:
                if future is not None:
                    future.release()

    def _submit(self, shard: _Shard) -> Future:
        if shard.call is None:
            return None
        key = f"runcard-{os.getpid()}-{id(self)}-{next(self._numbers)}"
        try:
            return self.connect().submit(pickle.loads, shard.call, key=key, pure=False)
        except _distributed().client.ClosedClientError:  # the scheduler is lost
            return _LostCall()

    def _results(
        self,
        waiting: deque[tuple[_Shard, Future]],
        items: Sequence[T],
        work: Callable[[T, Progress], R],
        progress: Progress,
    ) -> Iterator[R]:
        """The results for the items of the first shard that waits."""
        while (replies := self._replies(*waiting[0])) is None:
            self._reconnect()
            lost = [shard for shard, _ in waiting]
            waiting.clear()
            waiting.extend((shard, self._submit(shard)) for shard in lost)
        shard, _ = waiting.popleft()
        for index, reply in zip(shard.items, replies, strict=True):
            if reply is None:
                yield work(items[index], progress)
            else:
                result, amount = reply
                if any(amount):
                    progress(*amount)
                yield result

    def _replies(self, shard: _Shard, future: Future) -> Sequence[Any] | None:
        """What the workers say about a shard: None for an item to be done here. None if the scheduler is lost."""
        if future is None:
            return [None] * len(shard.items)
        if isinstance(future, _LostCall):
            return None
        distributed = _distributed()
        try:
            reply: bytes = self._wait(future)
        except distributed.KilledWorker:
            return [None] * len(shard.items)
        except (distributed.client.FutureCancelledError, distributed.comm.CommClosedError):
            return None
        except ClusterError:
            raise
        except Exception as error:  # errors of the work are not raised there: this is about the worker itself
            raise ClusterError(
                f"a worker cannot run this: {error}", hint="install the same runcard on all workers"
            ) from error
        future.release()
        return pickle.loads(reply)  # type: ignore[no-any-return]  # noqa: S301 - by our own workers

    def _wait(self, future: Future) -> bytes:
        """The result of a call; raises ClusterError if there are no workers any more to make it, or no answers."""
        answered = had_workers = looked = monotonic()
        while (
            not future.done()
        ):  # a timeout of `result` can be lost: its exception is that of a cancelled call
            sleep(_POLL)
            if monotonic() - looked > _LOOK:
                looked, workers = monotonic(), self._count_workers()
                answered = answered if workers is None else looked
                had_workers = looked if workers else had_workers
                if looked - answered > _PATIENCE:
                    raise _silent_scheduler()
                if answered - had_workers > _PATIENCE:
                    raise _no_workers(self._address)
        return future.result()  # type: ignore[no-any-return]

    def _count_workers(self) -> int | None:
        """How many workers there are; None if the scheduler does not answer. Whether it is gone, its futures will say."""
        try:
            return len(self.connect().nthreads(callback_timeout=_LOOK))
        except OSError:
            return None


_AGAIN = "see its log, and run the command again: what is done stays done"


def _check_address(address: str) -> None:
    """Raise UsageError for what cannot be the address of a scheduler, before Dask is loaded."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise UsageError(
            "--cluster is not the address of a Dask scheduler", hint="pass one such as tcp://10.0.0.5:8786"
        )


def _greet(distributed: Any, address: str | None, patience: float) -> None:  # noqa: ANN401 - Dask has no types
    """Exchange the first messages with a scheduler: `Client` would wait for ever for those of another program."""
    import asyncio  # noqa: PLC0415 - Dask has loaded it

    async def greet() -> None:
        options = distributed.Security().get_connection_args("client")
        connecting = distributed.comm.connect(address, timeout=patience, **options)
        await (await asyncio.wait_for(connecting, patience)).close()

    asyncio.run(greet())


def _connection_hint(address: str | None) -> str:
    if address is not None and address.startswith("tls:"):
        return "check the address, and the certificates in Dask's TLS settings"
    return (
        "check the address; start one with `dask scheduler`, or pass --workers for processes on this machine"
    )


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Start processes that a Ctrl-C does not reach: they are ended by this one, which gets it afterwards."""
    from multiprocessing import resource_tracker  # noqa: PLC0415 - few start workers

    resource_tracker.ensure_running()  # otherwise it starts with the first process, and allows interrupts again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for_workers(client: Client, address: str | None) -> None:
    """Wait until there is a worker. (That of Dask waits for ever if the scheduler hangs.)"""
    deadline, workers = monotonic() + _PATIENCE, None
    while not workers:
        if monotonic() > deadline:
            raise _silent_scheduler() if workers is None else _no_workers(address)
        sleep(_POLL)
        with suppress(OSError):
            workers = len(client.nthreads(callback_timeout=_LOOK))


def _silent_scheduler() -> ClusterError:
    return ClusterError("the scheduler does not answer any more", hint=_AGAIN)


def _no_workers(address: str | None) -> ClusterError:
    where = "the cluster" if address is None else f"the scheduler at {address}"
    return ClusterError(f"{where} has no workers", hint="start some with `dask worker ADDRESS`")


def _shards(
    items: Sequence[T],
    work: Callable[[T, Progress], R],
    place: Callable[[T], ItemPlace | None],
    workers: int,
) -> Iterator[_Shard]:
    """The items in shards of about the same size; one that must be done here is alone."""
    most = max(1, min(_SHARD_ITEMS, len(items) // (_SHARDS_EACH * workers)))
    start = size = 0
    places: list[ItemPlace] = []

    def shard(end: int) -> _Shard:
        call = ShardItems(work, list(items[start:end]), list(places), os.getcwd()).to_bytes()
        return _Shard(range(start, end), call)

    for index, item in enumerate(items):
        found = place(item)
        if places and (found is None or len(places) == most or size + found.size > SHARD_BYTES):
            yield shard(index)
            start, size, places = index, 0, []
        if found is None:
            yield _Shard(range(index, index + 1), None)
            start = index + 1
        else:
            places.append(found)
            size += found.size
    if places:
        yield shard(len(items))


def _no_dask() -> RuncardError:
    return missing_package("--workers and --cluster need", "distributed", "cluster")


_SILENT = 60  # above all levels of `logging`


def _distributed() -> Any:  # noqa: ANN401 - a module
    """The package, which says nothing on stderr; raises MachineError if it is not installed."""
    try:
        import distributed  # noqa: PLC0415 - an extra, and heavy
        import distributed.client  # noqa: PLC0415
        import distributed.comm  # noqa: PLC0415
    except ImportError as error:
        raise _no_dask() from error
    import logging  # noqa: PLC0415

    for name in ["asyncio", *logging.root.manager.loggerDict]:
        if name.startswith(("asyncio", "distributed", "tornado")):
            logging.getLogger(name).setLevel(_SILENT)
    return distributed
