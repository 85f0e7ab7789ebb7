"""runcard session finish"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import TEXT, json_option
from runcard.cli.printing import complain, say, say_json
from runcard.cli.sessions.live.options import artifacts_option, session_option


@click.command("finish")
@session_option
@artifacts_option
@click.option("--instance", metavar="NAME", type=TEXT, help="End this agent only, by id or name.")
@click.option(
    "--status",
    metavar="STATUS",
    type=TEXT,
    default="completed",
    help="How it ended. A session: completed, failed, interrupted. An agent: completed, error, timeout, terminated.",
)
@click.option("--error", metavar="TEXT", type=TEXT, help="The error that an agent ended with.")
@json_option
def command(
    session_id: str | None,
    artifacts: str | None,
    instance: str | None,
    status: str,
    error: str | None,
    as_json: bool,
) -> int:
    """End a session, store it, and print the path of its directory; with --instance, end one agent.

    An agent that was not finished ends as the session does.

    Exit codes: 0 done, 1 no such session, or it cannot be stored, 2 stored, but not everything, 64 wrong arguments.
    """
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.sessions.shell_session import finish_named, join_session  # noqa: PLC0415

    if instance is not None:
        agent = join_session(session_id, artifacts).instance(instance)
        agent.finish(status, error)
        if as_json:
            say_json({"instance_id": agent.id, "status": status})
        return ExitCode.OK
    if error is not None:
        raise UsageError("--error is about an agent", hint="pass --instance as well")
    collected = finish_named(session_id, artifacts, status)
    if as_json:
        say_json(collected.to_dict())
    else:
        say(printable(str(collected.path)))
    for message in (*collected.omissions, *collected.remarks):
        complain("Warning", message)
    return ExitCode.OK if collected.is_whole else ExitCode.WARNINGS
