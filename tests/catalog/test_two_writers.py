"""Two processes that write to a server at once: each call counts once, whatever one does in the middle of the other's work."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

import runcard
from catalog.test_filling import dump, rebuilt
from runcard.catalog import postgres_engine
from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.filling import fill
from waiting import wait_until

pytestmark = pytest.mark.server_only

REPLY = {
    "id": "msg_1",
    "type": "message",
    "model": "claude-sonnet-4-5",
    "usage": {"input_tokens": 100, "output_tokens": 1},
}


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """Two stores: a call that a run in one has, and the run around it in the other; and one that only the latter has."""
    with runcard.record(tmp_path / "a", strict=True) as outer:
        with runcard.record(tmp_path / "b", strict=True) as inner:
            inner.add_usage(REPLY)
        outer.add_usage(REPLY)
        outer.add_usage(REPLY | {"id": "msg_2"})
    return tmp_path / "a", tmp_path / "b"


class TwoWriters(NamedTuple):
    """The catalog of a server as two hosts, a and b, have it open."""

    one: CatalogDatabase
    other: CatalogDatabase
    open: Callable[[str], CatalogDatabase]  # once more, on a host


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch, server: Any) -> Iterator[TwoWriters]:
    def on_host(name: str) -> CatalogDatabase:
        monkeypatch.setattr(postgres_engine, "host_name", lambda: name)
        return CatalogDatabase(server.url())

    with on_host("a") as one, on_host("b") as other:
        yield TwoWriters(one, other, on_host)


def before_statement(
    monkeypatch: pytest.MonkeyPatch, database: CatalogDatabase, sql: str, work: Callable[[], object]
) -> None:
    """Do this once, before the first statement with this text."""
    execute, todo = database.engine.execute, [work]

    def execute_after(statement: str, parameters: Any) -> Any:
        if sql in statement and todo:
            todo.pop()()
        return execute(statement, parameters)

    monkeypatch.setattr(database.engine, "execute", execute_after)


def waits_for_lock(database: CatalogDatabase) -> bool:
    return bool(database.rows("SELECT 1 FROM pg_catalog.pg_locks WHERE NOT granted"))


def test_what_is_written_while_calls_are_settled_is_settled_later(
    tmp_path: Path,
    stores: tuple[Path, Path],
    writers: TwoWriters,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other, on_host = writers
    writer = Thread(target=fill, args=(other, str(stores[1])))

    def write() -> None:
        writer.start()
        with on_host("c") as third:
            wait_until(lambda: waits_for_lock(third), "the other writer waits")

    before_statement(monkeypatch, one, "DELETE FROM unsettled", write)
    fill(one, str(stores[0]))
    writer.join()
    assert one.rows("SELECT sum(input) FROM usage WHERE counts = 1") == [(200,)]
    assert dump(one) == rebuilt(tmp_path, *stores)


def test_a_rebuild_keeps_the_sums_of_what_another_process_adds_meanwhile(
    tmp_path: Path,
    stores: tuple[Path, Path],
    writers: TwoWriters,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of the same host."""
    one, other, on_host = writers
    fill(one, str(stores[0]))
    fill(other, str(stores[1]))
    clear = one.engine.clear

    def clear_later() -> None:
        with on_host("a") as same_host:
            fill(same_host, str(stores[0]))
        clear()

    monkeypatch.setattr(one.engine, "clear", clear_later)
    one.clear()
    fill(one, str(stores[0]))
    assert dump(one) == rebuilt(tmp_path, *stores)


def test_filling_ends_when_another_process_rebuilds(
    tmp_path: Path,
    stores: tuple[Path, Path],
    writers: TwoWriters,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows of a store that is not there any more would count for ever."""
    one, other, on_host = writers
    fill(other, str(stores[1]))
    take = one.take_numbers

    def take_and_rebuild(count: int) -> int:
        with on_host("a") as same_host:
            same_host.clear()
        return take(count)

    monkeypatch.setattr(one, "take_numbers", take_and_rebuild)
    with pytest.raises(CatalogError) as raised:
        fill(one, str(stores[0]))
    assert "rebuilt by another process" in raised.value.message
    assert raised.value.hint == "run `runcard index`"
    monkeypatch.undo()
    fill(one, str(stores[0]))
    assert dump(one) == rebuilt(tmp_path, *stores)
