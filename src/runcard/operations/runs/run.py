"""Running a command and recording it.

The command sees what it would see without runcard: its directory, its streams, a terminal where there is one, its signals;
and whoever started runcard sees its output and its exit code. The record is made around it: it exists before the command
begins, and is closed when the command has ended, whatever the command did to its directory meanwhile.
"""

import contextlib
import errno
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files import failure, json_name, printable
from runcard.observe.environment import EnvironmentGatherer
from runcard.observe.inputs import InputWatch, inputs
from runcard.observe.paths import absolute_path
from runcard.observe.process_tree import ProcessTree
from runcard.operations.masking import use_masking_settings
from runcard.operations.runs.close import CHANGING
from runcard.operations.runs.command.child import Child, Streams, adopt_orphans
from runcard.operations.runs.command.clean_output import Printed
from runcard.operations.runs.command.find_program import CannotRun, Command, find_command
from runcard.operations.runs.command.relay import Relay, Screen, Stream
from runcard.operations.runs.command.signals import Signals
from runcard.operations.runs.record import Order, Run, begin
from runcard.operations.runs.start_document import settings_of, traceparent
from runcard.operations.runs.termination import status_of
from runcard.settings import OUTPUTS, read_settings
from runcard.store import layout
from runcard.store.runs.directory import reclaim
from runcard.store.runs.output_log import HEAD, MIB, TAIL, OutputLog

if TYPE_CHECKING:
    from runcard.operations.runs.command.terminal import Terminal


FAILED = 125  # the exit code when it is runcard that failed

_PATIENCE = 2.0  # seconds that closing waits for git and packages
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class Ran(NamedTuple):
    """What became of a command."""

    path: str
    code: int  # to exit with
    warnings: list[str]
    problems: list[CannotRun | RuncardError]  # why it could not be run, and why its record is not closed


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
    relations: Iterable[tuple[str, str, str]] = (),
    keep_secrets: bool = False,
) -> Ran:
    """Run a command and record it; raises when it cannot be recorded, and then nothing was run.

    `patterns` are those of its inputs; a relation is a type, the id of the other record, and the digest of its document.
    """
    settings = settings_of(
        model=model, provider=provider, config=config, experiment=experiment, labels=labels, parent=parent
    )
    caller = traceparent()
    passed_on = _own_span(caller)
    settings["command"] = [json_name(argument).text for argument in command]
    settings["trace"] = {"traceparent": caller, "passed_on": passed_on}
    file = read_settings()
    use_masking_settings(file)
    store = _store(outputs or file[OUTPUTS])
    _open_streams()
    errand = _Errand(begin(Order(store, settings, (), None, keep_secrets, strict=True)), store)
    try:
        errand.prepare(patterns, relations, keep_secrets=keep_secrets)
        for message, hint in file.warnings(OUTPUTS):
            errand.warn("settings", f"{message}; {hint}")
        for kind, message in errand.setup_warnings:
            errand.warn(kind, message)
        with Signals() as signals:
            errand.carry_out(list(command), signals, {"TRACEPARENT": passed_on})
            return errand.close()
    except (RuncardError, OSError, KeyboardInterrupt) as error:
        errand.abandon(error)
        raise


def _store(store: str) -> str:
    """The store that a run goes to, when there is a way to it."""
    try:
        os.path.abspath(store)
    except FileNotFoundError:
        raise StoreError(
            "the current directory was removed",
            hint="go to one that is there, or give --outputs its whole path",
        ) from None
    return store


def _own_span(caller: str | None) -> str:
    """This run as the parent of what the command traces: in the trace of the caller, or else a new one."""
    _, trace, _, flags = caller.split("-") if caller else ("", os.urandom(16).hex(), "", "01")
    return f"00-{trace}-{os.urandom(8).hex()}-{flags}"


