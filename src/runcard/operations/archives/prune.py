"""Delete old records, or as many as a size limit needs: `runcard prune`."""

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import printable
from runcard.operations.archives.candidate import Candidate
from runcard.operations.archives.candidates import PruneCandidates, candidates, delete_intact
from runcard.settings import (
    ARTIFACTS_DIR,
    ARTIFACTS_MAX_SIZE_GB,
    ARTIFACTS_RETENTION_DAYS,
    OUTPUTS,
    Setting,
    Settings,
    read_settings,
)
from runcard.settings.lookup import DEFAULT
from runcard.store.remote.urls import ObjectUrl, is_url


class PruneResult(NamedTuple):
    """What was deleted, and what was not."""

    found: PruneCandidates  # all that qualified, and the sizes of the stores
    deleted: tuple[Candidate, ...]  # none with `dry_run`
    kept: tuple[tuple[Candidate, str], ...]  # those that fail verification, with the reason
    is_dry_run: bool

    def to_dict(self) -> JsonObject:
        return {
            "dry_run": self.is_dry_run,
            "candidates": [candidate.to_dict() for candidate in self.found.records],
            "bytes": sum(candidate.bytes for candidate in self.found.records),
            "stores": [store.to_dict() for store in self.found.stores],
            "deleted": [candidate.to_dict() for candidate in self.deleted],
            "freed_bytes": sum(candidate.bytes for candidate in self.deleted),
            "leftovers": [leftover.to_dict() for leftover in self.found.leftovers],
            "kept": [candidate.to_dict() | {"reason": reason} for candidate, reason in self.kept],
        }


class PruneRule(NamedTuple):
    """Which records of which stores qualify."""

    stores: tuple[str, ...]
    older_than: timedelta | None
    max_size: int | None  # bytes of a store
    kind: str | None  # None: runs and sessions

    def find(self, *, dry_run: bool) -> PruneCandidates:
        """The records that qualify now."""
        stores, older_than, max_size, kind = self
        return candidates(stores, older_than=older_than, max_size=max_size, kind=kind, dry_run=dry_run)


def prune(
    *urls: str,
    older_than: timedelta | None = None,
    max_size: int | None = None,
    outputs: str | os.PathLike[str] | None = None,
    artifacts: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
) -> PruneResult:
    """Permanently delete records and archives whose work ended this long ago, and the oldest of a store with more bytes.

    With `urls`, these folders of archives in object storage are pruned instead of the stores on this machine.
    Without an age and a size, sessions are deleted by the retention settings. Open records are kept, and so are those that
    fail verification. The ledger keeps an entry for each deletion. With `dry_run` nothing is deleted.
    """
    given = {OUTPUTS: outputs, ARTIFACTS_DIR: artifacts}
    settings = read_settings(
        {key: None if value is None else os.fspath(value) for key, value in given.items()}
    )
    found = prune_rule(settings, older_than, max_size, urls).find(dry_run=dry_run)
    return delete_found(found, settings, dry_run=dry_run)


def prune_rule(
    settings: Settings, older_than: timedelta | None, max_size: int | None, urls: Sequence[str] = ()
) -> PruneRule:
    """The rule that was asked for; without an age and a size, that of the settings, for sessions.

    With `urls`, it is for these folders of archives in object storage, and for no other store.
    """
    for url in urls:
        if not is_url(url) or ObjectUrl.parse(url).is_archive:
            raise UsageError(
                f"{printable(url)} is not the URL of a folder of archives", hint="write s3://BUCKET/FOLDER"
            )
    if urls:
        limits = (older_than, max_size) if older_than or max_size else _retention(settings)
        return PruneRule(tuple(urls), *limits, None if older_than or max_size else "session")
    if older_than is not None or max_size is not None:
        stores = (_store(settings, OUTPUTS), _store(settings, ARTIFACTS_DIR))
        return PruneRule(stores, older_than, max_size, None)
    return PruneRule((_store(settings, ARTIFACTS_DIR),), *_retention(settings), "session")


def delete_found(found: PruneCandidates, settings: Settings, *, dry_run: bool = False) -> PruneResult:
    """Delete what was found, unless it fails verification."""
    kept: list[tuple[Candidate, str]] = []
    chosen = [] if dry_run else found.records
    deleted = delete_intact(
        chosen, limits=settings.limits, on_kept=lambda candidate, reason: kept.append((candidate, reason))
    )
    return PruneResult(found, tuple(deleted), tuple(kept), dry_run)


def _store(settings: Settings, setting: Setting[str]) -> str:
    """A store to delete from. A link, which may have come with a repository, is followed only if the user names it."""
    path, origin = settings.find(setting)
    if origin.kind == DEFAULT and os.path.islink(path):
        raise StoreError(
            f"{printable(path)} is a symbolic link to {printable(os.path.realpath(path))}",
            hint=f"to delete in it, pass {setting.option} {printable(path)}",
        )
    return path


def _retention(settings: Settings) -> tuple[timedelta | None, int | None]:
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
