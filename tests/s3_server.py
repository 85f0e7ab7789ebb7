"""A real S3 server in a process of its own, on this machine."""

import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from obstore.store import MemoryStore

from runcard.store.remote import bucket
from waiting import wait_until

_PROGRAM = "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"


@contextmanager
def s3_server_process(folder: Path) -> Iterator[int]:
    """The port of a server, which is ended afterwards; its log goes to a folder."""
    log = folder / "s3.log"
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=file, stderr=file)
    try:
        yield _port(log, process)
    finally:
        process.kill()
        process.wait()


def _port(log: Path, process: "subprocess.Popen[bytes]") -> int:
    pattern = re.compile(r"http://127\.0\.0\.1:(\d+)")
    wait_until(lambda: pattern.search(log.read_text()) or process.poll() is not None, "the S3 server", 120)
    found = pattern.search(log.read_text())
    assert found, log.read_text()
    return int(found[1])


def start_storage_library() -> None:
    """The first call of obstore opens files that stay open: those of its threads."""
    MemoryStore().put("x", b"")


@contextmanager
def no_connections_left() -> Iterator[None]:
    """Wait until the connections that were opened meanwhile are closed: threads of obstore do that."""
    before = _sockets()
    yield
    bucket._open.cache_clear()
    gc.collect()  # clients of boto3 are in reference cycles
    wait_until(lambda: _sockets() <= before, "the connections to be closed")


def _sockets() -> frozenset[str]:
    found = set()
    for number in os.listdir("/dev/fd"):
        with suppress(OSError):  # that of the listing itself
            found.add(os.readlink(f"/dev/fd/{number}"))
    return frozenset(name for name in found if name.startswith("socket:"))
