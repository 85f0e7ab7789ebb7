"""runcard prune"""

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from runcard.cli.options import (
    Age,
    Size,
    artifacts_option,
    dry_run_option,
    json_option,
    outputs_option,
    yes_option,
)

if TYPE_CHECKING:
    from runcard.operations.archives.prune import Candidate
    from runcard.settings import Setting, Settings


@click.command("prune", short_help="Delete old records and archives, and say so in the ledger.")
@click.option("--older-than", type=Age(), help="What began so long ago: 90d, 12h, 52w.")
@click.option("--max-size", type=Size(), help="The oldest, until a store takes no more: 500MB, 20GiB.")
@click.option(
    "--retention",
    is_flag=True,
    help="What the settings say about sessions, their age and the quota; so it is when nothing is said.",
)
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
    """Delete records and archives for good: those that are old, or the oldest of a store that takes too much.

    What would go, and how much that frees, is said first. Open records stay, and so does whatever is not what it was when
    it was closed. Each leaves a tombstone in the ledger of its store.

    Exit codes: 0 done, 1 not deleted, 2 something was kept because it is damaged, or the file of settings has some
    that do not exist, 64 without --yes where nobody can be
    asked.
    """
    from runcard.cli.printing import complain, complain_of_settings, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode, UsageError  # noqa: PLC0415
    from runcard.operations.archives.prune import candidates, prune  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings  # noqa: PLC0415

    is_said = older_than is not None or max_size is not None
    if retention and is_said:
        raise UsageError("say what may go in one way", hint="--older-than and --max-size, or --retention")
    settings = read_settings({OUTPUTS: outputs, ARTIFACTS_DIR: artifacts})
    named = [OUTPUTS, ARTIFACTS_DIR] if is_said else [ARTIFACTS_DIR]
    if not is_said:
        older_than, max_size = _retention(settings)
    stores = [_store(settings, setting) for setting in named]
    kind = None if is_said else "session"
    chosen = candidates(stores, older_than=older_than, max_size=max_size, kind=kind)
    if not as_json:
        _announce(chosen)
    if dry_run or not chosen:
        if as_json:
            say_json(_told(chosen, [], [], dry_run=dry_run))
        sys.stdout.flush()
        return complain_of_settings(settings, ExitCode.OK)
    sys.stdout.flush()
    if not yes and not _is_agreed(len(chosen)):
        complain("Error", "nothing was deleted")
        return ExitCode.FAILED
    kept: list[tuple[Candidate, str]] = []
    gone = list(prune(chosen, limits=settings.limits, on_kept=lambda one, reason: kept.append((one, reason))))
    if as_json:
        say_json(_told(chosen, gone, kept, dry_run=dry_run))
    else:
        say(f"deleted {len(gone):,}, freed {_size(sum(one.bytes for one in gone))}")
        sys.stdout.flush()
    for one, reason in kept:
        complain("Warning", f"{one.path} was kept, since it is not what it was when it was closed: {reason}")
    return complain_of_settings(settings, ExitCode.WARNINGS if kept else ExitCode.OK)


def _store(settings: "Settings", setting: "Setting[str]") -> str:
    """A store to delete from. A link that may have come with a repository is not followed unless the user names it."""
    from runcard.errors import StoreError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.settings.lookup import DEFAULT  # noqa: PLC0415

    path, origin = settings.find(setting)
    if origin.kind == DEFAULT and os.path.islink(path):
        raise StoreError(
            f"{printable(path)} is a symbolic link to {printable(os.path.realpath(path))}",
            hint=f"to delete there, name it: {setting.option} {printable(path)}",
        )
    return path


def _announce(chosen: "list[Candidate]") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for one in chosen:
        say(f"{one.path}: {_size(one.bytes)}")
    say(f"{len(chosen):,} to go, which frees {_size(sum(one.bytes for one in chosen))}")


def _retention(settings: "Settings") -> tuple[timedelta | None, int | None]:
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_MAX_SIZE_GB, ARTIFACTS_RETENTION_DAYS  # noqa: PLC0415

    days, gigabytes = settings[ARTIFACTS_RETENTION_DAYS], settings[ARTIFACTS_MAX_SIZE_GB]
    if days is None and gigabytes is None:
        raise UsageError(
            "nobody says what may go, and the settings say nothing about how long sessions are kept",
            hint="say --older-than or --max-size, or set artifacts.retention_days or artifacts.max_size_gb",
        )
    return (
        None if days is None else timedelta(days=min(days, timedelta.max.days)),
        None if gigabytes is None else int(gigabytes * 1_000_000_000),
    )


def _is_agreed(number: int) -> bool:
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415

    return is_agreed(
        f"Delete {'this' if number == 1 else f'these {number:,}'} for good?",
        doing="delete them",
        hint="add --yes, or --dry-run to see only",
    )


def _told(
    chosen: "list[Candidate]", gone: "list[Candidate]", kept: "list[tuple[Candidate, str]]", *, dry_run: bool
) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "candidates": [one.to_dict() for one in chosen],
        "bytes": sum(one.bytes for one in chosen),
        "deleted": [one.to_dict() for one in gone],
        "freed_bytes": sum(one.bytes for one in gone),
        "kept": [one.to_dict() | {"reason": reason} for one, reason in kept],
    }


def _size(count: int) -> str:
    from runcard.views.formats import byte_size  # noqa: PLC0415

    return byte_size(count)
