"""Notice that this process starts another one, before it does, and which hosts it looks up.

An audit hook of Python sees every way to start a process but that of `multiprocessing` with `spawn` and `forkserver`. Such a hook
cannot be removed again, so there is one for all sessions, which does nothing between them.
"""

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

_STARTS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"}
)
_LOOKUP = "socket.getaddrinfo"


class AuditListener(NamedTuple):
    """What is called when something happens in this process."""

    process_starts: Callable[[list[str]], object]  # with its words, as far as they are known
    host_is_looked_up: Callable[[str], object]


class _AuditHook:
    """Calls a listener, if there is one."""

    def __init__(self) -> None:
        self.listener: AuditListener | None = None
        self.is_installed = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.listener is None:
            return
        if event in _STARTS:
            self.listener.process_starts(_words(event, arguments))
        elif event == _LOOKUP and isinstance(arguments[0], str):
            self.listener.host_is_looked_up(arguments[0])


_hook = _AuditHook()


def listen(listener: AuditListener | None) -> None:
    """Call this listener from now on; None: no more."""
    _hook.listener = listener
    if listener is not None and not _hook.is_installed:
        _hook.is_installed = True
        sys.addaudithook(_hook)


def _words(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """The command, if it is a list of words."""
    words = arguments[1] if event == "subprocess.Popen" else ()
    try:
        return [os.fsdecode(word) for word in words] if isinstance(words, list | tuple) else []
    except TypeError:
        return []
