"""Whether the target of a plan exists: its file in the project, its class in the file, its method in the class."""

import os
from collections.abc import Iterator
from dataclasses import replace

from runcard.documents.findings import WARNING, Finding, finding, shown
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import check_relative, printable, resolve_below
from runcard.plans.ruby.targets import LookupOutcome, TargetLookup, find_target

Findings = Iterator[Finding]


def check_target(plan: JsonObject, root: str, *, is_known: bool) -> Findings:
    """What is wrong with a plan's target in the project at `root`; of a project that is only guessed, as warnings."""
    for found in _check(plan.get("target"), root):
        yield found if is_known else replace(found, severity=WARNING)


def _check(target: object, root: str) -> Findings:
    if not isinstance(target, dict):
        return
    file = target.get("file")
    if not isinstance(file, str) or check_relative(file.removeprefix("./")):
        return  # said by the document's own rules
    try:
        path = resolve_below(root, file.removeprefix("./"))
    except StoreError as error:
        yield finding("path.hostile", "/target/file", error.message, hint=error.hint, found=file)
        return
    except OSError as error:
        yield finding(
            "target.file",
            "/target/file",
            f"{shown(file, 200)} is not in the project: {error.strerror}",
            hint=f"correct the path, or name the project with --root; looked in {printable(root)}",
            found=file,
        )
        return
    if not os.path.isfile(path):
        yield finding(
            "target.file",
            "/target/file",
            f"{shown(file, 200)} is not a file",
            hint="name the Ruby file that has the class",
            found=file,
        )
        return
    names = [target.get(key) for key in ("class", "method", "method_type")]
    if all(isinstance(name, str) for name in names):
        yield from _looked_up(path, file, target)


def _looked_up(path: str, file: str, target: JsonObject) -> Findings:
    name = target["class"]
    try:
        found = find_target(path, name, target["method"], target["method_type"])
    except RuncardError as error:
        yield finding(
            "target.unchecked", "/target", f"{error.message}: the target was not looked for", hint=error.hint
        )
        return
    if found.warnings and found.outcome in {LookupOutcome.NO_CLASS, LookupOutcome.NO_METHOD}:
        trouble = found.warnings[0]
        yield finding(
            "target.unchecked",
            "/target",
            f"the target was not found, but a part of {shown(file, 200)} could not be read: line {trouble.line}",
            hint="see whether it is there: the file has a syntax error, or Ruby that is not known here",
        )
    elif found.outcome is LookupOutcome.NO_CLASS:
        yield finding(
            "target.class",
            "/target/class",
            f"{shown(file, 200)} has no class {shown(name)}",
            hint=_meant(found) or "name a class or module that the file defines",
            found=name,
        )
    elif found.outcome is not LookupOutcome.FOUND:
        yield _no_method(found, target)
    if found.is_short and found.class_name:
        yield finding(
            "target.short-name",
            "/target/class",
            f"{shown(name)} is {shown(found.class_name)} in full",
            hint=f"write {found.class_name}",
            expected=found.class_name,
            found=name,
        )


def _meant(found: TargetLookup) -> str | None:
    return f"there is {', '.join(map(printable, found.suggestions))}" if found.suggestions else None


def _no_method(found: TargetLookup, target: JsonObject) -> Finding:
    method, kind = target["method"], target["method_type"]
    if found.outcome is LookupOutcome.OTHER_TYPE:
        other = "class" if kind == "instance" else "instance"
        return finding(
            "target.method",
            "/target/method_type",
            f"{shown(method)} is no {kind} method of {shown(found.class_name)}: it is a {other} method",
            hint=f"write method_type: {other}",
            expected=other,
            found=kind,
        )
    return finding(
        "target.method",
        "/target/method",
        f"{shown(found.class_name)} has no {kind} method {shown(method)}",
        hint=_meant(found) or "name a method that the class defines",
        found=method,
    )
