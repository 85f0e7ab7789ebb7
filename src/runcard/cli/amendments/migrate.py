"""runcard migrate"""

import re
from typing import TYPE_CHECKING

import click

from runcard.cli.cluster_options import cluster_options
from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH_OR_DASH, json_option, kind_option, output_option
from runcard.cli.printing import finding_line, note_uncovered, say, say_done
from runcard.encoding import JsonObject
from runcard.errors import ClusterError, RuncardError, UsageError
from runcard.store import layout

if TYPE_CHECKING:
    from datetime import tzinfo

    from runcard.cli.batch import Batch
    from runcard.operations.amendments.document_migration import Migrated

_INDEX = re.compile(r"/[0-9]+(?=/|$)")  # of an element, in a JSON pointer


@click.command("migrate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PATH_OR_DASH)
@click.option("--to", "target", metavar="V", help="Version to migrate to. Default: the newest of its kind.")
@output_option("FILE", "Write to this new file; - for stdout.")
@click.option("--dry-run", is_flag=True, help="Show the changes, and write nothing.")
@click.option("--no-backup", is_flag=True, help="Do not keep the original as PATH.bak.")
@click.option("--timezone", metavar="ZONE", help="Time zone of times without one, such as Europe/Berlin.")
@kind_option
@json_option
@cluster_options
def command(
    paths: tuple[str, ...],
    target: str | None,
    output: str | None,
    dry_run: bool,
    no_backup: bool,
    timezone: str | None,
    kind: str | None,
    as_json: bool,
) -> int:
    """Convert the document at each PATH to version V of its format, or to the newest.

    A document is replaced atomically, and only if the result is valid; the original is kept beside it. Fields that an
    older version does not have are listed. In a closed record each change is an amendment, and the store keeps the
    originals; PATH may be the record itself, archived or not: its path, its id, a prefix of its id, its name, or
    @latest.

    Exit codes: 0 migrated, or already of that version, 1 something was not migrated, 2 migrated with losses.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.operations.amendments.migrate_many import migrate_many  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    to_stdout = not dry_run and (paths[0] if output is None else output) == "-"
    _check_usage(paths, output, two_results=as_json and to_stdout)
    options: JsonObject = {"kind": kind, "zone": _zone(timezone), "dry_run": dry_run}
    options |= {"limits": read_settings().limits, "backup": not no_backup}

    batch = Batch("documents", None, as_json=as_json, json_list="documents", refusal=_refusal)
    try:
        for path, outcome in zip(
            paths, batch.over(migrate_many(paths, target, output=output, **options)), strict=True
        ):
            if isinstance(outcome, RuncardError):
                batch.refuse(path, outcome, _messages(path, outcome))
                continue
            for migrated in outcome:
                batch.add(path, migrated, lambda _, done: _show(done, dry_run=dry_run, to_stdout=to_stdout))
                _warn(batch, migrated)
            if not dry_run and any(migrated.changed and migrated.backup for migrated in outcome):
                note_uncovered(layout.sealed_record(path) or path)
    except ClusterError as error:  # what was migrated is reported
        batch.complain(error.message, error.hint)
    return batch.finish(wrong_usage=ExitCode.USAGE)


def _check_usage(paths: tuple[str, ...], output: str | None, *, two_results: bool) -> None:
    if len(paths) > 1 and output is not None:
        raise UsageError("--output takes one PATH", hint="migrate them one by one, or in place")
    if len(paths) > 1 and "-" in paths:
        raise UsageError("- for standard input takes no other PATH", hint="migrate it by itself")
    if two_results:
        raise UsageError(
            "--json and the document itself cannot both go to stdout", hint="name a file with --output"
        )


def _zone(name: str | None) -> "tzinfo | None":
    if name is None:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"no such timezone: {name}", hint="use an IANA name such as Europe/Berlin or UTC"
        ) from error


def _refusal(path: str, error: RuncardError) -> JsonObject:
    """Why a document was not migrated, as data."""
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415
    from runcard.files import json_name  # noqa: PLC0415

    errors = error.report.errors if isinstance(error, InvalidDocument) else []
    return {
        "path": json_name(path).text,
        "error": error.message,
        "hint": error.hint,
        "errors": [finding.to_dict() for finding in errors],
    }


def _messages(path: str, error: RuncardError) -> list[tuple[str, str | None]]:
    """Why a document was not migrated; for an invalid one, every finding."""
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415

    if not isinstance(error, InvalidDocument):
        return [(error.message, error.hint)]
    return [(finding_line(finding, path), finding.hint) for finding in error.report.errors]


def _show(migrated: "Migrated", *, dry_run: bool, to_stdout: bool) -> None:
    if to_stdout:
        click.echo(migrated.after, nl=False)
        return
    if migrated.changed:
        text = f"{migrated.path}: {migrated.kind} {migrated.source or '(unversioned)'} → {migrated.target}"
    else:
        text = f"{migrated.path}: already {migrated.kind} {migrated.target}"
    if migrated.changed and dry_run:
        _show_difference(migrated)
        text += " (nothing was written)"
    if migrated.written not in {None, migrated.path}:
        text += f", written to {migrated.written}"
    if migrated.backup:
        text += f", original kept as {migrated.backup}"
    say(text) if dry_run else say_done(text)


def _warn(batch: "Batch", migrated: "Migrated") -> None:
    """Say once what was lost; the same field of several elements is named once, with their number."""
    fields: dict[str, list[str]] = {}
    for pointer in migrated.dropped:
        fields.setdefault(_INDEX.sub("/*", pointer), []).append(pointer)
    if fields:
        dropped = ", ".join(
            f"{field} ({len(pointers)} times)" if len(pointers) > 1 else pointers[0]
            for field, pointers in fields.items()
        )
        batch.warn(
            f"{migrated.path}: dropped {dropped}, which {migrated.kind} {migrated.target} does not have"
        )
    for note in migrated.notes:
        batch.warn(f"{migrated.path}: {note}")


def _show_difference(migrated: "Migrated") -> None:
    from difflib import unified_diff  # noqa: PLC0415

    before, after = (data.decode("utf-8-sig").splitlines() for data in (migrated.before, migrated.after))
    for line in unified_diff(before, after, migrated.path, migrated.path, lineterm=""):
        say(line)
