"""How two records differ: `runcard diff`. Runs, sessions, their archives, and bundles.

Compared is what the work was made from and what came out: configuration, packages, code, inputs, outputs, metrics, tokens, cost, and
the agents of a team. Ids and times are different in any two records: they are shown beside the rest, and are no differences.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from runcard import checksums
from runcard.documents.differences import differences
from runcard.documents.run.application import program_versions
from runcard.documents.run.inputs import input_entries, input_path
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, StoreError, UsageError
from runcard.files import json_name, printable
from runcard.operations.checks.show import ShownRun, show_record
from runcard.operations.checks.show_session import ShownSession
from runcard.operations.checks.verify import damage_of
from runcard.operations.runs.compare import FileDifference, text_diff
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.record import RUN, SESSION, DirectoryRecord, Record
from runcard.views.formats import command_line
from runcard.views.imported_figures import is_lower_bound

_RUN_FIGURES = {
    "tokens": (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
    ),
    "cost": ("total_cost_usd", "known_cost_usd"),
}
_INSTANCE_FIELDS = (
    "role",
    "role_title",
    "model",
    "status",
    "tokens_used",
    "cost",
    "known_cost",
    "error_message",
)


class RecordChange(NamedTuple):
    """A value that differs; None is absent or unknown."""

    section: str
    name: str
    before: Any
    now: Any

    def to_dict(self) -> JsonObject:
        return {"section": self.section, "name": self.name, "before": self.before, "now": self.now}


@dataclass(frozen=True)
class FileChanges:
    """Which files of two records are the same."""

    same: int = 0
    differing: tuple[FileDifference, ...] = ()
    gone: tuple[str, ...] = ()  # only in the first one
    added: tuple[str, ...] = ()  # only in the second one

    def __bool__(self) -> bool:
        return bool(self.differing or self.gone or self.added)

    def to_dict(self) -> JsonObject:
        return {
            "same": self.same,
            "differing": [
                {"path": json_name(one.path).text, "diff": list(one.diff)} for one in self.differing
            ],
            "gone": [json_name(path).text for path in self.gone],
            "added": [json_name(path).text for path in self.added],
        }


@dataclass(frozen=True)
class RecordDiff:
    """What differs in two records."""

    old: JsonObject  # id, kind, path, started
    new: JsonObject
    changes: tuple[RecordChange, ...]
    inputs: FileChanges
    outputs: FileChanges
    times: tuple[RecordChange, ...] = field(default=())  # differ in any two records, and do not count
    at_least: tuple[bool, bool] = (False, False)  # whether the figures of each are lower bounds
    damaged: tuple[
        tuple[str, str], ...
    ] = ()  # the path of each that fails verification, and why; looked for where nothing differs

    @property
    def identical(self) -> bool:
        return not (self.changes or self.inputs or self.outputs or self.damaged)

    def to_dict(self) -> JsonObject:
        return {
            "a": self.old,
            "b": self.new,
            "identical": self.identical,
            "changes": [change.to_dict() for change in self.changes],
            "inputs": self.inputs.to_dict(),
            "outputs": self.outputs.to_dict(),
            "times": [change.to_dict() for change in self.times],
            "damaged": [{"path": path, "reason": reason} for path, reason in self.damaged],
        }


def diff(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> RecordDiff:
    """Compare two closed records of the same kind."""
    with ExitStack() as stack:
        before, now = (show_record(_open(word, stack)) for word in (old, new))
        if isinstance(before, ShownRun) and isinstance(now, ShownRun):
            return _checked(_diff_runs(before, now), before.record, now.record)
        if isinstance(before, ShownSession) and isinstance(now, ShownSession):
            return _checked(_diff_sessions(before, now), before.record, now.record)
    raise UsageError("a run and a session cannot be compared", hint="name two runs, or two sessions")


def _checked(found: RecordDiff, *records: Record) -> RecordDiff:
    """The same; where nothing differs by what the records say, also whether their files are as they say."""
    if not found.identical:
        return found
    damage = ((printable(record.path), damage_of(record.path)) for record in records)
    return replace(found, damaged=tuple((path, reason) for path, reason in damage if reason is not None))


def _open(word: str | os.PathLike[str], stack: ExitStack) -> Record:
    """The record that a word names; the run in a bundle is unpacked into a temporary folder until the stack is closed."""
    path = os.fspath(word)
    if not (layout.is_archive(path) and os.path.isfile(path)):
        return open_record(word)
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - only for bundles

    from runcard.operations.runs.import_bundle import import_bundle  # noqa: PLC0415

    folder = stack.enter_context(TemporaryDirectory(prefix="runcard-"))
    try:
        return DirectoryRecord(import_bundle(path, os.path.join(folder, "bundle")).path)
    except DocumentError:
        return open_record(word)  # not a bundle, but an archive; or it says what is wrong


def _diff_runs(before: ShownRun, now: ShownRun) -> RecordDiff:
    old, new = before.document, now.document
    changes = [
        *_values("result", _result(before), _result(now)),
        *_deep("configuration", old["configuration"] or {}, new["configuration"] or {}),
        *_values("labels", old["generation"].get("labels") or {}, new["generation"].get("labels") or {}),
        *_environment(old["environment"], new["environment"]),
        *_values("metrics", _metrics(old), _metrics(new)),
    ]
    for section, names in _RUN_FIGURES.items():
        changes += _values(section, *({name: doc["costs"].get(name) for name in names} for doc in (old, new)))
    outputs = _files(
        before.record, now.record, _outputs(before.record, before.files), _outputs(now.record, now.files)
    )
    times = _values("time", _times(old["generation"]), _times(new["generation"]))
    return RecordDiff(
        _reference(before.record, RUN, old["generation"]["run_id"], old["generation"]["timestamp_start"]),
        _reference(now.record, RUN, new["generation"]["run_id"], new["generation"]["timestamp_start"]),
        tuple(changes),
        _inputs(old, new),
        outputs,
        tuple(times),
        (_is_incomplete(old), _is_incomplete(new)),
    )


def _diff_sessions(before: ShownSession, now: ShownSession) -> RecordDiff:
    old, new = before.document, now.document
    names = [_instance_names(document) for document in (old, new)]
    changes = [
        *_values("labels", old.get("labels") or {}, new.get("labels") or {}),
        *_team(
            *(
                {names[n][entry["instance_id"]]: entry for entry in doc["instances"]}
                for n, doc in enumerate((old, new))
            )
        ),
        *_values("tokens", _total_tokens(old), _total_tokens(new)),
        *_values(
            "cost",
            *(
                {name: doc["execution_summary"].get(name) for name in ("total_cost", "known_cost")}
                for doc in (old, new)
            ),
        ),
    ]
    outputs = _files(
        before.record,
        now.record,
        _session_files(before.record, names[0]),
        _session_files(now.record, names[1]),
    )
    summaries = [document["execution_summary"] for document in (old, new)]
    keys = ("execution_start", "total_execution_time_seconds")
    times = _values("time", *({key: summary.get(key) for key in keys} for summary in summaries))
    return RecordDiff(
        _reference(before.record, SESSION, old["team_session_id"], summaries[0].get("execution_start")),
        _reference(now.record, SESSION, new["team_session_id"], summaries[1].get("execution_start")),
        tuple(changes),
        FileChanges(),
        outputs,
        tuple(times),
        (is_lower_bound(old), is_lower_bound(new)),
    )


def _is_incomplete(run: JsonObject) -> bool:
    """Whether not all calls of a run were seen."""
    return bool((run.get("token_usage") or {}).get("incomplete"))


def _reference(record: Record, kind: str, record_id: object, started: object) -> JsonObject:
    return {"id": record_id, "kind": kind, "path": printable(record.path), "started": started}


def _result(run: ShownRun) -> JsonObject:
    generation = run.document["generation"]
    command = generation.get("command")
    return {
        "status": run.status,
        "exit_code": generation.get("exit_code"),
        "command": command and command_line(command),
    }


def _times(generation: JsonObject) -> JsonObject:
    return {"started": generation["timestamp_start"], "duration_seconds": generation["duration_seconds"]}


def _metrics(document: JsonObject) -> JsonObject:
    metrics = document.get("metrics") or {}
    return {name: (values or {}).get("last") for name, values in metrics.items()}


def _environment(old: JsonObject, new: JsonObject) -> Iterator[RecordChange]:
    names = ("python_version", "platform", "timezone")
    values = ({**program_versions(env), **{name: env.get(name) for name in names}} for env in (old, new))
    yield from _values("environment", *values)
    yield from _values("git", old.get("git") or {}, new.get("git") or {})
    yield from _values("packages", old.get("packages") or {}, new.get("packages") or {})
    yield from _values("lockfiles", old.get("lockfiles") or {}, new.get("lockfiles") or {})


def _values(section: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[RecordChange]:
    """The values of two objects that differ; absent and null are the same."""
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield RecordChange(section, name, old.get(name), new.get(name))


def _deep(section: str, old: JsonObject, new: JsonObject) -> Iterator[RecordChange]:
    """The smallest parts of two configurations that differ, by their names with dots between them."""
    for each in differences(old, new):
        name = each.pointer.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
        yield RecordChange(section, name, each.expected, each.found)


def _inputs(old: JsonObject, new: JsonObject) -> FileChanges:
    before, now = (
        {input_path(entry): entry.get("sha256") for entry in input_entries(doc)} for doc in (old, new)
    )
    return FileChanges(
        sum(path in now and digest == now[path] for path, digest in before.items()),
        tuple(FileDifference(path, ()) for path in before if path in now and before[path] != now[path]),
        tuple(path for path in before if path not in now),
        tuple(path for path in now if path not in before),
    )


Digests = dict[str, tuple[str, str]]  # by the name that is shown: the path in the record, and the digest


def _outputs(record: Record, files: Sequence[tuple[str, int]]) -> Digests:
    own = {path for path, _ in files}
    return {path: (path, digest) for path, digest in _listing(record) if path in own}


def _session_files(record: Record, names: Mapping[str, str]) -> Digests:
    """The files of a session's instances, below the names of their agents."""
    found = {}
    for path, digest in _listing(record):
        parts = path.split("/", 2)
        if len(parts) == 3 and parts[0] == layout.INSTANCES and parts[2] != layout.METADATA:
            found[f"{names.get(parts[1], parts[1])}/{parts[2]}"] = (path, digest)
    return found


