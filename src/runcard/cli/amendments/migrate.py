"""runcard migrate"""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH_OR_DASH, json_option, kind_option, output_option
from runcard.encoding import JsonObject

if TYPE_CHECKING:
    from datetime import tzinfo

    from runcard.errors import RuncardError
    from runcard.operations.amendments.document_migration import Migrated


@click.command("migrate", short_help="Bring documents to another version of their format.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PATH_OR_DASH)
@click.option(
    "--to", "target", metavar="V", help="The version to migrate to; the newest of its kind unless given."
)
@output_option("FILE", "Write to this new file; - for stdout.")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--no-backup", is_flag=True, help="Do not keep the old bytes as PATH.bak.")
@click.option("--timezone", metavar="ZONE", help="The zone of times that name none, such as Europe/Berlin.")
@kind_option
@json_option
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
    """Bring the document at each PATH to version V of its format, or to the newest.

    A document is replaced in one step, with its old bytes kept beside it, and only when the result is valid. What an
    older version has no room for is listed. In a closed record each change is an amendment, and
    the old bytes are kept in its store; PATH may be the record itself, archived or not, for all of its documents.

    Exit codes: 0 migrated, or of that version already, 1 something was not migrated, 2 migrated with losses.
    """
    from runcard.cli.printing import say_json  # noqa: PLC0415
    from runcard.errors import ExitCode, RuncardError  # noqa: PLC0415
    from runcard.operations.amendments.migrate import migrate, migrate_record  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    to_stdout = not dry_run and (paths[0] if output is None else output) == "-"
    _check_usage(paths, output, says_twice=as_json and to_stdout)
    options: JsonObject = {"kind": kind, "zone": _zone(timezone), "dry_run": dry_run}
    options |= {"limits": read_settings().limits, "backup": not no_backup}
    done: list[Migrated] = []
    refused: list[tuple[str, RuncardError]] = []
    said: list[JsonObject] = []
    for path in paths:
        try:
            results = None if output is not None or path == "-" else migrate_record(path, target, **options)
            if results is None:
                results = (migrate(path, target, output=output, **options),)
        except RuncardError as error:
            refused.append((path, error))
            said.append(_refusal(path, error))
            continue
        for moved in results:
            done.append(moved)
            said.append(moved.to_dict())
            if not as_json:
                _show(moved, dry_run=dry_run, to_stdout=to_stdout)
    if as_json:
        say_json({"documents": said})
    sys.stdout.flush()
    # What was refused comes first, so that the first word on stderr tells the exit code.
    for path, reason in refused:
        _complain_of(path, reason)
    for moved in done:
        _warn_of(moved)
    if refused:
        return max(reason.exit_code for _, reason in refused)
    return ExitCode.WARNINGS if any(moved.dropped or moved.notes for moved in done) else ExitCode.OK


def _check_usage(paths: tuple[str, ...], output: str | None, *, says_twice: bool) -> None:
    from runcard.errors import UsageError  # noqa: PLC0415

    if len(paths) > 1 and output is not None:
        raise UsageError("--output takes one PATH", hint="migrate them one by one, or in place")
    if len(paths) > 1 and "-" in paths:
        raise UsageError("- for standard input takes no other PATH", hint="migrate it by itself")
    if says_twice:
        raise UsageError(
            "--json and the document itself cannot both go to stdout", hint="name a file with --output"
        )


def _zone(name: str | None) -> "tzinfo | None":
    if name is None:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    from runcard.errors import UsageError  # noqa: PLC0415

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"no such timezone: {name}", hint="use an IANA name such as Europe/Berlin or UTC"
        ) from error


def _refusal(path: str, error: "RuncardError") -> JsonObject:
    """Why a document was not migrated, as data."""
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415
    from runcard.files import json_name  # noqa: PLC0415

    errors = error.report.errors if isinstance(error, InvalidDocument) else []
    return {
        "path": json_name(path).text,
        "error": error.message,
        "hint": error.hint,
        "errors": [found.to_dict() for found in errors],
    }


def _complain_of(path: str, error: "RuncardError") -> None:
    """Say why a document was not migrated, with everything that is wrong with it."""
    from runcard.cli.printing import complain, complain_about  # noqa: PLC0415
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415

    if not isinstance(error, InvalidDocument):
        complain("Error", error.message, hint=error.hint)
        return
    for found in error.report.errors:
        complain_about(found, path)


def _show(moved: "Migrated", *, dry_run: bool, to_stdout: bool) -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if to_stdout:
        click.echo(moved.after, nl=False)
        return
    if moved.changed:
        said = f"{moved.path}: {moved.kind} {moved.source or '(unversioned)'} → {moved.target}"
    else:
        said = f"{moved.path}: {moved.kind} {moved.target} already"
    if moved.changed and dry_run:
        _show_difference(moved)
        said += " (nothing was written)"
    if moved.written not in {None, moved.path}:
        said += f", now in {moved.written}"
    if moved.backup:
        said += f", old bytes in {moved.backup}"
    say(said)


def _warn_of(moved: "Migrated") -> None:
    """Say what was lost on the way."""
    from runcard.cli.printing import complain  # noqa: PLC0415

    for pointer in moved.dropped:
        complain("Warning", f"{moved.path}: {moved.kind} {moved.target} has no room for {pointer}: dropped")
    for note in moved.notes:
        complain("Warning", f"{moved.path}: {note}")


def _show_difference(moved: "Migrated") -> None:
    from difflib import unified_diff  # noqa: PLC0415

    from runcard.cli.printing import say  # noqa: PLC0415

    before, after = (data.decode("utf-8-sig").splitlines() for data in (moved.before, moved.after))
    for line in unified_diff(before, after, moved.path, moved.path, lineterm=""):
        say(line)
