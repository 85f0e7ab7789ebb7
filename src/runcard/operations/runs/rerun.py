"""Run a recorded command again, and compare the results: `runcard rerun`.

Before anything runs, the inputs, the code and the packages are compared with the record. A difference does not stop the
run: often it is what the user wants to try.

A record is trusted when it is intact and this user recorded it on this machine. Of any other record only the command and
the inputs are used, and the caller must ask the user before running it.

A run of `runcard run` is compared with the new one. A run that a program recorded itself, with `runcard.record`, is compared
with its counterpart among the runs that the program records this time: they are added to a list that the rerun keeps. If
the program recorded several, all of them are made again, and the caller must ask the user first.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.chain import parse
from runcard.documents.run.events import RUN_STARTED
from runcard.documents.run.fields import RunFields
from runcard.documents.run.inputs import input_entries, input_path
from runcard.documents.run.program import ProgramKind, is_recorded_by_program, program_kind
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.observe.notebook import NOTEBOOK
from runcard.operations.checks.show import ShownRun, show_run
from runcard.operations.checks.verify import damage_of
from runcard.operations.runs.compare import RunComparison, compare
from runcard.operations.runs.environment_differences import (
    EnvironmentDifference,
    environment_differences,
    exact_patterns,
    was_masked,
)
from runcard.operations.runs.metering import MeterOptions
from runcard.operations.runs.program_runs import (
    ProgramRun,
    ProgramRuns,
    close_listed_runs,
    pair_runs,
    program_runs,
    read_run_list,
)
from runcard.operations.runs.run import CommandResult, run
from runcard.recording.start_run import RUN_LIST
from runcard.settings import OUTPUTS, read_settings
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.ownership import is_own_run
from runcard.store.record import Record

_LONGEST_LINE = 64 << 20  # bytes of a journal's first line


class RecordTrust(NamedTuple):
    """Whether a record may decide more than which command is run."""

    is_own: bool  # this user recorded it on this machine
    damage: str | None  # why verification failed, if it did

    @property
    def is_trusted(self) -> bool:
        return self.is_own and self.damage is None


class RerunResult(NamedTuple):
    """What a rerun gave."""

    command: CommandResult
    comparison: RunComparison | None  # of the run with its counterpart, if there is one
    others: tuple[RunComparison, ...]  # of the other runs that the program recorded, if they were asked for
    recorded: int  # how many runs the program recorded this time
    gone: tuple[str, ...]  # runs that the program did not record again
    added: tuple[str, ...]  # runs that it did not record last time
    failures: tuple[RuncardError, ...]  # why runs could not be compared


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """What a rerun would do."""

    old: ShownRun
    command: tuple[str, ...]
    configuration: JsonObject
    inputs: tuple[str, ...]  # as they are written on this machine
    outputs: str  # the store that the new run goes to
    differences: tuple[EnvironmentDifference, ...]
    trust: RecordTrust
    program: ProgramRuns  # the runs that the program recorded last time
    _sha256: str
    _variables: dict[str, str]  # for the command

    @property
    def path(self) -> str:
        return self.old.path

    @property
    def repeats_others(self) -> bool:
        """Whether the program makes runs again that were not asked for."""
        return self.program.position is not None and len(self.program.runs) > 1

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
            "program_runs": self.program.to_dict(),
        }

    def damaged_runs(self) -> list[tuple[str, str]]:
        """The other runs of the program that fail verification, with the reason."""
        paths = [run.record.path for run in self.program.runs if run.record.path != self.path]
        return [(path, damage) for path in paths if (damage := damage_of(path)) is not None]

    def rerun(self, *, compare_all: bool = False) -> RerunResult:
        """Run the command again and compare the run; with `compare_all`, also the other runs of its program."""
        with NamedTemporaryFile(prefix="runcard-") as run_list:
            result = run(
                self.command,
                outputs=self.outputs,
                patterns=exact_patterns(self.inputs),
                relations=[("derived-from", str(RunFields(self.old.document).run_id), self._sha256)],
                variables={**self._variables, RUN_LIST: run_list.name},
                **self._trusted_options(),
            )
            failures = close_listed_runs(run_list.name)
            recorded = read_run_list(run_list.name, RunFields(self.old.document).command or ())
        return self._compare(result, recorded, failures, compare_all=compare_all)

    def _compare(
        self,
        result: CommandResult,
        recorded: list[ProgramRun],
        failures: list[RuncardError],
        *,
        compare_all: bool,
    ) -> RerunResult:
        pairs = pair_runs(self.program.runs, recorded)
        named: Record | str | None = result.path
        if self.program.position is not None:
            counterpart = pairs[self.program.position][1]
            named = counterpart and counterpart.record
        elif not os.path.isfile(os.path.join(result.path, layout.CHECKSUMS)):
            named = None  # it could not be closed; the result says why
        comparison = named and _compare_or_fail(self.old.record, named, failures)
        others = [
            _compare_or_fail(old.record, new.record, failures)
            for index, (old, new) in enumerate(pairs)
            if compare_all and index != self.program.position and old is not None and new is not None
        ]
        return RerunResult(
            result,
            comparison or None,
            tuple(other for other in others if other is not None),
            len(recorded),
            gone=tuple(old.record.path for old, new in pairs if old is not None and new is None),
            added=tuple(new.record.path for old, new in pairs if old is None and new is not None),
            failures=tuple(failures),
        )

    def _trusted_options(self) -> JsonObject:
        """The options that only a trusted record decides. Those of a program's own run are the program's to give."""
        if not self.trust.is_trusted or self.program.position is not None:
            return {}
        start = _start_document(self.old)
        return {
            "config": _given_values(self.configuration),
            "experiment": start["generation"].get("experiment_name"),
            "labels": start["generation"].get("labels") or {},
            **_application(self.old.document),
            "keep_secrets": bool(self.old.document.get("keep_secrets")),
            "output_patterns": _output_patterns(self.old.document),
            "meter": MeterOptions(is_on=_was_metered(self.old.document)),
        }


def _given_values(configuration: JsonObject) -> JsonObject:
    """The configuration without `model` and `provider` where these are null: they were not given."""
    unknown = [name for name in ("model", "provider") if configuration.get(name) is None]
    return {name: value for name, value in configuration.items() if name not in unknown}


def _output_patterns(document: JsonObject) -> list[str]:
    """The patterns of the files that were copied into the record from elsewhere."""
    return (document.get("reproduce") or {}).get("outputs") or []


def _application(document: JsonObject) -> JsonObject:
    """The program as it was given. A version that was looked up is looked up again."""
    name, sign, version = str((document.get("reproduce") or {}).get("application") or "").partition("=")
    return {"application": name or None, "application_version": version if sign else None}


def _was_metered(document: JsonObject) -> bool:
    """Whether model calls are to be counted: they are, unless the user did not want it."""
    return (document.get("reproduce") or {}).get("meter") is not False


def _compare_or_fail(old: Record, new: Record | str, failures: list[RuncardError]) -> RunComparison | None:
    try:
        return compare(old, new)
    except RuncardError as error:
        failures.append(error)
        return None


def rerun(
    run: str | os.PathLike[str],
    *,
    outputs: str | os.PathLike[str] | None = None,
    compare_all: bool = False,
    trust: bool = False,
) -> RerunResult:
    """Run the command of a recorded run again, in the current directory, and compare the results.

    The command reads and writes the standard streams of this process. `trust` allows a command that this user did not record
    on this machine, or whose record fails verification. A program that recorded several runs makes all of them again;
    with `compare_all` each of them is compared.
    """
    plan = plan_rerun(run, outputs=None if outputs is None else os.fspath(outputs))
    if not trust and not plan.trust.is_trusted:
        why = plan.trust.damage or "you did not record it on this machine"
        raise StoreError(
            f"{printable(plan.path)} is not run again: {why}",
            hint="look at its command, then pass trust=True",
        )
    return plan.rerun(compare_all=compare_all)


def plan_rerun(path: str | os.PathLike[str], *, outputs: str | None = None) -> RerunPlan:
    """Read a run and find what has changed since; raises an error when it cannot be run again from its record."""
    record = open_record(path)
    record.problems()  # an archive is read here: its own document counts, not the copy beside it
    shown = show_run(record)
    document = shown.document
    _check_can_run(shown)
    command, variables = _command(shown)
    if outputs is not None:  # for the runs that the program records, too
        variables[OUTPUTS.variables[0]] = os.path.abspath(outputs)
    digest = sha256_bytes(record.read(layout.METADATA) or b"").hex
    trust = _trust(record, document, digest)
    store = layout.store_of(record.directory)
    paths = [input_path(entry) for entry in input_entries(document)]
    return RerunPlan(
        shown,
        tuple(command),
        _start_document(shown)["configuration"] if trust.is_trusted else {},
        tuple(paths),
        outputs or (store if trust.is_trusted else read_settings()[OUTPUTS]),
        tuple(environment_differences(document, paths, store)),
        trust,
        program_runs(record, document),
        digest,
        variables,
    )


def rerun_directory(path: str | os.PathLike[str]) -> str | None:
    """Where to run the command of a record if the current directory is that of the record, which must not change.

    None if it is another one: then the command runs there. Raises StoreError if the directory is not known.
    """
    record = open_record(path)
    try:
        inside, here = os.path.realpath(record.directory), os.path.realpath(os.curdir)
    except FileNotFoundError:  # the current directory was removed; running the command reports it
        return None
    if os.path.commonpath([inside, here]) != inside:
        return None
    document = show_run(record).document
    stated = document["generation"].get("directory")
    digest = sha256_bytes(record.read(layout.METADATA) or b"").hex
    directory = stated and os.path.normpath(os.path.join(os.path.abspath(record.directory), stated))
    if directory and os.path.isdir(directory) and _trust(record, document, digest).is_trusted:
        return str(directory)
    raise StoreError(
        "a command cannot run inside of a record, and where this one ran is not known for certain",
        hint=f"change to the directory of its program, then: runcard rerun {shell_word(os.path.abspath(record.path))}",
    )


def _trust(record: Record, document: JsonObject, sha256: str) -> RecordTrust:
    is_own = is_own_run(record.directory, str(RunFields(document).run_id), sha256)
    return RecordTrust(is_own, damage_of(record.path))


def _start_document(run: ShownRun) -> JsonObject:
    """The document of a run as it was started, without what its command and the calls added; as it is now if that is unknown."""
    journal = run.record.open(layout.JOURNAL)
    if journal is None:
        return run.document
    with journal:
        entries = parse(journal.readline(_LONGEST_LINE)).entries
    line = entries[0].line if entries else {}
    start = line.get("payload") if line.get("event") == RUN_STARTED and "truncated" not in line else None
    if not isinstance(start, dict) or not all(
        isinstance(start.get(section), dict) for section in ("configuration", "generation")
    ):
        return run.document
    return start


def _check_can_run(shown: ShownRun) -> None:
    name, document = printable(shown.path), shown.document
    if shown.status == "running":
        raise StoreError(f"{name} is still running", hint="wait until it has ended")
    if not RunFields(document).command:
        raise StoreError(
            f"{name} has no command", hint="only the run of a command or of a program can be run again"
        )
    if was_masked(document, "command"):
        raise StoreError(
            f"the command of {name} contained a secret, which was masked",
            hint="pass the secret in an environment variable, and record the command again",
        )


def _command(shown: ShownRun) -> tuple[Sequence[str], dict[str, str]]:
    """The command that makes a run again, and variables for it; raises StoreError if there is none."""
    command, name = RunFields(shown.document).command or [], printable(shown.path)
    kind = program_kind(command) if is_recorded_by_program(shown.document) else ProgramKind.PROGRAM
    if kind is ProgramKind.NOTEBOOK:
        return _notebook_command(shown)
    if kind is ProgramKind.INTERACTIVE:
        raise StoreError(
            f"{name} was recorded in an interactive session, or by a program from standard input: there is no file to run",
            hint="run the same code again; to make it repeatable, put it into a file",
        )
    if kind is ProgramKind.WORKER:
        raise StoreError(
            f"{name} was recorded in a worker process of multiprocessing, whose command starts nothing by itself",
            hint="run the whole program again",
        )
    return command, {}


def _notebook_command(shown: ShownRun) -> tuple[Sequence[str], dict[str, str]]:
    stated, name = shown.document["generation"].get("notebook"), printable(shown.path)
    if not stated:
        raise StoreError(
            f"{name} was recorded in a notebook whose file is not known",
            hint="run its cells again",
        )
    if not os.path.isfile(stated):
        raise StoreError(
            f"{name} was recorded in the notebook {printable(stated)}, which is not in this directory",
            hint="change to the directory of the notebook",
        )
    if shutil.which("jupyter-execute") is None:
        raise StoreError(
            f"{name} was recorded in the notebook {printable(stated)}, and `jupyter execute` is not installed",
            hint="install nbclient and ipykernel, or run the cells again",
        )
    return ["jupyter", "execute", stated], {NOTEBOOK: os.path.abspath(stated)}
