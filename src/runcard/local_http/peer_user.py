"""The user whose program sent a request from this machine, as the kernel of Linux has it."""

import os
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def is_of_this_user(scope: "Scope") -> bool:
    """Whether a program of the server's own user sent a request; true where the system does not say."""
    client, server = scope.get("client"), scope.get("server")
    if not os.path.exists(_TABLES[0]):
        return True
    return client is not None and server is not None and _user(client, server) == os.geteuid()


def _user(local: tuple[str, int], remote: tuple[str, int]) -> int | None:
    """The owner of the socket with these addresses; None if there is none on this machine."""
    wanted = [_as_in_table(*local), _as_in_table(*remote)]
    for table in _TABLES:
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file]
        except OSError:
            continue
        for row in rows:
            if row[1:3] == wanted:
                return int(row[7])
    return None


def _as_in_table(host: str, port: int) -> str:
    """An address as the tables write it: words of four bytes, in the order of the machine."""
    packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    step = -1 if sys.byteorder == "little" else 1
    words = b"".join(packed[start : start + 4][::step] for start in range(0, len(packed), 4))
    return f"{words.hex().upper()}:{port:04X}"
