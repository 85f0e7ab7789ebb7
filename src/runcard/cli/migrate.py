"""runcard migrate"""

from typing import TYPE_CHECKING, Any

import click

from runcard.cli.options import json_option, kind_option

if TYPE_CHECKING:
    from datetime import tzinfo

    from runcard.errors import RuncardError
    from runcard.operations.migrate import Migrated


@click.command("migrate", short_help="Bring documents to another version of their format.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(allow_dash=True))
@click.option("--to", "target", required=True, metavar="V", help="The version to migrate to.")
@click.option(
    "--output", metavar="FILE", type=click.Path(allow_dash=True), help="Write to this new file; - for stdout."
)
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--no-backup", is_flag=True, help="Do not keep the old bytes as PATH.bak.")
@click.option("--timezone", metavar="ZONE", help="The zone of times that name none, such as Europe/Berlin.")
@kind_option
@json_option
def command(
    paths: tuple[str, ...],
    target: str,
    output: str | None,
    dry_run: bool,
    no_backup: bool,
    timezone: str | None,
    kind: str | None,
    as_json: bool,
) -> int:
    """Bring the document at each PATH to version V of its format.

    A document is replaced in one step, with its old bytes kept beside it, and only when the result is valid. What an
    older version has no room for is listed, and the exit code is 2.
    """
    from runcard.cli.printing import say_json  # noqa: PLC0415
    from runcard.errors import ExitCode, RuncardError, UsageError  # noqa: PLC0415
    from runcard.operations.migrate import migrate  # noqa: PLC0415

    if output is not None and len(paths) > 1:
        raise UsageError("--output takes one PATH", hint="migrate them one by one, or in place")
    to_stdout = output == "-" or (output is None and "-" in paths)
    zone = _zone(timezone)
    codes: list[int] = []
    said: list[dict[str, Any]] = []
    for path in paths:
        try:
            moved = migrate(
                path,
                target,
                kind=kind,
                zone=zone,
                output=None if to_stdout else output,
                backup=not no_backup,
                dry_run=dry_run or to_stdout,
            )
        except UsageError:
            raise
        except RuncardError as error:
            codes.append(ExitCode.FAILED)
            said.append(_refused(path, error))
        else:
            if to_stdout and not dry_run:
                click.echo(moved.after, nl=False)
            elif not as_json:
                _show(moved, dry_run=dry_run)
            codes.append(_warned(moved))
            said.append(moved.to_dict())
    if as_json and not to_stdout:
        say_json({"documents": said})
    return ExitCode.FAILED if ExitCode.FAILED in codes else max(codes)


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


def _refused(path: str, error: "RuncardError") -> dict[str, Any]:
    """Say why a document was not migrated, with everything that is wrong with it."""
    from runcard.cli.printing import complain, complain_about  # noqa: PLC0415
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    errors = error.report.errors if isinstance(error, InvalidDocument) else []
    for found in errors:
        complain_about(found, path)
    if not errors:
        complain("Error", error.message, hint=error.hint)
    return {
        "path": printable(path),
        "error": error.message,
        "hint": error.hint,
        "errors": [found.to_dict() for found in errors],
    }


def _show(moved: "Migrated", *, dry_run: bool) -> None:
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    name = printable(moved.path)
    if not moved.changed:
        say(f"{name}: {moved.kind} {moved.target} already")
        return
    if dry_run:
        _show_difference(moved)
    said = f"{name}: {moved.kind} {moved.source or '(unversioned)'} → {moved.target}"
    if dry_run:
        said += " (nothing was written)"
    elif moved.written != moved.path:
        said += f", now in {printable(moved.written or '')}"
    elif moved.backup:
        said += f", old bytes in {printable(moved.backup)}"
    say(said)


def _warned(moved: "Migrated") -> int:
    """Say what was lost on the way; the exit code."""
    from runcard.cli.printing import complain  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    name = printable(moved.path)
    for pointer in moved.dropped:
        complain(
            "Warning", f"{name}: {moved.kind} {moved.target} has no room for {printable(pointer)}: dropped"
        )
    for note in moved.notes:
        complain("Warning", f"{name}: {printable(note)}")
    return ExitCode.WARNINGS if moved.dropped or moved.notes else ExitCode.OK


def _show_difference(moved: "Migrated") -> None:
    from difflib import unified_diff  # noqa: PLC0415

    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    before, after = (data.decode("utf-8-sig").splitlines() for data in (moved.before, moved.after))
    for line in unified_diff(before, after, moved.path, moved.path, lineterm=""):
        say(printable(line))
