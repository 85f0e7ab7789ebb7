"""runcard session log"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import TEXT
from runcard.cli.sessions.live.options import artifacts_option, instance_option, session_option


@click.command("log")
@click.argument("text", metavar="[TEXT]", required=False, type=TEXT)
@session_option
@artifacts_option
@instance_option
def command(text: str | None, session_id: str | None, artifacts: str | None, instance: str | None) -> int:
    """Add TEXT, or what comes on standard input, to the output of an agent; secrets in it are masked.

    Exit codes: 0 added, 1 no such session, or it is closed, 64 no such agent.
    """
    from runcard.operations.sessions.shell_session import agent_of, join_session, log_stream  # noqa: PLC0415

    log_stream(agent_of(join_session(session_id, artifacts), instance), text)
    return ExitCode.OK
