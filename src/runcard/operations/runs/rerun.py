"""Running a command again from its record, and seeing what comes out differently.

Before anything runs, the inputs, the code and the packages are compared with what the record says about them. A
difference does not stop the run: often it is what the user wants to try.

A record is trusted when it is intact and this user recorded it on this machine. From any other record nothing is used
but the command and the inputs, and whoever carries out the plan must ask the user first.
"""

import glob
import os
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import printable
from runcard.observe.environment import environment
from runcard.observe.inputs import inputs
from runcard.operations.checks.show import show
from runcard.operations.checks.verify import verify
from runcard.operations.runs.compare import Comparison, compare
from runcard.operations.runs.run import Ran, run
from runcard.settings import OUTPUTS, read_settings
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.ownership import is_own_run
from runcard.store.record import Record


class Trust(NamedTuple):
    """Whether a record may decide more than which command is run."""

    is_own: bool  # this user recorded it on this machine
    damage: str | None  # what verification found, if it failed

    @property
    def is_trusted(self) -> bool:
        return self.is_own and self.damage is None


class Difference(NamedTuple):
    """Something that is not as it was when the run was recorded."""

    kind: str  # input, git, python, platform, package, lockfile, configuration
    name: str
    before: str | None
    now: str | None

    def words(self) -> str:
        what = f"{self.kind} {self.name}".strip()
        if self.before is None:
            return f"{what} is new: {self.now}"
        return f"{what} is gone" if self.now is None else f"{what} was {self.before}, is {self.now}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rerun would do."""

    path: str
    command: tuple[str, ...]
    configuration: JsonObject
    inputs: tuple[str, ...]  # as they are written on this machine
    outputs: str  # the store that the new run goes to
    differences: tuple[Difference, ...]
    trust: Trust
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

    def carry_out(self) -> tuple[Ran, Comparison | None]:
        """Run the command again, and compare; there is nothing to compare where its record could not be closed."""
        ran = run(
            self.command,
            outputs=self.outputs,
            config=self.configuration,
            patterns=_patterns(self.inputs),
            relations=[("derived-from", str(self._document["generation"]["run_id"]), self._sha256)],
            **self._own_options(),
        )
        is_closed = os.path.isfile(os.path.join(ran.path, layout.CHECKSUMS))
        return ran, compare(self._record, ran.path) if is_closed else None

    def _own_options(self) -> JsonObject:
        """What else a trusted record decides."""
        if not self.trust.is_trusted:
            return {}
        generation = self._document["generation"]
        return {
            "experiment": generation.get("experiment_name"),
            "labels": generation.get("labels") or {},
            "keep_secrets": bool(self._document.get("keep_secrets")),
        }


def plan_rerun(path: str | os.PathLike[str], *, outputs: str | None = None) -> Plan:
    """Read a run and look at what has changed since; raises an error when it cannot be run again from its record."""
    record = open_record(path)
    record.problems()  # an archive is read here: its own document counts, not the copy beside it
    shown = show(record)
    document, name = shown.document, printable(shown.path)
    if shown.status == "running":
        raise StoreError(f"{name} is still running", hint="wait for its end")
    command = document["generation"].get("command")
    if not command:
        raise StoreError(
            f"{name} does not say which command made it", hint="record it with `runcard run -- COMMAND`"
        )
    if _was_masked(document, "command"):
        raise StoreError(
            f"the command of {name} held a secret, which was not kept",
            hint="give the secret in a variable, and run it again with `runcard run`",
        )
    digest = sha256_bytes(record.read(layout.METADATA) or b"").hex
    is_own = is_own_run(record.directory, str(document["generation"]["run_id"]), digest)
    trust = Trust(is_own, _damage(record.path))
    store = layout.store_of(record.directory)
    paths = [path_of(entry) for entry in entries_of(document)]
    return Plan(
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
    """Why a record fails verification, in words."""
    for result in verify(path):
        if not (result.verdict.intact and result.verdict.complete):
            return next((found.message for found in result.verdict.findings if found.breaks), "it is damaged")
    return None


def _was_masked(document: JsonObject, where: str) -> bool:
    return any(entry.get("where") == where for entry in document.get("redactions") or ())


def entries_of(document: JsonObject) -> list[JsonObject]:
    """The inputs of a run; older documents have nothing but their names."""
    files = document["data_sources"]["files"] or []
    return [file if isinstance(file, dict) else {"path": file} for file in files]


def path_of(entry: JsonObject) -> str:
    """The path of an input as this machine writes it."""
    base64 = entry.get("path_base64")
    return str(entry["path"]) if base64 is None else os.fsdecode(b64decode(base64))


def _differences(document: JsonObject, paths: list[str], store: str) -> Iterator[Difference]:
    if _was_masked(document, "configuration"):
        yield Difference("configuration", "", "with secrets", "masked: the command gets none of them from it")
    yield from _of_inputs(entries_of(document), paths)
    then, now = document["environment"], environment(".", ignore=[store])
    yield from _of_git(then.get("git") or {}, now.get("git") or {})
    for key, kind in (("python_version", "python"), ("platform", "platform")):
        yield from _of({kind: then.get(key)}, {kind: now.get(key)}, kind)
    yield from _of(then.get("packages") or {}, now.get("packages") or {}, "package")
    yield from _of(then.get("lockfiles") or {}, now.get("lockfiles") or {}, "lockfile")


def _of_inputs(entries: list[JsonObject], paths: list[str]) -> Iterator[Difference]:
    found, _ = inputs(_patterns(paths), ".")
    digests = {path_of(entry): entry["sha256"] for entry in found}
    for entry, path in zip(entries, paths, strict=True):
        if entry.get("sha256") is not None and entry["sha256"] != digests.get(path):
            yield Difference("input", printable(path), _brief(entry["sha256"]), _brief(digests.get(path)))


def _patterns(paths: Iterable[str]) -> list[str]:
    """Input patterns for exactly these files; a folder that a record names as a file would mean all files in it."""
    return [glob.escape(path) for path in paths if os.path.isfile(path)]


def _of_git(then: JsonObject, now: JsonObject) -> Iterator[Difference]:
    if not then.get("commit"):
        return
    states = [{"commit": git.get("commit"), "changes": git.get("diff_sha256")} for git in (then, now)]
    for name in ("commit", "changes"):
        before, after = states[0][name], states[1][name]
        if before != after:
            words = (_brief(before) or "none", _brief(after) or "none")
            yield Difference("git", name, *words)


def _of(then: JsonObject, now: JsonObject, kind: str) -> Iterator[Difference]:
    for name in sorted({*then, *now}):
        before, after = then.get(name), now.get(name)
        if before != after:
            is_digest = kind == "lockfile"
            said = [_brief(value) if is_digest else value for value in (before, after)]
            yield Difference(kind, "" if name == kind else printable(name), *said)


def _brief(digest: str | None) -> str | None:
    return digest and digest[:12]
