"""A server keeps the catalog open between two questions, and still sees everything that is new."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import runcard
from runcard.operations.catalog.kept_catalogs import keep_catalogs_open
from runcard.operations.catalog.list_records import list_records


class _Question:
    """Asks how many records there are, and counts how often the file of the catalog is opened."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.catalog, self.opened = folder / "outputs", folder / "catalog.db", 0
        connect = sqlite3.connect

        def counted(*arguments: object, **options: object) -> sqlite3.Connection:
            self.opened += 1
            return connect(*arguments, **options)  # type: ignore[call-overload, no-any-return]

        monkeypatch.setattr(sqlite3, "connect", counted)

    def record(self) -> None:
        with runcard.record(self.store, strict=True):
            pass

    def total(self) -> int:
        return list_records(catalog=str(self.catalog), stores=[str(self.store)]).total


@pytest.fixture
def question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Question]:
    """With one record, in a catalog that exists."""
    made = _Question(tmp_path, monkeypatch)
    made.record()
    assert made.total() == 1
    made.opened = 0
    with keep_catalogs_open():
        yield made
    assert not (tmp_path / "catalog.db-wal").exists()  # all connections are closed


def test_it_is_opened_once_and_shows_new_records(question: _Question) -> None:
    assert question.total() == 1
    question.record()
    assert question.total() == 2
    answers: list[int] = []
    for _ in range(5):
        thread = threading.Thread(target=lambda: answers.append(question.total()))
        thread.start()
        thread.join()
    assert answers == [2] * 5
    assert question.opened == 1


def test_questions_at_the_same_time_have_a_connection_each(question: _Question) -> None:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(question.total())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1] * 20


@pytest.mark.parametrize("how", ["deleted", "replaced", "damaged"])
def test_a_file_that_is_not_the_same_any_more_is_not_used(question: _Question, how: str) -> None:
    assert question.total() == 1
    if how == "deleted":
        question.catalog.unlink()
    elif how == "replaced":
        other = question.catalog.with_suffix(".other")
        other.write_bytes(b"no catalog")
        other.replace(question.catalog)
    else:
        question.catalog.write_bytes(b"no catalog" * 1000)
    question.record()
    assert question.total() == 2
    assert question.total() == 2


def test_a_command_keeps_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = _Question(tmp_path, monkeypatch)
    question.record()
    question.total()
    question.opened = 0
    assert [question.total() for _ in range(3)] == [1, 1, 1]
    assert question.opened == 3
