"""A real S3 server in a process of its own, on this machine."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    for _ in range(1200):
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text()):
            return int(found[1])
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    raise TimeoutError
