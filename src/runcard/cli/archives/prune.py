"""runcard prune"""

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import (
    AGE,
    Size,
    artifacts_option,
    dry_run_option,
    json_option,
    outputs_option,
    yes_option,
)
from runcard.cli.printing import complain, complain_of_settings, say, say_done, say_json
from runcard.cli.verbosity import is_quiet
from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.operations.archives.prune import Candidate, PruneCandidates, StoreSize
    from runcard.settings import Setting, Settings


@click.command("prune")
@click.option("--older-than", type=AGE, help="Delete records whose work ended this long ago: 90d, 12h, 52w.")
@click.option(
    "--max-size", type=Size(), help="Delete the oldest until each store is this small: 500MB, 20GiB."
)
@click.option("--retention", is_flag=True, help="Delete sessions by the retention settings (default).")
@dry_run_option
@yes_option
@outputs_option
@artifacts_option
@json_option
def command(
    older_than: timedelta | None,
    max_size: int | None,
    retention: bool,
    dry_run: bool,
    yes: bool,
    outputs: str | None,
    artifacts: str | None,
    as_json: bool,
) -> int:
    """Permanently delete old records and archives, or the oldest of a store that is too large.

    Lists first what would be deleted and how much space that frees. Open records are kept, and so are records that fail
    verification. The ledger of the store keeps an entry for each deletion.

    Exit codes: 0 done, 1 not deleted, 2 warnings, 64 confirmation needed: pass --yes.
    """
    from runcard.operations.archives.prune import candidates, prune  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings  # noqa: PLC0415

    is_selected = older_than is not None or max_size is not None
    if retention and is_selected:
        raise UsageError(
            "--retention contradicts --older-than and --max-size",
            hint="pass either --retention or the others",
        )
    settings = read_settings({OUTPUTS: outputs, ARTIFACTS_DIR: artifacts})
    named = [OUTPUTS, ARTIFACTS_DIR] if is_selected else [ARTIFACTS_DIR]
    if not is_selected:
        older_than, max_size = _retention(settings)
    stores = [_store(settings, setting) for setting in named]
    kind = None if is_selected else "session"
    found = candidates(stores, older_than=older_than, max_size=max_size, kind=kind, dry_run=dry_run)
    chosen = found.records
    if not as_json and (dry_run or not yes or not is_quiet()):
        _announce(found, max_size)
    if dry_run or not chosen:
        if as_json:
            say_json(_summary(found, [], [], dry_run=dry_run))
        sys.stdout.flush()
        return complain_of_settings(settings, ExitCode.OK)
    sys.stdout.flush()
    if not yes and not _is_agreed(len(chosen)):
        return ExitCode.FAILED
    kept: list[tuple[Candidate, str]] = []
    deleted = list(
        prune(
            chosen, limits=settings.limits, on_kept=lambda candidate, reason: kept.append((candidate, reason))
        )
    )
    if as_json:
        say_json(_summary(found, deleted, kept, dry_run=dry_run))
    else:
        say_done(f"deleted {len(deleted):,}, freed {_total(deleted)}")
        sys.stdout.flush()
    for candidate, reason in kept:
        complain("Warning", f"{candidate.path} was kept because it fails verification: {reason}")
    return complain_of_settings(settings, ExitCode.WARNINGS if kept else ExitCode.OK)


def _store(settings: "Settings", setting: "Setting[str]") -> str:
    """A store to delete from. A link, which may have come with a repository, is followed only if the user names it."""
    from runcard.files import printable  # noqa: PLC0415
    from runcard.settings.lookup import DEFAULT  # noqa: PLC0415

    path, origin = settings.find(setting)
    if origin.kind == DEFAULT and os.path.islink(path):
        raise StoreError(
            f"{printable(path)} is a symbolic link to {printable(os.path.realpath(path))}",
            hint=f"to delete in it, pass {setting.option} {printable(path)}",
        )
    return path


def _announce(found: "PruneCandidates", max_size: int | None) -> None:
    """List what would be deleted and, with a size limit, what that makes of each store."""
    chosen = found.records
    for candidate in chosen:
        with_files = " with its index and metadata" if candidate.entry else ""
        say(f"{candidate.path}: {_size(candidate.bytes)}{with_files}")
    say(f"{len(chosen):,} to delete, {_total(chosen)}" if chosen else "nothing to delete")
    if max_size is None:
        return
    for store in found.stores:
        if store.bytes:
            say(f"{store.path}: {_store_line(store, max_size)}")


def _store_line(store: "StoreSize", max_size: int) -> str:
    now, then, limit = map(_size, (store.bytes, store.bytes_after, max_size))
    if store.bytes <= max_size:
        return f"{now}, within the limit of {limit}"
    if store.bytes_after <= max_size:
        return f"{now} now, {then} afterwards, within the limit of {limit}"
    return f"{now} now, {then} afterwards, above the limit of {limit}: open records and other files stay"


def _retention(settings: "Settings") -> tuple[timedelta | None, int | None]:
    from runcard.settings import ARTIFACTS_MAX_SIZE_GB, ARTIFACTS_RETENTION_DAYS  # noqa: PLC0415

    days, gigabytes = settings[ARTIFACTS_RETENTION_DAYS], settings[ARTIFACTS_MAX_SIZE_GB]
    if days is None and gigabytes is None:
        raise UsageError(
            "nothing to prune: no age or size is given, and no retention is configured",
            hint="pass --older-than or --max-size, or set artifacts.retention_days or artifacts.max_size_gb",
        )
    return (
        None if days is None else timedelta(days=min(days, timedelta.max.days)),
        None if gigabytes is None else int(gigabytes * 1_000_000_000),
    )


def _is_agreed(number: int) -> bool:
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415

    return is_agreed(
        f"Permanently delete {'this' if number == 1 else f'these {number:,}'}?",
        otherwise="nothing was deleted",
        hint="pass --yes, or --dry-run to only list them",
    )


def _summary(
    found: "PruneCandidates",
    deleted: "Sequence[Candidate]",
    kept: "Sequence[tuple[Candidate, str]]",
    *,
    dry_run: bool,
) -> JsonObject:
    return {
        "dry_run": dry_run,
        "candidates": [candidate.to_dict() for candidate in found.records],
        "bytes": sum(candidate.bytes for candidate in found.records),
        "stores": [store.to_dict() for store in found.stores],
        "deleted": [candidate.to_dict() for candidate in deleted],
        "freed_bytes": sum(candidate.bytes for candidate in deleted),
        "kept": [candidate.to_dict() | {"reason": reason} for candidate, reason in kept],
    }


def _total(candidates: "Sequence[Candidate]") -> str:
    return _size(sum(candidate.bytes for candidate in candidates))


def _size(count: int) -> str:
    from runcard.views.formats import byte_size  # noqa: PLC0415

    return byte_size(count)
