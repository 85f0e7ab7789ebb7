"""Work that the tests give to workers, which import it from here."""

import os
import signal
import time
from pathlib import Path
from threading import Barrier

from runcard.errors import StoreError
from runcard.parallel.progress import Progress
from runcard.parallel.shard import ItemPlace


def here(_: object) -> ItemPlace:
    return ItemPlace(".", 1)


def nowhere(_: object) -> ItemPlace:
    """A place that is another one in each process."""
    return ItemPlace("/proc/self/status", 1)


def doubled(number: int, progress: Progress, caller: int) -> int:
    """Twice the number. Each call leaves a line in a file; some numbers kill their worker, once or always, or raise."""
    with open(f"{number}.calls", "a", encoding="utf-8") as calls:
        calls.write(f"{os.getpid()}\n")
    time.sleep(0.02)
    is_first = len(Path(f"{number}.calls").read_text(encoding="utf-8").splitlines()) == 1
    if os.getpid() != caller and (number == 13 or (number == 7 and is_first)):
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 21 and os.getpid() != caller:
        raise StoreError("it is raised here again, if it is wrong here, too")
    progress(1, number)
    return 2 * number


def pid_of(number: int, _: Progress) -> tuple[int, int]:
    time.sleep(0.05)
    return number, os.getpid()


def nothing(_: object, __: Progress) -> None:
    """No work at all."""


_meeting = Barrier(2, timeout=0.5)


def met(number: int, _: Progress) -> int:
    """The same number, when two calls are under way; raises an error if they are not."""
    _meeting.wait()
    return number
