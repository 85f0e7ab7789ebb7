"""The database of OpenCode: two generations of tables, `message` with `part`, and `session_message`.

It is opened so that nothing in its folder changes. SQLite makes files beside a database in WAL mode that nobody has open; such a
one is read as a file that does not change, and an error says so if it does.

Invariant: the work is limited. Only tables are read that store what they have, and only so many steps are made as the size of the
file justifies: a database can come from anybody.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from runcard.files import NotRegularFileError, open_regular
from runcard.transcripts.content import milliseconds
from runcard.transcripts.opencode.records import LARGEST, TOO_LARGE, SessionFacts, StoredRecord, facts_of

TABLES = (
    "message",
    "session_message",
)  # of messages; where a session has calls in the first, the second does not count
TIMEOUT = 2.0  # seconds to wait for a locked database

_FACTS = ("parent_id", "directory", "title", "version", "agent", "time_created", "time_updated")
_NOT_EXPORTED = frozenset({"share_url"})  # whoever has it can read the session
_STEPS = 10_000  # of SQLite's machine, between two looks at the limit
_FEWEST_STEPS = 50_000_000  # for a file of any size: about a second
_STEPS_OF_BYTE = 2  # more for each byte; reading a row takes some ten steps
_WAL_MODE = b"\x02\x02"
_WAL_MODE_AT = 18  # in the header of the file


@contextmanager
def open_database(path: str) -> Iterator["Database"]:
    """Open a database for reading. Raises sqlite3.Error for one that is locked, damaged, or changes meanwhile."""
    before = _state_without_writer(path)
    option = "" if before is None else "&immutable=1"
    uri = f"file:{quote(os.path.abspath(path))}?mode=ro{option}"
    connection = sqlite3.connect(uri, uri=True, timeout=TIMEOUT, isolation_level=None)
    limit = limit_work(connection, path)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("BEGIN")  # all that is read is of one moment
        yield Database(connection)
    except sqlite3.OperationalError as error:
        if limit.is_reached:
            raise sqlite3.OperationalError("reading it takes more work than its size justifies") from error
        raise
    finally:
        connection.close()
    if before is not None and _state(path) != before:
        raise sqlite3.OperationalError("it was changed while it was read")


class WorkLimit:
    """Interrupts a connection after so many steps of SQLite."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.is_reached = False

    def count(self) -> int:
        """Called after each `_STEPS`; another value than 0 interrupts."""
        self._left -= _STEPS
        self.is_reached = self._left < 0
        return int(self.is_reached)


def limit_work(connection: sqlite3.Connection, path: str) -> WorkLimit:
    """Limit the work of a connection by the size of its file."""
    try:
        size = os.stat(path).st_size
    except OSError:
        size = 0
    limit = WorkLimit(_FEWEST_STEPS + _STEPS_OF_BYTE * size)
    connection.set_progress_handler(limit.count, _STEPS)
    return limit


def _state_without_writer(path: str) -> tuple[int, int] | None:
    """The state of a database in WAL mode that nobody has open; None for any other."""
    try:
        with open(open_regular(path, follow=True), "rb") as file:
            header = file.read(_WAL_MODE_AT + len(_WAL_MODE))
        is_still = header.endswith(_WAL_MODE) and not os.path.exists(f"{path}-wal")
        return _state(path) if is_still else None
    except NotRegularFileError as error:  # SQLite would wait for a pipe
        raise sqlite3.OperationalError(error.strerror or "not a regular file") from error
    except OSError:
        return None


