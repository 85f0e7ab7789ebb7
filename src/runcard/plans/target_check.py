"""Checks the target of a plan: its file in the project, its class in the file, its method in the class."""

import os
from collections.abc import Iterator

from runcard.documents.findings import WARNING, Finding, display_value, finding
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import check_relative, printable, resolve_below
from runcard.plans.ruby.targets import LookupOutcome, TargetLookup, find_target

Findings = Iterator[Finding]


def check_target(plan: JsonObject, root: str, *, is_known: bool) -> Findings:
    """The findings about a plan's target in the project at `root`; only warnings if the project is a guess."""
    for result in _check(plan.get("target"), root):
        yield result if is_known else result._replace(severity=WARNING)


def _check(target: object, root: str) -> Findings:
    if not isinstance(target, dict):
        return
    file = target.get("file")
    if not isinstance(file, str) or check_relative(file.removeprefix("./")):
        return  # the rules of the document report it
    try:
        path = resolve_below(root, file.removeprefix("./"))
    except StoreError as error:
        yield finding("path.hostile", "/target/file", error.message, hint=error.hint, found=file)
        return
    except OSError as error:
        yield finding(
            "target.file",
            "/target/file",
            f"{display_value(file, 200)} is not in the project: {error.strerror}",
            hint=f"correct the path, or pass the project with --root; searched in {printable(root)}",
            found=file,
        )
        return
    if not os.path.isfile(path):
        yield finding(
            "target.file",
            "/target/file",
            f"{display_value(file, 200)} is not a file",
            hint="use the path of the Ruby file that defines the class",
            found=file,
        )
        return
    names = [target.get(key) for key in ("class", "method", "method_type")]
    if all(isinstance(name, str) for name in names):
        yield from _check_method(path, file, target)


def _check_method(path: str, file: str, target: JsonObject) -> Findings:
    name = target["class"]
    try:
        lookup = find_target(path, name, target["method"], target["method_type"])
    except RuncardError as error:
        yield finding(
            "target.unchecked", "/target", f"{error.message}: the target was not checked", hint=error.hint
        )
        return
    if lookup.warnings and lookup.outcome in {LookupOutcome.NO_CLASS, LookupOutcome.NO_METHOD}:
        warning = lookup.warnings[0]
        yield finding(
            "target.unchecked",
            "/target",
            f"the target was not found, but a part of {display_value(file, 200)} could not be read: line {warning.line}",
            hint="check the file: it has a syntax error, or Ruby syntax that is not supported yet",
        )
    elif lookup.outcome is LookupOutcome.NO_CLASS:
        yield finding(
            "target.class",
            "/target/class",
            f"{display_value(file, 200)} has no class {display_value(name)}",
            hint=_suggestion(lookup) or "use a class or module that the file defines",
            found=name,
        )
    elif lookup.outcome is not LookupOutcome.FOUND:
        yield _no_method(lookup, target)
    if lookup.is_short and lookup.class_name:
        yield finding(
            "target.short-name",
            "/target/class",
            f"{display_value(name)} is short for {display_value(lookup.class_name)}",
            hint=f"write {lookup.class_name}",
            expected=lookup.class_name,
            found=name,
        )


def _suggestion(lookup: TargetLookup) -> str | None:
    return f"did you mean {', '.join(map(printable, lookup.suggestions))}?" if lookup.suggestions else None


def _no_method(lookup: TargetLookup, target: JsonObject) -> Finding:
    method, kind = target["method"], target["method_type"]
    if lookup.outcome is LookupOutcome.OTHER_TYPE:
        other = "class" if kind == "instance" else "instance"
        return finding(
            "target.method",
            "/target/method_type",
            f"{display_value(method)} of {display_value(lookup.class_name)} has the type {other}, not {kind}",
            hint=f"write method_type: {other}",
            expected=other,
            found=kind,
        )
    return finding(
        "target.method",
        "/target/method",
        f"{display_value(lookup.class_name)} has no {kind} method {display_value(method)}",
        hint=_suggestion(lookup) or "use a method that the class defines",
        found=method,
    )
