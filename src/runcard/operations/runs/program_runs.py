"""The runs that one program recorded, and which of them belong together when it is run again.

Runs are of the same program if the same process recorded them, or its workers. They are looked for in the store of the run that
is asked about. A run of `runcard run` has the runs whose parent it is.
"""

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.documents.run.fields import RunFields, known_cost
from runcard.documents.run.generation import Generation
from runcard.documents.run.program import is_recorded_by_program, program_process
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import failure, printable
from runcard.recording.closing import close_dead_run
from runcard.store import layout
from runcard.store.find_record import records_of
from runcard.store.record import DirectoryRecord, Record


class ProgramRun(NamedTuple):
    """One of the runs that a program recorded."""

    record: Record
    document: JsonObject

    @property
    def order(self) -> tuple[str, str]:
        return RunFields(self.document).timestamp_start or "", self.record.path

    @property
    def key(self) -> str:
        """What the program stated about the run: the same for its counterpart, if the program has not changed."""
        generation = self.document["generation"]
        stated = [
            generation.get("experiment_name"),
            generation.get("labels"),
            self.document.get("configuration"),
        ]
        return json.dumps(stated, sort_keys=True)

    @property
    def cost(self) -> float | None:
        cost: float | None = self.document["costs"].get("total_cost_usd")
        return cost

    @property
    def known_cost(self) -> float | None:
        """The cost; if that is unknown, the part of it that is known."""
        return known_cost(self.document)


class ProgramRuns(NamedTuple):
    """The runs that a program recorded, in the order of their start."""

    runs: tuple[ProgramRun, ...]
    position: int | None = None  # of the run that was asked about; None if `runcard run` made it

    @property
    def cost_usd(self) -> float | None:
        costs = [run.cost for run in self.runs]
        return None if None in costs else self.known_cost_usd

    @property
    def known_cost_usd(self) -> float | None:
        costs = [cost for run in self.runs if (cost := run.known_cost) is not None]
        return plain_number(exact_sum(costs)) if costs else None

    def to_dict(self) -> JsonObject:
        return {
            "count": len(self.runs),
            "position": None if self.position is None else self.position + 1,
            "cost_usd": self.cost_usd,
            "known_cost_usd": self.known_cost_usd,
            "paths": [printable(run.record.path) for run in self.runs],
        }


def program_runs(record: Record, document: JsonObject) -> ProgramRuns:
    """The runs of the program that recorded a run, this one included; those that its command recorded, if it has one."""
    store, run_id = layout.store_of(record.directory), RunFields(document).run_id
    if not is_recorded_by_program(document):
        children = (run for run in _runs(store, str(run_id)) if _parent(run.document) == run_id)
        return ProgramRuns(tuple(sorted(children, key=lambda run: run.order)))
    process = program_process(document)
    named = ProgramRun(record, document)
    if process is None:
        return ProgramRuns((named,), 0)
    others = (
        run
        for run in _runs(store, str(process.pid))
        if program_process(run.document) == process
        and is_recorded_by_program(run.document)
        and RunFields(run.document).run_id != run_id
    )
    runs = sorted([named, *others], key=lambda run: run.order)
    return ProgramRuns(tuple(runs), runs.index(named))


def _runs(store: str, text: str) -> Iterator[ProgramRun]:
    """The runs of a store whose document has this text somewhere, each once."""
    seen = set()
    for record in records_of(store):
        with contextlib.suppress(RuncardError, OSError):
            if text.encode() not in (record.read(layout.METADATA) or b""):
                continue
            document = record.document()
            if isinstance(document, Generation) and document.run_id not in seen:
                seen.add(document.run_id)
                yield ProgramRun(record, document.to_dict())


def _parent(document: JsonObject) -> str | None:
    return next(
        (
            relation.get("id")
            for relation in document.get("relations") or ()
            if relation.get("type") == "parent"
        ),
        None,
    )


def close_listed_runs(run_list: str) -> list[RuncardError]:
    """Close the runs of a list whose process has died; why some of them could not be closed."""
    failures = []
    for path in _run_paths(run_list):
        try:
            close_dead_run(path)
        except RuncardError as error:
            failures.append(error)
        except OSError as error:
            failures.append(failure(error, path, "close"))
    return failures


def read_run_list(run_list: str, command: Sequence[str]) -> list[ProgramRun]:
    """The runs of a list that programs have written, in the order of their start: those of `command`, if it has any."""
    runs = []
    for path in _run_paths(run_list):
        with contextlib.suppress(RuncardError, OSError):
            record = DirectoryRecord(path)
            document = record.document()
            if isinstance(document, Generation) and is_recorded_by_program(document.to_dict()):
                runs.append(ProgramRun(record, document.to_dict()))
    runs.sort(key=lambda run: run.order)
    started = [
        program_process(run.document) for run in runs if RunFields(run.document).command == list(command)
    ]
    return [run for run in runs if program_process(run.document) in started] or runs


def _run_paths(run_list: str) -> list[str]:
    with open(run_list, "rb") as file:
        paths = [os.fsdecode(path) for path in file.read().split(b"\0") if path]
    return [path for path in dict.fromkeys(paths) if os.path.isabs(path) and os.path.isdir(path)]


def pair_runs(
    old: Sequence[ProgramRun], new: Sequence[ProgramRun]
) -> list[tuple[ProgramRun | None, ProgramRun | None]]:
    """Each old run with its counterpart, and the new ones that have none.

    Counterparts have the same experiment, labels and configuration; of several, the first belongs to the first. If as many
    runs are left over on both sides, the program or its settings have changed, and they belong together in their order.
    """
    by_key: dict[str, list[int]] = defaultdict(list)
    for index, run in enumerate(new):
        by_key[run.key].append(index)
    found = [by_key[run.key].pop(0) if by_key.get(run.key) else None for run in old]
    rest = [index for index in range(len(new)) if index not in set(found)]
    if found.count(None) == len(rest):
        found = [rest.pop(0) if index is None else index for index in found]
    pairs: list[tuple[ProgramRun | None, ProgramRun | None]] = [
        (run, None if index is None else new[index]) for run, index in zip(old, found, strict=True)
    ]
    return [*pairs, *((None, new[index]) for index in rest)]
