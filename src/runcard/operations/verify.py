"""Verifying records: one run, many, or a whole store."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from runcard.encoding import decode_json
from runcard.errors import EncodingError, ExitCode, RuncardError, StoreError
from runcard.files import printable
from runcard.store import layout
from runcard.store.verification import Verdict, unreadable, verify_ledgers, verify_run

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Verified:
    """One record, or the ledgers of a store, and what was found."""

    path: str
    verdict: Verdict


def verify(*paths: str | os.PathLike[str], progress: Progress | None = None) -> Iterator[Verified]:
    """Hash everything at these paths and compare it with what was written down."""
    for path in paths:
        name = os.fspath(path)
        if os.path.basename(name) == layout.METADATA and os.path.isfile(name):
            name = os.path.dirname(name) or "."
        if _is_run(name):
            yield _verified(name, progress)
        else:
            yield from _store(name, progress)


def _is_run(path: str) -> bool:
    return any(
        os.path.isfile(os.path.join(path, name))
        for name in (layout.METADATA, layout.JOURNAL, layout.CHECKSUMS)
    )


def _verified(run: str, progress: Progress | None) -> Verified:
    try:
        return Verified(run, verify_run(run, progress=progress))
    except RuncardError as error:
        return Verified(run, unreadable(run, error))


def _store(store: str, progress: Progress | None) -> Iterator[Verified]:
    if not os.path.isdir(store):
        raise StoreError(f"{printable(store)} does not exist", hint="name a run, or a folder of runs")
    runs = [
        entry.path
        for entry in os.scandir(store)
        if entry.is_dir(follow_symlinks=False) and _is_run(entry.path)
    ]
    if not runs and not os.path.isdir(layout.own_folder(store)):
        raise StoreError(f"{printable(store)} holds no runs", hint="name a run, or a folder of runs")
    present: dict[str | None, str] = {}
    for run in sorted(runs):
        present[_run_id(run)] = os.path.basename(run)
        yield _verified(run, progress)
    found = tuple(verify_ledgers(store, present))
    if found:
        yield Verified(store, Verdict(found, records=0))


def _run_id(run: str) -> str | None:
    try:
        with open(os.path.join(run, layout.METADATA), "rb") as file:
            document = decode_json(file.read())
        run_id: str | None = document["generation"]["run_id"]
    except (OSError, EncodingError, KeyError, TypeError):
        return None  # what is wrong with it is said where the run itself is verified
    return run_id


def summary(results: list[Verified]) -> dict[str, Any]:
    """The verdict on everything as data."""
    return {
        "intact": all(result.verdict.intact for result in results),
        "complete": all(result.verdict.complete for result in results),
        "signed": None,
        "records": sum(result.verdict.records for result in results),
        "findings": [found.to_dict() for result in results for found in result.verdict.findings],
    }


def worst(results: list[Verified]) -> ExitCode:
    codes = {result.verdict.exit_code for result in results}
    return next((code for code in (ExitCode.FAILED, ExitCode.WARNINGS) if code in codes), ExitCode.OK)
