"""runcard prune"""

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
from runcard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.operations.archives.candidate import Candidate
    from runcard.operations.archives.candidates import PruneCandidates, StoreSize


@click.command("prune")
@click.argument("urls", nargs=-1, metavar="[URL]...")
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
def command(  # noqa: PLR0913, PLR0917 - one for each option
    urls: tuple[str, ...],
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

    URL is a folder of archives in object storage, such as s3://BUCKET/FOLDER: only its archives are looked at then.

    Lists first what would be deleted and how much space that frees. Open records are kept, and so are records that fail
    verification. The ledger of the store keeps an entry for each deletion.

    Exit codes: 0 done, 1 not deleted, 2 warnings, 64 confirmation needed: pass --yes.
    """
    from runcard.operations.archives.prune import PruneResult, delete_found, prune_rule  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings  # noqa: PLC0415

    if retention and (older_than is not None or max_size is not None):
        raise UsageError(
            "--retention contradicts --older-than and --max-size",
            hint="pass either --retention or the others",
        )
    settings = read_settings({OUTPUTS: outputs, ARTIFACTS_DIR: artifacts})
    rule = prune_rule(settings, older_than, max_size, urls)
    found = rule.find(dry_run=dry_run)
    if not as_json and (dry_run or not yes or not is_quiet()):
        _announce(found, rule.max_size)
    if dry_run or not found.records:
        if as_json:
            say_json(PruneResult(found, (), (), dry_run).to_dict())
        sys.stdout.flush()
        return complain_of_settings(settings, ExitCode.OK)
    sys.stdout.flush()
    if not yes and not _is_agreed(len(found.records)):
        return ExitCode.FAILED
    result = delete_found(found, settings)
    if as_json:
        say_json(result.to_dict())
    else:
        say_done(f"deleted {len(result.deleted):,}, freed {_total(result.deleted)}")
        sys.stdout.flush()
    for candidate, reason in result.kept:
        complain("Warning", f"{candidate.path} was kept because it fails verification: {reason}")
    return complain_of_settings(settings, ExitCode.WARNINGS if result.kept else ExitCode.OK)


def _announce(found: "PruneCandidates", max_size: int | None) -> None:
    """List what would be deleted and, with a size limit, what that makes of each store."""
    chosen = found.records
    for candidate in chosen:
        with_files = " with its index and metadata" if candidate.to_dict()["archive"] else ""
        say(f"{candidate.path}: {_size(candidate.bytes)}{with_files}")
    for path, size, about in found.leftovers:
        say(f"{path}: {_size(size)}, left by a killed command: {about}")
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


def _is_agreed(number: int) -> bool:
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415

    return is_agreed(
        f"Permanently delete {'this' if number == 1 else f'these {number:,}'}?",
        otherwise="nothing was deleted",
        hint="pass --yes, or --dry-run to only list them",
    )


def _total(candidates: "Sequence[Candidate]") -> str:
    return _size(sum(candidate.bytes for candidate in candidates))


def _size(count: int) -> str:
    from runcard.views.formats import byte_size  # noqa: PLC0415

    return byte_size(count)
