"""Verifying records: one run, many, or a whole store."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from runcard.encoding import decode_json
from runcard.errors import EncodingError, ExitCode, RuncardError, StoreError
from runcard.files import failure, printable
from runcard.operations.show import state_now
from runcard.store import layout
from runcard.store.ledger import entries, ledgers
from runcard.store.verification import (
    INTACT,
    Discrepancy,
    Verdict,
    unreadable,
    verify_ledgers,
    verify_run,
)

Progress = Callable[[int, int], object]


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
    """Whether a run lies there; also where nobody may look, so that verifying it tells why."""
    return any(
        layout.may_be_file(os.path.join(path, name), follow=True)
        for name in (layout.METADATA, layout.JOURNAL, layout.CHECKSUMS)
    )


def _verified(run: str, progress: Progress | None) -> Verified:
    try:
        verdict = verify_run(run, progress=progress)
    except RuncardError as error:
        return Verified(run, unreadable(run, error))
    except OSError as error:
        return Verified(run, unreadable(run, failure(error, str(error.filename or run), "read")))
    is_open = any(found.kind == "open" for found in verdict.findings)
    return Verified(run, _as_of_now(run, verdict) if is_open else verdict)


def _as_of_now(run: str, verdict: Verdict) -> Verdict:
    """The verdict on a run that is not closed, with what is known now about its process, and by the ledger."""
    findings = [
        replace(found, message=_state(run)) if found.kind == "open" else found for found in verdict.findings
    ]
    if _run_id(run) in {entry.id for _, book, _ in ledgers(layout.store_of(run)) for entry in entries(book)}:
        message = "it says that it is not closed, and the ledger has it as closed"
        record = findings[0].record
        findings.append(
            Discrepancy("ledger", record, layout.METADATA, message, breaks=INTACT, exit_code=ExitCode.FAILED)
        )
    return replace(verdict, findings=tuple(findings))


def _state(run: str) -> str:
    """What is to be said about a run that is not closed."""
    document = _document(run)
    status, remark = state_now(run, document) if document else (None, None)
    if status == "interrupted":
        return f"the run was interrupted and is not closed: {remark}"
    return f"the run is not closed: {remark or 'it is still at work'}"


def _store(store: str, progress: Progress | None) -> Iterator[Verified]:
    present: dict[str | None, str] = {}
    try:
        for run in _runs_of(store):
            present[_run_id(run)] = os.path.basename(run)
            yield _verified(run, progress)
        found = tuple(verify_ledgers(store, present))
    except RuncardError as error:
        found = unreadable(store, error).findings
    if found:
        yield Verified(store, Verdict(found, records=0))


def _runs_of(store: str) -> list[str]:
    if not os.path.isdir(store):
        what = "is no run" if os.path.lexists(store) else "does not exist"
        raise StoreError(f"{printable(store)} {what}")
    try:
        folders = [entry.path for entry in os.scandir(store) if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        raise failure(error, store, "read the directory") from error
    runs = [path for path in folders if path != layout.own_folder(store) and _is_run(path)]
    if not runs and not os.path.isdir(layout.own_folder(store)):
        raise StoreError(f"{printable(store)} holds no runs")
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
