"""Run a command and record it: `runcard run -- COMMAND`.

The command sees the same as without runcard: its directory, its streams, a terminal if there is one, its signals; and the
caller of runcard sees its output and its exit code. The record exists before the command starts, and is closed when the
command has ended, whatever the command did to its directory meanwhile.
"""

import contextlib
import errno
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.child_process.child import Child, ChildStreams, adopt_orphans
from runcard.child_process.find_program import CannotRun, Command, find_command, is_script
from runcard.child_process.relay import OutputStream, Relay, TerminalOutput
from runcard.child_process.signals import Signals
from runcard.encoding import JsonObject
from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files import failure, json_name, printable
from runcard.observe.environment import EnvironmentGatherer
from runcard.observe.inputs import InputWatch, inputs
from runcard.observe.paths import absolute_path
from runcard.observe.process_tree import ProcessTree
from runcard.operations.runs.command_files import CommandFiles
from runcard.operations.runs.metering import CommandMeter, MeterOptions, check_witness
from runcard.recording.caller_warnings import warnings_in
from runcard.recording.events import NO_USAGE, UNKNOWN_PRICE, UNREAD_REPLY, UNREAD_USAGE
from runcard.recording.run import BACKGROUND_TIMEOUT, JournalEvents, RecordOptions, Run
from runcard.recording.run_closer import CHANGING
from runcard.recording.start_document import given_configuration, start_settings, traceparent
from runcard.recording.start_run import start_run
from runcard.recording.termination import status_of
from runcard.settings import OUTPUTS, read_settings
from runcard.settings.apply import signing_settings, use_masking_settings
from runcard.store import layout
from runcard.store.remote.urls import check_local
from runcard.store.runs import config_file
from runcard.store.runs.directory import restore_directory
from runcard.store.runs.output_filter import OutputFilters
from runcard.store.runs.output_log import HEAD, MIB, TAIL, OutputLog

if TYPE_CHECKING:
    from runcard.child_process.terminal import Terminal
    from runcard.observe.changed_files import ChangedFiles


FAILED = 125  # the exit code when runcard itself failed

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_SHOWN_AT_END = (
    CHANGING,
    UNKNOWN_PRICE,
    UNREAD_USAGE,
    NO_USAGE,
    UNREAD_REPLY,
)  # types of warnings that only the closed record has


class CommandResult(NamedTuple):
    """How a command ended."""

    path: str
    code: int  # to exit with
    warnings: list[str]
    problems: list[CannotRun | RuncardError]  # why it could not be run, or its record not be closed
    changed: "ChangedFiles | None" = None  # files that changed during the run and are not in its record
    cost: str | None = None  # `3 model calls, $0.02`; None without calls


def run(  # noqa: PLR0913 - each is a thing to say about a run
    command: Sequence[str],
    *,
    outputs: str | None = None,
    experiment: str | None = None,
    config: Mapping[str, Any] | None = None,
    patterns: Iterable[str] = (),
    model: str | None = None,
    provider: str | None = None,
    labels: Mapping[str, str] | None = None,
    parent: str | None = None,
    application: str | None = None,
    application_version: str | None = None,
    relations: Iterable[tuple[str, str, str]] = (),
    keep_secrets: bool = False,
    output_patterns: Iterable[str] = (),
    template_args: bool = False,
    find_changes: bool = False,
    variables: Mapping[str, str] | None = None,
    meter: MeterOptions = MeterOptions(),  # noqa: B008 - it is a tuple
) -> CommandResult:
    """Run a command and record it; raises when it cannot be recorded, and then the command was not run.

    `patterns` select its inputs; a relation is a type, the id of the other record, and the digest of its document;
    `variables` are added to the environment of the command. `meter`: whether and how its model calls are counted.
    `output_patterns` select the files that are copied into the record if the command creates or changes them.
    `application` is the program whose version is recorded; without it, the distribution that has COMMAND as a script.
    With `template_args`, `{name}` in the command stands for a value of the configuration. With `find_changes`, the result
    names files of the working directory that changed and are not in the record.
    """
    settings = start_settings(
        model=model,
        provider=provider,
        config=config,
        experiment=experiment,
        labels=labels,
        parent=parent,
        application=application,
        application_version=application_version,
    )
    caller = traceparent()
    passed_on = _child_traceparent(caller)
    settings["trace"] = {"traceparent": caller, "passed_on": passed_on}
    configured = read_settings()
    use_masking_settings(configured)
    if config and not keep_secrets:
        from runcard.masking.known_secrets import use_secrets_of  # noqa: PLC0415 - many commands have no configuration

        use_secrets_of(settings["config"])
    wanted = tuple(output_patterns)
    arguments = _set_command(
        settings, command, wanted, template_args=template_args, keep_secrets=keep_secrets
    )
    if application is not None:
        given = application if application_version is None else f"{application}={application_version}"
        settings.setdefault("reproduce", {})["application"] = given
    if not meter.is_on:
        settings.setdefault("reproduce", {})["meter"] = False
    check_local(outputs)
    check_witness(meter)
    store = _check_current_directory(outputs or configured[OUTPUTS])
    _open_standard_streams()
    warnings: list[str] = []
    options = RecordOptions(
        store, settings, (), None, keep_secrets, strict=True, signing=signing_settings(configured)
    )
    command_run = _CommandRun(start_run(options, warnings.append), store, warnings, meter)
    command_run.finds_program = application is None
    try:
        command_run.watch_files(wanted, find_changes=find_changes)
        command_run.prepare(patterns, relations, keep_secrets=keep_secrets)
        for message, hint in configured.warnings(OUTPUTS):
            command_run.warn("settings", f"{message}; {hint}")
        with Signals() as signals:
            command_run.run(arguments, signals, {"TRACEPARENT": passed_on, **(variables or {})})
            return command_run.close()
    except (RuncardError, OSError, KeyboardInterrupt) as error:
        command_run.abandon(error)
        raise
    finally:
        command_run.release()


