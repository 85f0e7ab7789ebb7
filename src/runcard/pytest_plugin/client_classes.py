"""Watch every client of `anthropic`, `openai` and `google-genai` that is created, as `runcard.watch` does.

Their classes are changed where they are, and when their module is imported if that is later. No vendor's package is imported
for it. Invariant: creating a client never fails because of this.
"""

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from runcard.errors import RuncardWarning

_CLASSES = {  # by module
    "anthropic._base_client": ("SyncAPIClient", "AsyncAPIClient"),
    "openai._base_client": ("SyncAPIClient", "AsyncAPIClient"),
    "google.genai.client": ("Client",),
}

_Undo = Callable[[], None]


def watch_new_clients() -> _Undo:
    """Watch every client that is created from now on; returns what ends it."""
    undo: list[_Undo] = []
    for name in _CLASSES:
        if (module := sys.modules.get(name)) is not None:
            undo += _change_classes(module)
    finder = _ClientModuleFinder(undo)
    sys.meta_path.insert(0, finder)

    def end() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        while undo:
            undo.pop()()

    return end


class _ClientModuleFinder(MetaPathFinder):
    """Finds the modules of the clients as usual, and changes their classes once they are imported."""

    def __init__(self, undo: list[_Undo]) -> None:
        self._undo = undo

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _CLASSES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._undo.extend(_change_classes(module))

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _change_classes(module: ModuleType) -> list[_Undo]:
    kinds = (getattr(module, name, None) for name in _CLASSES[module.__name__])
    return [_change_class(kind) for kind in kinds if isinstance(kind, type)]


def _change_class(kind: Any) -> _Undo:  # noqa: ANN401 - a class of a library that need not be installed
    original = kind.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        original(self, *args, **kwargs)
        _watch(self)

    def restore() -> None:
        kind.__init__ = original

    kind.__init__ = init
    return restore


def _watch(client: object) -> None:
    """Watch a client, unless it is a copy of one that is watched: then its options are kept."""
    from runcard.observe.clients.subclassing import is_subclassed  # noqa: PLC0415 - not if no client is created
    from runcard.operations.runs.watch import watch  # noqa: PLC0415

    if is_subclassed(client):
        return
    try:
        watch(client)
    except Exception as error:  # noqa: BLE001 - a version of the library that has changed
        message = f"the calls of a client, {type(client).__qualname__}, are not recorded: {error!r}"
        warnings.warn(message, RuncardWarning, stacklevel=4)