def _open_streams() -> None:
    """Where the caller closed a standard stream, nothing else may get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one


class _Errand:
    """A run on its way, from its first document to its last."""

    def __init__(self, recorded: Run, store: str) -> None:
        self._run = recorded
        self.setup_warnings = recorded.setup_warnings
        self._path = recorded.environ["RUNCARD_RUN_DIR"]
        self._store = store
        self._directory = absolute_path(".")
        self._made = os.lstat(self._path)
        self._background: EnvironmentGatherer | None = None
        self._code = FAILED
        self._used: JsonObject = {"cpu_seconds": None, "peak_memory_bytes": None}
        self._warnings: list[str] = []
        self._problems: list[CannotRun | RuncardError] = []

    def prepare(
        self, patterns: Iterable[str], relations: Iterable[tuple[str, str, str]], *, keep_secrets: bool
    ) -> None:
        """Do what must be done before the command begins."""
        for kind, name, digest in relations:
            self._run.relate(kind, name, sha256=digest)
        self._printed = Printed(
            keep_secrets=keep_secrets, from_terminal=os.isatty(_STDIN) and os.isatty(_STDOUT)
        )
        self._log = OutputLog(self._path, self._printed.filter)
        found, troubles = inputs(patterns, self._directory)
        self._inputs = found
        if found:
            self._run.keep_inputs(found)
        for trouble in troubles:
            self.warn("input", trouble)
        self._watched = InputWatch(found, self._directory)

    def carry_out(self, arguments: list[str], signals: Signals, more: dict[str, str]) -> None:
        """Run the command to its end; `more` is for its environment."""
        environment = {**os.environ, **self._run.environ, **more}
        try:
            command = find_command(arguments, os.get_exec_path(environment))
            status = self._run_child(command, environment, signals)
        except CannotRun as error:
            self._code = error.code
            self._problems.append(error)
            self._add_error("cannot-run", error.message)
            return
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            self._code = 128 + number
            self._add_error("killed", f"the command was killed by {_name(number)}")
        else:
            self._code = os.WEXITSTATUS(status)

    def _run_child(self, command: Command, environment: dict[str, str], signals: Signals) -> int:
        terminal = _terminal() if os.isatty(_STDOUT) else None
        ends, streams = _connected(terminal)
        adopt_orphans(wanted=True)
        child = Child(command, environment, ends, signals.before)
        for end in {ends.stdout, ends.stderr}:
            os.close(end)
        tree = ProcessTree(child.pid)
        relay = Relay(child, streams, terminal, self._log, tree)
        # Threads only now: a process that has them is no good to be forked.
        self._background = self._begin_background()
        self._run.count_tokens(self._inputs)
        signals.begin(relay.receive)
        try:
            child.go()
            tree.sample()
            status = relay.run()
        finally:
            signals.end()
            relay.close()
        if child.usage is not None:
            tree.count(child.usage)
        working = tree.count_orphans()
        self._used = tree.resources()
        adopt_orphans(wanted=False)
        if working:
            self.warn(
                "still-running", f"the command left {_many(working)} at work, which may still write here"
            )
        for stream in streams:
            if stream.trouble is not None and stream.trouble.errno != errno.EPIPE:
                said = os.strerror(stream.trouble.errno or 0)
                self.warn("output", f"the {stream.name} of the command could not be passed on: {said}")
        return status

    def abandon(self, error: BaseException) -> None:
        """The command was not run, or its end was not seen: say so in the record."""
        status, _ = status_of(error)
        with contextlib.suppress(RuncardError, OSError):
            if status == "failed":
                self._run.add_error(error)
        with contextlib.suppress(RuncardError, OSError):
            self._run.end(status, facts=self._facts(), used=self._used)

    def close(self) -> Ran:
        """Tell the record how it went, and close it."""
        try:
            if said := reclaim(self._path, self._made):
                self.warn("directory", said)
            self._tell_of_output()
            for change in self._watched.changes():
                self.warn("input", change)
            status = "completed" if self._code == 0 else "failed"
            document = self._run.end(status, exit_code=self._code, facts=self._facts(), used=self._used) or {}
            self._warnings += [
                warning["message"] for warning in document.get("warnings", ()) if warning["type"] == CHANGING
            ]
        except (RuncardError, OSError, ImportError) as error:
            self._problems.append(_problem(error, self._path))
            self._code = self._code or FAILED
        return Ran(self._path, self._code, self._warnings, self._problems)

    def _tell_of_output(self) -> None:
        kept = self._log.close()
        with contextlib.suppress(RuncardError):
            self._run.count_masked(self._printed.counts, layout.OUTPUT)
        if kept.is_cut:
            whole = f"{kept.total:,} bytes were printed"
            self.warn(
                "output-cut",
                f"{whole}: {layout.OUTPUT} has the first {HEAD // MIB} MiB and the last {TAIL // MIB}",
            )
        if kept.trouble is not None:
            self.warn("output-log", f"{layout.OUTPUT} is not complete: {kept.trouble}")
        if kept.removed:
            self.warn("output-log", f"{layout.OUTPUT} was removed by the command: it was written again")
        if kept.moved is not None:
            taken = f"{layout.OUTPUT} is a name that runcard takes: what had it is kept as {kept.moved}"
            self.warn("name-taken", taken)

    def _begin_background(self) -> EnvironmentGatherer:
        return EnvironmentGatherer(self._directory, ignore=[self._store], on_complete=self._run.observe)

    def _facts(self) -> JsonObject | None:
        """What is known of the environment by now; None when the record has it already."""
        background = self._background or self._begin_background()
        facts = background.result(_PATIENCE)
        return None if background.delivered else facts

    def _add_error(self, kind: str, message: str) -> None:
        """Write down what went wrong with the command; a disk that is full is told of when the record is closed."""
        with contextlib.suppress(RuncardError, OSError):
            self._run.add_error(message, type=kind)

    def warn(self, kind: str, message: str) -> None:
        """Write a warning down, and keep it for the user."""
        self._warnings.append(message)
        with contextlib.suppress(RuncardError, OSError):
            self._run.add_warning(message, type=kind)


def _terminal() -> "Terminal":
    from runcard.operations.runs.command.terminal import Terminal  # noqa: PLC0415 - where there is one

    return Terminal()


def _connected(terminal: "Terminal | None") -> tuple[Streams, list[Stream]]:
    """The ends of the command, and ours: the terminal where there is one, a pipe for every other stream."""
    if terminal is None:
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        return Streams(None, to_out, to_err), [Stream("stdout", out, _STDOUT), Stream("stderr", err, _STDERR)]
    slave, screen = terminal.slave, Screen("stdout", terminal.inner, _STDOUT)
    stdin = slave if terminal.has_keyboard else None
    if os.isatty(_STDERR):
        return Streams(stdin, slave, slave, slave), [screen]
    err, to_err = os.pipe()
    return Streams(stdin, slave, to_err, slave), [screen, Stream("stderr", err, _STDERR)]


def _problem(error: RuncardError | OSError | ImportError, path: str) -> RuncardError:
    """Why a record could not be closed. The command may have been one that installs or removes runcard."""
    if isinstance(error, ImportError):
        return MachineError(
            f"cannot close {printable(path)}: a part of runcard is gone: {printable(str(error))}",
            hint="install it again, then run `runcard close`",
        )
    return error if isinstance(error, RuncardError) else failure(error, path, "close")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _many(processes: int) -> str:
    return "a process" if processes == 1 else f"{processes:,} processes"
