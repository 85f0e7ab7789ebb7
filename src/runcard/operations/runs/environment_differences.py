"""What has changed since a run was recorded: its inputs, the code, the packages."""

import glob
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from runcard.documents.run.inputs import input_entries, input_path
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.observe.environment import environment
from runcard.observe.inputs import inputs


class EnvironmentDifference(NamedTuple):
    """An input, package or the like that has changed since the run was recorded."""

    kind: str  # input, git, python, platform, package, lockfile, configuration
    name: str
    before: str | None
    now: str | None

    def message(self) -> str:
        what = f"{self.kind} {self.name}".strip()
        if self.before is None:
            return f"{what} is new: {self.now}"
        if self.now is None:
            return f"{what} is gone"
        if self.kind in {"input", "lockfile"}:
            return f"{what} has changed (sha256 {self.before} → {self.now})"
        return f"{what} was {self.before}, is {self.now}"


def was_masked(document: JsonObject, where: str) -> bool:
    """Whether a secret was masked in this part of a document."""
    return any(entry.get("where") == where for entry in document.get("redactions") or ())


def environment_differences(
    document: JsonObject, paths: list[str], store: str
) -> Iterator[EnvironmentDifference]:
    """How the current directory and its inputs differ from what was recorded; the store's own files do not count."""
    if was_masked(document, "configuration"):
        yield EnvironmentDifference(
            "configuration", "", "with secrets", "masked: the command gets marks in their place"
        )
    yield from _input_differences(input_entries(document), paths)
    then, now = document["environment"], environment(".", ignore=[store])
    yield from _git_differences(then.get("git") or {}, now.get("git") or {})
    for key, kind in (("python_version", "python"), ("platform", "platform")):
        yield from _value_differences({kind: then.get(key)}, {kind: now.get(key)}, kind)
    yield from _value_differences(then.get("packages") or {}, now.get("packages") or {}, "package")
    yield from _value_differences(then.get("lockfiles") or {}, now.get("lockfiles") or {}, "lockfile")


def _input_differences(entries: list[JsonObject], paths: list[str]) -> Iterator[EnvironmentDifference]:
    files, _ = inputs(exact_patterns(paths), ".")
    digests = {input_path(entry): entry["sha256"] for entry in files}
    for entry, path in zip(entries, paths, strict=True):
        if entry.get("sha256") is not None and entry["sha256"] != digests.get(path):
            yield EnvironmentDifference(
                "input", printable(path), _short(entry["sha256"]), _short(digests.get(path))
            )


def exact_patterns(paths: Iterable[str]) -> list[str]:
    """Input patterns for exactly these files; the path of a folder would mean all files in it."""
    return [glob.escape(path) for path in paths if os.path.isfile(path)]


def _git_differences(then: JsonObject, now: JsonObject) -> Iterator[EnvironmentDifference]:
    if not then.get("commit"):
        return
    states = [{"commit": git.get("commit"), "changes": git.get("diff_sha256")} for git in (then, now)]
    for name in ("commit", "changes"):
        before, after = states[0][name], states[1][name]
        if before != after:
            digests = (_short(before) or "none", _short(after) or "none")
            yield EnvironmentDifference("git", name, *digests)


def _value_differences(then: JsonObject, now: JsonObject, kind: str) -> Iterator[EnvironmentDifference]:
    for name in sorted({*then, *now}):
        before, after = then.get(name), now.get(name)
        if before != after:
            is_digest = kind == "lockfile"
            values = [_short(value) if is_digest else value for value in (before, after)]
            yield EnvironmentDifference(kind, "" if name == kind else printable(name), *values)


def _short(digest: str | None) -> str | None:
    return digest and digest[:12]
