"""Run a recorded command again, and compare the results: `runcard rerun`.

Before anything runs, the inputs, the code and the packages are compared with the record. A difference does not stop the
run: often it is what the user wants to try.

A record is trusted when it is intact and this user recorded it on this machine. Of any other record only the command and
the inputs are used, and the caller must ask the user before running it.
"""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.run.fields import RunFields
from runcard.documents.run.inputs import input_entries, input_path
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import printable
from runcard.observe.environment import environment
from runcard.observe.inputs import inputs
from runcard.operations.checks.show import show
from runcard.operations.checks.verify import verify
from runcard.operations.runs.compare import RunComparison, compare
from runcard.operations.runs.run import CommandResult, run
from runcard.settings import OUTPUTS, read_settings
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.ownership import is_own_run
from runcard.store.record import Record


class RecordTrust(NamedTuple):
    """Whether a record may decide more than which command is run."""

    is_own: bool  # this user recorded it on this machine
    damage: str | None  # why verification failed, if it did

    @property
    def is_trusted(self) -> bool:
        return self.is_own and self.damage is None


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


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """What a rerun would do."""

    path: str
    command: tuple[str, ...]
    configuration: JsonObject
    inputs: tuple[str, ...]  # as they are written on this machine
    outputs: str  # the store that the new run goes to
    differences: tuple[EnvironmentDifference, ...]
    trust: RecordTrust
    _document: JsonObject
    _sha256: str
    _record: Record

    def to_dict(self) -> JsonObject:
        return {
            "run": printable(self.path),
            "command": list(self.command),
            "configuration": self.configuration,
            "inputs": [printable(path) for path in self.inputs],
            "outputs": printable(self.outputs),
            "differences": [difference._asdict() for difference in self.differences],
            "trusted": self.trust.is_trusted,
            "own": self.trust.is_own,
            "damage": self.trust.damage,
        }

    def rerun(self) -> tuple[CommandResult, RunComparison | None]:
        """Run the command again, and compare the two runs, if the new record could be closed."""
        result = run(
            self.command,
            outputs=self.outputs,
            config=self.configuration,
            patterns=_patterns(self.inputs),
            relations=[("derived-from", str(RunFields(self._document).run_id), self._sha256)],
            **self._trusted_options(),
        )
        is_closed = os.path.isfile(os.path.join(result.path, layout.CHECKSUMS))
        return result, compare(self._record, result.path) if is_closed else None

    def _trusted_options(self) -> JsonObject:
        """The options that only a trusted record decides."""
        if not self.trust.is_trusted:
            return {}
        generation = self._document["generation"]
        return {
            "experiment": generation.get("experiment_name"),
            "labels": generation.get("labels") or {},
            "keep_secrets": bool(self._document.get("keep_secrets")),
            "output_patterns": _output_patterns(self._document),
        }


def _output_patterns(document: JsonObject) -> list[str]:
    """The patterns of the files that were copied into the record from elsewhere."""
    patterns = (document.get("reproduce") or {}).get("outputs")
    return (
        [pattern for pattern in patterns if pattern and isinstance(pattern, str)]
        if isinstance(patterns, list)
        else []
    )


def plan_rerun(path: str | os.PathLike[str], *, outputs: str | None = None) -> RerunPlan:
    """Read a run and find what has changed since; raises an error when it cannot be run again from its record."""
    record = open_record(path)
    record.problems()  # an archive is read here: its own document counts, not the copy beside it
    shown = show(record)
    document, name = shown.document, printable(shown.path)
    if shown.status == "running":
        raise StoreError(f"{name} is still running", hint="wait until it has ended")
    command = RunFields(document).command
    if not command:
        raise StoreError(f"{name} has no command", hint="record it with `runcard run -- COMMAND`")
    if _was_masked(document, "command"):
        raise StoreError(
            f"the command of {name} contained a secret, which was masked",
            hint="pass the secret in an environment variable, and run it again with `runcard run`",
        )
    digest = sha256_bytes(record.read(layout.METADATA) or b"").hex
    is_own = is_own_run(record.directory, str(RunFields(document).run_id), digest)
    trust = RecordTrust(is_own, _damage(record.path))
    store = layout.store_of(record.directory)
    paths = [input_path(entry) for entry in input_entries(document)]
    return RerunPlan(
        shown.path,
        tuple(command),
        document["configuration"] if trust.is_trusted else {},
        tuple(paths),
        outputs or (store if trust.is_trusted else read_settings()[OUTPUTS]),
        tuple(_differences(document, paths, store)),
        trust,
        document,
        digest,
        record,
    )


def _damage(path: str) -> str | None:
    """Why a record fails verification; None if it does not."""
    for result in verify(path):
        if not (result.verdict.intact and result.verdict.complete):
            return next((found.message for found in result.verdict.findings if found.breaks), "it is damaged")
    return None


def _was_masked(document: JsonObject, where: str) -> bool:
    return any(entry.get("where") == where for entry in document.get("redactions") or ())


def _differences(document: JsonObject, paths: list[str], store: str) -> Iterator[EnvironmentDifference]:
    if _was_masked(document, "configuration"):
        yield EnvironmentDifference(
            "configuration", "", "with secrets", "masked: the command gets none of them from it"
        )
    yield from _input_differences(input_entries(document), paths)
    then, now = document["environment"], environment(".", ignore=[store])
    yield from _git_differences(then.get("git") or {}, now.get("git") or {})
    for key, kind in (("python_version", "python"), ("platform", "platform")):
        yield from _value_differences({kind: then.get(key)}, {kind: now.get(key)}, kind)
    yield from _value_differences(then.get("packages") or {}, now.get("packages") or {}, "package")
    yield from _value_differences(then.get("lockfiles") or {}, now.get("lockfiles") or {}, "lockfile")


def _input_differences(entries: list[JsonObject], paths: list[str]) -> Iterator[EnvironmentDifference]:
    files, _ = inputs(_patterns(paths), ".")
    digests = {input_path(entry): entry["sha256"] for entry in files}
    for entry, path in zip(entries, paths, strict=True):
        if entry.get("sha256") is not None and entry["sha256"] != digests.get(path):
            yield EnvironmentDifference(
                "input", printable(path), _short(entry["sha256"]), _short(digests.get(path))
            )


def _patterns(paths: Iterable[str]) -> list[str]:
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
