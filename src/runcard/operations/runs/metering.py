"""Meter the model calls of a command: the relay, what the command gets so that it calls it, and checks at the end.

Whatever fails in here is a warning in the record. The command is started in any case.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.run.events import WITNESS_COMPARED
from runcard.errors import RuncardError
from runcard.observe.meter.adapters import Adaptation, adapt, without_outer_meter
from runcard.observe.meter.listener import Listener
from runcard.observe.meter.program_folder import ProgramFolder, programs_in, without_stand_ins
from runcard.observe.meter.routes import METER, Routes
from runcard.recording.run import JournalEvents
from runcard.store import layout
from runcard.store.runs import config_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runcard.observe.meter.connect_proxy import ConnectProxy
    from runcard.observe.meter.exchange import ExchangeObserver, RequestHead
    from runcard.observe.meter.otlp_witness import OtlpWitness
    from runcard.observe.meter.routes import Route
    from runcard.recording.metered_calls import MeteredCalls

OTLP, PROXY = "otlp", "proxy"  # witnesses
_WARNING = "meter"  # the type of warnings
_SESSION = "x-claude-code-session-id"
_MOST_SESSIONS = 1000
_MAX_EXEMPT = 3  # hosts to show
_ELSEWHERE = (
    "a base URL in its settings, or a provider that is called in another way, may send calls around the meter"
)
_AROUND = "a program that has this address in its code, or in settings of its own, calls it around the meter"


class MeterOptions(NamedTuple):
    """What the user wants of the meter."""

    is_on: bool = True
    keep_content: bool = False  # prompts and replies, masked
    witness: str | None = None  # OTLP: what the program reports itself; PROXY: its connections


class CommandMeter:
    """The meter of one command: `prepare` it, `start` with the first connection, `stop` when it has ended, then `check`."""

    def __init__(
        self,
        events: JournalEvents,
        options: MeterOptions,
        warn: Callable[[str, str], None],
        show: Callable[[str], None],
    ) -> None:
        """`warn` records a warning of a type and shows it to the user; `show` only shows it."""
        self._events = events
        self._options = options
        self._warn = warn
        self._show = show
        self._adaptation: Adaptation | None = None
        self._calls: MeteredCalls | None = None
        self._sessions: set[str] = set()  # of Claude Code, that calls named
        self._started = time.time()
        self._witness: OtlpWitness | None = None
        self._proxy: ConnectProxy | None = None
        self.listener: Listener | None = None
        self._programs: ProgramFolder | None = None
        self._unwritten: list[tuple[str, str | None, int | None]] = []  # reasons, hints, numbers of calls

    def search_path(self, environment: dict[str, str]) -> list[str]:
        """The folders in which the command is looked for: not those of the meter of an enclosing run."""
        if self._options.is_on and "PATH" in environment:
            environment = {"PATH": without_stand_ins(environment["PATH"])}
        return os.get_exec_path(environment)

    def prepare(
        self, program: str, arguments: list[str], environment: dict[str, str]
    ) -> tuple[list[str], dict[str, str]]:
        """Arguments and environment that let the command call the relay; unchanged if there can be no relay.

        `program` is the file of the command. The socket is bound here, before the command is started.
        """
        if not self._options.is_on:
            return arguments, environment
        try:
            self.listener = Listener()
            return self._adapt(self.listener, program, arguments, environment)
        except Exception as error:  # noqa: BLE001 - the command is started in any case
            self._warn(_WARNING, f"model calls are not metered: {_reason(error)}")
            self.stop()
            self.listener = None
            return arguments, environment

    def _adapt(
        self, listener: Listener, program: str, arguments: list[str], environment: dict[str, str]
    ) -> tuple[list[str], dict[str, str]]:
        given, routes = without_outer_meter(environment), Routes(listener.base)
        adaptation = Adaptation(arguments, given, routes, self._events.directory, self._write_private)
        adapt(adaptation, program)
        if self._options.witness == OTLP:
            self._add_witness(adaptation)
        proxies = self._add_proxy(adaptation) if self._options.witness == PROXY else {}
        variables = adaptation.variables | proxies | {METER: json.dumps(routes.upstreams)}
        _check_texts([*adaptation.arguments, *variables.values()])
        self._adaptation = adaptation
        return adaptation.arguments, given | variables | self._stand_in(adaptation, variables, proxies)

    def _stand_in(
        self, adaptation: Adaptation, variables: dict[str, str], proxies: dict[str, str]
    ) -> dict[str, str]:
        """Let scripts find the stand-ins of known programs first; returns the variable."""
        given = adaptation.given
        path = without_stand_ins(given.get("PATH", ""))
        names = programs_in(path)
        if not names:
            return {}
        from runcard.observe.meter.network_variables import network_of  # noqa: PLC0415 - few have such programs

        state = {
            "base": adaptation.routes.base,
            "routes": adaptation.routes.upstreams,
            "set": variables,
            "proxies": proxies,
            "before": {name: given[name] for name in variables if name in given},
            "network": network_of(adaptation.upstream_environment),
        }

        def fill(folder: str) -> bool:
            self._programs = ProgramFolder(folder)
            self._programs.write_state(state)
            return self._programs.write_stand_ins(names)

        folder = config_file.make_program_folder(self._events.run_id, fill)
        if folder is None or self._programs is None:
            self._programs = None
            return {}
        adaptation.routes.find_other = self._programs.find_route
        return {"PATH": os.pathsep.join((folder, path))}

    def _add_witness(self, adaptation: Adaptation) -> None:
        """Let Claude Code report its calls, unless it reports them to the user's own collector."""
        from runcard.observe.meter.otlp_witness import OtlpWitness, exports_already  # noqa: PLC0415

        if exports_already(adaptation.upstream_environment):
            message = (
                "Claude Code already exports its events (OTEL_LOGS_EXPORTER): --witness otlp is not used"
            )
            self._warn(_WARNING, message)
            return
        self._witness = OtlpWitness()
        adaptation.variables.update(self._witness.variables)

    def _add_proxy(self, adaptation: Adaptation) -> dict[str, str]:
        """Let the command reach https hosts through a proxy that counts connections to providers; returns the variables."""
        try:
            from runcard.observe.meter.connect_proxy import ConnectProxy, exempt_hosts  # noqa: PLC0415

            upstreams = adaptation.routes.upstreams.values()
            self._proxy = ConnectProxy(adaptation.given, upstreams, self._note_connection)
            exempt = exempt_hosts(adaptation.given, self._proxy.hosts)
        except Exception as error:  # noqa: BLE001 - the command is started in any case
            self._warn(_WARNING, f"--witness proxy is not used: {_reason(error)}")
            return {}
        if exempt:
            shown = ", ".join([*exempt[:_MAX_EXEMPT], "…"] if len(exempt) > _MAX_EXEMPT else exempt)
            self._warn(_WARNING, f"--witness proxy does not see connections to {shown}: NO_PROXY names them")
        return adaptation.use_proxy(self._proxy.url)

    def _note_connection(self, host: str) -> None:
        """The first connection to a host of a provider: recorded now, in case the run is killed. In the thread of the proxy."""
        reason = f"connections to {host} did not pass the meter"
        try:
            self._events.add_incomplete_usage(reason, _AROUND, None)
        except (RuncardError, OSError):
            self._unwritten.append((reason, _AROUND, None))

    def _write_private(self, data: bytes) -> str:
        return config_file.write_program_settings(self._events.run_id, data)

    def begin(self) -> None:
        """The command was started."""
        if self._witness is not None:
            try:
                self._witness.start()
            except RuntimeError as error:  # too many threads
                self._warn(_WARNING, f"--witness otlp is not used: {error}")
                self._witness = None
        if self._proxy is not None:
            try:
                self._proxy.start()
            except RuntimeError as error:
                self._warn(_WARNING, f"--witness proxy failed, so https connections fail: {error}")

    def start(self) -> None:
        """The first connection is there: start the relay. What reads calls is loaded first: it takes the time."""
        if self.listener is None or self._adaptation is None:
            return
        try:
            from runcard.recording.metered_calls import make_observer  # noqa: PLC0415 - many commands make no calls

            self._calls = make_observer(self._events, keep_content=self._options.keep_content)
        except Exception as error:  # noqa: BLE001 - a part of runcard is gone; the command gets its replies
            self._add_incomplete(f"model calls are not metered: {_reason(error)}", None)
        adaptation = self._adaptation
        self.listener.start(adaptation.routes, self._observe_request, adaptation.upstream_environment)

    def _observe_request(self, route: "Route", head: "RequestHead") -> "ExchangeObserver | None":
        """In the thread of the relay."""
        if self._calls is None:
            return None
        if len(self._sessions) < _MOST_SESSIONS:
            self._sessions.update(value for name, value in head.headers if name == _SESSION)
        return self._calls.observe(route, head)

    def stop(self) -> None:
        """Stop the relay, when the command has ended; calls in progress end here."""
        if self.listener is not None:
            self.listener.stop()
        if self._calls is not None:
            self._calls.close()
        if self._witness is not None:
            self._witness.stop()
        if self._proxy is not None:
            self._proxy.stop()

    @property
    def lost_connections(self) -> str:
        """What processes that the command leaves running cannot do any more; nothing without a meter."""
        if self._proxy is not None:
            return "; https connections and model calls from there fail now: pass --no-meter, without --witness, to let them work"
        if self.listener is not None:
            return "; model calls from there fail now: pass --no-meter to let them work"
        return ""

    def check(self, programs: "Iterable[tuple[str, str]]" = ()) -> None:
        """Record what the meter did not see, as far as that can be known. After `stop`.

        `programs` are the agent tools that were seen among the processes of the command, and their folders.
        """
        if self.listener is None or self._adaptation is None:
            return
        for problem in self.listener.problems:
            self._add_incomplete(f"the meter failed, so calls may be missing: {problem}", None)
        if self._calls is not None:
            self._report_missing(self._calls)
        adaptation, calls = self._adaptation, self._calls.calls if self._calls is not None else 0
        starts = list(self._programs.starts()) if self._programs is not None else []
        seen = {(client, directory) for client, directory, _ in starts if client} | set(programs)
        missed = 0
        if calls or seen or adaptation.client:
            with contextlib.suppress(OSError, RuncardError):
                missed = self._check_sessions(adaptation, calls, seen)
        if self._witness is not None:
            self._compare(self._witness)
        if self._proxy is not None:
            self._report_connections(self._proxy)
        gaps = dict.fromkeys(adaptation.gaps if calls or adaptation.client else ())
        gaps |= dict.fromkeys(gap for _, _, found in starts for gap in found)
        for gap in gaps:
            self._add_incomplete(gap.reason, gap.hint)
        clients = [adaptation.client] if adaptation.expects_calls else []
        if not (calls or missed or adaptation.gaps or gaps):
            for client in dict.fromkeys([*clients, *(client for client, _, _ in starts)]):
                self._warn(
                    _WARNING,
                    f"no model call of {client} passed the meter: what it used is not known; {_ELSEWHERE}",
                )

    def _report_missing(self, calls: "MeteredCalls") -> None:
        """Show why calls are missing, and name hosts without a connection."""
        self._unwritten += calls.unwritten
        for reason in calls.incomplete:
            self._show(reason)
        for host in calls.unreachable:
            self._warn(_WARNING, f"no connection to {host}")

    def _compare(self, witness: "OtlpWitness") -> None:
        """Record which calls only the meter saw, or only Claude Code reported."""
        from runcard.operations.runs.witness import compare_calls  # noqa: PLC0415

        with contextlib.suppress(RuncardError, OSError):
            comparison = compare_calls(witness.calls, os.path.join(self._events.path, layout.JOURNAL))
            self._events.emit(WITNESS_COMPARED, comparison)
            missing = len(comparison["only_reported"])
            if missing:
                what = "a call that" if missing == 1 else f"{missing:,} calls that"
                reason = f"Claude Code reported {what} did not pass the meter"
                self._add_incomplete(reason, _ELSEWHERE, missing)
            if comparison["metered"] and not witness.calls:
                self._warn(
                    _WARNING, "Claude Code reported none of its calls: there is nothing to compare with"
                )

    def _report_connections(self, proxy: "ConnectProxy") -> None:
        """Record how many connections to providers did not pass the meter, and show it."""
        for problem in proxy.problems:
            self._add_incomplete(
                f"--witness proxy failed, so connections may not be counted: {problem}", None
            )
        counted = sorted(proxy.connections.items())
        for host, count in counted:
            what = "a connection" if count == 1 else f"{count:,} connections"
            self._show(f"{what} to {host} did not pass the meter; {_AROUND}")
        rows = [{"host": host, "connections": count} for host, count in counted]
        with contextlib.suppress(RuncardError, OSError):
            self._events.emit(WITNESS_COMPARED, {"source": PROXY, "connections": rows})

    def _check_sessions(self, adaptation: Adaptation, calls: int, seen: "set[tuple[str, str]]") -> int:
        """Record calls in session files of agent tools that did not pass the relay; returns how many there are."""
        from runcard.operations.runs.session_witness import RunTraces, unmetered_calls  # noqa: PLC0415
        from runcard.operations.runs.witness import metered_calls  # noqa: PLC0415

        traces = RunTraces(
            self._events.path,
            self._started,
            adaptation.directory,
            frozenset(directory for _, directory in seen),
            frozenset(self._sessions),
            adaptation.upstream_environment,
        )
        journal = os.path.join(self._events.path, layout.JOURNAL)
        missing = unmetered_calls(traces, metered_calls(journal) if calls else ())
        for tool, count in missing.items():
            what = "a call that" if count == 1 else f"{count:,} calls that"
            self._add_incomplete(
                f"a session file of {tool} has {what} did not pass the meter", _ELSEWHERE, count
            )
        return sum(missing.values())

    def write_missing(self) -> None:
        """Record what could not be recorded before. Raises where that is still so: such a record must not be closed.

        On a full disk there may be room for the end of a run, and not for what is missing in its total.
        """
        while self._unwritten:
            self._events.add_incomplete_usage(*self._unwritten[0])
            del self._unwritten[0]

    def _add_incomplete(self, reason: str, hint: str | None, calls: int | None = None) -> None:
        """The fold makes a warning of it; it is shown as well."""
        self._show(f"{reason}; {hint}" if hint else reason)
        try:
            self._events.add_incomplete_usage(reason, hint, calls)
        except (RuncardError, OSError):
            self._unwritten.append((reason, hint, calls))


def check_witness(options: MeterOptions) -> None:
    """Raise UsageError if a proxy of the user's does not go together with `--witness proxy`."""
    if options.is_on and options.witness == PROXY:
        from runcard.observe.meter.connect_proxy import check_proxies  # noqa: PLC0415 - few ask for it

        check_proxies(without_outer_meter(dict(os.environ)))


def _check_texts(texts: list[str]) -> None:
    """Raises ValueError for what no command can get. Arguments and variables may be made of settings files."""
    try:
        is_possible = not any(b"\0" in os.fsencode(text) for text in texts)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise ValueError(
            "a settings file of the command has a text with characters that are not possible in a variable"
        )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
