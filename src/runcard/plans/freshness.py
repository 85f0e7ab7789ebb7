"""Freshness of a plan: whether it can still be used, so that an unchanged source is not analyzed again.

A plan that fails any check needs a new analysis; that is a reason, not an error. The modification time can mislead both
ways (a file that was touched, an edit within one second), so size and digest of the source decide if the plan has them.
After an edit elsewhere in the file, the digest of the method decides: then the plan is still fresh.
"""

import os
from dataclasses import dataclass
from functools import lru_cache
from shlex import quote

from runcard.digests import sha256_descriptor
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import open_regular, printable, unreadable
from runcard.plans.plan_files import MethodRef, PlanFile, PlanLocation

NOT_FOUND = "metadata not found"
CORRUPTED = "metadata corrupted"
INCOMPLETE = "analysis incomplete"
FAILED = "validation failed"
NO_MTIME = "missing source_file_mtime in metadata"
MODIFIED = "source file modified"
OTHER_TARGET = "different target"
ELSEWHERE = "source file modified elsewhere"  # of a fresh plan: its own method is unchanged


class _NotComparedError(Exception):
    """Says why the method of a plan cannot be compared with the source."""


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """Whether the plan of a source is fresh; if not, the reason."""

    location: PlanLocation
    reason: str | None  # why it is not fresh; of a fresh plan None, or that the file was modified elsewhere
    validated: bool
    unchecked: str | None = None  # why the method itself was not compared, and how to change that

    @property
    def valid(self) -> bool:
        return self.reason in {None, ELSEWHERE}


def status_of(location: PlanLocation) -> PlanStatus:
    """Check the freshness of a plan; raises when the source cannot be read."""
    validated = is_validated(location.plan_file)
    try:
        return PlanStatus(location, _reason(location), validated)
    except _NotComparedError as error:
        return PlanStatus(location, MODIFIED, validated, str(error))


def is_validated(plan_file: PlanFile) -> bool:
    """Whether the validator found no errors."""
    validation = plan_file.section("validation")
    return validation.get("completed") is True and validation.get("errors") == []


def _reason(location: PlanLocation) -> str | None:
    plan_file = location.plan_file
    if location.is_other_method:
        return OTHER_TARGET
    if not plan_file.exists:
        _source_stat(location)
        return NOT_FOUND
    if plan_file.data is None:
        return CORRUPTED
    if plan_file.target_file is not None and not plan_file.is_about(location.file, location.project.root):
        return OTHER_TARGET  # it has this name, but another source
    analyzer = plan_file.section("analyzer")
    if analyzer.get("completed") is not True:
        return INCOMPLETE
    if _has_failed(plan_file.data.get("validation")):
        return FAILED
    mtime = analyzer.get("source_file_mtime")
    if type(mtime) is not int:
        return NO_MTIME
    if _is_unchanged(location, mtime, analyzer):
        return None
    return ELSEWHERE if _is_same_method(location, analyzer) else MODIFIED


def _is_same_method(location: PlanLocation, analyzer: JsonObject) -> bool:
    """Whether the method of a plan is unchanged, by its own digest."""
    known = analyzer.get("method_sha256")
    if not isinstance(known, str):
        return False
    ref = MethodRef.of(location.plan_file.section("target"))
    full = ref._replace(class_name=(ref.class_name or "").removeprefix("::"))
    digests = _method_digests(
        location.source, location.project.root, _digest(location.source), analyzer.get("deep") is True
    )
    return digests.get(full) == known


@lru_cache(maxsize=4)
def _method_digests(path: str, root: str, _digest: str, is_deep: bool) -> dict[MethodRef, str]:  # noqa: FBT001 - a cached call
    """The digests of all methods of a source; the plans of one source are looked at one after the other."""
    from runcard.plans.analysis import method_digests  # noqa: PLC0415 - its parser takes long to import
    from runcard.plans.ruby.syntax_tree import NoRubyError  # noqa: PLC0415

    try:
        return method_digests(path, root=root, is_deep=is_deep)
    except NoRubyError as error:
        raise _NotComparedError(
            f"whether the method was modified is unknown: {error.message}; {error.hint}"
        ) from error
    except RuncardError:  # it cannot be parsed
        return {}


def _has_failed(validation: object) -> bool:
    return bool(validation.get("errors")) if isinstance(validation, dict) else validation is not None


def _source_stat(location: PlanLocation) -> os.stat_result:
    try:
        status = os.stat(location.source)
    except OSError as error:
        raise unreadable(error, location.source) from error
    return status


def _is_unchanged(location: PlanLocation, mtime: int, analyzer: JsonObject) -> bool:
    status = _source_stat(location)
    size, digest = analyzer.get("source_size"), analyzer.get("source_sha256")
    if type(size) is int and size != status.st_size:
        return False
    if isinstance(digest, str):
        return digest == _digest(location.source)
    return status.st_mtime_ns // 10**9 == mtime


def _digest(path: str) -> str:
    try:
        descriptor = open_regular(path, follow=True)
        try:
            return sha256_descriptor(descriptor).hex
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unreadable(error, path) from error


def stale_warnings(location: PlanLocation) -> list[str]:
    """A warning if a plan is not fresh; none for a plan outside of any project."""
    if location.is_outside_project:
        return []
    try:
        status = status_of(location)
    except RuncardError as error:
        reason = error.message
    else:
        if status.valid:
            return []
        reason = "; ".join(filter(None, (status.reason, status.unchecked)))
    return [f"the plan needs a new analysis: {reason}; run `{analyze_command(location)}`"]


def analyze_command(location: PlanLocation, path: str = "", asked: MethodRef | None = None) -> str:
    """The command that makes a new analysis: of the method that was asked for, of that of the plan, or of all."""
    target = MethodRef() if location.is_other_method else MethodRef.of(location.plan_file.section("target"))
    ref = asked if asked is not None and asked.method is not None else target
    words = ["runcard plan analyze", quote(printable(path or location.file))]
    words += [f"--class {quote(ref.class_name)}"] if ref.class_name else []
    words += [f"--method {quote(ref.method)}"] if ref.method else ["--all-methods"]
    words += [f"--type {ref.method_type}"] if ref.method_type == "class" else []
    words += ["--deep"] if location.plan_file.section("analyzer").get("deep") is True else []
    return " ".join([*words, "--write"])
