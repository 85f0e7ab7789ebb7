"""What a settings file that came with a repository may not decide by itself.

Such a file is untrusted: a stranger may have written it. It may restrict what runcard does, and may not loosen it. Each
setting has a guard, or says with `SAFE` that it needs none. A guard compares the file's value with the value that would
count without the file, so a file that asks for no more than the user already has is never refused.

Nothing here reads files or knows which of them are trusted.
"""

import os
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class TrustGuard(NamedTuple, Generic[T]):
    """Which values of a setting do not count from an untrusted file."""

    refuses: Callable[[T, T, str], bool]  # the file's value, the value without the file, the file's folder
    reason: str  # a clause after the key: "outputs leads out of the project"


SAFE = None  # the guard of a setting that needs none


def _leads_out(path: str | None, _: str | None, folder: str) -> bool:
    """Whether a path lies outside the folder of the file, also by way of a symbolic link."""
    if path is None:
        return False
    inside = os.path.realpath(folder)
    target = os.path.realpath(os.path.join(folder, path))
    return os.path.commonpath([inside, target]) != inside


def _differs(value: object, without: object, _: str) -> bool:
    return value != without


def _raises(value: float | None, without: float | None, _: str) -> bool:
    """Whether a limit is higher than the other; None is no limit."""
    return without is not None and (value is None or value > without)


def _switches_off(value: bool, without: bool, _: str) -> bool:  # noqa: FBT001 - the values
    return without and not value


def _opens(mode: int, without: int, _: str) -> bool:
    """Whether somebody may do more with a file."""
    return bool(mode & ~without)


def _brings_back(value: tuple[str, ...], without: tuple[str, ...], _: str) -> bool:
    """Whether excludes let something through: with a `!`, or by leaving out one of the user's own patterns."""
    return any(pattern.startswith("!") for pattern in value) or not set(without) <= set(value)


def _includes_more(value: tuple[str, ...], without: tuple[str, ...], _: str) -> bool:
    """Whether more is copied than the user wants; no pattern means everything."""
    return bool(without) and not (value and set(value) <= set(without))


INSIDE: TrustGuard[Any] = TrustGuard(_leads_out, "leads out of the project")
UNCHANGED: TrustGuard[Any] = TrustGuard(_differs, "decides what is recorded or deleted")
NOT_RAISED: TrustGuard[Any] = TrustGuard(_raises, "raises a limit")
NOT_OFF: TrustGuard[bool] = TrustGuard(_switches_off, "switches a protection off")
NOT_OPENED: TrustGuard[int] = TrustGuard(_opens, "opens permissions")
NOT_BROUGHT_BACK: TrustGuard[tuple[str, ...]] = TrustGuard(
    _brings_back, "lets through files that your settings leave out"
)
NOT_INCLUDED: TrustGuard[tuple[str, ...]] = TrustGuard(
    _includes_more, "copies more files than your own settings"
)
