"""runcard close"""

import os
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH, RECORD, json_option
from runcard.cli.printing import complain_of_settings, say_done
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError, UsageError

if TYPE_CHECKING:
    from runcard.recording.closing import CloseResult


@click.command("close")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=RECORD)
@click.option(
    "--outputs", metavar="DIR", type=PATH, help="Store, if no RUN is named. Default: the setting `outputs`."
)
@click.option(
    "--trust",
    is_flag=True,
    help="Each RUN is yours: copy the files that it names, and sign it if that is set.",
)
@json_option
def command(runs: tuple[str, ...], outputs: str | None, trust: bool, as_json: bool) -> int:
    """Close runs and sessions that were left open because their process died: those named, or all of the stores.

    RUN is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before); of a run or a session.

    A run whose end was not recorded is marked as interrupted. Its end is estimated: the time of its last event, its last
    heartbeat or its newest file. Of a session, so are the agents that were not finished. What has a living process is left
    alone. A session that belongs to no process is closed if it is named.

    A cloned repository, or another user, can leave an open session that names your files. So the workspaces and outputs of a
    session are stored only if you started it, as this user, in this folder. Another session stays open, with a warning, unless
    you name it; then a warning names what was left out, and it is not signed. --trust says that it is yours.

    Exit codes: 0 done, 1 a run could not be closed, 2 something was left out, not signed or not closed: see the warnings.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.files import printable, shell_word  # noqa: PLC0415
    from runcard.operations.runs.close import find_unclosed_runs, finish_interrupted  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings  # noqa: PLC0415
    from runcard.store.sessions.own_paths import UNPROVEN  # noqa: PLC0415

    if trust and not runs:
        raise UsageError("--trust is about no run", hint="name what is yours: runcard close --trust @latest")
    outputs_given = outputs is not None
    settings = read_settings({OUTPUTS: outputs})
    outputs = settings[OUTPUTS]
    sessions = [] if runs or outputs_given else _open_sessions(settings[ARTIFACTS_DIR])
    if (
        not runs
        and not os.path.isdir(outputs)
        and (outputs_given or not os.path.isdir(settings[ARTIFACTS_DIR]))
    ):
        raise StoreError(
            f"{printable(outputs)} does not exist", hint="name the store with --outputs, or a RUN"
        )
    batch = Batch("runs", None, as_json=as_json, json_list="runs", refusal=_refusal)
    if not runs and not outputs_given:
        for message in finish_interrupted(settings[ARTIFACTS_DIR]):
            batch.done(message)
    is_any_open = False
    for run in batch.over(runs or [*find_unclosed_runs(outputs), *sessions]):
        with batch.catching(run):
            closing = _close(run, is_named=bool(runs), trust=trust)
            is_unproven = closing.reason == UNPROVEN
            if not runs and closing.status != "running" and not closing.closed and not is_unproven:
                continue  # another process closed it meanwhile
            is_any_open = True
            batch.add(run, _ClosingLine(closing), lambda _, result: say_done(result.line))
            if is_unproven or _is_elsewhere(closing):
                hint = (
                    f"if it is yours: runcard close --trust {shell_word(closing.path)}"
                    if is_unproven
                    else None
                )
                batch.warn(f"{closing.path} is not closed: {closing.reason}", hint)
    if not runs and not is_any_open:
        batch.done(f"{outputs}: no open run")
    code = batch.finish()
    return code if runs else complain_of_settings(settings, code)


class _ClosingLine:
    """What became of a run, for people and as JSON."""

    def __init__(self, closing: "CloseResult") -> None:
        self._closing = closing
        self.warnings = closing.warnings

    @property
    def line(self) -> str:
        closing = self._closing
        if closing.closed:
            return f"{closing.path}: closed as {closing.status}"
        fate = "not stored" if closing.status == "empty" else "left alone"
        return f"{closing.path}: {closing.status}, {fate}: {closing.reason}"

    def to_dict(self) -> JsonObject:
        from runcard.files import printable  # noqa: PLC0415

        closing = self._closing
        return {
            "path": printable(closing.path),
            "closed": closing.closed,
            "status": closing.status,
            "reason": closing.reason,
        }


def _refusal(run: str, error: RuncardError) -> JsonObject:
    from runcard.files import printable  # noqa: PLC0415

    return {"path": printable(run), "closed": False, "status": None, "reason": error.message}


def _open_sessions(store: str) -> list[str]:
    from runcard.store import layout  # noqa: PLC0415

    return layout.live_sessions(store)


def _close(run: str, *, is_named: bool, trust: bool) -> "CloseResult":
    """Close one run; an OSError becomes an error like any other, so that the next run has its turn."""
    from runcard.files import failure  # noqa: PLC0415
    from runcard.operations.runs.close import close_one  # noqa: PLC0415

    try:
        return close_one(run, is_named=is_named, trust=trust)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename is None:
            raise  # the current directory was removed
        raise failure(error, os.fsdecode(error.filename or run), "close") from error


def _is_elsewhere(closing: "CloseResult") -> bool:
    """Whether the process of a run cannot be looked up here: it is on another host."""
    from runcard.operations.checks.show import ON_OTHER_HOST, show_run  # noqa: PLC0415
    from runcard.store import layout  # noqa: PLC0415

    if closing.status != "running":
        return False
    if layout.is_live_session(closing.path):
        return closing.reason == ON_OTHER_HOST
    try:
        return show_run(closing.path).remark == ON_OTHER_HOST
    except RuncardError:
        return False
