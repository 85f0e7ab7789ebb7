"""runcard collect"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from runcard.cli.exit_codes import ExitCode, code_for_error
from runcard.cli.options import PATH_OR_DASH, artifacts_option, json_option, progress_option
from runcard.cli.printing import complain, complain_about, say, say_json
from runcard.cli.verbosity import is_quiet, show_traceback
from runcard.errors import RuncardError, UsageError

if TYPE_CHECKING:
    from runcard.operations.sessions.collect import CollectedSession


@click.command("collect")
@click.argument("spec", metavar="[SPEC]", required=False, type=PATH_OR_DASH)
@click.option("--template", is_flag=True, help="Print a commented example of a SPEC, and do nothing else.")
@artifacts_option
@click.option(
    "--schema",
    type=click.Choice(["1.0.0", "2.0.0"]),
    default="2.0.0",
    show_default=True,
    help="Version of the documents.",
)
@click.option("--include", metavar="PATTERN", multiple=True, help="Copy only matching files. Repeatable.")
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Do not copy matching files. Repeatable.")
@click.option(
    "--gitignore", is_flag=True, default=None, help="Skip files that .gitignore files in workspaces exclude."
)
@click.option("--max-file-size", metavar="SIZE", help="Skip larger files. Default: the setting, 4 GiB.")
@click.option("--max-size", metavar="SIZE", help="Copy at most this much. Default: the setting, 100 GiB.")
@click.option("--mask-workspaces", is_flag=True, default=None, help="Copy text files with secrets, masked.")
@click.option("--no-transcripts", is_flag=True, default=None, help="Do not copy transcripts.")
@click.option("--metadata-only", is_flag=True, default=None, help="Copy neither workspaces nor transcripts.")
@click.option(
    "--keep-secrets", is_flag=True, help="Do not mask, copy files with secrets. The record says so."
)
@click.option("--again", is_flag=True, help="Store the session even if the same content is stored already.")
@progress_option
@json_option
def command(spec: str | None, template: bool, shows_progress: bool, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - as click has them
    """Collect the session that SPEC describes: workspaces, transcripts, tokens and costs of every agent.

    SPEC is a YAML or JSON file, or the id of an open session: that is closed, or stored as it is if its process still works. Prints the path of the session. Workspaces are not changed; credentials, caches and the
    like are not copied. Files that cannot be stored are listed, and the rest is stored. Patterns are those of
    .gitignore; `!PATTERN` includes what is excluded by default.

    In configuration files such as database.yml, docker-compose.yml and settings.py, passwords and tokens are masked in the
    copy; --exclude '!NAME' stores the file unchanged.

    If the same content was collected before, nothing is stored, and the path is that of the earlier session.

    Exit codes: 0 collected, 1 not collected, 2 collected with warnings, collected before, or collecting is disabled.
    """
    from runcard.cli.progress import CopyProgress  # noqa: PLC0415

    if template:
        from runcard.documents.session.session_spec import template as example  # noqa: PLC0415

        click.echo(example(), nl=False)
        return 0
    if spec is None:
        raise UsageError("missing SPEC", hint="`runcard collect --template` prints an example")
    if options["keep_secrets"] and options["mask_workspaces"]:
        raise UsageError(
            "--keep-secrets and --mask-workspaces contradict each other", hint="pass one of them"
        )
    from runcard.operations.sessions.collect import collect  # noqa: PLC0415
    from runcard.operations.sessions.collect_team import collect_open, find_open  # noqa: PLC0415

    live = find_open(spec, options["artifacts"])
    if live is not None:
        _check_options_of_open(spec, options)
    bar = CopyProgress(everywhere=shows_progress)
    try:
        if live is not None:
            collected = collect_open(live, bar.advance)
        else:
            collected = collect(spec, progress=bar.advance, **options)
    except RuncardError as error:
        if code_for_error(error) == ExitCode.USAGE:
            raise
        bar.wipe()
        return _refuse(error, spec, as_json=as_json)
    finally:
        bar.wipe()
    return _show(collected, spec, as_json=as_json)


def _check_options_of_open(session_id: str, options: dict[str, Any]) -> None:
    """An open session is closed as its settings say."""
    source = click.get_current_context().get_parameter_source
    given = [name for name in options if source(name) is ParameterSource.COMMANDLINE and name != "artifacts"]
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"{session_id} is an open session: {names} cannot be used", hint="leave it out")


_HOW_TO_KEEP = (
    "pass --mask-workspaces to store it with the secret masked, --exclude '!NAME' to store it unchanged"
)
_HOW_TO_STORE_AGAIN = "to store it once more, pass --again"
_SHOWN_PATTERNS = 8


def _show(collected: "CollectedSession", spec: str, *, as_json: bool) -> int:
    from runcard.store.sessions.copying.omission_reasons import HAS_KEY  # noqa: PLC0415

    if as_json:
        say_json(collected.to_dict())
    else:
        say(str(collected.path))
    sys.stdout.flush()
    if not as_json and not is_quiet():
        for line in _counts(collected):
            click.echo(line, err=True)
    for finding in collected.findings:
        complain_about(finding, spec)
    last_secret = next((text for text in reversed(collected.omissions) if HAS_KEY in text), None)
    for text in collected.omissions:
        complain("Warning", text, hint=_HOW_TO_KEEP if text is last_secret else None)
    for number, text in enumerate(collected.remarks, 1):
        is_repeated = not collected.is_new and number == len(collected.remarks)
        complain("Warning", text, hint=_HOW_TO_STORE_AGAIN if is_repeated else None)
    return ExitCode.OK if collected.is_whole else ExitCode.WARNINGS


def _counts(collected: "CollectedSession") -> Iterator[str]:
    """A line for what was excluded, and one for what was masked."""
    from runcard.files import printable  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    if patterns := list(collected.excluded):
        more = ", …" if len(patterns) > _SHOWN_PATTERNS else ""
        shown = ", ".join(map(printable, patterns[:_SHOWN_PATTERNS])) + more
        yield f"excluded: {counted(sum(collected.excluded.values()), 'path')} ({shown})"
    if collected.masked:
        secrets, files = sum(collected.masked.values()), len(collected.masked)
        yield f"masked: {counted(secrets, 'secret')} in {counted(files, 'file')}"


def _refuse(error: RuncardError, spec: str, *, as_json: bool) -> int:
    """Print why nothing was collected."""
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415
    from runcard.operations.sessions.collect import CollectingIsOffError, failure_dict  # noqa: PLC0415

    if as_json:
        say_json(failure_dict(error, spec))
        sys.stdout.flush()
    if isinstance(error, InvalidDocument):
        for finding in (*error.report.errors, *error.report.warnings):
            complain_about(finding, spec)
    else:
        label = "Warning" if isinstance(error, CollectingIsOffError) else "Error"
        complain(label, error.message, hint=error.hint)
    show_traceback(error)
    return ExitCode.WARNINGS if isinstance(error, CollectingIsOffError) else code_for_error(error)
