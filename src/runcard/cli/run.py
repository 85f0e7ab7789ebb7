"""runcard run"""

import contextlib
import sys

import click


@click.command(
    "run",
    short_help="Run a command and record it.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command_line", nargs=-1, required=True, metavar="[--] COMMAND...", type=click.UNPROCESSED)
@click.option("--outputs", metavar="DIR", help="The store; RUNCARD_OUTPUTS or `outputs` unless given.")
@click.option("--experiment", metavar="NAME", help="The experiment that the run belongs to.")
@click.option(
    "--config", "configs", multiple=True, metavar="FILE", help="Configuration, as JSON, YAML or TOML."
)
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="A value of it: JSON, or else a text."
)
@click.option(
    "--input", "patterns", multiple=True, metavar="GLOB", help="Files that COMMAND reads; quote patterns."
)
@click.option("--model", metavar="NAME", help="The model that is asked.")
@click.option("--provider", metavar="NAME", help="Whose model it is.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label of the run.")
@click.option("--parent", metavar="ID", help="The run that this one is a part of.")
@click.option("--keep-secrets", is_flag=True, help="Do not mask secrets; the record says so.")
@click.option("--quiet", is_flag=True, help="Do not say where the record is.")
def command(  # noqa: PLR0913 - the options
    *,
    command_line: tuple[str, ...],
    outputs: str | None,
    experiment: str | None,
    configs: tuple[str, ...],
    assignments: tuple[str, ...],
    patterns: tuple[str, ...],
    model: str | None,
    provider: str | None,
    labels: tuple[str, ...],
    parent: str | None,
    keep_secrets: bool,
    quiet: bool,
) -> int:
    """Run COMMAND as if runcard were not there, and record it as a run.

    What it prints is passed on unchanged and kept, without secrets, in output.log; so are its exit code, processor time
    and memory. COMMAND finds the directory of the run in RUNCARD_RUN_DIR: what it writes there is output. Where the
    record is, is said on stderr at the end.

    Exit codes: that of COMMAND, 128+N when signal N killed it, 126 it cannot be executed, 127 it was not found, 125
    runcard itself failed, 64 wrong usage.
    """
    from runcard.errors import RuncardError, UsageError  # noqa: PLC0415
    from runcard.operations.configuration import read_configuration  # noqa: PLC0415
    from runcard.operations.experiments import find  # noqa: PLC0415
    from runcard.operations.run import FAILED, run  # noqa: PLC0415

    try:
        folder = find(experiment) if experiment is not None else None
        ran = run(
            command_line,
            outputs=outputs or (folder.outputs if folder else None),
            experiment=experiment,
            config=read_configuration(configs, assignments, folder.config if folder else None),
            patterns=[*(folder.inputs if folder else ()), *patterns],
            model=model,
            provider=provider,
            labels=dict(map(_label, labels)),
            parent=parent,
            keep_secrets=keep_secrets,
        )
    except UsageError:
        raise
    except RuncardError as error:
        _complain("Error", error.message, error.hint)
        return FAILED
    for warning in ran.warnings:
        _complain("Warning", warning)
    for problem in ran.problems:
        _complain("Error", problem.message, problem.hint)
    if not quiet:
        _say(f"runcard: {ran.path}")
    return ran.code


def _label(text: str) -> tuple[str, str]:
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    key, sign, value = text.partition("=")
    if not sign or not key:
        raise UsageError(
            f"--label {printable(text)}: this is not key=value", hint="for example --label team=ux"
        )
    return key, value


def _complain(word: str, message: str, hint: str | None = None) -> None:
    from runcard.cli.printing import complain  # noqa: PLC0415

    with contextlib.suppress(OSError):  # the terminal was closed
        complain(word, message, hint=hint)


def _say(text: str) -> None:
    from runcard.files import printable  # noqa: PLC0415

    with contextlib.suppress(OSError):
        click.echo(printable(text), err=True)
        sys.stderr.flush()
