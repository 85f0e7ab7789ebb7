"""runcard hook"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.errors import UsageError


@click.command("hook")
@click.argument("tool", required=False)
@click.argument("event", required=False)
@click.option("--catch-up", is_flag=True, help="Import now what hooks have left.")
@click.option("--only", metavar="NOTE", help="With --catch-up: only the session of this note.")
@click.option("--now", is_flag=True, help="With --only: however recent its last import is.")
def command(tool: str | None, event: str | None, catch_up: bool, only: str | None, now: bool) -> int:
    """Note that EVENT happened in a session of TOOL, and import the session in the background.

    For programs other than those that `runcard install` sets up. Reads a JSON object with `session_id`, `cwd` and
    `transcript_path` from standard input. Prints nothing and always succeeds, so that an agent never fails because of it.
    """
    if catch_up:
        from runcard.operations.agents.catch_up import catch_up as catch_up_all  # noqa: PLC0415
        from runcard.operations.agents.catch_up import catch_up_session  # noqa: PLC0415

        if only is None:
            catch_up_all()
        else:
            catch_up_session(only, now=now)
        return ExitCode.OK
    if tool is None or event is None:
        raise UsageError("TOOL and EVENT are missing", hint="runcard hook claude-code Stop")
    from runcard.agent_setup import hook_note  # noqa: PLC0415

    hook_note.main([tool, event])
    return ExitCode.OK
