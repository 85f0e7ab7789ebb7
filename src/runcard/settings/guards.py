"""What a settings file of a project may not set unless the user trusts it.

Such a file comes with a repository, so anyone may have written it. It may restrict what runcard does, and may not relax it.
Each setting has a guard, or `SAFE` if it needs none. A guard compares the file's value with the value without the file, so a
value that allows no more than the user's own settings is never refused.

Nothing here reads files; `trust` has the list of trusted ones.
"""

import os
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class TrustGuard(NamedTuple, Generic[T]):
    """Which values of a setting are ignored in an untrusted file."""

    refuses: Callable[[T, T, str], bool]  # the file's value, the value without the file, the file's folder
    reason: str  # a clause after the key: "outputs is outside the project"


SAFE = None  # for a setting that needs no guard


def _is_outside(path: str | None, _: str | None, folder: str) -> bool:
    """Whether a path is outside the folder of the file, also through a symbolic link."""
    if path is None:
        return False
    inside = os.path.realpath(folder)
    target = os.path.realpath(os.path.join(folder, path))
    return os.path.commonpath([inside, target]) != inside


def _differs(value: object, without: object, _: str) -> bool:
    return value != without


def _raises(value: float | None, without: float | None, _: str) -> bool:
    """Whether a limit is higher than the other; None is unlimited."""
    return without is not None and (value is None or value > without)


def _switches_off(value: bool, without: bool, _: str) -> bool:  # noqa: FBT001 - the values
    return without and not value


def _grants_more(mode: int, without: int, _: str) -> bool:
    """Whether a mode grants more permissions."""
    return bool(mode & ~without)


def _excludes_less(value: tuple[str, ...], without: tuple[str, ...], _: str) -> bool:
    """Whether excludes let more files through: with a `!`, or without one of the user's own patterns."""
    return any(pattern.startswith("!") for pattern in value) or not set(without) <= set(value)


def _includes_more(value: tuple[str, ...], without: tuple[str, ...], _: str) -> bool:
    """Whether more files are copied than with the user's settings; no pattern means all files."""
    return bool(without) and not (value and set(value) <= set(without))


INSIDE_PROJECT: TrustGuard[Any] = TrustGuard(_is_outside, "is outside the project")
UNCHANGED: TrustGuard[Any] = TrustGuard(_differs, "decides what is recorded or deleted")
OWN_FILES: TrustGuard[Any] = TrustGuard(_differs, "decides which files are copied")
OWN_SIGNATURE: TrustGuard[Any] = TrustGuard(_differs, "decides what you sign, and with which key")
OWN_DESTINATION: TrustGuard[Any] = TrustGuard(_differs, "decides where records are sent, and for how long")
NOT_TRUSTED: TrustGuard[Any] = TrustGuard(_differs, "decides whom you trust")
NOT_RAISED: TrustGuard[Any] = TrustGuard(_raises, "raises a limit")
NOT_SWITCHED_OFF: TrustGuard[bool] = TrustGuard(_switches_off, "switches a protection off")
NO_MORE_PERMISSIONS: TrustGuard[int] = TrustGuard(_grants_more, "grants more permissions")
NO_FEWER_EXCLUDES: TrustGuard[tuple[str, ...]] = TrustGuard(
    _excludes_less, "copies files that your own settings exclude"
)
NO_MORE_INCLUDES: TrustGuard[tuple[str, ...]] = TrustGuard(
    _includes_more, "copies more files than your own settings"
)
