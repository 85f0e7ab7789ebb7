"""The command line of `runcard run`, parsed without click, whose import takes as long as all the rest.

`OPTIONS` is the only list of options. `parse` reads a command line that is right. For any other, and for `--help`,
`runcard.cli.runs.run` makes a click command of the same options; a test compares the two.
"""

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from runcard.cli.command_groups import OPTIONS as COMMON
from runcard.cli.exit_codes import ExitCode, code_for_error
from runcard.cli.verbosity import is_quiet, set_verbosity, show_traceback
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError

if TYPE_CHECKING:
    from runcard.store.experiments import Experiment


_NAMES = 3  # of changed files to show
_LONGEST_NAME = 80  # characters of a path to show


class Option(NamedTuple):
    """An option of the command line."""

    flag: str
    name: str  # of the argument of `carry_out`
    about: str
    metavar: str | None = None  # None: it takes no value
    many: bool = False
    short: str | None = None


OPTIONS = (
    Option("--outputs", "outputs", "Store of runs. Default: the setting `outputs`.", "DIR"),
    Option("--experiment", "experiment", "Experiment that the run belongs to.", "NAME"),
    Option(
        "--config", "configs", "Read configuration from JSON, YAML or TOML. Repeatable.", "FILE", many=True
    ),
    Option(
        "--set",
        "assignments",
        "Set a configuration value (JSON or text). Repeatable.",
        "KEY=VALUE",
        many=True,
    ),
    Option(
        "--template-args", "template_args", "Replace {NAME} in the arguments by the configuration value NAME."
    ),
    Option("--input", "patterns", "Files that COMMAND reads; quote patterns. Repeatable.", "GLOB", many=True),
    Option(
        "--output",
        "output_patterns",
        "Copy matching files that COMMAND creates or changes into the record; quote patterns. Repeatable.",
        "GLOB",
        many=True,
    ),
    Option("--model", "model", "Model that COMMAND uses.", "NAME"),
    Option("--provider", "provider", "Provider of the model.", "NAME"),
    Option("--label", "labels", "Label the run. Repeatable.", "KEY=VALUE", many=True),
    Option("--parent", "parent", "Run that this one is a part of. Default: RUNCARD_PARENT.", "ID"),
    Option(
        "--application",
        "application",
        "Program that generates, or NAME=VERSION. Default: the installed package that has COMMAND as a script.",
        "NAME",
    ),
    Option(
        "--no-meter", "no_meter", "Do not count the model calls of COMMAND; start it with nothing changed."
    ),
    Option("--keep-content", "keep_content", "Keep prompts and replies of model calls, masked."),
    Option(
        "--witness",
        "witness",
        "Look for calls around the meter: otlp compares with what Claude Code reports, proxy counts connections to providers.",
        "NAME",
    ),
    Option("--keep-secrets", "keep_secrets", "Do not mask secrets. The record says so."),
    Option("--quiet", "quiet", "Print only warnings and errors.", short="-q"),
    Option("--verbose", "verbose", COMMON["-v, --verbose"], short="-v"),
)


def parse(arguments: list[str]) -> JsonObject | None:
    """The arguments of `carry_out`; None for a command line that click is to speak about."""
    known = {flag: option for option in OPTIONS for flag in (option.flag, option.short) if flag}
    parsed: JsonObject = {
        option.name: () if option.many else (None if option.metavar else False) for option in OPTIONS
    }
    words = list(arguments)
    while words and words[0].startswith("-") and words[0] not in {"-", "--"}:
        flag, sign, value = words.pop(0).partition("=")
        option = known.get(flag)
        if option is None or bool(sign) > bool(option.metavar) or (option.metavar and not sign and not words):
            return None
        given = True if option.metavar is None else value if sign else words.pop(0)
        parsed[option.name] = (*parsed[option.name], given) if option.many else given
    if words[:1] == ["--"]:
        words.pop(0)
    return {**parsed, "command_line": tuple(words)} if words else None