def _state(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


class Database:
    """An open database. Only its own tables are read, and of one session only the rows of that session."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # A virtual table has no page of its own: a program computes what is in it.
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        present = {name for (name,) in connection.execute(query)}
        self._columns = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in ("session", "part", *TABLES)
            if table in present
        }
        for table in self._columns:
            if any(row[6] for row in connection.execute(f"PRAGMA table_xinfo({table})")):
                raise sqlite3.DatabaseError(f"the table {table} has computed columns")
        if not self._columns.keys() & set(TABLES):
            raise sqlite3.DatabaseError("it has no table of messages")

    def has(self, table: str) -> bool:
        return table in self._columns

    def all_facts(self) -> dict[str, SessionFacts]:
        """The facts of all sessions, those without a row of their own included."""
        facts = dict(self._select_facts("", ()))
        for table in TABLES:
            if self.has(table):
                for (name,) in self._connection.execute(f"SELECT DISTINCT session_id FROM {table}"):  # noqa: S608 - a name from above
                    if isinstance(name, str):
                        facts.setdefault(name, SessionFacts())
        return facts

    def facts(self, session: str) -> SessionFacts | None:
        return dict(self._select_facts("WHERE id = ?", (session,))).get(session)

    def children(self, session: str) -> list[str]:
        if "parent_id" not in self._columns.get("session", ()):
            return []
        return [
            name
            for name, _ in self._select_facts("WHERE parent_id = ? ORDER BY time_created, id", (session,))
        ]

    def _select_facts(self, condition: str, values: tuple[str, ...]) -> Iterator[tuple[str, SessionFacts]]:
        present = self._columns.get("session", ())
        if "id" not in present:
            return
        names = [name for name in _FACTS if name in present]
        order = condition if "time_created" in present else condition.replace("time_created, ", "")
        query = f"SELECT {', '.join(['id', *names])} FROM session {order}"  # noqa: S608 - names from above
        for name, *row in self._connection.execute(query, values):
            if isinstance(name, str):
                yield name, facts_of(dict(zip(names, row, strict=True)))

    def row(self, session: str) -> dict[str, Any]:
        names = [name for name in self._columns.get("session", ()) if name not in _NOT_EXPORTED]
        if "id" not in names:
            return {}
        quoted = ", ".join(f'"{name}"' for name in (name.replace('"', '""') for name in names))
        query = f"SELECT {quoted} FROM session WHERE id = ?"  # noqa: S608 - its own names
        row = self._connection.execute(query, (session,)).fetchone()
        return {} if row is None else dict(zip(names, row, strict=True))

    def all_messages(self, table: str) -> Iterator[tuple[Any, Any, Any, Any]]:
        """The id, session, time and data of all messages of a table; of the newer one, those of a model."""
        condition = "" if table == "message" else "AND type = 'assistant'"
        columns = f"id, session_id, time_created, data FROM {table}"
        count = 0
        try:
            for row in self._connection.execute(f"SELECT {columns} WHERE 1 {condition} ORDER BY rowid"):
                count += 1
                yield row
        except sqlite3.DataError:  # too large: the others, one by one
            query = f"SELECT rowid FROM {table} WHERE 1 {condition} ORDER BY rowid"  # noqa: S608
            numbers = self._connection.execute(query)
            for (number,) in numbers.fetchall()[count:]:
                yield self._one_message(table, columns, number)

    def _one_message(self, table: str, columns: str, number: int) -> tuple[Any, Any, Any, Any]:
        where = "WHERE rowid = ?"
        try:
            row: tuple[Any, Any, Any, Any] = self._connection.execute(
                f"SELECT {columns} {where}", (number,)
            ).fetchone()
        except sqlite3.DataError:
            query = f"SELECT id, session_id, time_created FROM {table} {where}"  # noqa: S608
            row = (*self._connection.execute(query, (number,)).fetchone(), None)
        return row

    def records(self, session: str) -> Iterator[StoredRecord]:
        """The messages of a session, in order, each followed by its parts; then those of the newer generation."""
        if self.has("message"):
            for number, name, created in self._numbers("message", "session_id", session, "time_created, id"):
                yield self._record("message", number, name, session, created)
                if self.has("part"):
                    for part, part_name, part_created in self._numbers("part", "message_id", name, "id"):
                        yield self._record("part", part, part_name, session, part_created)
        if self.has("session_message"):
            order = "seq" if "seq" in self._columns["session_message"] else "time_created, id"
            for number, name, created in self._numbers("session_message", "session_id", session, order):
                yield self._record("session_message", number, name, session, created)

    def _numbers(self, table: str, column: str, value: object, order: str) -> list[tuple[int, Any, Any]]:
        created = "time_created" if "time_created" in self._columns[table] else "NULL"
        query = f"SELECT rowid, id, {created} FROM {table} WHERE {column} = ? ORDER BY {order}"  # noqa: S608
        return self._connection.execute(query, (value,)).fetchall()

    def _record(self, table: str, number: int, name: object, session: str, created: object) -> StoredRecord:
        columns = "data, type" if table == "session_message" else "data, NULL"
        try:
            data, kind = self._connection.execute(
                f"SELECT {columns} FROM {table} WHERE rowid = ?",  # noqa: S608
                (number,),
            ).fetchone()
        except sqlite3.DataError:
            return StoredRecord(table, str(name), session, milliseconds(created), None, None, TOO_LARGE)
        raw = data if isinstance(data, bytes) else str(data).encode("utf-8", "surrogateescape")
        kind = kind if isinstance(kind, str) else None
        return StoredRecord(table, str(name), session, milliseconds(created), kind, raw)

    def sessions_with(self, session: str, created: int) -> set[str]:
        """Other sessions with a message of that time: an index is enough to find them."""
        if not self.has("message"):
            return set()
        query = "SELECT DISTINCT session_id FROM message WHERE time_created = ? AND session_id <> ?"
        return {
            name for (name,) in self._connection.execute(query, (created, session)) if isinstance(name, str)
        }
