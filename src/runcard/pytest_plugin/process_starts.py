"""Notice that this process starts another one, before it does.

An audit hook of Python sees every way to start a process but that of `multiprocessing` with `spawn` and `forkserver`. Such a hook
cannot be removed again, so there is one for all sessions, which does nothing between them.
"""

import sys
from collections.abc import Callable

_EVENTS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"}
)


class _AuditHook:
    """Calls a function when a process is about to be started."""

    def __init__(self) -> None:
        self.call: Callable[[], object] | None = None
        self.is_installed = False

    def __call__(self, event: str, _: object) -> None:
        if self.call is not None and event in _EVENTS:
            self.call()


_hook = _AuditHook()


def before_process_starts(call: Callable[[], object] | None) -> None:
    """Call this before a process is started; None: no more."""
    _hook.call = call
    if call is not None and not _hook.is_installed:
        _hook.is_installed = True
        sys.addaudithook(_hook)