def _set_command(
    settings: JsonObject,
    command: Sequence[str],
    output_patterns: tuple[str, ...],
    *,
    template_args: bool,
    keep_secrets: bool,
) -> list[str]:
    """Put the command, and what running it again needs, into the settings of a run; returns the real arguments."""
    arguments = recorded = list(command)
    reproduce: JsonObject = {}
    if template_args:
        from runcard.operations.runs.command_template import fill_command  # noqa: PLC0415 - rarely used

        arguments, masked, counts = fill_command(command, given_configuration(settings))
        recorded = arguments if keep_secrets else masked
        settings["masked_in_command"] = counts
        reproduce["command_template"] = [json_name(word).text for word in command]
    if output_patterns:
        reproduce["outputs"] = [json_name(pattern).text for pattern in output_patterns]
    if reproduce:
        settings["reproduce"] = reproduce
    settings["command"] = [json_name(argument).text for argument in recorded]
    return arguments


def _check_current_directory(store: str) -> str:
    """The store, unless it is relative to a current directory that was removed."""
    try:
        os.path.abspath(store)
    except FileNotFoundError:
        raise StoreError(
            "the current directory was removed",
            hint="change to another directory, or pass --outputs with an absolute path",
        ) from None
    return store


def _child_traceparent(caller: str | None) -> str:
    """The TRACEPARENT for the command, with this run as its parent span: in the trace of the caller, or in a new one."""
    _, trace, _, flags = caller.split("-") if caller else ("", os.urandom(16).hex(), "", "01")
    return f"00-{trace}-{os.urandom(8).hex()}-{flags}"


