"""`runcard` on a slow disk: each block of a large file takes a moment. Work that is stopped leaves a file `stopped` behind."""

import sys
import time
from pathlib import Path

from runcard.cli.main import main
from runcard.mcp_server import stdio
from runcard.parallel.threads import JobThreads, StoppedError

COMMAND = (sys.executable, __file__)
_count_block = JobThreads.count_block


def _count_slowly(threads: JobThreads[object], size: int) -> None:
    time.sleep(0.3)
    try:
        _count_block(threads, size)
    except StoppedError:
        Path("stopped").touch()
        raise


if __name__ == "__main__":
    JobThreads.count_block = _count_slowly  # type: ignore[assignment,method-assign]
    stdio._PATIENCE = 0.5
    sys.exit(main())