def carry_out(  # noqa: PLR0913 - the options
    *,
    command_line: tuple[str, ...],
    outputs: str | None,
    experiment: str | None,
    configs: tuple[str, ...],
    assignments: tuple[str, ...],
    template_args: bool,
    patterns: tuple[str, ...],
    output_patterns: tuple[str, ...],
    model: str | None,
    provider: str | None,
    labels: tuple[str, ...],
    parent: str | None,
    application: str | None,
    no_meter: bool,
    keep_content: bool,
    witness: str | None,
    keep_secrets: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Run the command, print messages, and return the exit code."""
    from runcard.operations.runs.metering import MeterOptions  # noqa: PLC0415
    from runcard.operations.runs.run import FAILED, run  # noqa: PLC0415

    try:
        set_verbosity(quiet=quiet, verbose=verbose)
        _check_text(*assignments, *labels, model or "", provider or "")
        _check_patterns(output_patterns)
        _check_meter(no_meter, keep_content, witness)
        name, has_version, version = (None, "", None) if application is None else application.partition("=")
        folder = _folder_of(experiment)
        if experiment is not None and folder is None and not is_quiet():
            _hint_at_experiments(experiment)
        ran = run(
            command_line,
            outputs=outputs or (folder.outputs if folder else None),
            experiment=experiment,
            config=_configuration(configs, assignments, folder.config if folder else {}),
            patterns=[*(folder.inputs if folder else ()), *patterns],
            model=model,
            provider=provider,
            labels=dict(map(_label, labels)),
            parent=parent,
            application=name,
            application_version=version if has_version else None,
            keep_secrets=keep_secrets,
            output_patterns=output_patterns,
            template_args=template_args,
            find_changes=not is_quiet(),
            meter=MeterOptions(not no_meter, keep_content, witness),
        )
    except RuncardError as error:
        _complain("Error", error.message, error.hint)
        show_traceback(error)
        return ExitCode.USAGE if code_for_error(error) == ExitCode.USAGE else FAILED
    except OSError as error:
        from runcard.files import failure  # noqa: PLC0415

        problem = failure(error, os.fsdecode(error.filename or "the command"), "use")
        _complain("Error", problem.message, problem.hint)
        return FAILED
    for warning in ran.warnings:
        _complain("Warning", warning)
    for run_problem in ran.problems:
        _complain("Error", run_problem.message, run_problem.hint)
    if not is_quiet():
        if ran.changed is not None and ran.changed.paths:
            _list_changed_files(ran.changed.paths, is_complete=ran.changed.is_complete)
        if ran.cost is not None:
            _announce(ran.cost)
        _announce(ran.path)
    return ran.code


def _check_text(*words: str) -> None:
    """Words that go into the record must be UTF-8; those of the command and its files need not be."""
    for word in words:
        if not word.isascii():
            from runcard.files import json_name, printable  # noqa: PLC0415

            if json_name(word).base64 is not None:
                raise UsageError(f"{printable(word)} is not UTF-8", hint="write it in UTF-8")


def _check_patterns(patterns: tuple[str, ...]) -> None:
    if "" in patterns:
        raise UsageError(
            "--output is empty", hint="name files, or a pattern in quotes: --output 'results/*.json'"
        )


def _check_meter(no_meter: bool, keep_content: bool, witness: str | None) -> None:
    if witness not in {None, "otlp", "proxy"}:
        raise UsageError(f"--witness {witness}: there is no such witness", hint="pass otlp or proxy")
    if no_meter and (keep_content or witness):
        option = "--keep-content" if keep_content else "--witness"
        raise UsageError(f"{option} needs the meter", hint="leave out --no-meter")


def _folder_of(experiment: str | None) -> "Experiment | None":
    """The folder of an experiment; an experiment may be nothing but a name."""
    if experiment is None:
        return None
    from runcard.operations.experiments.find import find  # noqa: PLC0415

    return find(experiment)


def _configuration(configs: tuple[str, ...], assignments: tuple[str, ...], base: JsonObject) -> JsonObject:
    if not configs and not assignments:
        return base
    from runcard.store.runs.configuration import read_configuration  # noqa: PLC0415

    return read_configuration(configs, assignments, base)


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise UsageError(f"--label {text}: this is not key=value", hint="for example --label team=ux")
    return key, value


def _complain(word: str, message: str, hint: str | None = None) -> None:
    from runcard.cli.printing import complain  # noqa: PLC0415

    with contextlib.suppress(OSError):  # the terminal was closed
        complain(word, message, hint=hint)


def _hint_at_experiments(experiment: str) -> None:
    from runcard.operations.experiments.find import similar_names  # noqa: PLC0415

    names = similar_names(experiment)
    if names is not None:
        similar = f"; did you mean {names[0]}?" if names else ""
        _print(f"Note: there is no folder experiments/{experiment}, so only the name is recorded{similar}")


def _list_changed_files(paths: list[str], *, is_complete: bool) -> None:
    """Name files that changed and are not in the record."""
    count = f"{len(paths):,} changed file{'' if len(paths) == 1 else 's'}"
    verb = "is" if len(paths) == 1 else "are"
    start = count if is_complete else f"at least {count}"
    names = [path if len(path) <= _LONGEST_NAME else f"{path[:_LONGEST_NAME]}…" for path in paths[:_NAMES]]
    shown = ", ".join([*names, "…"] if len(paths) > _NAMES else names)
    _print(f"Note: {start} {verb} not part of this record: {shown}; {_output_advice(paths)}")


def _output_advice(paths: list[str]) -> str:
    """What to pass for these files to be in the record, ready to copy if they are few and have plain names."""
    from shlex import quote  # noqa: PLC0415

    from runcard.files import printable  # noqa: PLC0415

    is_plain = all(len(path) <= _LONGEST_NAME and printable(path) == path for path in paths[:_NAMES])
    if len(paths) > _NAMES or not is_plain or any(set(path) & set("*?[") for path in paths):
        return "pass --output with a path, a directory or a quoted pattern"
    return f"pass {' '.join(f'--output {quote(path)}' for path in paths)}"


def _announce(text: str) -> None:
    _print(f"runcard: {text}")


def _print(line: str) -> None:
    from runcard.files import printable  # noqa: PLC0415

    with contextlib.suppress(OSError):
        sys.stderr.write(f"{printable(line)}\n")
        sys.stderr.flush()
