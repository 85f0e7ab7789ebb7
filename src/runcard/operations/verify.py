"""Verifying records: one run, many, or a whole store."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from runcard.encoding import decode_json
from runcard.errors import EncodingError, ExitCode, RuncardError, StoreError
from runcard.files import printable
from runcard.operations.show import state_now
from runcard.store import layout
from runcard.store.verification import Verdict, unreadable, verify_ledgers, verify_run

Progress = Callable[[int, int], object]

_HINT = "name a run, or a folder of runs"


@dataclass(frozen=True, slots=True)
class Verified:
    """One record, or the ledgers of a store, and what was found."""

    path: str
    verdict: Verdict


def verify(*paths: str | os.PathLike[str], progress: Progress | None = None) -> Iterator[Verified]:
    """Hash everything at these paths and compare it with what was written down.

    A path is a run, its metadata document, or a folder of runs; one that is none of these is a finding as well.
    """
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
        verdict = verify_run(run, progress=progress)
    except RuncardError as error:
        return Verified(run, unreadable(run, error))
    findings = tuple(
        replace(found, message=_state(run)) if found.kind == "open" else found for found in verdict.findings
    )
    return Verified(run, replace(verdict, findings=findings))


def _state(run: str) -> str:
    """What is to be said about a run that is not closed."""
    document = _document(run)
    status, remark = state_now(run, document) if document else (None, None)
    if status == "interrupted":
        return f"the run was interrupted and is not closed: {remark}"
    return f"the run is not closed: {remark or 'it is still at work'}"


def _store(store: str, progress: Progress | None) -> Iterator[Verified]:
    try:
        runs = _runs_of(store)
    except StoreError as error:
        yield Verified(store, replace(unreadable(store, error), records=0))
        return
    present: dict[str | None, str] = {}
    for run in runs:
        present[_run_id(run)] = os.path.basename(run)
        yield _verified(run, progress)
    found = tuple(verify_ledgers(store, present))
    if found:
        yield Verified(store, Verdict(found, records=0))


def _runs_of(store: str) -> list[str]:
    if not os.path.isdir(store):
        what = "is no run" if os.path.lexists(store) else "does not exist"
        raise StoreError(f"{printable(store)} {what}", hint=_HINT)
    runs = [
        entry.path
        for entry in os.scandir(store)
        if entry.is_dir(follow_symlinks=False) and _is_run(entry.path)
    ]
    if not runs and not os.path.isdir(layout.own_folder(store)):
        raise StoreError(f"{printable(store)} holds no runs", hint=_HINT)
    return sorted(runs)


def _document(run: str) -> dict[str, Any] | None:
    """The run's document, as far as it can be read: what is wrong with it is said where the run itself is verified."""
    try:
        with open(os.path.join(run, layout.METADATA), "rb") as file:
            document = decode_json(file.read())
    except (OSError, EncodingError):
        return None
    return document if isinstance(document, dict) and isinstance(document.get("generation"), dict) else None


def _run_id(run: str) -> str | None:
    document = _document(run)
    run_id = document["generation"].get("run_id") if document else None
    return run_id if isinstance(run_id, str) else None


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
