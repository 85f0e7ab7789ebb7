"""runcard collect"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.options import PATH_OR_DASH, artifacts_option, json_option
from runcard.cli.verbosity import is_quiet

if TYPE_CHECKING:
    from runcard.errors import RuncardError
    from runcard.operations.sessions.collect import CollectedSession


@click.command("collect", short_help="Collect what a team of agents did into a session.")
@click.argument("spec", metavar="[SPEC]", required=False, type=PATH_OR_DASH)
@click.option(
    "--template", is_flag=True, help="Print an example of a SPEC, with comments, and do nothing else."
)
@artifacts_option
@click.option(
    "--schema",
    type=click.Choice(["1.0.0", "2.0.0"]),
    default="2.0.0",
    show_default=True,
    help="The version of the documents.",
)
@click.option("--include", metavar="PATTERN", multiple=True, help="Copy only what matches. Can be repeated.")
@click.option(
    "--exclude", metavar="PATTERN", multiple=True, help="Do not copy what matches. Can be repeated."
)
@click.option(
    "--gitignore", is_flag=True, default=None, help="Leave out what .gitignore files in workspaces name."
)
@click.option(
    "--max-file-size", metavar="SIZE", help="Do not copy a larger file; the setting, 4 GiB, unless given."
)
@click.option(
    "--max-size", metavar="SIZE", help="Copy no more than this in all; the setting, 100 GiB, unless given."
)
@click.option(
    "--mask-workspaces", is_flag=True, default=None, help="Keep text files with secrets, and mask them."
)
@click.option("--no-transcripts", is_flag=True, default=None, help="Keep no transcripts.")
@click.option("--metadata-only", is_flag=True, default=None, help="Keep no workspaces and no transcripts.")
@click.option(
    "--keep-secrets", is_flag=True, help="Mask nothing, keep files with secrets. The record says so."
)
@json_option
def command(spec: str | None, template: bool, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - as click has them
    """Collect the session that SPEC describes, a YAML or JSON file: workspaces, transcripts, tokens and costs.

    Prints the directory of the session. Workspaces are never changed; credentials, caches and the like are not copied.
    What cannot be stored is named, and the rest is kept. Patterns are written as in .gitignore, and `!` brings back
    what is left out.

    Exit codes: 0 collected, 1 nothing was collected, 2 collected with warnings, or collecting is switched off.
    """
    from runcard.cli.progress import CopyProgress  # noqa: PLC0415
    from runcard.errors import ExitCode, RuncardError, UsageError  # noqa: PLC0415

    if template:
        from runcard.documents.session.session_spec import template as example  # noqa: PLC0415

        click.echo(example(), nl=False)
        return 0
    if spec is None:
        raise UsageError("no SPEC was named", hint="`runcard collect --template` prints an example")
    if options["keep_secrets"] and options["mask_workspaces"]:
        raise UsageError(
            "--keep-secrets and --mask-workspaces contradict each other", hint="pass one of them"
        )
    from runcard.operations.sessions.collect import collect  # noqa: PLC0415

    bar = CopyProgress()
    try:
        collected = collect(spec, progress=bar.advance, **options)
    except RuncardError as error:
        if error.exit_code == ExitCode.USAGE:
            raise
        bar.wipe()
        return _refuse(error, spec, as_json=as_json)
    finally:
        bar.wipe()
    return _show(collected, spec, as_json=as_json)


_HOW_TO_KEEP = (
    "pass --mask-workspaces to store it with the secret masked, --exclude '!NAME' to store it unchanged"
)
_SHOWN_PATTERNS = 8


def _show(collected: "CollectedSession", spec: str, *, as_json: bool) -> int:
    from runcard.cli.printing import complain, complain_about, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.store.sessions.copying.omission_reasons import HAS_KEY  # noqa: PLC0415

    if as_json:
        say_json(collected.to_dict())
    else:
        say(str(collected.path))
    sys.stdout.flush()
    if not as_json and not is_quiet():
        for line in _counts(collected):
            click.echo(line, err=True)
    for found in collected.findings:
        complain_about(found, spec)
    last_secret = next((text for text in reversed(collected.omissions) if HAS_KEY in text), None)
    for text in (*collected.omissions, *collected.remarks):
        complain("Warning", text, hint=_HOW_TO_KEEP if text is last_secret else None)
    return ExitCode.OK if collected.is_whole else ExitCode.WARNINGS


def _counts(collected: "CollectedSession") -> Iterator[str]:
    """A line for what was excluded, and one for what was masked."""
    from runcard.files import printable  # noqa: PLC0415

    if patterns := list(collected.excluded):
        more = ", …" if len(patterns) > _SHOWN_PATTERNS else ""
        shown = ", ".join(map(printable, patterns[:_SHOWN_PATTERNS])) + more
        yield f"excluded: {_number(sum(collected.excluded.values()), 'path')} ({shown})"
    if collected.masked:
        secrets, files = sum(collected.masked.values()), len(collected.masked)
        yield f"masked: {_number(secrets, 'secret')} in {_number(files, 'file')}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _refuse(error: "RuncardError", spec: str, *, as_json: bool) -> int:
    """Say why nothing was collected; for programs, in the shape that they know."""
    from runcard.cli.printing import complain, complain_about, say_json  # noqa: PLC0415
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.sessions.collect import failure_dict  # noqa: PLC0415

    if as_json:
        say_json(failure_dict(error, spec))
        sys.stdout.flush()
    if isinstance(error, InvalidDocument):
        for found in (*error.report.errors, *error.report.warnings):
            complain_about(found, spec)
    else:
        word = "Warning" if error.exit_code == ExitCode.WARNINGS else "Error"
        complain(word, error.message, hint=error.hint)
    return error.exit_code
