"""Notice that this process starts another one, before it does, and which hosts it looks up.

An audit hook of Python sees every way to start a process but that of `multiprocessing` with `spawn` and `forkserver`. Such a hook
cannot be removed again, so there is one for all sessions, which does nothing between them.

The hook is the C method `dict.get`, which runs Python code for the events below only. A hook written in Python would let another
thread run during any event, and Python 3.11 cannot take that during `sys.settrace`: where threads are started while coverage is
measured, one of them would end with "Cannot install a trace function while another trace function is being installed".
"""

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

_POPEN, _LOOKUP = "subprocess.Popen", "socket.getaddrinfo"
_STARTS = (_POPEN, "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system")


class AuditListener(NamedTuple):
    """What is called when something happens in this process."""

    process_starts: Callable[[list[str]], object]  # with its words, as far as they are known
    host_is_looked_up: Callable[[str], object]


class _AuditedEvent(str):
    """The name of an event. Looking this name up in a dict, and no other, calls `__eq__`."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        is_same = str.__eq__(self, other)
        if is_same and _hook.listener is not None:
            _tell(_hook.listener, str(self), sys._getframe(1))  # `dict.get` is not told more
        return is_same


class _AuditHook:
    """The listener, if there is one."""

    def __init__(self) -> None:
        self.listener: AuditListener | None = None
        self.is_installed = False


_hook = _AuditHook()


def listen(listener: AuditListener | None) -> None:
    """Call this listener from now on; None: no more."""
    _hook.listener = listener
    if listener is not None and not _hook.is_installed:
        _hook.is_installed = True
        events: dict[str, object] = dict.fromkeys(map(_AuditedEvent, (*_STARTS, _LOOKUP)))
        sys.addaudithook(events.get)


def _tell(listener: AuditListener, event: str, caller: FrameType) -> None:
    """Tell a listener of an event, with what the function of the standard library that raised it was called with."""
    if event != _LOOKUP:
        listener.process_starts(_words(caller.f_locals.get("args")) if event == _POPEN else [])
    elif isinstance(host := caller.f_locals.get("host"), str):
        listener.host_is_looked_up(host)


def _words(command: object) -> list[str]:
    """The command, if it is a list of words."""
    try:
        return [os.fsdecode(word) for word in command] if isinstance(command, list | tuple) else []
    except TypeError:
        return []
