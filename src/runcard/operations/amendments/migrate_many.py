"""Migrate many documents and records: one after the other, or on the workers of a cluster.

On a cluster, paths of one record go to one worker, so that its amendments have the order of the paths. A record whose worker
died after it was migrated is asked for again, and then is of that version already: nothing is done twice.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.operations.amendments.document_migration import Migrated
from runcard.operations.amendments.migrate import migrate, migrate_record
from runcard.operations.checks.load import STDIN
from runcard.parallel.current_cluster import current_cluster
from runcard.store import layout

if TYPE_CHECKING:
    from runcard.parallel.shard import ItemPlace

MigrationOutcome = (
    tuple[Migrated, ...] | RuncardError
)  # the documents of a path, or why they were not migrated


def migrate_many(
    paths: Sequence[str], to: str | None = None, *, output: str | None = None, **options: object
) -> Iterator[MigrationOutcome]:
    """The outcome for each path, in their order; `options` are those of `migrate`.

    On a cluster the results have no bytes of documents; a dry run, which shows these, is made here.
    """
    settings: JsonObject = {"to": to, "output": output, **options}
    if current_cluster() is None or output is not None or options.get("dry_run"):
        return (_outcome(path, settings) for path in paths)
    return _spread(paths, settings)


def _spread(paths: Sequence[str], settings: JsonObject) -> Iterator[MigrationOutcome]:
    from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - only with a cluster

    records: dict[str, list[int]] = {}
    for index, path in enumerate(paths):
        records.setdefault(_record_name(path), []).append(index)
    groups = [[paths[index] for index in indexes] for indexes in records.values()]
    waiting: dict[int, MigrationOutcome] = {}
    turn = 0
    outcomes = work_in_order(groups, partial(_outcomes, settings=settings), place=_place)
    for indexes, results in zip(records.values(), outcomes, strict=True):
        waiting |= dict(zip(indexes, results, strict=True))
        while turn in waiting:
            yield waiting.pop(turn)
            turn += 1


def _record_name(path: str) -> str:
    """The name of the record that a path is about; of a document that is in none, that of its folder."""
    if layout.is_archive(path):
        return layout.archived_name(path)
    is_folder = os.path.isdir(path)
    record = path if is_folder else layout.sealed_record(path) or os.path.dirname(os.path.abspath(path))
    return os.path.basename(os.path.realpath(record))


def _place(group: list[str]) -> "ItemPlace | None":
    """Where the paths of a record are; None for a name, which only this process can look up."""
    from runcard.parallel.cluster import SHARD_BYTES  # noqa: PLC0415 - only with a cluster
    from runcard.parallel.shard import ItemPlace  # noqa: PLC0415

    return ItemPlace(group[0], SHARD_BYTES // 16) if all(map(os.path.lexists, group)) else None


def _outcomes(group: list[str], _: object, settings: JsonObject) -> list[MigrationOutcome]:
    return [_without_bytes(_outcome(path, settings)) for path in group]


def _without_bytes(outcome: MigrationOutcome) -> MigrationOutcome:
    if isinstance(outcome, RuncardError):
        return outcome
    return tuple(replace(migrated, before=b"", after=b"") for migrated in outcome)


def _outcome(path: str, settings: JsonObject) -> MigrationOutcome:
    options = {**settings}
    output = options.pop("output")
    try:
        documents = None if output is not None or path == STDIN else migrate_record(path, **options)
        return (migrate(path, output=output, **options),) if documents is None else documents
    except RuncardError as error:
        return error