def _listing(record: Record) -> Iterator[tuple[str, str]]:
    data = record.read(layout.CHECKSUMS)
    if data is None:
        raise StoreError(
            f"{printable(record.path)} has no {layout.CHECKSUMS}: it is not closed",
            hint="close it with `runcard close`",
        )
    return checksums.read(data).hex_items()


def _files(old: Record, new: Record, before: Digests, now: Digests) -> FileChanges:
    both = [name for name in before if name in now]
    differing = [name for name in both if before[name][1] != now[name][1]]
    return FileChanges(
        len(both) - len(differing),
        tuple(FileDifference(name, text_diff(old, before[name][0], new, now[name][0])) for name in differing),
        tuple(name for name in before if name not in now),
        tuple(name for name in now if name not in before),
    )


def _instance_names(document: JsonObject) -> dict[str, str]:
    """The name of each instance, by its id; with a number, where several have the same."""
    counts: Counter[str] = Counter()
    names = {}
    for entry in document["instances"]:
        counts[entry["name"]] += 1
        number = counts[entry["name"]]
        names[entry["instance_id"]] = entry["name"] if number == 1 else f"{entry['name']} ({number})"
    return names


def _team(before: Mapping[str, JsonObject], now: Mapping[str, JsonObject]) -> Iterator[RecordChange]:
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            yield RecordChange("team", name, old and old["status"], new and new["status"])
            continue
        for key in _INSTANCE_FIELDS:
            if old.get(key) != new.get(key):
                yield RecordChange("team", f"{name}: {key}", old.get(key), new.get(key))


def _total_tokens(document: JsonObject) -> JsonObject:
    tokens = (document.get("resources") or {}).get("tokens") or {}
    return {"total": document["execution_summary"].get("total_tokens"), **tokens}