def _open_standard_streams() -> None:
    """Open standard streams that the caller closed, so that no other file gets their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one


class _CommandRun:
    """Runs one command and records it."""

    def __init__(self, events: JournalEvents, store: str, warnings: list[str], meter: MeterOptions) -> None:
        self._events = events
        self._path = events.path
        self._store = store
        self._directory = absolute_path(".")
        self._original_directory = os.lstat(self._path)
        self._background: EnvironmentGatherer | None = None
        self._code = FAILED
        self._agents: set[tuple[str, str]] = set()  # agent tools among the processes of the command
        self._used: JsonObject = {"cpu_seconds": None, "peak_memory_bytes": None}
        self.files = CommandFiles(self._path, events.run_id, self._directory)
        self._changed: ChangedFiles | None = None
        self.finds_program = True  # whether to find the version of the program that is run
        self._program: str | None = None
        self._warnings = warnings  # shown to the user
        self._cost: str | None = None
        self._problems: list[CannotRun | RuncardError] = []
        self._meter = CommandMeter(events, meter, self.warn, warnings.append)
        self._opened = contextlib.ExitStack()
        self._opened.callback(events.release)
        self._opened.callback(self.files.remove_config)

    def prepare(
        self, patterns: Iterable[str], relations: Iterable[tuple[str, str, str]], *, keep_secrets: bool
    ) -> None:
        """Record what is known before the command starts, and open its log."""
        for kind, name, digest in relations:
            Run(self._events).relate(kind, name, sha256=digest)
        self._filters = OutputFilters(
            keep_secrets=keep_secrets, from_terminal=os.isatty(_STDIN) and os.isatty(_STDOUT)
        )
        self._log = OutputLog(self._path, self._filters.make)
        self._opened.callback(self._log.release)
        files, problems = inputs(patterns, self._directory)
        self._inputs = files
        if files:
            self._events.add_inputs(files)
        for problem in problems:
            self.warn("input", problem)
        self._watched = InputWatch(files, self._directory)
        for kind, message in self._events.setup_warnings:
            self.warn(kind, message)

    def watch_files(self, output_patterns: Sequence[str], *, find_changes: bool) -> None:
        """Prepare to find the files that the command writes outside its run directory."""
        if output_patterns:
            self.files.watch_outputs(output_patterns)
        if find_changes:
            self.files.watch_changes(self._original_directory)

    def run(self, arguments: list[str], signals: Signals, variables: dict[str, str]) -> None:
        """Run the command to its end; `variables` are added to its environment."""
        environment = {**os.environ, **self._events.environ, **variables}
        environment.pop(config_file.VARIABLE, None)  # that of an enclosing run
        environment |= self._write_config()
        try:
            found = find_command(arguments, self._meter.search_path(environment))
            self._program = found.path if self.finds_program and _may_be_installed(found.path) else None
            metered, environment = self._meter.prepare(found.path, arguments, environment)
            status = self._run_child(found._replace(arguments=metered), environment, signals)
        except CannotRun as error:
            self._code = error.code
            self._problems.append(error)
            self._add_error("cannot-run", error.message)
            return
        finally:
            self._meter.stop()
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            self._code = 128 + number
            self._add_error("killed", f"the command was killed by {_signal_name(number)}")
        else:
            self._code = os.WEXITSTATUS(status)
        self._meter.check(self._agents)
        self._changed = self.files.changes()

    def _write_config(self) -> dict[str, str]:
        """Write the configuration to a file for the command; returns the variable that names it."""
        try:
            return self.files.write_config(self._events.given_configuration)
        except OSError as error:
            message = f"the configuration could not be written for the command: {error.strerror}"
            self.warn("configuration", f"{message}; {config_file.VARIABLE} is not set")
            return {}

    def _run_child(self, command: Command, environment: dict[str, str], signals: Signals) -> int:
        adopt_orphans(wanted=True)
        try:
            return self._run_and_adopt(command, environment, signals)
        finally:
            adopt_orphans(wanted=False)

    def _run_and_adopt(self, command: Command, environment: dict[str, str], signals: Signals) -> int:
        terminal = _open_terminal() if os.isatty(_STDOUT) else None
        child, streams = _start_child(command, environment, signals, terminal)
        tree = ProcessTree(child.pid)
        relay = Relay(child, streams, terminal, self._log, tree)
        if self._meter.listener is not None:
            relay.call_once_readable(self._meter.listener.fileno(), self._meter.start)
        # Threads only now: a process with threads must not fork.
        self._background = self._start_background()
        self._meter.begin()
        self._events.count_tokens(self._inputs)
        signals.begin(relay.receive)
        try:
            child.release()
            self._events.start_heartbeat()
            tree.sample()
            status = relay.run()
        finally:
            signals.end()
            relay.close()
        if child.usage is not None:
            tree.count(child.usage)
        working = tree.count_orphans()
        self._used, self._agents = tree.resources(), tree.agents
        if working:
            message = f"the command left {_count(working)} running, which may still write here"
            self.warn("still-running", message + self._meter.lost_connections)
        for stream in streams:
            if stream.write_error is not None and stream.write_error.errno != errno.EPIPE:
                reason = os.strerror(stream.write_error.errno or 0)
                self.warn("output", f"the {stream.name} of the command could not be passed on: {reason}")
        return status

    def abandon(self, error: BaseException) -> None:
        """Close the record of a command that was not run, or whose end was not seen."""
        status, _ = status_of(error)
        with contextlib.suppress(RuncardError, OSError):
            if status == "failed":
                self._events.add_error(error)
        with contextlib.suppress(RuncardError, OSError):
            self._events.end(status, environment=self._environment(), used=self._used)

    def release(self) -> None:
        """Close what is still open, however the command ended."""
        self._opened.close()

    def close(self) -> CommandResult:
        """Record how the command ended, and close the record."""
        try:
            if message := restore_directory(self._path, self._original_directory):
                self.warn("directory", message)
            self._close_log()
            for change in self._watched.changes():
                self.warn("input", change)
            for problem in () if self._problems else self.files.copy_outputs():  # none: it was not run
                self.warn("output-file", problem)
            status = "completed" if self._code == 0 else "failed"
            self._meter.write_missing()
            with warnings_in(self._warnings):
                document = self._events.end(
                    status, exit_code=self._code, environment=self._environment(), used=self._used
                )
            self._describe(document or {})
        except (RuncardError, OSError, ImportError) as error:
            self._problems.append(_closing_error(error, self._path))
            self._code = self._code or FAILED
        changed = self.files.unselected(self._changed)
        return CommandResult(self._path, self._code, self._warnings, self._problems, changed, self._cost)

    def _describe(self, document: JsonObject) -> None:
        """Show what only the closed record knows."""
        warnings = document.get("warnings", ())
        shown = [warning["message"] for warning in warnings if warning["type"] in _SHOWN_AT_END]
        self._warnings += dict.fromkeys(shown)
        if document.get("performance"):
            from runcard.views.missing_usage import cost_in_short  # noqa: PLC0415 - many commands call no model

            self._cost = cost_in_short(document)

    def _close_log(self) -> None:
        log = self._log.close()
        with contextlib.suppress(RuncardError):
            self._events.add_masked(self._filters.counts, layout.OUTPUT)
        if log.is_cut:
            total = f"{log.total:,} bytes were printed"
            self.warn(
                "output-cut",
                f"{total}: {layout.OUTPUT} has the first {HEAD // MIB} MiB and the last {TAIL // MIB}",
            )
        if log.write_error is not None:
            self.warn("output-log", f"{layout.OUTPUT} is not complete: {log.write_error}")
        if log.was_removed:
            self.warn("output-log", f"{layout.OUTPUT} was removed by the command: it was written again")
        if log.moved_to is not None:
            message = (
                f"{layout.OUTPUT} is a name of runcard's own files: the user's was moved to {log.moved_to}"
            )
            self.warn("name-taken", message)

    def _start_background(self) -> EnvironmentGatherer:
        return EnvironmentGatherer(
            self._directory,
            ignore=[self._store],
            on_complete=self._events.add_environment,
            program=self._program,
        )

    def _environment(self) -> JsonObject | None:
        """What is known of the environment by now; None when it is already recorded."""
        background = self._background or self._start_background()
        facts = background.result(BACKGROUND_TIMEOUT)
        return None if background.delivered else facts

    def _add_error(self, kind: str, message: str) -> None:
        """Record an error of the command; a full disk is reported when the record is closed."""
        with contextlib.suppress(RuncardError, OSError):
            self._events.add_error(message, kind)

    def warn(self, kind: str, message: str) -> None:
        """Record a warning, and show it to the user."""
        self._warnings.append(message)
        with contextlib.suppress(RuncardError, OSError):
            self._events.add_warning(message, kind)


def _may_be_installed(program: str) -> bool:
    """Whether a program can be the script of a distribution: those are in a folder called `bin`."""
    return os.path.basename(os.path.dirname(os.path.abspath(program))) == "bin" and is_script(program)


def _open_terminal() -> "Terminal":
    from runcard.child_process.terminal import Terminal  # noqa: PLC0415 - only if there is one

    return Terminal()


def _start_child(
    command: Command, environment: dict[str, str], signals: Signals, terminal: "Terminal | None"
) -> tuple[Child, list[OutputStream]]:
    """The command, not yet released, and its output."""
    ends, streams = _connect_streams(terminal)
    try:
        return Child(command, environment, ends, signals.before), streams
    except OSError:
        for stream in streams:
            stream.close()
        if terminal is not None:
            terminal.close()
        raise
    finally:
        for end in {ends.stdout, ends.stderr}:
            os.close(end)


def _connect_streams(terminal: "Terminal | None") -> tuple[ChildStreams, list[OutputStream]]:
    """The command's ends of its streams, and ours: the terminal if there is one, a pipe for every other stream."""
    if terminal is None:
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        return ChildStreams(None, to_out, to_err), [
            OutputStream("stdout", out, _STDOUT),
            OutputStream("stderr", err, _STDERR),
        ]
    slave, screen = terminal.slave, TerminalOutput("stdout", terminal.inner, _STDOUT)
    stdin = slave if terminal.has_keyboard else None
    if os.isatty(_STDERR):
        return ChildStreams(stdin, slave, slave, slave), [screen]
    err, to_err = os.pipe()
    return ChildStreams(stdin, slave, to_err, slave), [screen, OutputStream("stderr", err, _STDERR)]


def _closing_error(error: RuncardError | OSError | ImportError, path: str) -> RuncardError:
    """Why a record could not be closed. The command may have been one that installs or removes runcard."""
    if isinstance(error, ImportError):
        return MachineError(
            f"cannot close {printable(path)}: a part of runcard is gone: {printable(str(error))}",
            hint="install it again, then run `runcard close`",
        )
    return error if isinstance(error, RuncardError) else failure(error, path, "close")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _count(processes: int) -> str:
    return "a process" if processes == 1 else f"{processes:,} processes"
