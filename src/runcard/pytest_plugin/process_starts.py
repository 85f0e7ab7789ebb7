"""Notice that this process starts another one, before it does.

An audit hook of Python sees every way to start a process but that of `multiprocessing` with `spawn` and `forkserver`. Such a hook
cannot be removed again, so there is one for all sessions, which does nothing between them.

The hook is the C method `dict.get`, which runs Python code for the events below only. A hook written in Python would let another
thread run during any event, and Python 3.11 cannot take that during `sys.settrace`: where threads are started while coverage
is measured, one of them would end with "Cannot install a trace function while another trace function is being installed".
"""

import sys
from collections.abc import Callable

_EVENTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system")


class _StartEvent(str):
    """The name of an event. Looking this name up in a dict, and no other, calls `__eq__`."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        is_same = str.__eq__(self, other)
        if is_same and _watch.call is not None:
            _watch.call()
        return is_same


class _Watch:
    """The function that is called when a process is about to be started."""

    def __init__(self) -> None:
        self.call: Callable[[], object] | None = None
        self.is_installed = False


_watch = _Watch()


def before_process_starts(call: Callable[[], object] | None) -> None:
    """Call this before a process is started; None: no more."""
    _watch.call = call
    if call is not None and not _watch.is_installed:
        _watch.is_installed = True
        starts: dict[str, object] = dict.fromkeys(map(_StartEvent, _EVENTS))
        sys.addaudithook(starts.get)
